// SPDX-License-Identifier: GPL-2.0

//! ioctls: DOS attributes, the volume ID, both names of entries, trimming free space.

use crate::ondisk::{attr, Attrs};
use crate::vfs::{ioctl as nr, File, UserPtr};
use kernel::prelude::*;

use super::names::MAX_NAME_BYTES;
use super::readdir::Lister;
use super::{node, Fat};

/// Answers `cmd`. `ENOTTY` for what a FAT file system does not know.
pub(crate) fn ioctl(file: &File<'_, Fat>, cmd: u32, arg: UserPtr) -> Result<isize> {
    let inode = file.inode();
    match cmd {
        nr::FAT_IOCTL_GET_ATTRIBUTES => {
            let _shared = inode.lock_shared();
            let attrs = u32::from(current_attrs(file).bits());
            arg.write(&attrs.to_ne_bytes())?;
        }
        nr::FAT_IOCTL_SET_ATTRIBUTES => {
            let wanted = u32::from_ne_bytes(arg.read()?);
            file.with_write_access(|| set_attrs(file, wanted))?;
        }
        nr::FAT_IOCTL_GET_VOLUME_ID => {
            arg.write(&inode.volume().geo.volume_id().to_ne_bytes())?;
        }
        nr::FITRIM => trim(file, arg)?,
        nr::VFAT_IOCTL_READDIR_BOTH if inode.is_dir() => return readdir(file, arg, true),
        nr::VFAT_IOCTL_READDIR_SHORT if inode.is_dir() => return readdir(file, arg, false),
        _ => return Err(ENOTTY),
    }
    Ok(0)
}

fn current_attrs(file: &File<'_, Fat>) -> Attrs {
    let inode = file.inode();
    let saved = inode.node().entry.lock().attrs;
    if node::is_root(inode) {
        return Attrs::DIRECTORY;
    }
    let attrs = attr::make_attrs(saved, inode.mode(), &inode.volume().options.modes());
    if inode.is_dir() {
        attrs.union(Attrs::DIRECTORY)
    } else {
        attrs
    }
}

fn set_attrs(file: &File<'_, Fat>, wanted: u32) -> Result {
    let inode = file.inode();
    let vol = inode.volume();
    let modes = vol.options.modes();
    let _guard = inode.lock();
    // Volume label and directory are not for the caller to change.
    let fixed = Attrs::VOLUME.union(Attrs::DIRECTORY);
    let old = current_attrs(file);
    let wanted = Attrs::from_bits((wanted & 0xff) as u8)
        .difference(fixed)
        .union(old.intersection(fixed));
    if node::is_root(inode) && wanted != Attrs::DIRECTORY {
        return Err(EINVAL);
    }
    let system = wanted.union(old).contains(Attrs::SYSTEM);
    if vol.options.sys_immutable && system && !crate::vfs::may_set_immutable() {
        return Err(EPERM);
    }
    // Executable by name stays as it is.
    let exec = if inode.is_dir() {
        0
    } else {
        inode.mode() & 0o111
    };
    let mut mode = attr::make_mode(wanted, b"   ", &modes);
    if !inode.is_dir() {
        mode = (mode & !0o111) | exec;
    }
    file.may_set_mode(mode)?;
    inode.set_mode(mode);
    inode.node().entry.lock().attrs = attr::saved_attrs(wanted, inode.is_dir(), &modes);
    if vol.options.sys_immutable {
        inode.set_immutable(wanted.contains(Attrs::SYSTEM));
    }
    inode.mark_dirty();
    file.notify_attrs_changed();
    Ok(())
}

/// Bytes of one `struct __fat_dirent`: inode, offset, length, name.
const DIRENT_BYTES: usize = 8 + 8 + 2 + 256 + 6;

/// Where the name's length is in it.
const RECLEN_AT: usize = 16;

/// Where the name is in it.
const NAME_AT: usize = 18;

/// Longest name it takes, without NUL.
const NAME_ROOM: usize = 255;

/// Gives the next entry's 8.3 and long name. Returns whether there was one.
fn readdir(file: &File<'_, Fat>, arg: UserPtr, both: bool) -> Result<isize> {
    let dir = file.inode();
    let _guard = dir.lock();
    let second = arg.offset(DIRENT_BYTES)?;
    let root = node::is_root(dir);
    let pos = file.pos();
    if root && pos < 2 {
        let name: &[u8] = if pos == 0 { b"." } else { b".." };
        put(arg, name, pos, dir.ino())?;
        put(second, b"", pos, dir.ino())?;
        file.set_pos(pos + 1);
        return Ok(1);
    }
    let mut lister = Lister::new(dir, pos)?;
    let Some((at, listed)) = lister.next()? else {
        file.set_pos(lister.pos());
        put(arg, b"", 0, 0)?;
        return Ok(0);
    };
    let entry = &listed.record.entry;
    let mut short = KBox::new([0u8; MAX_NAME_BYTES], GFP_KERNEL)?;
    let n = dir.volume().names.short_to_bytes(entry, &mut *short);
    let short = short.get(..n).unwrap_or(&[]);
    let dots = entry.name().is_dot() || entry.name().is_dot_dot();
    let short = if dots { lister.name(&listed) } else { short };
    put(arg, short, at, 0)?;
    let long = if both && listed.record.long > 0 {
        lister.name(&listed)
    } else {
        b""
    };
    put(second, long, at, 0)?;
    file.set_pos(lister.pos());
    Ok(1)
}

/// Writes name, position and inode number to a `struct __fat_dirent`.
fn put(to: UserPtr, name: &[u8], pos: u64, ino: u64) -> Result {
    let name = name.get(..name.len().min(NAME_ROOM)).unwrap_or(name);
    to.write(&ino.to_ne_bytes())?;
    to.offset(8)?.write(&pos.to_ne_bytes())?;
    let len = u16::try_from(name.len()).map_err(|_| EINVAL)?;
    to.offset(RECLEN_AT)?.write(&len.to_ne_bytes())?;
    to.offset(NAME_AT)?.write(name)?;
    to.offset(NAME_AT + name.len())?.write(&[0])
}

/// Tells the device which clusters are free.
fn trim(file: &File<'_, Fat>, arg: UserPtr) -> Result {
    if !crate::vfs::is_admin() {
        return Err(EPERM);
    }
    let vol = file.inode().volume();
    let granularity = vol.disk.discard_granularity().ok_or(EOPNOTSUPP)?;
    let start = u64::from_ne_bytes(arg.read()?);
    let len = u64::from_ne_bytes(arg.offset(8)?.read()?);
    let min = u64::from_ne_bytes(arg.offset(16)?.read()?).max(u64::from(granularity));
    let trimmed = vol.trim(start, len, min)?;
    arg.offset(8)?.write(&trimmed.to_ne_bytes())?;
    arg.offset(16)?.write(&min.to_ne_bytes())
}
