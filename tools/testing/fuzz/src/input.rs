// SPDX-License-Identifier: GPL-2.0

//! An input, taken apart piece by piece. It never runs out: what is missing is zero.

/// The bytes that are left.
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// Starts at the beginning of an input.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all was taken.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `n` bytes, or as many as there are.
    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (head, tail) = self.0.split_at(n.min(self.0.len()));
        self.0 = tail;
        head
    }

    /// All that is left.
    pub fn rest(&mut self) -> &'a [u8] {
        self.take(usize::MAX)
    }

    /// The next `N` bytes, zeroes where they are missing.
    pub fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let part = self.take(N);
        out[..part.len()].copy_from_slice(part);
        out
    }

    /// A byte.
    pub fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// A little-endian number.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// A little-endian number.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// A little-endian number.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// The lowest bit of a byte.
    pub fn flag(&mut self) -> bool {
        self.u8() & 1 != 0
    }

    /// A number below `n`, from one byte.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.u8()) % n
    }

    /// UTF-16 units: at most `max`, the number comes first.
    pub fn units(&mut self, max: usize) -> Vec<u16> {
        let n = usize::from(self.u16()) % (max + 1);
        let bytes = self.take(n * 2);
        bytes
            .chunks(2)
            .map(|c| u16::from(c[0]) | (u16::from(c.get(1).copied().unwrap_or(0)) << 8))
            .collect()
    }
}
