// SPDX-License-Identifier: GPL-2.0

//! Errors that come once, in one block of many, and what is told of a write that got lost.

use super::engine::{drop_caches, model};
use super::rig::{Class, Io, Layout, Ranges, Rig};
use super::snap::{fsck, Snap};
use super::watch::watched;
use crate::expect::{bytes, errno, pattern};
use crate::runner::{skip, Case, Config, Group};
use crate::sys::{self, Errno, Res};
use crate::vol::Mount;
use anyhow::{anyhow, bail, ensure, Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const CONFIG: &str = "/sys/kernel/config/nullb/rvfat-once";
const LIMIT: Duration = Duration::from_secs(10);

/// A disk in memory, whose bad sectors are good after the first request that met them.
struct NullDisk {
    dev: PathBuf,
    mount: Mount,
}

fn set(name: &str, value: &str) -> Result<()> {
    std::fs::write(Path::new(CONFIG).join(name), value)
        .with_context(|| format!("null_blk: {name} = {value}"))
}

impl NullDisk {
    fn new(image: &Path) -> Result<NullDisk> {
        let probe = |args: &[&str]| Command::new("modprobe").args(args).output();
        let _ = probe(&["null_blk", "nr_devices=0"]);
        let root = Path::new("/sys/kernel/config");
        if !root.join("nullb").exists() {
            let _ = sys::mount(Path::new("configfs"), root, "configfs", 0, "");
        }
        let features = std::fs::read_to_string(root.join("nullb/features")).unwrap_or_default();
        if !features.contains("badblocks_once") {
            return skip("there's no null_blk whose bad blocks heal");
        }
        let _ = std::fs::remove_dir(CONFIG);
        std::fs::create_dir(CONFIG)?;
        for (name, value) in [
            ("size", "8"),
            ("blocksize", "512"),
            ("memory_backed", "1"),
            ("badblocks_once", "1"),
            ("power", "1"),
        ] {
            set(name, value)?;
        }
        let index = std::fs::read_to_string(Path::new(CONFIG).join("index"))?;
        let end = Instant::now() + Duration::from_secs(5);
        let names = ["rvfat-once".into(), format!("nullb{}", index.trim())];
        let dev = loop {
            let mut all = names.iter().map(|n| Path::new("/dev").join(n));
            match all.find(|d| d.exists()) {
                Some(dev) => break dev,
                None if Instant::now() > end => bail!("null_blk made no disk"),
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        let f = sys::open(&dev, libc::O_RDWR)?;
        sys::pwrite_all(&f, &std::fs::read(image)?, 0)?;
        sys::fsync(&f)?;
        let mount = Mount::new("once");
        Ok(NullDisk { dev, mount })
    }

    fn mount(&mut self, fs: &str, opts: &str) -> Result<()> {
        let mounted = self.mount.mount(&self.dev, fs, 0, opts);
        mounted.map_err(|e| anyhow!("mount: {e}"))
    }

    fn umount(&mut self) -> Result<()> {
        self.mount.umount().map_err(|e| anyhow!("umount: {e}"))
    }

    /// The next request to this sector fails.
    fn spoil(&self, sector: u64) -> Result<()> {
        set("badblocks", &format!("+{sector}-{sector}"))
    }

    /// Whether a request has met the bad sector.
    fn met(&self) -> Result<bool> {
        let left = std::fs::read_to_string(Path::new(CONFIG).join("badblocks"))?;
        Ok(left.trim().is_empty())
    }
}

impl Drop for NullDisk {
    fn drop(&mut self) {
        let _ = self.umount();
        let _ = set("power", "0");
        let _ = std::fs::remove_dir(CONFIG);
    }
}

/// Bytes that need more than one block of the FAT.
const SIZE: usize = 600_000;

/// The `n`th sector of a class.
fn nth(ranges: &Ranges, mut n: u64) -> Result<u64> {
    for &(start, len) in ranges {
        if n < len {
            return Ok(start + n);
        }
        n -= len;
    }
    bail!("no sector {n}")
}

/// The bad sector is met by a write; the operation says so, and works when it is repeated.
fn once(cfg: &Config, opts: &str, class: Class, n: u64) -> Result<()> {
    let image = model(16)?;
    let layout = Layout::of(&image)?;
    let mut disk = NullDisk::new(&image)?;
    disk.mount(&cfg.fs, opts)?;
    let f = sys::open(&disk.mount.dir.join("d/nil"), libc::O_RDWR)?;
    // All that will be written is in memory already, so that no read meets the error.
    std::fs::write(disk.mount.dir.join("d/first"), vec![1; SIZE])?;
    Snap::of(&disk.mount.dir)?;
    sys::syncfs(&f)?;
    let data = pattern(9, 0, SIZE);
    let store = |f: &std::fs::File| -> Res<()> {
        sys::pwrite_all(f, &data, 0)?;
        sys::fsync(f)
    };
    disk.spoil(nth(&layout.ranges(class), n)?)?;
    let r = watched(LIMIT, "write", || store(&f));
    ensure!(disk.met()?, "nobody wrote to the bad sector");
    errno(r, libc::EIO, "the write that met it")?;
    watched(LIMIT, "write", || store(&f)).map_err(|e| anyhow!("once more: {e}"))?;
    let _ = sys::syncfs(&f);
    sys::syncfs(&f).context("syncfs")?;
    drop(f);
    let memory = Snap::of(&disk.mount.dir)?.timeless();
    disk.umount()?;
    let left = fsck(&disk.dev, false)?;
    ensure!(
        !left.copies,
        "the FAT copies differ after a successful syncfs"
    );
    disk.mount(&cfg.fs, "")?;
    bytes(
        &std::fs::read(disk.mount.dir.join("d/nil"))?,
        &data,
        "content",
    )?;
    if let Some(d) = Snap::of(&disk.mount.dir)?.timeless().differs(&memory, None) {
        bail!("after a mount {d}");
    }
    disk.umount()
}

/// Writeback that nobody waited for failed. fsync(2) and syncfs(2) tell it once to each who
/// had the file open; what is written again arrives.
fn lost_write(cfg: &Config) -> Result<()> {
    let mut r = Rig::new(&model(16)?, &cfg.fs, "")?;
    r.mount()?;
    let open = |r: &Rig| sys::open(&r.p("d/file"), libc::O_RDWR);
    let (a, b, other) = (open(&r)?, open(&r)?, sys::open(&r.p("root"), libc::O_RDWR)?);
    sys::pwrite_all(&a, &[0x61; 9000], 3000)?;
    r.fail(&r.layout.ranges(Class::Data), Some(Io::Write))?;
    watched(LIMIT, "sync", sys::sync);
    r.heal()?;
    for (f, who) in [(&a, "the writer"), (&b, "another")] {
        errno(sys::fsync(f), libc::EIO, &format!("first fsync of {who}"))?;
        sys::fsync(f).with_context(|| format!("second fsync of {who}"))?;
    }
    sys::fsync(&other).context("fsync of another file")?;
    errno(sys::syncfs(&other), libc::EIO, "first syncfs")?;
    sys::syncfs(&other).context("second syncfs")?;
    sys::pwrite_all(&a, &[0x62; 9000], 3000)?;
    sys::fsync(&a).context("fsync of what was written again")?;
    drop((a, b, other));
    r.umount()?;
    drop_caches()?;
    r.mount()?;
    let got = std::fs::read(r.p("d/file"))?;
    bytes(&got[3000..12_000], &[0x62; 9000], "what was written again")?;
    r.umount()?;
    fsck(&r.image, false).map(drop)
}

/// A part of the FAT or the directory fails while all is written in the background, and
/// the tasks that follow allocate and sync: no change may get lost, and nothing is told of
/// errors that were made good.
fn background(cfg: &Config, class: Class) -> Result<()> {
    if cfg.fs == "vfat" {
        return skip("forgets what it couldn't write");
    }
    let mut r = Rig::new(&model(16)?, &cfg.fs, "")?;
    r.mount()?;
    let content = |i: u32| pattern(i, 0, 5000 + 1700 * i as usize);
    for i in 0..6 {
        std::fs::write(r.p(&format!("d/file{i}")), content(i))?;
        if i == 2 {
            r.fail(&r.layout.ranges(class), Some(Io::Write))?;
            watched(LIMIT, "sync", sys::sync);
            watched(LIMIT, "sync", sys::sync);
            r.heal()?;
            drop_caches()?;
        }
    }
    let f = sys::open(&r.p("d/file0"), libc::O_RDWR)?;
    match sys::fsync(&f) {
        Ok(()) | Err(Errno(libc::EIO)) => {}
        Err(e) => bail!("fsync: {e}"),
    }
    drop(f);
    let _ = r.syncfs();
    r.syncfs().context("second syncfs")?;
    let check = |r: &Rig, when: &str| -> Result<()> {
        for i in 0..6 {
            let got = std::fs::read(r.p(&format!("d/file{i}")));
            bytes(&got.context("reading")?, &content(i), when)?;
        }
        Ok(())
    };
    check(&r, "at once")?;
    drop_caches()?;
    check(&r, "without caches")?;
    r.umount()?;
    r.mount()?;
    check(&r, "after a mount")?;
    r.umount()?;
    fsck(&r.image, false).map(drop)
}

/// The group.
pub fn group() -> Group {
    let mut cases = vec![Case::new("lost_write", lost_write)];
    for (name, class) in [
        ("fat", Class::Fats),
        ("mirror", Class::Fat2),
        ("root", Class::Root),
        ("directory", Class::DirD),
    ] {
        let name = format!("background_{name}");
        cases.push(Case::new(name, move |cfg| background(cfg, class)));
    }
    for (mode, opts) in [("async", ""), ("sync", "sync")] {
        for (name, class, n) in [
            ("fat_block3", Class::Fat1, 3),
            ("fat_block4", Class::Fat1, 4),
            ("mirror_block3", Class::Fat2, 3),
            ("directory", Class::DirD, 0),
            ("data", Class::Data, 1400),
        ] {
            cases.push(Case::new(format!("{name}_{mode}"), move |cfg: &Config| {
                once(cfg, opts, class, n)
            }));
        }
    }
    Group {
        name: "once".into(),
        cases,
    }
}
