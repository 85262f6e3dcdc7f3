// SPDX-License-Identifier: GPL-2.0

//! System calls on paths.

use super::{check, cstr, Res};
use std::fs::File;
use std::os::fd::FromRawFd;
use std::path::Path;

/// open(2).
pub fn open(path: &Path, flags: i32) -> Res<File> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    let fd = check(unsafe { libc::open(p.as_ptr(), flags | libc::O_CLOEXEC, 0o777) })?;
    // SAFETY: open() just returned this descriptor, nothing else owns it.
    Ok(unsafe { File::from_raw_fd(fd) })
}

/// open(2) with `O_RDWR | O_CREAT`.
pub fn create(path: &Path) -> Res<File> {
    open(path, libc::O_RDWR | libc::O_CREAT)
}

/// mkdir(2).
pub fn mkdir(path: &Path) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::mkdir(p.as_ptr(), 0o777) }).map(drop)
}

/// rmdir(2).
pub fn rmdir(path: &Path) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::rmdir(p.as_ptr()) }).map(drop)
}

/// unlink(2).
pub fn unlink(path: &Path) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::unlink(p.as_ptr()) }).map(drop)
}

/// renameat2(2).
pub fn rename(from: &Path, to: &Path, flags: u32) -> Res<()> {
    let (a, b) = (cstr(from), cstr(to));
    // SAFETY: both are valid C strings for the length of the call.
    check(unsafe {
        libc::renameat2(
            libc::AT_FDCWD,
            a.as_ptr(),
            libc::AT_FDCWD,
            b.as_ptr(),
            flags,
        )
    })
    .map(drop)
}

/// symlink(2).
pub fn symlink(target: &str, path: &Path) -> Res<()> {
    let (t, p) = (cstr(Path::new(target)), cstr(path));
    // SAFETY: both are valid C strings for the length of the call.
    check(unsafe { libc::symlink(t.as_ptr(), p.as_ptr()) }).map(drop)
}

/// link(2).
pub fn link(from: &Path, to: &Path) -> Res<()> {
    let (a, b) = (cstr(from), cstr(to));
    // SAFETY: both are valid C strings for the length of the call.
    check(unsafe { libc::link(a.as_ptr(), b.as_ptr()) }).map(drop)
}

/// mknod(2) of a fifo, socket or device.
pub fn mknod(path: &Path, mode: u32) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::mknod(p.as_ptr(), mode, 0) }).map(drop)
}

/// chmod(2).
pub fn chmod(path: &Path, mode: u32) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::chmod(p.as_ptr(), mode) }).map(drop)
}

/// chown(2); `u32::MAX` leaves an id as it is.
pub fn chown(path: &Path, uid: u32, gid: u32) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::chown(p.as_ptr(), uid, gid) }).map(drop)
}

/// truncate(2).
pub fn truncate(path: &Path, size: i64) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::truncate(p.as_ptr(), size) }).map(drop)
}

/// utimensat(2); times are (seconds, nanoseconds), `None` leaves one as it is.
pub fn utimens(path: &Path, atime: Option<(i64, i64)>, mtime: Option<(i64, i64)>) -> Res<()> {
    let p = cstr(path);
    let conv = |t: Option<(i64, i64)>| match t {
        Some((sec, nsec)) => libc::timespec {
            tv_sec: sec,
            tv_nsec: nsec,
        },
        None => libc::timespec {
            tv_sec: 0,
            tv_nsec: libc::UTIME_OMIT,
        },
    };
    let ts = [conv(atime), conv(mtime)];
    // SAFETY: a valid C string and an array of two timespec.
    check(unsafe { libc::utimensat(libc::AT_FDCWD, p.as_ptr(), ts.as_ptr(), 0) }).map(drop)
}

/// swapon(2).
pub fn swapon(path: &Path) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::swapon(p.as_ptr(), 0) }).map(drop)
}

/// swapoff(2).
pub fn swapoff(path: &Path) -> Res<()> {
    let p = cstr(path);
    // SAFETY: `p` is a valid C string for the length of the call.
    check(unsafe { libc::swapoff(p.as_ptr()) }).map(drop)
}

/// setxattr(2).
pub fn setxattr(path: &Path, name: &str, value: &[u8]) -> Res<()> {
    let (p, n) = (cstr(path), cstr(Path::new(name)));
    // SAFETY: two valid C strings and a slice's pointer and length.
    check(unsafe {
        libc::setxattr(
            p.as_ptr(),
            n.as_ptr(),
            value.as_ptr().cast(),
            value.len(),
            0,
        )
    })
    .map(drop)
}
