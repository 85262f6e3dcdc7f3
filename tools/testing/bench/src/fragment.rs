// SPDX-License-Identifier: GPL-2.0

//! Puts a file on an empty FAT32 of which each cluster is a fragment of its own.
//!
//! Done on the device itself: two files that grow in turn would give the same, and take an hour.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{ensure, Context, Result};

/// The file's name.
pub const NAME: &str = "FRAGMENT.BIN";
const SHORT_NAME: &[u8; 11] = b"FRAGMENTBIN";

/// The file's first cluster; the next ones are each two further.
const FIRST: u32 = 4;
const END: u32 = 0x0fff_ffff;

/// Where a FAT32 has its parts, in bytes.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    fats: Vec<u64>,
    root: u64,
    fsinfo: u64,
    cluster: u64,
    clusters: u64,
}

impl Layout {
    fn parse(boot: &[u8; 512]) -> Result<Self> {
        let le16 = |at: usize| u64::from(u16::from_le_bytes([boot[at], boot[at + 1]]));
        let le32 = |at: usize| le16(at) | (le16(at + 2) << 16);
        let (sector, per_cluster) = (le16(11), u64::from(boot[13]));
        let (reserved, copies, length) = (le16(14), u64::from(boot[16]), le32(36));
        ensure!(
            sector == 512 && per_cluster > 0 && length > 0 && le32(44) == 2,
            "not a fresh FAT32"
        );
        let data = reserved + copies * length;
        Ok(Self {
            fats: (0..copies)
                .map(|n| (reserved + n * length) * sector)
                .collect(),
            root: data * sector,
            fsinfo: le16(48) * sector,
            cluster: per_cluster * sector,
            clusters: le32(32).saturating_sub(data) / per_cluster,
        })
    }
}

/// Makes the file on a volume that isn't mounted.
pub fn make(device: &Path, bytes: u64) -> Result<()> {
    let disk = OpenOptions::new()
        .read(true)
        .write(true)
        .open(device)
        .with_context(|| format!("can't open {}", device.display()))?;
    let mut boot = [0; 512];
    disk.read_exact_at(&mut boot, 0)?;
    let layout = Layout::parse(&boot)?;
    let count = u32::try_from(bytes.div_ceil(layout.cluster))?;
    ensure!(
        u64::from(FIRST) + 2 * u64::from(count) < layout.clusters,
        "the volume is too small for a file of {count} fragments"
    );
    let chain = chain(count);
    for fat in &layout.fats {
        disk.write_all_at(&chain, fat + u64::from(FIRST) * 4)?;
    }
    disk.write_all_at(&entry(u32::try_from(bytes)?), layout.root)?;
    take_from_free_count(&disk, layout.fsinfo, count)?;
    disk.sync_all()?;
    Ok(())
}

/// The FAT's entries from the file's first cluster on.
fn chain(count: u32) -> Vec<u8> {
    (0..count)
        .flat_map(|n| {
            let last = n + 1 == count;
            let next = if last { END } else { FIRST + 2 * (n + 1) };
            [next.to_le_bytes(), [0; 4]].concat()
        })
        .collect()
}

/// The file's directory entry.
fn entry(bytes: u32) -> [u8; 32] {
    let mut entry = [0; 32];
    entry[..11].copy_from_slice(SHORT_NAME);
    entry[11] = 0x20;
    // The first of January 1980: a date has to be there.
    entry[24..26].copy_from_slice(&0x21_u16.to_le_bytes());
    entry[20..22].copy_from_slice(&((FIRST >> 16) as u16).to_le_bytes());
    entry[26..28].copy_from_slice(&(FIRST as u16).to_le_bytes());
    entry[28..32].copy_from_slice(&bytes.to_le_bytes());
    entry
}

fn take_from_free_count(disk: &File, fsinfo: u64, count: u32) -> Result<()> {
    let mut free = [0; 4];
    disk.read_exact_at(&mut free, fsinfo + 488)?;
    let left = u32::from_le_bytes(free).saturating_sub(count);
    disk.write_all_at(&left.to_le_bytes(), fsinfo + 488)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_is_a_fragment() {
        let words: Vec<u32> = chain(3)
            .chunks_exact(4)
            .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
            .collect();
        assert_eq!(words, [6, 0, 8, 0, END, 0]);
    }

    #[test]
    fn layout() {
        let mut boot = [0; 512];
        assert!(Layout::parse(&boot).is_err());
        boot[11..18].copy_from_slice(&[0, 2, 8, 32, 0, 2, 0]);
        boot[32..40].copy_from_slice(&[0, 0, 32, 0, 0, 8, 0, 0]);
        boot[44] = 2;
        boot[48] = 1;
        let layout = Layout::parse(&boot).unwrap();
        assert_eq!(layout.fats, [32 * 512, (32 + 2048) * 512]);
        assert_eq!(layout.root, (32 + 4096) * 512);
        assert_eq!((layout.fsinfo, layout.cluster), (512, 4096));
        assert_eq!(layout.clusters, (0x20_0000 - 32 - 4096) / 8);
    }
}
