// SPDX-License-Identifier: GPL-2.0

//! Boot sectors, and everything that is computed from one.

use crate::common;
use crate::input::Input;
use rvfat_unit::ondisk::{fat, Cluster, DirPos, FatType, FormatError, Geometry, ParseOptions};

/// Where fields are, and how long: those of the BPB, the state bytes and the signatures.
const FIELDS: &[(usize, usize)] = &[
    (0, 3),
    (11, 2),
    (13, 1),
    (14, 2),
    (16, 1),
    (17, 2),
    (19, 2),
    (21, 1),
    (22, 2),
    (32, 4),
    (36, 4),
    (37, 1),
    (38, 1),
    (40, 2),
    (44, 4),
    (48, 2),
    (65, 1),
    (66, 1),
    (510, 2),
];

/// The input chooses a sound boot sector and the length of the device, then gives fields new
/// values: which, and four bytes.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (mut sector, mut device) = match input.below(4) {
        0 => (common::floppy(), common::FLOPPY_BYTES),
        1 => (common::fat16(), common::FAT16_BYTES),
        2 => (common::fat32(), common::FAT32_BYTES),
        _ => ([0; 512], 0),
    };
    let opts = ParseOptions {
        dos1x: input.flag(),
    };
    if input.flag() {
        device = input.u64();
    }
    while !input.is_empty() {
        let (at, len) = FIELDS[input.below(FIELDS.len())];
        sector[at..at + len].copy_from_slice(&input.array::<4>()[..len]);
    }
    match Geometry::parse(&sector, device, opts) {
        Ok(g) => check(&g, device),
        Err(e) => refused(e),
    }
}

/// What is said about a refused volume is one line.
fn refused(e: FormatError) {
    let text = e.to_string();
    assert!(!text.is_empty() && !text.contains('\n'), "message {text:?}");
}

/// The invariants that `Geometry` documents, with arithmetic in 128 bits.
fn check(g: &Geometry, device: u64) {
    let wide = u128::from;
    let sector = wide(1u64 << g.sector_bits());
    assert!((9..=12).contains(&g.sector_bits()));
    assert!((g.sector_bits()..=g.sector_bits() + 7).contains(&g.cluster_bits()));
    assert_eq!(wide(u64::from(g.sector_bytes())), sector);
    let per_cluster = wide(u64::from(g.sectors_per_cluster()));
    assert_eq!(sector * per_cluster, 1 << g.cluster_bits());

    let fat_sectors = wide(u64::from(g.fat_sectors()));
    let fats = wide(u64::from(g.fats()));
    let root = wide(g.root_start().get());
    let data = wide(g.data_start().get());
    let clusters = wide(u64::from(g.clusters()));
    assert!(g.fat_start().get() >= 1 && fats >= 1 && fat_sectors >= 1);
    assert_eq!(wide(g.fat_start().get()) + fats * fat_sectors, root);
    assert!(root + wide(u64::from(g.root_sectors())) <= data);
    assert_eq!(
        wide(u64::from(g.root_entries())) * 32,
        wide(u64::from(g.root_sectors())) * sector
    );
    let end = data + clusters * per_cluster;
    assert!(end <= wide(u64::from(g.total_sectors())));
    assert!(end * sector <= wide(device));
    assert_eq!(wide(g.fat_bytes()), fat_sectors * sector);

    for copy in 0..=u8::MAX {
        let start = g.fat_copy_start(copy).map(|s| wide(s.get()));
        let want = wide(g.fat_start().get()) + wide(u64::from(copy)) * fat_sectors;
        assert_eq!(start, (copy < g.fats()).then_some(want));
    }
    assert!(g.active_fat() < g.fats());

    let max = g.max_cluster();
    assert_eq!(max, g.clusters() + 1);
    for n in [0, 1, max + 1, u32::MAX] {
        assert_eq!(g.cluster(n), None);
    }
    for n in [2, 3, max / 2, max.saturating_sub(1), max] {
        if let Some(c) = g.cluster(n) {
            cluster(g, c, end);
        }
    }
    if g.fat_type() == FatType::Fat32 {
        let root = g.root_cluster().expect("FAT32 has a root cluster");
        assert_eq!(g.cluster(root.get()), Some(root));
        assert_eq!(g.root_entries(), 0);
    } else {
        assert_eq!((g.root_cluster(), g.fsinfo_sector()), (None, None));
    }
    if let Some(s) = g.fsinfo_sector() {
        assert!(s.get() >= 1 && s < g.fat_start());
    }
    for bytes in [0, 1, 511, 513, device, g.max_file_size(), u64::MAX] {
        let n = u64::from(g.clusters_for(bytes).get());
        let want = bytes.div_ceil(u64::from(g.cluster_bytes()));
        assert_eq!(n, want.min(u64::from(u32::MAX)));
    }
}

/// A cluster of the volume lies where it should, and its FAT entry within the FAT.
fn cluster(g: &Geometry, c: Cluster, end: u128) {
    let first = g.cluster_sector(c);
    assert!(first >= g.data_start());
    let last = first
        .checked_add(u64::from(g.sectors_per_cluster()) - 1)
        .expect("a cluster's last sector");
    assert!(u128::from(last.get()) < end);
    assert_eq!(g.sector_cluster(first), Some(c));
    assert_eq!(g.sector_cluster(last), Some(c));
    let entry = g.fat_offset(c) + fat::entry_len(g.fat_type()) as u64;
    assert!(entry <= g.fat_bytes());
    assert_eq!(fat::entry_byte_offset(g.fat_type(), c), g.fat_offset(c));

    let bits = g.sector_bits();
    for offset in [0, 32, g.sector_bytes() - 32] {
        let p = DirPos::new(last, offset, bits).expect("a position on the volume");
        assert_eq!((p.sector(bits), p.offset(bits)), (last, offset as usize));
        assert_eq!(DirPos::from_raw(p.get()), p);
    }
    assert_eq!(DirPos::new(last, g.sector_bytes(), bits), None);
}
