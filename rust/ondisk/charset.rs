// SPDX-License-Identifier: GPL-2.0

//! Character sets: what 8.3 names are stored in, and what names from user space come in.
//!
//! The tables live outside this layer; [`Codepage`] is what it asks of them. Without the mount
//! option `utf8`, names from and to user space go through one of these too, instead of through the
//! conversions in [`name`](super::name).

use super::{
    longname::MAX_UNITS,
    FormatError, //
};

/// Most bytes that a character takes up in any character set.
pub const MAX_CHAR_BYTES: usize = 6;

/// Marks a unit written as four hexadecimal digits (mount option `uni_xlate`).
const ESCAPE: u8 = b':';

/// Shown in place of a character that can't be converted.
const REPLACEMENT: u8 = b'?';

/// A character set of one or more bytes per character.
pub trait Codepage {
    /// Converts the character at the start of `bytes`, which is not empty.
    ///
    /// Returns its UTF-16 unit and its length in bytes, [`None`] if there is no such character.
    fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)>;

    /// Converts the UTF-16 unit `unit`.
    ///
    /// Stores the character's bytes in `out` and returns how many they are, [`None`] if the set
    /// has no such character.
    fn uni2char(&self, unit: u16, out: &mut [u8; MAX_CHAR_BYTES]) -> Option<usize>;

    /// Returns single-byte character `byte` in upper case.
    fn to_upper(&self, byte: u8) -> u8;

    /// Returns single-byte character `byte` in lower case.
    fn to_lower(&self, byte: u8) -> u8;
}

/// Returns `unit` as a character of `cp`: its bytes, of which only the first so many count.
///
/// [`None`] if the set has no such character; zero bytes count as that, too.
pub(super) fn convert(cp: &impl Codepage, unit: u16) -> Option<([u8; MAX_CHAR_BYTES], usize)> {
    let mut bytes = [0; MAX_CHAR_BYTES];
    let len = cp.uni2char(unit, &mut bytes)?;
    (1..=MAX_CHAR_BYTES).contains(&len).then_some((bytes, len))
}

/// Returns the value of a hexadecimal digit.
fn digit_value(digit: u8) -> Option<u16> {
    char::from(digit)
        .to_digit(16)
        .and_then(|value| u16::try_from(value).ok())
}

/// Returns the unit that `bytes` starts with as an escape: a colon and four hexadecimal digits.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let (&mark, digits) = bytes.split_first()?;
    if mark != ESCAPE {
        return None;
    }
    digits
        .first_chunk::<4>()?
        .iter()
        .try_fold(0, |unit: u16, digit| {
            Some((unit << 4) | digit_value(*digit)?)
        })
}

/// Returns the escape for `unit`.
fn escape(unit: u16) -> [u8; 5] {
    let digit = |shift: u16| match (unit >> shift) & 0xF {
        value @ 0..=9 => b'0'.saturating_add(u8::try_from(value).unwrap_or(0)),
        value => b'a'.saturating_add(u8::try_from(value.saturating_sub(10)).unwrap_or(0)),
    };
    [ESCAPE, digit(12), digit(8), digit(4), digit(0)]
}

/// Converts a name from character set `cp`, stores its units in `out` and returns how many.
///
/// With `uni_xlate`, a colon starts an escape and must be followed by four hexadecimal digits.
///
/// # Errors
///
/// [`FormatError::NameEncoding`] for bytes that are no character, [`FormatError::NameTooLong`] for
/// more than 255 units.
pub fn bytes_to_units(
    mut bytes: &[u8],
    uni_xlate: bool,
    cp: &impl Codepage,
    out: &mut [u16; 260],
) -> Result<usize, FormatError> {
    let mut count = 0;
    for slot in out.iter_mut().take(MAX_UNITS) {
        let Some(first) = bytes.first() else {
            return Ok(count);
        };
        let (unit, len) = if uni_xlate && *first == ESCAPE {
            escaped_unit(bytes).map(|unit| (unit, 5))
        } else {
            cp.char2uni(bytes).map(|(unit, len)| (unit, len.max(1)))
        }
        .ok_or(FormatError::NameEncoding)?;
        *slot = unit;
        count = count.saturating_add(1);
        bytes = bytes.get(len..).unwrap_or(&[]);
    }
    if bytes.is_empty() {
        Ok(count)
    } else {
        Err(FormatError::NameTooLong)
    }
}

/// Converts a name to character set `cp`, stores its bytes in `out` and returns how many.
///
/// Stops at a NUL, and at the first character that does not fit. A unit that the set does not have
/// becomes a question mark or, with `uni_xlate`, an escape.
pub fn units_to_bytes(units: &[u16], uni_xlate: bool, cp: &impl Codepage, out: &mut [u8]) -> usize {
    let mut len: usize = 0;
    for &unit in units.iter().take_while(|unit| **unit != 0) {
        let escaped = escape(unit);
        let converted = convert(cp, unit);
        let bytes = match &converted {
            Some((bytes, count)) => bytes.get(..*count).unwrap_or(&[]),
            None if uni_xlate => &escaped[..],
            None => &[REPLACEMENT],
        };
        let end = len.saturating_add(bytes.len());
        let Some(free) = out.get_mut(len..end) else {
            break;
        };
        for (to, from) in free.iter_mut().zip(bytes) {
            *to = *from;
        }
        len = end;
    }
    len
}
