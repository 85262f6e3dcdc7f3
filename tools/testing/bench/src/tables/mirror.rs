// SPDX-License-Identifier: GPL-2.0

//! What freeing clusters and changing directories costs when each change is waited for.

use super::{KIB, MIB};
use crate::case::Case;
use crate::target::Bound::{FatSectorsOnce, Writes, WritesOfVfat, WritesPerFile};
use crate::work::{free, small};

pub fn cases() -> Vec<Case> {
    let delete = |cluster, bytes, files| {
        Case::new("sync", cluster, bytes, files, free::unlink)
            .measures("unlink", &[WritesPerFile(6), WritesOfVfat, FatSectorsOnce])
    };
    let truncate = |cluster, bytes, files| {
        Case::new("sync", cluster, bytes, files, free::truncate_down).measures(
            "truncate to 0",
            &[WritesPerFile(6), WritesOfVfat, FatSectorsOnce],
        )
    };
    vec![
        delete(512, 4 * KIB, 128).takes(3.0, 2.0).quick(),
        delete(512, 128 * KIB, 16).takes(2.0, 2.0).quick(),
        delete(512, MIB, 16).takes(4.0, 2.0).quick(),
        delete(4096, MIB, 16).takes(2.0, 2.0),
        delete(512, 16 * MIB, 16).takes(30.0, 3.0),
        delete(512, 256 * MIB, 16).takes(300.0, 15.0),
        truncate(512, 4 * KIB, 128).takes(3.0, 2.0),
        truncate(512, 128 * KIB, 16).takes(2.0, 2.0),
        truncate(512, MIB, 16).takes(4.0, 2.0).quick(),
        truncate(4096, MIB, 16).takes(2.0, 2.0),
        truncate(512, 16 * MIB, 16).takes(30.0, 3.0),
        truncate(512, 256 * MIB, 16).takes(300.0, 15.0),
        Case::new("sync", 4096, 0, 64, small::changes)
            .measures("mkdir", &[Writes(64 * 12), WritesOfVfat])
            .measures("create", &[WritesOfVfat])
            .measures("rename", &[WritesOfVfat])
            .measures("unlink, empty", &[WritesOfVfat])
            .takes(3.0, 3.0)
            .quick(),
    ]
}
