// SPDX-License-Identifier: GPL-2.0

//! The device mapper's control device: quicker than one `dmsetup` for each step.

use super::{check, Res};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

const DEV_CREATE: u64 = 3;
const DEV_REMOVE: u64 = 4;
const DEV_SUSPEND: u64 = 6;
const TABLE_LOAD: u64 = 9;
const TARGET_MSG: u64 = 14;

const SUSPEND: u32 = 1 << 1;
const SKIP_LOCKFS: u32 = 1 << 10;
const NOFLUSH: u32 = 1 << 11;

/// `struct dm_ioctl`, and behind it room for what a request takes or returns.
#[repr(C)]
struct Request {
    version: [u32; 3],
    data_size: u32,
    data_start: u32,
    target_count: u32,
    open_count: i32,
    flags: u32,
    event_nr: u32,
    padding: u32,
    dev: u64,
    name: [u8; 128],
    uuid: [u8; 129],
    data: [u8; 7],
    room: [u8; ROOM],
}

const HEAD: usize = 312;
const ROOM: usize = 64 * 1024;

/// A line of a table: sectors from `start` on, the target's type and its arguments.
pub struct Target {
    pub start: u64,
    pub len: u64,
    pub kind: &'static str,
    pub args: String,
}

/// One mapped device; removed on drop.
pub struct Dm {
    ctl: File,
    name: String,
    pub dev: PathBuf,
}

fn request(name: &str) -> Box<Request> {
    let mut r = Box::new(Request {
        version: [4, 0, 0],
        data_size: (HEAD + ROOM) as u32,
        data_start: HEAD as u32,
        target_count: 0,
        open_count: 0,
        flags: 0,
        event_nr: 0,
        padding: 0,
        dev: 0,
        name: [0; 128],
        uuid: [0; 129],
        data: [0; 7],
        room: [0; ROOM],
    });
    r.name[..name.len()].copy_from_slice(name.as_bytes());
    r
}

fn call(ctl: &File, nr: u64, r: &mut Request) -> Res<()> {
    // SAFETY: a request that is as long as it says.
    check(unsafe { libc::ioctl(ctl.as_raw_fd(), (0xC138_FD00 | nr) as _, r as *mut Request) })
        .map(drop)
}

fn control() -> Res<File> {
    super::open(Path::new("/dev/mapper/control"), libc::O_RDWR)
}

/// Removes the device of this name, if there is one that nobody uses.
pub fn dm_remove(name: &str) -> Res<()> {
    call(&control()?, DEV_REMOVE, &mut request(name))
}

impl Dm {
    /// Makes a device with this table.
    pub fn create(name: &str, table: &[Target]) -> Res<Dm> {
        let ctl = control()?;
        let mut r = request(name);
        call(&ctl, DEV_CREATE, &mut r)?;
        let minor = (r.dev & 0xFF) | ((r.dev >> 12) & 0xFFF00);
        let dm = Dm {
            ctl,
            name: name.into(),
            dev: PathBuf::from(format!("/dev/dm-{minor}")),
        };
        dm.load(table)?;
        call(&dm.ctl, DEV_SUSPEND, &mut request(name))?;
        Ok(dm)
    }

    fn load(&self, table: &[Target]) -> Res<()> {
        let mut r = request(&self.name);
        r.target_count = table.len() as u32;
        let mut at = 0;
        for t in table {
            let next = (40 + t.args.len() + 1).next_multiple_of(8);
            let spec = &mut r.room[at..at + next];
            spec[..8].copy_from_slice(&t.start.to_ne_bytes());
            spec[8..16].copy_from_slice(&t.len.to_ne_bytes());
            spec[20..24].copy_from_slice(&(next as u32).to_ne_bytes());
            spec[24..24 + t.kind.len()].copy_from_slice(t.kind.as_bytes());
            spec[40..40 + t.args.len()].copy_from_slice(t.args.as_bytes());
            at += next;
        }
        call(&self.ctl, TABLE_LOAD, &mut r)
    }

    /// Puts another table in place, under a file system that isn't frozen for it.
    pub fn switch(&self, table: &[Target]) -> Res<()> {
        let mut r = request(&self.name);
        r.flags = SUSPEND | SKIP_LOCKFS | NOFLUSH;
        call(&self.ctl, DEV_SUSPEND, &mut r)?;
        let loaded = self.load(table);
        call(&self.ctl, DEV_SUSPEND, &mut request(&self.name))?;
        loaded
    }

    /// Sends a message to the device; its answer.
    pub fn message(&self, text: &str) -> Res<String> {
        let mut r = request(&self.name);
        r.room[8..8 + text.len()].copy_from_slice(text.as_bytes());
        call(&self.ctl, TARGET_MSG, &mut r)?;
        let out = &r.room[..];
        let end = out.iter().position(|&c| c == 0).unwrap_or(out.len());
        Ok(String::from_utf8_lossy(&out[..end]).into_owned())
    }
}

impl Drop for Dm {
    fn drop(&mut self) {
        let _ = call(&self.ctl, DEV_REMOVE, &mut request(&self.name));
    }
}
