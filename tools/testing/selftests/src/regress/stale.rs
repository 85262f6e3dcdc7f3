// SPDX-License-Identifier: GPL-2.0

//! What was deleted must not be seen again: files on a volume full of 0xAA are compared with
//! a model that knows nothing of it.

use super::{drop_caches, fresh, geom, make_stale, Test};
use crate::expect::bytes;
use crate::rng::Rng;
use crate::runner::Config;
use crate::sys;
use crate::vol::Vol;
use anyhow::{Context, Result};

pub const TESTS: &[Test] = &[
    ("scripted", 60, scripted),
    ("random_fat12", 60, |c| random(c, 12, 1)),
    ("random_fat16", 60, |c| random(c, 16, 2)),
    ("random_fat32", 60, |c| random(c, 32, 3)),
    ("random_sector_4096", 60, sector_4096),
];

/// One change of a file.
#[derive(Clone, Copy, Debug)]
enum Step {
    Truncate(usize),
    /// fallocate(2) of the range, with or without FALLOC_FL_KEEP_SIZE.
    Allocate(usize, usize, bool),
    Write(usize, usize),
    /// Through a shared mapping.
    Map(usize, usize),
    /// With O_DIRECT.
    Direct(usize, usize),
    Fsync,
    DropCaches,
    Remount,
}

use Step::*;

/// A file and what it has to contain.
struct Model {
    name: &'static str,
    data: Vec<u8>,
}

impl Model {
    fn put(&mut self, at: usize, len: usize) {
        if self.data.len() < at + len {
            self.data.resize(at + len, 0);
        }
        self.data[at..at + len].fill(0x5A);
    }

    fn step(&mut self, v: &mut Vol, step: Step) -> Result<()> {
        let p = v.p(self.name);
        let f = sys::create(&p)?;
        match step {
            Truncate(n) => {
                sys::ftruncate(&f, n as i64)?;
                self.data.resize(n, 0);
            }
            Allocate(at, len, keep) => {
                let mode = if keep { libc::FALLOC_FL_KEEP_SIZE } else { 0 };
                sys::fallocate(&f, mode, at as i64, len as i64)?;
                if !keep && self.data.len() < at + len {
                    self.data.resize(at + len, 0);
                }
            }
            Write(at, len) => {
                sys::pwrite_all(&f, &vec![0x5A; len], at as i64)?;
                self.put(at, len);
            }
            Map(at, len) => {
                if at + len <= self.data.len() && len > 0 {
                    let m = sys::Map::shared(&f, self.data.len(), true)?;
                    m.write(at, &vec![0x5A; len]);
                    self.put(at, len);
                }
            }
            Direct(at, len) => {
                let d = sys::open(&p, libc::O_RDWR | libc::O_DIRECT)?;
                let mut a = sys::Aligned::new(len);
                a.bytes().fill(0x5A);
                sys::pwrite_all(&d, a.bytes(), at as i64)?;
                self.put(at, len);
            }
            Fsync => sys::fsync(&f)?,
            DropCaches => {
                sys::syncfs(&f)?;
                drop(f);
                drop_caches()?;
            }
            Remount => {
                drop(f);
                v.remount()?;
            }
        }
        Ok(())
    }

    fn check(&self, v: &Vol) -> Result<()> {
        bytes(&std::fs::read(v.p(self.name))?, &self.data, self.name)
    }
}

/// Runs steps, compares after each of them, and again after a remount.
fn run(v: &mut Vol, name: &'static str, steps: &[Step]) -> Result<()> {
    let mut m = Model {
        name,
        data: Vec::new(),
    };
    for (i, &s) in steps.iter().enumerate() {
        m.step(v, s)
            .and_then(|()| m.check(v))
            .with_context(|| format!("{name}: step {i}, {:?}", &steps[..=i]))?;
    }
    v.remount()?;
    m.check(v)
        .with_context(|| format!("{name}: after remount, {steps:?}"))
}

/// Space that a file got without being written showed what had been there, when only a part
/// of a block was written, when the size grew over it, or after the inode had been dropped.
/// It has to read as zero, from the cache and from the device.
fn scripted(cfg: &Config) -> Result<()> {
    let scripts: &[(&str, &[Step])] = &[
        ("up", &[Truncate(1_000_000), DropCaches, Write(500_000, 10)]),
        ("past", &[Write(0, 3), Write(300_100, 77), DropCaches]),
        (
            "allocate",
            &[Allocate(0, 200_000, false), Map(70_001, 9), Remount],
        ),
        (
            "keep",
            &[
                Write(0, 700),
                Allocate(0, 100_000, true),
                Fsync,
                Write(50_000, 5),
                DropCaches,
                Truncate(90_000),
            ],
        ),
        (
            "down",
            &[
                Truncate(100_000),
                Write(30_000, 40_000),
                Truncate(30_100),
                Truncate(60_000),
                DropCaches,
                Map(59_990, 10),
                Truncate(59_995),
                Remount,
                Truncate(100_000),
            ],
        ),
        (
            "map",
            &[
                Truncate(400_000),
                Map(4096, 4096),
                Fsync,
                Map(200_000, 1),
                DropCaches,
                Truncate(200_002),
                Truncate(300_000),
                Map(299_999, 1),
            ],
        ),
        (
            "size_grows_over_keep",
            &[
                Allocate(0, 50_000, true),
                Remount,
                Truncate(1),
                Truncate(50_000),
            ],
        ),
    ];
    for g in [geom(12, 4, 2048), geom(16, 12, 2048), geom(32, 36, 512)] {
        let mut v = fresh(cfg, &g, "")?;
        make_stale(&v)?;
        for &(name, steps) in scripts {
            run(&mut v, name, steps).with_context(|| g.name.clone())?;
        }
        v.finish()?;
    }
    Ok(())
}

fn random_steps(rng: &mut Rng) -> Vec<Step> {
    let mut at = |n: u64| rng.below(n) as usize;
    let mut steps = Vec::new();
    for _ in 0..40 {
        steps.push(match at(16) {
            0..=2 => Truncate(at(300_000)),
            3 => Allocate(at(200_000), 1 + at(100_000), false),
            4 => Allocate(at(200_000), 1 + at(100_000), true),
            5..=7 => Write(at(250_000), 1 + at(9000)),
            8 => Write(at(250_000), 1 + at(60_000)),
            9 | 10 => Map(at(200_000), 1 + at(5000)),
            11 | 12 => Direct(at(60) * 4096, 4096 * (1 + at(4))),
            13 => Fsync,
            14 => DropCaches,
            _ => Remount,
        });
    }
    steps
}

fn several(cfg: &Config, g: &crate::geom::Geom, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let mut v = fresh(cfg, g, "")?;
    make_stale(&v)?;
    for name in ["a", "b", "c", "d", "e", "f"] {
        run(&mut v, name, &random_steps(&mut rng)).with_context(|| g.name.clone())?;
    }
    v.finish()
}

/// The same with random steps.
fn random(cfg: &Config, bits: u32, seed: u64) -> Result<()> {
    let (mib, cluster) = match bits {
        12 => (4, 2048),
        16 => (12, 2048),
        _ => (36, 512),
    };
    several(cfg, &geom(bits, mib, cluster), seed)
}

/// The same with sectors of 4096 bytes on a device that takes 512.
fn sector_4096(cfg: &Config) -> Result<()> {
    let mut g = geom(16, 20, 4096);
    g.sector = 4096;
    g.name += "-s4096";
    several(cfg, &g, 4)
}
