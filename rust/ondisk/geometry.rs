// SPDX-License-Identifier: GPL-2.0

//! Where everything is on a volume.
//!
//! The areas follow each other as fatgen103, "Boot Sector and BPB" and "FAT Type Determination",
//! lays them out. Which volumes are accepted follows Linux vfat:
//!
//! - A volume is FAT32 if BPB_FATSz16 is zero. Otherwise it is FAT12 with up to 4084 clusters and
//!   FAT16 with more. Microsoft decides by the cluster count in all three cases, so volumes with an
//!   unusual number of clusters may be taken for another type by other systems.
//! - Where the FAT is too short for the data area, the clusters without an entry are not used.
//!
//! Stricter than Linux vfat, which leaves these to later I/O: the volume must fit its device, and
//! the FAT32 root cluster must exist.
//!
//! All shifts are by less than 20 bits. The `wrapping_` forms only keep the compiler from adding a
//! check, with a panic, that it can't see to be needless.

use super::{
    bpb,
    bpb::{
        Extended,
        Layout,
        ParseOptions, //
    },
    fat::number_byte_offset,
    Cluster,
    ClusterCount,
    FatType,
    FormatError,
    Sector, //
};

/// log2 of the length of a directory entry in bytes.
const DIRENT_BITS: u32 = 5;

/// The number of clusters up to the highest possible cluster number.
const MAX_CLUSTERS: u32 = Cluster::MAX.get() - 1;

/// Where everything is on a volume, and how many of it there are.
///
/// # Invariants
///
/// - All areas are in order and end within the volume: `fat_start`, then `fats` copies of
///   `fat_sectors`, `root_start`, `data_start`, then `clusters` clusters.
/// - Each of the clusters 2 to `clusters + 1` has an entry in the FAT and lies on the device.
/// - `fat_sectors` and `fats` are not zero; `active_fat` is below `fats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    fat_type: FatType,
    sector_bits: u32,
    cluster_bits: u32,
    fats: u8,
    fat_start: Sector,
    fat_sectors: u32,
    root_start: Sector,
    root_entries: u32,
    root_cluster: Option<Cluster>,
    data_start: Sector,
    clusters: u32,
    total_sectors: u32,
    fsinfo_sector: Option<Sector>,
    volume_id: u32,
    label: [u8; 11],
    media: u8,
    active_fat: u8,
    mirroring: bool,
    dirty: bool,
    state_offset: Option<usize>,
}

/// Returns log2 of `value`, a power of two.
fn log2(value: u32) -> u32 {
    value.trailing_zeros()
}

/// Returns how many entries a FAT of the given type and length has beyond the two reserved ones.
fn fat_capacity(fat_type: FatType, fat_sectors: u32, sector_bits: u32) -> u64 {
    let bytes = u64::from(fat_sectors).wrapping_shl(sector_bits);
    let entries = match fat_type {
        FatType::Fat12 => bytes.saturating_mul(2) / 3,
        FatType::Fat16 => bytes >> 1,
        FatType::Fat32 => bytes >> 2,
    };
    entries.saturating_sub(2)
}

impl Geometry {
    /// Reads the boot sector.
    ///
    /// `sector` holds the first 512 bytes of the device, which is `device_bytes` bytes long.
    ///
    /// # Errors
    ///
    /// The first check that fails. With [`ParseOptions::dos1x`], a sector without a BPB is judged
    /// by the length of the device instead.
    pub fn parse(
        sector: &[u8; 512],
        device_bytes: u64,
        opts: ParseOptions,
    ) -> Result<Self, FormatError> {
        let (layout, extended) = bpb::read(sector, device_bytes, opts)?;
        Self::new(&layout, &extended, device_bytes)
    }

    /// Puts the areas of the volume behind each other and checks that they fit.
    fn new(layout: &Layout, extended: &Extended, device_bytes: u64) -> Result<Self, FormatError> {
        let sector_bits = log2(u32::from(layout.bytes_per_sector));
        let cluster_bits = sector_bits.saturating_add(log2(u32::from(layout.sectors_per_cluster)));
        let fat_sectors = layout.fat_sectors();
        let fat_start = Sector::new(u64::from(layout.reserved));
        let root_start =
            fat_start.saturating_add(u64::from(layout.fats).saturating_mul(u64::from(fat_sectors)));
        let data_start = root_start.saturating_add(root_sectors(layout, sector_bits)?);

        let (fat_type, clusters) = count_clusters(layout, data_start, sector_bits)?;
        let fat32 = fat_type == FatType::Fat32;
        let (active_fat, mirroring) = extended.active_fat(layout.fats);
        let mut geometry = Self {
            fat_type,
            sector_bits,
            cluster_bits,
            fats: layout.fats,
            fat_start,
            fat_sectors,
            root_start,
            root_entries: if fat32 {
                0
            } else {
                u32::from(layout.root_entries)
            },
            root_cluster: None,
            data_start,
            clusters,
            total_sectors: layout.total_sectors,
            fsinfo_sector: None,
            volume_id: extended.volume_id,
            label: extended.label,
            media: layout.media,
            active_fat,
            mirroring,
            dirty: extended.dirty,
            state_offset: extended.state_offset,
        };
        geometry.check_device(device_bytes)?;
        if fat32 {
            geometry.root_cluster = Some(geometry.check_root(extended.root_cluster)?);
            geometry.fsinfo_sector = extended.fsinfo_sector(layout.reserved);
        }
        // INVARIANT: `count_clusters` established the order of the areas and limited the clusters
        // to those with an entry, `check_device` to those on the device; `Layout::check` ruled out
        // zeroes and `Extended::active_fat` an active FAT beyond the last.
        Ok(geometry)
    }

    /// Checks that all that belongs to the volume is on the device.
    fn check_device(&self, device_bytes: u64) -> Result<(), FormatError> {
        let data = u64::from(self.clusters).saturating_mul(u64::from(self.sectors_per_cluster()));
        let needed = self.data_start.saturating_add(data).get();
        let available = device_bytes.wrapping_shr(self.sector_bits);
        if needed > available {
            return Err(FormatError::DeviceTooSmall { needed, available });
        }
        Ok(())
    }

    /// Checks the root directory's cluster.
    fn check_root(&self, number: u32) -> Result<Cluster, FormatError> {
        self.cluster(number).ok_or(FormatError::RootCluster {
            found: number,
            max: self.max_cluster(),
        })
    }

    /// Returns cluster `number` if the volume has it.
    pub const fn cluster(&self, number: u32) -> Option<Cluster> {
        if number > self.max_cluster() {
            return None;
        }
        Cluster::new(number)
    }

    /// Returns the first sector of `cluster`.
    pub fn cluster_sector(&self, cluster: Cluster) -> Sector {
        let index = u64::from(cluster.get().saturating_sub(Cluster::MIN.get()));
        self.data_start
            .saturating_add(index.saturating_mul(u64::from(self.sectors_per_cluster())))
    }

    /// Returns the cluster that `sector` lies in, or [`None`] if that is not in the data area.
    pub fn sector_cluster(&self, sector: Sector) -> Option<Cluster> {
        let index = sector
            .get()
            .checked_sub(self.data_start.get())?
            .wrapping_shr(log2(self.sectors_per_cluster()));
        let number = index.checked_add(u64::from(Cluster::MIN.get()))?;
        self.cluster(u32::try_from(number).ok()?)
    }

    /// Returns the offset in bytes of the entry of `cluster` from the start of one FAT.
    pub fn fat_offset(&self, cluster: Cluster) -> u64 {
        number_byte_offset(self.fat_type, cluster.get())
    }

    /// Returns the first sector of FAT number `copy`, counted from 0.
    pub fn fat_copy_start(&self, copy: u8) -> Option<Sector> {
        if copy >= self.fats {
            return None;
        }
        self.fat_start
            .checked_add(u64::from(copy).checked_mul(u64::from(self.fat_sectors))?)
    }

    /// Returns how many clusters `bytes` bytes take up, at most the highest count.
    pub fn clusters_for(&self, bytes: u64) -> ClusterCount {
        let partial = bytes & u64::from(self.cluster_bytes().saturating_sub(1)) != 0;
        let clusters = bytes
            .wrapping_shr(self.cluster_bits)
            .saturating_add(u64::from(partial));
        ClusterCount::new(u32::try_from(clusters).unwrap_or(u32::MAX))
    }
}

/// Returns the length in sectors of the fixed root directory area.
///
/// Linux vfat honours the field on FAT32 too, where the specification wants zero.
fn root_sectors(layout: &Layout, sector_bits: u32) -> Result<u64, FormatError> {
    let found = layout.root_entries;
    let per_sector = u32::from(layout.bytes_per_sector) >> DIRENT_BITS;
    if u32::from(found) & per_sector.saturating_sub(1) != 0 {
        return Err(FormatError::RootEntries { found, per_sector });
    }
    Ok((u64::from(found) << DIRENT_BITS).wrapping_shr(sector_bits))
}

/// Returns the FAT type and the number of usable clusters.
fn count_clusters(
    layout: &Layout,
    data_start: Sector,
    sector_bits: u32,
) -> Result<(FatType, u32), FormatError> {
    let total_sectors = layout.total_sectors;
    let data_start = data_start.get();
    let data_sectors =
        u64::from(total_sectors)
            .checked_sub(data_start)
            .ok_or(FormatError::DataBeyondVolume {
                data_start,
                total_sectors,
            })?;
    let fitting = data_sectors.wrapping_shr(log2(u32::from(layout.sectors_per_cluster)));
    let fat_type = if layout.is_fat32() {
        FatType::Fat32
    } else if fitting > u64::from(FatType::Fat12.max_clusters()) {
        FatType::Fat16
    } else {
        FatType::Fat12
    };
    let found = fitting.min(fat_capacity(fat_type, layout.fat_sectors(), sector_bits));
    let max = fat_type.max_clusters();
    match u32::try_from(found) {
        // The last cluster of a FAT32 volume of maximal size would have the number of the mark for
        // bad clusters. It is left unused.
        Ok(clusters) if clusters <= max => Ok((fat_type, clusters.min(MAX_CLUSTERS))),
        _ => Err(FormatError::ClusterCount { found, max }),
    }
}

/// What the volume is like. Lengths are in sectors or bytes, as the name says.
impl Geometry {
    /// Variant of the file system.
    pub const fn fat_type(&self) -> FatType {
        self.fat_type
    }

    /// log2 of the sector length in bytes, 9 to 12.
    pub const fn sector_bits(&self) -> u32 {
        self.sector_bits
    }

    /// log2 of the cluster length in bytes, 9 to 19.
    pub const fn cluster_bits(&self) -> u32 {
        self.cluster_bits
    }

    /// Length of a sector in bytes.
    pub const fn sector_bytes(&self) -> u32 {
        1u32.wrapping_shl(self.sector_bits)
    }

    /// Length of a cluster in bytes.
    pub const fn cluster_bytes(&self) -> u32 {
        1u32.wrapping_shl(self.cluster_bits)
    }

    /// Length of a cluster in sectors, 1 to 128.
    pub const fn sectors_per_cluster(&self) -> u32 {
        self.cluster_bytes().wrapping_shr(self.sector_bits)
    }

    /// Number of FAT copies, at least 1.
    pub const fn fats(&self) -> u8 {
        self.fats
    }

    /// First sector of the first FAT.
    pub const fn fat_start(&self) -> Sector {
        self.fat_start
    }

    /// Length of one FAT in sectors.
    pub const fn fat_sectors(&self) -> u32 {
        self.fat_sectors
    }

    /// Length of one FAT in bytes.
    pub fn fat_bytes(&self) -> u64 {
        u64::from(self.fat_sectors).wrapping_shl(self.sector_bits)
    }

    /// First sector of the fixed root directory (FAT12 and FAT16).
    pub const fn root_start(&self) -> Sector {
        self.root_start
    }

    /// Number of entries in the fixed root directory, 0 on FAT32.
    pub const fn root_entries(&self) -> u32 {
        self.root_entries
    }

    /// Length of the fixed root directory in sectors, 0 on FAT32.
    pub const fn root_sectors(&self) -> u32 {
        self.root_entries
            .wrapping_shr(self.sector_bits.saturating_sub(DIRENT_BITS))
    }

    /// First cluster of the root directory on FAT32, [`None`] on FAT12 and FAT16.
    pub const fn root_cluster(&self) -> Option<Cluster> {
        self.root_cluster
    }

    /// First sector of cluster 2.
    pub const fn data_start(&self) -> Sector {
        self.data_start
    }

    /// Number of usable data clusters.
    pub const fn clusters(&self) -> u32 {
        self.clusters
    }

    /// Number of usable data clusters, typed.
    pub const fn cluster_count(&self) -> ClusterCount {
        ClusterCount::new(self.clusters)
    }

    /// Highest cluster number: 1 more than there are clusters, as the first one is number 2.
    pub const fn max_cluster(&self) -> u32 {
        self.clusters.saturating_add(1)
    }

    /// Length of the volume in sectors, as the boot sector states it.
    pub const fn total_sectors(&self) -> u32 {
        self.total_sectors
    }

    /// The FSINFO sector, [`None`] where the volume has none.
    pub const fn fsinfo_sector(&self) -> Option<Sector> {
        self.fsinfo_sector
    }

    /// BS_VolID, the serial number.
    pub const fn volume_id(&self) -> u32 {
        self.volume_id
    }

    /// BS_VolLab in the volume's code page, `NO NAME` if absent. The label proper is an entry of
    /// the root directory.
    pub const fn label(&self) -> [u8; 11] {
        self.label
    }

    /// BPB_Media.
    pub const fn media(&self) -> u8 {
        self.media
    }

    /// Number of the FAT copy to read from, counted from 0.
    pub const fn active_fat(&self) -> u8 {
        self.active_fat
    }

    /// Whether changes go to all FAT copies, rather than to the active one alone.
    pub const fn mirroring(&self) -> bool {
        self.mirroring
    }

    /// Whether the boot sector says that the volume was not unmounted cleanly.
    pub const fn dirty(&self) -> bool {
        self.dirty
    }

    /// Offset in the boot sector of the byte whose bit 0 is the dirty mark; [`None`] on a DOS 1.x
    /// floppy, which has boot code there.
    pub const fn state_offset(&self) -> Option<usize> {
        self.state_offset
    }

    /// Largest size of a file in bytes.
    pub const fn max_file_size(&self) -> u64 {
        0xFFFF_FFFF
    }
}
