// SPDX-License-Identifier: GPL-2.0

//! Directory entries: the 32-byte slots that a directory consists of.
//!
//! A file has one entry with its 8.3 name, and before it, where that name is not enough, up to 20
//! slots with the long name. Layout: fatgen103, "FAT Directory Structure"; the case flags and the
//! 10 ms field are those of Windows NT.

use super::{
    bytes::{
        byte,
        field,
        le16,
        le32,
        set_field, //
    },
    Attrs,
    Cluster,
    DosDate,
    DosStamp,
    DosTime,
    FatType,
    LongSlot, //
};

/// Length of a directory entry in bytes.
pub const DIRENT_SIZE: usize = 32;

/// DIR_NTRes bit: the base of the 8.3 name is shown in lower case.
pub const CASE_LOWER_BASE: u8 = 0x08;

/// DIR_NTRes bit: the extension of the 8.3 name is shown in lower case.
pub const CASE_LOWER_EXT: u8 = 0x10;

/// First byte of a free slot with no used slot behind it.
const END: u8 = 0x00;

/// First byte of a free slot.
const DELETED: u8 = 0xE5;

/// First byte of a name that starts with byte 0xE5, which would read as deleted.
const KANJI: u8 = 0x05;

// Offsets in bytes.
const NAME_AT: usize = 0;
const ATTR_AT: usize = 11;
const LCASE_AT: usize = 12;
const CTIME_CS_AT: usize = 13;
const CTIME_AT: usize = 14;
const CDATE_AT: usize = 16;
const ADATE_AT: usize = 18;
const START_HIGH_AT: usize = 20;
const MTIME_AT: usize = 22;
const MDATE_AT: usize = 24;
const START_LOW_AT: usize = 26;
const SIZE_AT: usize = 28;

/// An 8.3 name: 8 bytes of base and 3 of extension in the volume's code page, padded with spaces.
///
/// The bytes are kept as the disk has them, because that is what the checksum of a long name is
/// taken over: a first byte of 0x05 stands for 0xE5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShortName([u8; 11]);

impl ShortName {
    /// Name of the entry by which a directory refers to itself.
    pub const DOT: Self = Self(*b".          ");

    /// Name of the entry by which a directory refers to its parent.
    pub const DOT_DOT: Self = Self(*b"..         ");

    /// Returns the name stored as `bytes`.
    pub const fn from_disk(bytes: [u8; 11]) -> Self {
        Self(bytes)
    }

    /// Returns the name whose characters are `bytes`: a first byte of 0xE5 is stored as 0x05.
    pub const fn from_decoded(bytes: [u8; 11]) -> Self {
        let mut name = Self(bytes);
        if name.0[0] == DELETED {
            name.0[0] = KANJI;
        }
        name
    }

    /// Returns the bytes as they are stored.
    pub const fn on_disk(&self) -> &[u8; 11] {
        &self.0
    }

    /// Returns the characters: a first byte of 0x05 is turned into 0xE5.
    pub const fn decoded(&self) -> [u8; 11] {
        let mut bytes = self.0;
        if bytes[0] == KANJI {
            bytes[0] = DELETED;
        }
        bytes
    }

    /// Returns the extension, padded with spaces.
    pub fn extension(&self) -> [u8; 3] {
        field::<8, 3, 11>(&self.0)
    }

    /// Returns whether this is `.`.
    pub fn is_dot(&self) -> bool {
        *self == Self::DOT
    }

    /// Returns whether this is `..`.
    pub fn is_dot_dot(&self) -> bool {
        *self == Self::DOT_DOT
    }
}

/// What a slot is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// Free, and so are all slots behind it.
    End,
    /// Free.
    Deleted,
    /// Part of the long name of the entry that follows.
    Long(LongSlot),
    /// The volume's label, which is not a file.
    VolumeLabel,
    /// A file or directory.
    Entry,
}

/// The bytes of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawDirent([u8; DIRENT_SIZE]);

impl RawDirent {
    /// A free slot with no used one behind it.
    pub const ZERO: Self = Self([0; DIRENT_SIZE]);

    /// Returns the slot stored as `bytes`.
    pub const fn from_bytes(bytes: [u8; DIRENT_SIZE]) -> Self {
        Self(bytes)
    }

    /// Returns the entry of a new, empty file or directory, as Linux vfat makes it.
    ///
    /// `stamp` becomes the time of creation and of change, and its date that of access.
    pub fn new(
        name: ShortName,
        attrs: Attrs,
        lcase: u8,
        stamp: DosStamp,
        start: Option<Cluster>,
    ) -> Self {
        let mut entry = Self::ZERO;
        entry.set_name(name);
        entry.set_attrs(attrs);
        entry.set_lcase(lcase);
        entry.set_created(stamp);
        entry.set_modified(stamp);
        entry.set_accessed(stamp.date);
        entry.set_start(start);
        entry
    }

    /// Returns the first entry of the directory whose first cluster is `start`.
    pub fn dot(stamp: DosStamp, start: Option<Cluster>) -> Self {
        Self::new(ShortName::DOT, Attrs::DIRECTORY, 0, stamp, start)
    }

    /// Returns the second entry of a directory whose parent's first cluster is `start`.
    ///
    /// Use [`None`] where the parent is the root directory, on FAT32 too (fatgen103).
    pub fn dot_dot(stamp: DosStamp, start: Option<Cluster>) -> Self {
        Self::new(ShortName::DOT_DOT, Attrs::DIRECTORY, 0, stamp, start)
    }

    /// Returns the bytes of the slot.
    pub const fn as_bytes(&self) -> &[u8; DIRENT_SIZE] {
        &self.0
    }

    /// Returns the bytes of the slot.
    pub const fn into_bytes(self) -> [u8; DIRENT_SIZE] {
        self.0
    }

    /// Returns what the slot is.
    ///
    /// Like in Linux vfat, a long-name slot has exactly the attributes of [`Attrs::LONG_NAME`];
    /// fatgen103 would ignore the two topmost bits.
    pub fn kind(&self) -> SlotKind {
        match byte::<NAME_AT, DIRENT_SIZE>(&self.0) {
            END => return SlotKind::End,
            DELETED => return SlotKind::Deleted,
            _ => {}
        }
        let attrs = self.attrs();
        if attrs == Attrs::LONG_NAME {
            SlotKind::Long(LongSlot::parse(&self.0))
        } else if attrs.contains(Attrs::VOLUME) {
            SlotKind::VolumeLabel
        } else {
            SlotKind::Entry
        }
    }

    /// Turns the slot into a free one. All but its first byte stays, for the sake of recovery
    /// tools.
    pub fn mark_deleted(&mut self) {
        set_field::<NAME_AT, 1, DIRENT_SIZE>(&mut self.0, [DELETED]);
    }
}

/// The fields of a [`SlotKind::Entry`].
impl RawDirent {
    /// DIR_Name.
    pub fn name(&self) -> ShortName {
        ShortName(field::<NAME_AT, 11, DIRENT_SIZE>(&self.0))
    }

    /// DIR_Attr.
    pub fn attrs(&self) -> Attrs {
        Attrs::from_bits(byte::<ATTR_AT, DIRENT_SIZE>(&self.0))
    }

    /// DIR_NTRes: [`CASE_LOWER_BASE`] and [`CASE_LOWER_EXT`].
    pub fn lcase(&self) -> u8 {
        byte::<LCASE_AT, DIRENT_SIZE>(&self.0)
    }

    /// DIR_CrtTimeTenth: 10 ms steps to add to the time of creation.
    pub fn ctime_cs(&self) -> u8 {
        byte::<CTIME_CS_AT, DIRENT_SIZE>(&self.0)
    }

    /// DIR_CrtTime: time of creation.
    pub fn ctime(&self) -> DosTime {
        le16::<CTIME_AT, DIRENT_SIZE>(&self.0).into()
    }

    /// DIR_CrtDate: date of creation.
    pub fn cdate(&self) -> DosDate {
        le16::<CDATE_AT, DIRENT_SIZE>(&self.0).into()
    }

    /// DIR_LstAccDate: date of the last access.
    pub fn adate(&self) -> DosDate {
        le16::<ADATE_AT, DIRENT_SIZE>(&self.0).into()
    }

    /// DIR_WrtTime: time of the last change.
    pub fn mtime(&self) -> DosTime {
        le16::<MTIME_AT, DIRENT_SIZE>(&self.0).into()
    }

    /// DIR_WrtDate: date of the last change.
    pub fn mdate(&self) -> DosDate {
        le16::<MDATE_AT, DIRENT_SIZE>(&self.0).into()
    }

    /// Date and time of creation.
    pub fn created(&self) -> DosStamp {
        DosStamp {
            time: self.ctime(),
            date: self.cdate(),
            cs: self.ctime_cs(),
        }
    }

    /// Date and time of the last change.
    pub fn modified(&self) -> DosStamp {
        DosStamp {
            time: self.mtime(),
            date: self.mdate(),
            cs: 0,
        }
    }

    /// DIR_FstClusLO and, on FAT32, DIR_FstClusHI: number of the first cluster, unchecked; 0 for an
    /// empty file, and for the root directory in `..`.
    pub fn start(&self, ty: FatType) -> u32 {
        let low = u32::from(le16::<START_LOW_AT, DIRENT_SIZE>(&self.0));
        let high = u32::from(le16::<START_HIGH_AT, DIRENT_SIZE>(&self.0));
        match ty {
            FatType::Fat12 | FatType::Fat16 => low,
            FatType::Fat32 => (high << 16) | low,
        }
    }

    /// DIR_FileSize in bytes, 0 for directories.
    pub fn size(&self) -> u32 {
        le32::<SIZE_AT, DIRENT_SIZE>(&self.0)
    }

    /// Sets DIR_Name.
    pub fn set_name(&mut self, name: ShortName) {
        set_field::<NAME_AT, 11, DIRENT_SIZE>(&mut self.0, name.0);
    }

    /// Sets DIR_Attr.
    pub fn set_attrs(&mut self, attrs: Attrs) {
        set_field::<ATTR_AT, 1, DIRENT_SIZE>(&mut self.0, [attrs.bits()]);
    }

    /// Sets DIR_NTRes.
    pub fn set_lcase(&mut self, lcase: u8) {
        set_field::<LCASE_AT, 1, DIRENT_SIZE>(&mut self.0, [lcase]);
    }

    /// Sets date and time of creation.
    pub fn set_created(&mut self, stamp: DosStamp) {
        set_field::<CTIME_CS_AT, 1, DIRENT_SIZE>(&mut self.0, [stamp.cs]);
        set_field::<CTIME_AT, 2, DIRENT_SIZE>(&mut self.0, stamp.time.get().to_le_bytes());
        set_field::<CDATE_AT, 2, DIRENT_SIZE>(&mut self.0, stamp.date.get().to_le_bytes());
    }

    /// Sets date and time of the last change. Its 10 ms steps have no place on the disk.
    pub fn set_modified(&mut self, stamp: DosStamp) {
        set_field::<MTIME_AT, 2, DIRENT_SIZE>(&mut self.0, stamp.time.get().to_le_bytes());
        set_field::<MDATE_AT, 2, DIRENT_SIZE>(&mut self.0, stamp.date.get().to_le_bytes());
    }

    /// Sets the date of the last access.
    pub fn set_accessed(&mut self, date: DosDate) {
        set_field::<ADATE_AT, 2, DIRENT_SIZE>(&mut self.0, date.get().to_le_bytes());
    }

    /// Sets the first cluster, both halves of it on every FAT type, like Linux vfat.
    pub fn set_start(&mut self, start: Option<Cluster>) {
        let [a, b, c, d] = start.map_or(0, Cluster::get).to_le_bytes();
        set_field::<START_LOW_AT, 2, DIRENT_SIZE>(&mut self.0, [a, b]);
        set_field::<START_HIGH_AT, 2, DIRENT_SIZE>(&mut self.0, [c, d]);
    }

    /// Sets DIR_FileSize in bytes.
    pub fn set_size(&mut self, size: u32) {
        set_field::<SIZE_AT, 4, DIRENT_SIZE>(&mut self.0, size.to_le_bytes());
    }
}
