// SPDX-License-Identifier: GPL-2.0

//! Reading and writing content.

use super::{GIB, MIB};
use crate::case::Case;
use crate::target::Bound::{Faster, Reads};
use crate::work::data::{random_reads, sequential};

pub fn cases() -> Vec<Case> {
    let in_order = |cluster, bytes| Case::new("async", cluster, bytes, 1, sequential);
    let random = |cluster, reads| {
        Case::new("async", cluster, 256 * MIB, reads, random_reads).volume(2 * GIB)
    };
    const WRITE: &str = "write, fsync";
    const READ: &str = "read";
    const RANDOM: &str = "random reads, 4 KiB";
    vec![
        in_order(512, 64 * MIB)
            .measures(WRITE, &[Faster(2.0), Reads(150)])
            .measures(READ, &[Faster(1.2)])
            .takes(4.0, 2.0)
            .quick(),
        in_order(4096, 512 * MIB)
            .measures(WRITE, &[Faster(1.5)])
            .measures(READ, &[Faster(1.2)])
            .takes(12.0, 8.0),
        in_order(512, 512 * MIB)
            .measures(WRITE, &[Faster(2.0), Reads(150)])
            .measures(READ, &[Faster(1.2)])
            .takes(18.0, 9.0),
        random(4096, 500)
            .measures(RANDOM, &[Faster(1.5)])
            .takes(4.0, 4.0)
            .quick(),
        random(512, 200)
            .measures(RANDOM, &[Faster(25.0)])
            .takes(9.0, 3.0)
            .quick(),
    ]
}
