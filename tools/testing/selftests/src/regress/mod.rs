// SPDX-License-Identifier: GPL-2.0

//! Suite `regress`: mistakes that a driver of this kind is prone to, each of them once made.
//! The comment of a test tells what went wrong, and what is required.

mod commit;
mod direct;
pub mod dm;
mod errors;
mod names;
mod policy;
mod space;
mod stale;

use crate::geom::Geom;
use crate::runner::{skip, Case, Config, Group, Suite};
use crate::sys;
use crate::vol::Vol;
use anyhow::Result;

const MIB: u64 = 1 << 20;

/// A test: its name, the seconds it may take, and its body.
type Test = (&'static str, u64, fn(&Config) -> Result<()>);

/// What pages, inodes and directory entries may be dropped from memory is dropped.
fn drop_caches() -> Result<()> {
    Ok(std::fs::write("/proc/sys/vm/drop_caches", "3")?)
}

/// The stock vfat legitimately does something else.
fn not_vfat(cfg: &Config, why: &str) -> Result<()> {
    if cfg.fs == "vfat" {
        return skip(why);
    }
    Ok(())
}

/// A shape of this suite's own.
fn geom(bits: u32, mib: u64, cluster: u32) -> Geom {
    let mut g = Geom::new(bits, mib * MIB, cluster);
    g.name = format!("regress{bits}-{cluster}");
    g
}

/// A fresh volume of such a shape.
fn fresh(cfg: &Config, g: &Geom, opts: &str) -> Result<Vol> {
    Vol::fresh(g, &cfg.fs, opts, "t")
}

/// Bytes that tell a file's tag and the position of each 512 of them; made quickly, and
/// neither 0 nor 0xAA but for the numbers.
fn stamp(tag: u32, off: u64, len: usize) -> Vec<u8> {
    let mut v = vec![0x11 + (tag % 64) as u8; len.next_multiple_of(512)];
    for (i, c) in v.chunks_exact_mut(512).enumerate() {
        c[..4].copy_from_slice(&tag.to_le_bytes());
        c[8..16].copy_from_slice(&(off + i as u64 * 512).to_le_bytes());
    }
    v.truncate(len);
    v
}

/// Fills the free space with 0xAA and frees it again: what isn't written will be seen.
fn make_stale(v: &Vol) -> Result<()> {
    let f = sys::create(&v.p("STALE"))?;
    let mut at = 0;
    while let Ok(n) = sys::pwrite(&f, &vec![0xAA; 1 << 20], at) {
        at += n as i64;
    }
    sys::fsync(&f)?;
    drop(f);
    sys::unlink(&v.p("STALE"))?;
    sys::sync();
    drop_caches()
}

/// Free bytes by statfs(2).
fn free_bytes(v: &Vol) -> Result<u64> {
    let st = sys::statfs(&v.mp)?;
    Ok(st.bfree * st.bsize as u64)
}

/// The suite.
pub fn suite() -> Suite {
    let group = |name: &str, tests: &[Test]| Group {
        name: name.into(),
        cases: tests
            .iter()
            .map(|&(name, limit, body)| Case::new(name, body).limit(limit))
            .collect(),
    };
    Suite {
        name: "regress",
        groups: vec![
            group("space", space::TESTS),
            group("stale", stale::TESTS),
            group("direct", direct::TESTS),
            group("errors", errors::TESTS),
            group("policy", policy::TESTS),
            group("names", names::TESTS),
            group("commit", commit::TESTS),
        ],
    }
}
