// SPDX-License-Identifier: GPL-2.0

//! Suite `hostile`: whole volumes that are broken in every way, each made from a number. What
//! comes of an operation on them doesn't matter; that the kernel stays sound does. `--volumes
//! FIRST-LAST` gives the numbers; a failure names its number.

mod build;
mod found;
mod image;
mod mutate;
mod slots;
mod stats;
mod volume;
mod walk;
mod watch;
mod work;

use crate::runner::{skip, Case, Config, Group, Suite};
use crate::sys::{self, Res};
use crate::vol::WORK;
use anyhow::{bail, ensure, Result};
use stats::Stats;
use std::io::{BufRead, BufReader};
use std::path::Path;
use watch::{meminfo, Watch};

/// Volumes in one test.
const BATCH: u64 = 50;

/// Memory that may be gone after a batch, in KiB: caches of processors, and fragments.
const GROWTH: u64 = 24 << 10;

/// The same on a kernel with KASAN, which holds back what was freed, up to a part of all memory;
/// there kmemleak looks after what is lost.
const GROWTH_KASAN: u64 = 256 << 10;

/// What the operations on a volume are counted in and watched by.
pub struct Ctx<'a> {
    stats: &'a mut Stats,
    watch: &'a Watch,
    /// Nothing is damaged: no operation may find that something is.
    sound: bool,
    /// Errors that come from damage.
    errors: u64,
}

impl Ctx<'_> {
    /// Counts the result of an operation, which has to be one that a caller may get.
    fn op<T>(&mut self, name: &'static str, r: &Res<T>) -> Result<()> {
        self.watch.doing(name);
        self.stats.result(name, r);
        let Err(e) = r else { return Ok(()) };
        if matches!(e.0, libc::EIO | libc::EUCLEAN) {
            self.errors += 1;
            ensure!(!self.sound, "{name}: {e} on a sound volume");
        }
        // No file system has reason for any of these here.
        if e.name().is_none()
            || matches!(e.0, libc::ENOMEM | libc::EBADF | libc::ENOSYS | libc::EINTR)
        {
            bail!("{name}: {e}");
        }
        Ok(())
    }
}

/// statfs(2), whose figures have to fit each other, whatever hints the disk gives.
fn statfs(c: &mut Ctx<'_>, root: &Path) -> Result<()> {
    let r = sys::statfs(root);
    c.op("statfs", &r)?;
    if let Ok(s) = r {
        let fit = s.bfree <= s.blocks && s.bavail <= s.bfree;
        ensure!(fit, "statfs: {} free of {}", s.bfree, s.blocks);
    }
    Ok(())
}

/// Runs the volumes `first` to `last`.
fn batch(cfg: &Config, first: u64, last: u64) -> Result<()> {
    let mut stats = Stats::default();
    let kasan = has_kasan();
    let watch = Watch::start(kasan);
    let mut disks = volume::Disks::new()?;
    settle();
    let before = (meminfo("MemAvailable"), meminfo("Slab"));
    let growth = if kasan { GROWTH_KASAN } else { GROWTH };
    let mut failed = Vec::new();
    for seed in first..=last {
        if let Err(e) = volume::run(cfg, seed, &mut disks, &mut stats, &watch) {
            failed.push(format!("seed {seed}: {e:#}"));
            // One may be in the way of all that come after it.
            if failed.len() >= 5 || disks.is_busy() {
                break;
            }
        }
    }
    disks.clear()?;
    settle();
    let after = (meminfo("MemAvailable"), meminfo("Slab"));
    stats.save(&stats_file(cfg))?;
    if after.0 + growth < before.0 {
        failed.push(format!(
            "{} KiB less memory than before",
            before.0 - after.0
        ));
    }
    if after.1 > before.1 + growth {
        failed.push(format!(
            "{} KiB more of slab than before",
            after.1 - before.1
        ));
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

/// Tests run in processes of their own; this is where their counts come together. What ends in
/// `.tmpl` is left alone between tests.
fn stats_file(cfg: &Config) -> String {
    let usual = || format!("{WORK}/hostile-stats.tmpl");
    cfg.stats.clone().unwrap_or_else(usual)
}

/// Shows the counts in some files, added up.
pub fn report(files: &[String]) {
    let mut s = Stats::default();
    files.iter().for_each(|f| s.load(f));
    println!("  {}", s.report().join("\n  "));
}

/// Whether the kernel has KASAN.
fn has_kasan() -> bool {
    let Ok(f) = std::fs::File::open("/proc/kallsyms") else {
        return false;
    };
    let mut lines = BufReader::new(f).lines().map_while(|l| l.ok());
    lines.any(|l| l.contains(" kasan_quarantine"))
}

/// Gives back what is cached.
fn settle() {
    sys::sync();
    let _ = std::fs::write("/proc/sys/vm/drop_caches", "3");
}

/// Whether the volumes were of the kinds that they should be, and led into all the operations'
/// successes and failures.
fn reach(cfg: &Config) -> Result<()> {
    let mut s = Stats::default();
    s.load(&stats_file(cfg));
    let volumes = s.sum("volumes made");
    if cfg.stats.is_none() {
        println!("#   {}", s.report().join("\n#   "));
    }
    if volumes < 200 {
        return skip(format!("{volumes} volumes are too few to tell"));
    }
    let share = |key: &str, least: u64| {
        let n = s.sum(key);
        ensure!(
            n * 100 >= volumes * least,
            "'{key}' {n} times on {volumes} volumes"
        );
        Ok(())
    };
    share("volumes refused", 3)?;
    share("volumes mounted, errors", 20)?;
    share("volumes mounted, no error", 20)?;
    share("volumes read-only", 2)?;
    for op in [
        "read", "readdir", "rename", "create", "mkdir", "unlink", "truncate", "append", "write",
    ] {
        share(&format!("op {op} ok"), 20)?;
    }
    // A few hundred may miss the one or the other.
    if volumes < 1000 {
        return Ok(());
    }
    for op in [
        "read EIO",
        "stat EIO",
        "rename EIO",
        "write EIO",
        "fiemap EIO",
    ] {
        ensure!(s.sum(&format!("op {op}")) > 0, "never: {op}");
    }
    for (name, _) in mutate::GROUPS.iter().flat_map(|g| g.iter()) {
        ensure!(
            s.sum(&format!("mutation {name}")) > 0,
            "never: mutation {name}"
        );
    }
    Ok(())
}

/// The suite.
pub fn suite(cfg: &Config) -> Suite {
    let (first, last) = cfg.volumes;
    let mut cases = Vec::new();
    let mut at = first;
    while at <= last {
        let end = last.min(at + BATCH - 1);
        let from = at;
        let case = Case::new(format!("{from}-{end}"), move |cfg| batch(cfg, from, end));
        cases.push(case.limit(900));
        at = end + 1;
    }
    let reached = Case::new("reach", reach);
    Suite {
        name: "hostile",
        groups: vec![
            Group {
                name: "found".into(),
                cases: found::cases(),
            },
            Group {
                name: "volumes".into(),
                cases,
            },
            Group {
                name: "all".into(),
                cases: vec![reached],
            },
        ],
    }
}
