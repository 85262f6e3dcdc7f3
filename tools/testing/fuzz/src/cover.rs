// SPDX-License-Identifier: GPL-2.0

//! What the instrumented code tells of an execution: a counter for each edge, and the operands of
//! comparisons. The functions here are those that LLVM's SanitizerCoverage calls; this crate must
//! not be instrumented itself.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;

/// The counters of each object file: address and length.
static REGIONS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

/// How many pairs of operands are remembered; a power of two.
const PAIRS: usize = 256;

/// Operands of comparisons that found a difference.
static LEFT: [AtomicU64; PAIRS] = [const { AtomicU64::new(0) }; PAIRS];
static RIGHT: [AtomicU64; PAIRS] = [const { AtomicU64::new(0) }; PAIRS];

/// Called for each object file before `main`.
#[no_mangle]
extern "C" fn __sanitizer_cov_8bit_counters_init(start: *const u8, end: *const u8) {
    let region = (start as usize, end as usize - start as usize);
    let mut regions = REGIONS.lock().unwrap_or_else(|e| e.into_inner());
    if !regions.contains(&region) {
        regions.push(region);
    }
}

/// Remembers a comparison. Where in the table depends on the operands, so that a loop doesn't
/// push out all else.
fn note(a: u64, b: u64) {
    if a != b {
        let hash = (a ^ b.rotate_left(32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let at = (hash >> 56) as usize % PAIRS;
        LEFT[at].store(a, Relaxed);
        RIGHT[at].store(b, Relaxed);
    }
}

macro_rules! comparisons {
    ($($name:ident: $t:ty),*) => {$(
        #[no_mangle]
        extern "C" fn $name(a: $t, b: $t) {
            note(a.into(), b.into());
        }
    )*};
}

comparisons! {
    __sanitizer_cov_trace_cmp1: u8,
    __sanitizer_cov_trace_cmp2: u16,
    __sanitizer_cov_trace_cmp4: u32,
    __sanitizer_cov_trace_cmp8: u64,
    __sanitizer_cov_trace_const_cmp1: u8,
    __sanitizer_cov_trace_const_cmp2: u16,
    __sanitizer_cov_trace_const_cmp4: u32,
    __sanitizer_cov_trace_const_cmp8: u64
}

/// Called for a `match` on numbers; `cases` holds their count, their width, and the cases.
#[no_mangle]
extern "C" fn __sanitizer_cov_trace_switch(value: u64, cases: *const u64) {
    // SAFETY: The compiler passes a table whose first word is the number of cases behind the
    // second one.
    let cases = unsafe { std::slice::from_raw_parts(cases.add(2), *cases as usize) };
    for case in cases {
        note(value, *case);
    }
}

/// A pair of operands that differed in one of the last executions.
pub fn operands(which: usize) -> (u64, u64) {
    let at = which % PAIRS;
    (LEFT[at].load(Relaxed), RIGHT[at].load(Relaxed))
}

/// The counters, and what was ever seen of them.
pub struct Coverage {
    /// Address and length of each region.
    regions: Vec<(usize, usize)>,
    /// The counters of the last execution, copied.
    last: Vec<u8>,
    /// For each counter, the magnitudes that it had.
    seen: Vec<u8>,
}

/// The magnitude of a counter as one bit: 1, 2, 3, 4 to 7, 8 to 15, and so on.
fn magnitude(n: u8) -> u8 {
    match n {
        0 => 0,
        1 => 1,
        2 => 2,
        3 => 4,
        4..=7 => 8,
        8..=15 => 16,
        16..=31 => 32,
        32..=127 => 64,
        128.. => 128,
    }
}

impl Coverage {
    /// Finds the counters; there are none if the build has no instrumentation.
    pub fn new() -> Self {
        let regions = REGIONS.lock().unwrap_or_else(|e| e.into_inner()).clone();
        let counters = regions.iter().map(|r| r.1).sum();
        Self {
            regions,
            last: vec![0; counters],
            seen: vec![0; counters],
        }
    }

    /// The number of counters.
    pub fn counters(&self) -> usize {
        self.seen.len()
    }

    /// The number of edges that were ever taken.
    pub fn edges(&self) -> usize {
        self.seen.iter().filter(|s| **s != 0).count()
    }

    /// Sets all counters to zero.
    pub fn reset(&mut self) {
        for &(start, len) in &self.regions {
            // SAFETY: The region is an array of counters in static memory that only instrumented
            // code touches, which runs on this thread, and not now.
            unsafe { std::ptr::write_bytes(start as *mut u8, 0, len) };
        }
    }

    /// Copies the counters of the execution since `reset`.
    fn snapshot(&mut self) {
        let mut rest = &mut self.last[..];
        for &(start, len) in &self.regions {
            let (part, tail) = rest.split_at_mut(len);
            // SAFETY: As in `reset`; the vector is as long as all regions together.
            unsafe { std::ptr::copy_nonoverlapping(start as *const u8, part.as_mut_ptr(), len) };
            rest = tail;
        }
    }

    /// Whether the execution since `reset` did something new; it is remembered.
    pub fn is_new(&mut self) -> bool {
        self.snapshot();
        let mut new = false;
        for (counters, seen) in self.last.chunks(8).zip(self.seen.chunks_mut(8)) {
            // Most of them are zero.
            if counters == [0; 8] {
                continue;
            }
            for (counter, seen) in counters.iter().zip(seen) {
                let bit = magnitude(*counter);
                new |= bit & !*seen != 0;
                *seen |= bit;
            }
        }
        new
    }

    /// The edges that the execution since `reset` took and none that was remembered did.
    pub fn new_edges(&mut self) -> Vec<usize> {
        self.snapshot();
        let pairs = self.last.iter().zip(&self.seen).enumerate();
        pairs
            .filter(|(_, (counter, seen))| **counter != 0 && **seen == 0)
            .map(|(i, _)| i)
            .collect()
    }
}
