// SPDX-License-Identifier: GPL-2.0

//! Entries of the file allocation table.
//!
//! The table has one entry per cluster number; entries 0 and 1 are reserved. An entry is 12, 16 or
//! 32 bits wide (of the 32, the top 4 are reserved and kept) and says what follows its cluster in a
//! file (fatgen103, "FAT Data Structure"). A FAT12 entry shares one of its two bytes with a
//! neighbour and may lie across a sector boundary, so single entries are handled as up to four raw
//! bytes that the caller gathers and scatters.

use core::cmp::Ordering;

use super::Cluster;

/// Width of the entries of a FAT, and with it the variant of the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatType {
    /// 12-bit entries.
    Fat12,
    /// 16-bit entries.
    Fat16,
    /// 32-bit entries, of which 28 are used.
    Fat32,
}

impl FatType {
    /// Returns the width of an entry in bits: 12, 16 or 32.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Fat12 => 12,
            Self::Fat16 => 16,
            Self::Fat32 => 32,
        }
    }

    /// Returns the largest number of data clusters that Linux vfat accepts.
    pub const fn max_clusters(self) -> u32 {
        match self {
            Self::Fat12 => 0xFF4,
            Self::Fat16 => 0xFFF4,
            Self::Fat32 => 0x0FFF_FFF6,
        }
    }

    /// Returns the bits of an entry that hold its value.
    const fn mask(self) -> u32 {
        match self {
            Self::Fat12 => 0x0FFF,
            Self::Fat16 => 0xFFFF,
            Self::Fat32 => 0x0FFF_FFFF,
        }
    }

    /// Returns the value that marks a bad cluster. All above it mark the end of a chain.
    const fn bad(self) -> u32 {
        self.mask() & !0x8
    }
}

/// What the entry of a cluster says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FatEntry {
    /// The cluster is free.
    Free,
    /// The cluster is in use and this one follows it.
    Next(Cluster),
    /// The cluster must not be used.
    Bad,
    /// The cluster is in use and the last of its chain.
    End,
    /// A reserved value, or the number of a cluster that the volume does not have.
    Invalid(u32),
}

impl FatEntry {
    /// Returns the number that says so in a FAT. The end of a chain is the highest value, like in
    /// Linux vfat.
    pub const fn value(self, ty: FatType) -> u32 {
        match self {
            Self::Free => 0,
            Self::Next(next) => next.get(),
            Self::Bad => ty.bad(),
            Self::End => ty.mask(),
            Self::Invalid(value) => value,
        }
    }
}

/// Returns the number of bytes that hold one entry, shared bytes included: 2, 2 or 4.
pub const fn entry_len(ty: FatType) -> usize {
    match ty {
        FatType::Fat12 | FatType::Fat16 => 2,
        FatType::Fat32 => 4,
    }
}

/// Returns how many entries lie whole within any `len` bytes that start with an entry.
pub const fn entries_in(ty: FatType, len: usize) -> usize {
    match ty {
        FatType::Fat12 => len.saturating_mul(2).saturating_sub(1) / 3,
        FatType::Fat16 => len / 2,
        FatType::Fat32 => len / 4,
    }
}

/// Returns the offset in bytes of the entry of `cluster` from the start of the FAT.
pub fn entry_byte_offset(ty: FatType, cluster: Cluster) -> u64 {
    number_byte_offset(ty, cluster.get())
}

/// Returns the offset in bytes of entry `n` from the start of the FAT, where `n` may be reserved.
pub fn number_byte_offset(ty: FatType, n: u32) -> u64 {
    let n = u64::from(n);
    match ty {
        FatType::Fat12 => n.saturating_add(n / 2),
        FatType::Fat16 => n.saturating_mul(2),
        FatType::Fat32 => n.saturating_mul(4),
    }
}

/// Returns the value of entry `n`, where `n` may be reserved, out of its bytes `raw`.
///
/// On FAT12 and FAT16 only the first two bytes count.
pub fn decode_number(ty: FatType, n: u32, raw: [u8; 4]) -> u32 {
    let value = u32::from_le_bytes(raw);
    match ty {
        FatType::Fat12 if n % 2 == 1 => (value >> 4) & ty.mask(),
        _ => value & ty.mask(),
    }
}

/// Returns what the entry of `cluster` says, out of its bytes `raw`.
///
/// On FAT12 and FAT16 only the first two bytes count. `max_cluster` is the volume's highest cluster
/// number; a link beyond it is [`FatEntry::Invalid`].
///
/// Linux vfat takes a bad-cluster mark for the end of the chain it is found in; here the two are
/// told apart and the caller decides.
pub fn decode(ty: FatType, cluster: Cluster, raw: [u8; 4], max_cluster: u32) -> FatEntry {
    let value = decode_number(ty, cluster.get(), raw);
    if value == 0 {
        return FatEntry::Free;
    }
    if value <= max_cluster {
        if let Some(next) = Cluster::new(value) {
            return FatEntry::Next(next);
        }
    }
    match value.cmp(&ty.bad()) {
        Ordering::Equal => FatEntry::Bad,
        Ordering::Greater => FatEntry::End,
        Ordering::Less => FatEntry::Invalid(value),
    }
}

/// Returns `old` with the bits of entry `n` replaced by `value`, where `n` may be reserved.
///
/// Bits that belong to a neighbour (FAT12), are reserved (FAT32) or lie behind the entry stay as
/// they are. Of `value`, bits that don't fit the entry are dropped.
pub fn encode_number(ty: FatType, n: u32, old: [u8; 4], value: u32) -> [u8; 4] {
    let (mask, value) = match ty {
        FatType::Fat12 if n % 2 == 1 => (ty.mask() << 4, value << 4),
        _ => (ty.mask(), value),
    };
    ((u32::from_le_bytes(old) & !mask) | (value & mask)).to_le_bytes()
}

/// Calls `f(number, is_free)` for each entry in `bytes`, in order.
///
/// `bytes` starts with the first byte of entry `first`, as [`number_byte_offset`] gives it. An
/// entry cut off at the end of `bytes` is left out, so on FAT12 pass the whole table (at most 6
/// KiB) at once. Reserved entries, and what lies behind the last cluster, are reported like any
/// other: the caller knows its range.
pub fn for_each_entry(ty: FatType, first: u32, bytes: &[u8], f: impl FnMut(u32, bool)) {
    match ty {
        FatType::Fat12 => for_each_entry12(first, bytes, f),
        FatType::Fat16 => for_each_chunk::<2>(first, bytes, |raw| raw == [0; 2], f),
        FatType::Fat32 => {
            let is_free = |raw| u32::from_le_bytes(raw) & FatType::Fat32.mask() == 0;
            for_each_chunk::<4>(first, bytes, is_free, f);
        }
    }
}

/// [`for_each_entry`] for entries of `N` whole bytes.
fn for_each_chunk<const N: usize>(
    first: u32,
    bytes: &[u8],
    is_free: impl Fn([u8; N]) -> bool,
    mut f: impl FnMut(u32, bool),
) {
    let mut number = first;
    for raw in bytes.chunks_exact(N).filter_map(<[u8]>::first_chunk) {
        f(number, is_free(*raw));
        match number.checked_add(1) {
            Some(next) => number = next,
            None => return,
        }
    }
}

/// [`for_each_entry`] for FAT12, where two entries share three bytes.
fn for_each_entry12(first: u32, bytes: &[u8], mut f: impl FnMut(u32, bool)) {
    for number in first..=u32::MAX {
        let raw = bytes.get(fat12_offset(first, number)..);
        let Some(&[low, high]) = raw.and_then(<[u8]>::first_chunk) else {
            return;
        };
        f(
            number,
            decode_number(FatType::Fat12, number, [low, high, 0, 0]) == 0,
        );
    }
}

/// Returns the offset in bytes of FAT12 entry `number` from that of entry `first`.
fn fat12_offset(first: u32, number: u32) -> usize {
    let offset = |n| number_byte_offset(FatType::Fat12, n);
    usize::try_from(offset(number).saturating_sub(offset(first))).unwrap_or(usize::MAX)
}

/// Makes each entry in `bytes` say `value(number)`, in order.
///
/// `bytes` is as for [`for_each_entry`]. Keeps all other bits, as [`encode_number`] does.
pub fn encode_each(ty: FatType, first: u32, bytes: &mut [u8], value: impl Fn(u32) -> u32) {
    match ty {
        FatType::Fat12 => encode_each12(first, bytes, value),
        FatType::Fat16 => encode_chunks::<2>(first, bytes, |number, _| {
            // The mask leaves what fits.
            ((value(number) & FatType::Fat16.mask()) as u16).to_le_bytes()
        }),
        FatType::Fat32 => encode_chunks::<4>(first, bytes, |number, old| {
            encode_number(FatType::Fat32, number, old, value(number))
        }),
    }
}

/// [`encode_each`] for entries of `N` whole bytes.
fn encode_chunks<const N: usize>(
    first: u32,
    bytes: &mut [u8],
    encode: impl Fn(u32, [u8; N]) -> [u8; N],
) {
    let mut number = first;
    for chunk in bytes.chunks_exact_mut(N) {
        if let Some(raw) = chunk.first_chunk_mut() {
            *raw = encode(number, *raw);
        }
        match number.checked_add(1) {
            Some(next) => number = next,
            None => return,
        }
    }
}

/// [`encode_each`] for FAT12, where two entries share three bytes.
fn encode_each12(first: u32, bytes: &mut [u8], value: impl Fn(u32) -> u32) {
    for number in first..=u32::MAX {
        let raw = bytes.get_mut(fat12_offset(first, number)..);
        let Some(raw) = raw.and_then(<[u8]>::first_chunk_mut) else {
            return;
        };
        let [low, high] = *raw;
        let [low, high, ..] =
            encode_number(FatType::Fat12, number, [low, high, 0, 0], value(number));
        *raw = [low, high];
    }
}
