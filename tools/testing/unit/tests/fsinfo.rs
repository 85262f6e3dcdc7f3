// SPDX-License-Identifier: GPL-2.0

//! The FSINFO sector.

mod common;

use common::put;
use proptest::prelude::*;
use rvfat_unit::ondisk::{fsinfo, FormatError, FsInfo};

fn sector() -> [u8; 512] {
    let mut sector = [0; 512];
    put(&mut sector, 0, b"RRaA");
    put(&mut sector, 484, b"rrAa");
    put(&mut sector, 488, &1000u32.to_le_bytes());
    put(&mut sector, 492, &77u32.to_le_bytes());
    sector
}

#[test]
fn read() {
    assert_eq!(
        fsinfo::parse(&sector()),
        Ok(FsInfo {
            free: Some(1000),
            next: Some(77)
        })
    );
}

#[test]
fn unknown() {
    let mut sector = sector();
    put(&mut sector, 488, &[0xFF; 8]);
    assert_eq!(
        fsinfo::parse(&sector),
        Ok(FsInfo {
            free: None,
            next: None
        })
    );
}

#[test]
fn signatures() {
    let mut bad = sector();
    bad[0] = b'X';
    let error = FormatError::FsInfoSignature {
        lead: 0x4161_5258,
        structure: 0x6141_7272,
    };
    assert_eq!(fsinfo::parse(&bad), Err(error));
    let mut bad = sector();
    bad[487] = 0;
    assert!(fsinfo::parse(&bad).is_err());
}

proptest! {
    #[test]
    fn round_trip(free in prop::option::of(0u32..u32::MAX), next in prop::option::of(0u32..u32::MAX)) {
        let mut written = sector();
        fsinfo::encode_into(&mut written, free, next);
        prop_assert_eq!(fsinfo::parse(&written), Ok(FsInfo { free, next }));
    }

    #[test]
    fn other_bytes_stay(bytes in prop::collection::vec(any::<u8>(), 512), free: u32, next: u32) {
        let old: [u8; 512] = bytes.try_into().unwrap();
        let _ = fsinfo::parse(&old);
        let mut new = old;
        fsinfo::encode_into(&mut new, Some(free), Some(next));
        prop_assert_eq!(&new[..488], &old[..488]);
        prop_assert_eq!(&new[496..], &old[496..]);
    }
}
