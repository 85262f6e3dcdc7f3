// SPDX-License-Identifier: GPL-2.0

//! One mounted volume: what all parts of the file system share.

use crate::ondisk::{Cluster, Geometry, RawDirent, TzOffset};
use crate::vfs::{Inode, Mounted, Timespec};
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::sync::{new_mutex, Mutex};

use super::commit::Pending;
use super::names::Names;
use super::options::Options;
use super::table::Table;
use super::Fat;

/// A mounted volume: the device, and what is in [`VolumeData`].
pub(crate) type Volume = Mounted<Fat>;

/// The file system's part of a mounted volume.
#[pin_data]
pub(crate) struct VolumeData {
    /// Where everything is.
    pub(crate) geo: Geometry,
    /// The mount options.
    pub(crate) options: Options,
    /// Character sets.
    pub(crate) names: Names,
    /// The FAT and the free space. See the lock order in [`super`].
    #[pin]
    pub(crate) table: Mutex<Table>,
    /// Changes that wait for others to be on disk.
    #[pin]
    pub(crate) pending: Mutex<Pending>,
    /// Held by the one who commits.
    #[pin]
    pub(crate) commit: Mutex<()>,
    /// Inodes whose attributes `sync_fs` or the worker has to write.
    #[pin]
    pub(crate) unsettled: Mutex<KVVec<ARef<Inode<Fat>>>>,
    /// Clusters in `pending` that will be free.
    pub(crate) pending_free: AtomicU64,
    /// Commits begun.
    pub(crate) commits: AtomicU64,
    /// Chains in `pending` that the FAT does not show yet as they are.
    pub(crate) loose: AtomicUsize,
    /// Whether the volume was marked dirty when it was mounted.
    pub(crate) was_dirty: AtomicBool,
    /// Whether FSINFO on disk may not be what it is in memory.
    pub(crate) stale_fsinfo: AtomicBool,
    next_ino: AtomicU64,
}

/// Seconds from a change to its commit, if nobody asks for it earlier.
const COMMIT_DELAY: u32 = 5;

/// The same on a volume mounted with `flush`, which may be unplugged soon after a file is closed.
const FLUSH_DELAY: u32 = 1;

/// The inode number of the root directory.
pub(crate) const ROOT_INO: u64 = 1;

impl VolumeData {
    /// A volume with the given parts.
    pub(crate) fn new(
        geo: Geometry,
        options: Options,
        names: Names,
        table: Table,
    ) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            was_dirty: AtomicBool::new(geo.dirty()),
            geo,
            options,
            names,
            table <- new_mutex!(table, "rvfat table"),
            pending <- new_mutex!(Pending::new(), "rvfat pending"),
            commit <- new_mutex!((), "rvfat commit"),
            unsettled <- new_mutex!(KVVec::new(), "rvfat unsettled"),
            pending_free: AtomicU64::new(0),
            commits: AtomicU64::new(1),
            loose: AtomicUsize::new(0),
            stale_fsinfo: AtomicBool::new(false),
            next_ino: AtomicU64::new(ROOT_INO + 1),
        })
    }
}

impl Volume {
    /// Has what changed committed soon, by the worker.
    pub(crate) fn commit_later(&self) {
        self.schedule(if self.options.flush {
            FLUSH_DELAY
        } else {
            COMMIT_DELAY
        });
    }

    /// A fresh inode number.
    pub(crate) fn new_ino(&self) -> u64 {
        self.next_ino.fetch_add(1, Ordering::Relaxed)
    }

    /// The time zone of times on disk.
    pub(crate) fn tz(&self) -> TzOffset {
        self.options.tz()
    }

    /// Bytes per sector, which is the block size.
    pub(crate) fn block_bytes(&self) -> u64 {
        1 << self.geo.sector_bits()
    }

    /// `bytes` rounded up to whole blocks.
    pub(crate) fn round_up(&self, bytes: u64) -> u64 {
        let mask = self.block_bytes() - 1;
        bytes.saturating_add(mask) & !mask
    }

    /// The byte on the device where a cluster starts.
    pub(crate) fn cluster_addr(&self, cluster: Cluster) -> u64 {
        self.geo.cluster_sector(cluster).get() << self.geo.sector_bits()
    }

    /// Clusters that `bytes` bytes need.
    pub(crate) fn clusters_for(&self, bytes: u64) -> u32 {
        self.geo.clusters_for(bytes).get()
    }

    /// The cluster an entry points to. `None`: none. Corruption (out of range) is reported.
    pub(crate) fn start_of(&self, entry: &RawDirent) -> Result<Option<Cluster>> {
        match entry.start(self.geo.fat_type()) {
            0 => Ok(None),
            n => match self.geo.cluster(n) {
                Some(c) => Ok(Some(c)),
                None => Err(self.corrupt(fmt!(
                    "entry starts at cluster {n}, expected 2 to {}",
                    self.geo.max_cluster()
                ))),
            },
        }
    }

    /// Cuts a time to what a modification time can hold.
    pub(crate) fn truncate_mtime(&self, t: Timespec) -> Timespec {
        Timespec {
            secs: crate::ondisk::time::truncate_mtime(t.secs),
            nsec: 0,
        }
    }

    /// Cuts a time to what an access time can hold.
    pub(crate) fn truncate_atime(&self, t: Timespec) -> Timespec {
        Timespec {
            secs: crate::ondisk::time::truncate_atime(t.secs, self.tz()),
            nsec: 0,
        }
    }
}
