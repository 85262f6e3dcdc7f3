// SPDX-License-Identifier: GPL-2.0

//! getdents64(2), with the offsets that telldir() would give.

use super::{check, Res};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

/// One directory entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dirent {
    pub ino: u64,
    /// The position that continues after this entry.
    pub off: i64,
    pub kind: u8,
    pub name: Vec<u8>,
}

impl Dirent {
    /// Whether this is `.` or `..`.
    pub fn is_dot(&self) -> bool {
        self.name == b"." || self.name == b".."
    }
}

/// One getdents64(2) call with a buffer of `size` bytes; empty at the end.
pub fn getdents(f: &File, size: usize) -> Res<Vec<Dirent>> {
    let mut buf = vec![0u8; size];
    // SAFETY: pointer and length come from one exclusive slice.
    let n = check(unsafe {
        libc::syscall(
            libc::SYS_getdents64,
            f.as_raw_fd(),
            buf.as_mut_ptr(),
            buf.len(),
        )
    })? as usize;
    let mut out = Vec::new();
    let mut rest = &buf[..n];
    while rest.len() >= 19 {
        let word = |at: usize| u64::from_ne_bytes(rest[at..at + 8].try_into().expect("8 bytes"));
        let len = u16::from_ne_bytes([rest[16], rest[17]]) as usize;
        let name = &rest[19..len];
        let end = name.iter().position(|&c| c == 0).unwrap_or(name.len());
        out.push(Dirent {
            ino: word(0),
            off: word(8) as i64,
            kind: rest[18],
            name: name[..end].to_vec(),
        });
        rest = &rest[len..];
    }
    Ok(out)
}

/// All entries of an open directory from its current position.
pub fn read_all(f: &File, size: usize) -> Res<Vec<Dirent>> {
    let mut out = Vec::new();
    loop {
        let part = getdents(f, size)?;
        if part.is_empty() {
            return Ok(out);
        }
        out.extend(part);
    }
}

/// All entries of a directory, `.` and `..` included, in the file system's order.
pub fn list(path: &Path) -> Res<Vec<Dirent>> {
    let d = super::open(path, libc::O_RDONLY | libc::O_DIRECTORY)?;
    read_all(&d, 32768)
}

/// The sorted names of a directory without `.` and `..`, as lossy strings.
pub fn names(path: &Path) -> Res<Vec<String>> {
    let mut v: Vec<String> = list(path)?
        .into_iter()
        .filter(|d| !d.is_dot())
        .map(|d| String::from_utf8_lossy(&d.name).into_owned())
        .collect();
    v.sort();
    Ok(v)
}
