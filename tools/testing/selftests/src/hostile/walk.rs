// SPDX-License-Identifier: GPL-2.0

//! Reads a mounted volume in every way. It may contain itself, so there are limits; whatever
//! fails may fail, and is counted.

use super::Ctx;
use crate::rng::Rng;
use crate::sys::{self, Dirent, Errno};
use anyhow::{bail, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Names may get long, and a path has 4096 bytes.
const DEPTH: usize = 5;
/// Entries looked at in all, and in one directory.
const ENTRIES: usize = 150;
const PER_DIR: usize = 40;

/// A directory has 65,536 slots at most, and two entries may be made up for the root.
const MOST_ENTRIES: usize = 65_538;

/// Something that was found.
#[derive(Clone, Debug)]
pub struct Found {
    pub path: PathBuf,
    pub is_dir: bool,
    pub size: u64,
}

/// Everything below `dir`, within limits.
pub fn walk(c: &mut Ctx<'_>, dir: &Path, rng: &mut Rng) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    level(c, dir, 0, rng, &mut found)?;
    Ok(found)
}

fn level(
    c: &mut Ctx<'_>,
    dir: &Path,
    depth: usize,
    rng: &mut Rng,
    out: &mut Vec<Found>,
) -> Result<()> {
    let names = list(c, dir)?;
    for (i, d) in names.iter().enumerate() {
        if out.len() >= ENTRIES {
            return Ok(());
        }
        if i >= PER_DIR && i + 2 < names.len() {
            continue;
        }
        let path = dir.join(OsStr::from_bytes(&d.name));
        let st = sys::stat(&path);
        c.op("stat", &st)?;
        let Ok(st) = st else { continue };
        let is_dir = st.is_dir();
        // Of entries with the same name only one is found by it.
        if c.sound && (d.kind == libc::DT_DIR) != is_dir {
            bail!(
                "{}: listed as type {}, is a directory: {is_dir}",
                path.display(),
                d.kind
            );
        }
        out.push(Found {
            path: path.clone(),
            is_dir,
            size: st.size,
        });
        if is_dir {
            if depth < DEPTH && path.as_os_str().len() < 3000 {
                level(c, &path, depth + 1, rng, out)?;
            }
        } else {
            file(c, &path, st.size, rng)?;
        }
    }
    Ok(())
}

/// The names in a directory, in its order.
fn list(c: &mut Ctx<'_>, dir: &Path) -> Result<Vec<Dirent>> {
    let f = sys::open(dir, libc::O_RDONLY | libc::O_DIRECTORY);
    c.op("opendir", &f)?;
    let Ok(f) = f else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    let mut errors = 0;
    loop {
        let part = sys::getdents(&f, 32_768);
        c.op("readdir", &part)?;
        match part {
            Ok(p) if p.is_empty() => break,
            Ok(p) => names.extend(p),
            // Removed meanwhile.
            Err(Errno(libc::ENOENT)) => break,
            // What can't be read may be passed over, or be the end; but it has to get on.
            Err(_) if errors < 100 => errors += 1,
            Err(e) => bail!("{}: readdir goes on failing with {e}", dir.display()),
        }
        if names.len() > MOST_ENTRIES {
            bail!("{}: more entries than a directory can have", dir.display());
        }
    }
    for d in &names {
        if d.name.is_empty() || d.name.contains(&b'/') {
            bail!(
                "{}: lists the name {:?}",
                dir.display(),
                OsStr::from_bytes(&d.name)
            );
        }
    }
    if names.len() < 1000 {
        let r = sys::lseek(&f, 0, libc::SEEK_SET).and_then(|_| sys::readdir_ioctl(&f, true));
        c.op("ioctl readdir", &r)?;
    }
    names.retain(|d| !d.is_dot());
    Ok(names)
}

/// Reads a file here and there, and asks where it is.
fn file(c: &mut Ctx<'_>, path: &Path, size: u64, rng: &mut Rng) -> Result<()> {
    let f = sys::open(path, libc::O_RDONLY);
    c.op("open", &f)?;
    let Ok(f) = f else { return Ok(()) };
    for at in [0, size / 2, size.saturating_sub(10), rng.below(size.max(1))] {
        let r = sys::pread_vec(&f, 10_000, at as i64);
        c.op("read", &r)?;
    }
    if rng.one_in(3) {
        c.op("fibmap", &sys::fibmap(&f, rng.below(100) as u32))?;
        c.op(
            "seek data",
            &sys::lseek(&f, (size / 3) as i64, libc::SEEK_DATA),
        )?;
        c.op(
            "seek hole",
            &sys::lseek(&f, (size / 3) as i64, libc::SEEK_HOLE),
        )?;
        c.op("ioctl attributes", &sys::get_attrs(&f))?;
    }
    c.op("fiemap", &sys::fiemap(&f))
}
