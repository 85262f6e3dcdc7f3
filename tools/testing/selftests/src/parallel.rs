// SPDX-License-Identifier: GPL-2.0

//! Suite `parallel`: several processes at once, in directories of their own and in one they
//! share. Each file's content tells whether it is whole.

use crate::expect::pattern;
use crate::geom;
use crate::rng::Rng;
use crate::runner::{Case, Group, Suite};
use crate::same;
use crate::sys::{self, Errno, Map, Res};
use crate::vol::Vol;
use anyhow::{bail, Result};
use std::path::Path;
use std::time::{Duration, Instant};

const WORKERS: u64 = 8;

/// A file's content: its tag, its length, and the pattern they give.
pub fn content(tag: u32, len: usize) -> Vec<u8> {
    let mut v = tag.to_le_bytes().to_vec();
    v.extend((len as u32).to_le_bytes());
    v.extend(pattern(tag, 0, len));
    v
}

/// The file is one that `content` made, or still empty.
fn whole(data: &[u8]) -> bool {
    if data.is_empty() {
        return true;
    }
    let Some(head) = data.first_chunk::<8>() else {
        return false;
    };
    let tag = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let len = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
    data == content(tag, len)
}

fn put(path: &Path, tag: u32, len: usize) -> Res<()> {
    let f = sys::open(path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
    sys::pwrite_all(&f, &content(tag, len), 0)
}

/// Errors that other processes may cause in the shared directory.
fn expected(e: Errno) -> bool {
    matches!(
        e.0,
        libc::ENOENT
            | libc::EEXIST
            | libc::ENOTEMPTY
            | libc::ENOTDIR
            | libc::EISDIR
            | libc::ENOSPC
            | libc::EBUSY
            | libc::EINVAL
    )
}

fn in_shared(root: &Path, rng: &mut Rng) -> Res<()> {
    let name = |rng: &mut Rng| {
        root.join("shared")
            .join(format!("Shared name {}", rng.below(12)))
    };
    let a = name(rng);
    match rng.below(10) {
        0..=2 => {
            // Complete under a private name, then moved into place.
            let tmp = root.join("shared").join(format!("tmp{:x}", rng.next()));
            put(&tmp, rng.next() as u32, rng.below(30_000) as usize)?;
            let r = sys::rename(&tmp, &a, 0);
            if r.is_err() {
                sys::unlink(&tmp)?;
            }
            r
        }
        3 => sys::unlink(&a),
        4 => sys::mkdir(&a),
        5 => sys::rmdir(&a),
        6 => sys::rename(&a, &name(rng), 0),
        7 => sys::rename(&a, &name(rng), libc::RENAME_EXCHANGE),
        8 => sys::list(&root.join("shared")).map(drop),
        _ => {
            let f = sys::open(&a, libc::O_RDONLY)?;
            if sys::fstat(&f)?.is_dir() {
                return Ok(());
            }
            let data = sys::pread_vec(&f, 40_000, 0)?;
            if whole(&data) {
                Ok(())
            } else {
                Err(Errno(libc::EUCLEAN))
            }
        }
    }
}

/// A file for a moment, of which nothing may be seen afterwards: removed while it is open, grown
/// and cut, written through a mapping, or directly. On a full volume not all of it is done.
fn passing(dir: &Path, rng: &mut Rng) -> Result<()> {
    let (path, tag) = (dir.join("passing"), rng.next() as u32);
    let f = sys::open(&path, libc::O_RDWR | libc::O_CREAT | libc::O_EXCL)?;
    let kind = rng.below(4);
    if kind == 0 {
        sys::unlink(&path)?;
    }
    let len = 512 * (1 + rng.below(80) as usize);
    let data = pattern(tag, 0, len);
    let written = match kind {
        0 => sys::pwrite_all(&f, &data, 0),
        1 => sys::fallocate(&f, 0, 0, 2 * len as i64).and_then(|()| sys::pwrite_all(&f, &data, 0)),
        2 => sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, len as i64)
            .and_then(|()| sys::ftruncate(&f, len as i64))
            .and_then(|()| Map::shared(&f, len, true)?.fill_by_kernel(0, &data)),
        _ => {
            let direct = sys::open(&path, libc::O_RDWR | libc::O_DIRECT)?;
            let mut aligned = sys::Aligned::new(len);
            aligned.bytes().copy_from_slice(&data);
            sys::pwrite(&direct, aligned.bytes(), 0).map(drop)
        }
    };
    match written {
        Ok(()) => same!(
            sys::pread_vec(&f, len, 0)? == data,
            true,
            "a passing file of {len} bytes, kind {kind}"
        ),
        Err(Errno(libc::ENOSPC)) => {}
        Err(e) => bail!("a passing file of {len} bytes, kind {kind}: {e}"),
    }
    if kind != 0 {
        sys::unlink(&path)?;
    }
    Ok(())
}

/// Operations in the worker's own directory, whose state it knows.
struct Own {
    root: std::path::PathBuf,
    files: Vec<Option<(u32, usize)>>,
}

impl Own {
    fn path(&self, i: usize) -> std::path::PathBuf {
        self.root.join(format!("own file {i}"))
    }

    fn step(&mut self, rng: &mut Rng) -> Result<()> {
        let i = rng.below(self.files.len() as u64) as usize;
        let j = rng.below(self.files.len() as u64) as usize;
        match (self.files[i], rng.below(5)) {
            (None, _) => {
                let new = (rng.next() as u32, rng.below(60_000) as usize);
                match put(&self.path(i), new.0, new.1) {
                    Ok(()) => self.files[i] = Some(new),
                    Err(Errno(libc::ENOSPC)) => {
                        let _ = sys::unlink(&self.path(i));
                    }
                    Err(e) => bail!("creating file {i}: {e}"),
                }
            }
            (Some(_), 0) => {
                sys::unlink(&self.path(i))?;
                self.files[i] = None;
            }
            (Some(x), 1) if i != j => {
                sys::rename(&self.path(i), &self.path(j), 0)?;
                self.files[j] = Some(x);
                self.files[i] = None;
            }
            (Some(_), 2) => {
                let d = self.root.join("sub");
                sys::mkdir(&d)?;
                sys::rename(&self.path(i), &d.join("x"), 0)?;
                sys::rename(&d.join("x"), &self.path(i), 0)?;
                sys::rmdir(&d)?;
            }
            (Some(x), k) => {
                if k == 3 {
                    sys::fsync(&sys::open(&self.path(i), libc::O_RDWR)?)?;
                }
                same!(
                    std::fs::read(self.path(i))? == content(x.0, x.1),
                    true,
                    "file {i} is whole"
                );
            }
        }
        Ok(())
    }

    /// Everything is as this worker left it.
    fn verify(&self) -> Result<()> {
        for (i, f) in self.files.iter().enumerate() {
            match (f, std::fs::read(self.path(i))) {
                (None, Err(_)) => {}
                (Some(x), Ok(d)) if d == content(x.0, x.1) => {}
                (f, r) => bail!("file {i}: {f:?}, but read gives {:?}", r.map(|d| d.len())),
            }
        }
        Ok(())
    }
}

fn worker(root: &Path, id: u64, end: Instant) -> Result<u64> {
    let mut rng = Rng::new(id + 77);
    let mut own = Own {
        root: root.join(format!("worker {id}")),
        files: vec![None; 12],
    };
    sys::mkdir(&own.root)?;
    let mut n = 0;
    while Instant::now() < end {
        own.step(&mut rng)?;
        if rng.one_in(3) {
            passing(&own.root, &mut rng)?;
        }
        if let Err(e) = in_shared(root, &mut rng) {
            if !expected(e) {
                bail!("in the shared directory: {e}");
            }
        }
        n += 1;
        if id == 0 && n % 300 == 0 {
            sys::sync();
        }
    }
    own.verify()?;
    Ok(n)
}

fn check_shared(v: &Vol) -> Result<()> {
    for name in sys::names(&v.p("shared"))? {
        let p = v.p("shared").join(&name);
        if !sys::stat(&p)?.is_dir() && !whole(&std::fs::read(&p)?) {
            bail!("shared/{name} isn't whole");
        }
    }
    Ok(())
}

fn run(v: &mut Vol, seconds: u64) -> Result<()> {
    sys::mkdir(&v.p("shared"))?;
    let end = Instant::now() + Duration::from_secs(seconds);
    let root = v.mp.clone();
    let done = std::thread::scope(|s| {
        let all: Vec<_> = (0..WORKERS)
            .map(|id| {
                let root = root.clone();
                s.spawn(move || worker(&root, id, end))
            })
            .collect();
        all.into_iter()
            .map(|t| t.join().unwrap_or_else(|_| bail!("a worker panicked")))
            .collect::<Result<Vec<u64>>>()
    })?;
    if done.iter().any(|&n| n < 3) {
        bail!("a worker got only that far: {done:?}");
    }
    check_shared(v)?;
    v.remount()?;
    check_shared(v)
}

/// The suite: the time of `--seconds` is divided among the volumes.
pub fn suite() -> Suite {
    let mut small = geom::fat(16);
    small.name = "nearly_full".into();
    (small.bytes, small.cluster) = (5 << 20, 1024);
    let mut groups = geom::basic();
    groups.push(small);
    let share = groups.len() as u64;
    Suite {
        name: "parallel",
        groups: vec![Group {
            name: "mixed".into(),
            cases: groups
                .into_iter()
                .map(|g| {
                    Case::new(g.name.clone(), move |cfg| {
                        let mut v = Vol::fresh(&g, &cfg.fs, "", "t")?;
                        run(&mut v, (cfg.seconds / share).max(1))?;
                        v.finish()
                    })
                    .limit(900)
                })
                .collect(),
        }],
    }
}
