// SPDX-License-Identifier: GPL-2.0

//! Inodes: filled from a directory entry, written back to it, evicted.

use crate::ondisk::{attr, Attrs, Cluster, DirPos, DosStamp, RawDirent};
use crate::vfs::{FoundInode, Inode, NewInode, NofsScope, SuperBlock, Timespec};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::sync::{new_mutex, Mutex};

use super::chain::Chain;
use super::dir::Location;
use super::index::DirIndex;
use super::unwritten::Unwritten;
use super::volume::{Volume, ROOT_INO};
use super::Fat;

/// The file system's part of an inode.
#[pin_data]
pub(crate) struct Node {
    /// The directory entry. See the lock order in [`super`].
    #[pin]
    pub(crate) entry: Mutex<Entry>,
    /// The index of a directory's entries, once it was needed.
    #[pin]
    pub(crate) index: Mutex<Option<DirIndex>>,
    /// The data.
    #[pin]
    pub(crate) chain: Mutex<Chain>,
    /// What of the space holds no data.
    #[pin]
    pub(crate) unwritten: Mutex<Unwritten>,
    /// Whether the link count of a directory lacks what could not be read.
    pub(crate) uncounted: AtomicBool,
    /// The clusters that a directory had before the last entry was added, if it got longer for it;
    /// else 0. The inode lock protects it.
    pub(crate) grown_from: AtomicU32,
    /// Counts changes of what ranges of the file are, after each; read before looking.
    pub(crate) layout: AtomicU64,
}

/// What belongs to the directory entry.
pub(crate) struct Entry {
    /// Where it is; `None` for the root and for what was removed.
    pub(crate) loc: Option<Location>,
    /// Attributes that mode bits don't show.
    pub(crate) attrs: Attrs,
    /// Time of creation.
    pub(crate) created: DosStamp,
}

/// The key of the root directory in the inode hash; no entry has it.
const ROOT_KEY: u64 = 0;

/// Set in the key of an inode that was removed, together with its number.
const DEAD: u64 = 1 << 63;

impl Node {
    /// An empty node.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            entry <- new_mutex!(
                Entry {
                    loc: None,
                    attrs: Attrs::EMPTY,
                    created: DosStamp::default(),
                },
                "rvfat entry"
            ),
            index <- new_mutex!(None, "rvfat index"),
            chain <- new_mutex!(Chain::new(None, 0), "rvfat chain"),
            unwritten <- new_mutex!(Unwritten::new(), "rvfat unwritten"),
            uncounted: AtomicBool::new(false),
            grown_from: AtomicU32::new(0),
            layout: AtomicU64::new(0),
        })
    }
}

/// Converts a time on disk.
pub(crate) fn to_timespec(vol: &Volume, stamp: DosStamp) -> Timespec {
    let (secs, nsec) =
        crate::ondisk::time::unix_from_dos(stamp.time, stamp.date, stamp.cs, vol.tz());
    Timespec { secs, nsec }
}

/// Converts a time for the disk.
pub(crate) fn to_stamp(vol: &Volume, t: Timespec) -> DosStamp {
    crate::ondisk::time::dos_from_unix(t.secs, t.nsec, vol.tz())
}

/// Whether the inode is the root directory.
pub(crate) fn is_root(inode: &Inode<Fat>) -> bool {
    inode.ino() == ROOT_INO
}

/// Forgets the inode's directory entry: it was removed.
pub(crate) fn detach(inode: &Inode<Fat>) {
    inode.node().entry.lock().loc = None;
    inode.rehash(DEAD | inode.ino());
}

/// Gives the inode a directory entry at another place.
pub(crate) fn attach(inode: &Inode<Fat>, loc: Location) {
    inode.node().entry.lock().loc = Some(loc);
    inode.rehash(loc.pos.get());
}

/// Sets modification and change time to `now`, or what of it the entry can hold. The root has no
/// entry: its times stay.
pub(crate) fn set_mtime(inode: &Inode<Fat>, now: Timespec) {
    if !is_root(inode) {
        let t = inode.volume().truncate_mtime(now);
        inode.set_mtime(t);
        inode.set_ctime(t);
    }
}

/// Sets the access time to `now`, or what of it the entry can hold.
pub(crate) fn set_atime(inode: &Inode<Fat>, now: Timespec) {
    if !is_root(inode) {
        inode.set_atime(inode.volume().truncate_atime(now));
    }
}

/// Notes that the file was changed since it was last archived.
pub(crate) fn set_archive(inode: &Inode<Fat>) {
    let mut entry = inode.node().entry.lock();
    entry.attrs = entry.attrs.union(Attrs::ARCHIVE);
}

/// The inode in memory whose entry is at `pos`.
pub(crate) fn find_cached(sb: &SuperBlock<Fat>, pos: DirPos) -> Option<ARef<Inode<Fat>>> {
    sb.ilookup(pos.get())
}

/// The inode of a directory entry.
pub(crate) fn get(
    sb: &SuperBlock<Fat>,
    entry: &RawDirent,
    loc: Location,
) -> Result<ARef<Inode<Fat>>> {
    match sb.iget(loc.pos.get())? {
        FoundInode::Cached(inode) => Ok(inode),
        FoundInode::New(new) => {
            fill(&new, entry, loc)?;
            Ok(new.finish())
        }
    }
}

/// The inode of the root directory.
pub(crate) fn root(sb: &SuperBlock<Fat>) -> Result<ARef<Inode<Fat>>> {
    let new = match sb.iget(ROOT_KEY)? {
        FoundInode::Cached(inode) => return Ok(inode),
        FoundInode::New(new) => new,
    };
    let vol = sb.volume();
    new.set_ino(ROOT_INO);
    new.set_owner(vol.options.uid, vol.options.gid);
    new.set_generation(0);
    new.inc_version();
    new.set_mode(attr::make_mode(
        Attrs::DIRECTORY,
        b"   ",
        &vol.options.modes(),
    ));
    new.set_dir_ops();
    *new.node().chain.lock() = Chain::new(vol.geo.root_cluster(), max_clusters(vol, true));
    let epoch = Timespec { secs: 0, nsec: 0 };
    new.set_mtime(epoch);
    new.set_atime(epoch);
    new.set_ctime(epoch);
    set_dir_size(&new)?;
    count_links(&new)?;
    Ok(new.finish())
}

/// Sets the link count of a directory by its entries. Where some can't be read, it is counted again
/// when somebody asks for it.
fn count_links(dir: &Inode<Fat>) -> Result {
    let (subdirs, all) = super::dir::count_subdirs(dir)?;
    // The root has no "." and "..", and a broken directory may lack them; the VFS wants at least
    // their two links.
    dir.set_nlink(if is_root(dir) {
        subdirs.saturating_add(2)
    } else {
        subdirs.max(2)
    });
    dir.node().uncounted.store(!all, Ordering::Relaxed);
    Ok(())
}

/// The link count, with what could not be read before.
pub(crate) fn links(inode: &Inode<Fat>) -> u32 {
    if inode.node().uncounted.load(Ordering::Relaxed) {
        let _entries = inode.lock_shared();
        // If it fails again, it stays as it was.
        let _ = count_links(inode);
    }
    inode.nlink()
}

/// Sets size and blocks of a directory by its chain.
fn set_dir_size(inode: &Inode<Fat>) -> Result {
    let vol = inode.volume();
    let bytes = if is_root(inode) && vol.geo.root_cluster().is_none() {
        u64::from(vol.geo.root_entries()) * 32
    } else {
        let _nofs = NofsScope::new();
        let clusters = inode.node().chain.lock().len(vol)?;
        u64::from(clusters) << vol.geo.cluster_bits()
    };
    inode.set_size(bytes);
    set_blocks_for(inode, bytes);
    Ok(())
}

/// Sets `st_blocks` to what `bytes` bytes take up.
fn set_blocks_for(inode: &Inode<Fat>, bytes: u64) {
    let clusters = u64::from(inode.volume().clusters_for(bytes));
    inode.set_blocks(clusters << (inode.volume().geo.cluster_bits() - 9));
}

/// Sets `st_blocks` to `clusters` clusters.
pub(crate) fn set_blocks(inode: &Inode<Fat>, clusters: u32) {
    inode.set_blocks(u64::from(clusters) << (inode.volume().geo.cluster_bits() - 9));
}

/// Most clusters that a file or a directory can have.
fn max_clusters(vol: &Volume, is_dir: bool) -> u32 {
    let bytes = if is_dir {
        super::dir::MAX_DIR_BYTES
    } else {
        vol.geo.max_file_size()
    };
    vol.clusters_for(bytes).min(vol.geo.clusters())
}

fn fill(new: &NewInode<Fat>, entry: &RawDirent, loc: Location) -> Result {
    let vol = new.volume();
    let modes = vol.options.modes();
    let attrs = entry.attrs();
    let is_dir = attrs.contains(Attrs::DIRECTORY);
    new.set_ino(vol.new_ino());
    new.set_owner(vol.options.uid, vol.options.gid);
    new.inc_version();
    new.set_generation(crate::vfs::random_u32() | 1);
    let start = vol.start_of(entry)?;
    let mode = attr::make_mode(attrs, &entry.name().extension(), &modes);
    new.set_mode(mode);
    if start.is_some_and(|start| vol.is_loose(start)) {
        vol.commit(false)?;
    }
    *new.node().chain.lock() = Chain::new(start, max_clusters(vol, is_dir));
    {
        let mut e = new.node().entry.lock();
        e.loc = Some(loc);
        e.attrs = attr::saved_attrs(attrs, is_dir, &modes);
        e.created = entry.created();
    }
    let mtime = to_timespec(vol, entry.modified());
    new.set_mtime(mtime);
    new.set_ctime(mtime);
    let accessed = DosStamp {
        date: entry.adate(),
        ..DosStamp::default()
    };
    new.set_atime(to_timespec(vol, accessed));
    if is_dir {
        new.set_dir_ops();
        if start.is_none() {
            return Err(vol.corrupt(fmt!(
                "directory starts at cluster 0, expected 2 to {}",
                vol.geo.max_cluster()
            )));
        }
        set_dir_size(new)?;
        count_links(new)?;
    } else {
        new.set_size(u64::from(entry.size()));
        set_blocks_for(new, u64::from(entry.size()));
        new.set_file_ops();
        new.set_nlink(1);
        if attrs.contains(Attrs::SYSTEM) && vol.options.sys_immutable {
            new.set_immutable(true);
        }
    }
    Ok(())
}

/// Puts the inode's attributes into its entry, in memory. Of the data, the entry claims at most
/// `size` bytes, and none that are not on disk.
fn update_entry(inode: &Inode<Fat>, size: u64) -> Result {
    let _nofs = NofsScope::new();
    let entry = inode.node().entry.lock();
    let Some(loc) = entry.loc else {
        return Ok(());
    };
    // Whoever makes the file shorter changes size and chain first and then takes the entry's lock:
    // what is seen here is never more than there is.
    let size = size.min(inode.size());
    let (start, after) = claim(inode);
    let arrived = inode.node().unwritten.lock().first();
    if arrived.is_some_and(|end| end < size) {
        // The file was changed meanwhile; what is missing follows when it has been written.
        inode.mark_dirty();
    }
    let size = size.min(arrived.unwrap_or(size));
    write_entry(inode, &entry, &loc, (start, size), after)
}

/// Makes sure that the entry claims no more than what is left of an inode that became shorter:
/// `keep` clusters.
pub(crate) fn shrink_entry(inode: &Inode<Fat>, keep: u32) -> Result {
    let vol = inode.volume();
    let _nofs = NofsScope::new();
    let entry = inode.node().entry.lock();
    let Some(loc) = entry.loc else {
        return Ok(());
    };
    let old = super::dir::read(inode, &loc)?;
    let limit = u64::from(keep) << vol.geo.cluster_bits();
    let size = u64::from(old.size()).min(inode.size()).min(limit);
    let (start, after) = claim(inode);
    // An entry that claims nothing yet still does not.
    let start = start.filter(|_| old.start(vol.geo.fat_type()) != 0);
    write_entry(inode, &entry, &loc, (start, size), after)
}

/// Whether the block of the inode's entry is in memory, as it is while it has changes.
pub(crate) fn has_entry_in_memory(inode: &Inode<Fat>) -> bool {
    let vol = inode.volume();
    let loc = inode.node().entry.lock().loc;
    loc.is_some_and(|loc| {
        let sector = loc.pos.sector(vol.geo.sector_bits());
        vol.disk.is_cached(sector.get())
    })
}

/// The chain's start and the FAT change it depends on.
fn claim(inode: &Inode<Fat>) -> (Option<Cluster>, u64) {
    let chain = inode.node().chain.lock();
    (chain.start(), chain.seq)
}

fn write_entry(
    inode: &Inode<Fat>,
    entry: &Entry,
    loc: &Location,
    (start, size): (Option<Cluster>, u64),
    after: u64,
) -> Result {
    let vol = inode.volume();
    let attrs = attr::make_attrs(entry.attrs, inode.mode(), &vol.options.modes());
    let size = if inode.is_dir() { 0 } else { size };
    super::dir::rewrite(inode, loc, after, |raw| {
        raw.set_attrs(attrs);
        raw.set_start(start);
        raw.set_size(u32::try_from(size).unwrap_or(u32::MAX));
        raw.set_modified(to_stamp(vol, inode.mtime()));
        raw.set_accessed(to_stamp(vol, inode.atime()).date);
        raw.set_created(entry.created);
    })
}

/// `write_inode`.
///
/// A size is only put into the entry when all it covers is on disk: data that is still on its way
/// is waited for.
pub(crate) fn write(inode: &Inode<Fat>) -> Result {
    if is_root(inode) || inode.node().entry.lock().loc.is_none() {
        return Ok(());
    }
    let size = inode.size();
    if inode.is_reg() {
        if inode.has_data_in_flight() {
            inode.write_and_wait(0, size)?;
        }
        super::expand::fill_range(inode, 0, size)?;
    }
    update_entry(inode, size)
}

/// `evict_inode`: frees the clusters of what has no name, and those beyond the size of the rest.
pub(crate) fn evict(inode: &Inode<Fat>) {
    let vol = inode.volume();
    let _nofs = NofsScope::new();
    let result = if inode.nlink() == 0 {
        super::expand::release(inode, 0)
    } else if inode.is_reg() {
        super::expand::release_beyond_size(inode)
    } else {
        Ok(())
    };
    if result.is_err() {
        vol.warn(fmt!("clusters of a file could not be freed"));
    }
}
