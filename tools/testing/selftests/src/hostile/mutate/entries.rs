// SPDX-License-Identifier: GPL-2.0

//! Directory entries and directories as a whole.

use super::super::image::Image;
use super::super::slots::short_slot;
use super::{dir, slot, used, wild, Mutation};
use crate::rng::Rng;

pub const MUTATIONS: &[Mutation] = &[
    ("dir_contains_itself", |v, r| {
        if let Some(d) = dir(v, true, r) {
            let c = v.dirs[d].chain[0];
            v.append(d, &[short_slot(b"SELF       ", 0x10, c, 0)], r);
        }
    }),
    ("dir_contains_ancestor", ancestor),
    ("dir_contains_root", |v, r| {
        if let Some(d) = dir(v, false, r) {
            let c = *r.pick(&[0, v.shape.root_cluster]);
            v.append(d, &[short_slot(b"ROOT       ", 0x10, c, 0)], r);
        }
    }),
    ("dir_twice", |v, r| {
        if let (Some(d), Some(other)) = (dir(v, false, r), dir(v, true, r)) {
            let c = v.dirs[other].chain[0];
            v.append(d, &[short_slot(b"TWICE      ", 0x10, c, 0)], r);
        }
    }),
    ("dir_over_file", |v, r| {
        let c = used(v, r);
        if let Some(d) = dir(v, false, r) {
            v.append(d, &[short_slot(b"OVERFILE   ", 0x10, c, 0)], r);
        }
    }),
    ("file_over_dir", |v, r| {
        if let (Some(d), Some(other)) = (dir(v, false, r), dir(v, true, r)) {
            let c = v.dirs[other].chain[0];
            v.append(d, &[short_slot(b"OVERDIR    ", 0x20, c, 5000)], r);
        }
    }),
    ("file_is_dir", |v, r| attribute(v, r, 0x10)),
    ("entry_attributes", |v, r| {
        let any = r.next() as u8;
        attribute(v, r, any);
    }),
    ("dots_missing", |v, r| {
        dots(v, r, |v, at, _| v.write(at, &[0xE5; 64]))
    }),
    ("dot_dot_missing", |v, r| {
        dots(v, r, |v, at, _| v.write(at + 32, &[0xE5]))
    }),
    ("dots_wild", |v, r| {
        dots(v, r, |v, at, r| {
            let (a, b) = (wild(v, r), wild(v, r));
            v.set_start(at, a);
            v.set_start(at + 32, b);
        });
    }),
    ("dot_dot_to_itself", |v, r| {
        if let Some(d) = dir(v, true, r) {
            let (at, c) = (v.dirs[d].slots[1], v.dirs[d].chain[0]);
            v.set_start(at, c);
        }
    }),
    ("dots_are_files", |v, r| {
        dots(v, r, |v, at, _| {
            v.write(at + 11, &[0x20]);
            v.write(at + 32 + 11, &[0x20]);
            v.set_size(at, 1000);
        });
    }),
    ("dots_swapped", |v, r| {
        dots(v, r, |v, at, _| {
            let both = v.read(at, 64);
            v.write(at, &both[32..]);
            v.write(at + 32, &both[..32]);
        });
    }),
    ("dots_elsewhere", |v, r| {
        if let Some(d) = dir(v, false, r) {
            let c = wild(v, r);
            for name in [b".          ", b"..         "] {
                v.append(d, &[short_slot(name, 0x10, c, 0)], r);
            }
        }
    }),
    ("dir_with_size", |v, r| {
        if let Some(at) = dir(v, true, r).and_then(|d| v.dirs[d].entry) {
            v.set_size(at, r.next() as u32);
        }
    }),
    ("dir_ends_early", |v, r| {
        if let Some(at) = dir(v, false, r).and_then(|d| slot(v, d, r)) {
            v.write(at, &[0]);
        }
    }),
    ("dir_full", full),
    ("dir_noise", |v, r| {
        if let Some(d) = dir(v, false, r) {
            for i in 2..v.dirs[d].slots.len().min(60) {
                let noise: Vec<u8> = (0..32).map(|_| r.next() as u8).collect();
                v.write(v.dirs[d].slots[i], &noise);
            }
        }
    }),
    ("entry_bits", |v, r| {
        for _ in 0..1 + r.below(20) {
            if let Some(at) = dir(v, false, r).and_then(|d| slot(v, d, r)) {
                v.flip(at + r.below(32), r.next());
            }
        }
    }),
    ("entry_copied", |v, r| {
        let from = dir(v, false, r).and_then(|d| slot(v, d, r));
        if let (Some(from), Some(d)) = (from, dir(v, false, r)) {
            let mut e = [0; 32];
            e.copy_from_slice(&v.read(from, 32));
            v.append(d, &[e], r);
        }
    }),
    ("names_twice", |v, r| {
        if let Some(d) = dir(v, false, r) {
            for _ in 0..3 {
                let c = wild(v, r);
                let attr = *r.pick(&[0x10, 0x20]);
                v.append(d, &[short_slot(b"SAME    TXT", attr, c, 9000)], r);
            }
        }
    }),
    ("short_names_wild", wild_names),
    ("labels", |v, r| {
        if let Some(d) = dir(v, false, r) {
            for attr in [0x08, 0x28, 0x18, 0x0E] {
                let c = wild(v, r);
                v.append(d, &[short_slot(b"LABEL      ", attr, c, 7777)], r);
            }
        }
    }),
    ("times_wild", |v, r| {
        if let Some(at) = dir(v, false, r).and_then(|d| slot(v, d, r)) {
            let noise: Vec<u8> = (0..8).map(|_| r.next() as u8).collect();
            v.write(at + 12, &noise);
            v.write(at + 22, &noise[..4]);
        }
    }),
    ("deleted_everywhere", |v, r| {
        if let Some(d) = dir(v, false, r) {
            for _ in 0..5 {
                if let Some(at) = slot(v, d, r) {
                    v.write(at, &[0xE5]);
                }
            }
        }
    }),
];

/// Does something with the two dot entries of a subdirectory.
fn dots(v: &mut Image, r: &mut Rng, f: fn(&mut Image, u64, &mut Rng)) {
    if let Some(d) = dir(v, true, r) {
        let at = v.dirs[d].slots[0];
        f(v, at, r);
    }
}

fn attribute(v: &mut Image, r: &mut Rng, attr: u8) {
    if let Some(at) = dir(v, false, r).and_then(|d| slot(v, d, r)) {
        v.write(at + 11, &[attr]);
    }
}

/// A directory that holds one of those it lies in.
fn ancestor(v: &mut Image, r: &mut Rng) {
    let Some(mut d) = dir(v, true, r) else { return };
    let lowest = d;
    for _ in 0..=r.below(4) {
        if v.dirs[d].parent != 0 {
            d = v.dirs[d].parent;
        }
    }
    let c = v.dirs[d].chain[0];
    v.append(lowest, &[short_slot(b"UP         ", 0x10, c, 0)], r);
}

/// No free slot and no end mark up to the end of the last cluster.
fn full(v: &mut Image, r: &mut Rng) {
    let Some(d) = dir(v, false, r) else { return };
    let left = v.dirs[d].slots.len() - v.dirs[d].used;
    for i in 0..left.min(3000) {
        let mut name = *b"FILL0000   ";
        name[4..8].copy_from_slice(format!("{i:04}").as_bytes());
        if v.append(d, &[short_slot(&name, 0x20, 0, 0)], r).is_none() {
            return;
        }
    }
}

/// 8.3 names that no system would write.
fn wild_names(v: &mut Image, r: &mut Rng) {
    const NAMES: &[&[u8; 11]] = &[
        b"A/B     TXT",
        b"/          ",
        b"A\0B     C  ",
        b"\x05KANJI     ",
        b"        TXT",
        b"lower   txt",
        b" LEADING   ",
        b"A..B    .. ",
        b"...        ",
        b"\x01\x02\x03     \x7F\xFF ",
        b"\xFF\xFE\xFD\xFC\xFB\xFA\xF9\xF8\xF7\xF6\xF5",
        b"CON        ",
        b"A B C   D E",
        b"\\:*?<>|\"   ",
    ];
    let Some(d) = dir(v, false, r) else { return };
    for _ in 0..4 {
        let (c, attr) = (wild(v, r), *r.pick(&[0x10, 0x20, 0x20]));
        let e = short_slot(r.pick::<&[u8; 11]>(NAMES), attr, c, r.next() as u32);
        v.append(d, &[e], r);
    }
}
