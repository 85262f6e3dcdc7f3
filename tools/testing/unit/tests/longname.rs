// SPDX-License-Identifier: GPL-2.0

//! Long-name slots.

mod common;

use common::units;
use proptest::prelude::*;
use rvfat_unit::ondisk::longname::{checksum, encode_slots, slots_needed, MAX_UNITS};
use rvfat_unit::ondisk::{
    LongNameAssembler, LongSlot, RawDirent, ShortName, SlotKind, DIRENT_SIZE,
};

const SHORT: ShortName = ShortName::from_disk(*b"LONGNA~1TXT");

/// Returns the slots of `name` in disk order.
fn slots(name: &[u16], checksum: u8) -> Vec<LongSlot> {
    let count = u8::try_from(slots_needed(name.len())).unwrap();
    (1..=count)
        .rev()
        .map(|ordinal| LongSlot::parse(&encode_slots(name, checksum, ordinal)))
        .collect()
}

/// Feeds `slots` and returns the name of `short`, and the number of slots to go with it.
fn assemble(slots: &[LongSlot], short: &ShortName) -> (Option<Vec<u16>>, usize) {
    let mut assembler = LongNameAssembler::new();
    for slot in slots {
        assembler.feed(slot);
    }
    let name = assembler.finish(short).map(<[u16]>::to_vec);
    (name, assembler.slots())
}

#[test]
fn checksums() {
    // A lone byte is rotated right ten times, so by two, and ten zeroes are added.
    let mut bytes = [0; 11];
    bytes[0] = 0b1000_0111;
    assert_eq!(checksum(&ShortName::from_disk(bytes)), 0b1110_0001);
    // Worked out by hand for a name of eleven spaces: 0x20, 0x30, 0x38, 0x3C, 0x3E, 0x3F, 0xBF,
    // 0xFF, 0x1F, 0xAF, 0xF7.
    assert_eq!(checksum(&ShortName::from_disk([b' '; 11])), 0xF7);
}

#[test]
fn numbers_of_slots() {
    assert_eq!(
        [0, 1, 13, 14, 26, 255].map(slots_needed),
        [0, 1, 1, 2, 2, 20]
    );
}

#[test]
fn slot_by_hand() {
    #[rustfmt::skip]
    let expected = [
        0x41,
        b'a', 0, b'b', 0, 0xE4, 0, 0, 0, 0xFF, 0xFF,
        0x0F, 0, 0x77,
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
        0, 0,
        0xFF, 0xFF, 0xFF, 0xFF,
    ];
    assert_eq!(encode_slots(&units("abä"), 0x77, 1), expected);
    let slot = LongSlot::parse(&expected);
    assert_eq!((slot.ordinal, slot.last, slot.checksum), (1, true, 0x77));
    assert_eq!(slot.units[..4], [0x61, 0x62, 0xE4, 0]);
    let kind = RawDirent::from_bytes(expected).kind();
    assert_eq!(kind, SlotKind::Long(slot));
}

#[test]
fn full_slot_has_no_nul() {
    let slot = LongSlot::parse(&encode_slots(&units("thirteenunits"), 0, 1));
    assert_eq!(slot.units.to_vec(), units("thirteenunits"));
    let first = LongSlot::parse(&encode_slots(&units("fourteen units"), 0, 1));
    let second = LongSlot::parse(&encode_slots(&units("fourteen units"), 0, 2));
    assert!(!first.last && second.last);
    assert_eq!(second.units[..3], [u16::from(b's'), 0, 0xFFFF]);
}

#[test]
fn ordinal_out_of_range() {
    for ordinal in [0, 2, 20, 255] {
        let slot = LongSlot::parse(&encode_slots(&units("x"), 0, ordinal));
        assert!(!slot.last);
    }
}

#[test]
fn broken_sets_are_ignored() {
    let name = units("a long name that takes three slots");
    let sum = checksum(&SHORT);
    let good = slots(&name, sum);
    assert_eq!(good.len(), 3);
    assert_eq!(assemble(&good, &SHORT), (Some(name.clone()), 3));

    let other = ShortName::from_disk(*b"OTHER      ");
    assert_eq!(assemble(&good, &other), (None, 0));
    assert_eq!(assemble(&good[1..], &SHORT), (None, 0));
    assert_eq!(assemble(&good[..2], &SHORT), (None, 0));
    assert_eq!(assemble(&[], &SHORT), (None, 0));
    assert_eq!(assemble(&[good[0], good[2], good[1]], &SHORT), (None, 0));
    assert_eq!(
        assemble(&[good[0], good[1], good[1], good[2]], &SHORT),
        (None, 0)
    );
    let mut bad = good.clone();
    bad[1].checksum ^= 1;
    assert_eq!(assemble(&bad, &SHORT), (None, 0));
    bad = good.clone();
    bad[0].ordinal = 21;
    assert_eq!(assemble(&bad, &SHORT), (None, 0));
    bad[0].ordinal = 0;
    assert_eq!(assemble(&bad, &SHORT), (None, 0));
}

#[test]
fn a_new_set_replaces_an_orphan() {
    let sum = checksum(&SHORT);
    let good = slots(&units("a name in two slots"), sum);
    for orphan in [&good[..1], &good[..], &slots(&units("x"), sum ^ 1)[..]] {
        let mut both = orphan.to_vec();
        both.extend(&good);
        assert_eq!(
            assemble(&both, &SHORT),
            (Some(units("a name in two slots")), 2)
        );
    }
}

#[test]
fn a_name_is_given_once() {
    let mut assembler = LongNameAssembler::new();
    for slot in slots(&units("once"), checksum(&SHORT)) {
        assembler.feed(&slot);
    }
    assert!(assembler.finish(&SHORT).is_some());
    assert_eq!(assembler.finish(&SHORT), None);
    assert_eq!(assembler.slots(), 0);
}

#[test]
fn reset_forgets() {
    let mut assembler = LongNameAssembler::default();
    for slot in slots(&units("forgotten"), checksum(&SHORT)) {
        assembler.feed(&slot);
    }
    assembler.reset();
    assert_eq!(assembler.finish(&SHORT), None);
}

#[test]
fn end_mark_within_the_set() {
    let mut set = slots(&units("a name in two slots"), checksum(&SHORT));
    set[1].last = true;
    assert_eq!(assemble(&set, &SHORT), (Some(units("a name in two")), 2));
}

#[test]
fn useless_names_still_have_slots() {
    let sum = checksum(&SHORT);
    // 20 slots full of units: 260 of them.
    let long = slots(&[0x61; 260], sum);
    assert_eq!(assemble(&long, &SHORT), (None, 20));
    let mut empty = slots(&units("x"), sum);
    empty[0].units = [0; 13];
    assert_eq!(assemble(&empty, &SHORT), (None, 1));
}

fn name() -> impl Strategy<Value = Vec<u16>> {
    prop::collection::vec(1u16.., 1..=MAX_UNITS)
}

fn short() -> impl Strategy<Value = ShortName> {
    prop::collection::vec(any::<u8>(), 11)
        .prop_map(|bytes| ShortName::from_disk(bytes.try_into().unwrap()))
}

proptest! {
    #[test]
    fn names_round_trip(name in name(), short in short()) {
        let set = slots(&name, checksum(&short));
        prop_assert_eq!(assemble(&set, &short), (Some(name), set.len()));
    }

    #[test]
    fn slots_round_trip(bytes in prop::collection::vec(any::<u8>(), DIRENT_SIZE)) {
        let mut bytes: [u8; DIRENT_SIZE] = bytes.try_into().unwrap();
        let slot = LongSlot::parse(&bytes);
        bytes[11] = 0x0F;
        bytes[12] = 0;
        bytes[26] = 0;
        bytes[27] = 0;
        prop_assert_eq!(slot.encode(), bytes);
    }

    /// Removing any slot of a set but keeping the rest loses the name.
    #[test]
    fn no_slot_can_be_missing(name in name(), short in short(), at: prop::sample::Index) {
        let mut set = slots(&name, checksum(&short));
        set.remove(at.index(set.len()));
        prop_assert_eq!(assemble(&set, &short), (None, 0));
    }

    #[test]
    fn never_panics(
        // Small ordinals, so that some slots do fit together.
        set in prop::collection::vec((0u8..6, any::<bool>(), 0u8..2, any::<[u16; 13]>()), 0..40),
        wild in prop::collection::vec(any::<[u8; DIRENT_SIZE]>(), 0..40),
        short in short(),
        name in prop::collection::vec(any::<u16>(), 0..300),
        sum: u8, ordinal: u8,
    ) {
        let mut assembler = LongNameAssembler::new();
        for (ordinal, last, checksum, units) in set {
            assembler.feed(&LongSlot { ordinal, last, checksum, units });
            let mut copy = assembler.clone();
            if let Some(name) = copy.finish(&short) {
                prop_assert!((1..=MAX_UNITS).contains(&name.len()));
            }
        }
        for bytes in wild {
            assembler.feed(&LongSlot::parse(&bytes));
        }
        let _ = assembler.finish(&short);
        let _ = encode_slots(&name, sum, ordinal);
    }
}
