// SPDX-License-Identifier: GPL-2.0

//! Reading and writing file content.

use std::io::{Read, Write};
use std::os::unix::fs::FileExt;

use anyhow::{ensure, Result};

use super::{name, open};
use crate::case::Case;
use crate::fragment;
use crate::stage::{Sample, Stage};

/// Bytes given to one `read` or `write`.
const PIECE: usize = 1 << 20;

/// Writes a file from beginning to end with an fsync, then reads it cold.
pub fn sequential(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    stage.format(case.cluster, case.volume)?;
    stage.mount(case.mount)?;
    let pieces = case.bytes / PIECE as u64;
    let mib = case.bytes as f64 / (1 << 20) as f64;
    let with_rate = |sample: Sample| {
        let rate = mib / sample.seconds;
        sample.with("mib_per_second", rate)
    };
    let mut piece = vec![0x5a; PIECE];
    let mut file = open(&stage.path(name(0)))?;
    let write = stage.measure(|progress| {
        for n in 0..pieces {
            file.write_all(&piece)?;
            progress.tick(n + 1, pieces, "MiB written");
        }
        Ok(file.sync_all()?)
    })?;
    drop(file);
    stage.remount_cold(case.mount)?;
    let mut file = open(&stage.path(name(0)))?;
    let read = stage.measure(|progress| {
        for n in 0..pieces {
            file.read_exact(&mut piece)?;
            progress.tick(n + 1, pieces, "MiB read");
        }
        Ok(())
    })?;
    ensure!(
        piece.iter().all(|&b| b == 0x5a),
        "read something that wasn't written"
    );
    Ok(vec![with_rate(write), with_rate(read)])
}

/// Reads 4 KiB here and there in a file of which each cluster is a fragment of its own. The
/// cell's "files" are the reads.
pub fn random_reads(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    stage.format(case.cluster, case.volume)?;
    fragment::make(&stage.disk.device(), case.bytes)?;
    stage.mount(case.mount)?;
    let file = open(&stage.path(fragment::NAME))?;
    let mut buffer = [0; 4096];
    let mut place = Places::default();
    let sample = stage.measure(|progress| {
        for n in 0..case.files {
            file.read_exact_at(&mut buffer, place.next(case.bytes / 4096) * 4096)?;
            progress.tick(n + 1, case.files, "reads");
        }
        Ok(())
    })?;
    let each = sample.seconds * 1000.0 / case.files as f64;
    Ok(vec![sample.with("milliseconds_each", each)])
}

/// The same places in each run: a linear congruential generator.
struct Places(u64);

impl Default for Places {
    fn default() -> Self {
        Self(0x2545_f491_4f6c_dd1d)
    }
}

impl Places {
    /// A number below `limit`.
    fn next(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_repeat_and_spread() {
        let draw = || {
            let mut place = Places::default();
            (0..1000).map(|_| place.next(100)).collect::<Vec<_>>()
        };
        let first = draw();
        assert_eq!(first, draw());
        assert!((0..100).all(|n| first.contains(&n)));
    }
}
