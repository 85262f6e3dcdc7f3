// SPDX-License-Identifier: GPL-2.0

//! What bytes say about themselves.
//!
//! Every 16 bytes that a workload writes name the file, the write and the place in the file; every
//! 16 bytes of a free cluster say that nobody wrote them, and where they lie. So bytes that turn up
//! where they do not belong are seen, and it is seen whose they are.

use crate::rng::mix;

/// Bytes that name their origin.
pub const GRAIN: usize = 16;

/// A file or directory of a workload.
pub type Obj = u16;

/// A write of a workload: the number of its step and 1. Zero stands for bytes that are zero.
pub type Gen = u16;

/// Bytes that nobody wrote: they are zero.
pub const ZERO: Gen = 0;

/// What 16 bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Of a file: which, by which write, and how many grains into it.
    Data { obj: Obj, gen: Gen, index: u32 },
    /// What a cluster held before the workload; the sector's number.
    Stale(u32),
    /// All zero.
    Zero,
    /// Something else.
    Unknown,
}

/// The bytes of grain `index` of a file.
pub fn grain(obj: Obj, gen: Gen, index: u32) -> [u8; GRAIN] {
    let mut bytes = [0; GRAIN];
    let id = (u64::from(obj) << 48) | (u64::from(gen) << 32) | u64::from(index);
    bytes[0] = b'F';
    bytes[1..3].copy_from_slice(&obj.to_le_bytes());
    bytes[3..5].copy_from_slice(&gen.to_le_bytes());
    bytes[5..8].copy_from_slice(&index.to_le_bytes()[..3]);
    bytes[8..].copy_from_slice(&(mix(id) | 0x0101_0101_0101_0101).to_le_bytes());
    bytes
}

/// One byte of a file, at `offset`.
pub fn byte(obj: Obj, gen: Gen, offset: usize) -> u8 {
    match gen {
        ZERO => 0,
        gen => grain(obj, gen, (offset / GRAIN) as u32)[offset % GRAIN],
    }
}

/// Fills `buf`, which lies `offset` bytes into the file.
pub fn fill(obj: Obj, gen: Gen, offset: usize, buf: &mut [u8]) {
    for (at, byte) in (offset..).zip(buf.iter_mut()) {
        *byte = self::byte(obj, gen, at);
    }
}

/// What a free sector holds before the workload.
pub fn stale(sector: u32) -> [u8; 512] {
    let mut bytes = [0xA5; 512];
    for chunk in bytes.chunks_exact_mut(GRAIN) {
        chunk[8..12].copy_from_slice(&sector.to_le_bytes());
    }
    bytes
}

/// Says what 16 bytes are; fewer are unknown unless they are zero.
pub fn identify(bytes: &[u8]) -> Grain {
    if bytes.iter().all(|b| *b == 0) {
        return Grain::Zero;
    }
    let Ok(bytes) = <&[u8; GRAIN]>::try_from(bytes) else {
        return Grain::Unknown;
    };
    if bytes[..8] == [0xA5; 8] && bytes[12..] == [0xA5; 4] {
        return Grain::Stale(u32::from_le_bytes([
            bytes[8], bytes[9], bytes[10], bytes[11],
        ]));
    }
    let obj = Obj::from_le_bytes([bytes[1], bytes[2]]);
    let gen = Gen::from_le_bytes([bytes[3], bytes[4]]);
    let index = u32::from_le_bytes([bytes[5], bytes[6], bytes[7], 0]);
    match grain(obj, gen, index) == *bytes {
        true => Grain::Data { obj, gen, index },
        false => Grain::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grains_name_themselves() {
        let mut buf = [0; 100];
        fill(7, 9, 4092, &mut buf);
        let data = Grain::Data {
            obj: 7,
            gen: 9,
            index: 256,
        };
        assert_eq!(identify(&buf[4..20]), data);
        assert_eq!(identify(&buf[5..21]), Grain::Unknown);
        assert_eq!(identify(&stale(77)[16..32]), Grain::Stale(77));
        assert_eq!(identify(&[0; 3]), Grain::Zero);
    }
}
