// SPDX-License-Identifier: GPL-2.0

//! Giving space back on a sync mount: deleting files and truncating them to nothing.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::{name, open};
use crate::case::Case;
use crate::stage::{Sample, Stage};

/// Deletes files that have content.
pub fn unlink(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    each(case, stage, |path| Ok(fs::remove_file(path)?))
}

/// Truncates files that have content to no bytes.
pub fn truncate_down(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    each(case, stage, |path| Ok(open(path)?.set_len(0)?))
}

fn each(case: &Case, stage: &mut Stage, op: fn(&Path) -> Result<()>) -> Result<Vec<Sample>> {
    stage.format(case.cluster, case.volume)?;
    // The files are made without waiting for each write: that's another cell's business.
    stage.mount("async")?;
    for n in 0..case.files {
        open(&stage.path(name(n)))?.set_len(case.bytes)?;
    }
    stage.remount_cold(case.mount)?;
    let sample = stage.measure(|progress| {
        for n in 0..case.files {
            op(&stage.path(name(n)))?;
            progress.tick(n + 1, case.files, "files");
        }
        Ok(())
    })?;
    Ok(vec![sample])
}
