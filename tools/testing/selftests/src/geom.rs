// SPDX-License-Identifier: GPL-2.0

//! Shapes of file systems: FAT type, sector and cluster size, number of FATs.

use anyhow::{bail, Result};
use std::path::Path;
use std::process::Command;

/// The serial number of every image, so that images can be compared.
pub const VOLUME_ID: u32 = 0x1234_ABCD;

/// A shape that mkfs.fat can make.
#[derive(Clone, Debug)]
pub struct Geom {
    pub name: String,
    /// 12, 16 or 32.
    pub bits: u32,
    pub bytes: u64,
    pub sector: u32,
    pub cluster: u32,
    pub fats: u32,
    pub root_entries: u32,
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

impl Geom {
    /// A shape with 512-byte sectors and two FATs.
    pub fn new(bits: u32, bytes: u64, cluster: u32) -> Geom {
        Geom {
            name: format!("fat{bits}"),
            bits,
            bytes,
            sector: 512,
            cluster,
            fats: 2,
            root_entries: 512,
        }
    }

    /// Makes a sparse image of this shape.
    pub fn mkfs(&self, image: &Path) -> Result<()> {
        let _ = std::fs::remove_file(image);
        std::fs::File::create(image)?.set_len(self.bytes)?;
        let mut c = Command::new("mkfs.fat");
        c.args(["-F", &self.bits.to_string(), "-S", &self.sector.to_string()])
            .args(["-s", &(self.cluster / self.sector).to_string()])
            .args(["-f", &self.fats.to_string(), "-n", "RVFAT"])
            .args(["-i", &format!("{VOLUME_ID:08X}")]);
        if self.bits != 32 {
            c.args(["-r", &self.root_entries.to_string()]);
        }
        let out = c.arg(image).output()?;
        if !out.status.success() {
            bail!(
                "mkfs.fat of {}: {}",
                self.name,
                String::from_utf8_lossy(&out.stderr)
            );
        }
        Ok(())
    }
}

/// The FAT type with the given name, or all three.
pub fn basic() -> Vec<Geom> {
    vec![
        Geom::new(12, 4 * MIB, 2048),
        Geom::new(16, 16 * MIB, 2048),
        Geom::new(32, 40 * MIB, 512),
    ]
}

/// One of `basic` by its FAT type.
pub fn fat(bits: u32) -> Geom {
    basic()
        .into_iter()
        .find(|g| g.bits == bits)
        .expect("12, 16 or 32")
}

/// Sector sizes, cluster sizes and numbers of FATs across their ranges.
pub fn wide() -> Vec<Geom> {
    let mut v = Vec::new();
    let mut add = |bits: u32, sector: u32, cluster: u32, fats: u32| {
        let cluster64 = cluster as u64;
        let clusters = match bits {
            12 => (3000).min(48 * MIB / cluster64),
            16 => 4400,
            _ => 66000,
        };
        let mut g = Geom::new(bits, clusters * cluster64 + 256 * KIB, cluster);
        g.sector = sector;
        g.fats = fats;
        g.name = format!("fat{bits}-s{sector}-c{cluster}-f{fats}");
        v.push(g);
    };
    for (sector, cluster, fats) in [
        (512, 512, 1),
        (512, 65536, 2),
        (1024, 1024, 2),
        (2048, 8192, 2),
        (4096, 4096, 1),
    ] {
        add(12, sector, cluster, fats);
    }
    for (sector, cluster, fats) in [
        (512, 512, 2),
        (512, 4096, 1),
        (512, 65536, 2),
        (1024, 2048, 1),
        (2048, 2048, 2),
        (4096, 16384, 2),
    ] {
        add(16, sector, cluster, fats);
    }
    for (sector, cluster, fats) in [
        (512, 512, 1),
        (512, 4096, 2),
        (512, 32768, 2),
        (1024, 1024, 2),
        (2048, 4096, 1),
        (4096, 4096, 2),
        (4096, 65536, 2),
    ] {
        add(32, sector, cluster, fats);
    }
    v
}
