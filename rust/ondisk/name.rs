// SPDX-License-Identifier: GPL-2.0

//! Rules for long names, as UTF-16 units, and their conversion from and to UTF-8.

use super::{
    longname::MAX_UNITS,
    FormatError, //
};

/// Shown for a name of which nothing can be converted.
const REPLACEMENT: u8 = b'?';

/// Returns whether `unit` may not appear in a name: control characters and `* ? < > | " : / \`.
///
/// fatgen103, "Name Limits and Character Sets", and Linux vfat.
pub fn is_bad_unit(unit: u16) -> bool {
    matches!(
        u8::try_from(unit),
        Ok(0..=0x1F | b'*' | b'?' | b'<' | b'>' | b'|' | b'"' | b':' | b'/' | b'\\')
    )
}

/// Checks that a file may be called `name`, whose trailing dots have been removed.
///
/// # Errors
///
/// One of [`FormatError::EmptyName`], [`FormatError::NameTooLong`], [`FormatError::NameUnit`] and
/// [`FormatError::NameTrailingSpace`].
pub fn check(name: &[u16]) -> Result<(), FormatError> {
    if name.len() > MAX_UNITS {
        return Err(FormatError::NameTooLong);
    }
    if let Some(&found) = name.iter().find(|unit| is_bad_unit(**unit)) {
        return Err(FormatError::NameUnit { found });
    }
    match name.last() {
        None => Err(FormatError::EmptyName),
        Some(&last) if last == u16::from(b' ') => Err(FormatError::NameTrailingSpace),
        Some(_) => Ok(()),
    }
}

/// Returns `name` without dots at its end, which are not part of a name.
pub fn strip_trailing_dots(mut name: &[u16]) -> &[u16] {
    while let [head @ .., last] = name {
        if *last != u16::from(b'.') {
            break;
        }
        name = head;
    }
    name
}

/// Returns the length in bytes of `name` without dots at its end.
///
/// For names in a character set in which byte 0x2E is always a dot.
pub fn strip_trailing_dots_len(mut name: &[u8]) -> usize {
    while let [head @ .., b'.'] = name {
        name = head;
    }
    name.len()
}

/// Returns whether two names are the same, once `fold` has mapped each unit to one case.
pub fn eq_ignore_case(a: &[u16], b: &[u16], fold: impl Fn(u16) -> u16) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| fold(*a) == fold(*b))
}

/// Returns a hash of `name` that is the same for all names that [`eq_ignore_case`] finds equal.
///
/// FNV-1a over the units, low byte first. Never stored on the disk.
pub fn hash_ignore_case(name: &[u16], fold: impl Fn(u16) -> u16) -> u32 {
    const BASIS: u32 = 0x811C_9DC5;
    const PRIME: u32 = 0x0100_0193;
    name.iter()
        .flat_map(|unit| fold(*unit).to_le_bytes())
        .fold(BASIS, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(PRIME)
        })
}

/// Converts a name from UTF-8, stores its units in `out` and returns how many.
///
/// A character outside the Basic Multilingual Plane becomes a surrogate pair. A NUL is kept, for
/// [`check`] to refuse.
///
/// # Errors
///
/// [`FormatError::NameEncoding`] for what is not UTF-8 (overlong forms and surrogates are not),
/// [`FormatError::NameTooLong`] for more than 255 units.
pub fn utf8_to_units(bytes: &[u8], out: &mut [u16; 260]) -> Result<usize, FormatError> {
    let text = core::str::from_utf8(bytes).map_err(|_| FormatError::NameEncoding)?;
    let mut units = text.encode_utf16();
    let mut count = 0;
    for (slot, unit) in out.iter_mut().take(MAX_UNITS).zip(units.by_ref()) {
        *slot = unit;
        count = usize::saturating_add(count, 1);
    }
    if count == MAX_UNITS && units.next().is_some() {
        return Err(FormatError::NameTooLong);
    }
    Ok(count)
}

/// Converts a name to UTF-8, stores its bytes in `out` and returns how many.
///
/// Stops at a NUL, and at the first character that does not fit; a name of 255 units needs up to
/// 765 bytes. Unpaired surrogates are left out, as in Linux; if nothing remains of a name, it
/// becomes a question mark.
pub fn units_to_utf8(units: &[u16], out: &mut [u8]) -> usize {
    let units = units.iter().copied().take_while(|unit| *unit != 0);
    let mut len: usize = 0;
    let mut empty = true;
    for decoded in char::decode_utf16(units) {
        empty = false;
        let Ok(character) = decoded else {
            continue;
        };
        let mut encoded = [0; 4];
        let encoded = character.encode_utf8(&mut encoded).bytes();
        let end = len.saturating_add(encoded.len());
        let Some(free) = out.get_mut(len..end) else {
            return len;
        };
        for (to, from) in free.iter_mut().zip(encoded) {
            *to = from;
        }
        len = end;
    }
    match out.first_mut() {
        Some(first) if len == 0 && !empty => {
            *first = REPLACEMENT;
            1
        }
        _ => len,
    }
}
