// SPDX-License-Identifier: GPL-2.0

//! Runs a cell: first vfat, then rvfat, each on its own fresh disk.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::case::Case;
use crate::record::Row;
use crate::stage::{Sample, Stage};
use crate::target;

/// A loop shorter than this is repeated, because its time alone says little.
const SHORT: f64 = 1.0;

/// No more repetitions of a cell after this time.
const ENOUGH: Duration = Duration::from_secs(10);

/// The two file systems on their equal disks.
pub struct Pair {
    pub vfat: Stage,
    pub rvfat: Stage,
}

/// Runs a cell on both. `show` is given each row once it's complete, vfat's first.
pub fn run(
    case: &Case,
    pair: &mut Pair,
    repeats: usize,
    earlier: &[Row],
    mut show: impl FnMut(&Row),
) -> Vec<Row> {
    let vfat = if case.too_long() {
        let why = format!("would take vfat {}", crate::text::duration(case.takes.0));
        skipped(case, &pair.vfat, &why)
    } else {
        side(case, &mut pair.vfat, repeats)
    };
    vfat.iter().for_each(&mut show);
    let mut rvfat = side(case, &mut pair.rvfat, repeats);
    for ((row, other), wanted) in rvfat.iter_mut().zip(&vfat).zip(&case.loops) {
        row.compare(other);
        row.target = target::describe(&wanted.bounds);
        row.met = match row.skipped {
            Some(_) => Some(false),
            None => target::met(&wanted.bounds, row, other, earlier),
        };
        show(row);
    }
    vfat.into_iter()
        .zip(rvfat)
        .flat_map(|(a, b)| [a, b])
        .collect()
}

/// Runs a cell on one file system. What goes wrong is told in the rows.
fn side(case: &Case, stage: &mut Stage, repeats: usize) -> Vec<Row> {
    match repeat(case, stage, repeats) {
        Ok(loops) => {
            let mut rows = rows(case, stage);
            for (row, samples) in rows.iter_mut().zip(loops) {
                row.fill(samples);
            }
            rows
        }
        Err(e) => {
            // A later cell starts with a fresh volume, and would say so itself.
            let _ = stage.unmount();
            skipped(case, stage, &format!("failed: {e:#}"))
        }
    }
}

/// The samples of all repetitions, for each loop of the cell.
fn repeat(case: &Case, stage: &mut Stage, repeats: usize) -> Result<Vec<Vec<Sample>>> {
    let mut loops = vec![Vec::new(); case.loops.len()];
    let start = Instant::now();
    for _ in 0..repeats.max(1) {
        let samples = (case.work)(case, stage)?;
        stage.unmount()?;
        let short = samples.iter().any(|sample| sample.seconds < SHORT);
        for (all, sample) in loops.iter_mut().zip(samples) {
            all.push(sample);
        }
        // What is prepared may well take longer than what is measured.
        if !short || start.elapsed() > ENOUGH {
            break;
        }
    }
    Ok(loops)
}

fn rows(case: &Case, stage: &Stage) -> Vec<Row> {
    let row = |op: &str| Row {
        fs: stage.name.clone(),
        mount: case.mount.into(),
        cluster: case.cluster,
        files: case.files,
        bytes: case.bytes,
        op: op.into(),
        ..Row::default()
    };
    case.loops.iter().map(|wanted| row(wanted.op)).collect()
}

fn skipped(case: &Case, stage: &Stage, why: &str) -> Vec<Row> {
    let mut rows = rows(case, stage);
    for row in &mut rows {
        row.skipped = Some(why.into());
    }
    rows
}
