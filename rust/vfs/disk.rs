// SPDX-License-Identifier: GPL-2.0

//! The block device of a volume.
//!
//! C headers: [`include/linux/blkdev.h`](srctree/include/linux/blkdev.h),
//! [`include/linux/buffer_head.h`](srctree/include/linux/buffer_head.h)

use super::bindings;
use super::BufferHead;
use core::ptr::NonNull;
use kernel::{error::from_err_ptr, error::to_result, prelude::*};

/// The device under a superblock, addressed in blocks of the superblock's block size.
///
/// # Invariants
///
/// The superblock is alive and its device open whenever a method is called. A `Disk` is a part of
/// [`super::Mounted`], which is dropped before the superblock is, and which only operations on the
/// superblock can reach; or it lives on the stack of `fill_super`. The file system sees references.
pub(crate) struct Disk(NonNull<bindings::super_block>);

// SAFETY: The operations below are safe from any task; the superblock outlives the value.
unsafe impl Send for Disk {}
// SAFETY: As above.
unsafe impl Sync for Disk {}

impl Disk {
    /// # Safety
    ///
    /// No method may be called when the superblock `sb` is gone or its device closed.
    pub(super) unsafe fn new(sb: NonNull<bindings::super_block>) -> Self {
        // INVARIANT: Promised by the caller.
        Self(sb)
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::super_block {
        self.0.as_ptr()
    }

    pub(super) fn bdev(&self) -> *mut bindings::block_device {
        // SAFETY: By the type invariant the superblock is alive; `s_bdev` does not change.
        unsafe { (*self.as_ptr()).s_bdev }
    }

    /// The name for log messages, for example `vda1`.
    pub(crate) fn name(&self) -> &str {
        // SAFETY: By the type invariant the superblock is alive; `s_id` is NUL-terminated and is
        // not changed while mounted.
        let id = unsafe { CStr::from_char_ptr((*self.as_ptr()).s_id.as_ptr()) };
        id.to_str().unwrap_or("?")
    }

    /// Size of the device in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        // SAFETY: By the type invariant the device is open.
        unsafe { bindings::bdev_nr_bytes(self.bdev()) }
            .try_into()
            .unwrap_or(0)
    }

    /// Bytes of the smallest block the device can write.
    pub(crate) fn logical_block_bytes(&self) -> u32 {
        // SAFETY: By the type invariant the device is open.
        unsafe { bindings::bdev_logical_block_size(self.bdev()) }
    }

    /// The device number in the encoding of `huge_encode_dev()`, for `f_fsid`.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: By the type invariant the superblock is alive.
        unsafe { bindings::sb_device_number(self.as_ptr()) }
    }

    /// log2 of the block size.
    pub(crate) fn block_bits(&self) -> u32 {
        // SAFETY: By the type invariant the superblock is alive.
        u32::from(unsafe { (*self.as_ptr()).s_blocksize_bits })
    }

    /// Whether the volume is mounted read-only now.
    pub(crate) fn is_read_only(&self) -> bool {
        // SAFETY: By the type invariant the superblock is alive.
        unsafe { bindings::sb_rdonly(self.as_ptr()) }
    }

    /// Makes the volume read-only, for `errors=remount-ro`.
    pub(crate) fn set_read_only(&self) {
        // SAFETY: By the type invariant the superblock is alive. Setting the flag without
        // `s_umount` is what file systems do on errors.
        unsafe { bindings::set_sb_rdonly(self.as_ptr()) };
    }

    /// Whether the whole volume is mounted `sync`.
    pub(crate) fn is_sync(&self) -> bool {
        // SAFETY: By the type invariant the superblock is alive.
        unsafe { (*self.as_ptr()).s_flags & bindings::SB_SYNCHRONOUS != 0 }
    }

    /// Reads a block. `EIO` when it can't be read or lies outside the device.
    pub(crate) fn bread(&self, block: u64) -> Result<BufferHead> {
        if let Some(bh) = self.cached(block) {
            return Ok(bh);
        }
        // SAFETY: By the type invariant the superblock is alive; the result carries a reference.
        unsafe { BufferHead::from_raw(bindings::sb_bread(self.as_ptr(), block)) }.ok_or(EIO)
    }

    /// A block, if it is in memory and valid.
    pub(crate) fn cached(&self, block: u64) -> Option<BufferHead> {
        // SAFETY: By the type invariant the superblock is alive; the result carries a reference.
        let bh = unsafe { BufferHead::from_raw(bindings::sb_find_get_block(self.as_ptr(), block)) };
        bh.filter(BufferHead::is_valid)
    }

    /// Whether a block is in memory and valid.
    pub(crate) fn is_cached(&self, block: u64) -> bool {
        self.cached(block).is_some()
    }

    /// Gets a block that will be overwritten whole, without reading it. `EIO` when it lies
    /// outside the device.
    pub(crate) fn getblk(&self, block: u64) -> Result<BufferHead> {
        // SAFETY: By the type invariant the superblock is alive; the result carries a reference.
        unsafe { BufferHead::from_raw(bindings::sb_getblk(self.as_ptr(), block)) }.ok_or(EIO)
    }

    /// Starts reading `blocks` blocks from `block` on into the page cache, in large requests.
    /// What is cached is not read. Only a hint: errors show up when the blocks are used.
    pub(crate) fn read_ahead(&self, block: u64, blocks: u64) {
        if blocks == 0 {
            return;
        }
        let to_page = bindings::PAGE_SHIFT.saturating_sub(self.block_bits());
        let device_pages = self.bytes() >> bindings::PAGE_SHIFT;
        let first = block >> to_page;
        let last =
            (block.saturating_add(blocks - 1) >> to_page).min(device_pages.saturating_sub(1));
        if first > last {
            return;
        }
        // SAFETY: By the type invariant the device is open; the range is inside it. The lock keeps
        // who drops the device's page cache away, as `page_cache_ra_unbounded` wants it.
        unsafe {
            let mapping = bindings::sb_device_mapping(self.as_ptr());
            bindings::filemap_invalidate_lock_shared(mapping);
            bindings::read_ahead(mapping, first as usize, (last - first + 1) as usize);
            bindings::filemap_invalidate_unlock_shared(mapping);
        }
    }

    /// A cursor for reading many small pieces of the device in ascending order.
    pub(crate) fn cursor(&self) -> DeviceCursor<'_> {
        DeviceCursor {
            disk: self,
            folio: None,
        }
    }

    /// Whether the device has a volatile write cache.
    fn has_write_cache(&self) -> bool {
        // SAFETY: By the type invariant the device is open.
        unsafe { bindings::bdev_write_cache(self.bdev()) }
    }

    /// Makes the device's write cache durable. Costs nothing on a write-through device.
    pub(crate) fn flush(&self) -> Result {
        if !self.has_write_cache() {
            return Ok(());
        }
        // SAFETY: By the type invariant the device is open.
        to_result(unsafe { bindings::blkdev_issue_flush(self.bdev()) })
    }

    /// Writes zeros over `blocks` blocks and waits, by the device's write-zeroes where it has it.
    pub(crate) fn zero_out(&self, block: u64, blocks: u64) -> Result {
        let shift = self.block_bits().saturating_sub(bindings::SECTOR_SHIFT);
        // SAFETY: By the type invariant the device is open; the block layer checks the range.
        to_result(unsafe {
            bindings::blkdev_issue_zeroout(
                self.bdev(),
                block << shift,
                blocks << shift,
                bindings::GFP_NOFS,
                0,
            )
        })
    }

    /// Tells the device that `blocks` blocks are not in use. `EOPNOTSUPP` when it can't be told.
    pub(crate) fn discard(&self, block: u64, blocks: u64) -> Result {
        let shift = self.block_bits().saturating_sub(bindings::SECTOR_SHIFT);
        // SAFETY: As in `zero_out`.
        to_result(unsafe {
            bindings::blkdev_issue_discard(
                self.bdev(),
                block << shift,
                blocks << shift,
                bindings::GFP_NOFS,
            )
        })
    }

    /// Granularity of [`discard`](Self::discard) in bytes; `None` when the device has no discard.
    pub(crate) fn discard_granularity(&self) -> Option<u32> {
        // SAFETY: By the type invariant the device is open.
        unsafe {
            (bindings::bdev_max_discard_sectors(self.bdev()) != 0)
                .then(|| bindings::bdev_discard_granularity(self.bdev()))
        }
    }
}

/// Reads bytes of the device through its page cache, keeping the last folio.
pub(crate) struct DeviceCursor<'a> {
    disk: &'a Disk,
    folio: Option<Folio>,
}

impl DeviceCursor<'_> {
    /// Copies the bytes at `offset` (in bytes) of the device into `out`.
    pub(crate) fn read(&mut self, offset: u64, out: &mut [u8]) -> Result {
        let mut done = 0;
        while done < out.len() {
            let rest = out.get_mut(done..).ok_or(EIO)?;
            done += self.read_some(offset.checked_add(done as u64).ok_or(EIO)?, rest)?;
        }
        Ok(())
    }

    fn read_some(&mut self, offset: u64, out: &mut [u8]) -> Result<usize> {
        let hit = self.folio.as_ref().and_then(|f| f.copy_out(offset, out));
        if let Some(n) = hit {
            return Ok(n);
        }
        if offset >= self.disk.bytes() {
            return Err(EIO);
        }
        let folio = Folio::read(self.disk, offset >> bindings::PAGE_SHIFT)?;
        let n = folio.copy_out(offset, out).ok_or(EIO)?;
        self.folio = Some(folio);
        Ok(n)
    }
}

/// A reference to an uptodate folio of the device's page cache.
///
/// # Invariants
///
/// The pointer is a folio on which this value owns one reference.
struct Folio(NonNull<bindings::folio>);

impl Folio {
    fn read(disk: &Disk, index: u64) -> Result<Self> {
        // SAFETY: The device is open (`Disk`'s invariant); the result is an error pointer or a
        // folio with a reference.
        let folio = from_err_ptr(unsafe {
            bindings::read_mapping_folio(bindings::sb_device_mapping(disk.as_ptr()), index as usize)
        })?;
        // INVARIANT: The reference is now owned by the value.
        NonNull::new(folio).map(Self).ok_or(EIO)
    }

    /// Copies what of `offset..` lies in the folio; `None` when `offset` does not.
    fn copy_out(&self, offset: u64, out: &mut [u8]) -> Option<usize> {
        // SAFETY: By the type invariant the folio is referenced; its position and size do not
        // change while it is in the mapping, and a folio that was dropped from it keeps its bytes.
        let (pos, size) = unsafe {
            (
                bindings::folio_pos(self.0.as_ptr()) as u64,
                bindings::folio_size(self.0.as_ptr()),
            )
        };
        let start = usize::try_from(offset.checked_sub(pos)?).ok()?;
        let n = size.checked_sub(start)?.min(out.len());
        if n == 0 && !out.is_empty() {
            return None;
        }
        // SAFETY: `start + n` is within the folio and `n` within `out`.
        unsafe { bindings::memcpy_from_folio(out.as_mut_ptr().cast(), self.0.as_ptr(), start, n) };
        Some(n)
    }
}

impl Drop for Folio {
    fn drop(&mut self) {
        // SAFETY: By the type invariant this value owns a reference.
        unsafe { bindings::folio_put(self.0.as_ptr()) };
    }
}
