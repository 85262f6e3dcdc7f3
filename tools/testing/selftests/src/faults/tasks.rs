// SPDX-License-Identifier: GPL-2.0

//! Eight tasks that allocate at once, and what their files look like then.

use super::engine::drop_caches;
use crate::disk::Disk;
use crate::expect::{bytes, pattern};
use crate::geom::Geom;
use crate::runner::{skip, Case, Config, Group};
use crate::sys::{self, Errno};
use crate::vol::Vol;
use anyhow::{bail, ensure, Context, Result};
use std::sync::Barrier;

const TASKS: usize = 8;
const CLUSTER: u64 = 2048;

fn geom() -> Geom {
    let mut g = Geom::new(16, 32 << 20, CLUSTER as u32);
    g.name = "tasks16".into();
    g
}

fn file(i: usize) -> String {
    format!("written by task {i}")
}

/// Runs `what` in all tasks at once.
fn at_once<T: Send>(what: impl Fn(usize) -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|s| {
        let what = &what;
        let all: Vec<_> = (0..TASKS).map(|i| s.spawn(move || what(i))).collect();
        all.into_iter()
            .map(|t| t.join().unwrap_or_else(|_| bail!("a task panicked")))
            .collect()
    })
}

/// Clusters of the files, by the FAT on the device: the count, and runs of each.
fn chains(d: &Disk) -> Result<Vec<(u64, u64)>> {
    let mut out = Vec::new();
    for slot in d.root_slots()? {
        let e = d.read(slot, 32)?;
        if e[0] == 0 || e[0] == 0xE5 || e[11] & 0x1F == 0x0F || e[11] & 0x18 != 0 {
            continue;
        }
        let chain = d.chain(d.start(slot)?)?;
        let runs = chain.windows(2).filter(|w| w[1] != w[0] + 1).count() + 1;
        out.push((chain.len() as u64, runs as u64));
    }
    Ok(out)
}

/// What every test here ends with: the sizes, the content, the count of free clusters.
fn verify(v: &mut Vol, free: u64, sizes: &[usize]) -> Result<Vec<(u64, u64)>> {
    sys::sync();
    let used: u64 = sizes.iter().map(|&n| (n as u64).div_ceil(CLUSTER)).sum();
    drop_caches()?;
    sys::sync();
    let now = sys::statfs(&v.mp)?.bfree;
    ensure!(
        free - now == used,
        "{} clusters less are free, the files have {used}",
        free - now
    );
    ensure!(v.disk()?.count_free()? as u64 == now, "free in the FAT");
    v.remount()?;
    for (i, &n) in sizes.iter().enumerate() {
        let got = std::fs::read(v.p(file(i)))?;
        bytes(&got, &pattern(i as u32, 0, n), &file(i))?;
    }
    v.umount()?;
    let chains = chains(&v.disk()?)?;
    v.mount()?;
    Ok(chains)
}

/// Appends of one to three clusters at a time, all tasks in turn or as they come.
fn empty(cfg: &Config, opts: &str, in_turn: bool) -> Result<()> {
    const SIZE: usize = 1 << 20;
    let mut v = Vol::fresh(&geom(), &cfg.fs, opts, "t")?;
    let free = sys::statfs(&v.mp)?.bfree;
    let turn = Barrier::new(TASKS);
    let mp = v.mp.clone();
    at_once(|i| {
        let f = sys::create(&mp.join(file(i)))?;
        let mut at = 0;
        let mut n = 0;
        while at < SIZE {
            let len = (2048 * (1 + (i + n) % 3)).min(SIZE - at);
            sys::pwrite_all(&f, &pattern(i as u32, at as u64, len), at as i64)?;
            (at, n) = (at + len, n + 1);
            if in_turn && n < SIZE / 2048 / 3 {
                turn.wait();
            }
        }
        Ok(())
    })?;
    let chains = verify(&mut v, free, &[SIZE; TASKS])?;
    v.finish()?;
    if cfg.fs == "vfat" {
        return skip("interleaves what is written at once");
    }
    for (n, runs) in &chains {
        ensure!(
            n / runs >= 16,
            "{n} clusters in {runs} pieces: written at once, the files lie cluster by cluster"
        );
    }
    ensure!(chains.len() == TASKS, "{} files", chains.len());
    Ok(())
}

/// All fill the rest of the space until there is none.
fn nearly_full(cfg: &Config, opts: &str) -> Result<()> {
    let mut v = Vol::fresh(&geom(), &cfg.fs, opts, "t")?;
    let fill = sys::create(&v.p("fill"))?;
    let all = sys::statfs(&v.mp)?.bfree;
    sys::fallocate(&fill, 0, 0, ((all - 301) * CLUSTER) as i64)?;
    sys::fsync(&fill)?;
    drop(fill);
    for round in 0..5 {
        let free = sys::statfs(&v.mp)?.bfree;
        ensure!(free == 301, "{free} clusters free, expected 301");
        let mp = v.mp.clone();
        let sizes = at_once(|i| {
            let f = sys::create(&mp.join(file(i)))?;
            let mut at = 0;
            loop {
                let data = pattern(i as u32, at as u64, 700 + 1300 * (i % 4));
                match sys::pwrite(&f, &data, at as i64) {
                    Ok(n) => at += n,
                    Err(Errno(libc::ENOSPC)) => return Ok(at),
                    Err(e) => bail!("write: {e}"),
                }
            }
        })?;
        let left = sys::statfs(&v.mp)?.bfree;
        ensure!(left == 0, "ENOSPC with {left} clusters free");
        verify(&mut v, free, &sizes).with_context(|| format!("round {round}"))?;
        at_once(|i| Ok(sys::unlink(&v.p(file(i)))?))?;
        sys::sync();
    }
    v.finish()
}

/// The group.
pub fn group() -> Group {
    Group {
        name: "tasks".into(),
        cases: vec![
            Case::new("empty_in_turn", |cfg| empty(cfg, "", true)),
            Case::new("empty_in_turn_sync", |cfg| empty(cfg, "sync", true)),
            Case::new("empty", |cfg| empty(cfg, "", false)),
            Case::new("nearly_full", |cfg| nearly_full(cfg, "")),
            Case::new("nearly_full_sync", |cfg| nearly_full(cfg, "sync")),
        ],
    }
}
