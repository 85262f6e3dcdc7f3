// SPDX-License-Identifier: GPL-2.0

//! Sound volumes of many shapes, with something in them, made from a seed.

use super::image::{Image, Shape};
use super::slots::{short_slot, Name};
use crate::rng::Rng;

/// What kind of volume a seed stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing is damaged: everything has to work.
    Control,
    Usual,
    /// Has a directory of 65,536 slots without an end mark.
    LongDirectory,
    /// Has a file of 4 GiB - 1, on a large device.
    LargeFile,
}

impl Kind {
    /// The kind of a seed.
    pub fn of(seed: u64) -> Kind {
        match seed {
            s if s % 16 == 0 => Kind::Control,
            s if s % 251 == 7 => Kind::LongDirectory,
            s if s % 257 == 9 => Kind::LargeFile,
            _ => Kind::Usual,
        }
    }
}

/// Clusters, their length in bytes and the FAT type.
fn size(kind: Kind, rng: &mut Rng) -> (u32, u32, u64) {
    match kind {
        Kind::LargeFile => return (32, 70_000, 65_536),
        Kind::LongDirectory => {
            return *rng.pick(&[(16, 9000, 512), (16, 4100, 2048), (32, 66_000, 512)]);
        }
        _ => {}
    }
    match rng.below(3) {
        0 => {
            let cluster = *rng.pick(&[512, 512, 1024, 2048, 4096, 16_384, 65_536]);
            let n = *rng.pick(&[24, 60, 300, 1000, 2000, 4084]);
            (12, if cluster > 8192 { n.min(700) } else { n }, cluster)
        }
        1 => {
            let cluster = *rng.pick(&[512, 512, 1024, 2048, 8192]);
            let n = if cluster == 512 && rng.one_in(8) {
                65_524
            } else {
                4085 + rng.below(1000) as u32
            };
            (16, n, cluster)
        }
        _ if kind == Kind::Control || rng.one_in(3) => (32, 65_525 + rng.below(500) as u32, 512),
        _ => {
            let cluster = *rng.pick(&[512, 512, 1024, 4096, 32_768]);
            (32, 24 + rng.below(1500) as u32, cluster)
        }
    }
}

/// A shape.
pub fn shape(kind: Kind, rng: &mut Rng) -> Shape {
    let (bits, clusters, cluster) = size(kind, rng);
    let plain = kind == Kind::Control;
    let sector: u64 = match rng.below(4) {
        0 if !plain => *rng.pick(&[1024, 2048, 4096]),
        _ => 512,
    };
    let cluster = cluster.max(sector);
    let fats = if plain {
        2
    } else {
        *rng.pick(&[2, 2, 2, 1, 3])
    };
    let reserved = match (bits, plain) {
        (32, true) => 32,
        (32, false) => 8 + rng.below(30),
        (_, true) => 1,
        _ => 1 + rng.below(8),
    };
    let slack = if plain { 0 } else { rng.below(3) };
    let fat_bytes = (clusters as u64 + 2) * bits as u64 / 8 + 1;
    Shape {
        bits,
        sector,
        per_cluster: cluster / sector,
        reserved,
        fats,
        fat_sectors: fat_bytes.div_ceil(sector) + slack,
        root_entries: match bits {
            32 => 0,
            // Whole sectors of up to 4096 bytes.
            _ => *rng.pick(&[256, 512]),
        },
        root_cluster: match bits {
            32 if plain || rng.one_in(2) => 2,
            32 => 2 + rng.below(20) as u32,
            _ => 0,
        },
        clusters,
    }
}

/// The names that `damage` looks for, and more of all kinds.
pub fn populate(v: &mut Image, kind: Kind, rng: &mut Rng) {
    let c = v.shape.cluster();
    // The tools that look at a sound volume want the label of the boot sector here, too.
    if kind == Kind::Control || rng.one_in(2) {
        v.append(0, &[short_slot(b"HOSTILE    ", 0x08, 0, 0)], rng);
    }
    let large = (v.shape.clusters as u64 / 4).min(60) * c;
    v.add_file(
        0,
        &Name::short(b"BIG        "),
        large.min(60_000).max(c),
        1,
        rng,
    );
    v.add_file(0, &Name::short(b"SMALL      "), 3000.min(2 * c), 2, rng);
    if let Some(d) = v.add_dir(0, &Name::short(b"DIR        "), rng) {
        v.add_dir(d, &Name::short(b"SUB        "), rng);
        for i in 0..3 {
            v.add_file(
                d,
                &Name::long(&format!("file with a long name {i}"), i),
                700,
                10 + i,
                rng,
            );
        }
    }
    v.add_dir(0, &Name::short(b"DIR2       "), rng);
    v.add_file(0, &Name::long("a long name in the root.txt", 77), 4, 3, rng);
    for i in 0..rng.below(12) as u32 {
        more(v, i, rng);
    }
    match kind {
        Kind::LongDirectory => long_directory(v, rng),
        Kind::LargeFile => large_file(v, rng),
        _ => {}
    }
    v.write_fsinfo();
}

/// One more file or directory anywhere.
fn more(v: &mut Image, i: u32, rng: &mut Rng) {
    let dir = rng.below(v.dirs.len() as u64) as usize;
    let long = format!("{}{}", "name ".repeat(1 + rng.below(40) as usize), i);
    let name = match rng.below(3) {
        0 => Name::long(&long, 0x100 + i),
        1 => Name::long(&format!("na\u{ef}ve \u{6f22}\u{5b57} {i}"), 0x200 + i),
        _ => {
            let mut short = *b"FILE0   TXT";
            short[4] = b'A' + (i % 26) as u8;
            Name::short(&short)
        }
    };
    if rng.one_in(3) {
        v.add_dir(dir, &name, rng);
    } else {
        let most = v.shape.cluster() * 5;
        let size = rng.below(most.min(30_000));
        let size = if rng.one_in(5) { 0 } else { size };
        v.add_file(dir, &name, size, 100 + i, rng);
    }
}

/// Fills a directory up to the last slot it can have.
fn long_directory(v: &mut Image, rng: &mut Rng) {
    let Some(dir) = v.add_dir(0, &Name::short(b"FULL       "), rng) else {
        return;
    };
    let slots: Vec<[u8; 32]> = (0..65_534u32)
        .map(|i| {
            let mut name = *b"F0000000   ";
            name[1..8].copy_from_slice(format!("{i:07}").as_bytes());
            short_slot(&name, 0x20, 0, 0)
        })
        .collect();
    v.append(dir, &slots, rng);
}

/// A file as large as FAT can have it; its data is nowhere written.
fn large_file(v: &mut Image, rng: &mut Rng) {
    let n = (1u64 << 32).div_ceil(v.shape.cluster());
    let chain = v.alloc(n, rng, false);
    let start = chain.first().copied().unwrap_or(0);
    let slot = short_slot(b"LARGE      ", 0x20, start, u32::MAX);
    let Some(at) = v.append(0, &[slot], rng) else {
        return;
    };
    v.files.push(super::image::Regular {
        path: "LARGE".into(),
        chain,
        size: u32::MAX.into(),
        entry: at[0],
        longs: Vec::new(),
        tag: 0,
    });
}
