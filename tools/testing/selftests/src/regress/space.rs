// SPDX-License-Identifier: GPL-2.0

//! Clusters that belong to nobody or to two, and space that isn't counted.

use super::{drop_caches, free_bytes, fresh, geom, stamp, Test, MIB};
use crate::expect::bytes;
use crate::runner::Config;
use crate::same;
use crate::sys;
use anyhow::{ensure, Result};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    ("pending_cut", 60, pending_cut),
    ("short_write", 60, short_write),
    ("short_direct_write", 60, short_direct_write),
    ("source_ends", 60, source_ends),
    ("discard", 60, discard),
];

/// Clusters reserved beyond a file's end are given back when the inode leaves memory. The
/// chain's cut was left to a later commit, and a new inode of the same file, read before
/// it, went on with the old chain: what it appended lay in clusters that a second file got,
/// too. Whoever reads the chain after the inode was dropped has to see it cut.
fn pending_cut(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg, &geom(16, 64, 2048), "")?;
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, b"1", 0)?;
    sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, 20 * MIB as i64)?;
    sys::fsync(&f)?;
    drop(f);
    drop_caches()?;
    let f = sys::open(&v.p("f"), libc::O_RDWR)?;
    sys::pwrite_all(&f, b"2", 1)?;
    sys::sync();

    let g = stamp(7, 0, 30 << 20);
    std::fs::write(v.p("g"), &g)?;
    let tail = stamp(8, 0, 10 << 20);
    sys::pwrite_all(&f, &tail, 2)?;
    sys::sync();
    drop(f);
    let verify = |v: &crate::vol::Vol| {
        let got = std::fs::read(v.p("f"))?;
        bytes(&got[..2.min(got.len())], b"12", "first bytes of f")?;
        bytes(&got[2..], &tail, "rest of f")?;
        bytes(&std::fs::read(v.p("g"))?, &g, "g")
    };
    drop_caches()?;
    verify(&v)?;
    v.remount()?;
    verify(&v)?;
    v.finish()
}

/// A write whose source can be read in part only takes the space for all of it first. What
/// it doesn't use is free again at once, and what was allocated before it stays.
fn source_ends(cfg: &Config) -> Result<()> {
    const CLUSTER: u64 = 2048;
    let v = fresh(cfg, &geom(16, 16, CLUSTER as u32), "")?;
    let data = stamp(4, 0, 3000);
    let source = sys::Cliff::new(&data)?;
    for before in [0, 8 * CLUSTER] {
        let name = v.p(format!("f{before}"));
        let f = sys::create(&name)?;
        if before > 0 {
            sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, before as i64)?;
        }
        let free = free_bytes(&v)? + before;
        same!(
            source.write_to(&f, 1 << 20, 0)?,
            data.len(),
            "bytes written"
        );
        let want = before.max(2 * CLUSTER);
        same!(sys::fstat(&f)?.blocks * 512, want, "space of the file");
        same!(free - free_bytes(&v)?, want, "space taken from the volume");
        bytes(&std::fs::read(&name)?, &data, "what was written")?;
    }
    v.finish()
}

/// Leaves `keep` bytes free.
fn leave(v: &crate::vol::Vol, keep: u64) -> Result<()> {
    let f = sys::create(&v.p("fill"))?;
    sys::fallocate(&f, 0, 0, (free_bytes(v)? - keep) as i64)?;
    sys::fsync(&f)?;
    same!(free_bytes(v)?, keep, "free bytes after filling");
    Ok(())
}

/// What a write that hits the end of the space has to leave behind.
fn after_short(
    v: &mut crate::vol::Vol,
    name: &str,
    keep: u64,
    wrote: usize,
    data: &[u8],
) -> Result<()> {
    ensure!(wrote > 0, "{name}: nothing was written");
    ensure!(
        wrote as u64 <= keep,
        "{name}: {wrote} bytes written to {keep} bytes of free space"
    );
    ensure!(
        wrote as u64 + 4096 >= keep,
        "{name}: only {wrote} bytes written to {keep} bytes of free space"
    );
    let used = (wrote as u64).div_ceil(2048) * 2048;
    for when in ["at once", "after sync", "after remount"] {
        same!(
            sys::stat(&v.p(name))?.size,
            wrote as u64,
            "size of {name} {when}"
        );
        same!(free_bytes(v)?, keep - used, "free bytes {when}");
        bytes(&std::fs::read(v.p(name))?, &data[..wrote], when)?;
        if when == "at once" {
            sys::sync();
            same!(
                v.disk()?.count_free()? as u64 * 2048,
                keep - used,
                "free bytes in the FAT"
            );
        } else if when == "after sync" {
            v.remount()?;
        }
    }
    Ok(())
}

/// A buffered write that met ENOSPC on its way gave the error, though a part had been
/// written, or took clusters that nobody got. It has to return the bytes that were written,
/// and the size and the free space have to tell the same.
fn short_write(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg, &geom(16, 16, 2048), "")?;
    let keep = 100 * 2048;
    leave(&v, keep)?;
    let data = stamp(3, 0, 1 << 20);
    let f = sys::create(&v.p("f"))?;
    let wrote = sys::pwrite(&f, &data, 0)?;
    drop(f);
    after_short(&mut v, "f", keep, wrote, &data)?;
    v.finish()
}

/// The same with O_DIRECT.
fn short_direct_write(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg, &geom(16, 16, 2048), "")?;
    let keep = 100 * 2048;
    leave(&v, keep)?;
    let mut a = sys::Aligned::new(1 << 20);
    let data = stamp(4, 0, 1 << 20);
    a.bytes().copy_from_slice(&data);
    let f = sys::open(&v.p("f"), libc::O_RDWR | libc::O_CREAT | libc::O_DIRECT)?;
    let wrote = sys::pwrite(&f, a.bytes(), 0)?;
    drop(f);
    after_short(&mut v, "f", keep, wrote, &data)?;
    v.finish()
}

/// Freed clusters were discarded when they belonged to another file already. A cluster that
/// is being discarded must not be given away before that is over.
fn discard(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg, &geom(16, 9, 2048), "discard")?;
    let end = Instant::now() + Duration::from_secs(4);
    let mp = v.mp.clone();
    let worker = |id: u32| -> Result<Vec<(String, u32, usize)>> {
        let mut rng = crate::rng::Rng::new(id as u64);
        let mut files: Vec<(String, u32, usize)> = (0..6)
            .map(|i| (format!("worker {id} file {i}"), 0, 0))
            .collect();
        for n in 1.. {
            if Instant::now() >= end {
                break;
            }
            let f = &mut files[rng.below(6) as usize];
            let p = mp.join(&f.0);
            let _ = sys::unlink(&p);
            (f.1, f.2) = (id * 1_000_000 + n, 512 + rng.below(300_000) as usize);
            let file = sys::create(&p)?;
            sys::pwrite_all(&file, &stamp(f.1, 0, f.2), 0)?;
            match rng.below(4) {
                0 => sys::fsync(&file)?,
                1 => {
                    f.2 /= 2;
                    sys::ftruncate(&file, f.2 as i64)?;
                }
                2 => sys::syncfs(&file)?,
                _ => {}
            }
        }
        files.retain(|f| f.1 > 0);
        Ok(files)
    };
    let all = std::thread::scope(|s| {
        let worker = &worker;
        let t: Vec<_> = (1..=3).map(|id| s.spawn(move || worker(id))).collect();
        t.into_iter()
            .map(|t| t.join().expect("worker"))
            .collect::<Result<Vec<_>>>()
    })?;
    v.remount()?;
    for (name, tag, len) in all.iter().flatten() {
        bytes(&std::fs::read(v.p(name))?, &stamp(*tag, 0, *len), name)?;
    }
    v.finish()
}
