// SPDX-License-Identifier: GPL-2.0

//! What grows with the number of files or the size of the volume.

use super::GIB;
use crate::case::Case;
use crate::target::Bound::{Faster, OwnTime, Reads};
use crate::work::scale::{free_space, many_files};

pub fn cases() -> Vec<Case> {
    let many = |files| Case::new("async", 4096, 0, files, many_files);
    let four_times = OwnTime(5.0, 5000, 0);
    vec![
        many(1000)
            .measures("create", &[])
            .measures("stat, cold", &[])
            .measures("unlink, empty", &[])
            .takes(4.0, 1.5)
            .quick(),
        many(5000)
            .measures("create", &[Faster(20.0)])
            .measures("stat, cold", &[Faster(50.0)])
            .measures("unlink, empty", &[Faster(5.0)])
            .takes(52.0, 4.0),
        // vfat takes 16 times as long for 4 times the files.
        many(20_000)
            .measures("create", &[four_times])
            .measures("stat, cold", &[four_times])
            .measures("unlink, empty", &[four_times])
            .takes(830.0, 12.0),
        Case::new("async", 4096, 0, 1, free_space)
            .measures("statfs after mount", &[Faster(50.0), Reads(16)])
            .volume(32 * GIB)
            .takes(6.0, 5.0)
            .quick(),
    ]
}
