// SPDX-License-Identifier: GPL-2.0

//! The ioctls of a FAT file system, and FIBMAP, FIEMAP, FITRIM, FIFREEZE.

use super::{check, Res};
use std::fs::File;
use std::os::fd::AsRawFd;

/// `_IOR('r', 0x10, __u32)`.
const FAT_GET_ATTRS: u64 = 0x8004_7210;
/// `_IOW('r', 0x11, __u32)`.
const FAT_SET_ATTRS: u64 = 0x4004_7211;
/// `_IOR('r', 0x13, __u32)`.
const FAT_GET_VOLUME_ID: u64 = 0x8004_7213;
/// `_IOR('r', 1, struct __fat_dirent[2])`.
const READDIR_BOTH: u64 = 0x8230_7201;
/// `_IOR('r', 2, struct __fat_dirent[2])`.
const READDIR_SHORT: u64 = 0x8230_7202;
/// `_IO(0, 1)`.
const FIBMAP: u64 = 1;
/// `_IOWR('f', 11, struct fiemap)`.
const FIEMAP: u64 = 0xC020_660B;
/// `_IOWR('X', 121, struct fstrim_range)`.
const FITRIM: u64 = 0xC018_5879;
/// `_IOWR('X', 119, int)`.
const FIFREEZE: u64 = 0xC004_5877;
/// `_IOWR('X', 120, int)`.
const FITHAW: u64 = 0xC004_5878;

/// DOS attribute bits.
pub const ATTR_RO: u32 = 1;
pub const ATTR_HIDDEN: u32 = 2;
pub const ATTR_SYS: u32 = 4;
pub const ATTR_DIR: u32 = 16;
pub const ATTR_ARCH: u32 = 32;

fn raw<T>(f: &File, cmd: u64, arg: &mut T) -> Res<i32> {
    // SAFETY: every caller passes the type that `cmd` encodes.
    check(unsafe { libc::ioctl(f.as_raw_fd(), cmd as _, arg as *mut T) })
}

/// FAT_IOCTL_GET_ATTRIBUTES.
pub fn get_attrs(f: &File) -> Res<u32> {
    let mut v = 0u32;
    raw(f, FAT_GET_ATTRS, &mut v)?;
    Ok(v)
}

/// FAT_IOCTL_SET_ATTRIBUTES.
pub fn set_attrs(f: &File, mut attrs: u32) -> Res<()> {
    raw(f, FAT_SET_ATTRS, &mut attrs).map(drop)
}

/// FAT_IOCTL_GET_VOLUME_ID.
pub fn volume_id(f: &File) -> Res<u32> {
    let mut v = 0u32;
    raw(f, FAT_GET_VOLUME_ID, &mut v)?;
    Ok(v)
}

#[repr(C)]
#[derive(Clone, Copy)]
struct FatDirent {
    ino: libc::c_long,
    off: libc::c_long,
    reclen: u16,
    name: [u8; 256],
}

/// VFAT_IOCTL_READDIR_BOTH or _SHORT: (short name, long name) pairs to the end.
pub fn readdir_ioctl(f: &File, both: bool) -> Res<Vec<(Vec<u8>, Vec<u8>)>> {
    let cmd = if both { READDIR_BOTH } else { READDIR_SHORT };
    let mut out = Vec::new();
    loop {
        let mut d = [FatDirent {
            ino: 0,
            off: 0,
            reclen: 0,
            name: [0; 256],
        }; 2];
        let n = raw(f, cmd, &mut d)?;
        if n == 0 || d[0].reclen == 0 {
            return Ok(out);
        }
        let name = |d: &FatDirent| d.name[..(d.reclen as usize).min(256)].to_vec();
        out.push((name(&d[0]), name(&d[1])));
    }
}

/// FIBMAP: the device block of a file block, 0 for none.
pub fn fibmap(f: &File, block: u32) -> Res<u32> {
    let mut v = block as i32;
    raw(f, FIBMAP, &mut v)?;
    Ok(v as u32)
}

/// One mapped extent in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub logical: u64,
    pub physical: u64,
    pub length: u64,
    pub flags: u32,
}

/// FIEMAP flag of the last extent.
pub const FIEMAP_LAST: u32 = 1;

#[repr(C)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [[u64; 7]; 64],
}

/// FIEMAP of the whole file with FIEMAP_FLAG_SYNC, up to 64 extents a call.
pub fn fiemap(f: &File) -> Res<Vec<Extent>> {
    let mut out: Vec<Extent> = Vec::new();
    let mut start = 0;
    loop {
        let mut m = Fiemap {
            start,
            length: u64::MAX - start,
            flags: 1,
            mapped: 0,
            count: 64,
            reserved: 0,
            extents: [[0; 7]; 64],
        };
        raw(f, FIEMAP, &mut m)?;
        for e in &m.extents[..(m.mapped as usize).min(64)] {
            out.push(Extent {
                logical: e[0],
                physical: e[1],
                length: e[2],
                flags: e[5] as u32,
            });
        }
        match out.last() {
            Some(e) if m.mapped > 0 && e.flags & FIEMAP_LAST == 0 => start = e.logical + e.length,
            _ => return Ok(out),
        }
    }
}

/// FITRIM of everything with the given minimum length; returns bytes trimmed.
pub fn fitrim(f: &File, minlen: u64) -> Res<u64> {
    let mut r = [0u64, u64::MAX, minlen];
    raw(f, FITRIM, &mut r)?;
    Ok(r[1])
}

/// Freezes the file system that `f` is on.
pub fn freeze(f: &File) -> Res<()> {
    raw(f, FIFREEZE, &mut 0i32).map(drop)
}

/// Undoes [`freeze`].
pub fn thaw(f: &File) -> Res<()> {
    raw(f, FITHAW, &mut 0i32).map(drop)
}

/// A request that no file system knows.
pub fn unknown_ioctl(f: &File) -> Res<()> {
    let mut v = 0u32;
    raw(f, 0x8004_72FE, &mut v).map(drop)
}
