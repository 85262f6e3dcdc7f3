// SPDX-License-Identifier: GPL-2.0

//! What tests say about results.

use crate::sys::{Errno, Res};
use anyhow::{bail, Result};
use std::fmt::Debug;

/// The call has to fail with this error.
pub fn errno<T: Debug>(r: Res<T>, want: i32, what: &str) -> Result<()> {
    one_of(r, &[want], what)
}

/// The call has to fail with one of these errors.
pub fn one_of<T: Debug>(r: Res<T>, want: &[i32], what: &str) -> Result<()> {
    match r {
        Err(e) if want.contains(&e.0) => Ok(()),
        Err(e) => bail!("{what}: {e}, expected {}", list(want)),
        Ok(v) => bail!("{what}: succeeded with {v:?}, expected {}", list(want)),
    }
}

fn list(want: &[i32]) -> String {
    let v: Vec<String> = want.iter().map(|&e| Errno(e).to_string()).collect();
    v.join(" or ")
}

/// Both have to be equal; long ones are shown from their first difference.
pub fn bytes(got: &[u8], want: &[u8], what: &str) -> Result<()> {
    if got == want {
        return Ok(());
    }
    let at = got
        .iter()
        .zip(want)
        .position(|(a, b)| a != b)
        .unwrap_or(got.len().min(want.len()));
    let show = |b: &[u8]| {
        let part: Vec<&u8> = b.iter().skip(at).take(16).collect();
        format!("{part:02x?}")
    };
    bail!(
        "{what}: {} bytes, expected {}; at byte {at} {} instead of {}",
        got.len(),
        want.len(),
        show(got),
        show(want)
    )
}

/// Fails unless both sides are equal.
#[macro_export]
macro_rules! same {
    ($got:expr, $want:expr, $($what:tt)+) => {{
        let (got, want) = (&$got, &$want);
        if got != want {
            anyhow::bail!("{}: {:?}, expected {:?}", format!($($what)+), got, want);
        }
    }};
}

/// Bytes that tell their position and a tag.
pub fn pattern(tag: u32, off: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|i| {
            let x = (off + i)
                .wrapping_mul(0x9E37_79B9)
                .wrapping_add(tag as u64 * 0x85EB_CA6B);
            (x >> 13) as u8 ^ (x >> 3) as u8
        })
        .collect()
}
