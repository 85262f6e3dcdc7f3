// SPDX-License-Identifier: GPL-2.0

//! Giving space to open files: `fallocate` with and without KEEP_SIZE, `ftruncate`.

use std::fs::File;
use std::os::fd::AsRawFd;

use anyhow::{Context, Result};
use nix::fcntl::{fallocate, FallocateFlags};
use nix::unistd::ftruncate;

use super::opened;
use crate::case::Case;
use crate::stage::{Sample, Stage};
use crate::sys;

/// `fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, bytes)` over open files.
pub fn keep_size(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    each(case, stage, |file, bytes| {
        fallocate(
            file.as_raw_fd(),
            FallocateFlags::FALLOC_FL_KEEP_SIZE,
            0,
            bytes,
        )
        .context("fallocate with KEEP_SIZE failed")
    })
}

/// `fallocate(fd, 0, 0, bytes)` over open files.
pub fn allocate(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    each(case, stage, |file, bytes| {
        fallocate(file.as_raw_fd(), FallocateFlags::empty(), 0, bytes).context("fallocate failed")
    })
}

/// `ftruncate(fd, bytes)` over open files.
pub fn truncate_up(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    each(case, stage, |file, bytes| {
        ftruncate(file, bytes).context("ftruncate failed")
    })
}

fn each(case: &Case, stage: &mut Stage, op: fn(&File, i64) -> Result<()>) -> Result<Vec<Sample>> {
    let files = opened(case, stage)?;
    let bytes = i64::try_from(case.bytes)?;
    let cached = sys::meminfo_kib("Cached")?;
    let sample = stage.measure(|progress| {
        for (n, file) in (1..).zip(&files) {
            op(file, bytes)?;
            progress.tick(n, case.files, "files");
        }
        Ok(())
    })?;
    let grown = sys::meminfo_kib("Cached")?.saturating_sub(cached);
    Ok(vec![sample.with("cache_grown_mib", (grown / 1024) as f64)])
}
