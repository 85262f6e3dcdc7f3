// SPDX-License-Identifier: GPL-2.0

//! Entries of the FAT.

use proptest::prelude::*;
use rvfat_unit::ondisk::fat::{
    decode, decode_number, encode_each, encode_number, entries_in, entry_byte_offset, entry_len,
    for_each_entry, number_byte_offset,
};
use rvfat_unit::ondisk::{Cluster, FatEntry, FatType};

const TYPES: [FatType; 3] = [FatType::Fat12, FatType::Fat16, FatType::Fat32];

fn cluster(number: u32) -> Cluster {
    Cluster::new(number).unwrap()
}

#[test]
fn places_of_entries() {
    assert_eq!(TYPES.map(entry_len), [2, 2, 4]);
    assert_eq!(TYPES.map(FatType::bits), [12, 16, 32]);
    let offsets = |n| TYPES.map(|ty| entry_byte_offset(ty, cluster(n)));
    assert_eq!(offsets(2), [3, 4, 8]);
    assert_eq!(offsets(3), [4, 6, 12]);
    // On 512-byte sectors, entry 341 is the first to straddle.
    assert_eq!(offsets(341)[0], 511);
    assert_eq!(number_byte_offset(FatType::Fat32, u32::MAX), 0x3_FFFF_FFFC);
}

#[test]
fn fat12_by_hand() {
    // Entries 2 and 3 are 0xABC and 0xDEF: bytes BC FA DE.
    assert_eq!(decode_number(FatType::Fat12, 2, [0xBC, 0xFA, 0, 0]), 0xABC);
    assert_eq!(decode_number(FatType::Fat12, 3, [0xFA, 0xDE, 0, 0]), 0xDEF);
    assert_eq!(
        encode_number(FatType::Fat12, 2, [0, 0xF0, 0, 0], 0xABC),
        [0xBC, 0xFA, 0, 0]
    );
    assert_eq!(
        encode_number(FatType::Fat12, 3, [0x0A, 0, 0, 0], 0xDEF),
        [0xFA, 0xDE, 0, 0]
    );
}

#[test]
fn meanings() {
    let max = 0x100;
    let meaning = |ty, value: u32| decode(ty, cluster(2), value.to_le_bytes(), max);
    for (ty, top) in TYPES.into_iter().zip([0xFFF, 0xFFFF, 0x0FFF_FFFF]) {
        assert_eq!(meaning(ty, 0), FatEntry::Free);
        assert_eq!(meaning(ty, 1), FatEntry::Invalid(1));
        assert_eq!(meaning(ty, 2), FatEntry::Next(cluster(2)));
        assert_eq!(meaning(ty, max), FatEntry::Next(cluster(max)));
        assert_eq!(meaning(ty, max + 1), FatEntry::Invalid(max + 1));
        // Reserved, bad, and eight ways to say "end".
        assert_eq!(meaning(ty, top - 9), FatEntry::Invalid(top - 9));
        assert_eq!(meaning(ty, top - 8), FatEntry::Bad);
        for value in top - 7..=top {
            assert_eq!(meaning(ty, value), FatEntry::End);
        }
    }
    // The top four bits of FAT32 say nothing.
    assert_eq!(meaning(FatType::Fat32, 0xF000_0000), FatEntry::Free);
    assert_eq!(meaning(FatType::Fat32, 0x5FFF_FFF7), FatEntry::Bad);
}

#[test]
fn marks_as_written() {
    let write =
        |ty, entry: FatEntry| u32::from_le_bytes(encode_number(ty, 2, [0; 4], entry.value(ty)));
    assert_eq!(
        TYPES.map(|ty| write(ty, FatEntry::End)),
        [0xFFF, 0xFFFF, 0x0FFF_FFFF]
    );
    assert_eq!(
        TYPES.map(|ty| write(ty, FatEntry::Bad)),
        [0xFF7, 0xFFF7, 0x0FFF_FFF7]
    );
    assert_eq!(TYPES.map(|ty| write(ty, FatEntry::Free)), [0; 3]);
    let kept = encode_number(FatType::Fat32, 9, [0xFF; 4], 0);
    assert_eq!(u32::from_le_bytes(kept), 0xF000_0000);
}

fn scan(ty: FatType, first: u32, bytes: &[u8]) -> Vec<(u32, bool)> {
    let mut found = Vec::new();
    for_each_entry(ty, first, bytes, |n, free| found.push((n, free)));
    found
}

#[test]
fn scanning() {
    let bytes = [1, 0, 0, 0, 0, 0x10, 0, 0, 7];
    assert_eq!(
        scan(FatType::Fat16, 256, &bytes),
        [(256, false), (257, true), (258, false), (259, true)]
    );
    assert_eq!(
        scan(
            FatType::Fat32,
            128,
            &[0, 0, 0, 0xF0, 0, 0, 0, 0x01, 0, 0, 0]
        ),
        [(128, true), (129, false)]
    );
    // 001 000 | 000 100 | half an entry.
    assert_eq!(
        scan(FatType::Fat12, 0, &[0x01, 0, 0, 0, 0, 0x10, 0]),
        [(0, false), (1, true), (2, true), (3, false)]
    );
    // From an odd entry on.
    assert_eq!(
        scan(FatType::Fat12, 1, &[0x0F, 0, 0, 0, 0x10, 0, 0]),
        [(1, true), (2, true), (3, false), (4, true)]
    );
    assert_eq!(scan(FatType::Fat16, u32::MAX, &[0; 8]), [(u32::MAX, true)]);
    for ty in TYPES {
        assert_eq!(scan(ty, 0, &[]), []);
        assert_eq!(scan(ty, 0, &[0]), []);
    }
}

fn fat_type() -> impl Strategy<Value = FatType> {
    prop::sample::select(TYPES.to_vec())
}

fn entry(max: u32) -> impl Strategy<Value = FatEntry> {
    prop_oneof![
        Just(FatEntry::Free),
        Just(FatEntry::Bad),
        Just(FatEntry::End),
        (2..=max).prop_map(|n| FatEntry::Next(cluster(n))),
    ]
}

proptest! {
    #[test]
    fn entries_round_trip(
        ty in fat_type(), n in 2u32..0x0FFF_FFF7, old: [u8; 4], entry in entry(0xFF5)
    ) {
        let written = encode_number(ty, n, old, entry.value(ty));
        prop_assert_eq!(decode(ty, cluster(n), written, 0xFF5), entry);
    }

    /// A whole FAT12 table, changed entry by entry, never disturbs a neighbour.
    #[test]
    fn fat12_neighbours(
        table in prop::collection::vec(any::<u8>(), 60),
        changes in prop::collection::vec((0u32..40, 0u32..0x1000), 1..20),
    ) {
        let ty = FatType::Fat12;
        let read = |table: &[u8]| (0..40).map(|n| {
            let at = number_byte_offset(ty, n) as usize;
            decode_number(ty, n, [table[at], table[at + 1], 0, 0])
        }).collect::<Vec<_>>();
        let mut table = table;
        let mut model = read(&table);
        for (n, value) in changes {
            let at = number_byte_offset(ty, n) as usize;
            let new = encode_number(ty, n, [table[at], table[at + 1], 0xAA, 0x55], value);
            prop_assert_eq!(&new[2..], &[0xAA, 0x55]);
            table[at..at + 2].copy_from_slice(&new[..2]);
            model[n as usize] = value;
            prop_assert_eq!(&read(&table), &model);
        }
    }

    #[test]
    fn other_bits_stay(ty in fat_type(), n: u32, old: [u8; 4], value: u32) {
        let mask = match (ty, n % 2) {
            (FatType::Fat12, 0) => 0xFFFF_F000,
            (FatType::Fat12, _) => 0xFFFF_000F,
            (FatType::Fat16, _) => 0xFFFF_0000u32,
            (FatType::Fat32, _) => 0xF000_0000,
        };
        let new = u32::from_le_bytes(encode_number(ty, n, old, value));
        prop_assert_eq!(new & mask, u32::from_le_bytes(old) & mask);
    }

    #[test]
    fn links_are_in_range(ty in fat_type(), n in 2u32..0x0FFF_FFF7, raw: [u8; 4], max: u32) {
        if let FatEntry::Next(next) = decode(ty, cluster(n), raw, max) {
            prop_assert!(next.get() <= max);
        }
    }

    /// Scanning agrees with reading one entry after the other.
    #[test]
    fn scan_agrees(
        ty in fat_type(),
        first in 0u32..1000,
        bytes in prop::collection::vec(prop_oneof![Just(0u8), any::<u8>()], 0..200),
    ) {
        let base = number_byte_offset(ty, first);
        let mut expected = Vec::new();
        for n in first.. {
            let at = (number_byte_offset(ty, n) - base) as usize;
            let Some(slice) = bytes.get(at..at + entry_len(ty)) else { break };
            let mut raw = [0; 4];
            raw[..slice.len()].copy_from_slice(slice);
            expected.push((n, decode_number(ty, n, raw) == 0));
        }
        prop_assert_eq!(scan(ty, first, &bytes), expected);
    }

    /// Changing many entries agrees with changing one after the other.
    #[test]
    fn changes_agree(
        ty in fat_type(),
        first in prop_oneof![0u32..1000, u32::MAX - 20..=u32::MAX],
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        factor: u32,
    ) {
        let value = |n: u32| n.wrapping_mul(factor);
        let base = number_byte_offset(ty, first);
        let mut expected = bytes.clone();
        for n in first..=u32::MAX {
            let at = (number_byte_offset(ty, n) - base) as usize;
            let Some(slice) = expected.get_mut(at..at + entry_len(ty)) else { break };
            let mut raw = [0; 4];
            raw[..slice.len()].copy_from_slice(slice);
            let raw = encode_number(ty, n, raw, value(n));
            slice.copy_from_slice(&raw[..slice.len()]);
        }
        let mut found = bytes;
        encode_each(ty, first, &mut found, value);
        prop_assert_eq!(found, expected);
    }

    /// So many entries fit, wherever they start; one more does not, from an odd one on.
    #[test]
    fn entries_fit(ty in fat_type(), first in 0u32..1000, len in 4usize..600) {
        let bytes = |first: u32, count: usize| {
            let last = first + count as u32 - 1;
            let start = number_byte_offset(ty, first);
            (number_byte_offset(ty, last) - start) as usize + entry_len(ty)
        };
        let count = entries_in(ty, len);
        prop_assert!(bytes(first, count) <= len);
        prop_assert!(bytes(first | 1, count + 1) > len);
    }
}
