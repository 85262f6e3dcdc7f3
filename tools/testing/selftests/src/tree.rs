// SPDX-License-Identifier: GPL-2.0

//! Suite `tree`: a real directory tree is copied onto the volume and compared after a remount.

use crate::geom::Geom;
use crate::runner::{Case, Config, Group, Suite};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{bail, ensure, Context, Result};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Where the files come from.
const SOURCES: &[&str] = &["/usr/share", "/usr/lib", "/usr/include", "/usr/bin"];

/// What has been chosen: directories (parents first) and files, relative to `/usr`.
struct Choice {
    dirs: Vec<PathBuf>,
    files: Vec<PathBuf>,
    bytes: u64,
}

/// Collects until there are enough files and bytes. FAT ignores case: of two names that differ
/// only by it, the first is taken.
fn choose(files: usize, bytes: u64) -> Result<Choice> {
    let mut c = Choice {
        dirs: Vec::new(),
        files: Vec::new(),
        bytes: 0,
    };
    for s in SOURCES {
        if c.files.len() < files || c.bytes < bytes {
            collect(Path::new(s), &mut c, files, bytes)?;
        }
    }
    Ok(c)
}

fn collect(dir: &Path, c: &mut Choice, files: usize, bytes: u64) -> Result<()> {
    let Ok(list) = std::fs::read_dir(dir) else {
        return Ok(());
    };
    c.dirs.push(dir.strip_prefix("/usr")?.to_path_buf());
    let mut entries: Vec<_> = list.flatten().collect();
    entries.sort_by_key(|e| e.file_name());
    let mut seen = HashSet::new();
    for e in entries {
        if c.files.len() >= files && c.bytes >= bytes {
            return Ok(());
        }
        let Ok(name) = e.file_name().into_string() else {
            continue;
        };
        let bad =
            name.contains(['*', '?', '<', '>', '|', '"', ':', '\\']) || name.ends_with(['.', ' ']);
        let kind = e.file_type()?;
        if bad || !seen.insert(name.to_uppercase()) {
            continue;
        }
        if kind.is_dir() {
            collect(&e.path(), c, files, bytes)?;
        } else if kind.is_file() {
            let len = e.metadata()?.len();
            // Enough small files first, then only large ones to reach the amount.
            if len > 4 << 20 || (c.files.len() >= files && len < 100_000) {
                continue;
            }
            if c.files.len() < files || len >= 100_000 {
                c.files.push(e.path().strip_prefix("/usr")?.to_path_buf());
                c.bytes += len;
            }
        }
    }
    Ok(())
}

fn copy(v: &Vol, c: &Choice) -> Result<()> {
    let mut made = HashSet::new();
    for d in &c.dirs {
        let mut p = PathBuf::new();
        for part in d.components() {
            p.push(part);
            if made.insert(p.clone()) {
                sys::mkdir(&v.p(&p)).with_context(|| format!("mkdir {}", p.display()))?;
            }
        }
    }
    for f in &c.files {
        let src = Path::new("/usr").join(f);
        let data = std::fs::read(&src)?;
        let to = sys::create(&v.p(f)).with_context(|| format!("create {}", f.display()))?;
        for (i, part) in data.chunks(128 * 1024).enumerate() {
            sys::pwrite_all(&to, part, i as i64 * 128 * 1024)?;
        }
        sys::utimens(&v.p(f), None, Some((1_700_000_000, 0)))?;
    }
    Ok(())
}

fn compare(v: &Vol, c: &Choice) -> Result<()> {
    for f in &c.files {
        let want = std::fs::read(Path::new("/usr").join(f))?;
        let got = std::fs::read(v.p(f)).with_context(|| format!("reading {}", f.display()))?;
        if want != got {
            bail!("{} differs", f.display());
        }
        same!(
            sys::stat(&v.p(f))?.mtime.0,
            1_700_000_000,
            "mtime of {}",
            f.display()
        );
    }
    // Nothing more than what was put there.
    let mut count = (0, 0);
    let mut todo = vec![v.mp.clone()];
    while let Some(d) = todo.pop() {
        for e in sys::list(&d)?.iter().filter(|e| !e.is_dot()) {
            let p = d.join(String::from_utf8_lossy(&e.name).as_ref());
            if e.kind == libc::DT_DIR {
                count.0 += 1;
                todo.push(p);
            } else {
                count.1 += 1;
            }
        }
    }
    same!(count.1, c.files.len(), "number of files");
    ensure!(count.0 >= c.dirs.len(), "only {} directories", count.0);
    Ok(())
}

fn run(g: &Geom, cfg: &Config) -> Result<()> {
    let c = choose(20 * cfg.scale + 20, 2 * cfg.scale as u64 * (1 << 20))?;
    ensure!(
        c.files.len() >= 20 * cfg.scale,
        "only {} files in /usr",
        c.files.len()
    );
    let mut v = Vol::fresh(g, &cfg.fs, "utf8", "t")?;
    let free = sys::statfs(&v.mp)?.bfree;
    copy(&v, &c)?;
    v.remount()?;
    compare(&v, &c)?;
    for name in sys::names(&v.mp)? {
        std::fs::remove_dir_all(v.p(name))?;
    }
    let now = sys::statfs(&v.mp)?.bfree;
    same!(now, free, "free clusters after removing it all");
    v.finish()
}

/// The suite.
pub fn suite() -> Suite {
    let mut fat16 = Geom::new(16, 500 << 20, 8192);
    fat16.name = "fat16".into();
    let mut fat32 = Geom::new(32, 500 << 20, 4096);
    fat32.name = "fat32".into();
    Suite {
        name: "tree",
        groups: vec![Group {
            name: "copy_of_usr".into(),
            cases: [fat32, fat16]
                .into_iter()
                .map(|g| Case::new(g.name.clone(), move |cfg| run(&g, cfg)).limit(900))
                .collect(),
        }],
    }
}
