// SPDX-License-Identifier: GPL-2.0

//! Shared file mappings and aligned buffers.

use super::{check, Errno, Res};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};

/// A `MAP_SHARED` mapping of the start of a file.
pub struct Map {
    addr: *mut u8,
    len: usize,
}

impl Map {
    /// mmap(2) from offset 0.
    pub fn shared(f: &File, len: usize, write: bool) -> Res<Map> {
        let prot = libc::PROT_READ | if write { libc::PROT_WRITE } else { 0 };
        Map::new(Some(f), len, prot, libc::MAP_SHARED)
    }

    fn new(f: Option<&File>, len: usize, prot: i32, flags: i32) -> Res<Map> {
        let (fd, flags) = match f {
            Some(f) => (f.as_raw_fd(), flags),
            None => (-1, flags | libc::MAP_ANONYMOUS),
        };
        // SAFETY: a new mapping at an address the kernel chooses touches no existing memory.
        let addr = unsafe { libc::mmap(std::ptr::null_mut(), len, prot, flags, fd, 0) };
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

    /// Has the kernel read the byte at `off`: EFAULT where this process would get SIGBUS is
    /// told as EIO.
    pub fn touch(&self, off: usize) -> Res<()> {
        assert!(off < self.len);
        // Without memory for a pipe the kernel says ENFILE.
        let (_rd, wr) = super::pipe().map_err(|e| match e {
            Errno(libc::ENFILE) => Errno(libc::ENOMEM),
            e => e,
        })?;
        // SAFETY: one byte inside the mapping; the kernel checks that it can be read.
        let n = check(unsafe { libc::write(wr.as_raw_fd(), self.addr.add(off).cast(), 1) });
        match n {
            Err(Errno(libc::EFAULT)) => Err(Errno(libc::EIO)),
            n => n.map(drop),
        }
    }

    /// Has the kernel write into the mapping, through a pipe: EFAULT where this process would
    /// get SIGBUS is told as EIO.
    pub fn fill_by_kernel(&self, off: usize, data: &[u8]) -> Res<()> {
        assert!(off + data.len() <= self.len);
        let (rd, wr) = super::pipe()?;
        super::write(&wr, data)?;
        // SAFETY: a range inside the mapping; the kernel checks that it can be written.
        let n = check(unsafe { libc::read(rd.as_raw_fd(), self.addr.add(off).cast(), data.len()) });
        match n {
            Err(Errno(libc::EFAULT)) => Err(Errno(libc::EIO)),
            n => n.map(drop),
        }
    }

    /// A private mapping of these bytes, none of which has been looked at through it.
    pub fn anonymous_from(data: &[u8]) -> Res<Map> {
        // SAFETY: a valid C string; the descriptor is new and nothing else owns it.
        let f = unsafe { File::from_raw_fd(check(libc::memfd_create(c"source".as_ptr(), 0))?) };
        super::pwrite_all(&f, data, 0)?;
        Map::new(Some(&f), data.len(), libc::PROT_READ, libc::MAP_PRIVATE)
    }

    /// pwrite(2) of a part of the mapping to `f`.
    pub fn write_to(&self, f: &File, off: usize, len: usize, pos: i64) -> Res<usize> {
        assert!(off + len <= self.len);
        // SAFETY: a range inside the mapping; the kernel checks that it can be read.
        check(unsafe { libc::pwrite(f.as_raw_fd(), self.addr.add(off).cast(), len, pos) })
            .map(|n| n as usize)
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

/// Keeps all memory of this process, its program too, where it is: no page has to be read.
pub fn lock_memory() -> Res<()> {
    // SAFETY: changes nothing but what may be paged out.
    check(unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) }).map(drop)
}

/// Bytes behind which there is no memory.
pub struct Cliff {
    map: Map,
    start: usize,
}

impl Cliff {
    /// Puts these bytes there.
    pub fn new(data: &[u8]) -> Res<Cliff> {
        const PAGE: usize = 4096;
        let good = data.len().next_multiple_of(PAGE);
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let map = Map::new(None, good + PAGE, prot, libc::MAP_PRIVATE)?;
        map.write(good - data.len(), data);
        // SAFETY: the last page of this mapping, to which there is no reference.
        check(unsafe { libc::mprotect(map.addr.add(good).cast(), PAGE, libc::PROT_NONE) })?;
        Ok(Cliff {
            map,
            start: good - data.len(),
        })
    }

    /// pwrite(2) of the bytes and of `more` behind them.
    pub fn write_to(&self, f: &File, more: usize, pos: i64) -> Res<usize> {
        // SAFETY: the kernel checks what of the range can be read.
        check(unsafe {
            let from = self.map.addr.add(self.start).cast();
            let len = self.map.len - 4096 - self.start + more;
            libc::pwrite(f.as_raw_fd(), from, len, pos)
        })
        .map(|n| n as usize)
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
