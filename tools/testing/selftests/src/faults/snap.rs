// SPDX-License-Identifier: GPL-2.0

//! What a volume holds, and what `fsck.fat` says about it.

use crate::sys;
use anyhow::{bail, Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// What is known of one name. Times are of interest where a test has set them, to years
/// before 2010.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub dir: bool,
    pub size: u64,
    pub nlink: u32,
    pub perm: u32,
    pub attrs: u32,
    pub mtime: Option<i64>,
    pub data: Vec<u8>,
}

/// A tree and the number of free clusters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snap {
    pub tree: BTreeMap<String, Entry>,
    pub free: u64,
}

const YEAR_2010: i64 = 1_262_304_000;

fn walk(root: &Path, at: &str, out: &mut BTreeMap<String, Entry>) -> Result<()> {
    for name in sys::names(&root.join(at)).with_context(|| format!("listing /{at}"))? {
        let path = if at.is_empty() {
            name
        } else {
            format!("{at}/{name}")
        };
        let full = root.join(&path);
        let st = sys::stat(&full).with_context(|| format!("stat of /{path}"))?;
        let f = sys::open(&full, libc::O_RDONLY).with_context(|| format!("opening /{path}"))?;
        let data = if st.is_dir() {
            Vec::new()
        } else {
            sys::pread_vec(&f, st.size as usize + 1, 0)
                .with_context(|| format!("reading /{path}"))?
        };
        out.insert(
            path.clone(),
            Entry {
                dir: st.is_dir(),
                size: if st.is_dir() { 0 } else { st.size },
                nlink: st.nlink,
                perm: st.perm(),
                attrs: sys::get_attrs(&f)? & !sys::ATTR_ARCH,
                mtime: (!st.is_dir() && st.mtime.0 < YEAR_2010).then_some(st.mtime.0),
                data,
            },
        );
        if st.is_dir() {
            walk(root, &path, out)?;
        }
    }
    Ok(())
}

impl Snap {
    /// Of the volume mounted at `root`.
    pub fn of(root: &Path) -> Result<Snap> {
        let free = sys::statfs(root)?.bfree;
        Ok(Snap {
            free,
            ..Snap::names(root)?
        })
    }

    /// Without the free space, which may have to be counted.
    pub fn names(root: &Path) -> Result<Snap> {
        let mut tree = BTreeMap::new();
        walk(root, "", &mut tree)?;
        Ok(Snap { tree, free: 0 })
    }

    /// The first difference to another one, if any. Nothing is said about the content, the
    /// size and the times of `loose`, nor then about the free space.
    pub fn differs(&self, want: &Snap, loose: Option<&str>) -> Option<String> {
        for (name, w) in &want.tree {
            let Some(g) = self.tree.get(name) else {
                return Some(format!("/{name} is gone"));
            };
            let (mut g, mut w) = (g.clone(), w.clone());
            if loose == Some(name.as_str()) {
                for e in [&mut g, &mut w] {
                    e.size = 0;
                    e.mtime = None;
                    e.data.clear();
                }
            }
            if g.data != w.data {
                return Some(format!(
                    "/{name}: content differs ({} bytes, expected {})",
                    g.data.len(),
                    w.data.len()
                ));
            }
            (g.data, w.data) = Default::default();
            if g != w {
                return Some(format!("/{name}: {g:?}, expected {w:?}"));
            }
        }
        if let Some(name) = self.tree.keys().find(|n| !want.tree.contains_key(*n)) {
            return Some(format!("there is /{name}"));
        }
        if loose.is_none() && self.free != want.free {
            return Some(format!(
                "{} clusters free, expected {}",
                self.free, want.free
            ));
        }
        None
    }

    /// The same without the times.
    pub fn timeless(mut self) -> Snap {
        self.tree.values_mut().for_each(|e| e.mtime = None);
        self
    }
}

/// What `fsck.fat -n` found that may be left after an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    pub dirty: bool,
    pub lost: bool,
    pub count: bool,
    pub copies: bool,
    pub twins: bool,
}

impl Leftovers {
    pub fn or(self, o: Leftovers) -> Leftovers {
        Leftovers {
            dirty: self.dirty || o.dirty,
            lost: self.lost || o.lost,
            count: self.count || o.count,
            copies: self.copies || o.copies,
            twins: self.twins || o.twins,
        }
    }
}

/// Lines of `fsck.fat -n` that tell nothing by themselves.
const NEUTRAL: &[&str] = &[
    "Automatically removing dirty bit",
    "Leaving filesystem unchanged",
    "Auto-correcting",
    "Using first FAT",
    "Reclaiming unconnected clusters",
    // What the dirty flag means for the copy of the boot sector.
    "There are differences between boot sector and its backup",
    "This is mostly harmless. Differences: (offset:original/backup)",
    "Not automatically fixing this",
];

/// The only difference between the boot sector and its copy that there may be.
const DIRTY_ONLY: &str = "65:01/00";

/// `fsck.fat -n` may speak of the dirty bit, lost clusters, the count of free clusters,
/// different FAT copies, and with `twins` of one file with two names. Anything else fails.
pub fn fsck(image: &Path, twins: bool) -> Result<Leftovers> {
    let out = Command::new("fsck.fat").arg("-n").arg(image).output()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let mut l = Leftovers::default();
    let mut bad = Vec::new();
    for line in text.lines().map(str::trim).filter(|l| !l.is_empty()) {
        let is = |s: &str| line.contains(s);
        if line.starts_with("fsck.fat ") || is(" files, ") && is(" clusters") {
        } else if is("Dirty bit is set") {
            l.dirty = true;
        } else if NEUTRAL.iter().any(|n| is(n)) || line == DIRTY_ONLY {
        } else if is("FATs differ but appear to be intact") || is("FATs differ - using first") {
            l.copies = true;
        } else if is("Reclaimed") && is("unused cluster") {
            l.lost = true;
        } else if is("Free cluster summary") {
            l.count = true;
        } else if twins && is("share clusters") {
            l.twins = true;
        } else {
            bad.push(line.to_string());
        }
    }
    if l.twins {
        bad.retain(|b| !b.starts_with('/') && !b.starts_with("Truncating second"));
    }
    if !bad.is_empty() {
        bail!("fsck.fat -n: {}", bad[..bad.len().min(8)].join(" | "));
    }
    if !out.status.success() && l == Leftovers::default() {
        bail!("fsck.fat -n: {}", out.status);
    }
    Ok(l)
}
