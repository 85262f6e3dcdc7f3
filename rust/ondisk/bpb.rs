// SPDX-License-Identifier: GPL-2.0

//! The fields of the boot sector, each checked by itself.
//!
//! Field names and offsets are those of fatgen103, "Boot Sector and BPB". Which values are accepted
//! follows Linux vfat, which is more lenient in places: neither the 0xAA55 signature nor the jump
//! instruction is required. How the fields fit together is the business of
//! [`geometry`](super::geometry).

use super::{
    bytes::{
        byte,
        field,
        le16,
        le32, //
    },
    FormatError,
    Sector, //
};

/// Value of BS_BootSig that says volume ID and label are present.
const EXTENDED_SIGNATURE: u8 = 0x29;

/// Bit of the state byte that says the volume was not unmounted cleanly.
const STATE_DIRTY: u8 = 0x01;

/// Bit of BPB_ExtFlags that says only the active FAT is kept up to date.
const EXT_FLAGS_ONE_FAT: u16 = 0x0080;

/// Bits of BPB_ExtFlags that number the active FAT.
const EXT_FLAGS_ACTIVE: u16 = 0x000F;

/// The label that stands for "no label".
const NO_LABEL: [u8; 11] = *b"NO NAME    ";

/// How to read a boot sector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParseOptions {
    /// Also accept a floppy formatted by DOS 1.x, which has no BPB (mount option `dos1xfloppy`).
    pub dos1x: bool,
}

/// The BPB fields that the layout depends on, unchecked, in the units of the disk.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// BPB_BytsPerSec.
    pub(super) bytes_per_sector: u16,
    /// BPB_SecPerClus.
    pub(super) sectors_per_cluster: u8,
    /// BPB_RsvdSecCnt, in sectors.
    pub(super) reserved: u16,
    /// BPB_NumFATs.
    pub(super) fats: u8,
    /// BPB_RootEntCnt.
    pub(super) root_entries: u16,
    /// BPB_TotSec16, or BPB_TotSec32 where that is zero.
    pub(super) total_sectors: u32,
    /// BPB_Media.
    pub(super) media: u8,
    /// BPB_FATSz16, in sectors.
    fat_sectors16: u16,
    /// BPB_FATSz32, in sectors.
    fat_sectors32: u32,
}

/// The fields behind the common part of the BPB, where FAT32 differs from the rest.
#[derive(Clone, Copy)]
pub(super) struct Extended {
    /// Offset of the state byte, [`None`] without one.
    pub(super) state_offset: Option<usize>,
    /// Whether the state byte has the dirty mark.
    pub(super) dirty: bool,
    /// BS_VolID.
    pub(super) volume_id: u32,
    /// BS_VolLab.
    pub(super) label: [u8; 11],
    /// BPB_RootClus, 0 except on FAT32.
    pub(super) root_cluster: u32,
    /// BPB_FSInfo, 0 except on FAT32.
    fsinfo: u16,
    /// BPB_ExtFlags, 0 except on FAT32.
    flags: u16,
}

/// Reads a boot sector, the first 512 bytes of a device of `device_bytes` bytes.
///
/// # Errors
///
/// The first field that fails its check. With [`ParseOptions::dos1x`], a sector without a BPB is
/// judged by the length of the device instead.
pub(super) fn read(
    sector: &[u8; 512],
    device_bytes: u64,
    opts: ParseOptions,
) -> Result<(Layout, Extended), FormatError> {
    let layout = Layout::read(sector);
    match layout.check() {
        Ok(()) if layout.is_fat32() => Ok((layout, Extended::read32(sector))),
        Ok(()) => Ok((layout, Extended::read16(sector))),
        Err(error) if opts.dos1x => match Layout::dos1x(sector, device_bytes) {
            Some(layout) => Ok((layout?, Extended::DOS1X)),
            None => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// A floppy format of DOS 1.x: one side or two, eight or nine sectors per track.
struct Floppy {
    sectors: u16,
    sectors_per_cluster: u8,
    root_entries: u16,
    media: u8,
    fat_sectors: u16,
}

/// All of them, in 512-byte sectors: 160, 180, 320 and 360 KiB.
const FLOPPIES: [Floppy; 4] = [
    Floppy {
        sectors: 320,
        sectors_per_cluster: 1,
        root_entries: 64,
        media: 0xFE,
        fat_sectors: 1,
    },
    Floppy {
        sectors: 360,
        sectors_per_cluster: 1,
        root_entries: 64,
        media: 0xFC,
        fat_sectors: 2,
    },
    Floppy {
        sectors: 640,
        sectors_per_cluster: 2,
        root_entries: 112,
        media: 0xFF,
        fat_sectors: 1,
    },
    Floppy {
        sectors: 720,
        sectors_per_cluster: 2,
        root_entries: 112,
        media: 0xFD,
        fat_sectors: 2,
    },
];

impl Layout {
    /// Reads the fields from a boot sector.
    fn read(sector: &[u8; 512]) -> Self {
        let total16 = le16::<19, 512>(sector);
        Self {
            bytes_per_sector: le16::<11, 512>(sector),
            sectors_per_cluster: byte::<13, 512>(sector),
            reserved: le16::<14, 512>(sector),
            fats: byte::<16, 512>(sector),
            root_entries: le16::<17, 512>(sector),
            total_sectors: match total16 {
                0 => le32::<32, 512>(sector),
                n => u32::from(n),
            },
            media: byte::<21, 512>(sector),
            fat_sectors16: le16::<22, 512>(sector),
            fat_sectors32: le32::<36, 512>(sector),
        }
    }

    /// Returns the layout of a DOS 1.x floppy, [`None`] if `sector` does not come from one.
    ///
    /// Such a floppy starts with a jump and has zeroes where later systems keep the BPB, as Linux
    /// vfat checks it. Only the length of the device tells the format.
    fn dos1x(sector: &[u8; 512], device_bytes: u64) -> Option<Result<Self, FormatError>> {
        let jumps = matches!(
            field::<0, 3, 512>(sector),
            [0xEB, _, 0x90] | [0xE9, _, _] //
        );
        // BPB_BytsPerSec to BPB_NumHeads.
        if !jumps || field::<11, 17, 512>(sector) != [0; 17] {
            return None;
        }
        let sectors = device_bytes >> 9;
        let floppy = FLOPPIES
            .iter()
            .find(|floppy| u64::from(floppy.sectors) == sectors);
        Some(match floppy {
            None => Err(FormatError::FloppySize { sectors }),
            Some(floppy) => Ok(Self {
                bytes_per_sector: 512,
                sectors_per_cluster: floppy.sectors_per_cluster,
                reserved: 1,
                fats: 2,
                root_entries: floppy.root_entries,
                total_sectors: u32::from(floppy.sectors),
                media: floppy.media,
                fat_sectors16: floppy.fat_sectors,
                fat_sectors32: 0,
            }),
        })
    }

    /// Checks each field by itself.
    fn check(&self) -> Result<(), FormatError> {
        if self.reserved == 0 {
            return Err(FormatError::NoReservedSectors);
        }
        if self.fats == 0 {
            return Err(FormatError::NoFats);
        }
        if self.media != 0xF0 && self.media < 0xF8 {
            return Err(FormatError::Media { found: self.media });
        }
        let found = self.bytes_per_sector;
        if !found.is_power_of_two() || !(512..=4096).contains(&found) {
            return Err(FormatError::BytesPerSector { found });
        }
        let found = self.sectors_per_cluster;
        if !found.is_power_of_two() {
            return Err(FormatError::SectorsPerCluster { found });
        }
        if self.fat_sectors16 == 0 && self.fat_sectors32 == 0 {
            return Err(FormatError::NoFatSectors);
        }
        Ok(())
    }

    /// Returns whether the volume is FAT32.
    pub(super) fn is_fat32(&self) -> bool {
        self.fat_sectors16 == 0
    }

    /// Returns the length of one FAT in sectors.
    pub(super) fn fat_sectors(&self) -> u32 {
        match self.fat_sectors16 {
            0 => self.fat_sectors32,
            n => u32::from(n),
        }
    }
}

impl Extended {
    /// Reads the fields of a FAT12 or FAT16 boot sector.
    fn read16(sector: &[u8; 512]) -> Self {
        let signature = byte::<38, 512>(sector);
        Self {
            state_offset: Some(37),
            dirty: byte::<37, 512>(sector) & STATE_DIRTY != 0,
            volume_id: le32::<39, 512>(sector),
            label: label(signature, field::<43, 11, 512>(sector)),
            root_cluster: 0,
            fsinfo: 0,
            flags: 0,
        }
    }

    /// Reads the fields of a FAT32 boot sector.
    fn read32(sector: &[u8; 512]) -> Self {
        let signature = byte::<66, 512>(sector);
        Self {
            state_offset: Some(65),
            dirty: byte::<65, 512>(sector) & STATE_DIRTY != 0,
            volume_id: le32::<67, 512>(sector),
            label: label(signature, field::<71, 11, 512>(sector)),
            root_cluster: le32::<44, 512>(sector),
            fsinfo: le16::<48, 512>(sector),
            flags: le16::<40, 512>(sector),
        }
    }

    /// What a DOS 1.x floppy, which has none of these fields, is taken to say.
    const DOS1X: Self = Self {
        state_offset: None,
        dirty: false,
        volume_id: 0,
        label: NO_LABEL,
        root_cluster: 0,
        fsinfo: 0,
        flags: 0,
    };

    /// Returns number of the active FAT, and whether changes go to all FATs.
    ///
    /// An active FAT that the volume does not have is treated as if mirroring were on, which is
    /// what Linux vfat does in every case.
    pub(super) fn active_fat(&self, fats: u8) -> (u8, bool) {
        let active = u8::try_from(self.flags & EXT_FLAGS_ACTIVE).unwrap_or(0);
        if self.flags & EXT_FLAGS_ONE_FAT != 0 && active < fats {
            (active, false)
        } else {
            (0, true)
        }
    }

    /// Returns the FSINFO sector of a volume with `reserved` reserved sectors.
    ///
    /// Zero stands for sector 1, as in Linux vfat. A sector outside the reserved area is never used
    /// here: writing hints there could only do damage.
    pub(super) fn fsinfo_sector(&self, reserved: u16) -> Option<Sector> {
        let number = match self.fsinfo {
            0 => 1,
            n => n,
        };
        (number < reserved).then_some(Sector::new(u64::from(number)))
    }
}

/// Returns the label of a boot sector with the given BS_BootSig and BS_VolLab.
fn label(signature: u8, label: [u8; 11]) -> [u8; 11] {
    if signature == EXTENDED_SIGNATURE {
        label
    } else {
        NO_LABEL
    }
}
