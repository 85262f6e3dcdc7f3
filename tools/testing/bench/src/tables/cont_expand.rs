// SPDX-License-Identifier: GPL-2.0

//! `ftruncate` and `fallocate(fd, 0, 0, bytes)` that make files longer.

use super::{KIB, MIB};
use crate::case::Case;
use crate::target::Bound::{AtMost, Faster, Writes};
use crate::work::expand::{allocate, truncate_up};

const TRUNCATE: &str = "ftruncate";
const ALLOCATE: &str = "fallocate";

pub fn cases() -> Vec<Case> {
    let truncate =
        |mount, cluster, bytes, files| Case::new(mount, cluster, bytes, files, truncate_up);
    let allocate = |mount, cluster, bytes, files| Case::new(mount, cluster, bytes, files, allocate);
    let small = AtMost("cache_grown_mib", 64.0);
    vec![
        truncate("sync", 512, 64 * KIB, 128)
            .measures(TRUNCATE, &[Writes(530), Faster(100.0)])
            .takes(20.0, 1.5)
            .quick(),
        truncate("sync", 512, MIB, 16)
            .measures(TRUNCATE, &[Writes(80), Faster(500.0)])
            .takes(60.0, 1.0),
        truncate("sync", 4096, MIB, 16)
            .measures(TRUNCATE, &[Writes(80), Faster(150.0)])
            .takes(10.0, 1.0)
            .quick(),
        allocate("sync", 4096, MIB, 16)
            .measures(ALLOCATE, &[Writes(80), Faster(150.0)])
            .takes(10.0, 1.0),
        truncate("async", 512, 64 * MIB, 16)
            .measures(TRUNCATE, &[Faster(20.0)])
            .takes(40.0, 4.0),
        truncate("async", 4096, 256 * MIB, 16)
            .measures(TRUNCATE, &[Faster(20.0), small])
            .takes(65.0, 5.0),
        truncate("async", 512, 256 * MIB, 16)
            .measures(TRUNCATE, &[Faster(20.0), small])
            .takes(150.0, 12.0),
    ]
}
