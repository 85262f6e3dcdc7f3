// SPDX-License-Identifier: GPL-2.0

//! One operation meets errors in each class of blocks, in both directions.
//!
//! The device counts the requests to the blocks that fail. From that follows what the
//! operation has to say: it met no error, so it must succeed and do all it does without
//! faults; or it met one, and then must not pretend that it has not.

use super::ops::{Held, Op, ALWAYS, DIRTY, LATE, LOOSE, NO_DATA, OPS, SILENT, TWINS};
use super::rig::{geom, Class, Io, Rig, CLASSES};
use super::snap::{fsck, Leftovers, Snap};
use super::watch::watched;
use crate::kmsg::Kmsg;
use crate::runner::{Case, Config, Group};
use crate::sys::{self, Errno, Res};
use crate::vol::{Image, Vol, WORK};
use anyhow::{anyhow, bail, ensure, Context, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No single call may take longer.
const LIMIT: Duration = Duration::from_secs(10);

/// How a volume is mounted.
const MODES: &[(&str, &str)] = &[("async", ""), ("sync", "sync"), ("flush", "flush")];

/// The classes that fail on a FAT of `bits`: all on FAT16; elsewhere, or for a short run,
/// those that may make a difference.
fn classes(bits: u32, quick: bool) -> &'static [Class] {
    match (bits, quick) {
        (16, false) => CLASSES,
        (16, true) => &[
            Class::Fat1,
            Class::Fat2,
            Class::DirD,
            Class::Data,
            Class::Flush,
        ],
        (_, false) => &[
            Class::Boot,
            Class::Fsinfo,
            Class::Fat1,
            Class::Fat2,
            Class::Root,
            Class::DirD,
            Class::Data,
        ],
        (_, true) => &[Class::Fsinfo, Class::Fats, Class::DirD],
    }
}

/// Makes the tree that the operations work on, once for each shape; the stock driver does.
pub fn model(bits: u32) -> Result<PathBuf> {
    let path = Path::new(WORK).join(format!("faults{bits}-tree.tmpl"));
    if path.exists() {
        return Ok(path);
    }
    let mut v = Vol::mount_image(Image::make(&geom(bits), "tree")?, "vfat", "", "tree")?;
    for dir in ["d", "e", "d/empty", "d/sub"] {
        sys::mkdir(&v.p(dir))?;
    }
    for (name, len) in [
        ("d/nil", 0),
        ("d/file", 20_000),
        ("d/over", 3000),
        ("d/sub/x", 700),
        ("e/dst", 2000),
        ("root", 100),
    ] {
        std::fs::write(v.p(name), crate::expect::pattern(len as u32, 0, len))?;
    }
    let old = Some((1_100_000_000, 0));
    for name in ["d/nil", "d/file", "d/over", "d/sub/x", "e/dst", "root"] {
        sys::utimens(&v.p(name), old, old)?;
    }
    v.umount()?;
    std::fs::copy(&v.image.path, &path)?;
    Ok(path)
}

/// Clean pages, inodes and names leave memory.
pub fn drop_caches() -> Result<()> {
    Ok(std::fs::write("/proc/sys/vm/drop_caches", "3")?)
}

/// What an operation did without faults, and the I/O of each class.
struct Reference {
    before: Snap,
    after: Snap,
    touched: Vec<(Class, Io)>,
}

/// Mounts and prepares; what an operation finds.
fn prepare(op: &Op, r: &mut Rig) -> Result<Held> {
    r.reset()?;
    r.mount()?;
    let mut h = Held::default();
    (op.prep)(r, &mut h).context("preparation")?;
    if r.mount.is_mounted() && !op.is(DIRTY) {
        r.syncfs()?;
    }
    drop_caches()?;
    Ok(h)
}

/// Without faults the operation works, and what it did is there after a mount.
fn reference(op: &Op, r: &mut Rig, quick: bool) -> Result<Reference> {
    r.cache(false)?;
    let h = prepare(op, r)?;
    if !r.mount.is_mounted() {
        r.mount()?;
    }
    let before = Snap::of(&r.mp)?;
    drop(h);
    r.umount()?;

    let mut h = prepare(op, r)?;
    r.count(CLASSES)?;
    (op.run)(r, &mut h).map_err(|e| anyhow!("without faults: {e}"))?;
    let mut touched = Vec::new();
    for &class in CLASSES {
        let (reads, writes) = r.counted(class)?;
        let io = [(Io::Read, reads), (Io::Write, writes)];
        touched.extend(io.iter().filter(|x| x.1 > 0).map(|x| (class, x.0)));
    }
    if durable(op, r) {
        for &class in op.sync {
            let wrote = touched.contains(&(class, Io::Write));
            ensure!(wrote, "without faults: nothing of {class:?} was written");
        }
        touched.push((Class::Flush, Io::Write));
    }
    let chosen = classes(r.layout.bits(), quick);
    touched.retain(|(class, _)| chosen.contains(class));
    if !r.mount.is_mounted() {
        r.mount()?;
    }
    let after = Snap::of(&r.mp)?;
    drop(h);
    r.umount()?;
    let mut left = fsck(&r.image, false).context("without faults")?;
    // Where there was no count, there may still be none.
    left.count &= op.name != "statfs";
    ensure!(
        left == Leftovers::default(),
        "without faults: fsck finds {left:?}"
    );
    Ok(Reference {
        before,
        after,
        touched,
    })
}

/// What the operation writes has to be on disk when it returns.
fn durable(op: &Op, r: &Rig) -> bool {
    let sync = r.opts.contains("sync");
    match (op.is(DIRTY), op.is(ALWAYS)) {
        // What is prepared on a synchronous mount has been written before.
        (true, always) => always && !sync,
        (false, _) => sync && !op.sync.is_empty(),
    }
}

/// What has to be true of the operation's result, given the requests that failed.
fn judge(op: &Op, class: Class, io: Io, res: Res<()>, hit: u64) -> Result<()> {
    let silent = op.is(SILENT) || op.is(NO_DATA) && class == Class::Data;
    match res {
        Err(Errno(libc::EIO)) if hit == 0 && class != Class::Flush => {
            bail!("EIO, though no I/O failed")
        }
        Err(Errno(libc::EIO)) => Ok(()),
        Err(e) => bail!("{e}, {hit} requests failed; expected EIO or success"),
        Ok(()) if class == Class::Flush => bail!("success, though the cache wasn't flushed"),
        Ok(()) if io == Io::Write && hit > 0 && !silent => {
            bail!("success, though {hit} writes failed")
        }
        Ok(()) if io == Io::Read && hit > 0 && op.needs.contains(&class) => {
            bail!("success, though {hit} reads failed")
        }
        Ok(()) => Ok(()),
    }
}

/// The tree after the operation: as it was, or as it ought to be.
fn compare(op: &Op, refs: &Reference, res: Res<()>, lost: bool, now: Snap) -> Result<()> {
    let loose = (op.is(LOOSE) && (res.is_err() || lost)).then_some(op.target);
    let done = now.differs(&refs.after, loose);
    if res.is_ok() {
        return done.map_or(Ok(()), |d| bail!("success, but {d}"));
    }
    let before = refs.before.clone().timeless();
    match now.timeless().differs(&before, loose) {
        Some(_) if op.is(LATE) && done.is_none() => Ok(()),
        Some(d) if done.is_none() => bail!("failed, and yet was done: {d}"),
        Some(d) => bail!("failed, but {d}"),
        None => Ok(()),
    }
}

/// After the faults the volume is what it was: synchronized at the second try, usable, and
/// still there after a mount.
fn recover(op: &Op, r: &mut Rig, held: Held, lost: bool) -> Result<Leftovers> {
    // More changes, before what couldn't be written gets its next chance.
    std::fs::write(r.p("e/early"), [0x76; 3000]).context("a new file after the faults")?;
    if let Err(e) = r.syncfs() {
        ensure!(e.0 == libc::EIO, "syncfs after the faults: {e}");
        r.syncfs()
            .map_err(|e| anyhow!("second syncfs after the faults: {e}"))?;
    }
    probe(r).context("afterwards")?;
    // Space beyond the end of a file is given back when its inode leaves memory.
    drop(held);
    drop_caches()?;
    r.syncfs().map_err(|e| anyhow!("third syncfs: {e}"))?;
    let memory = Snap::of(&r.mp)?;
    let early = on_disk(op, r, &memory, lost).context("on the device after syncfs")?;
    r.umount()?;
    let left = fsck(&r.image, op.is(TWINS))?;
    r.mount()?;
    let loose = lost.then_some(op.target);
    if let Some(d) = Snap::of(&r.mp)?
        .timeless()
        .differs(&memory.timeless(), loose)
    {
        bail!("after a mount {d}");
    }
    r.umount()?;
    Ok(left.or(Leftovers {
        dirty: false,
        ..early
    }))
}

/// What a power cut would leave: a copy of the device, read by the stock driver.
fn on_disk(op: &Op, r: &Rig, memory: &Snap, lost: bool) -> Result<Leftovers> {
    let copy = Image::copy_of(&r.image, "copy")?;
    let left = fsck(&copy.path, op.is(TWINS))?;
    let mut v = Vol::mount_image(copy, "vfat", "ro", "copy")?;
    let seen = Snap::names(&v.mp)?;
    v.umount()?;
    let (mut seen, mut memory) = (seen.timeless(), memory.clone().timeless());
    memory.free = 0;
    for e in seen.tree.values_mut().chain(memory.tree.values_mut()) {
        e.nlink = 0;
    }
    let loose = lost.then_some(op.target);
    seen.differs(&memory, loose)
        .map_or(Ok(left), |d| bail!("{d}"))
}

/// The volume can be used.
fn probe(r: &Rig) -> Result<()> {
    let line = sys::mounts().into_iter().rfind(|m| m.dir == r.mp);
    let line = line.context("not mounted")?;
    ensure!(line.opts.starts_with("rw"), "the mount is {}", line.opts);
    let p = r.p("probe");
    let f = sys::create(&p).context("creating a file")?;
    sys::pwrite_all(&f, &[0x77; 3000], 0).context("writing a file")?;
    sys::fsync(&f).context("fsync of a new file")?;
    ensure!(std::fs::read(&p)? == [0x77; 3000], "content of a new file");
    drop(f);
    sys::unlink(&p).context("removing a file")?;
    Ok(())
}

/// One fault.
fn cell(op: &Op, r: &mut Rig, refs: &Reference, class: Class, io: Io) -> Result<Leftovers> {
    let mut log = Kmsg::now();
    r.cache(class == Class::Flush)?;
    let mut held = prepare(op, r)?;
    r.count(&[class])?;
    r.fail(&r.layout.ranges(class), Some(io))?;
    let res = watched(LIMIT, op.name, || (op.run)(r, &mut held));
    let (reads, writes) = r.counted(class)?;
    let hit = if io == Io::Read { reads } else { writes };
    let healed = r.heal();
    let result = (|| {
        healed?;
        judge(op, class, io, res, hit)?;
        // Only data can be lost: what else couldn't be written is written again. Unmounting
        // can't wait for that.
        let failed = hit > 0 || class == Class::Flush;
        let lost = failed && op.is(LOOSE) && (io == Io::Write || op.name == "umount");
        if !r.mount.is_mounted() {
            r.mount().context("after the faults")?;
        } else if op.name.starts_with("remount") {
            r.remount(0).context("after the faults")?;
        }
        compare(op, refs, res, lost, Snap::of(&r.mp)?)?;
        recover(op, r, std::mem::take(&mut held), lost)
    })();
    drop(held);
    r.umount()?;
    match log.trouble() {
        Some(t) => bail!("{t}"),
        None => result,
    }
}

/// All faults of one operation.
fn all_cells(op: &Op, r: &mut Rig, quick: bool) -> Result<()> {
    let refs = reference(op, r, quick)?;
    let mut bad = Vec::new();
    for &(class, io) in &refs.touched {
        if let Err(e) = cell(op, r, &refs, class, io) {
            bad.push(format!("{io:?} errors of {class:?}: {e:#}"));
        }
    }
    ensure!(bad.is_empty(), "{}", bad.join("\n"));
    Ok(())
}

/// The groups: each operation on each FAT type and in each mode.
pub fn groups(cfg: &Config) -> Vec<Group> {
    let mut out = Vec::new();
    for bits in [12, 16, 32] {
        for &(mode, opts) in MODES {
            // A short run has FAT16 with and without `sync`, and FAT32.
            if cfg.quick && (bits, mode) != (32, "async") && (bits != 16 || mode == "flush") {
                continue;
            }
            let cases = OPS.iter().map(|op| {
                Case::new(op.name, move |cfg| {
                    let mut r = Rig::new(&model(bits)?, &cfg.fs, opts)?;
                    all_cells(op, &mut r, cfg.quick)
                })
                .limit(180)
            });
            out.push(Group {
                name: format!("fat{bits}-{mode}"),
                cases: cases.collect(),
            });
        }
    }
    out
}
