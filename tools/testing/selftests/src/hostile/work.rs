// SPDX-License-Identifier: GPL-2.0

//! Changes a mounted volume at random places. Whatever fails may fail, and is counted.

use super::walk::Found;
use super::Ctx;
use crate::rng::Rng;
use crate::sys::{self, Res};
use anyhow::Result;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The most that one operation adds to a file.
const GROWTH: u64 = 400_000;

/// Names for new files: those that are likely there already among them.
const NAMES: &[&str] = &[
    "new",
    "NEW.TXT",
    "a new file with a long name",
    "BIG",
    "DIR",
    "FILEA.TXT",
    "a",
    "UP",
    "SELF",
    "SAME.TXT",
    "file with a long name 1",
    "\u{6f22}\u{5b57}",
    "ends with a dot.",
    "bad:name",
    "LONG~1",
    "FULL",
    "CON",
];

/// Places to work at.
struct Places<'a> {
    root: &'a Path,
    found: &'a [Found],
}

impl Places<'_> {
    fn of(&self, want_dir: bool, rng: &mut Rng) -> Option<&Found> {
        let fit: Vec<&Found> = self.found.iter().filter(|f| f.is_dir == want_dir).collect();
        (!fit.is_empty()).then(|| *rng.pick(&fit))
    }

    /// A directory; the root if there is no other.
    fn dir(&self, rng: &mut Rng) -> PathBuf {
        match self.of(true, rng) {
            Some(d) if !rng.one_in(4) => d.path.clone(),
            _ => self.root.into(),
        }
    }

    /// A file or directory.
    fn any(&self, rng: &mut Rng) -> PathBuf {
        match self.found.is_empty() {
            true => self.root.join("BIG"),
            false => rng.pick(self.found).path.clone(),
        }
    }

    /// A place for something new, or where something is already.
    fn place(&self, rng: &mut Rng) -> PathBuf {
        match rng.below(5) {
            0 => self.any(rng),
            _ => self.dir(rng).join(*rng.pick(NAMES)),
        }
    }

    fn open(&self, flags: i32, rng: &mut Rng) -> Option<(Res<File>, u64)> {
        let f = self.of(false, rng)?;
        Some((sys::open(&f.path, flags), f.size))
    }
}

/// Does `count` operations.
pub fn work(
    c: &mut Ctx<'_>,
    root: &Path,
    found: &[Found],
    count: u64,
    rng: &mut Rng,
) -> Result<()> {
    let p = Places { root, found };
    for _ in 0..count {
        match rng.below(10) {
            0..=3 => with_file(c, &p, rng)?,
            4..=7 => with_names(c, &p, rng)?,
            8 => with_attributes(c, &p, rng)?,
            _ => with_all(c, &p, rng)?,
        }
    }
    Ok(())
}

/// Data: writing, cutting, growing.
fn with_file(c: &mut Ctx<'_>, p: &Places<'_>, rng: &mut Rng) -> Result<()> {
    let direct = if rng.one_in(6) { libc::O_DIRECT } else { 0 };
    let Some((f, size)) = p.open(libc::O_RDWR | direct, rng) else {
        return Ok(());
    };
    c.op("open to write", &f)?;
    let Ok(f) = f else { return Ok(()) };
    if direct != 0 {
        let mut buf = sys::Aligned::new(8192);
        let at = rng.below(size.min(100_000) + 1) & !511;
        c.op("read direct", &sys::pread(&f, buf.bytes(), at as i64))?;
        return c.op("write direct", &sys::pwrite(&f, buf.bytes(), at as i64));
    }
    let data = vec![rng.next() as u8; 1 + rng.below(20_000) as usize];
    match rng.below(8) {
        0 | 1 => c.op("write", &sys::pwrite(&f, &data, rng.below(size + 1) as i64))?,
        2 => c.op("append", &sys::pwrite(&f, &data, size as i64))?,
        3 => c.op("truncate", &sys::ftruncate(&f, rng.below(size + 1) as i64))?,
        4 => c.op(
            "truncate up",
            &sys::ftruncate(&f, (size + rng.below(GROWTH)) as i64),
        )?,
        5 => {
            let keep = i32::from(rng.one_in(2));
            let r = sys::fallocate(&f, keep, size as i64, 1 + rng.below(GROWTH) as i64);
            c.op("fallocate", &r)?;
        }
        6 => c.op(
            "write beyond",
            &sys::pwrite(&f, &data, (size + rng.below(GROWTH)) as i64),
        )?,
        _ => {
            let len = size.clamp(1, 50_000) as usize;
            let m = sys::Map::shared(&f, len, true);
            c.op("mmap", &m)?;
            if let Ok(m) = m {
                // Touching a page that can't be had would be a signal; this is an error.
                c.op("mmap fault", &m.populate(rng.one_in(2)))?;
            }
        }
    }
    if rng.one_in(2) {
        c.op("fsync", &sys::fsync(&f))?;
    }
    c.op("fiemap", &sys::fiemap(&f))
}

/// Names: making, removing, renaming.
fn with_names(c: &mut Ctx<'_>, p: &Places<'_>, rng: &mut Rng) -> Result<()> {
    match rng.below(9) {
        0 | 1 => {
            let f = sys::create(&p.place(rng));
            c.op("create", &f)?;
            if let Ok(f) = f {
                let data = vec![7; rng.below(9000) as usize];
                c.op("write new", &sys::pwrite(&f, &data, 0))?;
            }
            Ok(())
        }
        2 => c.op("mkdir", &sys::mkdir(&p.place(rng))),
        3 => match p.of(false, rng) {
            Some(f) => c.op("unlink", &sys::unlink(&f.path)),
            None => Ok(()),
        },
        4 => c.op("rmdir", &sys::rmdir(&p.dir(rng))),
        5 => c.op("unlink dir", &sys::unlink(&p.dir(rng))),
        6 => {
            // Also of a directory into itself, and over anything.
            let (from, to) = (p.any(rng), p.place(rng));
            c.op("rename", &sys::rename(&from, &to, 0))
        }
        7 => {
            let (from, to) = (p.any(rng), p.any(rng));
            c.op("exchange", &sys::rename(&from, &to, libc::RENAME_EXCHANGE))
        }
        _ => {
            let (from, to) = (p.any(rng), p.place(rng));
            c.op(
                "rename new",
                &sys::rename(&from, &to, libc::RENAME_NOREPLACE),
            )
        }
    }
}

fn with_attributes(c: &mut Ctx<'_>, p: &Places<'_>, rng: &mut Rng) -> Result<()> {
    let path = p.any(rng);
    match rng.below(4) {
        0 => c.op(
            "chmod",
            &sys::chmod(&path, *rng.pick(&[0o444, 0o755, 0o777])),
        ),
        1 => {
            let t = Some((rng.next() as i32 as i64 * 3, 999_999_999));
            c.op("utimens", &sys::utimens(&path, t, t))
        }
        2 => {
            let f = sys::open(&path, libc::O_RDONLY);
            c.op("open", &f)?;
            match f {
                Ok(f) => c.op(
                    "set attributes",
                    &sys::set_attrs(&f, rng.next() as u32 & 0x37),
                ),
                Err(_) => Ok(()),
            }
        }
        _ => c.op("link", &sys::link(&path, &p.place(rng))),
    }
}

/// The volume as a whole.
fn with_all(c: &mut Ctx<'_>, p: &Places<'_>, rng: &mut Rng) -> Result<()> {
    let root = sys::open(p.root, libc::O_RDONLY);
    c.op("opendir", &root)?;
    let Ok(root) = root else { return Ok(()) };
    match rng.below(5) {
        0 => c.op("syncfs", &sys::syncfs(&root)),
        1 => c.op("fsync dir", &sys::fsync(&root)),
        2 => super::statfs(c, p.root),
        3 => c.op("fitrim", &sys::fitrim(&root, 0)),
        _ => {
            // Inodes and pages go, and have to be read again.
            let r = std::fs::write("/proc/sys/vm/drop_caches", "3").map_err(sys::Errno::from);
            c.op("drop caches", &r)
        }
    }
}
