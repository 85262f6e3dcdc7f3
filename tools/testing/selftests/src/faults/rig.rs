// SPDX-License-Identifier: GPL-2.0

//! A volume on a mapped device whose parts can be made to fail, and which counts the I/O of
//! each part.

use crate::disk::Disk;
use crate::geom::Geom;
use crate::runner::skip;
use crate::sys::{self, Target};
use crate::vol::{Image, Mount};
use anyhow::{anyhow, ensure, Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The device that fails, and the one upon it that counts: what fails isn't counted there.
const NAMES: [&str; 2] = ["rvfat-faults", "rvfat-counts"];

/// What lies in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Boot,
    Fsinfo,
    /// The first FAT, which is the active one.
    Fat1,
    /// The mirror.
    Fat2,
    Fats,
    Root,
    /// The directory `d`.
    DirD,
    /// The directory `e`.
    DirE,
    /// The data area without the directories above: files, free space, other directories.
    Data,
    /// Everything.
    All,
    /// Nothing but requests to flush the device's cache.
    Flush,
}

/// All classes, each of which gets to fail.
pub const CLASSES: &[Class] = &[
    Class::Boot,
    Class::Fsinfo,
    Class::Fat1,
    Class::Fat2,
    Class::Fats,
    Class::Root,
    Class::DirD,
    Class::DirE,
    Class::Data,
    Class::All,
    Class::Flush,
];

/// The direction of the I/O that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    Read,
    Write,
}

/// Sectors behind the volume.
const SPARE: u64 = 64;

/// Ranges of sectors, `(start, len)`, ascending.
pub type Ranges = Vec<(u64, u64)>;

/// Where the classes of a volume lie.
pub struct Layout {
    disk: Disk,
    root: Ranges,
    dirs: [Ranges; 2],
    end: u64,
}

fn chain_ranges(d: &Disk, start: u32) -> Result<Ranges> {
    let chain = d.chain(start)?;
    Ok(chain
        .iter()
        .map(|&c| (d.at(c) / 512, d.cluster / 512))
        .collect())
}

impl Layout {
    /// Reads it from an image with directories `d` and `e` in its root.
    pub fn of(image: &Path) -> Result<Layout> {
        let disk = Disk::open(image)?;
        let root = if disk.bits == 32 {
            chain_ranges(&disk, disk.root_cluster)?
        } else {
            vec![(
                disk.root_start / 512,
                (disk.data_start - disk.root_start) / 512,
            )]
        };
        let dir = |name: &[u8; 11]| chain_ranges(&disk, disk.start(disk.find_root(name)?)?);
        let dirs = [dir(b"D          ")?, dir(b"E          ")?];
        let end = std::fs::metadata(image)?.len() / 512;
        Ok(Layout {
            disk,
            root,
            dirs,
            end,
        })
    }

    /// 12, 16 or 32.
    pub fn bits(&self) -> u32 {
        self.disk.bits
    }

    /// The sectors of a class.
    pub fn ranges(&self, class: Class) -> Ranges {
        let d = &self.disk;
        let fat = |copy: u64| ((d.fat_start + copy * d.fat_bytes) / 512, d.fat_bytes / 512);
        let mut r = match class {
            Class::Boot => vec![(0, d.sector / 512)],
            Class::Fsinfo if d.bits != 32 => vec![],
            Class::Fsinfo => vec![(d.fsinfo / 512, d.sector / 512)],
            Class::Fat1 => vec![fat(0)],
            Class::Fat2 if d.fats < 2 => vec![],
            Class::Fat2 => vec![fat(1)],
            Class::Fats => (0..d.fats).map(fat).collect(),
            Class::Root => self.root.clone(),
            Class::DirD => self.dirs[0].clone(),
            Class::DirE => self.dirs[1].clone(),
            Class::Data => self.data(),
            Class::All => vec![(0, self.end - SPARE)],
            // A range that nobody writes: its part in flushing the device fails.
            Class::Flush => vec![(self.end - SPARE, SPARE)],
        };
        r.sort_unstable();
        r
    }

    /// The data area without the directories.
    fn data(&self) -> Ranges {
        let mut dirs: Ranges = [&self.root, &self.dirs[0], &self.dirs[1]]
            .into_iter()
            .flatten()
            .copied()
            .collect();
        dirs.sort_unstable();
        let mut at = self.disk.data_start / 512;
        let mut out = Vec::new();
        for (start, len) in dirs {
            if start > at {
                out.push((at, start - at));
            }
            at = at.max(start + len);
        }
        out.push((at, self.end - SPARE - at));
        out
    }
}

/// Removes what a test left behind.
pub fn sweep() {
    if Path::new("/dev/mapper/control").exists() {
        for name in NAMES.iter().rev() {
            let _ = sys::dm_remove(name);
        }
    }
}

/// An image, its loop device, the mapped device upon it, and where it gets mounted.
pub struct Rig {
    pub fs: String,
    pub opts: String,
    pub image: PathBuf,
    pub mp: PathBuf,
    pub layout: Layout,
    pub mount: Mount,
    model: PathBuf,
    /// Counts; is mounted.
    top: sys::Dm,
    dm: sys::Dm,
    dev: sys::Loop,
    /// Classes whose I/O is counted, and the number of each range's counter.
    counters: Vec<(Class, String)>,
}

/// Loads the modules; a kernel without them can't run these tests.
pub fn need_dm() -> Result<()> {
    let _ = Command::new("modprobe")
        .args(["-a", "dm_mod", "dm_flakey"])
        .output();
    if !Path::new("/dev/mapper/control").exists() {
        return skip("there's no device mapper");
    }
    Ok(())
}

impl Rig {
    /// A volume like `model`, an image that stays as it is.
    ///
    /// Without a volatile cache no request to flush one gets there, so that only the I/O of
    /// the parts that fail is met by errors.
    pub fn new(model: &Path, fs: &str, opts: &str) -> Result<Rig> {
        need_dm()?;
        let image = Image::copy_of(model, "faults")?.path;
        let file = sys::open(&image, libc::O_RDWR)?;
        file.set_len(file.metadata()?.len() + SPARE * 512)?;
        drop(file);
        let layout = Layout::of(&image)?;
        let dev = sys::Loop::attach(&image, 0, false).context("loop device")?;
        let mount = Mount::new("faults");
        let make = |name: &str, below: &Path| {
            sys::Dm::create(name, &table(below, layout.end, &vec![], None))
                .map_err(|e| anyhow!("device mapper: {e}"))
        };
        let dm = make(NAMES[0], &dev.dev)?;
        let top = make(NAMES[1], &dm.dev)?;
        set_cache(&top.dev, false)?;
        Ok(Rig {
            fs: fs.into(),
            opts: opts.into(),
            image,
            mp: mount.dir.clone(),
            layout,
            mount,
            model: model.into(),
            top,
            dm,
            dev,
            counters: Vec::new(),
        })
    }

    /// From now on the device has a volatile cache, or none.
    pub fn cache(&self, on: bool) -> Result<()> {
        set_cache(&self.top.dev, on)
    }

    /// The folder in /sys of the mounted device.
    pub fn block_dir(&self) -> Result<PathBuf> {
        let name = self.top.dev.file_name().context("device name")?;
        Ok(Path::new("/sys/block").join(name))
    }

    /// The image becomes a copy of its model again.
    pub fn reset(&self) -> Result<()> {
        ensure!(!self.mount.is_mounted(), "reset of a mounted volume");
        let (src, dst) = (
            std::fs::File::open(&self.model)?,
            sys::open(&self.image, libc::O_RDWR)?,
        );
        dst.set_len(0)?;
        dst.set_len(self.layout.end * 512)?;
        let mut at = 0;
        while let Ok(data) = sys::lseek(&src, at, libc::SEEK_DATA) {
            let hole = sys::lseek(&src, data, libc::SEEK_HOLE)?;
            let bytes = sys::pread_vec(&src, (hole - data) as usize, data)?;
            sys::pwrite_all(&dst, &bytes, data)?;
            at = hole;
        }
        Ok(())
    }

    /// From now on, this I/O fails.
    pub fn fail(&self, ranges: &Ranges, io: Option<Io>) -> Result<()> {
        let t = table(&self.dev.dev, self.layout.end, ranges, io);
        self.dm
            .switch(&t)
            .map_err(|e| anyhow!("changing the mapped device: {e}"))
    }

    /// Everything works again.
    pub fn heal(&self) -> Result<()> {
        self.fail(&vec![], None)
    }

    /// Counts the I/O of each of these classes from now on.
    pub fn count(&mut self, classes: &[Class]) -> Result<()> {
        for (_, id) in std::mem::take(&mut self.counters) {
            let _ = self.top.message(&format!("@stats_delete {id}"));
        }
        for &class in classes {
            for (start, len) in self.layout.ranges(class) {
                let id = self
                    .top
                    .message(&format!("@stats_create {start}+{len} {len}"))
                    .map_err(|e| anyhow!("counting I/O: {e}"))?;
                self.counters.push((class, id.trim().into()));
            }
        }
        Ok(())
    }

    /// Requests to a class since `count`: reads and writes.
    pub fn counted(&self, class: Class) -> Result<(u64, u64)> {
        let (mut reads, mut writes) = (0, 0);
        for (_, id) in self.counters.iter().filter(|(c, _)| *c == class) {
            let text = self
                .top
                .message(&format!("@stats_print {id}"))
                .map_err(|e| anyhow!("counters: {e}"))?;
            let f: Vec<&str> = text.split_whitespace().collect();
            let n = |i: usize| {
                let n = f.get(i).and_then(|s| s.parse::<u64>().ok());
                n.context("counters")
            };
            reads += n(1)?;
            writes += n(5)?;
        }
        Ok((reads, writes))
    }

    pub fn try_mount(&mut self, flags: u64) -> sys::Res<()> {
        self.mount.mount(&self.top.dev, &self.fs, flags, &self.opts)
    }

    pub fn mount(&mut self) -> Result<()> {
        self.try_mount(0)
            .map_err(|e| anyhow!("mount -t {} -o '{}': {e}", self.fs, self.opts))
    }

    pub fn remount(&self, flags: u64) -> sys::Res<()> {
        self.mount
            .remount(&self.top.dev, &self.fs, flags, &self.opts)
    }

    pub fn umount(&mut self) -> Result<()> {
        self.mount.umount().map_err(|e| anyhow!("umount: {e}"))
    }

    pub fn p(&self, name: &str) -> PathBuf {
        self.mp.join(name)
    }

    /// The whole file system by syncfs(2).
    pub fn syncfs(&self) -> sys::Res<()> {
        sys::syncfs(&sys::open(&self.mp, libc::O_RDONLY)?)
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = self.heal();
        let _ = self.umount();
    }
}

fn set_cache(dev: &Path, on: bool) -> Result<()> {
    let name = dev.file_name().context("device name")?;
    let path = Path::new("/sys/block").join(name).join("queue/write_cache");
    let how = if on { "write back" } else { "write through" };
    std::fs::write(path, how).context("setting the cache")
}

/// The device's table: `ranges` fail, the rest is passed on.
fn table(dev: &Path, end: u64, ranges: &Ranges, io: Option<Io>) -> Vec<Target> {
    let dev = dev.display();
    let linear = |start: u64, len: u64| Target {
        start,
        len,
        kind: "linear",
        args: format!("{dev} {start}"),
    };
    let Some(io) = io else {
        return vec![linear(0, end)];
    };
    let how = match io {
        Io::Read => "error_reads",
        Io::Write => "error_writes",
    };
    let mut out = Vec::new();
    let mut at = 0;
    for &(start, len) in ranges {
        if start > at {
            out.push(linear(at, start - at));
        }
        out.push(Target {
            start,
            len,
            kind: "flakey",
            args: format!("{dev} {start} 0 1 1 {how}"),
        });
        at = start + len;
    }
    if at < end {
        out.push(linear(at, end - at));
    }
    out
}

/// A shape of this suite's own: small, with clusters that are small, too.
pub fn geom(bits: u32) -> Geom {
    let (kib, cluster) = match bits {
        12 => (1 << 10, 1024),
        16 => (5 << 10, 1024),
        _ => (34 << 10, 512),
    };
    let mut g = Geom::new(bits, kib * 1024, cluster);
    g.name = format!("faults{bits}");
    g
}
