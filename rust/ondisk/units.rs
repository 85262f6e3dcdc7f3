// SPDX-License-Identifier: GPL-2.0

//! Numbers that must not be mixed up: clusters, counts of clusters, sectors and entry positions.

/// Number of a data cluster.
///
/// # Invariants
///
/// The number is at least 2 and below 0x0FFF_FFF7, the FAT32 mark for bad clusters: 0 and 1 are
/// reserved and the rest are marks (fatgen103, "FAT Data Structure"). There is no value for "none";
/// use `Option<Cluster>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cluster(u32);

impl Cluster {
    /// The first data cluster of every volume.
    pub const MIN: Self = Self(2);

    /// The highest cluster number that any volume can have.
    pub const MAX: Self = Self(0x0FFF_FFF6);

    /// Returns cluster `number`, or [`None`] where that number can't be a cluster on any volume.
    ///
    /// [`Geometry::cluster`](super::Geometry::cluster) checks it against one volume.
    pub const fn new(number: u32) -> Option<Self> {
        if number >= Self::MIN.0 && number <= Self::MAX.0 {
            // INVARIANT: Just checked.
            Some(Self(number))
        } else {
            None
        }
    }

    /// Returns the cluster's number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the cluster `count` clusters further on, or [`None`] beyond the highest number.
    pub const fn checked_add(self, count: u32) -> Option<Self> {
        match self.0.checked_add(count) {
            Some(number) => Self::new(number),
            None => None,
        }
    }
}

/// A number of clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterCount(u32);

impl ClusterCount {
    /// No clusters.
    pub const ZERO: Self = Self(0);

    /// Returns a count of `count` clusters.
    pub const fn new(count: u32) -> Self {
        Self(count)
    }

    /// Returns the count as a number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the sum, or [`None`] on overflow.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// Returns the difference, or [`None`] if `other` is the larger one.
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.0.checked_sub(other.0) {
            Some(difference) => Some(Self(difference)),
            None => None,
        }
    }
}

/// Number of a sector, counted from the start of the volume.
///
/// The unit is the volume's logical sector (BPB_BytsPerSec), not the block layer's 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sector(u64);

impl Sector {
    /// The boot sector.
    pub const BOOT: Self = Self(0);

    /// Returns sector `number`.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the sector's number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sector `count` sectors further on, or [`None`] on overflow.
    pub const fn checked_add(self, count: u64) -> Option<Self> {
        match self.0.checked_add(count) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// Returns the sector `count` sectors further on, at most the highest number.
    pub const fn saturating_add(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }
}

/// log2 of the length of a directory entry in bytes.
const DIRENT_BITS: u32 = 5;

/// Where on the volume a directory entry lies.
///
/// The value is the entry's byte address divided by the 32 bytes of an entry, which is what the
/// Linux vfat driver calls `i_pos` and derives inode numbers and file handles from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirPos(u64);

impl DirPos {
    /// Returns the position of the entry that covers byte `offset` of `sector`.
    ///
    /// `sector_bits` is log2 of the sector length in bytes. [`None`] if `offset` is not in the
    /// sector, or the byte address does not fit 64 bits.
    pub fn new(sector: Sector, offset: u32, sector_bits: u32) -> Option<Self> {
        let sector_bytes = 1u64.checked_shl(sector_bits)?;
        if u64::from(offset) >= sector_bytes {
            return None;
        }
        let address = sector
            .get()
            .checked_mul(sector_bytes)?
            .checked_add(u64::from(offset))?;
        Some(Self(address >> DIRENT_BITS))
    }

    /// Returns the position with the raw value `raw`, for instance out of a file handle.
    pub const fn from_raw(raw: u64) -> Self {
        Self(raw)
    }

    /// Returns the raw value.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sector that holds the entry.
    ///
    /// `sector_bits` is log2 of the sector length in bytes.
    pub fn sector(self, sector_bits: u32) -> Sector {
        let entries_bits = sector_bits.saturating_sub(DIRENT_BITS);
        Sector(self.0.checked_shr(entries_bits).unwrap_or(0))
    }

    /// Returns the byte offset of the entry in its sector, a multiple of 32.
    ///
    /// `sector_bits` is log2 of the sector length in bytes.
    pub fn offset(self, sector_bits: u32) -> usize {
        let entries = 1u64
            .checked_shl(sector_bits.saturating_sub(DIRENT_BITS))
            .unwrap_or(1);
        let slot = self.0 & (entries.saturating_sub(1));
        usize::try_from(slot.saturating_mul(1 << DIRENT_BITS)).unwrap_or(0)
    }
}
