// SPDX-License-Identifier: GPL-2.0

//! rvfat: the FAT12, FAT16 and FAT32 (VFAT) file systems.

use kernel::prelude::*;

mod bindings;
mod vfs;

module! {
    type: Rvfat,
    name: "rvfat",
    authors: ["The rvfat developers"],
    description: "FAT12, FAT16 and FAT32 (VFAT) file system",
    license: "GPL",
}

struct Rvfat;

impl kernel::Module for Rvfat {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        Ok(Rvfat)
    }
}
