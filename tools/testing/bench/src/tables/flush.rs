// SPDX-License-Identifier: GPL-2.0

//! What happens when a file is closed on a mount with the option `flush`.

use super::{GIB, KIB, MIB};
use crate::case::Case;
use crate::target::Bound::{AtMost, AverageKib, Faster, PartOfVfat, Seconds};
use crate::work::flush::{close_small, new_file, preallocated};

/// Nobody has to come back for what is dirty; a page or two of others may be.
const NOTHING_LEFT: (&str, f64) = ("dirty_kib_after_close", 256.0);

pub fn cases() -> Vec<Case> {
    let left = AtMost(NOTHING_LEFT.0, NOTHING_LEFT.1);
    let small = |files| {
        Case::new("flush", 4096, 4 * KIB, files, close_small).measures(
            "write and close",
            &[Faster(20.0), PartOfVfat("metadata_sectors_per_file", 0.2)],
        )
    };
    vec![
        small(100).takes(12.0, 1.5).quick(),
        small(1000).takes(112.0, 4.0),
        Case::new("flush", 4096, 256 * MIB, 1, preallocated)
            .measures(
                "close, preallocated",
                &[AverageKib(990.0), Faster(1.0), left],
            )
            .volume(GIB)
            .takes(20.0, 20.0)
            .quick()
            .slow(),
        Case::new("flush", 4096, 256 * MIB, 1, new_file)
            .measures("write, new file", &[Seconds(3.0), left])
            .volume(GIB)
            .takes(20.0, 20.0)
            .slow(),
    ]
}
