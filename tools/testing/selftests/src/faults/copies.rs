// SPDX-License-Identifier: GPL-2.0

//! One FAT, and FAT32 volumes on which one copy of the FAT is active and the other isn't
//! kept up to date.

use super::snap::Snap;
use crate::geom::Geom;
use crate::rng::Rng;
use crate::runner::{skip, Case, Config, Group};
use crate::sys;
use crate::vol::{fsck, Image, Vol};
use anyhow::{bail, ensure, Result};

/// Creates, writes, cuts, moves and removes files and directories.
fn workload(v: &Vol, seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    for i in 0..6 {
        sys::mkdir(&v.p(format!("dir{i}")))?;
    }
    for i in 0..400 {
        let name =
            |rng: &mut Rng| format!("dir{}/a file with number {}", rng.below(6), rng.below(12));
        let (a, b) = (v.p(name(&mut rng)), v.p(name(&mut rng)));
        let there = sys::stat(&a).is_ok();
        match rng.below(6) {
            0 | 1 => {
                let f = sys::create(&a)?;
                let len = rng.below(40_000) as usize;
                sys::pwrite_all(&f, &crate::expect::pattern(i, 0, len), 0)?;
                if rng.one_in(4) {
                    sys::fsync(&f)?;
                }
            }
            2 if there => sys::truncate(&a, rng.below(50_000) as i64)?,
            3 if there && a != b => sys::rename(&a, &b, 0)?,
            4 if there => sys::unlink(&a)?,
            5 => {
                let d = v.p(format!("dir{}/sub", rng.below(6)));
                if sys::mkdir(&d).is_err() {
                    sys::rmdir(&d)?;
                }
            }
            _ => {}
        }
        if rng.one_in(60) {
            sys::sync();
        }
    }
    Ok(())
}

fn one_fat(bits: u32, fs: &str, opts: &str) -> Result<()> {
    let mut g = super::rig::geom(bits);
    if bits == 12 {
        (g.bytes, g.cluster) = (7 << 20, 2048);
    }
    g.fats = 1;
    g.name += "-one";
    let mut v = Vol::fresh(&g, fs, opts, "t")?;
    workload(&v, bits as u64)?;
    let before = Snap::of(&v.mp)?.timeless();
    v.remount()?;
    if let Some(d) = Snap::of(&v.mp)?.timeless().differs(&before, None) {
        bail!("after a mount {d}");
    }
    v.finish()
}

/// The other copy stays as it is; the active one is right.
fn active(copy: u64, fs: &str, opts: &str) -> Result<()> {
    let g: Geom = super::rig::geom(32);
    let image = Image::make(&g, "t")?;
    let d = image.disk()?;
    d.write(40, &[0x80 | copy as u8, 0])?;
    // What the driver must not look at.
    let other = d.fat_start + (1 - copy) * d.fat_bytes;
    let noise = vec![0x5Au8; d.fat_bytes as usize];
    d.write(other, &noise)?;
    let mut v = Vol::mount_image(image, fs, opts, "t")?;
    workload(&v, 32 + copy)?;
    let before = Snap::of(&v.mp)?.timeless();
    v.remount()?;
    if let Some(d) = Snap::of(&v.mp)?.timeless().differs(&before, None) {
        bail!("after a mount {d}");
    }
    v.umount()?;
    ensure!(
        d.read(other, noise.len())? == noise,
        "the FAT that isn't active was changed"
    );
    // With the active copy in both places and mirroring on it is an ordinary volume.
    let good = d.read(d.fat_start + copy * d.fat_bytes, noise.len())?;
    d.write(other, &good)?;
    d.write(40, &[0, 0])?;
    fsck(&v.image.path)?;
    v.fs = "vfat".into();
    v.mount()?;
    let mut seen = Snap::of(&v.mp)?.timeless();
    let mut want = before;
    for e in seen.tree.values_mut().chain(want.tree.values_mut()) {
        e.nlink = 0;
    }
    if let Some(d) = seen.differs(&want, None) {
        bail!("read by vfat {d}");
    }
    v.umount()
}

/// The group.
pub fn group() -> Group {
    let mut cases = Vec::new();
    for (mode, opts) in [("async", ""), ("sync", "sync")] {
        for bits in [12, 16, 32] {
            cases.push(Case::new(
                format!("one_fat{bits}_{mode}"),
                move |cfg: &Config| one_fat(bits, &cfg.fs, opts),
            ));
        }
        for copy in [0, 1] {
            cases.push(Case::new(
                format!("active{copy}_{mode}"),
                move |cfg: &Config| {
                    if cfg.fs == "vfat" {
                        return skip("reads the first FAT and writes all");
                    }
                    active(copy, &cfg.fs, opts)
                },
            ));
        }
    }
    Group {
        name: "copies".into(),
        cases,
    }
}
