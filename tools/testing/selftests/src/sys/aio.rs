// SPDX-License-Identifier: GPL-2.0

//! Asynchronous I/O through the kernel's own system calls, without a library.

use super::{check, Aligned, Errno, Res};
use std::fs::File;
use std::os::fd::AsRawFd;

const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;

/// `struct iocb` on a little-endian machine.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    prio: i16,
    fd: u32,
    buf: u64,
    nbytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    resfd: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    obj: u64,
    res: i64,
    res2: i64,
}

/// One request: its offset in the file and its buffer.
pub struct Request {
    pub off: i64,
    pub buf: Aligned,
}

/// Has all requests in flight at once; their results in the same order.
fn batch(f: &File, opcode: u16, requests: &mut [Request]) -> Res<Vec<Res<usize>>> {
    let mut ctx: libc::c_ulong = 0;
    // SAFETY: `ctx` lives across the call and is zero, as it has to be.
    check(unsafe { libc::syscall(libc::SYS_io_setup, requests.len(), &mut ctx) })?;
    let mut iocbs: Vec<Iocb> = Vec::new();
    for (i, r) in requests.iter_mut().enumerate() {
        iocbs.push(Iocb {
            data: i as u64,
            opcode,
            fd: f.as_raw_fd() as u32,
            nbytes: r.buf.bytes().len() as u64,
            buf: r.buf.bytes().as_mut_ptr() as u64,
            offset: r.off,
            ..Iocb::default()
        });
    }
    let mut ptrs: Vec<*mut Iocb> = iocbs.iter_mut().map(|i| i as *mut Iocb).collect();
    let mut events = vec![Event::default(); requests.len()];
    let mut out = vec![Err(Errno(libc::EIO)); requests.len()];
    let (mut sent, mut got) = (0, 0);
    let mut result = Ok(());
    while got < requests.len() {
        if sent < requests.len() && result.is_ok() {
            let rest = &mut ptrs[sent..];
            // SAFETY: pointers to valid control blocks, whose buffers outlive the context.
            match check(unsafe {
                libc::syscall(libc::SYS_io_submit, ctx, rest.len(), rest.as_mut_ptr())
            }) {
                Ok(n) => sent += n as usize,
                Err(e) => result = Err(e),
            }
        }
        if got == sent {
            break;
        }
        // SAFETY: there is room for as many events as are asked for.
        let n = check(unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                ctx,
                1usize,
                sent - got,
                events.as_mut_ptr(),
                std::ptr::null_mut::<libc::timespec>(),
            )
        })? as usize;
        for e in &events[..n] {
            out[e.data as usize] = match e.res {
                r if r < 0 => Err(Errno(-r as i32)),
                r => Ok(r as usize),
            };
        }
        got += n;
    }
    // SAFETY: the context was set up above, and no request is left in it.
    check(unsafe { libc::syscall(libc::SYS_io_destroy, ctx) })?;
    result.map(|()| out)
}

/// Writes all buffers, all of them in flight at once.
pub fn aio_write(f: &File, requests: &mut [Request]) -> Res<Vec<Res<usize>>> {
    batch(f, IOCB_CMD_PWRITE, requests)
}

/// Reads into all buffers, all of them in flight at once.
pub fn aio_read(f: &File, requests: &mut [Request]) -> Res<Vec<Res<usize>>> {
    batch(f, IOCB_CMD_PREAD, requests)
}
