// SPDX-License-Identifier: GPL-2.0

//! `fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes)` over open files.

use super::{KIB, MIB};
use crate::case::Case;
use crate::target::Bound::{Faster, FatSectorsOnce, OwnTime, Writes};
use crate::work::expand::keep_size;

const OP: &str = "fallocate KEEP_SIZE";

/// The cell of the demonstration, for one size of cluster.
pub fn demo(cluster: u32) -> Case {
    let (factor, seconds) = if cluster == 512 {
        (1000.0, 64.0)
    } else {
        (400.0, 8.5)
    };
    Case::new("sync", cluster, MIB, 16, keep_size)
        .measures(OP, &[Writes(64), FatSectorsOnce, Faster(factor)])
        .takes(seconds, 0.5)
}

pub fn cases() -> Vec<Case> {
    let case = |mount, cluster, bytes, files| Case::new(mount, cluster, bytes, files, keep_size);
    vec![
        case("sync", 512, 4 * KIB, 128)
            .measures(OP, &[Writes(400), FatSectorsOnce, Faster(20.0)])
            .takes(4.0, 1.5)
            .quick(),
        case("sync", 512, 128 * KIB, 16)
            .measures(OP, &[Writes(64), FatSectorsOnce, Faster(400.0)])
            .takes(9.5, 1.0)
            .quick(),
        demo(512),
        demo(4096).quick(),
        case("sync", 512, 16 * MIB, 16)
            .measures(OP, &[Writes(96), FatSectorsOnce, OwnTime(6.0, 16, MIB)])
            .takes(960.0, 2.0),
        case("sync", 512, 256 * MIB, 16)
            .measures(
                OP,
                &[Writes(160), FatSectorsOnce, OwnTime(16.0, 16, 16 * MIB)],
            )
            .takes(4.0 * 3600.0, 10.0),
        case("async", 512, 16 * MIB, 16)
            .measures(OP, &[Faster(30.0)])
            .takes(5.0, 1.5)
            .quick(),
        case("async", 4096, 256 * MIB, 16)
            .measures(OP, &[Faster(25.0)])
            .takes(10.0, 2.0),
        case("async", 512, 256 * MIB, 16)
            .measures(OP, &[Faster(20.0)])
            .takes(75.0, 10.0),
    ]
}
