// SPDX-License-Identifier: GPL-2.0

//! statx(2) and statfs(2).

use super::{check, cstr, Res};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// A time stamp: seconds and nanoseconds.
pub type Stamp = (i64, u32);

/// What the tests look at in a `struct statx`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stat {
    pub mode: u32,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    pub ino: u64,
    pub size: u64,
    pub blocks: u64,
    pub blksize: u32,
    pub atime: Stamp,
    pub mtime: Stamp,
    pub ctime: Stamp,
    pub btime: Option<Stamp>,
}

impl Stat {
    /// Whether this is a directory.
    pub fn is_dir(&self) -> bool {
        self.mode & libc::S_IFMT == libc::S_IFDIR
    }

    /// The permission bits.
    pub fn perm(&self) -> u32 {
        self.mode & 0o7777
    }
}

fn statx(fd: i32, path: &std::ffi::CStr, flags: i32) -> Res<Stat> {
    let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
    // SAFETY: an all-zero statx is a valid value.
    let mut b: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: `path` and `b` are valid for the length of the call.
    check(unsafe { libc::statx(fd, path.as_ptr(), flags, mask, &mut b) })?;
    let t = |t: libc::statx_timestamp| (t.tv_sec, t.tv_nsec);
    Ok(Stat {
        mode: b.stx_mode as u32,
        nlink: b.stx_nlink,
        uid: b.stx_uid,
        gid: b.stx_gid,
        ino: b.stx_ino,
        size: b.stx_size,
        blocks: b.stx_blocks,
        blksize: b.stx_blksize,
        atime: t(b.stx_atime),
        mtime: t(b.stx_mtime),
        ctime: t(b.stx_ctime),
        btime: (b.stx_mask & libc::STATX_BTIME != 0).then(|| t(b.stx_btime)),
    })
}

/// statx(2) of a path, not following a symlink.
pub fn stat(path: &Path) -> Res<Stat> {
    statx(libc::AT_FDCWD, &cstr(path), libc::AT_SYMLINK_NOFOLLOW)
}

/// statx(2) of an open file.
pub fn fstat(f: &File) -> Res<Stat> {
    statx(f.as_raw_fd(), c"", libc::AT_EMPTY_PATH)
}

/// What the tests look at in a `struct statfs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatFs {
    pub kind: i64,
    pub bsize: i64,
    pub blocks: u64,
    pub bfree: u64,
    pub bavail: u64,
    pub namelen: i64,
}

/// statfs(2).
pub fn statfs(path: &Path) -> Res<StatFs> {
    let p = cstr(path);
    // SAFETY: an all-zero statfs is a valid value.
    let mut b: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the length of the call.
    check(unsafe { libc::statfs(p.as_ptr(), &mut b) })?;
    Ok(StatFs {
        kind: b.f_type,
        bsize: b.f_bsize,
        blocks: b.f_blocks,
        bfree: b.f_bfree,
        bavail: b.f_bavail,
        namelen: b.f_namelen,
    })
}
