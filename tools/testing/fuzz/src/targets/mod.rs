// SPDX-License-Identifier: GPL-2.0

//! The targets, one module each.

pub mod charset;
pub mod directory;
pub mod extent;
pub mod fsinfo;
pub mod geometry;
pub mod shortname;
pub mod table;
pub mod time;

use crate::common::{Hostile, Latin, TwoByte};
use rvfat_unit::ondisk::{Codepage, FatType};

/// The FAT type that a number stands for.
fn fat_type(n: usize) -> FatType {
    [FatType::Fat12, FatType::Fat16, FatType::Fat32][n % 3]
}

/// One of the character sets to test with.
enum AnyCodepage {
    Latin,
    TwoByte,
    Hostile(Hostile),
}

impl AnyCodepage {
    /// The character set that a number stands for.
    fn new(n: u8) -> Self {
        match n % 4 {
            0 | 1 => Self::Latin,
            2 => Self::TwoByte,
            _ => Self::Hostile(Hostile(u64::from(n))),
        }
    }

    /// Whether it keeps what it promises.
    fn is_sane(&self) -> bool {
        !matches!(self, Self::Hostile(_))
    }
}

impl Codepage for AnyCodepage {
    fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        match self {
            Self::Latin => Latin.char2uni(bytes),
            Self::TwoByte => TwoByte.char2uni(bytes),
            Self::Hostile(h) => h.char2uni(bytes),
        }
    }

    fn uni2char(&self, unit: u16, out: &mut [u8; 6]) -> Option<usize> {
        match self {
            Self::Latin => Latin.uni2char(unit, out),
            Self::TwoByte => TwoByte.uni2char(unit, out),
            Self::Hostile(h) => h.uni2char(unit, out),
        }
    }

    fn to_upper(&self, byte: u8) -> u8 {
        match self {
            Self::Latin => Latin.to_upper(byte),
            Self::TwoByte => TwoByte.to_upper(byte),
            Self::Hostile(h) => h.to_upper(byte),
        }
    }

    fn to_lower(&self, byte: u8) -> u8 {
        match self {
            Self::Latin => Latin.to_lower(byte),
            Self::TwoByte => TwoByte.to_lower(byte),
            Self::Hostile(h) => h.to_lower(byte),
        }
    }
}
