// SPDX-License-Identifier: GPL-2.0

//! What can be wrong with bytes that claim to be FAT.

use core::fmt;

/// Why a structure or a name was refused.
///
/// Each variant carries what was found, and the limit where that depends on the volume. The
/// [`Display`](fmt::Display) form is one line of plain English, meant for the kernel log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// BPB_BytsPerSec is not a power of two from 512 to 4096.
    BytesPerSector {
        /// The field's value, in bytes.
        found: u16,
    },
    /// BPB_SecPerClus is not a power of two.
    SectorsPerCluster {
        /// The field's value, in sectors.
        found: u8,
    },
    /// BPB_RsvdSecCnt is zero, which leaves no room for the boot sector.
    NoReservedSectors,
    /// BPB_NumFATs is zero.
    NoFats,
    /// BPB_Media is neither 0xF0 nor from 0xF8 to 0xFF.
    Media {
        /// The field's value.
        found: u8,
    },
    /// BPB_FATSz16 and BPB_FATSz32 are both zero.
    NoFatSectors,
    /// BPB_RootEntCnt does not fill whole sectors.
    RootEntries {
        /// The field's value, in entries.
        found: u16,
        /// Entries in one sector.
        per_sector: u32,
    },
    /// Reserved area, FATs and root directory are longer than the volume.
    DataBeyondVolume {
        /// First sector of the data area.
        data_start: u64,
        /// Length of the volume, in sectors.
        total_sectors: u32,
    },
    /// More clusters than the FAT type can number.
    ClusterCount {
        /// Clusters that volume and FAT have room for.
        found: u64,
        /// Most clusters this FAT type allows.
        max: u32,
    },
    /// BPB_RootClus is not a cluster of the volume.
    RootCluster {
        /// The field's value.
        found: u32,
        /// Highest cluster number of the volume.
        max: u32,
    },
    /// The volume ends beyond the end of its device.
    DeviceTooSmall {
        /// Sectors from the start of the volume to the end of its last cluster.
        needed: u64,
        /// Whole sectors on the device.
        available: u64,
    },
    /// A DOS 1.x floppy was asked for, but the device has none of its sizes.
    FloppySize {
        /// Length of the device, in 512-byte sectors.
        sectors: u64,
    },
    /// The FSINFO sector lacks its signatures.
    FsInfoSignature {
        /// FSI_LeadSig as found.
        lead: u32,
        /// FSI_StrucSig as found.
        structure: u32,
    },
    /// A name has no unit at all.
    EmptyName,
    /// A name is longer than 255 UTF-16 units.
    NameTooLong,
    /// A name contains a unit that no long name may contain.
    NameUnit {
        /// The UTF-16 unit.
        found: u16,
    },
    /// A name ends with a space.
    NameTrailingSpace,
    /// A name is not valid in the character set it came in.
    NameEncoding,
    /// A name consists of dots and spaces only, so no 8.3 name can be made from it.
    NameWithoutBase,
}

impl FormatError {
    /// Writes the line for errors that concern a whole volume.
    fn fmt_volume(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::BytesPerSector { found } => write!(
                f,
                "bytes per sector is {found}, expected a power of two from 512 to 4096"
            ),
            Self::SectorsPerCluster { found } => write!(
                f,
                "sectors per cluster is {found}, expected a power of two from 1 to 128"
            ),
            Self::NoReservedSectors => {
                f.write_str("number of reserved sectors is 0, expected at least 1")
            }
            Self::NoFats => f.write_str("number of FATs is 0, expected at least 1"),
            Self::Media { found } => write!(
                f,
                "media byte is {found:#04x}, expected 0xf0 or from 0xf8 to 0xff"
            ),
            Self::NoFatSectors => f.write_str("sectors per FAT is 0, expected at least 1"),
            Self::RootEntries { found, per_sector } => write!(
                f,
                "number of root directory entries is {found}, expected a multiple of {per_sector}"
            ),
            Self::DataBeyondVolume {
                data_start,
                total_sectors,
            } => write!(
                f,
                "data area starts at sector {data_start}, expected at most {total_sectors}, \
                 the number of sectors of the volume"
            ),
            Self::ClusterCount { found, max } => write!(
                f,
                "number of clusters is {found}, expected at most {max} for this FAT type"
            ),
            Self::RootCluster { found, max } => write!(
                f,
                "root directory cluster is {found}, expected one from 2 to {max}"
            ),
            Self::DeviceTooSmall { needed, available } => write!(
                f,
                "volume needs {needed} sectors, but the device has only {available}"
            ),
            Self::FloppySize { sectors } => write!(
                f,
                "device has {sectors} sectors, expected 320, 360, 640 or 720 for a DOS 1.x floppy"
            ),
            _ => f.write_str("invalid volume"),
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::FsInfoSignature { lead, structure } => write!(
                f,
                "FSINFO signatures are {lead:#010x} and {structure:#010x}, \
                 expected 0x41615252 and 0x61417272"
            ),
            Self::EmptyName => f.write_str("name is empty, expected at least one character"),
            Self::NameTooLong => f.write_str("name is longer than 255 UTF-16 units"),
            Self::NameUnit { found } => {
                write!(f, "name contains unit {found:#06x}, which is not allowed")
            }
            Self::NameTrailingSpace => f.write_str("name ends with a space, which is not allowed"),
            Self::NameEncoding => f.write_str("name is not valid in its character set"),
            Self::NameWithoutBase => {
                f.write_str("name has only dots and spaces, expected another character")
            }
            _ => self.fmt_volume(f),
        }
    }
}
