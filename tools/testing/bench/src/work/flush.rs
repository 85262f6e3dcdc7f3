// SPDX-License-Identifier: GPL-2.0

//! Closing files on a flush mount: many small ones, and a big one on a slow disk.

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::time::Instant;

use anyhow::Result;
use nix::fcntl::{fallocate, FallocateFlags};

use super::{name, open};
use crate::case::Case;
use crate::stage::{Sample, Stage};
use crate::sys;

/// Bytes given to one `write`.
const PIECE: usize = 1 << 20;

/// Writes and closes small files. The requests include those of the unmounting.
pub fn close_small(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    stage.format(case.cluster, case.volume)?;
    stage.mount(case.mount)?;
    let content = vec![0x5a; usize::try_from(case.bytes)?];
    let before = stage.disk.stat()?;
    let mut sample = stage.measure(|progress| {
        for n in 0..case.files {
            open(&stage.path(name(n)))?.write_all(&content)?;
            progress.tick(n + 1, case.files, "files");
        }
        Ok(())
    })?;
    stage.unmount()?;
    sample.io = stage.disk.stat()? - before;
    let data = case.files * case.bytes / 512;
    let metadata = sample.io.write_sectors.saturating_sub(data);
    Ok(vec![sample.with(
        "metadata_sectors_per_file",
        metadata as f64 / case.files as f64,
    )])
}

/// Writes a big file into space allocated before; the time is that of close and unmount.
pub fn preallocated(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    big(case, stage, true)
}

/// Writes a big new file; the time is that of the writes.
pub fn new_file(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    big(case, stage, false)
}

fn big(case: &Case, stage: &mut Stage, prepared: bool) -> Result<Vec<Sample>> {
    let _limits = DirtyLimits::set(16 << 20, 1 << 30)?;
    stage.disk.set_queue("scheduler", "mq-deadline")?;
    stage.disk.set_queue("nr_requests", 4)?;
    stage.disk.set_queue("max_sectors_kb", 1024)?;
    stage.format(case.cluster, case.volume)?;
    stage.mount(case.mount)?;
    // Touched once, so that no write finds a page that isn't there.
    let piece = vec![0x5a; PIECE];
    let file = open(&stage.path(name(0)))?;
    if prepared {
        let bytes = i64::try_from(case.bytes)?;
        fallocate(
            file.as_raw_fd(),
            FallocateFlags::FALLOC_FL_KEEP_SIZE,
            0,
            bytes,
        )?;
        sys::drop_caches()?;
    }
    let before = stage.disk.stat()?;
    let mut sample = stage.measure(|progress| {
        let pieces = case.bytes / PIECE as u64;
        for n in 0..pieces {
            (&file).write_all(&piece)?;
            progress.tick(n + 1, pieces, "MiB");
        }
        Ok(())
    })?;
    let write = sample.seconds;
    let (close, dirty) = timed_close(file)?;
    let start = Instant::now();
    stage.unmount()?;
    let unmount = start.elapsed().as_secs_f64();
    sample.io = stage.disk.stat()? - before;
    if prepared {
        sample.seconds = close + unmount;
    }
    Ok(vec![sample
        .with("write_seconds", write)
        .with("close_seconds", close)
        .with("umount_seconds", unmount)
        .with("dirty_kib_after_close", dirty)])
}

/// Closes; gives the time and the KiB that nobody has begun to write by then.
fn timed_close(file: File) -> Result<(f64, f64)> {
    let start = Instant::now();
    drop(file);
    let seconds = start.elapsed().as_secs_f64();
    Ok((seconds, sys::meminfo_kib("Dirty")? as f64))
}

/// The system's limits for dirty memory while a big file is written.
struct DirtyLimits {
    ratios: [(&'static str, String); 2],
}

impl DirtyLimits {
    fn set(background: u64, most: u64) -> Result<Self> {
        let old = |name| std::fs::read_to_string(format!("/proc/sys/vm/{name}"));
        let ratios = [
            ("dirty_background_ratio", old("dirty_background_ratio")?),
            ("dirty_ratio", old("dirty_ratio")?),
        ];
        sys::set("/proc/sys/vm/dirty_bytes", most)?;
        sys::set("/proc/sys/vm/dirty_background_bytes", background)?;
        Ok(Self { ratios })
    }
}

impl Drop for DirtyLimits {
    fn drop(&mut self) {
        for (name, value) in &self.ratios {
            if let Err(e) = sys::set(format!("/proc/sys/vm/{name}"), value) {
                eprintln!("{e:#}");
            }
        }
    }
}
