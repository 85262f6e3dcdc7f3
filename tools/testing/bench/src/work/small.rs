// SPDX-License-Identifier: GPL-2.0

//! What one change of a directory costs on a sync mount.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::{name, open};
use crate::case::Case;
use crate::stage::{Sample, Stage};

/// Makes folders, makes files, renames them, deletes them: a sample each.
pub fn changes(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    stage.format(case.cluster, case.volume)?;
    stage.mount(case.mount)?;
    let file = |n| stage.path(name(n));
    let renamed = |n| stage.path(format!("a longer name of file {n}"));
    let each = |op: &dyn Fn(u64) -> Result<()>| {
        stage.measure(|progress| {
            for n in 0..case.files {
                op(n)?;
                progress.tick(n + 1, case.files, "changes");
            }
            Ok(())
        })
    };
    let make_folder = |path: &Path| fs::create_dir(path);
    Ok(vec![
        each(&|n| Ok(make_folder(&stage.path(format!("folder{n}")))?))?,
        each(&|n| open(&file(n)).map(drop))?,
        each(&|n| Ok(fs::rename(file(n), renamed(n))?))?,
        each(&|n| Ok(fs::remove_file(renamed(n))?))?,
    ])
}
