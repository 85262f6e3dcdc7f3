// SPDX-License-Identifier: GPL-2.0

//! Boot sectors and character sets to test with.

// Each test crate uses only some of this.
#![allow(dead_code)]

use rvfat_unit::ondisk::Codepage;

/// Stores `bytes` at offset `at` of `block`.
pub fn put(block: &mut [u8], at: usize, bytes: &[u8]) {
    block[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Returns the boot sector of a 1.44 MB floppy: FAT12, 2847 clusters of 512 bytes.
pub fn floppy() -> [u8; 512] {
    let mut sector = [0; 512];
    put(&mut sector, 0, &[0xEB, 0x3C, 0x90]);
    put(&mut sector, 11, &512u16.to_le_bytes());
    sector[13] = 1;
    put(&mut sector, 14, &1u16.to_le_bytes());
    sector[16] = 2;
    put(&mut sector, 17, &224u16.to_le_bytes());
    put(&mut sector, 19, &2880u16.to_le_bytes());
    sector[21] = 0xF0;
    put(&mut sector, 22, &9u16.to_le_bytes());
    sector[38] = 0x29;
    put(&mut sector, 39, &0x1234_5678u32.to_le_bytes());
    put(&mut sector, 43, b"FLOPPY     ");
    sector
}

/// Length in bytes of the device that [`floppy`] describes.
pub const FLOPPY_BYTES: u64 = 2880 * 512;

/// Returns the boot sector of a FAT16 volume: 20,000 clusters of 2 KiB, 512-byte sectors.
pub fn fat16() -> [u8; 512] {
    let mut sector = floppy();
    sector[13] = 4;
    put(&mut sector, 14, &4u16.to_le_bytes());
    put(&mut sector, 17, &512u16.to_le_bytes());
    put(&mut sector, 19, &0u16.to_le_bytes());
    sector[21] = 0xF8;
    put(&mut sector, 22, &79u16.to_le_bytes());
    // 4 reserved, 158 FAT, 32 root directory, 80000 data.
    put(&mut sector, 32, &80_194u32.to_le_bytes());
    sector
}

/// Length in bytes of the device that [`fat16`] describes.
pub const FAT16_BYTES: u64 = 80_194 * 512;

/// Returns the boot sector of a FAT32 volume: 100,000 clusters of 4 KiB, 512-byte sectors.
pub fn fat32() -> [u8; 512] {
    let mut sector = [0; 512];
    put(&mut sector, 11, &512u16.to_le_bytes());
    sector[13] = 8;
    put(&mut sector, 14, &32u16.to_le_bytes());
    sector[16] = 2;
    sector[21] = 0xF8;
    // 32 reserved, 2 * 782 FAT, 800000 data.
    put(&mut sector, 32, &801_596u32.to_le_bytes());
    put(&mut sector, 36, &782u32.to_le_bytes());
    put(&mut sector, 44, &2u32.to_le_bytes());
    put(&mut sector, 48, &1u16.to_le_bytes());
    sector[66] = 0x29;
    put(&mut sector, 67, &0xCAFE_F00Du32.to_le_bytes());
    put(&mut sector, 71, b"DATA       ");
    sector
}

/// Length in bytes of the device that [`fat32`] describes.
pub const FAT32_BYTES: u64 = 801_596 * 512;

/// ASCII, and units 0x80 to 0xFF as the byte of the same value; 0xE0 and 0xC0 are one letter.
pub struct Latin;

impl Codepage for Latin {
    fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        Some((u16::from(*bytes.first()?), 1))
    }

    fn uni2char(&self, unit: u16, out: &mut [u8; 6]) -> Option<usize> {
        out[0] = u8::try_from(unit).ok()?;
        Some(1)
    }

    fn to_upper(&self, byte: u8) -> u8 {
        match byte {
            b'a'..=b'z' => byte - 0x20,
            0xE0 => 0xC0,
            _ => byte,
        }
    }

    fn to_lower(&self, byte: u8) -> u8 {
        match byte {
            b'A'..=b'Z' => byte + 0x20,
            0xC0 => 0xE0,
            _ => byte,
        }
    }
}

/// ASCII, and units from 0x3000 to 0x30FF as two bytes: 0x81 and the low byte of the unit.
pub struct TwoByte;

impl Codepage for TwoByte {
    fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        match bytes {
            [0x81, low, ..] => Some((0x3000 | u16::from(*low), 2)),
            [ascii @ 0..=0x7F, ..] => Some((u16::from(*ascii), 1)),
            _ => None,
        }
    }

    fn uni2char(&self, unit: u16, out: &mut [u8; 6]) -> Option<usize> {
        let [low, high] = unit.to_le_bytes();
        match high {
            0x00 if low < 0x80 => {
                out[0] = low;
                Some(1)
            }
            0x30 => {
                out[..2].copy_from_slice(&[0x81, low]);
                Some(2)
            }
            _ => None,
        }
    }

    fn to_upper(&self, byte: u8) -> u8 {
        byte.to_ascii_uppercase()
    }

    fn to_lower(&self, byte: u8) -> u8 {
        byte.to_ascii_lowercase()
    }
}

/// Returns the UTF-16 units of `text`.
pub fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// A character set that answers at random, even with nonsense.
pub struct Hostile(pub u64);

impl Hostile {
    fn mix(&self, value: u64) -> u64 {
        (self.0 ^ value)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(29)
            .wrapping_mul(0xBF58_476D_1CE4_E5B9)
    }
}

impl Codepage for Hostile {
    fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        let mixed = self.mix(bytes.first().copied().map_or(0, u64::from));
        let [a, b, c, d, ..] = mixed.to_le_bytes();
        (d & 7 != 0).then_some((u16::from_le_bytes([a, b]), usize::from(c % 9)))
    }

    fn uni2char(&self, unit: u16, out: &mut [u8; 6]) -> Option<usize> {
        let [a, b, c, d, e, f, g, h] = self.mix(u64::from(unit)).to_le_bytes();
        *out = [a, b, c, d, e, f];
        (h & 7 != 0).then_some(usize::from(g % 9))
    }

    fn to_upper(&self, byte: u8) -> u8 {
        self.mix(u64::from(byte)).to_le_bytes()[0]
    }

    fn to_lower(&self, byte: u8) -> u8 {
        self.mix(u64::from(byte)).to_le_bytes()[1]
    }
}
