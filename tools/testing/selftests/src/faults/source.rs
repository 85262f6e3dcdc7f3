// SPDX-License-Identifier: GPL-2.0

//! Writes whose source can't be read at once, or not at all: the file system writes a part,
//! or nothing, and tries again. Space that was allocated stays, or goes where it came from.

use super::engine::drop_caches;
use crate::expect::bytes;
use crate::geom::Geom;
use crate::rng::Rng;
use crate::runner::{Case, Config, Group};
use crate::sys::{self, Errno};
use crate::vol::Vol;
use anyhow::{anyhow, bail, ensure, Context, Result};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const CLUSTER: u64 = 2048;

fn geom(mib: u64) -> Geom {
    let mut g = Geom::new(16, mib << 20, CLUSTER as u32);
    g.name = "source16".into();
    g
}

/// Bytes that tell a tag and their position, made quickly.
fn stamp(tag: u32, off: u64, len: usize) -> Vec<u8> {
    (off..off + len as u64)
        .map(|i| (i / 64) as u8 ^ (i % 251) as u8 ^ (tag as u8).wrapping_mul(37))
        .collect()
}

/// Writes come from a file on the same volume that isn't in memory, piece by piece in any
/// order; space that was allocated before stays with the file until it leaves memory.
fn cold_pages(cfg: &Config, opts: &str, cow: bool) -> Result<()> {
    const SIZE: usize = 400_000;
    const PIECE: usize = 9000;
    let mut v = Vol::fresh(&geom(16), &cfg.fs, opts, "t")?;
    let data = stamp(3, 0, SIZE);
    std::fs::write(v.p("source"), &data)?;
    sys::sync();
    let source = sys::open(&v.p("source"), libc::O_RDONLY)?;
    let f = sys::create(&v.p("f"))?;
    sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, 2 * SIZE as i64)?;
    let blocks = sys::fstat(&f)?.blocks;
    ensure!(
        blocks * 512 >= 2 * SIZE as u64,
        "only {blocks} blocks allocated"
    );
    let mut order: Vec<usize> = (0..SIZE).step_by(PIECE).collect();
    let mut rng = Rng::new(7);
    for i in (1..order.len()).rev() {
        order.swap(i, rng.below(i as u64 + 1) as usize);
    }
    for at in order {
        let len = PIECE.min(SIZE - at);
        let map = if cow {
            // Pages of its own, which were thrown away.
            sys::Map::anonymous_from(&data)?
        } else {
            sys::Map::shared(&source, SIZE, false)?
        };
        if !cow {
            sys::fadvise(&source, 0, 0, libc::POSIX_FADV_DONTNEED)?;
        }
        let mut done = 0;
        while done < len {
            done += map
                .write_to(&f, at + done, len - done, (at + done) as i64)
                .map_err(|e| anyhow!("write at {at}: {e}"))?;
        }
        let now = sys::fstat(&f)?.blocks;
        ensure!(now == blocks, "{now} blocks after a write, {blocks} before");
    }
    bytes(&sys::pread_vec(&f, SIZE + 1, 0)?, &data, "at once")?;
    drop((f, source));
    v.remount()?;
    bytes(&std::fs::read(v.p("f"))?, &data, "after a mount")?;
    let blocks = sys::stat(&v.p("f"))?.blocks;
    let want = (SIZE as u64).div_ceil(CLUSTER) * CLUSTER / 512;
    ensure!(blocks == want, "{blocks} blocks, expected {want}");
    v.finish()
}

/// State that the tasks of a race share.
struct Race<'a> {
    v: &'a Vol,
    stop: AtomicBool,
    failed: AtomicU64,
}

impl Race<'_> {
    fn on(&self) -> bool {
        !self.stop.load(Relaxed)
    }
}

/// Appends from a source that ends too early: a part is written, or EFAULT. The file holds
/// what the calls said. From time to time it is cut.
fn bad_writer(r: &Race<'_>, space: bool) -> Result<Vec<u8>> {
    let f = sys::open(&r.v.p("f"), libc::O_RDWR)?;
    let mut want: Vec<u8> = Vec::new();
    let mut rng = Rng::new(11);
    while r.on() {
        let good = rng.below(30_000) as usize;
        let data = stamp(5, want.len() as u64, good);
        let source = sys::Cliff::new(&data)?;
        let n = match source.write_to(&f, 40_000, want.len() as i64) {
            Ok(n) => n,
            Err(Errno(libc::EFAULT)) => 0,
            Err(Errno(libc::ENOSPC)) if space => 0,
            Err(e) => bail!("write: {e}"),
        };
        ensure!(n <= good, "{n} bytes written of {good}");
        if n < good {
            r.failed.fetch_add(1, Relaxed);
        }
        want.extend(&data[..n]);
        let size = sys::fstat(&f)?.size;
        ensure!(
            size == want.len() as u64,
            "size {size}, wrote {}",
            want.len()
        );
        if want.len() > 600_000 {
            let keep = rng.below(200_000) as usize;
            sys::ftruncate(&f, keep as i64)?;
            want.truncate(keep);
        }
    }
    Ok(want)
}

/// Whole files, each of which is what it was made to be.
fn other_files(r: &Race<'_>) -> Result<Vec<(String, u32, usize)>> {
    let mut rng = Rng::new(12);
    let mut files: Vec<(String, u32, usize)> = Vec::new();
    for n in 0u32.. {
        if !r.on() {
            break;
        }
        let name = format!("other{}", n % 12);
        let _ = sys::unlink(&r.v.p(&name));
        files.retain(|f| f.0 != name);
        let f = sys::create(&r.v.p(&name))?;
        let data = stamp(100 + n, 0, 1 + rng.below(40_000) as usize);
        let done = match sys::pwrite(&f, &data, 0) {
            Ok(n) => n,
            Err(Errno(libc::ENOSPC)) => 0,
            Err(e) => bail!("write of another file: {e}"),
        };
        files.push((name, 100 + n, done));
    }
    Ok(files)
}

fn syncer(r: &Race<'_>) -> Result<()> {
    let f = sys::open(&r.v.p("f"), libc::O_RDWR)?;
    for n in 0.. {
        if !r.on() {
            break;
        }
        match n % 3 {
            0 => sys::write_data(&f)?,
            1 => sys::fsync(&f)?,
            _ => sys::syncfs(&f)?,
        }
    }
    Ok(())
}

/// Looks through a mapping. What is behind the end gives an error, nothing else.
fn looker(r: &Race<'_>) -> Result<()> {
    let f: File = sys::open(&r.v.p("f"), libc::O_RDONLY)?;
    let m = sys::Map::shared(&f, 1 << 20, false)?;
    let mut rng = Rng::new(13);
    while r.on() {
        match m.touch(rng.below(1 << 20) as usize) {
            Ok(()) | Err(Errno(libc::EIO)) => {}
            Err(e) => bail!("mapping: {e}"),
        }
    }
    Ok(())
}

/// A failing write is undone while others write back, look, and take the freed space.
fn race(cfg: &Config, opts: &str, space: bool) -> Result<()> {
    let mut v = Vol::fresh(&geom(if space { 9 } else { 16 }), &cfg.fs, opts, "t")?;
    if space {
        let fill = sys::create(&v.p("fill"))?;
        let free = sys::statfs(&v.mp)?.bfree;
        sys::fallocate(&fill, 0, 0, ((free - 250) * CLUSTER) as i64)?;
    }
    sys::create(&v.p("f"))?;
    let r = Race {
        v: &v,
        stop: AtomicBool::new(false),
        failed: AtomicU64::new(0),
    };
    let end = Instant::now() + Duration::from_secs(if cfg.quick { 2 } else { 6 });
    let (want, files) = std::thread::scope(|s| -> Result<_> {
        let r = &r;
        let w = s.spawn(|| {
            let done = bad_writer(r, space);
            r.stop.store(true, Relaxed);
            done
        });
        let o = s.spawn(|| other_files(r));
        let y = s.spawn(|| syncer(r));
        let l = s.spawn(|| looker(r));
        while Instant::now() < end && r.on() {
            std::thread::sleep(Duration::from_millis(50));
        }
        r.stop.store(true, Relaxed);
        let dead = || anyhow!("a task panicked");
        let want = w.join().map_err(|_| dead())??;
        let files = o.join().map_err(|_| dead())??;
        y.join().map_err(|_| dead())?.context("sync")?;
        l.join().map_err(|_| dead())??;
        Ok((want, files))
    })?;
    ensure!(r.failed.load(Relaxed) > 3 || !space, "no write failed");
    let check = |mp: &Path, when: &str| -> Result<()> {
        bytes(&std::fs::read(mp.join("f"))?, &want, &format!("f {when}"))?;
        for (name, tag, len) in &files {
            let got = std::fs::read(mp.join(name))?;
            bytes(&got, &stamp(*tag, 0, *len), &format!("{name} {when}"))?;
        }
        Ok(())
    };
    check(&v.mp, "at once")?;
    v.remount()?;
    drop_caches()?;
    check(&v.mp, "after a mount")?;
    v.finish()
}

/// The group.
pub fn group() -> Group {
    Group {
        name: "source".into(),
        cases: vec![
            Case::new("cold_file", |cfg| cold_pages(cfg, "", false)),
            Case::new("cold_file_sync", |cfg| cold_pages(cfg, "sync", false)),
            Case::new("cold_memory", |cfg| cold_pages(cfg, "", true)),
            Case::new("fault_race", |cfg| race(cfg, "", false)),
            Case::new("fault_race_sync", |cfg| race(cfg, "sync", false)),
            Case::new("space_race", |cfg| race(cfg, "", true)),
            Case::new("space_race_sync", |cfg| race(cfg, "sync", true)),
        ],
    }
}
