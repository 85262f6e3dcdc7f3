// SPDX-License-Identifier: GPL-2.0

//! Suite `badimg`: damaged volumes are refused or survived, in bounded time.

use crate::damage::{Damage, CHAINS, DIRS};
use crate::geom;
use crate::rng::Rng;
use crate::runner::{Case, Group, Suite};
use crate::sys;
use crate::vol::{Image, Vol, WORK};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// Bounds of a walk over a volume that may contain itself.
const MAX_DEPTH: usize = 8;
const MAX_ENTRIES: usize = 1500;

/// Everything reachable, within bounds; errors are expected.
fn walk(dir: &Path, depth: usize, out: &mut Vec<(PathBuf, bool)>) {
    let Ok(list) = sys::list(dir) else { return };
    for d in list.iter().filter(|d| !d.is_dot()) {
        if out.len() >= MAX_ENTRIES {
            return;
        }
        use std::os::unix::ffi::OsStrExt;
        let p = dir.join(std::ffi::OsStr::from_bytes(&d.name));
        // A name with a slash would lead out of the volume.
        if d.name.contains(&b'/') || d.name.is_empty() {
            continue;
        }
        let is_dir = sys::stat(&p).is_ok_and(|s| s.is_dir());
        out.push((p.clone(), is_dir));
        if is_dir && depth < MAX_DEPTH {
            walk(&p, depth + 1, out);
        }
    }
}

/// Uses a mounted volume in every way; whatever fails may fail.
fn use_it(v: &Vol, write: bool) {
    let mut all = Vec::new();
    walk(&v.mp, 0, &mut all);
    let _ = sys::statfs(&v.mp);
    for (p, is_dir) in &all {
        if *is_dir {
            if let Ok(d) = sys::open(p, libc::O_RDONLY) {
                let _ = sys::readdir_ioctl(&d, true);
                let _ = sys::fsync(&d);
            }
        } else if let Ok(f) = sys::open(p, libc::O_RDONLY) {
            let size = sys::fstat(&f).map_or(0, |s| s.size) as i64;
            for at in [0, size / 2, size - 10, 0xFFFF_0000] {
                let _ = sys::pread_vec(&f, 300_000, at.max(0));
            }
            let _ = sys::fibmap(&f, 3);
            let _ = sys::fiemap(&f);
        }
    }
    if !write {
        return;
    }
    let mut dirs = vec![v.mp.clone()];
    dirs.extend(all.iter().filter(|a| a.1).map(|a| a.0.clone()).take(20));
    for (p, is_dir) in all.iter().take(100) {
        if !is_dir {
            if let Ok(f) = sys::open(p, libc::O_RDWR) {
                let size = sys::fstat(&f).map_or(0, |s| s.size) as i64;
                let _ = sys::pwrite(&f, &[1; 5000], 100);
                if size < 20_000_000 {
                    let _ = sys::pwrite(&f, &[2; 5000], size);
                    let _ = sys::fallocate(&f, 1, 0, size + 50_000);
                }
                let _ = sys::fsync(&f);
                let _ = sys::ftruncate(&f, size / 2);
            }
        }
    }
    for d in &dirs {
        let _ = sys::create(&d.join("a new file with a long name"))
            .map(|f| sys::pwrite(&f, &[3; 9000], 0));
        let _ = sys::mkdir(&d.join("NEWDIR"));
        let _ = sys::rename(&d.join("a new file with a long name"), &v.p("moved"), 0);
    }
    for (p, is_dir) in all.iter().rev() {
        let _ = if *is_dir {
            sys::rmdir(p)
        } else {
            sys::unlink(p)
        };
    }
    sys::sync();
}

/// Mounts in several ways, uses, unmounts. Only the unmount has to succeed.
fn survive(image: &Path, fs: &str) -> Result<()> {
    for (flags, opts, write) in [
        (libc::MS_RDONLY, "", false),
        (0, "errors=continue", true),
        (0, "", true),
    ] {
        let copy = Image::copy_of(image, "copy")?.path;
        let dev = sys::Loop::attach(&copy, 0, false).context("loop device")?;
        let mp = Path::new(WORK).join("mnt-t");
        let _ = std::fs::create_dir(&mp);
        if sys::mount(&dev.dev, &mp, fs, flags, opts).is_err() {
            continue;
        }
        let view = Vol::view(fs, &mp, &copy);
        use_it(&view, write);
        sys::umount(&mp, 0).with_context(|| format!("umount after '{opts}'"))?;
    }
    Ok(())
}

/// A volume with some content, made by the stock driver once and copied.
fn populated(bits: u32) -> Result<Image> {
    let keep = Path::new(WORK).join(format!("populated{bits}.tmpl"));
    if !keep.exists() {
        let mut g = geom::fat(bits);
        if bits == 32 {
            g.bytes = 34 << 20;
        }
        let mut v = Vol::fresh(&g, "vfat", "", "p")?;
        std::fs::write(v.p("BIG"), vec![0xB1; 60_000])?;
        std::fs::write(v.p("SMALL"), vec![0x51; 3000])?;
        sys::mkdir(&v.p("DIR"))?;
        sys::mkdir(&v.p("DIR/SUB"))?;
        sys::mkdir(&v.p("DIR2"))?;
        for i in 0..6 {
            std::fs::write(v.p(format!("DIR/file with a long name {i}")), vec![i; 700])?;
            std::fs::write(v.p(format!("DIR/SUB/F{i}")), b"x")?;
        }
        std::fs::write(v.p("a long name in the root.txt"), b"root")?;
        v.umount()?;
        std::fs::rename(&v.image.path, &keep)?;
    }
    Image::copy_of(&keep, "populated")
}

fn damaged(bits: u32, damage: fn(&crate::disk::Disk) -> Result<()>, fs: &str) -> Result<()> {
    let image = populated(bits)?;
    damage(&image.disk()?)?;
    survive(&image.path, fs)
}

fn damage_group(name: &str, list: &'static [Damage]) -> Vec<Group> {
    [12, 16, 32]
        .into_iter()
        .map(|bits| Group {
            name: format!("{name}-fat{bits}"),
            cases: list
                .iter()
                .map(|&(n, f)| Case::new(n, move |cfg| damaged(bits, f, &cfg.fs)).limit(90))
                .collect(),
        })
        .collect()
}

/// Fields of the boot sector: name, offset, length, values to try.
pub const FIELDS: &[(&str, u64, usize, &[u64])] = &[
    ("jump", 0, 3, &[0, 0xFF_FFFF]),
    (
        "sector_size",
        11,
        2,
        &[0, 1, 128, 256, 513, 1024, 4096, 8192, 0xFFFF],
    ),
    ("cluster_size", 13, 1, &[0, 3, 64, 128, 255]),
    ("reserved", 14, 2, &[0, 2, 0x7FFF, 0xFFFF]),
    ("fats", 16, 1, &[0, 1, 3, 200, 255]),
    ("root_entries", 17, 2, &[0, 1, 7, 15, 0xFFF0, 0xFFFF]),
    ("total_sectors_16", 19, 2, &[0, 1, 100, 0xFFFF]),
    ("media", 21, 1, &[0, 1, 0xF0, 0xF7, 0xFF]),
    ("fat_sectors_16", 22, 2, &[0, 1, 2, 0x8000, 0xFFFF]),
    (
        "total_sectors_32",
        32,
        4,
        &[0, 1, 100, 0x7FFF_FFFF, 0xFFFF_FFFF],
    ),
    (
        "fat_sectors_32",
        36,
        4,
        &[0, 1, 0x0100_0000, 0x7FFF_FFFF, 0xFFFF_FFFF],
    ),
    ("ext_flags", 40, 2, &[1, 0x80, 0x81, 0x8F, 0xFFFF]),
    ("version", 42, 2, &[1, 0x100, 0xFFFF]),
    (
        "root_cluster",
        44,
        4,
        &[0, 1, 0x0FFF_FFF7, 0xFFFF_FFFF, 66_000, 70_000],
    ),
    ("fsinfo_sector", 48, 2, &[0, 2, 0x1000, 0xFFFF]),
    ("backup_sector", 50, 2, &[0, 0xFFFF]),
    ("signature", 510, 2, &[0, 0x55AA]),
];

fn bpb_field(bits: u32, at: u64, len: usize, values: &[u64], fs: &str) -> Result<()> {
    for v in values {
        let image = populated(bits)?;
        image.disk()?.write(at, &v.to_le_bytes()[..len])?;
        survive(&image.path, fs).with_context(|| format!("value {v:#x}"))?;
    }
    Ok(())
}

/// Changes of the boot sector that are none of the driver's business: it has to mount.
fn harmless(bits: u32, fs: &str) -> Result<()> {
    let patches: &[(u64, &[u8])] = &[
        (3, b"\0\0\0\0\0\0\0\0"),
        (24, &[0; 8]),
        (24, &[0xFF; 4]),
        (510, &[0, 0]),
        (if bits == 32 { 66 } else { 38 }, &[0]),
        (if bits == 32 { 82 } else { 54 }, b"NTFS    "),
    ];
    for (at, bytes) in patches {
        let image = populated(bits)?;
        image.disk()?.write(*at, bytes)?;
        let mut v =
            Vol::mount_image(image, fs, "", "t").with_context(|| format!("bytes at {at}"))?;
        std::fs::write(v.p("new"), b"x")?;
        v.remount()?;
        std::fs::read(v.p("new"))?;
    }
    Ok(())
}

fn truncated(bits: u32, fs: &str) -> Result<()> {
    let image = populated(bits)?;
    let d = image.disk()?;
    let whole = std::fs::metadata(&image.path)?.len();
    let cuts = [
        0,
        512,
        d.fat_start + 512,
        d.data_start - 512,
        d.data_start + 4 * d.cluster,
        whole / 2,
        whole - 512,
    ];
    for cut in cuts {
        let image = populated(bits)?;
        std::fs::OpenOptions::new()
            .write(true)
            .open(&image.path)?
            .set_len(cut)?;
        survive(&image.path, fs).with_context(|| format!("{cut} bytes left"))?;
    }
    Ok(())
}

fn boot_noise(bits: u32, seed: u64, fs: &str) -> Result<()> {
    let mut r = Rng::new(seed * 100 + bits as u64);
    for _ in 0..6 {
        let image = populated(bits)?;
        let d = image.disk()?;
        for _ in 0..=r.below(3) {
            d.write(11 + r.below(42), &[r.next() as u8])?;
        }
        survive(&image.path, fs).with_context(|| format!("seed {seed}"))?;
    }
    Ok(())
}

/// The suite.
pub fn suite() -> Suite {
    let mut groups = Vec::new();
    for bits in [12, 16, 32] {
        let mut cases: Vec<Case> = FIELDS
            .iter()
            .filter(|f| bits == 32 || f.1 < 36 || f.1 == 510)
            .map(|&(name, at, len, values)| {
                Case::new(name, move |cfg| bpb_field(bits, at, len, values, &cfg.fs))
            })
            .collect();
        cases.push(Case::new("harmless_changes", move |cfg| {
            harmless(bits, &cfg.fs)
        }));
        cases.push(Case::new("truncated_device", move |cfg| {
            truncated(bits, &cfg.fs)
        }));
        for seed in 1..=3 {
            cases.push(Case::new(format!("noise_{seed}"), move |cfg| {
                boot_noise(bits, seed, &cfg.fs)
            }));
        }
        groups.push(Group {
            name: format!("boot-fat{bits}"),
            cases,
        });
    }
    groups.extend(damage_group("chain", CHAINS));
    groups.extend(damage_group("dir", DIRS));
    Suite {
        name: "badimg",
        groups,
    }
}
