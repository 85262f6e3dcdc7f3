// SPDX-License-Identifier: GPL-2.0

//! Ways to break a volume. Each changes one thing, somewhere; what and where is up to the random
//! numbers. Several together make a volume that nobody would think of.

mod boot;
mod chains;
mod entries;
mod longnames;

use super::image::{Image, Regular};
use crate::rng::Rng;

/// A name, and what it does.
pub type Mutation = (&'static str, fn(&mut Image, &mut Rng));

/// All of them, by what they break.
pub const GROUPS: &[&[Mutation]] = &[
    boot::MUTATIONS,
    chains::MUTATIONS,
    entries::MUTATIONS,
    longnames::MUTATIONS,
];

/// A file with at least so many clusters, or any.
fn file<'a>(v: &'a Image, least: usize, rng: &mut Rng) -> Option<&'a Regular> {
    let fit: Vec<&Regular> = v.files.iter().filter(|f| f.chain.len() >= least).collect();
    (!fit.is_empty()).then(|| *rng.pick(&fit))
}

/// The number of a directory; of a subdirectory if `sub`.
fn dir(v: &Image, sub: bool, rng: &mut Rng) -> Option<usize> {
    let least = usize::from(sub);
    let n = v.dirs.len() - least;
    (n > 0).then(|| least + rng.below(n as u64) as usize)
}

/// A cluster number that a chain should not hold, of many kinds.
fn wild(v: &Image, rng: &mut Rng) -> u32 {
    let (last, end) = (v.shape.last(), v.shape.end_mark());
    match rng.below(11) {
        0 => 0,
        1 => 1,
        2 => last + 1,
        3 => last + 2 + rng.below(1000) as u32,
        // The mark of a bad cluster, and the reserved values below it.
        4 => end - 8,
        5 => end - 9 - rng.below(6) as u32,
        6 => end - rng.below(8) as u32,
        // Of another file or directory.
        7 => used(v, rng),
        8 => v.shape.root_cluster,
        9 => rng.next() as u32 & end,
        _ => 2 + rng.below(v.shape.clusters as u64) as u32,
    }
}

/// A cluster in use.
fn used(v: &Image, rng: &mut Rng) -> u32 {
    let files = v.files.iter().map(|f| &f.chain);
    let dirs = v.dirs.iter().map(|d| &d.chain);
    let chains: Vec<&Vec<u32>> = files.chain(dirs).filter(|c| !c.is_empty()).collect();
    match chains.is_empty() {
        true => 2,
        false => {
            let chain = *rng.pick(&chains);
            *rng.pick(chain)
        }
    }
}

/// Some slots in use of a directory: the number of the first, and where they are.
fn slot(v: &Image, dir: usize, rng: &mut Rng) -> Option<u64> {
    let d = &v.dirs[dir];
    // Behind the dots.
    let first = if dir == 0 { 0 } else { 2 };
    let n = d.used.saturating_sub(first) as u64;
    (n > 0).then(|| d.slots[first + rng.below(n) as usize])
}
