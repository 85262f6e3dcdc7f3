// SPDX-License-Identifier: GPL-2.0

//! The one thing that needs `unsafe`: storing to a mapping of a file.

use std::fs::File;
use std::num::NonZeroUsize;

use anyhow::{Context, Result};
use nix::sys::mman::{mmap, munmap, MapFlags, ProtFlags};

/// Bytes of a page.
pub const PAGE: u64 = 4096;

/// Stores `bytes` at `offset` of a file, through a shared mapping of its pages.
pub fn store(file: &File, offset: u64, bytes: &[u8]) -> Result<()> {
    let start = offset - offset % PAGE;
    let skip = usize::try_from(offset - start)?;
    let len = NonZeroUsize::new(skip + bytes.len()).context("nothing to store")?;
    let prot = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: The mapping is new, at an address that the kernel chose.
    let map = unsafe {
        mmap(
            None,
            len,
            prot,
            MapFlags::MAP_SHARED,
            file,
            start.try_into()?,
        )?
    };
    // SAFETY: The mapping is `skip + bytes.len()` bytes long and nobody else has it.
    unsafe {
        std::ptr::copy_nonoverlapping(
            bytes.as_ptr(),
            map.as_ptr().cast::<u8>().add(skip),
            bytes.len(),
        )
    };
    // SAFETY: This is the mapping made above, and nothing refers to it any more.
    unsafe { munmap(map, len.get())? };
    Ok(())
}
