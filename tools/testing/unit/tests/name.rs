// SPDX-License-Identifier: GPL-2.0

//! Names in UTF-16, UTF-8 and other character sets.

mod common;

use common::{units, Hostile, Latin, TwoByte};
use proptest::prelude::*;
use rvfat_unit::ondisk::charset::{bytes_to_units, units_to_bytes};
use rvfat_unit::ondisk::name::{
    check, eq_ignore_case, hash_ignore_case, is_bad_unit, strip_trailing_dots,
    strip_trailing_dots_len, units_to_utf8, utf8_to_units,
};
use rvfat_unit::ondisk::{Codepage, FormatError};

fn from_utf8(bytes: &[u8]) -> Result<Vec<u16>, FormatError> {
    let mut out = [0; 260];
    utf8_to_units(bytes, &mut out).map(|len| out[..len].to_vec())
}

fn to_utf8(units: &[u16], room: usize) -> Vec<u8> {
    let mut out = vec![0; room];
    let len = units_to_utf8(units, &mut out);
    out.truncate(len);
    out
}

fn from_bytes(bytes: &[u8], xlate: bool, cp: &impl Codepage) -> Result<Vec<u16>, FormatError> {
    let mut out = [0; 260];
    bytes_to_units(bytes, xlate, cp, &mut out).map(|len| out[..len].to_vec())
}

fn to_bytes(units: &[u16], xlate: bool, cp: &impl Codepage, room: usize) -> Vec<u8> {
    let mut out = vec![0; room];
    let len = units_to_bytes(units, xlate, cp, &mut out);
    out.truncate(len);
    out
}

#[test]
fn bad_units() {
    let bad: String = (0u8..128)
        .filter(|byte| *byte >= 0x20 && is_bad_unit(u16::from(*byte)))
        .map(char::from)
        .collect();
    assert_eq!(bad, "\"*/:<>?\\|");
    assert!((0..0x20).all(is_bad_unit));
    assert!(!(0x7F..=u16::MAX).any(is_bad_unit));
}

#[test]
fn checks() {
    let result = |text: &str| check(&units(text));
    assert_eq!(result("a name.with [every] +thing;="), Ok(()));
    assert_eq!(result(" leading"), Ok(()));
    assert_eq!(result(""), Err(FormatError::EmptyName));
    assert_eq!(result("x "), Err(FormatError::NameTrailingSpace));
    assert_eq!(result("a:b"), Err(FormatError::NameUnit { found: 0x3A }));
    assert_eq!(result("a\0"), Err(FormatError::NameUnit { found: 0 }));
    assert_eq!(check(&[0x61; 255]), Ok(()));
    assert_eq!(check(&[0x61; 256]), Err(FormatError::NameTooLong));
}

#[test]
fn trailing_dots() {
    for (name, stripped) in [
        ("a..", "a"),
        ("a", "a"),
        ("...", ""),
        ("", ""),
        (".a. .", ".a. "),
    ] {
        assert_eq!(strip_trailing_dots(&units(name)), units(stripped));
        assert_eq!(strip_trailing_dots_len(name.as_bytes()), stripped.len());
    }
}

/// Lower case for ASCII.
fn fold(unit: u16) -> u16 {
    u8::try_from(unit).map_or(unit, |byte| u16::from(byte.to_ascii_lowercase()))
}

#[test]
fn comparing() {
    let same = |a: &str, b: &str| eq_ignore_case(&units(a), &units(b), fold);
    assert!(same("ReadMe", "README") && same("", ""));
    assert!(!same("read", "readme") && !same("readme", "read") && !same("a", "b"));
    assert_ne!(
        hash_ignore_case(&units("ab"), fold),
        hash_ignore_case(&units("ba"), fold)
    );
    // FNV-1a of the bytes 61 00, from its definition.
    let hash = (0x811C_9DC5u32 ^ 0x61)
        .wrapping_mul(0x0100_0193)
        .wrapping_mul(0x0100_0193);
    assert_eq!(hash_ignore_case(&units("A"), fold), hash);
}

#[test]
fn utf8_by_hand() {
    assert_eq!(from_utf8("aé☃".as_bytes()), Ok(vec![0x61, 0xE9, 0x2603]));
    assert_eq!(from_utf8("😀".as_bytes()), Ok(vec![0xD83D, 0xDE00]));
    assert_eq!(from_utf8(b""), Ok(vec![]));
    for bad in [
        &b"\x80"[..],
        b"\xC3",
        b"\xC0\x80",
        b"\xED\xA0\x80",
        b"\xF4\x90\x80\x80",
        b"\xFC\x80\x80\x80\x80\x80",
        b"abc\xFF",
    ] {
        assert_eq!(from_utf8(bad), Err(FormatError::NameEncoding));
    }
}

#[test]
fn utf8_lengths() {
    assert_eq!(from_utf8(&[b'a'; 255]).map(|name| name.len()), Ok(255));
    assert_eq!(from_utf8(&[b'a'; 256]), Err(FormatError::NameTooLong));
    // A pair across the limit.
    let mut name = "a".repeat(254);
    name.push('😀');
    assert_eq!(from_utf8(name.as_bytes()), Err(FormatError::NameTooLong));
    name.remove(0);
    assert_eq!(from_utf8(name.as_bytes()).map(|name| name.len()), Ok(255));
}

#[test]
fn to_utf8_by_hand() {
    assert_eq!(to_utf8(&units("aé☃😀"), 20), "aé☃😀".as_bytes());
    assert_eq!(to_utf8(&[0x61, 0, 0x62], 20), b"a");
    // Unpaired halves are left out.
    assert_eq!(to_utf8(&[0x61, 0xD83D, 0x62], 20), b"ab");
    assert_eq!(to_utf8(&[0xDE00, 0xD83D, 0x62, 0xD83D], 20), b"b");
    assert_eq!(to_utf8(&[0xD83D, 0xD83D, 0xDE00], 20), "😀".as_bytes());
    // A name never vanishes.
    assert_eq!(to_utf8(&[0xD83D], 20), b"?");
    assert_eq!(to_utf8(&[], 20), b"");
    assert_eq!(to_utf8(&[0xD83D], 0), b"");
    // What does not fit whole is left out, with all that follows.
    assert_eq!(to_utf8(&units("a☃b"), 3), b"a");
    assert_eq!(to_utf8(&units("a☃b"), 4), "a☃".as_bytes());
    assert_eq!(to_utf8(&[0xFFFF; 255], 765).len(), 765);
}

#[test]
fn character_sets() {
    assert_eq!(from_bytes(b"a\xE9", false, &Latin), Ok(vec![0x61, 0xE9]));
    assert_eq!(
        from_bytes(b"a\x81\x42", false, &TwoByte),
        Ok(vec![0x61, 0x3042])
    );
    assert_eq!(
        from_bytes(b"a\x81", false, &TwoByte),
        Err(FormatError::NameEncoding)
    );
    assert_eq!(
        from_bytes(&[b'a'; 255], false, &Latin).map(|name| name.len()),
        Ok(255)
    );
    assert_eq!(
        from_bytes(&[b'a'; 256], false, &Latin),
        Err(FormatError::NameTooLong)
    );
    assert_eq!(to_bytes(&[0x61, 0x3042], false, &TwoByte, 9), b"a\x81\x42");
    assert_eq!(to_bytes(&[0x61, 0x3042], false, &TwoByte, 2), b"a");
    assert_eq!(to_bytes(&[0x61, 0xE9], false, &TwoByte, 9), b"a?");
    assert_eq!(to_bytes(&[0x61, 0, 0x61], false, &Latin, 9), b"a");
}

#[test]
fn escapes() {
    assert_eq!(to_bytes(&units("a☃b"), true, &Latin, 9), b"a:2603b");
    assert_eq!(to_bytes(&[0xABCD], true, &Latin, 9), b":abcd");
    assert_eq!(to_bytes(&[0xABCD], true, &Latin, 4), b"");
    assert_eq!(from_bytes(b"a:2603b", true, &Latin), Ok(units("a☃b")));
    assert_eq!(from_bytes(b":aBcD", true, &Latin), Ok(vec![0xABCD]));
    assert_eq!(from_bytes(b":", false, &Latin), Ok(units(":")));
    for bad in [&b":"[..], b":123", b":12g4", b"a:+123"] {
        assert_eq!(
            from_bytes(bad, true, &Latin),
            Err(FormatError::NameEncoding)
        );
    }
}

proptest! {
    #[test]
    fn utf8_round_trips(name in "[^\\x00]{0,127}") {
        let converted = from_utf8(name.as_bytes()).unwrap();
        prop_assert_eq!(&converted, &units(&name));
        prop_assert_eq!(to_utf8(&converted, 765), name.as_bytes());
    }

    #[test]
    fn utf8_output_is_utf8(
        name in prop::collection::vec(
            prop_oneof![any::<u16>(), 0xD800u16..0xE000, 0x20u16..0x7F], 0..300),
        room in 0usize..800,
    ) {
        let bytes = to_utf8(&name, room);
        prop_assert!(std::str::from_utf8(&bytes).is_ok());
        if room > 0 && name.first().is_some_and(|unit| *unit != 0) {
            prop_assert!(!bytes.is_empty() || room < 4);
        }
    }

    #[test]
    fn escapes_round_trip(name in prop::collection::vec(1u16.., 0..=255)) {
        prop_assume!(!name.contains(&0x3A));
        let bytes = to_bytes(&name, true, &Latin, 2000);
        prop_assert_eq!(from_bytes(&bytes, true, &Latin), Ok(name));
    }

    #[test]
    fn equal_names_have_equal_hashes(name in "[a-zA-Z]{0,20}", flips: u32) {
        let other: String = name.char_indices().map(|(at, letter)| {
            if (flips >> at) & 1 == 1 { letter.to_ascii_uppercase() } else { letter }
        }).collect();
        let (a, b) = (units(&name), units(&other));
        prop_assert!(eq_ignore_case(&a, &b, fold));
        prop_assert_eq!(hash_ignore_case(&a, fold), hash_ignore_case(&b, fold));
    }

    #[test]
    fn never_panics(
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        name in prop::collection::vec(any::<u16>(), 0..300),
        set: u64, xlate: bool, room in 0usize..400,
    ) {
        let _ = from_utf8(&bytes);
        let _ = check(&name);
        let _ = strip_trailing_dots(&name);
        let _ = from_bytes(&bytes, xlate, &Hostile(set));
        prop_assert!(to_bytes(&name, xlate, &Hostile(set), room).len() <= room);
        prop_assert!(strip_trailing_dots_len(&bytes) <= bytes.len());
    }
}
