// SPDX-License-Identifier: GPL-2.0

//! The FSINFO sector.

use crate::input::Input;
use rvfat_unit::ondisk::fsinfo;

/// The input says whether the signatures are there, then gives both hints, then bytes to put
/// anywhere, then what to store.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut sector = [0; 512];
    if input.flag() {
        sector[..4].copy_from_slice(b"RRaA");
        sector[484..488].copy_from_slice(b"rrAa");
    }
    sector[488..496].copy_from_slice(&input.array::<8>());
    let (free, next) = (hint(&mut input), hint(&mut input));
    while !input.is_empty() {
        let at = usize::from(input.u16()) % 512;
        sector[at] = input.u8();
    }
    let parsed = fsinfo::parse(&sector);
    let signed = sector[..4] == *b"RRaA" && sector[484..488] == *b"rrAa";
    assert_eq!(parsed.is_ok(), signed);
    if let Err(e) = parsed {
        assert!(!e.to_string().is_empty());
    }
    let before = sector;
    fsinfo::encode_into(&mut sector, free, next);
    assert!(sector[..488] == before[..488] && sector[496..] == before[496..]);
    if let Ok(info) = fsinfo::parse(&sector) {
        // All ones can't be told from "unknown".
        assert_eq!(info.free, free.filter(|n| *n != u32::MAX));
        assert_eq!(info.next, next.filter(|n| *n != u32::MAX));
    }
}

fn hint(input: &mut Input<'_>) -> Option<u32> {
    let n = input.u32();
    input.flag().then_some(n)
}
