// SPDX-License-Identifier: GPL-2.0

//! What system calls do with file data: reading, writing, zeroing, looking for holes.
//!
//! C header: [`include/linux/iomap.h`](srctree/include/linux/iomap.h)

use super::bindings;
use super::iomap::{DataOps, DataTable};
use super::{File, FileSystem, Inode, IoVec, Kiocb};
use core::marker::PhantomData;
use kernel::error::to_result;
use kernel::prelude::*;

/// Holds the mapping's invalidate lock: no page fault brings in or dirties a page meanwhile.
#[must_use]
pub(crate) struct InvalidateGuard<'a, T: FileSystem>(&'a Inode<T>, PhantomData<*mut ()>);

impl<T: FileSystem> Drop for InvalidateGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: Taken by `invalidate_lock` in this task.
        unsafe { bindings::filemap_invalidate_unlock(self.0.mapping()) };
    }
}

impl<T: FileSystem> Inode<T> {
    /// Takes the invalidate lock exclusively. The caller holds the inode lock.
    pub(crate) fn invalidate_lock(&self) -> InvalidateGuard<'_, T> {
        // SAFETY: The inode and its mapping are alive.
        unsafe { bindings::filemap_invalidate_lock(self.mapping()) };
        InvalidateGuard(self, PhantomData)
    }
}

impl<T: DataOps> Inode<T> {
    /// Writes zeros through the page cache over `len` bytes at `pos`, where there is data.
    pub(crate) fn zero_range(&self, pos: u64, len: u64) -> Result {
        if len == 0 {
            return Ok(());
        }
        let (pos, len) = (
            i64::try_from(pos).map_err(|_| EFBIG)?,
            i64::try_from(len).map_err(|_| EFBIG)?,
        );
        // SAFETY: The inode is alive and locked by the caller.
        to_result(unsafe {
            bindings::iomap_zero_range(
                self.as_ptr(),
                pos,
                len,
                core::ptr::null_mut(),
                &DataTable::<T>::IOMAP,
                &DataTable::<T>::WRITE,
                core::ptr::null_mut(),
            )
        })
    }

    /// Reports the layout.
    pub(super) fn fiemap(
        &self,
        info: *mut bindings::fiemap_extent_info,
        start: u64,
        len: u64,
    ) -> Result {
        let _shared = self.lock_shared();
        // SAFETY: The inode is alive; `info` was passed by the VFS.
        to_result(unsafe {
            bindings::iomap_fiemap(self.as_ptr(), info, start, len, &DataTable::<T>::IOMAP)
        })
    }
}

impl<T: DataOps> Kiocb<'_, T> {
    /// Copies `from` into the page cache at the current position. The caller holds the inode lock.
    pub(crate) fn buffered_write(&self, from: &IoVec<'_>) -> Result<usize> {
        // SAFETY: Control block and iterator are live and private to the call.
        let n = unsafe {
            bindings::iomap_file_buffered_write(
                self.as_ptr(),
                from.as_ptr(),
                &DataTable::<T>::IOMAP,
                &DataTable::<T>::WRITE,
                core::ptr::null_mut(),
            )
        };
        count(n)
    }

    /// Writes past the page cache. The caller holds the inode lock. `ENOTBLK` when the page cache
    /// could not be kept out of the way and the write has to go through it.
    pub(crate) fn direct_write(&self, from: &IoVec<'_>, wait: bool) -> Result<usize> {
        let flags = if wait {
            bindings::IOMAP_DIO_FORCE_WAIT
        } else {
            0
        };
        // SAFETY: As in `buffered_write`.
        let n = unsafe {
            bindings::iomap_dio_rw(
                self.as_ptr(),
                from.as_ptr(),
                &DataTable::<T>::IOMAP,
                &DataTable::<T>::DIRECT_WRITE,
                flags,
                core::ptr::null_mut(),
                0,
            )
        };
        count(n)
    }

    /// Reads past the page cache. The caller holds the inode lock shared.
    pub(crate) fn direct_read(&self, to: &IoVec<'_>) -> Result<usize> {
        // SAFETY: As in `buffered_write`.
        let n = unsafe {
            bindings::iomap_dio_rw(
                self.as_ptr(),
                to.as_ptr(),
                &DataTable::<T>::IOMAP,
                core::ptr::null(),
                0,
                core::ptr::null_mut(),
                0,
            )
        };
        count(n)
    }
}

/// A non-negative count or an errno.
pub(super) fn count(n: isize) -> Result<usize> {
    usize::try_from(n).map_err(|_| Error::from_errno(n as i32))
}

/// `SEEK_HOLE` and `SEEK_DATA`.
pub(super) fn seek<T: DataOps>(file: &File<'_, T>, offset: i64, hole: bool) -> Result<i64> {
    let inode = file.inode();
    // SAFETY: The inode is alive; the shared lock keeps the layout still.
    let at = unsafe {
        bindings::inode_lock_shared(inode.as_ptr());
        let at = if hole {
            bindings::iomap_seek_hole(inode.as_ptr(), offset, &DataTable::<T>::IOMAP)
        } else {
            bindings::iomap_seek_data(inode.as_ptr(), offset, &DataTable::<T>::IOMAP)
        };
        bindings::inode_unlock_shared(inode.as_ptr());
        at
    };
    if at < 0 {
        Err(Error::from_errno(at as i32))
    } else {
        Ok(at)
    }
}
