// SPDX-License-Identifier: GPL-2.0

//! Mounting, unmounting, statfs, the dirty flag and FSINFO.

use crate::ondisk::{fsinfo, time, Geometry, ParseOptions};
use crate::vfs::{
    Disk, Inode, MountOps, NewSuper, NofsScope, ParamValue, Params, SeqFile, Statfs, SuperBlock,
    SuperOps, WriteMode,
};
use core::sync::atomic::Ordering;
use kernel::prelude::*;
use kernel::sync::aref::ARef;

use super::alloc::FreeMap;
use super::names::Names;
use super::options::{self, Nfs, Options};
use super::table::Table;
use super::volume::{Volume, VolumeData};
use super::{node, Fat};

/// `MSDOS_SUPER_MAGIC`.
const MAGIC: u32 = 0x4d44;

/// Bytes that the boot sector's checks look at.
const BOOT_BYTES: usize = 512;

/// Longest name in bytes, as statfs reports it: 255 units of up to 3 bytes in UTF-8.
const NAME_MAX: u32 = 255 * 3;

/// The dirty bit of the state byte in the boot sector (Linux and Windows).
const STATE_DIRTY: u8 = 0x01;

impl MountOps for Fat {
    type Options = Options;

    const PARAMS: Params = options::PARAMS.params();

    fn default_options(uid: u32, gid: u32, umask: u16) -> Result<KBox<Options>> {
        Ok(KBox::new(Options::new(uid, gid, umask)?, GFP_KERNEL)?)
    }

    fn parse_param(options: &mut Options, id: u8, value: ParamValue<'_>) -> Result {
        options.set(id, &value)
    }

    fn fill_super(
        new: &NewSuper<'_>,
        disk: &Disk,
        options: &Options,
    ) -> Result<impl PinInit<VolumeData, Error>> {
        let mut options = options.copy()?;
        options.finish();
        let geo = read_geometry(new, disk, &options)?;
        let (free, next) = read_fsinfo(new, disk, &geo, options.usefree)?;
        if options.nfs == Nfs::NostaleRo {
            disk.set_read_only();
        }
        new.set_limits(MAGIC, geo.max_file_size(), 1, time::range(options.tz()));
        let names = Names::new(disk.name(), &options)?;
        let table = Table::new(FreeMap::new(geo.max_cluster(), free, next)?);
        Ok(VolumeData::new(geo, options, names, table))
    }

    fn root(sb: &SuperBlock<Fat>) -> Result<ARef<Inode<Fat>>> {
        node::root(sb)
    }

    fn mounted(sb: &SuperBlock<Fat>, read_only: bool) {
        let vol = sb.volume();
        if vol.was_dirty.load(Ordering::Relaxed) {
            pr_warn!(
                "({}) volume was not properly unmounted, some data may be corrupt; run fsck\n",
                vol.disk.name()
            );
        }
        if !read_only {
            vol.mark_in_use();
        }
    }

    fn remount(sb: &SuperBlock<Fat>, read_only: bool) -> Result {
        let vol = sb.volume();
        if read_only {
            vol.settle()?;
            vol.write_fsinfo()?;
        }
        vol.set_dirty(!read_only)
    }

    fn background(sb: &SuperBlock<Fat>) {
        let vol = sb.volume();
        if vol
            .settle_inodes()
            // The FAT blocks of freed clusters, too: there may be no other commit for long.
            .and_then(|()| vol.settle())
            .is_err()
        {
            vol.warn(fmt!("not all changes could be written"));
        }
    }

    fn ignores_case(sb: &SuperBlock<Fat>) -> bool {
        sb.volume().names.ignores_case()
    }
}

/// Reads and checks the boot sector and sets the block size.
fn read_geometry(new: &NewSuper<'_>, disk: &Disk, options: &Options) -> Result<Geometry> {
    new.min_block_size(BOOT_BYTES as u32).ok_or(EINVAL)?;
    let boot = disk.bread(0)?.read::<BOOT_BYTES>(0)?;
    let parse = ParseOptions {
        dos1x: options.dos1x,
    };
    let geo = Geometry::parse(&boot, disk.bytes(), parse).map_err(|e| {
        if !new.is_silent() {
            pr_err!("({}) {e}\n", disk.name());
        }
        EINVAL
    })?;
    if geo.sector_bytes() < disk.logical_block_bytes() || !new.set_block_size(geo.sector_bytes()) {
        if !new.is_silent() {
            pr_err!(
                "({}) sectors of {} bytes do not fit the device, whose blocks have {}\n",
                disk.name(),
                geo.sector_bytes(),
                disk.logical_block_bytes()
            );
        }
        return Err(EINVAL);
    }
    Ok(geo)
}

/// What FSINFO says about free clusters, where it can be believed: the volume was unmounted
/// cleanly, or the option `usefree` says so.
fn read_fsinfo(
    new: &NewSuper<'_>,
    disk: &Disk,
    geo: &Geometry,
    usefree: bool,
) -> Result<(Option<u32>, Option<u32>)> {
    let Some(sector) = geo.fsinfo_sector() else {
        return Ok((None, None));
    };
    let raw = disk.bread(sector.get())?.read::<512>(0)?;
    match fsinfo::parse(&raw) {
        Ok(info) => {
            let free = info
                .free
                .filter(|&n| n <= geo.clusters() && (usefree || !geo.dirty()));
            let next = info.next.filter(|&n| n <= geo.max_cluster());
            Ok((free, next))
        }
        Err(e) => {
            if !new.is_silent() {
                pr_warn!("({}) {e}\n", disk.name());
            }
            Ok((None, None))
        }
    }
}

impl SuperOps for Fat {
    fn write_inode(inode: &Inode<Fat>, mode: WriteMode) -> Result {
        let moving = mode != WriteMode::Integrity && inode.is_reg() && inode.has_data_in_flight();
        if moving && inode.volume().settle_later(inode) {
            return Ok(());
        }
        node::write(inode)?;
        match mode {
            // The worker or `sync_fs` commits.
            WriteMode::Background | WriteMode::ForSync => Ok(()),
            // Who wants it durable flushes the device's cache.
            WriteMode::Integrity => inode.volume().commit(false),
        }
    }

    fn evict_inode(inode: &Inode<Fat>) {
        node::evict(inode);
    }

    fn sync_fs(sb: &SuperBlock<Fat>, wait: bool) -> Result {
        if !wait {
            return Ok(());
        }
        let vol = sb.volume();
        vol.settle_inodes()?;
        vol.settle()?;
        if vol.disk.is_read_only() {
            return Ok(());
        }
        vol.write_fsinfo()
    }

    fn freeze_fs(sb: &SuperBlock<Fat>) -> Result {
        Self::sync_fs(sb, true)?;
        // What is copied now is as good as a volume that was unmounted.
        sb.volume().set_dirty(false)
    }

    fn unfreeze_fs(sb: &SuperBlock<Fat>) {
        sb.volume().mark_in_use();
    }

    fn put_super(sb: &SuperBlock<Fat>) {
        let vol = sb.volume();
        // A volume that became read-only by an error may have changes to be written, too.
        let mut done = vol.settle_inodes().and(vol.settle());
        if !vol.disk.is_read_only() {
            done = done
                .and_then(|()| vol.write_fsinfo())
                .and_then(|()| vol.set_dirty(false));
        }
        if done.is_err() {
            pr_err!(
                "({}) unmounting: not all could be written\n",
                vol.disk.name()
            );
        }
    }

    fn statfs(sb: &SuperBlock<Fat>) -> Result<Statfs> {
        let vol = sb.volume();
        let free = {
            let _nofs = NofsScope::new();
            let mut table = vol.table.lock();
            u64::from(table.free.count(vol)?) + vol.pending_free.load(Ordering::Relaxed)
        };
        Ok(Statfs {
            magic: u64::from(MAGIC),
            block_size: vol.geo.cluster_bytes(),
            blocks: u64::from(vol.geo.clusters()),
            // Where chains share clusters, what waits to be freed counts them more than once.
            free: free.min(vol.geo.clusters().into()),
            name_max: NAME_MAX,
            fsid: u64::from(vol.disk.number()),
        })
    }

    fn show_options(sb: &SuperBlock<Fat>, out: &mut SeqFile<'_>) -> Result {
        let vol = sb.volume();
        let charsets = (vol.names.disk.name(), vol.names.io.name());
        vol.options.show(charsets, out).map_err(|_| EIO)
    }
}

impl Volume {
    /// Puts off a file's attributes: during `sync` to `sync_fs`, by when all data has been waited
    /// for at once, otherwise to the worker. Whether it did.
    pub(crate) fn settle_later(&self, inode: &Inode<Fat>) -> bool {
        let _nofs = NofsScope::new();
        let queued = {
            let mut list = self.unsettled.lock();
            // Room first: a reference that finds none would be dropped here. The last one waits for
            // the writeback of the inode, and this may be it.
            list.reserve(1, GFP_KERNEL).is_ok()
                && inode
                    .grab()
                    .is_some_and(|inode| list.push_within_capacity(inode).is_ok())
        };
        self.commit_later();
        queued
    }

    /// Writes the attributes of the inodes that were put off. Returns the first error.
    fn settle_inodes(&self) -> Result {
        let inodes = core::mem::replace(&mut *self.unsettled.lock(), KVVec::new());
        let mut result = Ok(());
        for inode in inodes {
            let written = node::write(&inode);
            if written.is_err() {
                inode.mark_dirty();
            }
            result = result.and(written);
        }
        result
    }

    /// Sets the dirty bit; that it can't be is no reason not to use the volume.
    fn mark_in_use(&self) {
        if self.set_dirty(true).is_err() {
            self.warn(fmt!("the volume could not be marked as in use"));
        }
    }

    /// Sets or clears the dirty bit in the boot sector. A volume that was dirty when it was
    /// mounted stays so: only fsck can tell that it is whole.
    fn set_dirty(&self, dirty: bool) -> Result {
        let Some(offset) = self.geo.state_offset() else {
            return Ok(());
        };
        if self.was_dirty.load(Ordering::Relaxed) {
            return Ok(());
        }
        let bh = self.disk.bread(0)?;
        let [state] = bh.read::<1>(offset)?;
        let new = if dirty {
            state | STATE_DIRTY
        } else {
            state & !STATE_DIRTY
        };
        bh.write(offset, &[new])?;
        crate::vfs::BufferHead::sync_all(core::iter::once(&bh))?;
        self.disk.flush()
    }

    /// Writes the free count and the hint to FSINFO, if they changed.
    fn write_fsinfo(&self) -> Result {
        let Some(sector) = self.geo.fsinfo_sector() else {
            return Ok(());
        };
        let (free, next) = {
            let _nofs = NofsScope::new();
            let mut table = self.table.lock();
            if table.seq == 0 {
                return Ok(());
            }
            // Where the FAT can't be read, nobody knows: FSINFO has a value for that.
            (table.free.count(self).ok(), table.free.next())
        };
        let bh = self.disk.bread(sector.get())?;
        let old = bh.read::<512>(0)?;
        if fsinfo::parse(&old).is_err() {
            return Ok(());
        }
        let mut new = old;
        fsinfo::encode_into(&mut new, free, Some(next));
        // What is in memory may be what could not be written before.
        if new == old && !self.stale_fsinfo.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.stale_fsinfo.store(true, Ordering::Relaxed);
        bh.write(0, &new)?;
        crate::vfs::BufferHead::sync_all(core::iter::once(&bh))?;
        self.stale_fsinfo.store(false, Ordering::Relaxed);
        Ok(())
    }
}
