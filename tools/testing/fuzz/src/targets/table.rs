// SPDX-License-Identifier: GPL-2.0

//! Entries of the FAT, against a plain model of the three widths.

use super::fat_type;
use crate::input::Input;
use rvfat_unit::ondisk::{fat, Cluster, FatEntry, FatType};

/// The value of entry `n` in a table, by bit arithmetic on its first bytes.
fn model(ty: FatType, table: &[u8], n: usize) -> Option<u32> {
    let byte = |at: usize| table.get(at).copied().map(u32::from);
    Some(match ty {
        FatType::Fat12 => {
            let at = n * 3 / 2;
            let pair = byte(at)? | (byte(at + 1)? << 8);
            (pair >> (4 * (n % 2))) & 0xFFF
        }
        FatType::Fat16 => byte(2 * n)? | (byte(2 * n + 1)? << 8),
        FatType::Fat32 => {
            let all = (0..4).try_fold(0, |v, i| Some(v | (byte(4 * n + i)? << (8 * i))))?;
            all & 0x0FFF_FFFF
        }
    })
}

/// The input chooses the type, an entry, the volume's highest cluster, the entry's old bytes and
/// its new value; the rest is a stretch of the table.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let ty = fat_type(input.below(3));
    let n = input.u32();
    let max = input.u32() % (ty.max_clusters() + 2);
    let raw: [u8; 4] = input.array();
    let value = input.u32();
    if let Some(cluster) = Cluster::new(n) {
        entry(ty, cluster, max, raw, value);
    }
    let first = if input.flag() { 0 } else { n };
    let rest = input.rest();
    stretch(ty, first, rest);
    rewritten(ty, first, rest, value);
}

/// One entry: reading and writing.
fn entry(ty: FatType, cluster: Cluster, max: u32, raw: [u8; 4], value: u32) {
    let mask = match ty {
        FatType::Fat12 => 0xFFF,
        FatType::Fat16 => 0xFFFF,
        FatType::Fat32 => 0x0FFF_FFFF,
    };
    let found = fat::decode(ty, cluster, raw, max);
    let number = fat::decode_number(ty, cluster.get(), raw);
    assert!(number <= mask);
    match found {
        FatEntry::Free => assert_eq!(number, 0),
        FatEntry::Next(c) => assert!(c.get() == number && number >= 2 && number <= max),
        FatEntry::Bad => assert_eq!(number, mask - 8),
        FatEntry::End => assert!(number >= mask - 7),
        FatEntry::Invalid(v) => assert!(v == number && (v == 1 || v > max) && v < mask - 8),
    }
    // Written back, it says the same, but for the end mark, of which there are eight.
    let again = fat::encode_number(ty, cluster.get(), raw, found.value(ty));
    assert_eq!(fat::decode(ty, cluster, again, max), found);
    if found != FatEntry::End {
        assert_eq!(again, raw);
    }
    // Another value leaves all bits alone that aren't the entry's.
    let new = fat::encode_number(ty, cluster.get(), raw, value);
    assert_eq!(fat::decode_number(ty, cluster.get(), new), value & mask);
    let shift = if ty == FatType::Fat12 && cluster.get() % 2 == 1 {
        4
    } else {
        0
    };
    let changed = u32::from_le_bytes(new) ^ u32::from_le_bytes(raw);
    assert_eq!(changed & !(mask << shift), 0);
    assert!(fat::entry_byte_offset(ty, cluster) < 1 << 31);
}

/// A stretch of the table: every whole entry is reported, once and in order.
fn stretch(ty: FatType, first: u32, bytes: &[u8]) {
    let mut next = Some(first);
    let mut count = 0;
    // The model counts from 0 and so has the same halves of bytes only where `first` is even.
    let even = first % 2 == 0;
    fat::for_each_entry(ty, first, bytes, |n, free| {
        assert_eq!(Some(n), next);
        next = n.checked_add(1);
        if even || ty != FatType::Fat12 {
            assert_eq!(Some(free), model(ty, bytes, count).map(|v| v == 0));
        }
        count += 1;
    });
    if even && next.is_some() {
        assert_eq!(model(ty, bytes, count), None, "an entry was left out");
    }
}

/// The stretch rewritten with values of which `seed` is a part: each entry says what it was given,
/// and the bits of none are changed that aren't an entry's.
fn rewritten(ty: FatType, first: u32, bytes: &[u8], seed: u32) {
    let value = |n: u32| n.wrapping_mul(seed);
    let mut new = bytes.to_vec();
    fat::encode_each(ty, first, &mut new, value);
    // One by one, the same.
    let mut expected = bytes.to_vec();
    let len = fat::entry_len(ty);
    let mut numbers = Vec::new();
    fat::for_each_entry(ty, first, bytes, |n, _| numbers.push(n));
    let origin = fat::number_byte_offset(ty, first);
    for n in numbers {
        let at = (fat::number_byte_offset(ty, n) - origin) as usize;
        let entry = &mut expected[at..at + len];
        let mut raw = [0; 4];
        raw[..len].copy_from_slice(entry);
        let raw = fat::encode_number(ty, n, raw, value(n));
        entry.copy_from_slice(&raw[..len]);
    }
    assert_eq!(new, expected);
}
