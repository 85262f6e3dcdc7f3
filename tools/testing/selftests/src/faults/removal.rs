// SPDX-License-Identifier: GPL-2.0

//! The device goes away, or becomes read-only, under a mounted volume.

use super::engine::model;
use super::snap::Snap;
use super::watch::watched;
use crate::kmsg::Kmsg;
use crate::runner::{skip, Case, Config, Group};
use crate::sys::{self, Errno, Res};
use crate::vol::Mount;
use anyhow::{anyhow, bail, ensure, Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(10);

fn modprobe(args: &[&str]) -> Result<()> {
    let out = Command::new("modprobe").args(args).output()?;
    ensure!(
        out.status.success(),
        "modprobe {args:?}: {}",
        String::from_utf8_lossy(&out.stderr).trim()
    );
    Ok(())
}

/// A disk that can be pulled out; its driver is unloaded on drop.
struct Scsi {
    dev: PathBuf,
    sys: PathBuf,
    mount: Mount,
}

fn find_disk() -> Option<PathBuf> {
    let adapter = Path::new("/sys/bus/pseudo/drivers/scsi_debug/adapter0");
    let below = |p: PathBuf, what: &str| -> Option<PathBuf> {
        std::fs::read_dir(p)
            .ok()?
            .flatten()
            .map(|e| e.path())
            .find(|p| {
                let name = p
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                name.starts_with(what)
            })
    };
    let host = below(adapter.into(), "host")?;
    let target = below(host, "target")?;
    let lun = std::fs::read_dir(target)
        .ok()?
        .flatten()
        .map(|e| e.path())
        .find(|p| p.join("block").exists())?;
    below(lun.join("block"), "sd")
}

impl Scsi {
    fn new() -> Result<Scsi> {
        let _ = modprobe(&["-r", "scsi_debug"]);
        if modprobe(&["sd_mod"]).is_err() || modprobe(&["scsi_debug", "dev_size_mb=32"]).is_err() {
            return skip("there's no scsi_debug");
        }
        let end = Instant::now() + Duration::from_secs(10);
        let sys = loop {
            match find_disk() {
                Some(sys) => break sys,
                None if Instant::now() > end => bail!("scsi_debug made no disk"),
                None => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        let dev = Path::new("/dev").join(sys.file_name().context("name")?);
        while !dev.exists() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(50));
        }
        let image = std::fs::read(model(16)?)?;
        let f = sys::open(&dev, libc::O_RDWR).map_err(|e| anyhow!("{}: {e}", dev.display()))?;
        sys::pwrite_all(&f, &image, 0)?;
        sys::fsync(&f)?;
        let mount = Mount::new("scsi");
        Ok(Scsi { dev, sys, mount })
    }

    fn mount(&mut self, fs: &str, opts: &str) -> Result<()> {
        let mounted = self.mount.mount(&self.dev, fs, 0, opts);
        mounted.map_err(|e| anyhow!("mount: {e}"))
    }

    fn pull(&self) -> Result<()> {
        Ok(std::fs::write(self.sys.join("device/delete"), "1")?)
    }

    fn umount(&mut self) -> Res<()> {
        self.mount.umount()
    }
}

impl Drop for Scsi {
    fn drop(&mut self) {
        let _ = self.umount();
        let _ = modprobe(&["-r", "scsi_debug"]);
    }
}

/// What the tasks share.
struct Load {
    mp: PathBuf,
    pulled: AtomicBool,
    rounds: AtomicU64,
}

/// One round of a task's work.
type Work = fn(&Path, u64) -> Res<()>;

/// The tasks. The bool tells that it can't go on for long without the device.
const TASKS: &[(&str, bool, Work)] = &[
    ("writer", true, |mp, n| {
        let f = sys::create(&mp.join("e/written"))?;
        sys::pwrite_all(&f, &[n as u8; 50_000], 0)?;
        sys::fsync(&f)
    }),
    ("async writer", false, |mp, n| {
        let f = sys::create(&mp.join("e/more"))?;
        sys::pwrite_all(&f, &[n as u8; 20_000], 0)
    }),
    ("direct writer", true, |mp, n| {
        let f = sys::open(&mp.join("e/dst"), libc::O_RDWR | libc::O_DIRECT)?;
        let mut a = sys::Aligned::new(16384);
        a.bytes().fill(n as u8);
        sys::pwrite_all(&f, a.bytes(), 0)
    }),
    ("direct reader", true, |mp, _| {
        let f = sys::open(&mp.join("d/file"), libc::O_RDONLY | libc::O_DIRECT)?;
        let mut a = sys::Aligned::new(16384);
        sys::pread(&f, a.bytes(), 0).map(drop)
    }),
    ("reader", false, |mp, _| {
        let f = sys::open(&mp.join("d/file"), libc::O_RDONLY)?;
        sys::pread_vec(&f, 20_000, 0)?;
        sys::fadvise(&f, 0, 0, libc::POSIX_FADV_DONTNEED)
    }),
    ("names", false, |mp, n| {
        let (a, b) = (mp.join(format!("d/n{n}")), mp.join(format!("e/n{n}")));
        sys::create(&a)?;
        sys::rename(&a, &b, 0)?;
        sys::list(&mp.join("e"))?;
        sys::unlink(&b)?;
        sys::mkdir(&a)?;
        sys::rmdir(&a)
    }),
    ("mapping", false, |mp, n| {
        let f = sys::open(&mp.join("d/over"), libc::O_RDWR)?;
        let m = sys::Map::shared(&f, 3000, true)?;
        m.touch((n % 3000) as usize)?;
        m.fill_by_kernel(0, &[n as u8; 512])?;
        m.sync()
    }),
    ("sizes", false, |mp, n| {
        let f = sys::open(&mp.join("d/nil"), libc::O_RDWR)?;
        sys::ftruncate(&f, (n % 7 * 9000) as i64)?;
        sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, 90_000)
    }),
    ("sync", false, |mp, _| {
        sys::syncfs(&sys::open(mp, libc::O_RDONLY)?)
    }),
];

/// Errors that a device that is gone may cause.
fn expected(e: Errno) -> bool {
    matches!(
        e.0,
        libc::EIO | libc::ENXIO | libc::ENODEV | libc::EROFS | libc::ENOSPC | libc::ENOENT
    )
}

/// Works until the device is gone and an error was seen, or a while has passed.
fn task(l: &Load, name: &str, needs_device: bool, work: Work) -> Result<()> {
    let mut after: Option<Instant> = None;
    for n in 0.. {
        let gone = l.pulled.load(Relaxed);
        let r = watched(LIMIT, name, || work(&l.mp, n));
        l.rounds.fetch_add(1, Relaxed);
        match r {
            Ok(()) if gone => {
                let since = after.get_or_insert_with(Instant::now).elapsed();
                if since > Duration::from_secs(3) {
                    ensure!(!needs_device, "{name} goes on without a device");
                    return Ok(());
                }
            }
            Ok(()) => {}
            // Two tasks may race for a name.
            Err(e) if !gone && !l.pulled.load(Relaxed) => bail!("{name}: {e} with the device"),
            Err(e) if expected(e) => return Ok(()),
            Err(e) => bail!("{name}: {e} without a device"),
        }
    }
    Ok(())
}

fn pulled(cfg: &Config, opts: &str) -> Result<()> {
    let mut s = Scsi::new()?;
    s.mount(&cfg.fs, opts)?;
    let l = Load {
        mp: s.mount.dir.clone(),
        pulled: AtomicBool::new(false),
        rounds: AtomicU64::new(0),
    };
    std::thread::scope(|sc| -> Result<()> {
        let l = &l;
        let all: Vec<_> = TASKS
            .iter()
            .map(|&(name, needs, work)| sc.spawn(move || task(l, name, needs, work)))
            .collect();
        std::thread::sleep(Duration::from_secs(2));
        // Errors come before the call has returned.
        l.pulled.store(true, Relaxed);
        let done = s.pull();
        let results: Vec<Result<()>> = all
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|_| bail!("a task panicked")))
            .collect();
        done?;
        results.into_iter().collect()
    })?;
    ensure!(l.rounds.load(Relaxed) > 30, "the tasks did nothing");
    watched(LIMIT, "umount", || s.umount()).map_err(|e| anyhow!("umount: {e}"))?;
    modprobe(&["-r", "scsi_debug"]).context("unloading the disk's driver")
}

/// Nothing is at work; the volume has changes that aren't on disk.
fn pulled_idle(cfg: &Config) -> Result<()> {
    let mut s = Scsi::new()?;
    s.mount(&cfg.fs, "")?;
    std::fs::write(s.mount.dir.join("e/new"), [1; 30_000])?;
    sys::unlink(&s.mount.dir.join("d/over"))?;
    sys::mkdir(&s.mount.dir.join("e/newdir"))?;
    let f = sys::open(&s.mount.dir.join("e/new"), libc::O_RDWR)?;
    s.pull()?;
    let r = watched(LIMIT, "fsync", || sys::fsync(&f));
    ensure!(r.is_err(), "fsync succeeds without a device");
    let r = watched(LIMIT, "syncfs", || sys::syncfs(&f));
    ensure!(r.is_err(), "syncfs succeeds without a device");
    watched(LIMIT, "sync", sys::sync);
    drop(f);
    watched(LIMIT, "umount", || s.umount()).map_err(|e| anyhow!("umount: {e}"))?;
    modprobe(&["-r", "scsi_debug"]).context("unloading the disk's driver")
}

/// What happens on a device that is or becomes read-only, as a list of results.
fn read_only_steps(fs: &str) -> Result<Vec<(&'static str, Res<()>)>> {
    let mut s = Scsi::new()?;
    let mut out = Vec::new();
    let ro = libc::MS_RDONLY;
    let mount = |s: &mut Scsi, flags| s.mount.mount(&s.dev, fs, flags, "");
    let remount = |s: &Scsi, flags| s.mount.remount(&s.dev, fs, flags, "");

    sys::set_read_only(&s.dev, true)?;
    let r = mount(&mut s, 0);
    ensure!(r.is_err(), "a read-only device was mounted for writing");
    out.push(("mount rw", r));
    out.push(("mount ro", mount(&mut s, ro)));
    out.push(("remount rw", remount(&s, 0)));
    out.push((
        "write",
        std::fs::write(s.mount.dir.join("x"), "x").map_err(Errno::from),
    ));
    sys::set_read_only(&s.dev, false)?;
    out.push(("remount rw, writable", remount(&s, 0)));
    out.push((
        "write, writable",
        std::fs::write(s.mount.dir.join("x"), "x").map_err(Errno::from),
    ));
    s.umount()?;

    // Under the mount, with changes that wait.
    mount(&mut s, 0)?;
    std::fs::write(s.mount.dir.join("y"), [7; 9000])?;
    sys::mkdir(&s.mount.dir.join("z"))?;
    sys::set_read_only(&s.dev, true)?;
    let f = sys::open(&s.mount.dir.join("y"), libc::O_RDWR)?;
    out.push(("fsync, device read-only", sys::fsync(&f)));
    out.push((
        "write, device read-only",
        sys::pwrite_all(&f, &[8; 20_000], 0),
    ));
    out.push(("syncfs, device read-only", sys::syncfs(&f)));
    drop(f);
    out.push(("remount ro, device read-only", remount(&s, ro)));
    out.push(("umount", s.umount()));
    sys::set_read_only(&s.dev, false)?;
    mount(&mut s, ro)?;
    Snap::of(&s.mount.dir).context("afterwards")?;
    s.umount()?;
    Ok(out)
}

/// The same as vfat does.
fn read_only(cfg: &Config) -> Result<()> {
    let mut log = Kmsg::now();
    let want = read_only_steps("vfat").context("vfat")?;
    let got = read_only_steps(&cfg.fs)?;
    crate::same!(got, want, "results (expected: vfat's)");
    log.trouble().map_or(Ok(()), |t| bail!("{t}"))
}

/// The group.
pub fn group() -> Group {
    Group {
        name: "removal".into(),
        cases: vec![
            Case::new("busy", |cfg| pulled(cfg, "")),
            Case::new("busy_sync", |cfg| pulled(cfg, "sync")),
            Case::new("busy_flush", |cfg| pulled(cfg, "flush")),
            Case::new("idle", pulled_idle),
            Case::new("read_only", read_only),
        ],
    }
}
