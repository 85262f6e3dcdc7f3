// SPDX-License-Identifier: GPL-2.0

//! The visible state of a whole mount, in words that can be compared.

use crate::sys::{self, Stat};
use anyhow::{bail, Context, Result};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// FNV-1a.
pub fn hash(data: &[u8]) -> u64 {
    data.iter().fold(0xCBF2_9CE4_8422_2325, |h, &b| {
        (h ^ b as u64).wrapping_mul(0x0100_0000_01B3)
    })
}

/// Everything of a stat but inode number and times. A directory's links are compared after
/// remounts only, see `Care`, and its length not at all: entries are placed differently.
pub fn stat_text(s: &Stat) -> String {
    let (links, size, blocks) = if s.is_dir() {
        (0, 0, 0)
    } else {
        (s.nlink, s.size, s.blocks)
    };
    format!(
        "mode {:o} links {links} owner {}:{} size {size} blocks {blocks} blksize {}",
        s.mode, s.uid, s.gid, s.blksize
    )
}

/// Pairs of short and long names, sorted. Tails that both drivers draw from the clock are masked.
pub fn alias_text(v: &[(Vec<u8>, Vec<u8>)]) -> String {
    let mut out = Vec::new();
    for (short, long) in v {
        let mut s = short.clone();
        if let Some(t) = s.iter().position(|&c| c == b'~') {
            if t >= 4
                && s[t - 4..t]
                    .iter()
                    .all(|c| c.is_ascii_digit() || (b'A'..=b'F').contains(c))
            {
                s[t - 4..t].fill(b'?');
                if let Some(digit) = s.get_mut(t + 1) {
                    *digit = b'?';
                }
            }
        }
        out.push(format!(
            "{}={}|",
            String::from_utf8_lossy(&s),
            String::from_utf8_lossy(long)
        ));
    }
    out.sort();
    out.concat()
}

/// One file or directory.
#[derive(Debug)]
pub struct Entry {
    pub path: String,
    pub text: String,
    pub times: [(&'static str, i64); 4],
}

/// How closely to look at what the C driver gets wrong until a remount: after a file was
/// exchanged with a directory, types in listings and the links of directories.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Leave both out.
    Lenient,
    /// Leave both out, but they have to agree with stat and with the number of directories.
    Verify,
    /// Take both.
    Exact,
}

/// Walks everything below `root`, in the order of the names. What directories take counts as free:
/// how long they are depends on where entries are placed.
pub fn take(root: &Path, care: Care) -> Result<Vec<Entry>> {
    let mut out = Vec::new();
    let fs = sys::statfs(root)?;
    let dirs = walk(root, root, care, &mut out)?;
    let free = fs.bfree + dirs * 512 / fs.bsize as u64;
    out.push(Entry {
        path: "(statfs)".into(),
        text: format!("{free} of {} free or in directories", fs.blocks),
        times: [("", 0); 4],
    });
    Ok(out)
}

/// Returns the sectors that the directories take.
fn walk(root: &Path, path: &Path, care: Care, out: &mut Vec<Entry>) -> Result<u64> {
    let shown = format!("/{}", path.strip_prefix(root).unwrap_or(path).display());
    let st = sys::stat(path).with_context(|| format!("stat of {shown}"))?;
    let mut text = stat_text(&st);
    let mut below = Vec::new();
    let mut sectors = 0;
    if st.is_dir() {
        sectors = st.blocks;
        let mut list = sys::list(path).with_context(|| format!("list of {shown}"))?;
        list.sort_by(|a, b| a.name.cmp(&b.name));
        let mut dirs = 0;
        for d in &list {
            let name = String::from_utf8_lossy(&d.name);
            text += &format!(" {name}");
            if care == Care::Exact {
                text += &format!(":{}", d.kind);
            }
            if d.is_dot() {
                continue;
            }
            let child = path.join(OsStr::from_bytes(&d.name));
            if care == Care::Verify {
                let is_dir = sys::stat(&child).is_ok_and(|s| s.is_dir());
                dirs += u32::from(is_dir);
                if (d.kind == libc::DT_DIR) != is_dir {
                    bail!(
                        "d_type of {name} in {shown} is {}, but by stat directory: {is_dir}",
                        d.kind
                    );
                }
            }
            below.push(child);
        }
        match care {
            Care::Exact => text += &format!(" links {}", st.nlink),
            Care::Verify if st.nlink != dirs + 2 => {
                bail!("{shown} has {} links and {dirs} directories", st.nlink)
            }
            _ => {}
        }
        let d = sys::open(path, libc::O_RDONLY)?;
        text += &format!(" aliases {}", alias_text(&sys::readdir_ioctl(&d, true)?));
        text += &format!(" attributes {:#x}", sys::get_attrs(&d)?);
    } else {
        let f = sys::open(path, libc::O_RDONLY)?;
        let data = sys::pread_vec(&f, st.size as usize + 1, 0)?;
        text += &format!(" data {} {:016x}", data.len(), hash(&data));
        text += &format!(" attributes {:#x}", sys::get_attrs(&f)?);
    }
    out.push(Entry {
        path: shown,
        text,
        times: [
            ("atime", st.atime.0),
            ("mtime", st.mtime.0),
            ("ctime", st.ctime.0),
            ("btime", st.btime.map_or(-1, |t| t.0)),
        ],
    });
    for p in below {
        sectors += walk(root, &p, care, out)?;
    }
    Ok(sectors)
}

/// Times may differ by what passes between the two sides' operations.
const CLOSE: i64 = 6;

/// The first difference of two states, `a` being vfat's.
pub fn compare(a: &[Entry], b: &[Entry]) -> Result<()> {
    for (x, y) in a.iter().zip(b) {
        if x.path != y.path {
            bail!("vfat has {} where the other has {}", x.path, y.path);
        }
        if x.text != y.text {
            let words = x.text.split(' ').zip(y.text.split(' '));
            let at = words.take_while(|(p, q)| p == q).count().saturating_sub(1);
            let cut = |s: &str| s.split(' ').skip(at).take(8).collect::<Vec<_>>().join(" ");
            bail!(
                "{} differs\n  vfat: .. {}\n other: .. {}\nall of vfat's:  {}\nall of other's: {}",
                x.path,
                cut(&x.text),
                cut(&y.text),
                x.text,
                y.text
            );
        }
        for (t, u) in x.times.iter().zip(&y.times) {
            if (t.1 - u.1).abs() > CLOSE {
                bail!("{} of {}: vfat {}, other {}", t.0, x.path, t.1, u.1);
            }
        }
    }
    if a.len() != b.len() {
        bail!("vfat has {} entries, the other {}", a.len(), b.len());
    }
    Ok(())
}
