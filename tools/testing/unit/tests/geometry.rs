// SPDX-License-Identifier: GPL-2.0

//! The boot sector, and the layout of a volume.

mod common;

use common::{fat16, fat32, floppy, put, FAT16_BYTES, FAT32_BYTES, FLOPPY_BYTES};
use proptest::prelude::*;
use rvfat_unit::ondisk::{
    Cluster, ClusterCount, DirPos, FatType, FormatError, Geometry, ParseOptions, Sector,
};

fn parse(sector: &[u8; 512], bytes: u64) -> Result<Geometry, FormatError> {
    Geometry::parse(sector, bytes, ParseOptions::default())
}

/// Parses `base` with `bytes` stored at `at`, on a device that is never too short.
fn with(mut base: [u8; 512], at: usize, bytes: &[u8]) -> Result<Geometry, FormatError> {
    put(&mut base, at, bytes);
    parse(&base, u64::MAX)
}

#[test]
fn floppy_layout() {
    let geometry = parse(&floppy(), FLOPPY_BYTES).unwrap();
    assert_eq!(geometry.fat_type(), FatType::Fat12);
    assert_eq!(geometry.sector_bits(), 9);
    assert_eq!(geometry.cluster_bits(), 9);
    assert_eq!(geometry.fats(), 2);
    assert_eq!(geometry.fat_start(), Sector::new(1));
    assert_eq!(geometry.fat_sectors(), 9);
    assert_eq!(geometry.fat_bytes(), 4608);
    assert_eq!(geometry.root_start(), Sector::new(19));
    assert_eq!(geometry.root_entries(), 224);
    assert_eq!(geometry.root_sectors(), 14);
    assert_eq!(geometry.root_cluster(), None);
    assert_eq!(geometry.data_start(), Sector::new(33));
    assert_eq!(geometry.clusters(), 2847);
    assert_eq!(geometry.cluster_count(), ClusterCount::new(2847));
    assert_eq!(geometry.max_cluster(), 2848);
    assert_eq!(geometry.total_sectors(), 2880);
    assert_eq!(geometry.fsinfo_sector(), None);
    assert_eq!(geometry.volume_id(), 0x1234_5678);
    assert_eq!(&geometry.label(), b"FLOPPY     ");
    assert_eq!(geometry.media(), 0xF0);
    assert_eq!((geometry.active_fat(), geometry.mirroring()), (0, true));
    assert!(!geometry.dirty());
    assert_eq!(geometry.state_offset(), Some(37));
    assert_eq!(geometry.max_file_size(), 4_294_967_295);
}

#[test]
fn fat16_layout() {
    let geometry = parse(&fat16(), FAT16_BYTES).unwrap();
    assert_eq!(geometry.fat_type(), FatType::Fat16);
    assert_eq!(geometry.clusters(), 20_000);
    assert_eq!(geometry.cluster_bytes(), 2048);
    assert_eq!(geometry.sectors_per_cluster(), 4);
    assert_eq!(geometry.data_start(), Sector::new(194));
    let cluster = geometry.cluster(5).unwrap();
    assert_eq!(geometry.cluster_sector(cluster), Sector::new(206));
    assert_eq!(geometry.fat_offset(cluster), 10);
}

#[test]
fn fat32_layout() {
    let geometry = parse(&fat32(), FAT32_BYTES).unwrap();
    assert_eq!(geometry.fat_type(), FatType::Fat32);
    assert_eq!(geometry.clusters(), 100_000);
    assert_eq!(geometry.data_start(), Sector::new(1596));
    assert_eq!(geometry.root_cluster(), Cluster::new(2));
    assert_eq!((geometry.root_entries(), geometry.root_sectors()), (0, 0));
    assert_eq!(geometry.fsinfo_sector(), Some(Sector::new(1)));
    assert_eq!(geometry.volume_id(), 0xCAFE_F00D);
    assert_eq!(&geometry.label(), b"DATA       ");
    assert_eq!(geometry.state_offset(), Some(65));
    assert_eq!(geometry.fat_copy_start(0), Some(Sector::new(32)));
    assert_eq!(geometry.fat_copy_start(1), Some(Sector::new(814)));
    assert_eq!(geometry.fat_copy_start(2), None);
}

#[test]
fn bad_fields() {
    use FormatError::*;
    let fat = floppy();
    assert_eq!(with(fat, 14, &[0, 0]), Err(NoReservedSectors));
    assert_eq!(with(fat, 16, &[0]), Err(NoFats));
    for media in [0xF1, 0xF7, 0x00] {
        assert_eq!(with(fat, 21, &[media]), Err(Media { found: media }));
    }
    for found in [0, 256, 500, 513, 8192, 0x8000] {
        let got = with(fat, 11, &u16::to_le_bytes(found));
        assert_eq!(got, Err(BytesPerSector { found }));
    }
    for found in [0, 3, 6, 129, 255] {
        assert_eq!(with(fat, 13, &[found]), Err(SectorsPerCluster { found }));
    }
    // BPB_FATSz16 to BPB_FATSz32, and what is between them.
    assert_eq!(with(fat, 22, &[0; 18]), Err(NoFatSectors));
    assert_eq!(
        with(fat, 17, &225u16.to_le_bytes()),
        Err(RootEntries {
            found: 225,
            per_sector: 16
        })
    );
    assert_eq!(
        with(fat, 19, &32u16.to_le_bytes()),
        Err(DataBeyondVolume {
            data_start: 33,
            total_sectors: 32
        })
    );
}

#[test]
fn root_cluster_must_exist() {
    for found in [0, 1, 100_002, 0x0FFF_FFF7, 0x0FFF_FFFF, u32::MAX] {
        assert_eq!(
            with(fat32(), 44, &found.to_le_bytes()),
            Err(FormatError::RootCluster {
                found,
                max: 100_001
            })
        );
    }
    let geometry = with(fat32(), 44, &100_001u32.to_le_bytes()).unwrap();
    assert_eq!(geometry.root_cluster(), Cluster::new(100_001));
}

#[test]
fn device_must_hold_the_clusters() {
    let sector = fat32();
    assert!(parse(&sector, FAT32_BYTES).is_ok());
    assert!(parse(&sector, FAT32_BYTES + 511).is_ok());
    assert_eq!(
        parse(&sector, FAT32_BYTES - 1),
        Err(FormatError::DeviceTooSmall {
            needed: 801_596,
            available: 801_595
        })
    );
    // Seven sectors behind the last whole cluster need not be there.
    let mut longer = sector;
    put(&mut longer, 32, &801_603u32.to_le_bytes());
    assert!(parse(&longer, FAT32_BYTES).is_ok());
}

#[test]
fn no_signature_is_needed() {
    assert_eq!(&floppy()[510..], &[0, 0]);
    assert!(parse(&floppy(), FLOPPY_BYTES).is_ok());
}

#[test]
fn fat_type_follows_linux() {
    // One reserved sector, one FAT, one sector of root directory: data starts at 2 + FAT.
    let small = |clusters: u32, fat_sectors: u16| {
        let mut sector = floppy();
        sector[16] = 1;
        put(&mut sector, 17, &16u16.to_le_bytes());
        put(&mut sector, 19, &[0, 0]);
        put(&mut sector, 22, &fat_sectors.to_le_bytes());
        let total = clusters + u32::from(fat_sectors) + 2;
        put(&mut sector, 32, &total.to_le_bytes());
        parse(&sector, u64::MAX)
    };
    let fat12 = small(4084, 12).unwrap();
    assert_eq!((fat12.fat_type(), fat12.clusters()), (FatType::Fat12, 4084));
    let fat16 = small(4085, 16).unwrap();
    assert_eq!((fat16.fat_type(), fat16.clusters()), (FatType::Fat16, 4085));
    assert_eq!(small(65_524, 256).unwrap().clusters(), 65_524);
    assert_eq!(
        small(65_525, 256),
        // The FAT has entries for 65,534 clusters.
        Err(FormatError::ClusterCount {
            found: 65_525,
            max: 65_524
        })
    );
    // A FAT that is too short limits the clusters: 512 * 2 / 3 - 2, and 256 - 2.
    assert_eq!(small(2000, 1).unwrap().clusters(), 339);
    assert_eq!(small(5000, 1).unwrap().clusters(), 254);
    // No clusters at all is a volume with nothing but a root directory.
    assert_eq!(small(0, 1).unwrap().max_cluster(), 1);
}

#[test]
fn fat32_with_few_clusters_stays_fat32() {
    let mut sector = fat32();
    put(&mut sector, 32, &(1596u32 + 80).to_le_bytes());
    let geometry = parse(&sector, u64::MAX).unwrap();
    assert_eq!(geometry.fat_type(), FatType::Fat32);
    assert_eq!(geometry.clusters(), 10);
}

#[test]
fn largest_fat32() {
    let mut sector = fat32();
    sector[13] = 1;
    sector[16] = 1;
    put(&mut sector, 36, &0x20_0000u32.to_le_bytes());
    let total = |clusters: u32| clusters + 0x20_0000 + 32;
    put(&mut sector, 32, &total(0x0FFF_FFF6).to_le_bytes());
    let geometry = parse(&sector, u64::MAX).unwrap();
    // The last one would be numbered like the mark for bad clusters.
    assert_eq!(geometry.max_cluster(), 0x0FFF_FFF6);
    put(&mut sector, 32, &total(0x0FFF_FFF7).to_le_bytes());
    assert!(matches!(
        parse(&sector, u64::MAX),
        Err(FormatError::ClusterCount { .. })
    ));
}

#[test]
fn large_sectors_and_clusters() {
    let mut sector = fat32();
    put(&mut sector, 11, &4096u16.to_le_bytes());
    sector[13] = 128;
    let geometry = parse(&sector, u64::MAX).unwrap();
    assert_eq!(geometry.sector_bits(), 12);
    assert_eq!(geometry.cluster_bytes(), 512 << 10);
}

#[test]
fn ext_flags() {
    let flags = |bits: u16| {
        let geometry = with(fat32(), 40, &bits.to_le_bytes()).unwrap();
        (geometry.active_fat(), geometry.mirroring())
    };
    assert_eq!(flags(0x0000), (0, true));
    assert_eq!(flags(0x0001), (0, true));
    assert_eq!(flags(0x0080), (0, false));
    assert_eq!(flags(0x0081), (1, false));
    // There is no FAT number 2.
    assert_eq!(flags(0x0082), (0, true));
}

#[test]
fn fsinfo_sector_stays_reserved() {
    let fsinfo = |number: u16| {
        with(fat32(), 48, &number.to_le_bytes())
            .unwrap()
            .fsinfo_sector()
    };
    assert_eq!(fsinfo(0), Some(Sector::new(1)));
    assert_eq!(fsinfo(31), Some(Sector::new(31)));
    assert_eq!(fsinfo(32), None);
    assert_eq!(fsinfo(0xFFFF), None);
}

#[test]
fn dirty_mark() {
    assert!(with(floppy(), 37, &[0x01]).unwrap().dirty());
    assert!(!with(floppy(), 37, &[0xFE]).unwrap().dirty());
    assert!(with(fat32(), 65, &[0x03]).unwrap().dirty());
    assert!(!with(fat32(), 37, &[0x00]).unwrap().dirty());
}

#[test]
fn label_needs_its_signature() {
    let geometry = with(floppy(), 38, &[0x28]).unwrap();
    assert_eq!(&geometry.label(), b"NO NAME    ");
    assert_eq!(geometry.volume_id(), 0x1234_5678);
}

#[test]
fn dos1x_floppies() {
    let dos1x = ParseOptions { dos1x: true };
    let mut sector = [0; 512];
    put(&mut sector, 0, &[0xEB, 0x27, 0x90]);
    for (kib, clusters, media) in [
        (160, 313, 0xFE),
        (180, 351, 0xFC),
        (320, 315, 0xFF),
        (360, 354, 0xFD),
    ] {
        let geometry = Geometry::parse(&sector, kib << 10, dos1x).unwrap();
        assert_eq!(geometry.fat_type(), FatType::Fat12);
        assert_eq!(geometry.clusters(), clusters);
        assert_eq!(geometry.media(), media);
        assert_eq!(geometry.state_offset(), None);
        assert!(parse(&sector, kib << 10).is_err());
    }
    assert_eq!(
        Geometry::parse(&sector, 1 << 20, dos1x),
        Err(FormatError::FloppySize { sectors: 2048 })
    );
    // Anything in place of a BPB, or no jump, is an ordinary bad boot sector.
    let mut other = sector;
    other[27] = 1;
    assert_eq!(
        Geometry::parse(&other, 160 << 10, dos1x),
        Err(FormatError::NoReservedSectors)
    );
    assert_eq!(
        Geometry::parse(&[0; 512], 160 << 10, dos1x),
        Err(FormatError::NoReservedSectors)
    );
    sector[0] = 0xE9;
    sector[2] = 0;
    assert!(Geometry::parse(&sector, 160 << 10, dos1x).is_ok());
}

#[test]
fn messages() {
    let line = |error: FormatError| error.to_string();
    assert_eq!(
        line(FormatError::BytesPerSector { found: 500 }),
        "bytes per sector is 500, expected a power of two from 512 to 4096"
    );
    assert_eq!(
        line(FormatError::Media { found: 3 }),
        "media byte is 0x03, expected 0xf0 or from 0xf8 to 0xff"
    );
    assert_eq!(
        line(FormatError::DeviceTooSmall {
            needed: 10,
            available: 9
        }),
        "volume needs 10 sectors, but the device has only 9"
    );
    for error in [
        FormatError::SectorsPerCluster { found: 3 },
        FormatError::NoReservedSectors,
        FormatError::NoFats,
        FormatError::NoFatSectors,
        FormatError::RootEntries {
            found: 1,
            per_sector: 16,
        },
        FormatError::DataBeyondVolume {
            data_start: 2,
            total_sectors: 1,
        },
        FormatError::ClusterCount { found: 2, max: 1 },
        FormatError::RootCluster { found: 0, max: 9 },
        FormatError::FloppySize { sectors: 1 },
        FormatError::FsInfoSignature {
            lead: 0,
            structure: 0,
        },
        FormatError::EmptyName,
        FormatError::NameTooLong,
        FormatError::NameUnit { found: 0x2A },
        FormatError::NameTrailingSpace,
        FormatError::NameEncoding,
        FormatError::NameWithoutBase,
    ] {
        let line = line(error);
        assert!(
            line.len() > 20 && !line.contains("invalid volume"),
            "{line}"
        );
        assert!(!line.contains('\n') && !line.contains("  "), "{line}");
    }
}

#[test]
fn clusters_for_sizes() {
    let geometry = parse(&fat32(), FAT32_BYTES).unwrap();
    let count = |bytes| geometry.clusters_for(bytes).get();
    assert_eq!(
        [0, 1, 4096, 4097, 0xFFFF_FFFF].map(count),
        [0, 1, 1, 2, 1 << 20]
    );
    assert_eq!(count(u64::MAX), u32::MAX);
}

#[test]
fn units_of_measure() {
    assert_eq!(Cluster::new(0), None);
    assert_eq!(Cluster::new(1), None);
    assert_eq!(Cluster::new(2), Some(Cluster::MIN));
    assert_eq!(Cluster::new(0x0FFF_FFF6), Some(Cluster::MAX));
    assert_eq!(Cluster::new(0x0FFF_FFF7), None);
    assert_eq!(Cluster::MAX.checked_add(1), None);
    assert_eq!(Cluster::MIN.checked_add(u32::MAX), None);
    assert_eq!(Sector::new(u64::MAX).checked_add(1), None);
    let (one, two) = (ClusterCount::new(1), ClusterCount::new(2));
    assert_eq!(one.checked_add(one), Some(two));
    assert_eq!(one.checked_sub(two), None);
    assert_eq!(ClusterCount::new(u32::MAX).checked_add(one), None);

    let position = DirPos::new(Sector::new(10), 7 * 32, 9).unwrap();
    assert_eq!(position.get(), 10 * 16 + 7);
    assert_eq!(DirPos::new(Sector::new(10), 512, 9), None);
    assert_eq!(DirPos::new(Sector::new(u64::MAX), 0, 9), None);
}

proptest! {
    #[test]
    fn positions_round_trip(sector in 0u64..1 << 40, slot in 0u32..128, bits in 9u32..=12) {
        let slot = slot % (1 << (bits - 5));
        let position = DirPos::new(Sector::new(sector), slot * 32, bits).unwrap();
        prop_assert_eq!(position.sector(bits), Sector::new(sector));
        prop_assert_eq!(position.offset(bits), slot as usize * 32);
        prop_assert_eq!(DirPos::from_raw(position.get()), position);
    }

    /// Whatever is accepted has its areas in order and on the device.
    #[test]
    fn accepted_volumes_are_consistent(
        seed in any::<[u8; 64]>(),
        base in 0usize..3,
        keep in any::<u64>(),
        bytes in prop_oneof![any::<u64>(), Just(u64::MAX), 0u64..1 << 32],
        dos1x in any::<bool>(),
    ) {
        let mut sector = [floppy(), fat16(), fat32()][base];
        for (at, byte) in seed.iter().enumerate() {
            if (keep >> at) & 3 == 3 {
                sector[at] = *byte;
            }
        }
        if let Ok(geometry) = Geometry::parse(&sector, bytes, ParseOptions { dos1x }) {
            let fats = u64::from(geometry.fats()) * u64::from(geometry.fat_sectors());
            prop_assert!(geometry.fat_start().get() >= 1);
            prop_assert_eq!(geometry.fat_start().get() + fats, geometry.root_start().get());
            prop_assert!(geometry.root_start() <= geometry.data_start());
            prop_assert!(geometry.active_fat() < geometry.fats());
            prop_assert!(geometry.max_cluster() <= Cluster::MAX.get());
            if let Some(last) = geometry.cluster(geometry.max_cluster()) {
                let end = geometry.cluster_sector(last).get()
                    + u64::from(geometry.sectors_per_cluster());
                prop_assert!(end <= u64::from(geometry.total_sectors()));
                prop_assert!(end << geometry.sector_bits() <= bytes);
                prop_assert!(geometry.fat_offset(last) + 2 <= geometry.fat_bytes());
                let before = Sector::new(end - 1);
                prop_assert_eq!(geometry.sector_cluster(before), Some(last));
                prop_assert_eq!(geometry.sector_cluster(Sector::new(end)), None);
            }
            prop_assert_eq!(geometry.cluster(geometry.max_cluster() + 1), None);
        }
    }

    #[test]
    fn never_panics(sector in prop::collection::vec(any::<u8>(), 512), bytes: u64, dos1x: bool) {
        let sector: [u8; 512] = sector.try_into().unwrap();
        if let Err(error) = Geometry::parse(&sector, bytes, ParseOptions { dos1x }) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
