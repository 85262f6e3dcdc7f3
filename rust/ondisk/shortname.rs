// SPDX-License-Identifier: GPL-2.0

//! 8.3 names: making one for a long name, and showing one as a name.
//!
//! The rules are those of Linux vfat, which follow fatgen103, "The Basis-Name Generation Algorithm"
//! and "The Numeric-Tail Generation Algorithm", with one change: after `~9`, four hexadecimal
//! digits of a number that differs from call to call are tried instead of longer tails.

use super::{
    charset::{
        convert,
        MAX_CHAR_BYTES, //
    },
    dirent::{
        CASE_LOWER_BASE,
        CASE_LOWER_EXT, //
    },
    Codepage,
    FormatError,
    ShortName, //
};

/// Length of the base of an 8.3 name in bytes.
const BASE: usize = 8;

/// Length of the extension of an 8.3 name in bytes.
const EXTENSION: usize = 3;

/// Base that remains before a tail like `~1`, in bytes.
const BASE_BEFORE_TAIL: usize = 6;

/// Base that remains before a tail like `1A2B~1`, in bytes.
const BASE_BEFORE_HASH: usize = 2;

/// Difference between hash tails that are tried in a row. It has no factor in common with 2^16, so
/// all of them get their turn.
const HASH_STEP: u16 = 11;

/// Most units that [`display_units`] stores: base, dot and extension.
pub const MAX_DISPLAY_UNITS: usize = BASE + 1 + EXTENSION;

/// The dot as a UTF-16 unit.
const DOT: u16 = 0x2E;

/// The question mark as a UTF-16 unit, shown for what is not a character.
const REPLACEMENT: u16 = 0x3F;

/// How 8.3 names without a long name are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayCase {
    /// In lower case.
    Lower,
    /// As stored.
    Win95,
    /// In the case that the entry's flags say.
    WinNt,
}

/// When an 8.3 name can do without a long name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateCase {
    /// If it is all in upper case.
    Win95,
    /// If base and extension each are in one case, which the entry's flags then record.
    WinNt,
}

/// The mount option `shortname=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShortNameCase {
    /// How to show names.
    pub display: DisplayCase,
    /// How to make names.
    pub create: CreateCase,
}

impl ShortNameCase {
    /// `shortname=lower`.
    pub const LOWER: Self = Self {
        display: DisplayCase::Lower,
        create: CreateCase::Win95,
    };

    /// `shortname=win95`.
    pub const WIN95: Self = Self {
        display: DisplayCase::Win95,
        create: CreateCase::Win95,
    };

    /// `shortname=winnt`.
    pub const WINNT: Self = Self {
        display: DisplayCase::WinNt,
        create: CreateCase::WinNt,
    };

    /// `shortname=mixed`, the default of Linux vfat.
    pub const MIXED: Self = Self {
        display: DisplayCase::WinNt,
        create: CreateCase::Win95,
    };
}

/// Why [`Basis::choose`] gave no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShortNameError<E> {
    /// The name itself is an 8.3 name, and in use.
    Exists,
    /// All tails are in use.
    Exhausted,
    /// The lookup failed.
    Lookup(E),
}

/// The 8.3 name for a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The name.
    pub name: ShortName,
    /// Case flags for the entry.
    pub lcase: u8,
    /// Whether the entry needs a long name as well.
    pub needs_long: bool,
}

/// Base or extension of an 8.3 name in the making.
#[derive(Clone, Copy, Debug)]
struct Part<const N: usize> {
    bytes: [u8; N],
    len: usize,
    /// Whether no letter was in upper case.
    lower: bool,
    /// Whether no letter was in lower case.
    upper: bool,
    /// Whether no character had to be left out or replaced.
    valid: bool,
    /// Whether all of it fitted.
    complete: bool,
}

impl<const N: usize> Part<N> {
    const EMPTY: Self = Self {
        bytes: [b' '; N],
        len: 0,
        lower: true,
        upper: true,
        valid: true,
        complete: true,
    };

    /// Returns the bytes of the 8.3 character for `unit`, and how many they are.
    ///
    /// [`None`] if it is left out. Notes what that does to case and validity of the part.
    fn convert(&mut self, cp: &impl Codepage, unit: u16) -> Option<([u8; MAX_CHAR_BYTES], usize)> {
        const UNDERSCORE: [u8; MAX_CHAR_BYTES] = [b'_', 0, 0, 0, 0, 0];
        match u8::try_from(unit) {
            Ok(b'.' | b' ') => {
                self.valid = false;
                return None;
            }
            Ok(b'[' | b']' | b';' | b',' | b'+' | b'=') => {
                self.valid = false;
                return Some((UNDERSCORE, 1));
            }
            _ => {}
        }
        let Some((mut bytes, len)) = convert(cp, unit) else {
            self.valid = false;
            return Some((UNDERSCORE, 1));
        };
        let [first, ..] = &mut bytes;
        if len > 1 || *first >= 0x7F {
            // Case flags apply to ASCII letters only.
            self.lower = false;
            self.upper = false;
        }
        if len == 1 {
            let upper = cp.to_upper(*first);
            if upper.is_ascii_alphabetic() {
                if upper == *first {
                    self.lower = false;
                } else {
                    self.upper = false;
                }
            }
            *first = upper;
        }
        Some((bytes, len))
    }

    /// Appends as many of `bytes` as there is room for. Returns whether that was all.
    fn append(&mut self, bytes: &[u8]) -> bool {
        let free = self.bytes.get_mut(self.len..).unwrap_or(&mut []);
        for (to, from) in free.iter_mut().zip(bytes) {
            *to = *from;
        }
        let room = free.len();
        self.len = self.len.saturating_add(bytes.len()).min(N);
        bytes.len() <= room
    }

    /// Returns whether the part is in one case, whichever.
    fn one_case(&self) -> bool {
        self.upper || self.lower
    }
}

/// What an 8.3 name for a long name is made from.
#[derive(Clone, Copy, Debug)]
pub struct Basis {
    base: Part<BASE>,
    extension: Part<EXTENSION>,
    /// Length of the part of the base that fits before a tail like `~1`: whole characters only.
    before_tail: usize,
    /// The same for a tail like `1A2B~1`.
    before_hash: usize,
}

/// Splits a name at its last dot.
///
/// That dot does not count at the end of the name, or where nothing but dots and spaces comes
/// before it: then all is base.
fn split(name: &[u16]) -> (&[u16], &[u16]) {
    let skipped = |unit: &u16| *unit == DOT || *unit == u16::from(b' ');
    let all = (name, &[][..]);
    let Some(dot) = name.iter().rposition(|unit| *unit == DOT) else {
        return all;
    };
    let (Some(base), Some([_, extension @ ..])) = (name.get(..dot), name.get(dot..)) else {
        return all;
    };
    if extension.is_empty() || base.iter().all(skipped) {
        return all;
    }
    (base, extension)
}

/// Makes the basis of an 8.3 name for the long name `name`.
///
/// `cp` is the volume's code page. `name` has passed [`name::check`](super::name::check).
///
/// # Errors
///
/// [`FormatError::NameWithoutBase`] if no character of the name can be used.
pub fn from_long(name: &[u16], cp: &impl Codepage) -> Result<Basis, FormatError> {
    let (base, extension) = split(name);
    let mut basis = Basis {
        base: Part::EMPTY,
        extension: Part::EMPTY,
        before_tail: BASE_BEFORE_TAIL,
        before_hash: BASE_BEFORE_HASH,
    };
    basis.fill_base(base, cp);
    if basis.base.len == 0 {
        return Err(FormatError::NameWithoutBase);
    }
    basis.fill_extension(extension, cp);
    Ok(basis)
}

impl Basis {
    /// Converts the base, up to 8 bytes. A character at the limit may be cut.
    fn fill_base(&mut self, mut units: &[u16], cp: &impl Codepage) {
        while let [unit, rest @ ..] = units {
            units = rest;
            let Some((bytes, count)) = self.base.convert(cp, *unit) else {
                continue;
            };
            let start = self.base.len;
            let end = start.saturating_add(count);
            if start < BASE_BEFORE_HASH && end > BASE_BEFORE_HASH {
                self.before_hash = start;
            }
            if start < BASE_BEFORE_TAIL && end > BASE_BEFORE_TAIL {
                self.before_tail = start;
            }
            let fits = self.base.append(bytes.get(..count).unwrap_or(&[]));
            if self.base.len >= BASE {
                self.base.complete = fits && units.is_empty();
                return;
            }
        }
    }

    /// Converts the extension, up to 3 bytes. A character beyond the limit is left out whole.
    fn fill_extension(&mut self, mut units: &[u16], cp: &impl Codepage) {
        while let [unit, rest @ ..] = units {
            units = rest;
            let Some((bytes, count)) = self.extension.convert(cp, *unit) else {
                continue;
            };
            if self.extension.len.saturating_add(count) > EXTENSION {
                self.extension.complete = false;
                return;
            }
            self.extension.append(bytes.get(..count).unwrap_or(&[]));
            if self.extension.len >= EXTENSION {
                self.extension.complete = units.is_empty();
                return;
            }
        }
    }

    /// Returns the 8.3 name with the first `keep` bytes of the base, followed by `tail`.
    fn with_tail(&self, keep: usize, tail: &[u8]) -> ShortName {
        let kept = self.base.bytes.iter().take(self.base.len.min(keep));
        let base = kept.chain(tail).chain(&[b' '; BASE]).take(BASE);
        let mut bytes = [b' '; BASE + EXTENSION];
        for (to, from) in bytes.iter_mut().zip(base.chain(&self.extension.bytes)) {
            *to = *from;
        }
        ShortName::from_decoded(bytes)
    }

    /// Returns whether the long name is an 8.3 name, case aside.
    fn is_short(&self) -> bool {
        self.base.valid && self.base.complete && self.extension.valid && self.extension.complete
    }

    /// Returns the entry's case flags if the 8.3 name, which is `name` in full, can do without a
    /// long name.
    fn case_flags(&self, create: CreateCase) -> Option<u8> {
        match create {
            CreateCase::Win95 => (self.base.upper && self.extension.upper).then_some(0),
            CreateCase::WinNt if self.base.one_case() && self.extension.one_case() => {
                let base = if self.base.upper { 0 } else { CASE_LOWER_BASE };
                let extension = if self.extension.upper {
                    0
                } else {
                    CASE_LOWER_EXT
                };
                Some(base | extension)
            }
            CreateCase::WinNt => None,
        }
    }

    /// Chooses an 8.3 name that is not in use.
    ///
    /// `exists` tells whether the directory has an entry of a given name. `numtail` is false with
    /// the mount option `nonumtail`: then a name without a tail is tried first. `seed` should
    /// differ from call to call.
    ///
    /// # Errors
    ///
    /// See [`ShortNameError`].
    pub fn choose<E>(
        &self,
        create: CreateCase,
        numtail: bool,
        seed: u32,
        mut exists: impl FnMut(&ShortName) -> Result<bool, E>,
    ) -> Result<Chosen, ShortNameError<E>> {
        let mut is_free = |name: &ShortName| match exists(name) {
            Ok(found) => Ok(!found),
            Err(error) => Err(ShortNameError::Lookup(error)),
        };
        let plain = self.with_tail(BASE, &[]);
        if self.is_short() {
            if !is_free(&plain)? {
                return Err(ShortNameError::Exists);
            }
            let flags = self.case_flags(create);
            return Ok(Chosen {
                name: plain,
                lcase: flags.unwrap_or(0),
                needs_long: flags.is_none(),
            });
        }
        let name = if !numtail && is_free(&plain)? {
            plain
        } else {
            self.choose_tail(seed, is_free)?
        };
        Ok(Chosen {
            name,
            lcase: 0,
            needs_long: true,
        })
    }

    /// Returns the first name with a numeric tail that is free.
    fn choose_tail<E>(
        &self,
        seed: u32,
        mut is_free: impl FnMut(&ShortName) -> Result<bool, ShortNameError<E>>,
    ) -> Result<ShortName, ShortNameError<E>> {
        let keep = if self.base.len > BASE_BEFORE_TAIL {
            self.before_tail
        } else {
            self.base.len
        };
        for digit in b'1'..=b'9' {
            let name = self.with_tail(keep, &[b'~', digit]);
            if is_free(&name)? {
                return Ok(name);
            }
        }

        let keep = if self.base.len > BASE_BEFORE_HASH {
            self.before_hash
        } else {
            self.base.len
        };
        let [low, high, third, _] = seed.to_le_bytes();
        let digit = b'1'.saturating_add(third & 0x7);
        let mut hash = u16::from_le_bytes([low, high]);
        for _ in 0..=u16::MAX {
            let [a, b, c, d] = hex_digits(hash);
            let name = self.with_tail(keep, &[a, b, c, d, b'~', digit]);
            if is_free(&name)? {
                return Ok(name);
            }
            hash = hash.wrapping_sub(HASH_STEP);
        }
        Err(ShortNameError::Exhausted)
    }
}

/// Returns `value` as four hexadecimal digits in upper case.
fn hex_digits(value: u16) -> [u8; 4] {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    [12, 8, 4, 0].map(|shift: u16| {
        DIGITS
            .get(usize::from((value >> shift) & 0xF))
            .copied()
            .unwrap_or(b'0')
    })
}

/// Stores the units of `name`, as it is shown, in `out` and returns how many.
///
/// `lcase` is the entry's case flags, `cp` the volume's code page. A NUL byte ends base and
/// extension, spaces at the end of each are left out, and what is not a character becomes a
/// question mark. Zero means there is nothing to show and the entry is to be skipped.
pub fn display_units(
    name: &ShortName,
    lcase: u8,
    display: DisplayCase,
    cp: &impl Codepage,
    out: &mut [u16; MAX_DISPLAY_UNITS],
) -> usize {
    let is_lower = |flag: u8| match display {
        DisplayCase::Lower => true,
        DisplayCase::Win95 => false,
        DisplayCase::WinNt => lcase & flag != 0,
    };
    let decoded = name.decoded();
    let (base, extension) = decoded.split_at(BASE);

    let base_len = show_part(base, is_lower(CASE_LOWER_BASE), cp, out);
    let Some([dot, tail @ ..]) = out.get_mut(base_len..) else {
        return base_len;
    };
    match show_part(extension, is_lower(CASE_LOWER_EXT), cp, tail) {
        0 => base_len,
        extension_len => {
            *dot = DOT;
            base_len.saturating_add(1).saturating_add(extension_len)
        }
    }
}

/// Stores the units of a base or an extension in `out` and returns how many.
fn show_part(mut bytes: &[u8], lower: bool, cp: &impl Codepage, out: &mut [u16]) -> usize {
    let mut len = 0;
    for (end, slot) in (1..).zip(out.iter_mut()) {
        let Some(&first) = bytes.first().filter(|byte| **byte != 0) else {
            break;
        };
        let (unit, count) = show_char(bytes, lower, cp);
        *slot = unit;
        bytes = bytes.get(count..).unwrap_or(&[]);
        if count > 1 || first != b' ' {
            len = end;
        }
    }
    len
}

/// Returns the unit for the character at the start of `bytes`, and the character's length.
fn show_char(bytes: &[u8], lower: bool, cp: &impl Codepage) -> (u16, usize) {
    let decoded = match (cp.char2uni(bytes), bytes) {
        (Some((_, 0 | 1)), [first, ..]) if lower => {
            // Only single-byte characters have a case.
            cp.char2uni(&[cp.to_lower(*first)])
        }
        (decoded, _) => decoded,
    };
    match decoded {
        // A NUL would cut the name short.
        Some((unit, count)) if unit != 0 => (unit, count.max(1)),
        _ => (REPLACEMENT, 1),
    }
}
