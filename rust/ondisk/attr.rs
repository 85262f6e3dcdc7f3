// SPDX-License-Identifier: GPL-2.0

//! The attribute byte, and the Unix mode made from it.
//!
//! FAT stores no mode. Linux vfat derives one from the attributes and the mount options, and maps
//! what `chmod` can express back to the read-only attribute. These functions do the same on plain
//! mode bits.

/// File type bits of a mode.
const S_IFMT: u16 = 0o170000;

/// File type of a directory.
const S_IFDIR: u16 = 0o040000;

/// File type of a regular file.
const S_IFREG: u16 = 0o100000;

/// All permissions.
const ALL: u16 = 0o777;

/// Write permission for everyone.
const WRITE: u16 = 0o222;

/// Execute permission for everyone.
const EXECUTE: u16 = 0o111;

/// DIR_Attr, the attribute byte of a directory entry (fatgen103, "FAT Directory Structure").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attrs(u8);

impl Attrs {
    /// No attribute.
    pub const EMPTY: Self = Self(0x00);
    /// ATTR_READ_ONLY.
    pub const READ_ONLY: Self = Self(0x01);
    /// ATTR_HIDDEN.
    pub const HIDDEN: Self = Self(0x02);
    /// ATTR_SYSTEM.
    pub const SYSTEM: Self = Self(0x04);
    /// ATTR_VOLUME_ID, the mark of a label.
    pub const VOLUME: Self = Self(0x08);
    /// ATTR_DIRECTORY.
    pub const DIRECTORY: Self = Self(0x10);
    /// ATTR_ARCHIVE, set when a file is changed.
    pub const ARCHIVE: Self = Self(0x20);
    /// ATTR_LONG_NAME, the combination that marks a long-name slot.
    pub const LONG_NAME: Self = Self(0x0F);

    /// Attributes that a mode can't express, and that are kept as they are.
    const KEPT: Self = Self(0x2E);

    /// Returns the attributes stored as `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Returns the attribute byte.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Returns whether all attributes in `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the attributes that are set in either.
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the attributes that are set in both.
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the attributes that are not set in `other`.
    pub const fn difference(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns whether the entry is a directory.
    pub const fn is_dir(self) -> bool {
        self.contains(Self::DIRECTORY)
    }
}

/// The mount options that modes depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModeOptions {
    /// Permissions withheld from files.
    pub fmask: u16,
    /// Permissions withheld from directories.
    pub dmask: u16,
    /// Whether the read-only attribute of a directory withholds write permission (`rodir`).
    pub rodir: bool,
    /// Whether only files named `*.exe`, `*.com` and `*.bat` are executable (`showexec`).
    pub showexec: bool,
}

impl ModeOptions {
    /// Returns the mask for directories or for files.
    const fn mask(&self, is_dir: bool) -> u16 {
        if is_dir {
            self.dmask
        } else {
            self.fmask
        }
    }
}

/// Returns the mode, file type included, of an entry with these attributes.
///
/// `extension` is the extension of its 8.3 name as stored, in upper case and padded with spaces.
pub fn make_mode(attrs: Attrs, extension: &[u8; 3], opts: &ModeOptions) -> u16 {
    let is_dir = attrs.is_dir();
    let mut mode = ALL;
    if !is_dir && opts.showexec && !matches!(extension, b"EXE" | b"COM" | b"BAT") {
        mode &= !EXECUTE;
    }
    if attrs.contains(Attrs::READ_ONLY) && (!is_dir || opts.rodir) {
        mode &= !WRITE;
    }
    (mode & !opts.mask(is_dir)) | if is_dir { S_IFDIR } else { S_IFREG }
}

/// Returns whether the mode of a file or directory tells if it is read-only.
///
/// It does not where the mask withholds write permission anyway, nor for directories without
/// `rodir`: there the attribute means something else to Windows.
pub fn can_hold_ro(is_dir: bool, opts: &ModeOptions) -> bool {
    (!is_dir || opts.rodir) && !opts.mask(is_dir) & WRITE != 0
}

/// Returns the part of `attrs` that must be remembered beside the mode.
pub fn saved_attrs(attrs: Attrs, is_dir: bool, opts: &ModeOptions) -> Attrs {
    if can_hold_ro(is_dir, opts) {
        attrs.intersection(Attrs::KEPT)
    } else {
        attrs.intersection(Attrs::KEPT.union(Attrs::READ_ONLY))
    }
}

/// Returns the attributes of an inode with `mode`, given what [`saved_attrs`] returned.
pub fn make_attrs(saved: Attrs, mode: u16, opts: &ModeOptions) -> Attrs {
    let is_dir = mode & S_IFMT == S_IFDIR;
    let mut attrs = saved;
    if is_dir {
        attrs = attrs.union(Attrs::DIRECTORY);
    }
    if can_hold_ro(is_dir, opts) && mode & WRITE == 0 {
        attrs = attrs.union(Attrs::READ_ONLY);
    }
    attrs
}

/// Returns the mode that `chmod` to `wanted` gives an inode of mode `current`.
///
/// [`None`] where attributes can't express it. Read and execute permissions can't change. Write
/// permission goes to everyone that the mask allows, or, if [`can_hold_ro`], to no one. Bits that
/// the mask withholds are ignored.
pub fn sanitize_mode(current: u16, wanted: u16, opts: &ModeOptions) -> Option<u16> {
    let is_dir = current & S_IFMT != S_IFREG;
    let allowed = !opts.mask(is_dir);
    let permissions = wanted & !S_IFMT & allowed;
    let others = ALL & !WRITE;
    if permissions & others != current & others {
        return None;
    }
    let write = permissions & WRITE;
    let everyone = write == WRITE & allowed;
    let no_one = write == 0 && can_hold_ro(is_dir, opts);
    (everyone || no_one).then_some(wanted & (S_IFMT | permissions))
}
