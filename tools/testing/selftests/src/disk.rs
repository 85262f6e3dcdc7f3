// SPDX-License-Identifier: GPL-2.0

//! Reads a FAT volume's structures straight from the image, independently of any driver.

use anyhow::{bail, ensure, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The layout of a volume as its boot sector gives it.
#[derive(Clone, Debug)]
pub struct Disk {
    file: std::rc::Rc<File>,
    pub bits: u32,
    pub sector: u64,
    pub cluster: u64,
    pub fats: u64,
    pub fat_start: u64,
    pub fat_bytes: u64,
    pub root_start: u64,
    pub root_entries: u64,
    pub root_cluster: u32,
    pub data_start: u64,
    pub clusters: u32,
    pub fsinfo: u64,
}

fn u16_at(b: &[u8], o: usize) -> u64 {
    u16::from_le_bytes([b[o], b[o + 1]]) as u64
}

fn u32_at(b: &[u8], o: usize) -> u64 {
    u32::from_le_bytes([b[o], b[o + 1], b[o + 2], b[o + 3]]) as u64
}

impl Disk {
    /// Opens an image for reading and writing.
    pub fn open(image: &Path) -> Result<Disk> {
        let file = File::options().read(true).write(true).open(image)?;
        let mut b = [0u8; 512];
        file.read_exact_at(&mut b, 0)?;
        let sector = u16_at(&b, 11);
        let reserved = u16_at(&b, 14);
        let fats = b[16] as u64;
        let root_entries = u16_at(&b, 17);
        let short_fat = u16_at(&b, 22);
        let fat_sectors = if short_fat != 0 {
            short_fat
        } else {
            u32_at(&b, 36)
        };
        let total = match u16_at(&b, 19) {
            0 => u32_at(&b, 32),
            n => n,
        };
        ensure!(sector >= 512 && b[13] != 0, "no FAT boot sector");
        let cluster = b[13] as u64 * sector;
        let fat_start = reserved * sector;
        let root_start = fat_start + fats * fat_sectors * sector;
        let data_start = root_start + (root_entries * 32).div_ceil(sector) * sector;
        let Some(data) = (total * sector).checked_sub(data_start) else {
            bail!("volume smaller than its tables")
        };
        let clusters = (data / cluster) as u32;
        let bits = match short_fat {
            0 => 32,
            _ if clusters < 4085 => 12,
            _ => 16,
        };
        Ok(Disk {
            file: std::rc::Rc::new(file),
            bits,
            sector,
            cluster,
            fats,
            fat_start,
            fat_bytes: fat_sectors * sector,
            root_start,
            root_entries,
            root_cluster: if bits == 32 { u32_at(&b, 44) as u32 } else { 0 },
            data_start,
            clusters,
            fsinfo: if bits == 32 {
                u16_at(&b, 48) * sector
            } else {
                0
            },
        })
    }

    /// Bytes of the device.
    pub fn read(&self, off: u64, len: usize) -> Result<Vec<u8>> {
        let mut v = vec![0; len];
        self.file.read_exact_at(&mut v, off)?;
        Ok(v)
    }

    /// Overwrites bytes of the device.
    pub fn write(&self, off: u64, data: &[u8]) -> Result<()> {
        Ok(self.file.write_all_at(data, off)?)
    }

    /// A FAT entry of the first copy.
    pub fn get(&self, cluster: u32) -> Result<u32> {
        let c = cluster as u64;
        Ok(match self.bits {
            12 => {
                let v = u16_at(&self.read(self.fat_start + c * 3 / 2, 2)?, 0) as u32;
                if c % 2 == 1 {
                    v >> 4
                } else {
                    v & 0xFFF
                }
            }
            16 => u16_at(&self.read(self.fat_start + c * 2, 2)?, 0) as u32,
            _ => u32_at(&self.read(self.fat_start + c * 4, 4)?, 0) as u32 & 0x0FFF_FFFF,
        })
    }

    /// Sets a FAT entry in every copy.
    pub fn set(&self, cluster: u32, value: u32) -> Result<()> {
        let c = cluster as u64;
        for copy in 0..self.fats {
            let base = self.fat_start + copy * self.fat_bytes;
            match self.bits {
                12 => {
                    let at = base + c * 3 / 2;
                    let old = u16_at(&self.read(at, 2)?, 0) as u16;
                    let new = if c % 2 == 1 {
                        (old & 0xF) | (value << 4) as u16
                    } else {
                        (old & 0xF000) | (value & 0xFFF) as u16
                    };
                    self.write(at, &new.to_le_bytes())?;
                }
                16 => self.write(base + c * 2, &(value as u16).to_le_bytes())?,
                _ => self.write(base + c * 4, &value.to_le_bytes())?,
            }
        }
        Ok(())
    }

    /// Any value from here on ends a chain.
    pub fn end_mark(&self) -> u32 {
        match self.bits {
            12 => 0xFF8,
            16 => 0xFFF8,
            _ => 0x0FFF_FFF8,
        }
    }

    /// Free clusters, counted in the first FAT.
    pub fn count_free(&self) -> Result<u32> {
        let fat = self.read(self.fat_start, self.fat_bytes as usize)?;
        let free = |c: usize| match self.bits {
            12 => {
                let v = u16_at(&fat, c * 3 / 2);
                (if c % 2 == 1 { v >> 4 } else { v & 0xFFF }) == 0
            }
            16 => u16_at(&fat, c * 2) == 0,
            _ => u32_at(&fat, c * 4) & 0x0FFF_FFFF == 0,
        };
        Ok((2..self.clusters as usize + 2).filter(|&c| free(c)).count() as u32)
    }

    /// The free count that FSINFO claims (FAT32).
    pub fn fsinfo_free(&self) -> Result<u32> {
        Ok(u32_at(&self.read(self.fsinfo + 488, 4)?, 0) as u32)
    }

    /// Whether the volume is marked as not cleanly unmounted.
    pub fn dirty(&self) -> Result<bool> {
        let at = if self.bits == 32 { 65 } else { 37 };
        Ok(self.read(at, 1)?[0] & 1 != 0)
    }

    /// Whether all FAT copies agree.
    pub fn copies_agree(&self) -> Result<bool> {
        let first = self.read(self.fat_start, self.fat_bytes as usize)?;
        for c in 1..self.fats {
            if self.read(self.fat_start + c * self.fat_bytes, first.len())? != first {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where a cluster's data starts.
    pub fn at(&self, cluster: u32) -> u64 {
        self.data_start + (cluster as u64 - 2) * self.cluster
    }

    /// A cluster chain, cut at a cycle.
    pub fn chain(&self, start: u32) -> Result<Vec<u32>> {
        let mut v = Vec::new();
        let mut c = start;
        while c >= 2 && c < self.clusters + 2 && v.len() <= self.clusters as usize {
            v.push(c);
            c = self.get(c)?;
        }
        Ok(v)
    }

    /// Where each 32-byte slot of the root directory lies.
    pub fn root_slots(&self) -> Result<Vec<u64>> {
        if self.bits != 32 {
            return Ok((0..self.root_entries)
                .map(|i| self.root_start + i * 32)
                .collect());
        }
        self.dir_slots(self.root_cluster)
    }

    /// Where each 32-byte slot of a directory's chain lies.
    pub fn dir_slots(&self, start: u32) -> Result<Vec<u64>> {
        let chain = self.chain(start)?;
        Ok(chain
            .iter()
            .flat_map(|&c| (0..self.cluster / 32).map(move |i| (c, i)))
            .map(|(c, i)| self.at(c) + i * 32)
            .collect())
    }

    /// The slot in the root directory with this raw 8.3 name.
    pub fn find_root(&self, name: &[u8; 11]) -> Result<u64> {
        self.find(&self.root_slots()?, name)
    }

    /// The slot with this raw 8.3 name.
    pub fn find(&self, slots: &[u64], name: &[u8; 11]) -> Result<u64> {
        for &at in slots {
            if self.read(at, 11)? == name {
                return Ok(at);
            }
        }
        bail!("no entry {}", String::from_utf8_lossy(name))
    }

    /// The start cluster in the entry at `slot`.
    pub fn start(&self, slot: u64) -> Result<u32> {
        let e = self.read(slot, 32)?;
        let high = if self.bits == 32 { u16_at(&e, 20) } else { 0 };
        Ok(((high << 16) | u16_at(&e, 26)) as u32)
    }

    /// Changes the start cluster in the entry at `slot`.
    pub fn set_start(&self, slot: u64, cluster: u32) -> Result<()> {
        self.write(slot + 26, &(cluster as u16).to_le_bytes())?;
        if self.bits == 32 {
            self.write(slot + 20, &((cluster >> 16) as u16).to_le_bytes())?;
        }
        Ok(())
    }

    /// Changes the size in the entry at `slot`.
    pub fn set_size(&self, slot: u64, size: u32) -> Result<()> {
        self.write(slot + 28, &size.to_le_bytes())
    }
}
