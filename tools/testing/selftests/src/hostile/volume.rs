// SPDX-License-Identifier: GPL-2.0

//! One volume: made, broken, mounted, used, unmounted, and looked after.

use super::build::{populate, shape, Kind};
use super::image::Image;
use super::mutate::GROUPS;
use super::stats::Stats;
use super::walk::{walk, Found};
use super::watch::{meminfo, Watch};
use super::work::work;
use super::Ctx;
use crate::damage::{CHAINS, DIRS};
use crate::disk::Disk;
use crate::expect;
use crate::kmsg::Kmsg;
use crate::rng::Rng;
use crate::runner::Config;
use crate::sys::{self, Errno};
use crate::vol::{fsck, WORK};
use anyhow::{bail, ensure, Context, Result};
use std::fs::File;
use std::path::{Path, PathBuf};

/// A loop device on a sparse file, for all volumes of a batch.
struct Device {
    path: PathBuf,
    file: File,
    bytes: u64,
    dev: sys::Loop,
}

impl Device {
    fn new(name: &str, bytes: u64) -> Result<Device> {
        let path = Path::new(WORK).join(name);
        let file = sys::create(&path)?;
        file.set_len(bytes)?;
        let dev = sys::Loop::attach(&path, 0, false).context("loop device")?;
        Ok(Device {
            path,
            file,
            bytes,
            dev,
        })
    }
}

/// The devices and the mount point.
pub struct Disks {
    usual: Device,
    large: Device,
    mp: PathBuf,
}

impl Disks {
    /// Attaches them.
    pub fn new() -> Result<Disks> {
        let mp = Path::new(WORK).join("mnt-hostile");
        std::fs::create_dir_all(&mp)?;
        Ok(Disks {
            usual: Device::new("hostile.img", 64 << 20)?,
            large: Device::new("hostile-large.img", 5 << 30)?,
            mp,
        })
    }

    /// Whether something is still mounted.
    pub fn is_busy(&self) -> bool {
        sys::mounts().iter().any(|m| m.dir == self.mp)
    }

    /// Gives back the memory behind the devices.
    pub fn clear(&self) -> Result<()> {
        for d in [&self.usual, &self.large] {
            sys::fallocate(&d.file, 3, 0, d.bytes as i64)?;
        }
        Ok(())
    }
}

/// Mount options. On a sound volume only those with which names are as they were written.
fn options(kind: Kind, rng: &mut Rng) -> String {
    const ANY: &[&str] = &[
        "flush",
        "sync",
        "dirsync",
        "discard",
        "usefree",
        "quiet",
        "showexec",
        "rodir",
        "utf8=1",
        "nonumtail",
        "tz=UTC",
        "nfs",
        "dos1xfloppy",
    ];
    const NAMES: &[&str] = &[
        "shortname=winnt",
        "shortname=lower",
        "check=s",
        "uni_xlate",
        "codepage=850",
        "iocharset=utf8",
        "iocharset=iso8859-1",
        "sys_immutable",
    ];
    let mut o = vec![*rng.pick(&["errors=continue", "errors=continue", "errors=remount-ro"])];
    o.extend(ANY.iter().filter(|_| rng.one_in(12)));
    if kind != Kind::Control {
        o.extend(NAMES.iter().filter(|_| rng.one_in(12)));
    }
    o.join(",")
}

/// Makes the volume of a seed and puts it on a device.
fn make(kind: Kind, d: &Device, rng: &mut Rng, stats: &mut Stats) -> Result<Image> {
    let mut v = Image::new(shape(kind, rng));
    populate(&mut v, kind, rng);
    let designed = kind == Kind::Usual && rng.one_in(8) && v.files[0].chain.len() > 4;
    if kind == Kind::Control || designed {
        v.store(&d.file, d.bytes)?;
        if designed {
            // What `badimg` does to one volume, here to one of many shapes.
            let list = if rng.one_in(2) { CHAINS } else { DIRS };
            let (name, f) = rng.pick(list);
            if Disk::open(&d.path).and_then(|d| f(&d)).is_ok() {
                stats.one(&format!("mutation damage_{name}"));
            }
        }
        return Ok(v);
    }
    // One or a few things are wrong; damage of the boot sector is mostly the end of it.
    for _ in 0..1 + rng.below(3) * rng.below(3) {
        let group = match rng.below(16) {
            0 | 1 => GROUPS[0],
            n => GROUPS[1 + n as usize % 3],
        };
        let (name, f) = rng.pick(group);
        f(&mut v, rng);
        stats.one(&format!("mutation {name}"));
    }
    if rng.one_in(10) {
        flips(&mut v, rng);
        stats.one("mutation any_bits");
    }
    v.store(&d.file, d.bytes)?;
    Ok(v)
}

/// Flips bits of what is not data: tables and directories.
fn flips(v: &mut Image, rng: &mut Rng) {
    let slots: Vec<u64> = v.dirs.iter().flat_map(|d| d.slots.clone()).collect();
    for _ in 0..1 + rng.below(40) {
        let at = match rng.below(8) {
            0 => 11 + rng.below(80),
            1..=3 => v.shape.fat_start() + rng.below(v.shape.fats * v.shape.fat_bytes()),
            _ => rng.pick(&slots) + rng.below(32),
        };
        v.flip(at, rng.next());
    }
}

/// On a sound volume all files have to be there as they were written.
fn compare(v: &Image, mp: &Path) -> Result<()> {
    for f in &v.files {
        let got = std::fs::read(mp.join(&f.path)).with_context(|| f.path.clone())?;
        expect::bytes(&got, &expect::pattern(f.tag, 0, f.size as usize), &f.path)?;
    }
    for d in &v.dirs[1..] {
        ensure!(
            sys::stat(&mp.join(&d.path))?.is_dir(),
            "{}: no directory",
            d.path
        );
    }
    Ok(())
}

/// Whether the mount has become read-only by itself.
fn became_read_only(mp: &Path) -> bool {
    sys::mounts()
        .iter()
        .any(|m| m.dir == mp && m.opts.starts_with("ro"))
}

/// Unmounts, which has to work.
fn unmount(mp: &Path, watch: &Watch) -> Result<()> {
    watch.doing("umount");
    sys::umount(mp, 0).map_err(|e| anyhow::anyhow!("umount: {e}"))
}

/// The kernel's log has to tell of no bug, and what the module says has to name the device.
fn look_at_log(log: &mut Kmsg, dev: &Path, sound: bool) -> Result<u64> {
    let lines = log.read();
    if let Some(bug) = Kmsg::trouble_in(&lines) {
        bail!("{bug}");
    }
    let name = dev
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut said = 0;
    for l in &lines {
        // Outside of the device there is nothing to look for.
        if l.contains("beyond end of device") || l.contains("I/O error, dev") {
            bail!("the kernel log says: {l}");
        }
        if l.contains("rvfat:") {
            said += 1;
            ensure!(
                l.contains(&format!("({name})")),
                "a message without the device: {l}"
            );
            ensure!(!sound, "a message about a sound volume: {l}");
        }
    }
    Ok(said)
}

/// Uses a mounted volume.
fn use_it(c: &mut Ctx<'_>, v: &Image, mp: &Path, kind: Kind, rng: &mut Rng) -> Result<()> {
    let found = walk(c, mp, rng)?;
    if kind == Kind::Control {
        compare(v, mp)?;
    }
    super::statfs(c, mp)?;
    if rng.one_in(8) {
        together(c, mp, &found, rng)?;
    }
    work(c, mp, &found, 10 + rng.below(25), rng)?;
    let again = walk(c, mp, rng)?;
    work(c, mp, &again, 6, rng)?;
    let root = sys::open(mp, libc::O_RDONLY)?;
    c.op("syncfs", &sys::syncfs(&root))
}

/// Two at once: one changes things while the other one reads.
fn together(c: &mut Ctx<'_>, mp: &Path, found: &[Found], rng: &mut Rng) -> Result<()> {
    let (mut stats, watch, sound) = (Stats::default(), c.watch, c.sound);
    let mut other_rng = Rng::new(rng.next());
    let result = std::thread::scope(|s| {
        let other = s.spawn(|| {
            let mut other = Ctx {
                stats: &mut stats,
                watch,
                sound,
                errors: 0,
            };
            walk(&mut other, mp, &mut other_rng)?;
            work(&mut other, mp, found, 10, &mut other_rng)
        });
        let mine = work(c, mp, found, 20, rng);
        mine.and(other.join().expect("the other thread"))
    });
    c.stats.one("volumes used by two at once");
    for (k, n) in stats.0 {
        c.stats.add(&k, n);
    }
    result.context("two at once")
}

/// Makes, mounts, uses and unmounts the volume of a seed.
pub fn run(
    cfg: &Config,
    seed: u64,
    disks: &mut Disks,
    stats: &mut Stats,
    watch: &Watch,
) -> Result<()> {
    let kind = Kind::of(seed);
    watch.volume(seed);
    stats.one("volumes made");
    let d = match kind {
        Kind::LargeFile => &disks.large,
        _ => &disks.usual,
    };
    let rng = &mut Rng::new(seed);
    let v = make(kind, d, rng, stats)?;
    let opts = options(kind, rng);
    stats.add("ms of making", watch.took().as_millis() as u64);
    let memory = meminfo("MemAvailable");
    let mut log = Kmsg::now();
    watch.doing("mount");
    let mounted = sys::mount(&d.dev.dev, &disks.mp, &cfg.fs, 0, &opts);
    stats.result("mount", &mounted);
    let sound = kind == Kind::Control;
    let mut c = Ctx {
        stats,
        watch,
        sound,
        errors: 0,
    };
    match mounted {
        Ok(()) => {
            let used = use_it(&mut c, &v, &disks.mp, kind, rng).with_context(|| opts.clone());
            if became_read_only(&disks.mp) {
                c.stats.one("volumes read-only");
            }
            unmount(&disks.mp, watch)?;
            used?;
        }
        Err(Errno(libc::EINVAL | libc::EIO)) if !sound => {}
        Err(e) => bail!("mount -o {opts}: {e}"),
    }
    if mounted.is_ok() && rng.one_in(4) {
        look_again(cfg, d, &disks.mp, &mut c, rng)?;
    }
    let errors = c.errors;
    c.stats.one(match (mounted.is_ok(), errors) {
        (false, _) => "volumes refused",
        (true, 0) => "volumes mounted, no error",
        (true, _) => "volumes mounted, errors",
    });
    let said = look_at_log(&mut log, &d.dev.dev, sound)?;
    stats.add("messages", said);
    if sound {
        fsck(&d.path).with_context(|| format!("after use with {opts}"))?;
    }
    if let Some(why) = watch.greedy(memory) {
        bail!("{why}");
    }
    let ms = watch.took().as_millis();
    stats.add("ms of all", ms as u64);
    if ms > 5000 {
        println!("# seed {seed} took {ms} ms");
    }
    Ok(())
}

/// What was written is read in another mount.
fn look_again(cfg: &Config, d: &Device, mp: &Path, c: &mut Ctx<'_>, rng: &mut Rng) -> Result<()> {
    c.watch.doing("second mount");
    let r = sys::mount(&d.dev.dev, mp, &cfg.fs, libc::MS_RDONLY, "errors=continue");
    c.op("second mount", &r)?;
    if r.is_ok() {
        let walked = walk(c, mp, rng).context("in the second mount");
        unmount(mp, c.watch)?;
        walked?;
    }
    Ok(())
}
