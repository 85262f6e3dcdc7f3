// SPDX-License-Identifier: GPL-2.0

//! The FAT: chains that loop, cross, lead nowhere, and don't fit the sizes.

use super::super::image::Image;
use super::{dir, file, used, wild, Mutation};
use crate::rng::Rng;

pub const MUTATIONS: &[Mutation] = &[
    ("chain_loop", chain_loop),
    ("chain_self_loop", |v, r| {
        let c = used(v, r);
        v.set(c, c);
    }),
    ("chain_wild", |v, r| {
        let (c, to) = (used(v, r), wild(v, r));
        v.set(c, to);
    }),
    ("chain_cross_linked", |v, r| {
        let (c, to) = (used(v, r), used(v, r));
        v.set(c, to);
    }),
    ("chain_cut", |v, r| {
        let c = used(v, r);
        v.set(c, v.shape.end_mark() - r.below(8) as u32);
    }),
    ("chain_too_long", |v, r| {
        if let Some(&last) = file(v, 1, r).and_then(|f| f.chain.last()) {
            let more = v.alloc(1 + r.below(30), r, true);
            if let Some(&first) = more.first() {
                v.set(last, first);
            }
        }
    }),
    ("chain_all_of_the_volume", all_of_it),
    ("start_wild", |v, r| {
        let c = wild(v, r);
        if let Some(at) = file(v, 0, r).map(|f| f.entry) {
            v.set_start(at, c);
        }
    }),
    ("start_wild_dir", |v, r| {
        let c = wild(v, r);
        if let Some(at) = dir(v, true, r).and_then(|d| v.dirs[d].entry) {
            v.set_start(at, c);
        }
    }),
    ("start_high_word", |v, r| {
        if let Some(at) = file(v, 0, r).map(|f| f.entry) {
            v.write(at + 20, &(r.next() as u16).to_le_bytes());
        }
    }),
    ("start_shared", |v, r| {
        let c = used(v, r);
        if let Some(at) = file(v, 0, r).map(|f| f.entry) {
            v.set_start(at, c);
        }
    }),
    ("size_wild", size_wild),
    ("dir_chain_loop", |v, r| {
        if let Some(d) = dir(v, v.shape.bits != 32, r) {
            let (first, last) = (v.dirs[d].chain[0], v.dirs[d].chain.last().copied());
            v.set(last.unwrap_or(first), first);
        }
    }),
    ("dir_chain_wild", |v, r| {
        let to = wild(v, r);
        if let Some(d) = dir(v, v.shape.bits != 32, r) {
            let c = *r.pick(&v.dirs[d].chain);
            v.set(c, to);
        }
    }),
    ("dir_chain_into_file", |v, r| {
        let to = file(v, 1, r).map(|f| f.chain[0]);
        if let (Some(d), Some(to)) = (dir(v, v.shape.bits != 32, r), to) {
            let last = *v.dirs[d].chain.last().expect("a cluster");
            v.set(last, to);
        }
    }),
    ("fat_reserved_entries", |v, r| {
        for n in 0..2 {
            v.set(n, r.next() as u32);
        }
    }),
    ("fat_nothing_free", |v, r| {
        let mark = v.shape.end_mark() - *r.pick(&[0, 8]);
        for c in 2..=v.shape.last().min(6000) {
            if v.get(c) == 0 {
                v.set(c, mark);
            }
        }
    }),
    ("fat_all_free", |v, _| {
        for c in 2..=v.shape.last().min(6000) {
            v.set(c, 0);
        }
    }),
    ("fat_copies_differ", |v, r| {
        for _ in 0..8 {
            let (copy, c, to) = (r.below(v.shape.fats), used(v, r), wild(v, r));
            v.set_copy(copy, c, to);
        }
    }),
    ("fat_second_copy_empty", |v, _| {
        if v.shape.fats > 1 {
            let at = v.shape.fat_start() + v.shape.fat_bytes();
            v.write(at, &vec![0; v.shape.fat_bytes().min(20_000) as usize]);
        }
    }),
    ("fat_bits", |v, r| {
        for _ in 0..1 + r.below(30) {
            let at = v.shape.fat_start() + r.below(v.shape.fat_bytes().min(600));
            v.flip(at, r.next());
        }
    }),
    ("fat_top_bits", |v, r| {
        // FAT32 keeps four bits of each entry for nobody.
        let at = v.shape.fat_start();
        for c in 0..v.shape.clusters.min(500) as u64 {
            if v.shape.bits == 32 && r.one_in(2) {
                v.write(at + 4 * c + 3, &[0xF0 | v.read(at + 4 * c + 3, 1)[0]]);
            }
        }
    }),
];

fn chain_loop(v: &mut Image, r: &mut Rng) {
    if let Some(f) = file(v, 2, r) {
        let (from, to) = (*r.pick(&f.chain), *r.pick(&f.chain));
        v.set(from, to);
    }
}

/// A file whose chain goes through all clusters, those of others among them.
fn all_of_it(v: &mut Image, r: &mut Rng) {
    let Some(at) = file(v, 0, r).map(|f| f.entry) else {
        return;
    };
    let last = v.shape.last().min(8000);
    for c in 2..last {
        v.set(c, c + 1);
    }
    v.set(last, v.shape.end_mark());
    v.set_start(at, 2);
    v.set_size(
        at,
        (last as u64 * v.shape.cluster()).min(u32::MAX.into()) as u32,
    );
}

fn size_wild(v: &mut Image, r: &mut Rng) {
    let cluster = v.shape.cluster() as u32;
    let Some(f) = file(v, 0, r) else { return };
    let (at, chain) = (f.entry, f.chain.len() as u32 * cluster);
    let size = match r.below(9) {
        0 => 0,
        1 => u32::MAX,
        2 => u32::MAX - r.below(70_000) as u32,
        3 => chain + 1,
        4 => chain + cluster,
        5 => chain.saturating_sub(cluster),
        6 => 1 << 31,
        7 => (v.shape.bytes() + r.below(1 << 20)).min(u32::MAX.into()) as u32,
        _ => r.next() as u32,
    };
    v.set_size(at, size);
}
