// SPDX-License-Identifier: GPL-2.0

//! System calls on open files.

use super::{check, Errno, Res};
use std::fs::File;
use std::os::fd::AsRawFd;

/// pwrite(2): one call, may be short.
pub fn pwrite(f: &File, buf: &[u8], off: i64) -> Res<usize> {
    // SAFETY: pointer and length come from one slice.
    check(unsafe { libc::pwrite(f.as_raw_fd(), buf.as_ptr().cast(), buf.len(), off) })
        .map(|n| n as usize)
}

/// Writes everything or fails.
pub fn pwrite_all(f: &File, buf: &[u8], off: i64) -> Res<()> {
    let mut done = 0;
    while done < buf.len() {
        match pwrite(f, &buf[done..], off + done as i64)? {
            0 => return Err(Errno(libc::EIO)),
            n => done += n,
        }
    }
    Ok(())
}

/// pread(2): one call, may be short.
pub fn pread(f: &File, buf: &mut [u8], off: i64) -> Res<usize> {
    // SAFETY: pointer and length come from one exclusive slice.
    check(unsafe { libc::pread(f.as_raw_fd(), buf.as_mut_ptr().cast(), buf.len(), off) })
        .map(|n| n as usize)
}

/// Reads `len` bytes, fewer only at the end of the file.
pub fn pread_vec(f: &File, len: usize, off: i64) -> Res<Vec<u8>> {
    let mut buf = vec![0xAA; len];
    let mut done = 0;
    while done < len {
        match pread(f, &mut buf[done..], off + done as i64)? {
            0 => break,
            n => done += n,
        }
    }
    buf.truncate(done);
    Ok(buf)
}

/// write(2) at the file position.
pub fn write(f: &File, buf: &[u8]) -> Res<usize> {
    // SAFETY: pointer and length come from one slice.
    check(unsafe { libc::write(f.as_raw_fd(), buf.as_ptr().cast(), buf.len()) }).map(|n| n as usize)
}

/// lseek(2).
pub fn lseek(f: &File, off: i64, whence: i32) -> Res<i64> {
    // SAFETY: no pointers are passed.
    check(unsafe { libc::lseek(f.as_raw_fd(), off, whence) })
}

/// ftruncate(2).
pub fn ftruncate(f: &File, size: i64) -> Res<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { libc::ftruncate(f.as_raw_fd(), size) }).map(drop)
}

/// fallocate(2).
pub fn fallocate(f: &File, mode: i32, off: i64, len: i64) -> Res<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { libc::fallocate(f.as_raw_fd(), mode, off, len) }).map(drop)
}

/// posix_fadvise(2), which returns its error number.
pub fn fadvise(f: &File, off: i64, len: i64, advice: i32) -> Res<()> {
    // SAFETY: no pointers are passed.
    match unsafe { libc::posix_fadvise(f.as_raw_fd(), off, len, advice) } {
        0 => Ok(()),
        e => Err(Errno(e)),
    }
}

/// fsync(2).
pub fn fsync(f: &File) -> Res<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { libc::fsync(f.as_raw_fd()) }).map(drop)
}

/// fdatasync(2).
pub fn fdatasync(f: &File) -> Res<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { libc::fdatasync(f.as_raw_fd()) }).map(drop)
}

/// syncfs(2).
pub fn syncfs(f: &File) -> Res<()> {
    // SAFETY: no pointers are passed.
    check(unsafe { libc::syncfs(f.as_raw_fd()) }).map(drop)
}

/// sync(2).
pub fn sync() {
    // SAFETY: takes and returns nothing.
    unsafe { libc::sync() }
}

/// sendfile(2) from the start of `from` to the position of `to`.
pub fn sendfile(to: &File, from: &File, len: usize) -> Res<usize> {
    let mut off: libc::off_t = 0;
    // SAFETY: `off` lives across the call.
    check(unsafe { libc::sendfile(to.as_raw_fd(), from.as_raw_fd(), &mut off, len) })
        .map(|n| n as usize)
}

/// copy_file_range(2) from offset to offset.
pub fn copy_range(from: &File, off_in: i64, to: &File, off_out: i64, len: usize) -> Res<usize> {
    let (mut a, mut b) = (off_in, off_out);
    // SAFETY: both offsets live across the call.
    check(unsafe {
        libc::copy_file_range(from.as_raw_fd(), &mut a, to.as_raw_fd(), &mut b, len, 0)
    })
    .map(|n| n as usize)
}

/// splice(2) through a fresh pipe: `from` at 0 to `to` at 0; returns bytes moved.
pub fn splice_through_pipe(from: &File, to: &File, len: usize) -> Res<usize> {
    let (rd, wr) = pipe()?;
    let (mut a, mut b) = (0i64, 0i64);
    let mut moved = 0;
    while moved < len {
        // SAFETY: `a` lives across the call; the pipe end takes no offset.
        let n = check(unsafe {
            libc::splice(
                from.as_raw_fd(),
                &mut a,
                wr.as_raw_fd(),
                std::ptr::null_mut(),
                (len - moved).min(65536),
                0,
            )
        })? as usize;
        if n == 0 {
            break;
        }
        let mut out = 0;
        while out < n {
            // SAFETY: `b` lives across the call; the pipe end takes no offset.
            out += check(unsafe {
                libc::splice(
                    rd.as_raw_fd(),
                    std::ptr::null_mut(),
                    to.as_raw_fd(),
                    &mut b,
                    n - out,
                    0,
                )
            })? as usize;
        }
        moved += n;
    }
    Ok(moved)
}

/// pipe2(2): read end, write end.
pub fn pipe() -> Res<(File, File)> {
    use std::os::fd::FromRawFd;
    let mut fds = [0i32; 2];
    // SAFETY: `fds` is an array of two descriptors.
    check(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })?;
    // SAFETY: pipe2() just returned both, nothing else owns them.
    Ok(unsafe { (File::from_raw_fd(fds[0]), File::from_raw_fd(fds[1])) })
}

/// sync_file_range(2): writes the data of the whole file and waits for it; no metadata.
pub fn write_data(f: &File) -> Res<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    // SAFETY: no pointers are passed.
    check(unsafe { libc::sync_file_range(f.as_raw_fd(), 0, 0, flags) }).map(drop)
}

/// Runs `what` with another effective user, who has no capabilities.
pub fn as_user<T>(uid: u32, what: impl FnOnce() -> T) -> Res<T> {
    // SAFETY: no pointers are passed.
    check(unsafe { libc::seteuid(uid) })?;
    let result = what();
    // SAFETY: no pointers are passed.
    check(unsafe { libc::seteuid(0) })?;
    Ok(result)
}
