// SPDX-License-Identifier: GPL-2.0

//! Names between user space's character set, UTF-16 on disk and the code page of 8.3 names.

use crate::ondisk::charset::{self, Codepage};
use crate::ondisk::{name, shortname, RawDirent, ShortName};
use crate::vfs::Nls;
use kernel::prelude::*;
use kernel::str::CString;

use super::options::Options;

/// Longest name in bytes: 255 UTF-16 units of up to 6 bytes each.
pub(crate) const MAX_NAME_BYTES: usize = 255 * 6;

/// The unit buffer that conversions fill.
pub(crate) type Units = [u16; 260];

impl Codepage for Nls {
    fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        Nls::char2uni(self, bytes)
    }

    fn uni2char(&self, unit: u16, out: &mut [u8; 6]) -> Option<usize> {
        Nls::uni2char(self, unit, out)
    }

    fn to_upper(&self, byte: u8) -> u8 {
        Nls::to_upper(self, byte)
    }

    fn to_lower(&self, byte: u8) -> u8 {
        Nls::to_lower(self, byte)
    }
}

/// The volume's character sets and how names compare.
pub(crate) struct Names {
    /// Of 8.3 names on disk.
    pub(crate) disk: Nls,
    /// Of user space, when not UTF-8.
    pub(crate) io: Nls,
    fold: [u8; 256],
    utf8: bool,
    uni_xlate: bool,
    case_sensitive: bool,
    display: shortname::DisplayCase,
}

impl Names {
    /// Loads the character sets that the options of the volume on `device` name. `EINVAL` when
    /// there is none of that name.
    pub(crate) fn new(device: &str, options: &Options) -> Result<Self> {
        let codepage = CString::try_from_fmt(fmt!("cp{}", options.codepage))?;
        let disk = Nls::load(&codepage).ok_or_else(|| {
            pr_err!("({device}) codepage {} not found\n", lossy(&codepage));
            EINVAL
        })?;
        let io = Nls::load(&options.iocharset).ok_or_else(|| {
            pr_err!(
                "({device}) IO charset {} not found\n",
                lossy(&options.iocharset)
            );
            EINVAL
        })?;
        let mut fold = [0u8; 256];
        for (i, byte) in fold.iter_mut().enumerate() {
            *byte = io.to_lower(i as u8);
        }
        Ok(Self {
            disk,
            io,
            fold,
            utf8: options.utf8,
            uni_xlate: options.uni_xlate,
            case_sensitive: options.check_strict,
            display: options.shortname.display,
        })
    }

    /// Whether names that differ only in case are the same.
    pub(crate) fn ignores_case(&self) -> bool {
        !self.case_sensitive
    }

    /// The lower case of a byte in user space's character set.
    pub(crate) fn fold(&self, byte: u8) -> u8 {
        self.fold.get(usize::from(byte)).copied().unwrap_or(byte)
    }

    /// A hash of a name in user space's character set; the same for names that are equal.
    pub(crate) fn hash(&self, name: &[u8]) -> u32 {
        fnv(name.iter().map(|&byte| {
            if self.case_sensitive {
                byte
            } else {
                self.fold(byte)
            }
        }))
    }

    /// Whether two names in user space's character set are the same.
    pub(crate) fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        a.len() == b.len()
            && if self.case_sensitive {
                a == b
            } else {
                a.iter()
                    .zip(b)
                    .all(|(&x, &y)| x == y || self.fold(x) == self.fold(y))
            }
    }

    /// Converts a name from user space; returns its length in units.
    pub(crate) fn to_units(&self, bytes: &[u8], out: &mut Units) -> Result<usize> {
        Ok(if self.utf8 {
            name::utf8_to_units(bytes, out)?
        } else {
            charset::bytes_to_units(bytes, self.uni_xlate, &self.io, out)?
        })
    }

    /// Converts a name for user space; returns its length in bytes.
    pub(crate) fn show_units(&self, units: &[u16], out: &mut [u8]) -> usize {
        if self.utf8 {
            name::units_to_utf8(units, out)
        } else {
            charset::units_to_bytes(units, self.uni_xlate, &self.io, out)
        }
    }

    /// The 8.3 name of an entry for user space; 0 when there is nothing to show.
    pub(crate) fn short_to_bytes(&self, entry: &RawDirent, out: &mut [u8]) -> usize {
        let mut units = [0u16; 12];
        let n = shortname::display_units(
            &entry.name(),
            entry.lcase(),
            self.display,
            &self.disk,
            &mut units,
        );
        self.show_units(units.get(..n).unwrap_or(&[]), out)
    }
}

/// A hash of an 8.3 name as it is on disk.
pub(crate) fn hash_short(name: &ShortName) -> u32 {
    // Not to be taken for a name in user space's character set.
    !fnv(name.on_disk().iter().copied())
}

/// The 32-bit FNV-1a hash.
fn fnv(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// A string for log lines.
fn lossy(s: &CStr) -> &str {
    s.to_str().unwrap_or("?")
}
