// SPDX-License-Identifier: GPL-2.0

//! Shared file mappings and aligned buffers.

use super::{check, Errno, Res};
use std::fs::File;
use std::os::fd::AsRawFd;

/// A `MAP_SHARED` mapping of the start of a file.
pub struct Map {
    addr: *mut u8,
    len: usize,
}

impl Map {
    /// mmap(2) from offset 0.
    pub fn shared(f: &File, len: usize, write: bool) -> Res<Map> {
        let prot = libc::PROT_READ | if write { libc::PROT_WRITE } else { 0 };
        // SAFETY: a new mapping at an address the kernel chooses touches no existing memory.
        let addr = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                prot,
                libc::MAP_SHARED,
                f.as_raw_fd(),
                0,
            )
        };
        if addr == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        Ok(Map {
            addr: addr.cast(),
            len,
        })
    }

    /// Copies bytes out of the mapping.
    pub fn read(&self, off: usize, len: usize) -> Vec<u8> {
        assert!(off + len <= self.len);
        (off..off + len)
            // SAFETY: the offset is inside the mapping.
            .map(|i| unsafe { self.addr.add(i).read_volatile() })
            .collect()
    }

    /// Copies bytes into the mapping.
    pub fn write(&self, off: usize, data: &[u8]) {
        assert!(off + data.len() <= self.len);
        for (i, &b) in data.iter().enumerate() {
            // SAFETY: the offset is inside the mapping, which callers made writable.
            unsafe { self.addr.add(off + i).write_volatile(b) }
        }
    }

    /// madvise(2): faults all pages in, to read or to write. What would be a signal at an access
    /// is an error here.
    pub fn populate(&self, write: bool) -> Res<()> {
        let advice = if write { 23 } else { 22 };
        // SAFETY: exactly the range of this mapping; the advice changes no content.
        check(unsafe { libc::madvise(self.addr.cast(), self.len, advice) }).map(drop)
    }

    /// msync(2) with `MS_SYNC`.
    pub fn sync(&self) -> Res<()> {
        // SAFETY: exactly the range of this mapping.
        check(unsafe { libc::msync(self.addr.cast(), self.len, libc::MS_SYNC) }).map(drop)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly the range of this mapping, which ends here.
        unsafe { libc::munmap(self.addr.cast(), self.len) };
    }
}

/// A zeroed buffer whose start is aligned to 4096 bytes, for direct I/O.
pub struct Aligned {
    store: Vec<u8>,
    start: usize,
    len: usize,
}

impl Aligned {
    /// A buffer of `len` bytes.
    pub fn new(len: usize) -> Aligned {
        let store = vec![0u8; len + 4096];
        let start = store.as_ptr().align_offset(4096);
        Aligned { store, start, len }
    }

    /// The bytes.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.store[self.start..self.start + self.len]
    }
}
