// SPDX-License-Identifier: GPL-2.0

//! Makes new inputs out of old ones.

use crate::cover;

/// A small random generator (xorshift64*).
pub struct Rng(u64);

impl Rng {
    /// Starts the sequence of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 32) as usize) % n.max(1)
    }
}

/// Inputs don't get longer than this.
pub const MAX_LEN: usize = 1024;

/// Values at which something tends to change.
const EDGES: [u64; 12] = [
    0,
    1,
    2,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x7FFF_FFFF,
    0xFFFF_FFFF,
    u64::MAX,
];

/// Changes `input` a few times. `other` is another input, to take parts from.
pub fn mutate(rng: &mut Rng, input: &mut Vec<u8>, other: &[u8]) {
    // Often once, seldom many times.
    let times = 1 << rng.below(5).min(rng.below(5));
    for _ in 0..times {
        once(rng, input, other);
    }
    input.truncate(MAX_LEN);
}

fn once(rng: &mut Rng, input: &mut Vec<u8>, other: &[u8]) {
    if input.is_empty() {
        input.push(rng.next() as u8);
        return;
    }
    let at = rng.below(input.len());
    let most = 1 << rng.below(7);
    let len = 1 + rng.below((input.len() - at).min(most));
    match rng.below(11) {
        0 => input[at] ^= 1 << rng.below(8),
        1 => input[at] = rng.next() as u8,
        2 => number(rng, input, at, |rng, _| EDGES[rng.below(EDGES.len())]),
        3 => number(rng, input, at, |rng, old| {
            old.wrapping_add(rng.below(33) as u64).wrapping_sub(16)
        }),
        4 => drop(input.drain(at..at + len)),
        5 => {
            let byte = rng.next() as u8;
            drop(input.splice(at..at, std::iter::repeat_n(byte, len)));
        }
        6 => {
            let part = input[at..at + len].to_vec();
            let to = rng.below(input.len() + 1);
            drop(input.splice(to..to, part));
        }
        7 => input[at..at + len].reverse(),
        8 if !other.is_empty() => {
            let from = rng.below(other.len());
            let n = 1 + rng.below(other.len() - from);
            let end = at + if rng.below(2) == 0 { 0 } else { len };
            drop(input.splice(at..end, other[from..from + n].iter().copied()));
        }
        _ => compared(rng, input),
    }
}

/// Replaces a number of 1, 2, 4 or 8 bytes.
fn number(rng: &mut Rng, input: &mut [u8], at: usize, f: impl Fn(&mut Rng, u64) -> u64) {
    let width = (1 << rng.below(4)).min(input.len() - at);
    let mut old = [0; 8];
    old[..width].copy_from_slice(&input[at..at + width]);
    let new = f(rng, u64::from_le_bytes(old)).to_le_bytes();
    input[at..at + width].copy_from_slice(&new[..width]);
}

/// Makes a comparison come out the other way: puts the one operand where the other one is.
fn compared(rng: &mut Rng, input: &mut [u8]) {
    let (mut from, mut to) = cover::operands(rng.next() as usize);
    if rng.below(2) == 0 {
        (from, to) = (to, from);
    }
    let near = to.wrapping_add([0, 0, 0, 1, u64::MAX][rng.below(5)]);
    let width = (1usize << rng.below(4)).min(input.len());
    let (from, near) = (from.to_le_bytes(), near.to_le_bytes());
    let places: Vec<usize> = (0..=input.len() - width)
        .filter(|&i| input[i..i + width] == from[..width])
        .collect();
    let at = if places.is_empty() {
        rng.below(input.len() - width + 1)
    } else {
        places[rng.below(places.len())]
    };
    input[at..at + width].copy_from_slice(&near[..width]);
}
