// SPDX-License-Identifier: GPL-2.0

//! Suite `differ`: the same operations on vfat and on the file system under test, on two equal
//! volumes, have to have the same results.
//!
//! A failure names seed and operation: `--seed S --ops N` replays it up to there.

mod names;
mod op;
mod side;
pub mod snap;

use crate::geom::{self, Geom};
use crate::rng::Rng;
use crate::runner::{Case, Config, Group, Suite};
use crate::vol::Vol;
use anyhow::{bail, Context, Result};
use op::Op;
use side::Side;

/// Two mounts of equal volumes.
struct Pair {
    a: Side,
    b: Side,
    history: Vec<String>,
}

impl Pair {
    fn new(geom: &Geom, fs: &str, opts: &str) -> Result<Pair> {
        Ok(Pair {
            a: Side::new(Vol::fresh(geom, "vfat", opts, "a")?),
            b: Side::new(Vol::fresh(geom, fs, opts, "b")?),
            history: Vec::new(),
        })
    }

    /// Runs one operation on both sides.
    fn step(&mut self, n: usize, op: &Op) -> Result<()> {
        let (x, y) = (self.a.run(op), self.b.run(op));
        self.history.push(format!("{n}: {op:?} -> {y}"));
        if x != y {
            bail!("operation {n}: {op:?}\n  vfat: {x}\n other: {y}");
        }
        Ok(())
    }

    fn snapshot(&mut self) -> Result<()> {
        let (x, y) = (snap::take(&self.a.vol.mp), snap::take(&self.b.vol.mp));
        snap::compare(&x.context("vfat")?, &y.context("other")?)
    }

    fn remount(&mut self) -> Result<()> {
        self.a.close_all();
        self.b.close_all();
        self.a.vol.remount()?;
        self.b.vol.remount()
    }

    /// The operations before a failure.
    fn tail(&self) -> String {
        let from = self.history.len().saturating_sub(12);
        format!("before it:\n{}", self.history[from..].join("\n"))
    }

    fn finish(self) -> Result<()> {
        let Pair { mut a, mut b, .. } = self;
        a.close_all();
        b.close_all();
        a.vol.finish().context("vfat")?;
        b.vol.finish().context("other")
    }
}

/// Steps and snapshots, then remount and the end checks.
fn play(mut pair: Pair, ops: impl Iterator<Item = Op>, snap_every: usize) -> Result<()> {
    let mut n = 0;
    let go = |pair: &mut Pair| -> Result<()> {
        for op in ops {
            pair.step(n, &op)?;
            n += 1;
            if n % snap_every == 0 {
                pair.snapshot()
                    .with_context(|| format!("after operation {}", n - 1))?;
            }
            if n % (snap_every * 4) == 0 {
                pair.remount()?;
                pair.snapshot()
                    .with_context(|| format!("after operation {} and a remount", n - 1))?;
            }
        }
        pair.remount()?;
        pair.snapshot().context("at the end, after a remount")
    };
    match go(&mut pair) {
        Ok(()) => pair.finish(),
        Err(e) => Err(anyhow::anyhow!("{e:#}\n{}", pair.tail())),
    }
}

fn random(geom: &Geom, opts: &str, seed: u64, cfg: &Config) -> Result<()> {
    let pair = Pair::new(geom, &cfg.fs, opts)?;
    let mut rng = Rng::new(seed);
    let ops = (0..cfg.ops).map(move |_| op::random(&mut rng));
    play(pair, ops, 100).with_context(|| format!("seed {seed}"))
}

/// Mount options under which names are compared.
const OPTIONS: &[&str] = &[
    "utf8",
    "shortname=lower",
    "shortname=win95",
    "shortname=winnt",
    "shortname=mixed,nonumtail",
    "check=s",
    "check=r,uni_xlate",
    "codepage=850,iocharset=iso8859-1",
    "codepage=932,iocharset=utf8",
    "iocharset=iso8859-15,uni_xlate",
    "uid=1,gid=2,fmask=0137,dmask=0027,quiet",
    "rodir,showexec,sys_immutable",
    "time_offset=-330,nfs",
    "flush,discard",
    "sync,usefree",
];

/// The suite.
pub fn suite(cfg: &Config) -> Suite {
    let mut groups = Vec::new();
    for g in geom::basic() {
        let name = g.name.clone();
        let h = g.clone();
        let mut cases = vec![Case::new("names", move |cfg| {
            let pair = Pair::new(&h, &cfg.fs, "utf8")?;
            play(pair, op::scripted().into_iter(), 400)
        })];
        for &seed in &cfg.seeds {
            let h = g.clone();
            cases.push(
                Case::new(format!("seed_{seed}"), move |cfg| random(&h, "", seed, cfg)).limit(600),
            );
        }
        groups.push(Group { name, cases });
    }
    // A small volume, so that space runs out; whole pages are clusters, so that short writes
    // end at the same byte.
    let mut small = Geom::new(12, 1 << 20, 4096);
    small.name = "small".into();
    small.root_entries = 112;
    groups.push(Group {
        name: "no_space".into(),
        cases: cfg
            .seeds
            .iter()
            .map(|&seed| {
                let h = small.clone();
                Case::new(format!("seed_{seed}"), move |cfg| {
                    random(&h, "utf8", seed + 1000, cfg)
                })
                .limit(600)
            })
            .collect(),
    });
    groups.push(Group {
        name: "options".into(),
        cases: OPTIONS
            .iter()
            .map(|&o| {
                Case::new(o.replace(',', "+"), move |cfg| {
                    let (g, o) = (geom::fat(16), o.to_string());
                    let flags = o.starts_with("sync");
                    let o = o.trim_start_matches("sync,").to_string();
                    let mut pair = Pair::new(&g, &cfg.fs, &o)?;
                    if flags {
                        for s in [&mut pair.a, &mut pair.b] {
                            s.vol.umount()?;
                            s.vol.flags = libc::MS_SYNCHRONOUS;
                            s.vol.mount()?;
                        }
                    }
                    let mut rng = Rng::new(4711);
                    // On a flush mount vfat sleeps 0.1 s in each close.
                    let names = if o.starts_with("flush") {
                        Vec::new()
                    } else {
                        op::scripted()
                    };
                    let ops = names.into_iter();
                    let more = (0..200).map(move |_| op::random(&mut rng));
                    play(pair, ops.chain(more), 500)
                })
                .limit(300)
            })
            .collect(),
    });
    Suite {
        name: "differ",
        groups,
    }
}
