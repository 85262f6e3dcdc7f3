// SPDX-License-Identifier: GPL-2.0

//! Directory entries.

use proptest::prelude::*;
use rvfat_unit::ondisk::dirent::{CASE_LOWER_BASE, CASE_LOWER_EXT};
use rvfat_unit::ondisk::{
    Attrs, Cluster, DosStamp, FatType, RawDirent, ShortName, SlotKind, DIRENT_SIZE,
};

fn stamp(time: u16, date: u16, cs: u8) -> DosStamp {
    DosStamp {
        time: time.into(),
        date: date.into(),
        cs,
    }
}

fn bytes() -> impl Strategy<Value = [u8; DIRENT_SIZE]> {
    prop::collection::vec(any::<u8>(), DIRENT_SIZE).prop_map(|bytes| bytes.try_into().unwrap())
}

#[test]
fn every_field_by_hand() {
    #[rustfmt::skip]
    let entry = RawDirent::from_bytes([
        b'R', b'E', b'A', b'D', b'M', b'E', b' ', b' ', b'T', b'X', b'T',
        0x21, 0x18, 0x63,
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, 0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x0E,
        0x0F, 0x10, 0x11, 0x12,
    ]);
    assert_eq!(entry.kind(), SlotKind::Entry);
    assert_eq!(entry.name().on_disk(), b"README  TXT");
    assert_eq!(&entry.name().extension(), b"TXT");
    assert_eq!(entry.attrs(), Attrs::READ_ONLY.union(Attrs::ARCHIVE));
    assert_eq!(entry.lcase(), CASE_LOWER_BASE | CASE_LOWER_EXT);
    assert_eq!(entry.ctime_cs(), 99);
    assert_eq!(entry.ctime().get(), 0x0201);
    assert_eq!(entry.cdate().get(), 0x0403);
    assert_eq!(entry.adate().get(), 0x0605);
    assert_eq!(entry.mtime().get(), 0x0A09);
    assert_eq!(entry.mdate().get(), 0x0C0B);
    assert_eq!(entry.created(), stamp(0x0201, 0x0403, 99));
    assert_eq!(entry.modified(), stamp(0x0A09, 0x0C0B, 0));
    assert_eq!(entry.start(FatType::Fat32), 0x0807_0E0D);
    assert_eq!(entry.start(FatType::Fat16), 0x0E0D);
    assert_eq!(entry.start(FatType::Fat12), 0x0E0D);
    assert_eq!(entry.size(), 0x1211_100F);
}

#[test]
fn kinds() {
    let kind = |first: u8, attrs: u8| {
        let mut bytes = [b'X'; DIRENT_SIZE];
        bytes[0] = first;
        bytes[11] = attrs;
        RawDirent::from_bytes(bytes).kind()
    };
    assert_eq!(kind(b'A', 0x20), SlotKind::Entry);
    assert_eq!(kind(b'A', 0x10), SlotKind::Entry);
    assert_eq!(kind(0x05, 0x20), SlotKind::Entry);
    assert_eq!(kind(0x00, 0x0F), SlotKind::End);
    assert_eq!(kind(0xE5, 0x0F), SlotKind::Deleted);
    assert_eq!(kind(0xE5, 0x20), SlotKind::Deleted);
    assert_eq!(kind(b'A', 0x08), SlotKind::VolumeLabel);
    assert_eq!(kind(b'A', 0x1F), SlotKind::VolumeLabel);
    assert!(matches!(kind(0x41, 0x0F), SlotKind::Long(slot) if slot.last && slot.ordinal == 1));
    assert_eq!(RawDirent::ZERO.kind(), SlotKind::End);
}

#[test]
fn new_entries() {
    let now = stamp(0x1234, 0x5678, 150);
    let name = ShortName::from_disk(*b"A       B  ");
    let start = Cluster::new(0x0123_4567);
    let entry = RawDirent::new(name, Attrs::ARCHIVE, CASE_LOWER_EXT, now, start);
    assert_eq!(entry.name(), name);
    assert_eq!(entry.attrs(), Attrs::ARCHIVE);
    assert_eq!(entry.lcase(), CASE_LOWER_EXT);
    assert_eq!(entry.created(), now);
    assert_eq!(entry.modified(), stamp(0x1234, 0x5678, 0));
    assert_eq!(entry.adate(), now.date);
    assert_eq!(entry.start(FatType::Fat32), 0x0123_4567);
    assert_eq!(entry.size(), 0);

    let dot = RawDirent::dot(now, Cluster::new(9));
    let dot_dot = RawDirent::dot_dot(now, None);
    assert!(dot.name().is_dot() && !dot.name().is_dot_dot());
    assert!(dot_dot.name().is_dot_dot() && !dot_dot.name().is_dot());
    assert!(dot.attrs().is_dir() && dot_dot.attrs().is_dir());
    assert_eq!(dot.start(FatType::Fat12), 9);
    assert_eq!(dot_dot.start(FatType::Fat32), 0);
    assert_eq!(&dot.as_bytes()[..12], b".          \x10");
    assert_eq!(&dot_dot.as_bytes()[..12], b"..         \x10");
}

#[test]
fn kanji_first_byte() {
    let name = ShortName::from_decoded(*b"\xE5BC     TXT");
    assert_eq!(name.on_disk(), b"\x05BC     TXT");
    assert_eq!(&name.decoded(), b"\xE5BC     TXT");
    let plain = ShortName::from_decoded(*b"A\xE5C     TXT");
    assert_eq!(plain.on_disk(), b"A\xE5C     TXT");
}

proptest! {
    #[test]
    fn fields_do_not_overlap(
        old in bytes(),
        name in prop::collection::vec(any::<u8>(), 11),
        attrs: u8, lcase: u8, times: [u16; 5], cs: u8, start in 2u32..0x0FFF_FFF7, size: u32,
    ) {
        let name = ShortName::from_disk(name.try_into().unwrap());
        let [ctime, cdate, mtime, mdate, adate] = times;
        let mut entry = RawDirent::from_bytes(old);
        entry.set_size(size);
        entry.set_start(Cluster::new(start));
        entry.set_accessed(adate.into());
        entry.set_modified(stamp(mtime, mdate, 77));
        entry.set_created(stamp(ctime, cdate, cs));
        entry.set_lcase(lcase);
        entry.set_attrs(Attrs::from_bits(attrs));
        entry.set_name(name);
        let entry = RawDirent::from_bytes(entry.into_bytes());
        prop_assert_eq!(entry.name(), name);
        prop_assert_eq!(entry.attrs().bits(), attrs);
        prop_assert_eq!(entry.lcase(), lcase);
        prop_assert_eq!(entry.created(), stamp(ctime, cdate, cs));
        prop_assert_eq!(entry.modified(), stamp(mtime, mdate, 0));
        prop_assert_eq!(entry.adate().get(), adate);
        prop_assert_eq!(entry.start(FatType::Fat32), start);
        prop_assert_eq!(entry.start(FatType::Fat16), start & 0xFFFF);
        prop_assert_eq!(entry.size(), size);
    }

    #[test]
    fn deleting_changes_one_byte(old in bytes()) {
        let mut entry = RawDirent::from_bytes(old);
        entry.mark_deleted();
        prop_assert_eq!(entry.kind(), SlotKind::Deleted);
        prop_assert_eq!(&entry.as_bytes()[1..], &old[1..]);
    }

    #[test]
    fn setting_start_touches_start_only(old in bytes(), start in prop::option::of(2u32..1 << 28)) {
        let mut entry = RawDirent::from_bytes(old);
        entry.set_start(start.and_then(Cluster::new));
        for at in (0..20).chain(22..26).chain(28..32) {
            prop_assert_eq!(entry.as_bytes()[at], old[at]);
        }
    }

    #[test]
    fn decoded_names_round_trip(name in prop::collection::vec(any::<u8>(), 11)) {
        let bytes: [u8; 11] = name.try_into().unwrap();
        let name = ShortName::from_decoded(bytes);
        prop_assert_ne!(name.on_disk()[0], 0xE5);
        if bytes[0] != 0x05 {
            prop_assert_eq!(name.decoded(), bytes);
        }
    }
}
