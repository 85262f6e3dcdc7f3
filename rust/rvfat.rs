// SPDX-License-Identifier: GPL-2.0

//! rvfat: the FAT12, FAT16 and FAT32 (VFAT) file systems.
//!
//! - [`fat`] is the file system;
//! - [`ondisk`] is the format, independent of the kernel;
//! - [`vfs`] wraps what the kernel offers to file systems. What bindgen makes of the kernel's
//!   headers, `rust/bindings`, is a private module of it.

use kernel::prelude::*;

#[deny(unsafe_code)]
mod fat;
#[forbid(unsafe_code)]
pub mod ondisk;
mod vfs;

module! {
    type: Rvfat,
    name: "rvfat",
    authors: ["The rvfat developers"],
    description: "FAT12, FAT16 and FAT32 (VFAT) file system",
    license: "GPL",
    alias: ["fs-rvfat"],
}

struct Rvfat {
    _registration: vfs::Registration<fat::Fat>,
}

impl kernel::Module for Rvfat {
    fn init(module: &'static ThisModule) -> Result<Self> {
        Ok(Self {
            _registration: vfs::Registration::new(module)?,
        })
    }
}
