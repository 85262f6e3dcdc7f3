// SPDX-License-Identifier: GPL-2.0

//! Watches the kernel log for signs of a bug.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// Text in a kernel message that fails the test during which it appeared.
const BAD: &[&str] = &[
    "WARNING:",
    "BUG:",
    "Oops",
    "kernel BUG at",
    "Kernel panic",
    "general protection",
    "KASAN",
    "UBSAN",
    "possible circular locking",
    "possible recursive locking",
    "inconsistent lock state",
    "suspicious RCU usage",
    "sleeping function called",
    "blocked for more than",
    "soft lockup",
    "rust_kernel: panicked",
    "refcount_t:",
    "list_add corruption",
    "list_del corruption",
    "VFS: Busy inodes",
    "Objects remaining",
];

/// A reader of /dev/kmsg that starts at the present.
pub struct Kmsg(Option<File>);

impl Kmsg {
    /// Starts watching now.
    pub fn now() -> Kmsg {
        let f = std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/kmsg");
        Kmsg(f.ok().and_then(|mut f| {
            f.seek(SeekFrom::End(0)).ok()?;
            Some(f)
        }))
    }

    /// The messages since the last call.
    pub fn read(&mut self) -> Vec<String> {
        let mut out = Vec::new();
        let Some(f) = &mut self.0 else { return out };
        let mut buf = [0u8; 8192];
        loop {
            match f.read(&mut buf) {
                Ok(0) => return out,
                Ok(n) => {
                    let line = String::from_utf8_lossy(&buf[..n]);
                    let line = line.lines().next().unwrap_or("");
                    out.push(line.split_once(';').map_or(line, |x| x.1).to_string());
                }
                Err(e) if e.raw_os_error() == Some(libc::EPIPE) => continue,
                Err(_) => return out,
            }
        }
    }

    /// The messages since the last call, if one of them tells of a bug.
    pub fn trouble(&mut self) -> Option<String> {
        Self::trouble_in(&self.read())
    }

    /// The messages from the first on that tells of a bug.
    pub fn trouble_in(lines: &[String]) -> Option<String> {
        let first = lines
            .iter()
            .position(|l| BAD.iter().any(|b| l.contains(b)))?;
        Some(
            lines[first..]
                .iter()
                .take(40)
                .fold(String::from("the kernel log tells of a bug:"), |s, l| {
                    s + "\n" + l
                }),
        )
    }
}
