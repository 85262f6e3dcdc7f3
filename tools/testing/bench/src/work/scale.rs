// SPDX-License-Identifier: GPL-2.0

//! What grows with the number of files or the size of the volume.

use std::fs;

use anyhow::{ensure, Result};
use nix::sys::statvfs::statvfs;

use super::{name, open};
use crate::case::Case;
use crate::stage::{Sample, Stage};
use crate::sys;

/// Makes many empty files in one folder, looks at each, cold, and deletes them: a sample each.
pub fn many_files(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    stage.format(case.cluster, case.volume)?;
    stage.mount(case.mount)?;
    fs::create_dir(stage.path("many"))?;
    let each = |stage: &Stage, op: &dyn Fn(&std::path::Path) -> Result<()>| {
        stage.measure(|progress| {
            for n in 0..case.files {
                op(&stage.path("many").join(name(n)))?;
                progress.tick(n + 1, case.files, "files");
            }
            Ok(())
        })
    };
    let create = each(stage, &|path| open(path).map(drop))?;
    stage.remount_cold(case.mount)?;
    let stat = each(stage, &|path| Ok(fs::metadata(path).map(drop)?))?;
    let unlink = each(stage, &|path| Ok(fs::remove_file(path)?))?;
    Ok(vec![create, stat, unlink])
}

/// Asks for the free space right after the mounting of a volume that was unmounted cleanly. The
/// time is that of the question alone, the requests are those of the mounting, too.
pub fn free_space(case: &Case, stage: &mut Stage) -> Result<Vec<Sample>> {
    stage.format(case.cluster, case.volume)?;
    stage.mount(case.mount)?;
    open(&stage.path(name(0)))?;
    statvfs(&stage.path(""))?;
    stage.unmount()?;
    sys::drop_caches()?;
    let before = stage.disk.stat()?;
    stage.mount(case.mount)?;
    let mut sample = stage.measure(|_| {
        let free = statvfs(&stage.path(""))?.blocks_free();
        ensure!(free > 0, "an empty volume has no free space");
        Ok(())
    })?;
    sample.io = stage.disk.stat()? - before;
    Ok(vec![sample])
}
