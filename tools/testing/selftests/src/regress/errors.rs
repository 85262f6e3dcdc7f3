// SPDX-License-Identifier: GPL-2.0

//! Errors: those that have to be seen, those that must not be, and the way on after them.

use super::dm::{Fault, Mapped};
use super::{drop_caches, fresh, geom, not_vfat, stamp, Test};
use crate::expect::{bytes, errno};
use crate::kmsg::Kmsg;
use crate::runner::Config;
use crate::same;
use crate::sys::{self, Errno};
use crate::vol::fsck;
use anyhow::{ensure, Context, Result};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    ("ioctl_owner", 30, ioctl_owner),
    ("fiemap_truncate_race", 60, fiemap_truncate_race),
    ("readdir_bad_block", 60, readdir_bad_block),
    ("write_error_retry", 60, write_error_retry),
    ("chain_loops", 60, chain_loops),
];

/// FAT_IOCTL_SET_ATTRIBUTES worked for everybody who could open a file for reading. It is
/// for the owner only.
fn ioctl_owner(cfg: &Config) -> Result<()> {
    let v = fresh(cfg, &geom(16, 12, 2048), "uid=0,gid=0,umask=022")?;
    std::fs::write(v.p("f"), "content")?;
    sys::mkdir(&v.p("d"))?;
    for name in ["f", "d"] {
        let f = sys::open(&v.p(name), libc::O_RDONLY)?;
        let before = (sys::get_attrs(&f)?, sys::fstat(&f)?.mode);
        for attrs in [sys::ATTR_RO, sys::ATTR_HIDDEN, sys::ATTR_SYS, 0] {
            let keep = before.0 & sys::ATTR_DIR;
            let r = sys::as_user(1000, || sys::set_attrs(&f, attrs | keep))?;
            errno(r, libc::EPERM, &format!("attributes {attrs} of {name}"))?;
            same!(
                (sys::get_attrs(&f)?, sys::fstat(&f)?.mode),
                before,
                "attributes and mode of {name} afterwards"
            );
        }
        // The owner may.
        sys::set_attrs(&f, sys::ATTR_HIDDEN | (before.0 & sys::ATTR_DIR))?;
    }
    v.finish()
}

/// FIEMAP walked a chain while truncate(2) cut it, took what it met for damage, and made the
/// volume read-only. Both have to succeed, always.
fn fiemap_truncate_race(cfg: &Config) -> Result<()> {
    not_vfat(cfg, "has no FIEMAP")?;
    let v = fresh(cfg, &geom(16, 12, 2048), "")?;
    let mut log = Kmsg::now();
    let end = Instant::now() + Duration::from_secs(3);
    let stop = AtomicBool::new(false);
    let f = sys::create(&v.p("f"))?;
    std::thread::scope(|s| -> Result<()> {
        let t = s.spawn(|| -> Result<u64> {
            let f = sys::open(&v.p("f"), libc::O_RDWR)?;
            let mut n = 0;
            while !stop.load(Relaxed) {
                sys::ftruncate(&f, 1 << 20).context("truncate up")?;
                sys::pwrite_all(&f, &[1; 9000], 500_000).context("write")?;
                sys::ftruncate(&f, 0).context("truncate to 0")?;
                n += 1;
            }
            Ok(n)
        });
        let mut r = Ok(());
        while Instant::now() < end && r.is_ok() {
            r = sys::fiemap(&f).map(drop).context("FIEMAP");
        }
        stop.store(true, Relaxed);
        let n = t.join().expect("truncating thread")?;
        r?;
        ensure!(n > 3, "only {n} truncations");
        Ok(())
    })?;
    drop(f);
    let opts = v.shown_options()?;
    ensure!(opts.starts_with("rw"), "the mount became {opts}");
    let said: Vec<String> = log
        .read()
        .into_iter()
        .filter(|l| l.to_lowercase().contains("fat") && l.contains("rror"))
        .collect();
    same!(said, Vec::<String>::new(), "kernel messages");
    v.finish()
}

/// A sector of a directory can't be read: the reader went round in circles, or gave up. All
/// entries in other sectors have to be listed and found.
fn readdir_bad_block(cfg: &Config) -> Result<()> {
    let g = geom(16, 12, 2048);
    let mut m = Mapped::fresh(&g)?;
    m.mount(&cfg.fs, "errors=continue")?;
    sys::mkdir(&m.p("DIR"))?;
    // One slot each; after the dots, 14 in the first sector.
    let name = |i: u32| format!("F{i:05}");
    for i in 0..200 {
        sys::create(&m.p("DIR").join(name(i)))?;
    }
    m.umount()?;
    let d = m.image.disk()?;
    let slots = d.dir_slots(d.start(d.find_root(b"DIR        ")?)?)?;
    let bad = 7;
    m.set(Some((Fault::All, slots[bad * 16], 512)))?;
    m.mount(&cfg.fs, "errors=continue")?;
    drop_caches()?;

    let lost = |i: u32| (i as usize + 2) / 16 == bad;
    let want: Vec<String> = (0..200).filter(|&i| !lost(i)).map(name).collect();
    let start = Instant::now();
    let d = sys::open(&m.p("DIR"), libc::O_RDONLY | libc::O_DIRECTORY)?;
    let mut got = Vec::new();
    // The error may be told, but only so often.
    let mut told = 0;
    loop {
        match sys::getdents(&d, 4096) {
            Ok(part) if part.is_empty() => break,
            Ok(part) => got.extend(
                part.into_iter()
                    .filter(|e| !e.is_dot())
                    .map(|e| String::from_utf8_lossy(&e.name).into_owned()),
            ),
            Err(Errno(libc::EIO)) if told < 3 => told += 1,
            Err(e) => anyhow::bail!("getdents: {e} after {} entries", got.len()),
        }
        ensure!(got.len() <= 200, "more entries than there are");
    }
    let took = start.elapsed();
    ensure!(took < Duration::from_secs(10), "it took {took:?}");
    got.sort();
    same!(got, want, "names in readable sectors");
    for i in (0..200).filter(|&i| !lost(i)) {
        sys::stat(&m.p("DIR").join(name(i))).with_context(|| format!("stat of {}", name(i)))?;
    }
    drop(d);
    m.umount()?;
    m.set(None)?;
    m.mount(&cfg.fs, "")?;
    same!(sys::names(&m.p("DIR"))?.len(), 200, "names after healing");
    m.umount()?;
    fsck(&m.image.path)
}

/// Writing the FAT failed once. The buffers weren't dirty any more, so that the next fsync
/// had nothing to do and succeeded, and the FAT on the device never got the clusters. What
/// couldn't be written has to be written again.
fn write_error_retry(cfg: &Config) -> Result<()> {
    not_vfat(cfg, "forgets what it couldn't write")?;
    let g = geom(16, 12, 2048);
    let mut m = Mapped::fresh(&g)?;
    let d = m.image.disk()?;
    let fats = (d.fat_start, d.fats * d.fat_bytes);
    let root = (d.root_start, d.data_start - d.root_start);
    m.mount(&cfg.fs, "errors=continue")?;
    for (i, (what, part)) in [("FAT", fats), ("root", root)].into_iter().enumerate() {
        let path = m.p(&format!("new file for the {what}"));
        let f = sys::create(&path)?;
        sys::fsync(&f).context("first fsync")?;
        sys::syncfs(&f).context("syncfs")?;
        let data = stamp(i as u32, 0, 300_000);
        sys::pwrite_all(&f, &data, 0).context("write")?;
        m.set(Some((Fault::Writes, part.0, part.1)))?;
        let failed = sys::fsync(&f);
        m.set(None)?;
        errno(failed, libc::EIO, &format!("fsync, {what} not writable"))?;
        sys::fsync(&f).with_context(|| format!("second fsync, {what} healed"))?;
        // The next syncfs(2) may still tell of the data that failed; the one after it not.
        let _ = sys::syncfs(&f);
        drop(f);
        bytes(&std::fs::read(&path)?, &data, "content after it")?;
    }
    m.umount().context("umount")?;
    drop_caches()?;
    fsck(&m.image.path)?;
    m.mount(&cfg.fs, "")?;
    for (i, what) in ["FAT", "root"].into_iter().enumerate() {
        let got = std::fs::read(m.p(&format!("new file for the {what}")))?;
        bytes(&got, &stamp(i as u32, 0, 300_000), what)?;
    }
    m.umount()?;
    fsck(&m.image.path)
}

/// A chain that leads back to its start or to the cluster before: reading the file went
/// round for as long as its size told. It has to end with EIO, and soon.
fn chain_loops(cfg: &Config) -> Result<()> {
    not_vfat(cfg, "follows a loop as far as the size tells")?;
    for g in [geom(12, 4, 2048), geom(16, 12, 2048), geom(32, 36, 512)] {
        for whole in [false, true] {
            let mut v = fresh(cfg, &g, "errors=continue")?;
            std::fs::write(v.p("LOOP"), stamp(1, 0, 200_000))?;
            v.umount()?;
            let d = v.disk()?;
            let slot = d.find_root(b"LOOP       ")?;
            let chain = d.chain(d.start(slot)?)?;
            let from = if whole { chain.len() - 1 } else { 1 };
            d.set(chain[from], chain[0])?;
            d.set_size(slot, 40_000_000)?;
            v.mount()?;
            let start = Instant::now();
            let r = std::fs::read(v.p("LOOP")).map(|d| d.len());
            let took = start.elapsed();
            errno(
                r.map_err(Errno::from),
                libc::EIO,
                &format!("FAT{}: reading a loop of {} clusters", g.bits, from + 1),
            )?;
            ensure!(took < Duration::from_secs(2), "it took {took:?}");
            v.umount()?;
        }
    }
    Ok(())
}
