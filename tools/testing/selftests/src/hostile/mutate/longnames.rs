// SPDX-License-Identifier: GPL-2.0

//! Long names: slots that are wrong, out of place, or not there.

use super::super::image::Image;
use super::super::slots::{checksum, long_slot, short_slot, Name};
use super::{dir, Mutation};
use crate::rng::Rng;

pub const MUTATIONS: &[Mutation] = &[
    ("long_checksum", |v, r| {
        existing(v, r, |v, at, r| v.flip(at + 13, r.next()))
    }),
    ("long_order", |v, r| {
        existing(v, r, |v, at, r| v.write(at, &[r.next() as u8]));
    }),
    ("long_no_last", |v, r| {
        existing(v, r, |v, at, _| {
            let order = v.read(at, 1)[0] & !0x40;
            v.write(at, &[order]);
        });
    }),
    ("long_deleted", |v, r| {
        existing(v, r, |v, at, _| v.write(at, &[0xE5]))
    }),
    ("long_type", |v, r| {
        existing(v, r, |v, at, r| {
            v.write(at + 12, &[r.next() as u8]);
            v.write(at + 26, &(r.next() as u16).to_le_bytes());
        });
    }),
    ("long_units", |v, r| {
        existing(v, r, |v, at, r| {
            let unit = *r.pick(UNITS);
            v.write(at + 1 + 2 * r.below(5), &unit.to_le_bytes());
        });
    }),
    ("long_bits", |v, r| {
        existing(v, r, |v, at, r| v.flip(at + r.below(32), r.next()))
    }),
    ("long_without_entry", |v, r| {
        let slots = Name::long("an orphan that belongs to no entry", 9).long_slots();
        if let Some(d) = dir(v, false, r) {
            v.append(d, &slots, r);
        }
    }),
    ("long_twice", |v, r| {
        let name = Name::long("this name is there twice", 5);
        let mut slots = name.long_slots();
        slots.extend(slots.clone());
        entry(v, r, slots, name.short);
    }),
    ("long_of_one_unit", |v, r| {
        let unit = *r.pick(UNITS);
        one(v, r, &[unit; 13]);
    }),
    ("long_empty", |v, r| one(v, r, &[])),
    ("long_is_dots", |v, r| {
        let n = 1 + r.below(4) as usize;
        one(v, r, &[0x2E; 13][..n]);
    }),
    ("long_trailing", |v, r| {
        let end = *r.pick(&[0x20, 0x2E]);
        one(v, r, &[0x61, 0x62, end, end]);
    }),
    ("long_surrogates", |v, r| {
        let mut units = [0xD800; 13];
        for u in &mut units {
            *u += r.below(0x800) as u16;
        }
        one(v, r, &units);
    }),
    ("long_like_another", |v, r| {
        one(v, r, &"BIG".encode_utf16().collect::<Vec<_>>())
    }),
    ("long_too_many", too_many),
    ("long_to_the_end", to_the_end),
];

/// Units that don't belong into a name, or not alone.
const UNITS: &[u16] = &[
    0, 1, 0x1F, 0x20, 0x22, 0x2A, 0x2E, 0x2F, 0x3A, 0x5C, 0x7C, 0x7F, 0xD800, 0xDBFF, 0xDC00,
    0xFFFE, 0xFFFF, 0x0130, 0x6F22,
];

/// Does something with a slot of a file's long name.
fn existing(v: &mut Image, r: &mut Rng, f: fn(&mut Image, u64, &mut Rng)) {
    let slots: Vec<u64> = v.files.iter().flat_map(|f| f.longs.clone()).collect();
    if !slots.is_empty() {
        let at = *r.pick(&slots);
        f(v, at, r);
    }
}

/// Adds slots with an entry behind them.
fn entry(v: &mut Image, r: &mut Rng, mut slots: Vec<[u8; 32]>, short: [u8; 11]) {
    let attr = *r.pick(&[0x10, 0x20, 0x20]);
    let start = if attr == 0x10 { super::used(v, r) } else { 0 };
    slots.push(short_slot(&short, attr, start, 0));
    if let Some(d) = dir(v, false, r) {
        v.append(d, &slots, r);
    }
}

/// A sound set of one slot, with these units.
fn one(v: &mut Image, r: &mut Rng, units: &[u16]) {
    let mut short = *b"ONE0       ";
    short[3] = b'A' + r.below(26) as u8;
    entry(v, r, vec![long_slot(0x41, checksum(&short), units)], short);
}

/// As many slots as the number can tell, or as a name can't have.
fn too_many(v: &mut Image, r: &mut Rng) {
    let short = *b"TOOMANY    ";
    let n = *r.pick(&[20, 21, 31, 63]);
    let slots = (1..=n)
        .rev()
        .map(|i| {
            long_slot(
                i | if i == n { 0x40 } else { 0 },
                checksum(&short),
                &[0x61; 13],
            )
        })
        .collect();
    entry(v, r, slots, short);
}

/// Nothing but long-name slots up to the end of the directory.
fn to_the_end(v: &mut Image, r: &mut Rng) {
    let Some(d) = dir(v, false, r) else { return };
    let left = (v.dirs[d].slots.len() - v.dirs[d].used).min(200);
    let slots: Vec<[u8; 32]> = (0..left)
        .map(|i| {
            let order = 20 - (i % 20) as u8;
            long_slot(order | if order == 20 { 0x40 } else { 0 }, 9, &[0x62; 13])
        })
        .collect();
    v.append(d, &slots, r);
}
