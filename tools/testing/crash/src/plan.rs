// SPDX-License-Identifier: GPL-2.0

//! The matrix: which workload runs on which disk, with which mount options, on which volume.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};

use crate::content;
use crate::log::SECTOR;
use crate::volume;
use crate::work;

/// How a volume is mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MountMode {
    /// Without options.
    Async,
    /// `sync`.
    Sync,
    /// `dirsync`.
    Dirsync,
    /// `flush`.
    Flush,
}

impl MountMode {
    const ALL: [Self; 4] = [Self::Async, Self::Sync, Self::Dirsync, Self::Flush];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Async => "async",
            Self::Sync => "sync",
            Self::Dirsync => "dirsync",
            Self::Flush => "flush",
        }
    }
}

/// The kind of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cache {
    /// With a volatile write cache.
    Volatile,
    /// Without.
    Through,
}

impl Cache {
    const ALL: [Self; 2] = [Self::Volatile, Self::Through];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Volatile => "cache",
            Self::Through => "through",
        }
    }
}

/// A volume's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Width of FAT entries.
    pub bits: u32,
    /// Sectors of a cluster.
    pub cluster: u32,
    /// Sectors of the volume.
    pub sectors: u64,
}

/// The shapes; a workload gets one after the other.
const SHAPES: [Shape; 4] = [
    Shape {
        bits: 32,
        cluster: 1,
        sectors: 16128,
    },
    Shape {
        bits: 16,
        cluster: 2,
        sectors: 16128,
    },
    Shape {
        bits: 12,
        cluster: 8,
        sectors: 16128,
    },
    Shape {
        bits: 32,
        cluster: 4,
        sectors: 16128,
    },
];

/// For workloads that fill the volume.
const SMALL: [Shape; 2] = [
    Shape {
        bits: 32,
        cluster: 1,
        sectors: 2048,
    },
    Shape {
        bits: 12,
        cluster: 2,
        sectors: 2048,
    },
];

/// Disks of one guest: each takes interrupt vectors, and a processor has about 200 of them.
const MAX_DISKS: usize = 80;

/// Guests side by side, if there are enough tests.
const GUESTS: usize = 2;

/// Sectors behind the volume, where marks are written.
const MARKS: u64 = 512;

/// One test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Test {
    /// Its name: workload/mount/disk.
    pub name: String,
    /// The disk's serial number, and the name of its files.
    pub serial: String,
    /// The workload.
    pub work: String,
    /// How the volume is mounted.
    pub mount: MountMode,
    /// The disk.
    pub cache: Cache,
    /// The volume.
    pub shape: Shape,
    /// How many cuts to look at.
    pub cuts: usize,
    /// The guest that runs it.
    pub guest: usize,
}

/// All tests of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// The seed of everything.
    pub seed: u64,
    /// The file system type.
    pub fs: String,
    /// The tests.
    pub tests: Vec<Test>,
}

impl Test {
    /// The first sector for marks.
    pub fn mark_sector(&self) -> u64 {
        self.shape.sectors.next_multiple_of(128)
    }

    /// Sectors of the disk.
    pub fn disk_sectors(&self) -> u64 {
        self.mark_sector() + MARKS
    }

    /// The disk before the workload, which tests with the same volume share.
    pub fn base_file(&self, dir: &Path) -> PathBuf {
        let Shape {
            bits,
            cluster,
            sectors,
        } = self.shape;
        dir.join(format!("fat{bits}-{cluster}-{sectors}.base"))
    }

    /// A file of the test.
    pub fn file(&self, dir: &Path, extension: &str) -> PathBuf {
        dir.join(format!("{}.{extension}", self.serial))
    }
}

impl Plan {
    /// The plan for these names, all if there are none, with `points` cuts in total.
    /// `quick` takes one of four tests, each workload on some disk with some option.
    pub fn new(seed: u64, fs: &str, only: &[String], points: usize, quick: bool) -> Result<Self> {
        let mut tests = Vec::new();
        for (w, work) in work::ALL.iter().enumerate() {
            for (m, mount) in MountMode::ALL.into_iter().enumerate() {
                for (c, cache) in Cache::ALL.into_iter().enumerate() {
                    let shapes = if work.small { &SMALL[..] } else { &SHAPES[..] };
                    tests.push(Test {
                        name: format!("{}/{}/{}", work.name, mount.name(), cache.name()),
                        serial: format!("cut{:03}", tests.len()),
                        work: work.name.to_string(),
                        mount,
                        cache,
                        shape: shapes[(w + m + 2 * c) % shapes.len()],
                        cuts: 0,
                        guest: 0,
                    });
                }
            }
        }
        let matches = |test: &Test, word: &String| {
            let parts: Vec<&str> = test.name.split('/').collect();
            word.split('/').all(|w| parts.contains(&w))
        };
        if !only.is_empty() {
            tests.retain(|test| only.iter().any(|word| matches(test, word)));
        }
        if quick {
            let mut index = 0;
            tests.retain(|_| {
                index += 1;
                // Two of eight, and other ones for each workload.
                (index - 1 + (index - 1) / 8) % 4 == 0
            });
        }
        ensure!(!tests.is_empty(), "no test is called {only:?}");
        let cuts = points.div_ceil(tests.len()).max(2);
        let guests = tests
            .len()
            .div_ceil(MAX_DISKS)
            .max(GUESTS.min(tests.len() / 4));
        for (i, test) in tests.iter_mut().enumerate() {
            test.cuts = cuts;
            test.guest = i % guests.max(1);
        }
        Ok(Self {
            seed,
            fs: fs.to_string(),
            tests,
        })
    }

    /// Reads the plan in a folder.
    pub fn read(dir: &Path) -> Result<Self> {
        let path = dir.join("plan.json");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("no plan {}", path.display()))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Writes it, the disks, and for each guest what QEMU needs for them, one argument on each
    /// line. `seen` is the folder as QEMU sees it.
    pub fn prepare(&self, dir: &Path, seen: &Path) -> Result<()> {
        std::fs::create_dir_all(dir)?;
        let text = serde_json::to_string_pretty(self)?;
        std::fs::write(dir.join("plan.json"), text)?;
        let mut args: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for test in &self.tests {
            let base = test.base_file(dir);
            if !base.exists() {
                std::fs::write(&base, self::base(test.shape, test.disk_sectors(), dir)?)?;
            }
            std::fs::copy(&base, test.file(dir, "img"))?;
            std::fs::write(test.file(dir, "log"), "")?;
            let args = args.entry(test.guest).or_default();
            args.push(disk_arguments(args.len(), test, seen));
        }
        for (guest, args) in args {
            std::fs::write(dir.join(format!("guest{guest}.args")), args.concat())?;
        }
        Ok(())
    }
}

/// QEMU's arguments for one disk: its writes go through the filter that logs them.
fn disk_arguments(index: usize, test: &Test, seen: &Path) -> String {
    let serial = &test.serial;
    let file = |ext| test.file(seen, ext).display().to_string();
    let write_cache = match test.cache {
        Cache::Volatile => "on",
        Cache::Through => "off",
    };
    // Eight disks share a slot of the bus.
    let addr = format!("{:x}.{}", 8 + index / 8, index % 8);
    format!(
        "-blockdev\ndriver=file,node-name=f-{serial},filename={},cache.no-flush=on,discard=unmap\n\
         -blockdev\ndriver=file,node-name=l-{serial},filename={},cache.no-flush=on\n\
         -blockdev\ndriver=blklogwrites,node-name=w-{serial},file=f-{serial},log=l-{serial}\n\
         -device\nvirtio-blk-pci,drive=w-{serial},serial={serial},write-cache={write_cache},addr={addr},multifunction=on,num-queues=1\n",
        file("img"),
        file("log"),
    )
}

/// A disk with a new volume, whose free clusters hold stale bytes.
pub fn base(shape: Shape, disk_sectors: u64, scratch: &Path) -> Result<Vec<u8>> {
    let path = scratch.join("mkfs.tmp");
    std::fs::write(&path, vec![0; disk_sectors as usize * SECTOR])?;
    let out = Command::new("mkfs.fat")
        .args(["--invariant", "-F", &shape.bits.to_string()])
        .args(["-s", &shape.cluster.to_string(), "-S", "512"])
        .arg(&path)
        .arg((shape.sectors / 2).to_string())
        .output()
        .context("can't start mkfs.fat")?;
    ensure!(
        out.status.success(),
        "mkfs.fat: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    let mut image = std::fs::read(&path)?;
    std::fs::remove_file(&path)?;
    let volume = &image[..shape.sectors as usize * SECTOR];
    let geo = volume::geometry(volume)?;
    ensure!(
        geo.fat_type().bits() == shape.bits,
        "mkfs.fat made another type"
    );
    let root = geo.root_cluster().map(|c| geo.cluster_sector(c).get());
    let skip = root.map_or(0, |_| u64::from(geo.sectors_per_cluster()));
    for sector in geo.data_start().get() + skip..shape.sectors {
        let at = sector as usize * SECTOR;
        image[at..at + SECTOR].copy_from_slice(&content::stale(sector as u32));
    }
    Ok(image)
}
