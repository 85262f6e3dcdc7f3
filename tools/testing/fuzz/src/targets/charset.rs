// SPDX-License-Identifier: GPL-2.0

//! Conversion and comparison of names.

use super::AnyCodepage;
use crate::input::Input;
use rvfat_unit::ondisk::{charset, name, FormatError};

/// Byte that buffers are filled with, to see what is written.
const FILL: u8 = 0x5A;

/// The input chooses a character set, the length of a buffer and whether to escape; then it gives
/// a name in units, and the rest is a name in bytes.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let cp = AnyCodepage::new(input.u8());
    let xlate = input.flag();
    let room = usize::from(input.u16()) % 800;
    let units = input.units(300);
    let bytes = input.rest();
    utf8(bytes);
    utf16(&units, room);
    other(&cp, xlate, bytes, &units, room);
    rules(&units, bytes);
}

/// UTF-8 to UTF-16, against the standard library.
fn utf8(bytes: &[u8]) {
    let mut out = [0; 260];
    let got = name::utf8_to_units(bytes, &mut out);
    let want: Result<Vec<u16>, _> = std::str::from_utf8(bytes).map(|s| s.encode_utf16().collect());
    match (got, want) {
        (Ok(n), Ok(want)) => assert_eq!(&out[..n], want),
        (Err(FormatError::NameTooLong), Ok(want)) => assert!(want.len() > 255),
        (Err(e), want) => assert!(e == FormatError::NameEncoding && want.is_err()),
        (Ok(_), Err(e)) => panic!("accepted: {e}"),
    }
}

/// UTF-16 to UTF-8, against the standard library.
fn utf16(units: &[u16], room: usize) {
    let mut out = vec![FILL; 1000];
    let n = name::units_to_utf8(units, &mut out[..room]);
    assert!(n <= room && out[room..].iter().all(|b| *b == FILL));
    let text = std::str::from_utf8(&out[..n]).expect("UTF-8");
    let cut = units.split(|u| *u == 0).next().unwrap_or(&[]);
    let want: String = char::decode_utf16(cut.iter().copied())
        .filter_map(Result::ok)
        .collect();
    if text != "?" {
        assert!(want.starts_with(text), "{text:?} of {want:?}");
        let left = want[text.len()..].chars().next();
        assert!(left.is_none_or(|c| n + c.len_utf8() > room));
    }
    if !want.is_empty() && room >= 4 {
        assert!(n > 0);
    }
}

/// Another character set, both ways.
fn other(cp: &AnyCodepage, xlate: bool, bytes: &[u8], units: &[u16], room: usize) {
    let mut out = [0; 260];
    if let Ok(n) = charset::bytes_to_units(bytes, xlate, cp, &mut out) {
        assert!(n <= 255 && n <= bytes.len());
    }
    let mut text = vec![FILL; 2000];
    let n = charset::units_to_bytes(units, xlate, cp, &mut text[..room]);
    assert!(n <= room && text[room..].iter().all(|b| *b == FILL));

    // With escapes nothing is lost, as long as the name itself has none.
    let plain = |u: &u16| *u != 0 && *u != u16::from(b':');
    if xlate && cp.is_sane() && units.len() <= 255 && units.iter().all(plain) {
        let n = charset::units_to_bytes(units, true, cp, &mut text);
        let back = charset::bytes_to_units(&text[..n], true, cp, &mut out);
        assert_eq!(back.map(|n| &out[..n]), Ok(units));
    }
}

/// The rules for names, and comparison without regard to case.
fn rules(units: &[u16], bytes: &[u8]) {
    let stripped = name::strip_trailing_dots(units);
    assert!(units.starts_with(stripped) && stripped.last() != Some(&0x2E));
    assert!(units[stripped.len()..].iter().all(|u| *u == 0x2E));
    let len = name::strip_trailing_dots_len(bytes);
    assert!(bytes[len..].iter().all(|b| *b == b'.') && !bytes[..len].ends_with(b"."));
    if name::check(stripped).is_ok() {
        assert!((1..=255).contains(&stripped.len()));
        assert!(!stripped.iter().any(|u| matches!(*u, 0 | 0x2F)));
    }
    let fold = |u: u16| match u {
        0x41..=0x5A => u + 0x20,
        u => u,
    };
    let lower: Vec<u16> = units.iter().map(|u| fold(*u)).collect();
    assert!(name::eq_ignore_case(units, &lower, fold));
    assert_eq!(
        name::hash_ignore_case(units, fold),
        name::hash_ignore_case(&lower, fold)
    );
    if let Some((last, head)) = units.split_last() {
        assert!(!name::eq_ignore_case(units, head, fold));
        let mut other = head.to_vec();
        other.push(last.wrapping_add(0x100));
        assert!(!name::eq_ignore_case(units, &other, fold));
    }
}
