// SPDX-License-Identifier: GPL-2.0

//! Buffer heads: metadata blocks in the block device's page cache.
//!
//! C header: [`include/linux/buffer_head.h`](srctree/include/linux/buffer_head.h)

use super::bindings;
use core::ptr::NonNull;
use kernel::prelude::*;

/// An owned reference to a buffer head of the volume's device.
///
/// # Invariants
///
/// The pointer is a live buffer head on which this value owns one reference; its folio stays
/// allocated and mapped while the reference is held, `b_data` and `b_size` do not change.
#[must_use]
pub(crate) struct BufferHead(NonNull<bindings::buffer_head>);

// SAFETY: Buffer heads are shared between CPUs; every operation used here is made for that.
unsafe impl Send for BufferHead {}
// SAFETY: As above.
unsafe impl Sync for BufferHead {}

impl BufferHead {
    /// Takes over a reference.
    ///
    /// # Safety
    ///
    /// If not null, `ptr` must be a live buffer head of a block device mapping and the caller
    /// passes on one reference to it.
    pub(super) unsafe fn from_raw(ptr: *mut bindings::buffer_head) -> Option<Self> {
        // INVARIANT: The caller passes on the reference.
        NonNull::new(ptr).map(Self)
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::buffer_head {
        self.0.as_ptr()
    }

    /// The device block, in units of the volume's sector size.
    pub(crate) fn block(&self) -> u64 {
        // SAFETY: By the type invariant the buffer is live; its block never changes once mapped.
        unsafe { (*self.as_ptr()).b_blocknr }
    }

    /// Bytes in the block.
    pub(crate) fn size(&self) -> usize {
        // SAFETY: By the type invariant the buffer is live and its size fixed.
        unsafe { (*self.as_ptr()).b_size }
    }

    fn range(&self, offset: usize, len: usize) -> Option<*mut u8> {
        // The memory of a block that was neither read nor written whole is not even initialised.
        if offset.checked_add(len)? > self.size() || !self.is_valid() {
            return None;
        }
        // SAFETY: By the type invariant `b_data` points to `b_size` mapped bytes, and
        // `offset + len` is not more than that.
        Some(unsafe { (*self.as_ptr()).b_data.cast::<u8>().add(offset) })
    }

    /// Copies `N` bytes out from `offset`. `EIO` when they are not all inside the block or not
    /// valid.
    pub(crate) fn read<const N: usize>(&self, offset: usize) -> Result<[u8; N]> {
        let mut out = [0u8; N];
        self.read_into(offset, &mut out)?;
        Ok(out)
    }

    /// Copies `out.len()` bytes out from `offset`. `EIO` when they are not all inside the block or
    /// not valid.
    pub(crate) fn read_into(&self, offset: usize, out: &mut [u8]) -> Result {
        let src = self.range(offset, out.len()).ok_or(EIO)?;
        // SAFETY: `src` is valid for `out.len()` bytes (see `range`) and cannot overlap `out`,
        // since no reference to buffer memory is ever made. A concurrent writer can at worst
        // give a mix of old and new bytes, as for every user of the buffer cache.
        unsafe { core::ptr::copy_nonoverlapping(src, out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    /// Copies `bytes` in at `offset`. `EIO` when they are not all inside the block or not valid.
    /// The caller keeps the buffer until it is submitted.
    pub(crate) fn write(&self, offset: usize, bytes: &[u8]) -> Result {
        let dst = self.range(offset, bytes.len()).ok_or(EIO)?;
        // SAFETY: As in `read_into`.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), dst, bytes.len()) };
        Ok(())
    }

    /// Makes the whole block zero and valid without reading it.
    pub(crate) fn zero(&self) {
        // SAFETY: By the type invariant the buffer is live; the lock keeps a read of the block
        // from overwriting the zeros; `b_data` is valid for `b_size` bytes.
        unsafe {
            bindings::lock_buffer(self.as_ptr());
            core::ptr::write_bytes((*self.as_ptr()).b_data.cast::<u8>(), 0, self.size());
            bindings::set_buffer_uptodate(self.as_ptr());
            bindings::unlock_buffer(self.as_ptr());
        }
    }

    /// Makes what is in memory of this block a copy of `other`, without reading it.
    pub(crate) fn copy_from(&self, other: &BufferHead) {
        let len = self.size().min(other.size());
        // SAFETY: Both buffers are live by their invariants and distinct blocks or the same bytes;
        // `len` is within both. The lock of the target is only needed while it is not valid yet,
        // against a read that is under way.
        unsafe {
            let valid = bindings::buffer_uptodate(self.as_ptr());
            if !valid {
                bindings::lock_buffer(self.as_ptr());
            }
            core::ptr::copy(
                (*other.as_ptr()).b_data.cast::<u8>(),
                (*self.as_ptr()).b_data.cast::<u8>(),
                len,
            );
            if !valid {
                bindings::set_buffer_uptodate(self.as_ptr());
                bindings::unlock_buffer(self.as_ptr());
            }
        }
    }

    /// Submits the block for writing; does not wait for the write. Only then may the flusher see it
    /// as dirty: until then it is only kept in memory by the reference.
    pub(crate) fn submit_write(&self) {
        // SAFETY: By the type invariant the buffer is live; its bytes are valid: they were read,
        // zeroed or copied in, and `wait` says so again after a failed write.
        unsafe {
            bindings::mark_buffer_dirty(self.as_ptr());
            bindings::write_dirty_buffer(self.as_ptr(), bindings::REQ_SYNC);
        }
    }

    /// Waits until no I/O on the block is under way; whether it failed is for others to see.
    pub(crate) fn wait_io(&self) {
        // SAFETY: By the type invariant the buffer is live.
        unsafe { bindings::wait_on_buffer(self.as_ptr()) };
    }

    /// Waits until no I/O on the block is under way. `EIO` if the last write failed; the bytes in
    /// memory are still the right ones and have to be submitted again.
    pub(crate) fn wait(&self) -> Result {
        // SAFETY: By the type invariant the buffer is live.
        unsafe {
            bindings::wait_on_buffer(self.as_ptr());
            if bindings::buffer_write_io_error(self.as_ptr()) {
                bindings::clear_buffer_write_io_error(self.as_ptr());
                bindings::set_buffer_uptodate(self.as_ptr());
                return Err(EIO);
            }
        }
        Ok(())
    }

    /// Whether the bytes are valid. They are also after a write that failed, which the kernel takes
    /// for a reason to read the block again.
    pub(super) fn is_valid(&self) -> bool {
        // SAFETY: By the type invariant the buffer is live. A failed write left the error set and
        // then the bytes not uptodate; the error is for `wait` to see.
        unsafe {
            if bindings::buffer_uptodate(self.as_ptr()) {
                return true;
            }
            let failed = bindings::buffer_write_io_error(self.as_ptr());
            if failed {
                bindings::set_buffer_uptodate(self.as_ptr());
            }
            failed
        }
    }

    /// Writes all the blocks and waits once; returns the first error. Contiguous blocks in
    /// ascending order go out as one request.
    pub(crate) fn sync_all<'a>(buffers: impl Iterator<Item = &'a BufferHead> + Clone) -> Result {
        Plug::run(|| {
            for bh in buffers.clone() {
                bh.submit_write();
            }
        });
        let mut result = Ok(());
        for bh in buffers {
            result = result.and(bh.wait());
        }
        result
    }
}

impl Clone for BufferHead {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariant the buffer is live.
        unsafe { bindings::get_bh(self.as_ptr()) };
        // INVARIANT: The new reference is the clone's.
        Self(self.0)
    }
}

impl Drop for BufferHead {
    fn drop(&mut self) {
        // SAFETY: By the type invariant this value owns a reference.
        unsafe { bindings::__brelse(self.as_ptr()) };
    }
}

/// A block layer plug: requests submitted under it are merged before they are sent.
pub(crate) struct Plug;

impl Plug {
    /// Runs `f` under a plug.
    pub(crate) fn run<R>(f: impl FnOnce() -> R) -> R {
        let mut plug = core::mem::MaybeUninit::<bindings::blk_plug>::uninit();
        // SAFETY: `plug` lives on this stack frame until `blk_finish_plug()` below, and is not
        // moved; kernel code does not unwind.
        unsafe { bindings::blk_start_plug(plug.as_mut_ptr()) };
        let result = f();
        // SAFETY: Started above in the same task.
        unsafe { bindings::blk_finish_plug(plug.as_mut_ptr()) };
        result
    }
}
