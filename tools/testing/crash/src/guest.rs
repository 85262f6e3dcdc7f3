// SPDX-License-Identifier: GPL-2.0

//! Runs the workloads, in the guest.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use nix::fcntl::{fallocate, renameat2, FallocateFlags, OFlag, RenameFlags};
use nix::mount::{mount, umount, MsFlags};

use crate::content::{self, Gen, Obj};
use crate::log::{self, Phase, SECTOR};
use crate::names::Names;
use crate::op::{How, Op, Outcome, ROOT};
use crate::plan::{MountMode, Plan, Test};
use crate::sys;
use crate::work;

/// Memory that starts at a page, for direct I/O.
struct Aligned(Vec<u8>);

impl Aligned {
    fn new(bytes: &[u8]) -> Self {
        let mut buf = Self(vec![0; bytes.len() + sys::PAGE as usize]);
        let start = buf.start();
        buf.0[start..start + bytes.len()].copy_from_slice(bytes);
        buf
    }

    fn start(&self) -> usize {
        self.0.as_ptr().align_offset(sys::PAGE as usize)
    }

    fn get(&self, len: usize) -> &[u8] {
        let start = self.start();
        &self.0[start..start + len]
    }
}

/// One workload that runs.
struct Runner {
    root: PathBuf,
    disk: File,
    marks: u64,
    next_mark: u64,
    names: Names,
    open: BTreeMap<Obj, File>,
}

/// Runs the workloads of one guest of the plan in `dir`, some at a time.
pub fn run(dir: &Path, guest: usize, out: &Path) -> Result<()> {
    let mut plan = Plan::read(dir)?;
    plan.tests.retain(|test| test.guest == guest);
    modprobe(&["virtio_blk"]);
    if plan.fs != "rvfat" {
        modprobe(&[&plan.fs]);
    }
    modprobe(&["nls_cp437", "nls_iso8859-1", "nls_ascii"]);
    // Dirty pages are written often and early, so that they come in between.
    for (key, value) in [
        ("dirty_writeback_centisecs", 20),
        ("dirty_expire_centisecs", 40),
    ] {
        fs::write(format!("/proc/sys/vm/{key}"), value.to_string())?;
    }
    let next = AtomicUsize::new(0);
    let failed = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..24 {
            scope.spawn(|| {
                while let Some(test) = plan.tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(e) = one(&plan, test, out) {
                        println!("{}: {e:#}", test.name);
                        failed.fetch_add(1, Ordering::Relaxed);
                    } else {
                        println!("{} ran", test.name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner();
    ensure!(failed == 0, "{failed} workloads could not be run");
    Ok(())
}

fn modprobe(modules: &[&str]) {
    for module in modules {
        // What is built in or missing shows when it is needed.
        let _ = Command::new("modprobe").arg(module).status();
    }
}

/// The device of a disk.
pub fn device(serial: &str) -> Result<PathBuf> {
    for _ in 0..100 {
        for entry in fs::read_dir("/sys/block")? {
            let entry = entry?;
            let found = fs::read_to_string(entry.path().join("serial")).unwrap_or_default();
            if found.trim() == serial {
                return Ok(Path::new("/dev").join(entry.file_name()));
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("no disk with the serial number {serial}")
}

fn one(plan: &Plan, test: &Test, out: &Path) -> Result<()> {
    let device = device(&test.serial)?;
    let root = Path::new("/tmp").join(&test.serial);
    fs::create_dir_all(&root)?;
    check_cache(&device, test)?;
    let (flags, options) = match test.mount {
        MountMode::Async => (MsFlags::empty(), ""),
        MountMode::Sync => (MsFlags::MS_SYNCHRONOUS, ""),
        MountMode::Dirsync => (MsFlags::MS_DIRSYNC, ""),
        MountMode::Flush => (MsFlags::empty(), "flush"),
    };
    let disk = OpenOptions::new()
        .write(true)
        .custom_flags(OFlag::O_DIRECT.bits())
        .open(&device)?;
    mount(
        Some(&device),
        &root,
        Some(plan.fs.as_str()),
        flags,
        Some(options),
    )
    .with_context(|| format!("can't mount {}", device.display()))?;
    let mut runner = Runner {
        root,
        disk,
        marks: test.mark_sector(),
        next_mark: 0,
        names: Names::default(),
        open: BTreeMap::new(),
    };
    let ops = work::script(&test.work, plan.seed)?;
    let mut outcomes = Vec::new();
    for (step, op) in ops.iter().enumerate() {
        runner.mark(step, Phase::Begin)?;
        let outcome = runner.step(step, op);
        runner.mark(step, Phase::End)?;
        if outcome.error.is_none() {
            runner.names.apply(op);
        }
        outcomes.push(outcome);
    }
    fs::write(test.file(out, "json"), serde_json::to_string(&outcomes)?)?;
    Ok(())
}

/// The kernel has to think of the disk what the test does.
fn check_cache(device: &Path, test: &Test) -> Result<()> {
    let name = device.file_name().context("a device without a name")?;
    let path = Path::new("/sys/block").join(name).join("queue/write_cache");
    let found = fs::read_to_string(&path)?;
    let wanted = match test.cache {
        crate::plan::Cache::Volatile => "write back",
        crate::plan::Cache::Through => "write through",
    };
    ensure!(
        found.trim() == wanted,
        "the disk's cache is {}",
        found.trim()
    );
    Ok(())
}

impl Runner {
    /// Puts a mark into the log.
    fn mark(&mut self, step: usize, phase: Phase) -> Result<()> {
        let buf = Aligned::new(&log::mark(step, phase));
        let at = (self.marks + self.next_mark) * SECTOR as u64;
        self.next_mark = (self.next_mark + 1) % 64;
        self.disk
            .write_all_at(buf.get(SECTOR), at)
            .context("can't write a mark")
    }

    fn step(&mut self, step: usize, op: &Op) -> Outcome {
        let mut bytes = 0;
        let result = self.carry_out((step + 1) as Gen, op, &mut bytes);
        Outcome {
            error: result.err().map(|e| format!("{e:#}")),
            bytes,
        }
    }

    fn path(&self, obj: Obj) -> Result<PathBuf> {
        let path = self.names.path(obj);
        let path = path.with_context(|| format!("object {obj} has no name"))?;
        Ok(self.root.join(path))
    }

    fn place(&self, place: &crate::op::Place) -> Result<PathBuf> {
        let path = self.names.place_path(place);
        Ok(self.root.join(path.context("no such directory")?))
    }

    /// Calls `f` with an open file.
    fn with<T>(&mut self, obj: Obj, f: impl FnOnce(&File) -> Result<T>) -> Result<T> {
        if let Some(file) = self.open.get(&obj) {
            return f(file);
        }
        let path = self.path(obj)?;
        let file = match obj == ROOT || path.is_dir() {
            true => File::open(path)?,
            false => OpenOptions::new().read(true).write(true).open(path)?,
        };
        f(&file)
    }

    fn carry_out(&mut self, gen: Gen, op: &Op, bytes: &mut u64) -> Result<()> {
        match op {
            Op::Create { obj, at } => {
                let path = self.place(at)?;
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .create_new(true)
                    .open(path)?;
                self.open.insert(*obj, file);
            }
            Op::Mkdir { at, .. } => fs::create_dir(self.place(at)?)?,
            Op::Unlink { at } => fs::remove_file(self.place(at)?)?,
            Op::Rmdir { at } => fs::remove_dir(self.place(at)?)?,
            Op::Rename { from, to } => fs::rename(self.place(from)?, self.place(to)?)?,
            Op::Exchange { a, b } => {
                let (a, b) = (self.place(a)?, self.place(b)?);
                renameat2(None, &a, None, &b, RenameFlags::RENAME_EXCHANGE)?;
            }
            Op::Close { obj } => {
                self.open.remove(obj);
            }
            Op::Write { obj, off, len, how } => {
                let direct = match how {
                    How::Direct => Some(self.path(*obj)?),
                    _ => None,
                };
                let mut data = vec![0; *len as usize];
                content::fill(*obj, gen, *off as usize, &mut data);
                self.with(*obj, |file| match how {
                    How::Mapped => sys::store(file, *off, &data),
                    How::Buffered => write_all(file, &data, *off, bytes),
                    How::Direct => {
                        let file = OpenOptions::new()
                            .write(true)
                            .custom_flags(OFlag::O_DIRECT.bits())
                            .open(direct.unwrap_or_default())?;
                        let buf = Aligned::new(&data);
                        write_all(&file, buf.get(data.len()), *off, bytes)
                    }
                })?;
            }
            Op::Truncate { obj, size } => self.with(*obj, |file| Ok(file.set_len(*size)?))?,
            Op::Fallocate {
                obj,
                off,
                len,
                keep,
            } => {
                let mut flags = FallocateFlags::empty();
                flags.set(FallocateFlags::FALLOC_FL_KEEP_SIZE, *keep);
                self.with(*obj, |file| {
                    let (off, len) = (i64::try_from(*off)?, i64::try_from(*len)?);
                    Ok(fallocate(file.as_raw_fd(), flags, off, len)?)
                })?;
            }
            Op::Fsync { obj } => self.with(*obj, |file| Ok(file.sync_all()?))?,
            Op::Sync => {
                let root = File::open(&self.root)?;
                nix::unistd::syncfs(root.as_raw_fd())?;
            }
            Op::Pause { ms } => std::thread::sleep(Duration::from_millis(*ms)),
            Op::Unmount => {
                self.open.clear();
                umount(&self.root)?;
            }
        }
        Ok(())
    }
}

/// Writes all, or as much as there is room for.
fn write_all(file: &File, mut data: &[u8], mut off: u64, bytes: &mut u64) -> Result<()> {
    while !data.is_empty() {
        match file.write_at(data, off) {
            Ok(0) => bail!("nothing was written"),
            Ok(n) => {
                data = &data[n..];
                off += n as u64;
                *bytes += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(())
}
