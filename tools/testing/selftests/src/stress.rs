// SPDX-License-Identifier: GPL-2.0

//! Suite `stress`: files are made, moved and removed while the volume is synced all the time,
//! frozen, made read-only, or unmounted below their users, and with less memory than data. Each
//! file's content tells whether it is whole.

use crate::expect::{bytes, pattern};
use crate::geom;
use crate::parallel::content;
use crate::rng::Rng;
use crate::runner::{skip, Case, Config, Group, Suite};
use crate::same;
use crate::sys::{self, Errno, Map, Res};
use crate::vol::{fsck, Image, Mount, Vol};
use anyhow::{bail, ensure, Context, Result};
use std::collections::BTreeMap;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

const TASKS: u64 = 4;

/// Files of a task.
const FILES: usize = 24;

/// Tries until the mount is writable.
fn retry<T>(mut call: impl FnMut() -> Res<T>) -> Res<T> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        match call() {
            Err(Errno(libc::EROFS)) if Instant::now() < end => pause(2),
            result => return result,
        }
    }
}

fn pause(ms: u64) {
    std::thread::sleep(Duration::from_millis(ms));
}

/// A user of the volume, who knows the files in a directory of its own.
struct Task {
    dir: PathBuf,
    rng: Rng,
    next: u32,
    files: BTreeMap<u32, (u32, usize)>,
}

impl Task {
    fn new(root: &Path, id: u64) -> Result<Task> {
        let dir = root.join(format!("task {id}"));
        sys::mkdir(&dir)?;
        Ok(Task {
            dir,
            rng: Rng::new(id + 31),
            next: 0,
            files: BTreeMap::new(),
        })
    }

    fn path(&self, n: u32) -> PathBuf {
        self.dir.join(format!("file number {n}"))
    }

    fn any(&mut self) -> Option<u32> {
        let at = self.rng.below(self.files.len().max(1) as u64) as usize;
        self.files.keys().nth(at).copied()
    }

    fn make(&mut self) -> Result<()> {
        let (n, new) = (
            self.next,
            (self.rng.next() as u32, self.rng.below(50_000) as usize),
        );
        let path = self.path(n);
        // A mount that is made read-only between the two steps of `open` fails it with the file made.
        let mut new_only = libc::O_EXCL;
        let f = retry(|| {
            let flags = libc::O_RDWR | libc::O_CREAT | std::mem::take(&mut new_only);
            sys::open(&path, flags)
        })?;
        sys::pwrite_all(&f, &content(new.0, new.1), 0)?;
        if self.rng.one_in(4) {
            sys::fsync(&f)?;
        }
        self.next += 1;
        self.files.insert(n, new);
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        let Some(n) = self.any() else {
            return self.make();
        };
        match self.rng.below(6) {
            0..=2 if self.files.len() < FILES => self.make()?,
            3 => {
                let to = self.next;
                retry(|| sys::rename(&self.path(n), &self.path(to), 0)).context("rename")?;
                self.next += 1;
                let what = self.files.remove(&n).context("known")?;
                self.files.insert(to, what);
            }
            4 => self.check(n)?,
            _ => {
                retry(|| sys::unlink(&self.path(n))).context("unlink")?;
                self.files.remove(&n);
            }
        }
        Ok(())
    }

    fn check(&self, n: u32) -> Result<()> {
        let what = self.files[&n];
        let got = std::fs::read(self.path(n)).with_context(|| format!("reading file {n}"))?;
        bytes(&got, &content(what.0, what.1), &format!("file {n}"))
    }

    fn check_all(&self) -> Result<()> {
        same!(
            sys::names(&self.dir)?.len(),
            self.files.len(),
            "files in {:?}",
            self.dir
        );
        self.files.keys().try_for_each(|&n| self.check(n))
    }
}

/// Lets tasks work below `root` until `during` returns; they are idle now and then for `idle` ms.
fn work(root: &Path, idle: u64, during: impl FnOnce() -> Result<()>) -> Result<Vec<Task>> {
    let stop = AtomicBool::new(false);
    let tasks = (0..TASKS)
        .map(|id| Task::new(root, id))
        .collect::<Result<Vec<_>>>()?;
    std::thread::scope(|s| {
        let stop = &stop;
        let run = move |mut task: Task| -> Result<Task> {
            while !stop.load(Relaxed) {
                task.step()?;
                if idle > 0 {
                    pause(task.rng.below(2 * idle));
                }
            }
            ensure!(task.next > 3, "a task made {} files only", task.next);
            Ok(task)
        };
        let all: Vec<_> = tasks
            .into_iter()
            .map(|task| s.spawn(move || run(task)))
            .collect();
        let result = during();
        stop.store(true, Relaxed);
        let join = |t: std::thread::ScopedJoinHandle<'_, Result<Task>>| {
            t.join().unwrap_or_else(|_| bail!("a task panicked"))
        };
        let tasks = all.into_iter().map(join).collect::<Result<Vec<_>>>();
        result.and(tasks)
    })
}

/// The tasks' files are as they left them, also after a remount.
fn finish(mut v: Vol, tasks: &[Task]) -> Result<()> {
    tasks.iter().try_for_each(Task::check_all)?;
    v.remount()?;
    tasks
        .iter()
        .try_for_each(Task::check_all)
        .context("after a remount")?;
    v.finish()
}

fn end(cfg: &Config) -> Instant {
    Instant::now() + Duration::from_secs((cfg.seconds / 5).max(3))
}

fn fresh(cfg: &Config) -> Result<Vol> {
    Vol::fresh(&geom::fat(16), &cfg.fs, "", "t")
}

/// Three callers that do nothing but sync.
fn sync_storm(cfg: &Config) -> Result<()> {
    let v = fresh(cfg)?;
    let (root, end) = (v.mp.clone(), end(cfg));
    let tasks = work(&root, 0, || {
        let d = sys::open(&root, libc::O_RDONLY | libc::O_DIRECTORY)?;
        let until_end = |call: &dyn Fn() -> Res<()>| -> Res<()> {
            while Instant::now() < end {
                call()?;
            }
            Ok(())
        };
        std::thread::scope(|s| {
            let sync = || {
                sys::sync();
                Ok(())
            };
            let all = s.spawn(move || until_end(&sync));
            let dir = s.spawn(|| until_end(&|| sys::fsync(&d)));
            let this = until_end(&|| sys::syncfs(&d));
            for t in [all, dir] {
                t.join().expect("no panic")?;
            }
            Ok(this?)
        })
    })?;
    finish(v, &tasks)
}

/// The image is what it would be after unmounting.
fn clean(image: &Path) -> Result<()> {
    let copy = Image::copy_of(image, "copy")?;
    let d = copy.disk()?;
    ensure!(!d.dirty()?, "the volume is marked dirty");
    ensure!(d.copies_agree()?, "the FAT copies differ");
    fsck(&copy.path)
}

/// Remounted read-only whenever nobody has a file open for writing, and writable again.
fn remount_read_only(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg)?;
    let (root, end) = (v.mp.clone(), end(cfg));
    let tasks = work(&root, 20, || {
        let (mut done, mut busy) = (0, 0);
        while Instant::now() < end || (done < 3 && busy < 20_000) {
            match v.reconfigure(libc::MS_RDONLY) {
                Ok(()) => {
                    done += 1;
                    clean(&v.image.path).with_context(|| format!("read-only, time {done}"))?;
                    v.reconfigure(0)?;
                }
                Err(Errno(libc::EBUSY)) => busy += 1,
                Err(e) => bail!("remount: {e}"),
            }
            pause(1);
        }
        ensure!(done >= 3, "only {done} of {} times read-only", done + busy);
        Ok(())
    })?;
    finish(v, &tasks)
}

/// Frozen, the image does not change, and is a clean volume. That a file loses its last user
/// meanwhile, and is freed, comes to the disk later.
fn freeze(cfg: &Config) -> Result<()> {
    let v = fresh(cfg)?;
    let (root, end) = (v.mp.clone(), end(cfg));
    let d = sys::open(&root, libc::O_RDONLY | libc::O_DIRECTORY)?;
    match sys::freeze(&d) {
        Err(Errno(libc::EOPNOTSUPP)) => return skip("can't be frozen"),
        result => result?,
    }
    sys::thaw(&d)?;
    let read = || std::fs::read(&v.image.path);
    let tasks = work(&root, 0, || {
        let mut round = 0;
        while Instant::now() < end || round < 3 {
            pause(100);
            // A file without a name, whose clusters no volume can tell from lost ones.
            let gone = if round == 0 {
                let gone = sys::create(&root.join("gone"))?;
                sys::pwrite_all(&gone, &[1; 100_000], 0)?;
                sys::unlink(&root.join("gone"))?;
                Some(gone)
            } else {
                None
            };
            sys::freeze(&d)?;
            let checked = (|| {
                let before = read()?;
                if gone.is_none() {
                    clean(&v.image.path).with_context(|| format!("frozen, round {round}"))?;
                }
                drop(gone);
                // Longer than changes usually wait.
                pause(if round == 0 { 7000 } else { 200 });
                ensure!(before == read()?, "the image changed, round {round}");
                Ok(())
            })();
            sys::thaw(&d)?;
            checked?;
            round += 1;
        }
        Ok(())
    })?;
    drop(d);
    finish(v, &tasks)
}

/// Unmounted while it is in use: its users see nothing of that, and afterwards it is clean.
fn lazy_umount(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg)?;
    let end = end(cfg);
    let d = sys::open(&v.mp, libc::O_RDONLY | libc::O_DIRECTORY)?;
    let root = PathBuf::from(format!("/proc/self/fd/{}", d.as_raw_fd()));
    let mut tasks = work(&root, 0, || {
        pause(300);
        v.detach()?;
        while Instant::now() < end {
            pause(50);
        }
        Ok(())
    })?;
    tasks.iter().try_for_each(Task::check_all)?;
    drop(d);
    let end = Instant::now() + Duration::from_secs(30);
    while v.disk()?.dirty()? {
        ensure!(Instant::now() < end, "still not clean");
        pause(50);
    }
    clean(&v.image.path)?;
    v.mount()?;
    for (id, task) in tasks.iter_mut().enumerate() {
        task.dir = v.p(format!("task {id}"));
    }
    finish(v, &tasks)
}

/// One file of the memory test: written, in part through a mapping, and small ones beside it.
fn write_large(root: &Path, id: u32, len: usize) -> Result<()> {
    const PART: usize = 1 << 20;
    let f = sys::create(&root.join(format!("large {id}")))?;
    for at in (0..len).step_by(PART) {
        let data = pattern(id, at as u64, PART);
        if at / PART % 4 == 3 {
            sys::ftruncate(&f, (at + PART) as i64)?;
            let map = Map::shared(&f, at + PART, true)?;
            map.write(at, &data);
        } else {
            sys::pwrite_all(&f, &data, at as i64)?;
        }
        let small = sys::create(&root.join(format!("small {id} {at}")))?;
        sys::pwrite_all(&small, &content(id, at % 9000), 0)?;
    }
    Ok(sys::fsync(&f)?)
}

fn check_large(root: &Path, id: u32, len: usize) -> Result<()> {
    const PART: usize = 1 << 20;
    let f = sys::open(&root.join(format!("large {id}")), libc::O_RDONLY)?;
    for at in (0..len).step_by(PART) {
        let got = sys::pread_vec(&f, PART, at as i64)?;
        bytes(
            &got,
            &pattern(id, at as u64, PART),
            &format!("large {id}, byte {at}"),
        )?;
        let small = std::fs::read(root.join(format!("small {id} {at}")))?;
        bytes(&small, &content(id, at % 9000), &format!("small {id} {at}"))?;
    }
    Ok(())
}

/// Much more data than memory, on the guest's first disk.
fn memory(cfg: &Config) -> Result<()> {
    let Ok(dev) = std::env::var("RVFAT_DEV") else {
        return skip("the guest has no disk");
    };
    let (dev, mut mount) = (PathBuf::from(dev), Mount::new("memory"));
    let info = std::fs::read_to_string("/proc/meminfo")?;
    let total = info
        .lines()
        .next()
        .and_then(|l| l.split_whitespace().nth(1));
    let kib: usize = total.context("MemTotal")?.parse()?;
    let disk = sys::lseek(&sys::open(&dev, libc::O_RDONLY)?, 0, libc::SEEK_END)? as usize;
    // All tasks together: three times the memory.
    let len = ((kib * 1024 * 3).min(disk / 2) / TASKS as usize) & !((1 << 20) - 1);
    let made = Command::new("mkfs.fat")
        .args(["-F", "32", "-s", "8"])
        .arg(&dev)
        .output()?;
    ensure!(
        made.status.success(),
        "mkfs.fat: {}",
        String::from_utf8_lossy(&made.stderr)
    );
    mount.mount(&dev, &cfg.fs, 0, "")?;
    let mp = mount.dir.clone();
    let each = |what: fn(&Path, u32, usize) -> Result<()>| -> Result<()> {
        std::thread::scope(|s| {
            let task = |id| {
                s.spawn({
                    let mp = &mp;
                    move || what(mp, id, len)
                })
            };
            let all: Vec<_> = (0..TASKS as u32).map(task).collect();
            let join = |t: std::thread::ScopedJoinHandle<'_, Result<()>>| {
                t.join().unwrap_or_else(|_| bail!("a task panicked"))
            };
            all.into_iter().map(join).fold(Ok(()), Result::and)
        })
    };
    let result = each(write_large).and_then(|()| each(check_large));
    mount.umount().context("umount")?;
    result?;
    fsck(&dev)
}

/// The suite.
pub fn suite() -> Suite {
    let load = vec![
        Case::new("sync_storm", sync_storm).limit(400),
        Case::new("remount_read_only", remount_read_only).limit(400),
        Case::new("freeze", freeze).limit(400),
        Case::new("lazy_umount", lazy_umount).limit(400),
    ];
    let groups = vec![
        Group {
            name: "load".into(),
            cases: load,
        },
        Group {
            name: "pressure".into(),
            cases: vec![Case::new("memory", memory).limit(600)],
        },
    ];
    Suite {
        name: "stress",
        groups,
    }
}
