// SPDX-License-Identifier: GPL-2.0

//! The on-disk format layer with each of its generic functions made concrete, so that a compiler
//! generates code for all of it. `check.sh` looks for calls to a panic in that code.

#![no_std]
#![allow(missing_docs)]

#[path = "../../../../rust/ondisk/mod.rs"]
pub mod ondisk;

use ondisk::{
    charset, fat, name, shortname, time, Codepage, CreateCase, DisplayCase, FatType, FormatError,
    ShortName, ShortNameError, TzOffset,
};

/// A character set that the compiler knows nothing about.
pub struct Opaque {
    pub decode: fn(&[u8]) -> Option<(u16, usize)>,
    pub encode: fn(u16, &mut [u8; 6]) -> Option<usize>,
    pub fold: fn(u8) -> u8,
}

impl Codepage for Opaque {
    fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        (self.decode)(bytes)
    }

    fn uni2char(&self, unit: u16, out: &mut [u8; 6]) -> Option<usize> {
        (self.encode)(unit, out)
    }

    fn to_upper(&self, byte: u8) -> u8 {
        (self.fold)(byte)
    }

    fn to_lower(&self, byte: u8) -> u8 {
        (self.fold)(byte)
    }
}

pub fn from_long(name: &[u16], cp: &Opaque) -> Result<shortname::Basis, FormatError> {
    shortname::from_long(name, cp)
}

pub fn choose(
    basis: &shortname::Basis,
    create: CreateCase,
    numtail: bool,
    seed: u32,
    exists: fn(&ShortName) -> Result<bool, i32>,
) -> Result<shortname::Chosen, ShortNameError<i32>> {
    basis.choose(create, numtail, seed, exists)
}

pub fn display_units(
    name: &ShortName,
    lcase: u8,
    display: DisplayCase,
    cp: &Opaque,
    out: &mut [u16; 12],
) -> usize {
    shortname::display_units(name, lcase, display, cp, out)
}

pub fn bytes_to_units(
    bytes: &[u8],
    uni_xlate: bool,
    cp: &Opaque,
    out: &mut [u16; 260],
) -> Result<usize, FormatError> {
    charset::bytes_to_units(bytes, uni_xlate, cp, out)
}

pub fn units_to_bytes(units: &[u16], uni_xlate: bool, cp: &Opaque, out: &mut [u8]) -> usize {
    charset::units_to_bytes(units, uni_xlate, cp, out)
}

pub fn for_each_entry(ty: FatType, first: u32, bytes: &[u8], f: fn(u32, bool)) {
    fat::for_each_entry(ty, first, bytes, f);
}

pub fn encode_each(ty: FatType, first: u32, bytes: &mut [u8], value: fn(u32) -> u32) {
    fat::encode_each(ty, first, bytes, value);
}

pub fn eq_ignore_case(a: &[u16], b: &[u16], fold: fn(u16) -> u16) -> bool {
    name::eq_ignore_case(a, b, fold)
}

pub fn hash_ignore_case(name: &[u16], fold: fn(u16) -> u16) -> u32 {
    name::hash_ignore_case(name, fold)
}

pub fn unix_from_dos(time: u16, date: u16, cs: u8, tz: TzOffset) -> (i64, u32) {
    time::unix_from_dos(time, date, cs, tz)
}
