// SPDX-License-Identifier: GPL-2.0

//! mount(2), umount(2) and loop devices.

use super::{check, cstr, Errno, Res};
use std::ffi::CString;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const LOOP_CTL_GET_FREE: u64 = 0x4C82;
const LOOP_CONFIGURE: u64 = 0x4C0A;
const LOOP_CLR_FD: u64 = 0x4C01;
const LO_FLAGS_READ_ONLY: u32 = 1;

/// mount(2).
pub fn mount(dev: &Path, dir: &Path, fs: &str, flags: u64, opts: &str) -> Res<()> {
    let (dev, dir) = (cstr(dev), cstr(dir));
    let fs = CString::new(fs).expect("type without NUL");
    let opts = CString::new(opts).expect("options without NUL");
    // SAFETY: all are valid C strings for the length of the call.
    check(unsafe {
        libc::mount(
            dev.as_ptr(),
            dir.as_ptr(),
            fs.as_ptr(),
            flags as _,
            opts.as_ptr().cast(),
        )
    })
    .map(drop)
}

/// umount2(2).
pub fn umount(dir: &Path, flags: i32) -> Res<()> {
    let dir = cstr(dir);
    // SAFETY: a valid C string for the length of the call.
    check(unsafe { libc::umount2(dir.as_ptr(), flags) }).map(drop)
}

/// One line of /proc/self/mounts.
#[derive(Clone, Debug)]
pub struct MountLine {
    pub dev: String,
    pub dir: PathBuf,
    pub opts: String,
}

/// The mount table, oldest first.
pub fn mounts() -> Vec<MountLine> {
    let text = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    text.lines()
        .filter_map(|l| {
            let mut f = l.split(' ');
            Some(MountLine {
                dev: f.next()?.into(),
                dir: f.next()?.into(),
                opts: f.nth(1)?.into(),
            })
        })
        .collect()
}

#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    sizelimit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

#[repr(C)]
struct LoopConfig {
    fd: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// An attached loop device; detached on drop.
pub struct Loop {
    pub dev: PathBuf,
}

impl Loop {
    /// Attaches a file as a block device of `block_size` bytes (0: the default of 512).
    pub fn attach(image: &Path, block_size: u32, read_only: bool) -> Res<Loop> {
        let ctl = super::open(Path::new("/dev/loop-control"), libc::O_RDWR)?;
        let mode = if read_only {
            libc::O_RDONLY
        } else {
            libc::O_RDWR
        };
        let file = super::open(image, mode)?;
        for _ in 0..64 {
            // SAFETY: this request takes no argument.
            let n = check(unsafe { libc::ioctl(ctl.as_raw_fd(), LOOP_CTL_GET_FREE as _) })?;
            let dev = PathBuf::from(format!("/dev/loop{n}"));
            let d = super::open(&dev, libc::O_RDWR)?;
            // SAFETY: an all-zero configuration is a valid value.
            let mut c: LoopConfig = unsafe { std::mem::zeroed() };
            c.fd = file.as_raw_fd() as u32;
            c.block_size = block_size;
            c.info.flags = if read_only { LO_FLAGS_READ_ONLY } else { 0 };
            // SAFETY: `c` is the structure this request expects.
            match check(unsafe { libc::ioctl(d.as_raw_fd(), LOOP_CONFIGURE as _, &c) }) {
                Ok(_) => return Ok(Loop { dev }),
                Err(Errno(libc::EBUSY)) => continue,
                Err(e) => return Err(e),
            }
        }
        Err(Errno(libc::EBUSY))
    }
}

/// Makes a block device read-only, or writable again.
pub fn set_read_only(dev: &Path, on: bool) -> Res<()> {
    const BLKROSET: u64 = 0x125D;
    let d: File = super::open(dev, libc::O_RDONLY)?;
    let arg = i32::from(on);
    // SAFETY: this request reads one int.
    check(unsafe { libc::ioctl(d.as_raw_fd(), BLKROSET as _, &arg) }).map(drop)
}

/// Detaches a loop device.
pub fn loop_detach(dev: &Path) -> Res<()> {
    let d: File = super::open(dev, libc::O_RDONLY)?;
    // SAFETY: this request takes no argument.
    check(unsafe { libc::ioctl(d.as_raw_fd(), LOOP_CLR_FD as _) }).map(drop)
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = loop_detach(&self.dev);
    }
}
