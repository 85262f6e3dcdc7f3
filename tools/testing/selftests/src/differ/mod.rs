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
use snap::Care;

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

    /// Compares everything; `fresh`: nothing was changed since the last remount.
    fn snapshot(&mut self, fresh: bool) -> Result<()> {
        let (a, b) = match (fresh, self.b.vol.fs.as_str()) {
            (true, _) => (Care::Exact, Care::Exact),
            (false, "vfat") => (Care::Lenient, Care::Lenient),
            (false, _) => (Care::Lenient, Care::Verify),
        };
        let x = snap::take(&self.a.vol.mp, a).context("vfat")?;
        let y = snap::take(&self.b.vol.mp, b).context("other")?;
        snap::compare(&x, &y)
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
fn play(make: &dyn Fn() -> Result<Pair>, ops: &[Op], every: usize) -> Result<()> {
    let mut pair = make()?;
    let Err((n, e)) = steps(&mut pair, ops, every, 0) else {
        return pair.finish();
    };
    if e.downcast_ref::<Late>().is_none_or(|l| l.0) {
        return Err(anyhow::anyhow!("{e:#}\n{}", pair.tail()));
    }
    // A snapshot found it: which of the operations before it was the one?
    drop(pair);
    let mut pair = make()?;
    match steps(&mut pair, &ops[..n], every, n.saturating_sub(every)) {
        Err((_, again)) => Err(anyhow::anyhow!("{again:#}\n{}", pair.tail())),
        Ok(()) => Err(e.context("once, and not again when replayed")),
    }
}

/// A difference in the state, found after the operation that made it; true after a remount.
#[derive(Debug)]
struct Late(bool);

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0 {
            "state after a remount"
        } else {
            "state"
        })
    }
}

/// Runs operations with a snapshot each `every` of them, and after each one from number `fine`
/// on if that isn't 0. An error comes with the number of operations done.
fn steps(
    pair: &mut Pair,
    ops: &[Op],
    every: usize,
    fine: usize,
) -> Result<(), (usize, anyhow::Error)> {
    for (i, op) in ops.iter().enumerate() {
        let n = i + 1;
        let at = |remounted| {
            move |e: anyhow::Error| {
                (
                    n,
                    e.context(format!("after operation {i}"))
                        .context(Late(remounted)),
                )
            }
        };
        pair.step(i, op).map_err(|e| (n, e))?;
        if n % every == 0 || (fine > 0 && n > fine) {
            pair.snapshot(false).map_err(at(false))?;
        }
        if n % (every * 4) == 0 {
            pair.remount().map_err(at(true))?;
            pair.snapshot(true).map_err(at(true))?;
        }
    }
    let n = ops.len();
    pair.remount().map_err(|e| (n, e))?;
    pair.snapshot(true).map_err(|e| {
        (
            n,
            e.context("at the end, after a remount").context(Late(true)),
        )
    })
}

fn random(geom: &Geom, opts: &str, seed: u64, cfg: &Config) -> Result<()> {
    let mut rng = Rng::new(seed);
    let ops: Vec<Op> = (0..cfg.ops).map(|_| op::random(&mut rng)).collect();
    play(&|| Pair::new(geom, &cfg.fs, opts), &ops, 100).with_context(|| format!("seed {seed}"))
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

fn with_options(opts: &str, cfg: &Config) -> Result<()> {
    let (opts, sync) = match opts.strip_prefix("sync,") {
        Some(rest) => (rest, true),
        None => (opts, false),
    };
    let make = || -> Result<Pair> {
        let mut pair = Pair::new(&geom::fat(16), &cfg.fs, opts)?;
        if sync {
            for s in [&mut pair.a, &mut pair.b] {
                s.vol.umount()?;
                s.vol.flags = libc::MS_SYNCHRONOUS;
                s.vol.mount()?;
            }
        }
        Ok(pair)
    };
    // On a flush mount vfat sleeps 0.1 s in each close.
    let mut ops = if opts.starts_with("flush") {
        Vec::new()
    } else {
        op::scripted()
    };
    let mut rng = Rng::new(4711);
    ops.extend((0..200).map(|_| op::random(&mut rng)));
    play(&make, &ops, 500)
}

/// The suite.
pub fn suite(cfg: &Config) -> Suite {
    let mut groups = Vec::new();
    for g in geom::basic() {
        let name = g.name.clone();
        let h = g.clone();
        let mut cases = vec![Case::new("names", move |cfg| {
            play(&|| Pair::new(&h, &cfg.fs, "utf8"), &op::scripted(), 400)
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
    // end at the same byte, and blocks, so that entries have room at the same places.
    let mut small = Geom::new(12, 1 << 20, 4096);
    small.name = "small".into();
    small.sector = 4096;
    small.root_entries = 128;
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
            .map(|&o| Case::new(o.replace(',', "+"), move |cfg| with_options(o, cfg)).limit(300))
            .collect(),
    });
    Suite {
        name: "differ",
        groups,
    }
}
