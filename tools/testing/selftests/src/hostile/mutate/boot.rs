// SPDX-License-Identifier: GPL-2.0

//! The boot sector and FSINFO.

use super::super::image::Image;
use super::Mutation;
use crate::badimg::FIELDS;
use crate::rng::Rng;

pub const MUTATIONS: &[Mutation] = &[
    ("boot_field", field),
    ("boot_field_random", field_random),
    ("boot_bit", |v, r| v.flip(11 + r.below(79), r.next())),
    ("boot_total_sectors", total_sectors),
    ("boot_fat_length", fat_length),
    ("boot_ext_flags", ext_flags),
    ("boot_root_cluster", |v, r| {
        let c = super::wild(v, r);
        put(v, 44, c as u64, 4);
    }),
    ("boot_dirty", |v, r| {
        let at = if v.shape.bits == 32 { 65 } else { 37 };
        v.write(at, &[*r.pick(&[1, 2, 3, 0xFF])]);
    }),
    ("boot_type_string", |v, r| {
        let at = if v.shape.bits == 32 { 82 } else { 54 };
        v.write(
            at,
            *r.pick(&[b"FAT12   ", b"FAT16   ", b"FAT32   ", b"\0\0\0\0\0\0\0\0"]),
        );
    }),
    ("fsinfo_hints", fsinfo_hints),
    ("fsinfo_signature", |v, r| {
        let at = v.shape.sector + *r.pick(&[0, 484, 508]);
        v.write(at, &(r.next() as u32).to_le_bytes());
    }),
    ("fsinfo_elsewhere", |v, r| {
        let n = *r.pick(&[0, 2, 6, 7, v.shape.reserved, v.shape.reserved + 1, 0xFFFF]);
        put(v, 48, n, 2);
    }),
];

fn put(v: &mut Image, at: u64, value: u64, len: usize) {
    v.write(at, &value.to_le_bytes()[..len]);
}

/// A value that someone thought of.
fn field(v: &mut Image, r: &mut Rng) {
    let (_, at, len, values) = r.pick(FIELDS);
    let value = *r.pick(values);
    put(v, *at, value, *len);
}

/// One that nobody thought of, or one close to the right one.
fn field_random(v: &mut Image, r: &mut Rng) {
    let (_, at, len, _) = r.pick(FIELDS);
    let mut old = [0; 8];
    old[..*len].copy_from_slice(&v.read(*at, *len));
    let value = match r.below(3) {
        0 => r.next(),
        1 => u64::from_le_bytes(old)
            .wrapping_add(r.below(9))
            .wrapping_sub(4),
        _ => u64::from_le_bytes(old) << r.below(4) >> r.below(4),
    };
    put(v, *at, value, *len);
}

/// A volume longer or shorter than it is; at times longer than the device.
fn total_sectors(v: &mut Image, r: &mut Rng) {
    let total = v.shape.bytes() / v.shape.sector;
    let n = match r.below(4) {
        0 => total / 2,
        1 => total + 1 + r.below(1000),
        2 => v.shape.data_start() / v.shape.sector + r.below(3),
        _ => total.saturating_sub(1 + r.below(10)),
    };
    put(v, 19, if n < 0x1_0000 { n } else { 0 }, 2);
    put(v, 32, n, 4);
}

/// A FAT that is too short for the clusters, or overlaps what comes behind it.
fn fat_length(v: &mut Image, r: &mut Rng) {
    let n = v.shape.fat_sectors;
    let n = *r.pick(&[1, n / 2, n.saturating_sub(1), n + 1, n * 2]);
    if v.shape.bits == 32 {
        put(v, 36, n.max(1), 4);
    } else {
        put(v, 22, n.max(1), 2);
    }
}

/// Another FAT than the first is the one to use; perhaps one that isn't there.
fn ext_flags(v: &mut Image, r: &mut Rng) {
    put(v, 40, 0x80 | r.below(4), 2);
}

fn fsinfo_hints(v: &mut Image, r: &mut Rng) {
    let at = v.shape.sector;
    let clusters = v.shape.clusters;
    for at in [at + 488, at + 492] {
        let any = r.next() as u32;
        let n = *r.pick(&[
            0,
            1,
            2,
            clusters / 2,
            clusters,
            clusters + 1,
            clusters + 2,
            0x0FFF_FFFF,
            u32::MAX - 1,
            u32::MAX,
            any,
        ]);
        v.write(at, &n.to_le_bytes());
    }
}
