// SPDX-License-Identifier: GPL-2.0

//! The loops that are measured, one family a file.

pub mod data;
pub mod expand;
pub mod flush;
pub mod free;
pub mod scale;
pub mod small;

use std::fs::{File, OpenOptions};
use std::path::Path;

use anyhow::{Context, Result};

use crate::case::Case;
use crate::stage::Stage;
use crate::sys;

/// Opens a file for reading and writing; makes it if need be.
fn open(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .with_context(|| format!("can't open {}", path.display()))
}

/// The name of a cell's n-th file.
fn name(n: u64) -> String {
    format!("file{n:05}")
}

/// A fresh volume, mounted and cold, with the cell's empty files open on it.
fn opened(case: &Case, stage: &mut Stage) -> Result<Vec<File>> {
    stage.format(case.cluster, case.volume)?;
    stage.mount(case.mount)?;
    let files = (0..case.files)
        .map(|n| open(&stage.path(name(n))))
        .collect::<Result<_>>()?;
    sys::drop_caches()?;
    Ok(files)
}
