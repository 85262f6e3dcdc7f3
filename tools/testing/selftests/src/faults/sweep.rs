// SPDX-License-Identifier: GPL-2.0

//! Each call in the kernel that may fail - slab and page allocations, requests - fails once:
//! an operation is repeated with its first such call failing, then its second, and so on,
//! until it runs through. For kernels with fault injection.

use super::engine::model;
use super::ops::{Held, Op, DIRTY, LATE, LOOSE, OPS, SILENT, TWINS};
use super::rig::Rig;
use super::snap::{fsck, Snap};
use super::watch::watched;
use crate::kmsg::Kmsg;
use crate::runner::{skip, Case, Group};
use crate::sys::{self, Errno, Res};
use anyhow::{anyhow, bail, ensure, Context, Result};
use std::path::Path;
use std::time::Duration;

const NTH: &str = "/proc/thread-self/fail-nth";
const DEBUGFS: &str = "/sys/kernel/debug";

/// No operation makes more calls.
const MOST: u32 = 3000;

/// On a `sync` mount the preparation has left these nothing to do.
const WRITTEN_ALREADY: &[&str] = &[
    "write_fsync",
    "write_fdatasync",
    "append_fsync",
    "overwrite_fsync",
    "fsync_dir",
];

/// What the kernel may let fail. All of it applies to this task only, by `fail-nth`.
fn set_up(r: &Rig) -> Result<()> {
    if !Path::new(NTH).exists() {
        return skip("kernel without fault injection");
    }
    if !Path::new(DEBUGFS).join("sleep_time").exists() {
        let _ = sys::mount(Path::new("debugfs"), Path::new(DEBUGFS), "debugfs", 0, "");
    }
    let mut any = false;
    for (name, knobs) in [
        ("failslab", &["ignore-gfp-wait", "cache-filter"][..]),
        (
            "fail_page_alloc",
            &["ignore-gfp-wait", "ignore-gfp-highmem"],
        ),
        ("fail_make_request", &[]),
    ] {
        let dir = Path::new(DEBUGFS).join(name);
        any |= dir.exists();
        for knob in knobs {
            let _ = std::fs::write(dir.join(knob), "N");
        }
        // The messages would fill the log, and take most of the time.
        let _ = std::fs::write(dir.join("verbose"), "0");
        let _ = std::fs::write(dir.join("min-order"), "0");
    }
    if !any {
        return skip("kernel without fault injection");
    }
    let _ = std::fs::write(r.block_dir()?.join("make-it-fail"), "1");
    // The faults are meant for the operation, not for a page of this program that is read
    // meanwhile.
    Ok(sys::lock_memory()?)
}

/// Runs `what` with its `n`th call failing. Whether it came to that.
fn with_nth<T>(n: u32, what: impl FnOnce() -> T) -> Result<(T, bool)> {
    // Opened first: afterwards that would count, and fail.
    let nth = sys::open(Path::new(NTH), libc::O_RDWR).context("fail-nth")?;
    let mut left = [0; 8];
    sys::pwrite(&nth, n.to_string().as_bytes(), 0).context("fail-nth")?;
    let out = what();
    let len = sys::pread(&nth, &mut left, 0);
    sys::pwrite(&nth, b"0", 0).context("fail-nth")?;
    Ok((out, left[..len.context("fail-nth")?].trim_ascii() == b"0"))
}

/// Mounts and prepares as the operation wants it, with what it needs in memory or not. The
/// caches of the whole system are left alone: the programs that follow are in them.
fn prepare(op: &Op, r: &mut Rig, cold: bool) -> Result<Held> {
    r.reset()?;
    r.mount()?;
    if !cold {
        Snap::of(&r.mp)?;
    }
    let mut h = Held::default();
    (op.prep)(r, &mut h).context("preparation")?;
    if r.mount.is_mounted() && !op.is(DIRTY) {
        r.syncfs()?;
    }
    Ok(h)
}

/// The tree, of which an unmounted volume gets mounted.
fn tree(r: &mut Rig) -> Result<Snap> {
    if !r.mount.is_mounted() {
        r.mount()?;
    }
    Ok(Snap::of(&r.mp)?.timeless())
}

/// One failure. Whether there was one.
fn step(op: &Op, r: &mut Rig, cold: bool, n: u32, refs: &[Snap; 2]) -> Result<bool> {
    let mut log = Kmsg::now();
    let mut held = prepare(op, r, cold)?;
    let run = || with_nth(n, || (op.run)(r, &mut held));
    let (res, injected) = watched(Duration::from_secs(30), op.name, run)?;
    let result = (|| {
        match res {
            Ok(()) | Err(Errno(libc::ENOMEM | libc::EIO)) => {}
            Err(e) => bail!("{e}, expected ENOMEM, EIO or success"),
        }
        ensure!(injected || res.is_ok(), "{res:?} without a failure");
        if op.name.starts_with("remount") && r.mount.is_mounted() {
            r.remount(0).context("afterwards")?;
        }
        after(op, r, res, injected, refs, std::mem::take(&mut held))
    })();
    drop(held);
    r.umount()?;
    log.trouble().map_or(result, |t| bail!("{t}"))?;
    Ok(injected)
}

/// The tree is as before or as after the operation, and is so on disk, too.
fn after(op: &Op, r: &mut Rig, res: Res<()>, hit: bool, refs: &[Snap; 2], h: Held) -> Result<()> {
    let now = tree(r)?;
    let loose = (hit && op.is(LOOSE)).then_some(op.target);
    let [before, done] = refs;
    let d = now.differs(done, loose);
    match res {
        Ok(()) => d.map_or(Ok(()), |d| bail!("success, but {d}"))?,
        Err(_) => match now.differs(before, loose) {
            Some(_) if d.is_none() && op.is(LATE | SILENT) => {}
            Some(x) => bail!("failed, but {x}"),
            None => {}
        },
    }
    drop(h);
    // What failed may be told once more.
    if r.syncfs().is_err() {
        r.syncfs().map_err(|e| anyhow!("second syncfs: {e}"))?;
    }
    let mut memory = tree(r)?;
    r.umount()?;
    fsck(&r.image, op.is(TWINS))?;
    let found = tree(r)?;
    if op.name == "fallocate_keep" {
        // Was given back by unmounting.
        memory.free = found.free;
    }
    match found.differs(&memory, loose) {
        Some(d) => bail!("after a mount {d}"),
        None => Ok(()),
    }
}

/// All failures of one operation.
fn sweep(op: &Op, r: &mut Rig, cold: bool) -> Result<()> {
    set_up(r)?;
    let h = prepare(op, r, cold)?;
    let before = tree(r)?;
    drop(h);
    r.umount()?;
    let mut h = prepare(op, r, cold)?;
    (op.run)(r, &mut h).map_err(|e| anyhow!("without failures: {e}"))?;
    let done = tree(r)?;
    drop(h);
    r.umount()?;
    let refs = [before, done];
    let mut bad = Vec::new();
    let mut n = 1;
    loop {
        match step(op, r, cold, n, &refs) {
            Ok(false) => break,
            Ok(true) => {}
            Err(e) => {
                bad.push(format!("failure {n}: {e:#}"));
                r.umount()?;
            }
        }
        n += 1;
        if n > MOST || bad.len() > 9 {
            bad.push(format!("given up at failure {n}"));
            break;
        }
    }
    println!("# {}: {} calls could fail", op.name, n - 1);
    ensure!(bad.is_empty(), "{}", bad.join("\n"));
    if n == 1 && (op.name == "close" || cold && WRITTEN_ALREADY.contains(&op.name)) {
        return skip("makes no call that may fail");
    }
    ensure!(n > 1, "nothing failed: the faults don't get there");
    Ok(())
}

/// The groups: on a `sync` mount with cold caches, and with warm ones on another.
pub fn groups() -> Vec<Group> {
    [("sweep_sync", "sync", true), ("sweep", "", false)]
        .into_iter()
        .map(|(name, opts, cold)| Group {
            name: name.into(),
            cases: OPS
                .iter()
                // A failure of theirs is not theirs to tell.
                .filter(|op| op.name != "umount" && op.name != "sync")
                .map(|op| {
                    Case::new(op.name, move |cfg| {
                        let mut r = Rig::new(&model(16)?, &cfg.fs, opts)?;
                        sweep(op, &mut r, cold)
                    })
                    .limit(1800)
                })
                .collect(),
        })
        .collect()
}
