// SPDX-License-Identifier: GPL-2.0

//! Ways to damage a populated volume.
//!
//! Each takes the structures of an unmounted image that holds `BIG`, `SMALL`, `DIR` (with files
//! and `DIR/SUB`), `DIR2` and a file with a long name.

use crate::disk::Disk;
use crate::rng::Rng;
use anyhow::{Context, Result};

/// A named damage.
pub type Damage = (&'static str, fn(&Disk) -> Result<()>);

const BIG: &[u8; 11] = b"BIG        ";
const SMALL: &[u8; 11] = b"SMALL      ";
const DIR: &[u8; 11] = b"DIR        ";
const DIR2: &[u8; 11] = b"DIR2       ";

fn chain(d: &Disk, name: &[u8; 11]) -> Result<Vec<u32>> {
    d.chain(d.start(d.find_root(name)?)?)
}

/// Points the entry in the middle of a file's chain elsewhere.
fn middle(d: &Disk, value: u32) -> Result<()> {
    let c = chain(d, BIG)?;
    d.set(c[c.len() / 2], value)
}

fn start(d: &Disk, name: &[u8; 11], cluster: u32) -> Result<()> {
    d.set_start(d.find_root(name)?, cluster)
}

fn beyond(d: &Disk) -> u32 {
    d.clusters + 2
}

fn dir_bytes(d: &Disk, data: impl Fn(usize) -> u8) -> Result<()> {
    let at = d.at(d.start(d.find_root(DIR)?)?);
    // The dot entries stay.
    let bytes: Vec<u8> = (64..d.cluster as usize).map(data).collect();
    d.write(at + 64, &bytes)
}

fn random(seed: u64, at: u64, len: u64, times: u64, d: &Disk) -> Result<()> {
    let mut r = Rng::new(seed);
    for _ in 0..times {
        d.write(at + r.below(len), &[r.next() as u8])?;
    }
    Ok(())
}

fn slot(d: &Disk, n: usize) -> Result<u64> {
    let slots = d.dir_slots(d.start(d.find_root(DIR)?)?)?;
    slots.get(n).copied().context("no such slot")
}

/// A long-name slot.
fn long(ordinal: u8, sum: u8, unit: u16) -> [u8; 32] {
    let mut e = [0u8; 32];
    for at in [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30] {
        e[at..at + 2].copy_from_slice(&unit.to_le_bytes());
    }
    (e[0], e[11], e[13]) = (ordinal, 0x0F, sum);
    e
}

fn short(name: &[u8; 11], attr: u8, cluster: u32, size: u32) -> [u8; 32] {
    let mut e = [0u8; 32];
    e[..11].copy_from_slice(name);
    e[11] = attr;
    e[20..22].copy_from_slice(&((cluster >> 16) as u16).to_le_bytes());
    e[26..28].copy_from_slice(&(cluster as u16).to_le_bytes());
    e[28..].copy_from_slice(&size.to_le_bytes());
    e
}

/// Damages of cluster chains.
pub const CHAINS: &[Damage] = &[
    ("loop", |d| middle(d, chain(d, BIG)?[0])),
    ("self_loop", |d| {
        middle(d, chain(d, BIG)?[chain(d, BIG)?.len() / 2])
    }),
    ("pointer_beyond_end", |d| middle(d, beyond(d))),
    ("pointer_far_beyond_end", |d| middle(d, d.end_mark() - 9)),
    ("pointer_to_1", |d| middle(d, 1)),
    ("pointer_bad_mark", |d| middle(d, d.end_mark() - 1)),
    ("pointer_reserved", |d| middle(d, d.end_mark() - 2)),
    ("free_in_chain", |d| middle(d, 0)),
    ("chain_too_short", |d| middle(d, d.end_mark())),
    ("cross_linked", |d| start(d, SMALL, chain(d, BIG)?[2])),
    ("cross_linked_tails", |d| {
        let (a, b) = (chain(d, BIG)?, chain(d, SMALL)?);
        d.set(b[b.len() - 1], a[3])
    }),
    ("start_beyond_end", |d| start(d, BIG, beyond(d))),
    ("start_1", |d| start(d, BIG, 1)),
    ("start_all_ones", |d| start(d, BIG, 0x0FFF_FFFF)),
    ("start_0_with_size", |d| start(d, BIG, 0)),
    ("start_in_free_space", |d| start(d, BIG, d.clusters - 5)),
    ("size_too_large", |d| {
        d.set_size(d.find_root(SMALL)?, 10_000_000)
    }),
    ("size_all_ones", |d| {
        d.set_size(d.find_root(SMALL)?, u32::MAX)
    }),
    ("size_0_with_chain", |d| d.set_size(d.find_root(BIG)?, 0)),
    ("size_smaller_than_chain", |d| {
        d.set_size(d.find_root(BIG)?, 100)
    }),
    ("all_marked_bad", |d| {
        (2..d.clusters.min(3000) + 2).try_for_each(|c| d.set(c, d.end_mark() - 1))
    }),
    ("all_free", |d| {
        (2..d.clusters.min(3000) + 2).try_for_each(|c| d.set(c, 0))
    }),
    ("media_entry", |d| d.set(0, 0).and_then(|()| d.set(1, 0))),
    ("fat_noise_1", |d| random(1, d.fat_start, 300, 60, d)),
    ("fat_noise_2", |d| random(2, d.fat_start, 300, 200, d)),
    ("fat_noise_3", |d| {
        random(3, d.fat_start, d.fat_bytes, 3000, d)
    }),
    ("first_fat_differs", |d| {
        d.write(d.fat_start + 6, &[0x55; 40])
    }),
];

/// Damages of directories.
pub const DIRS: &[Damage] = &[
    ("contains_itself", |d| {
        let c = d.start(d.find_root(DIR)?)?;
        d.write(slot(d, 2)?, &short(b"SELF       ", 0x10, c, 0))
    }),
    ("contains_the_root", |d| {
        d.write(slot(d, 2)?, &short(b"ROOT       ", 0x10, d.root_cluster, 0))
    }),
    ("twice", |d| start(d, DIR2, d.start(d.find_root(DIR)?)?)),
    ("chain_loops", |d| {
        let c = d.start(d.find_root(DIR)?)?;
        d.set(c, c)
    }),
    ("chain_leaves_volume", |d| {
        d.set(d.start(d.find_root(DIR)?)?, beyond(d))
    }),
    ("chain_into_free", |d| d.set(d.start(d.find_root(DIR)?)?, 0)),
    ("start_0", |d| start(d, DIR, 0)),
    ("start_1", |d| start(d, DIR, 1)),
    ("start_beyond_end", |d| start(d, DIR, beyond(d))),
    ("start_free", |d| start(d, DIR, d.clusters - 3)),
    ("shares_cluster_with_file", |d| {
        start(d, DIR, chain(d, BIG)?[1])
    }),
    ("file_over_directory", |d| {
        start(d, BIG, d.start(d.find_root(DIR)?)?)
    }),
    ("no_dot_entries", |d| {
        d.write(d.at(d.start(d.find_root(DIR)?)?), &[b'X'; 64])
    }),
    ("dotdot_astray", |d| {
        let at = d.at(d.start(d.find_root(DIR)?)?) + 32;
        d.set_start(at, beyond(d))
    }),
    ("dotdot_to_file", |d| {
        let at = d.at(d.start(d.find_root(DIR)?)?) + 32;
        d.set_start(at, chain(d, BIG)?[0])
    }),
    ("has_size", |d| d.set_size(d.find_root(DIR)?, 12345)),
    ("all_ff", |d| dir_bytes(d, |_| 0xFF)),
    ("all_e5", |d| dir_bytes(d, |_| 0xE5)),
    ("all_20", |d| dir_bytes(d, |_| 0x20)),
    ("all_0f", |d| dir_bytes(d, |_| 0x0F)),
    ("all_slashes", |d| {
        dir_bytes(d, |i| if i % 32 == 11 { 0x20 } else { b'/' })
    }),
    ("all_dots", |d| {
        dir_bytes(d, |i| if i % 32 == 11 { 0x10 } else { b'.' })
    }),
    ("noise_1", |d| dir_noise(d, 1)),
    ("noise_2", |d| dir_noise(d, 2)),
    ("noise_3", |d| dir_noise(d, 3)),
    ("noise_4", |d| dir_noise(d, 4)),
    ("same_name_twice", |d| {
        let e = short(b"TWIN       ", 0x20, 0, 0);
        d.write(slot(d, 2)?, &e)?;
        d.write(slot(d, 3)?, &e)
    }),
    ("name_with_nul_and_slash", |d| {
        d.write(slot(d, 2)?, &short(b"A/B\0C   /..", 0x20, 0, 0))?;
        d.write(slot(d, 3)?, &short(b"..      ...", 0x10, 0, 0))?;
        d.write(slot(d, 4)?, &short(b"\x05\x01\x02     \x7f  ", 0x20, 0, 0))
    }),
    ("long_name_orphans", |d| {
        d.write(slot(d, 2)?, &long(0x43, 0x11, 0x61))?;
        d.write(slot(d, 3)?, &long(0x02, 0x11, 0x62))?;
        d.write(slot(d, 4)?, &long(0x41, 0x22, 0x63))
    }),
    ("long_name_order", |d| {
        for (i, o) in [0x45, 0x01, 0x04, 0x02, 0x03].into_iter().enumerate() {
            d.write(slot(d, 2 + i)?, &long(o, 0x33, 0x41 + i as u16))?;
        }
        Ok(())
    }),
    ("long_name_ordinals", |d| {
        for (i, o) in [0x7F, 0x40, 0x00, 0x60, 0x55, 0x3F].into_iter().enumerate() {
            d.write(slot(d, 2 + i)?, &long(o | 0x40, 0x33, 0x41))?;
        }
        Ok(())
    }),
    ("long_name_surrogates", |d| {
        let sum = b"LONE       "
            .iter()
            .fold(0u8, |s, &c| s.rotate_right(1).wrapping_add(c));
        d.write(slot(d, 2)?, &long(0x41, sum, 0xD800))?;
        d.write(slot(d, 3)?, &short(b"LONE       ", 0x20, 0, 0))
    }),
    ("long_name_slashes", |d| {
        let sum = b"SLASH      "
            .iter()
            .fold(0u8, |s, &c| s.rotate_right(1).wrapping_add(c));
        d.write(slot(d, 2)?, &long(0x41, sum, b'/' as u16))?;
        d.write(slot(d, 3)?, &short(b"SLASH      ", 0x20, 0, 0))
    }),
    ("long_name_to_the_end", |d| {
        dir_bytes(d, |i| long(0x54 - (i / 32 % 20) as u8, 9, 0x61)[i % 32])
    }),
    ("labels_everywhere", |d| {
        dir_bytes(d, |i| short(b"LABEL      ", 0x08, 0, 0)[i % 32])
    }),
    ("wild_attributes", |d| {
        for i in 0..8u8 {
            let e = short(b"ATTRIBUT   ", 0x80 | (i << 4) | 9, 5, 77);
            d.write(slot(d, 2 + i as usize)?, &e)?;
        }
        Ok(())
    }),
    ("wild_times", |d| {
        let mut e = short(b"TIMES      ", 0x20, 0, 0);
        e[12..26].fill(0xFF);
        d.write(slot(d, 2)?, &e)?;
        e[..11].copy_from_slice(b"TIME0      ");
        e[12..26].fill(0);
        d.write(slot(d, 3)?, &e)
    }),
    ("root_noise", |d| {
        let slots = d.root_slots()?;
        let mut r = Rng::new(9);
        for &at in slots.iter().take(40) {
            if r.one_in(2) {
                d.write(at + r.below(32), &[r.next() as u8, r.next() as u8])?;
            }
        }
        Ok(())
    }),
];

fn dir_noise(d: &Disk, seed: u64) -> Result<()> {
    let mut r = Rng::new(seed);
    let at = d.at(d.start(d.find_root(DIR)?)?);
    let bytes: Vec<u8> = (64..d.cluster).map(|_| r.next() as u8).collect();
    d.write(at + 64, &bytes)
}
