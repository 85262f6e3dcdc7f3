// SPDX-License-Identifier: GPL-2.0

//! Inodes.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::bindings;
use super::icache::InodeObject;
use super::{FileSystem, Mounted, SuperBlock};
use core::marker::PhantomData;
use core::ptr::NonNull;
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::sync::aref::{ARef, AlwaysRefCounted};
use kernel::types::Opaque;

/// Seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timespec {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    pub(crate) secs: i64,
    /// Nanoseconds, below 1,000,000,000.
    pub(crate) nsec: u32,
}

impl Timespec {
    pub(super) fn from_c(ts: bindings::timespec64) -> Self {
        Self {
            secs: ts.tv_sec,
            nsec: u32::try_from(ts.tv_nsec).unwrap_or(0),
        }
    }

    pub(super) fn to_c(self) -> bindings::timespec64 {
        bindings::timespec64 {
            tv_sec: self.secs,
            tv_nsec: self.nsec as isize,
        }
    }
}

/// Reads a field that others may write, like `READ_ONCE()`.
macro_rules! read_once {
    ($place:expr) => {
        (&raw const $place).read_volatile()
    };
}

/// Writes a field that others may read, like `WRITE_ONCE()`.
macro_rules! write_once {
    ($place:expr, $value:expr) => {
        (&raw mut $place).write_volatile($value)
    };
}

/// An inode of a file system of type `T`. Exists only behind references.
///
/// # Invariants
///
/// It is the VFS part of an initialised [`InodeObject<T>`] that stays alive while referenced.
#[repr(transparent)]
pub(crate) struct Inode<T: FileSystem>(Opaque<bindings::inode>, PhantomData<T>);

// SAFETY: Inodes are shared between tasks; the fields reached here have their own locks or are
// only set before the inode is published.
unsafe impl<T: FileSystem> Send for Inode<T> {}
// SAFETY: As above.
unsafe impl<T: FileSystem> Sync for Inode<T> {}

// SAFETY: The count of an `ARef` comes from C, as `igrab` and `iget5_locked` return it, and goes
// back to C. `inc_ref` is never called.
unsafe impl<T: FileSystem> AlwaysRefCounted for Inode<T> {
    /// `write_inode` and `evict_inode` get an inode that nobody holds a count of, and one that is
    /// being freed must not get one. So `ARef::from` and `clone` do not build.
    fn inc_ref(&self) {
        build_error!("a reference to an inode is made by Inode::grab()");
    }

    unsafe fn dec_ref(obj: NonNull<Self>) {
        // SAFETY: The caller owns a reference. Rust code sleeps where it drops one.
        unsafe { bindings::iput(obj.as_ptr().cast()) };
    }
}

impl<T: FileSystem> Inode<T> {
    /// # Safety
    ///
    /// `ptr` must be an inode of type `T` that stays alive for `'a`.
    pub(super) unsafe fn from_raw<'a>(ptr: *mut bindings::inode) -> &'a Self {
        // SAFETY: The type is transparent over the C type; liveness is the caller's promise.
        unsafe { &*ptr.cast() }
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::inode {
        self.0.get()
    }

    pub(super) fn mapping(&self) -> *mut bindings::address_space {
        // SAFETY: The inode is alive; `i_mapping` does not change for this file system.
        unsafe { (*self.as_ptr()).i_mapping }
    }

    /// The slab object that the inode is part of.
    pub(super) fn object(&self) -> &InodeObject<T> {
        // SAFETY: By the type invariant the inode is the first field of an `InodeObject<T>`.
        unsafe { &*self.as_ptr().cast::<InodeObject<T>>() }
    }

    /// A reference, also where the caller has none but is kept safe by the VFS, as in
    /// `write_inode`; `None` if the inode is about to be freed. To be given up before `put_super`
    /// returns: the VFS takes the inodes that are left apart, and complains.
    pub(crate) fn grab(&self) -> Option<ARef<Self>> {
        // SAFETY: The inode is alive.
        let inode = unsafe { bindings::igrab(self.as_ptr()) };
        // SAFETY: The result carries a reference.
        NonNull::new(inode).map(|inode| unsafe { ARef::from_raw(inode.cast()) })
    }

    /// The file system's part.
    pub(crate) fn node(&self) -> &T::Node {
        // SAFETY: By the type invariant the node is initialised.
        unsafe { self.object().node().assume_init_ref() }
    }

    /// The superblock.
    pub(crate) fn sb(&self) -> &SuperBlock<T> {
        // SAFETY: The superblock outlives its inodes.
        unsafe { SuperBlock::from_raw((*self.as_ptr()).i_sb) }
    }

    /// The volume.
    pub(crate) fn volume(&self) -> &Mounted<T> {
        self.sb().volume()
    }

    /// The inode number.
    pub(crate) fn ino(&self) -> u64 {
        // SAFETY: The inode is alive; the number is set before it is published.
        unsafe { (*self.as_ptr()).i_ino }
    }

    /// The file's size in bytes.
    pub(crate) fn size(&self) -> u64 {
        // SAFETY: The inode is alive.
        unsafe { bindings::i_size_read(self.as_ptr()) }
            .try_into()
            .unwrap_or(0)
    }

    /// Sets the size in bytes. The caller holds the inode lock exclusively, or the inode is new.
    pub(crate) fn set_size(&self, size: u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        // SAFETY: The inode is alive; writers are serialised by the inode lock.
        unsafe { bindings::i_size_write(self.as_ptr(), size) };
    }

    /// Sets the number of 512-byte sectors that `st_blocks` reports.
    pub(crate) fn set_blocks(&self, sectors: u64) {
        // SAFETY: The inode is alive; the field is only reported.
        unsafe { write_once!((*self.as_ptr()).i_blocks, sectors) };
    }

    /// File type and permissions.
    pub(crate) fn mode(&self) -> u16 {
        // SAFETY: The inode is alive. Others may change the field meanwhile.
        unsafe { read_once!((*self.as_ptr()).i_mode) }
    }

    /// Whether it is a directory.
    pub(crate) fn is_dir(&self) -> bool {
        u32::from(self.mode()) & bindings::S_IFMT == bindings::S_IFDIR
    }

    /// Whether it is a regular file.
    pub(crate) fn is_reg(&self) -> bool {
        u32::from(self.mode()) & bindings::S_IFMT == bindings::S_IFREG
    }

    /// Sets file type and permissions. The caller holds the inode lock, or the inode is new.
    pub(crate) fn set_mode(&self, mode: u16) {
        // SAFETY: The inode is alive. Others may read the field meanwhile.
        unsafe { write_once!((*self.as_ptr()).i_mode, mode) };
    }

    /// The link count.
    pub(crate) fn nlink(&self) -> u32 {
        // SAFETY: The inode is alive. Others may change the field meanwhile.
        unsafe { read_once!((*self.as_ptr()).__bindgen_anon_1.i_nlink) }
    }

    /// Sets the link count. The caller holds the parent's inode lock, or the inode is new.
    pub(crate) fn set_nlink(&self, n: u32) {
        // SAFETY: The inode is alive.
        unsafe { bindings::set_nlink(self.as_ptr(), n) };
    }

    /// Adds a link.
    pub(crate) fn inc_nlink(&self) {
        // SAFETY: The inode is alive.
        unsafe { bindings::inc_nlink(self.as_ptr()) };
    }

    /// Takes a link away; a count that is too low already is left alone.
    pub(crate) fn drop_nlink(&self) {
        if self.nlink() > 0 {
            // SAFETY: The inode is alive and its count not zero.
            unsafe { bindings::drop_nlink(self.as_ptr()) };
        }
    }

    /// Removes the last link.
    pub(crate) fn clear_nlink(&self) {
        // SAFETY: The inode is alive.
        unsafe { bindings::clear_nlink(self.as_ptr()) };
    }

    /// The modification time.
    pub(crate) fn mtime(&self) -> Timespec {
        // SAFETY: The inode is alive. Seconds and nanoseconds may be of different times, as in C.
        unsafe {
            Timespec {
                secs: read_once!((*self.as_ptr()).i_mtime_sec),
                nsec: read_once!((*self.as_ptr()).i_mtime_nsec),
            }
        }
    }

    /// The access time.
    pub(crate) fn atime(&self) -> Timespec {
        // SAFETY: As in `mtime`.
        unsafe {
            Timespec {
                secs: read_once!((*self.as_ptr()).i_atime_sec),
                nsec: read_once!((*self.as_ptr()).i_atime_nsec),
            }
        }
    }

    /// Sets the modification time.
    pub(crate) fn set_mtime(&self, t: Timespec) {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_set_mtime(self.as_ptr(), t.secs, t.nsec as isize) };
    }

    /// Sets the access time.
    pub(crate) fn set_atime(&self, t: Timespec) {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_set_atime(self.as_ptr(), t.secs, t.nsec as isize) };
    }

    /// Sets the change time.
    pub(crate) fn set_ctime(&self, t: Timespec) {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_set_ctime(self.as_ptr(), t.secs, t.nsec as isize) };
    }

    /// Now, in the granularity of the superblock.
    pub(crate) fn current_time(&self) -> Timespec {
        // SAFETY: The inode is alive.
        Timespec::from_c(unsafe { bindings::current_time(self.as_ptr()) })
    }

    /// Marks the inode dirty: attributes and size, to be written by `write_inode`.
    pub(crate) fn mark_dirty(&self) {
        // SAFETY: The inode is alive.
        unsafe { bindings::__mark_inode_dirty(self.as_ptr(), bindings::I_DIRTY as i32) };
    }

    /// Marks only attributes dirty that `fdatasync` does not have to write.
    pub(crate) fn mark_dirty_sync(&self) {
        // SAFETY: The inode is alive.
        unsafe { bindings::__mark_inode_dirty(self.as_ptr(), bindings::I_DIRTY_SYNC as i32) };
    }

    /// Whether attributes wait to be written.
    pub(crate) fn is_dirty(&self) -> bool {
        // SAFETY: The inode is alive; a racy look at its state is enough.
        unsafe { bindings::inode_is_dirty(self.as_ptr()) }
    }

    /// Whether changes of this file have to be on disk when a call returns.
    pub(crate) fn is_sync(&self) -> bool {
        // SAFETY: The inode is alive.
        unsafe { bindings::is_sync(self.as_ptr()) }
    }

    /// Whether changes of this directory have to be on disk when a call returns.
    pub(crate) fn is_dirsync(&self) -> bool {
        // SAFETY: The inode is alive.
        unsafe { bindings::is_dirsync(self.as_ptr()) }
    }

    /// Advances the directory's version: negative dentries made before become invalid.
    pub(crate) fn inc_version(&self) {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_inc_iversion(self.as_ptr()) };
    }

    /// The directory's version, to be compared later.
    pub(crate) fn query_version(&self) -> u64 {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_query_iversion(self.as_ptr()) }
    }

    /// Whether the version is still `version`.
    pub(crate) fn eq_version(&self, version: u64) -> bool {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_eq_iversion(self.as_ptr(), version) }
    }

    /// Sets or clears the immutable flag. The caller holds the inode lock, or the inode is new.
    pub(crate) fn set_immutable(&self, on: bool) {
        let flags = if on { bindings::S_IMMUTABLE } else { 0 };
        // SAFETY: The inode is alive; the flags are changed atomically.
        unsafe { bindings::inode_set_flags(self.as_ptr(), flags, bindings::S_IMMUTABLE) };
    }

    /// Whether the immutable flag is set.
    pub(crate) fn is_immutable(&self) -> bool {
        // SAFETY: The inode is alive. Others may change the field meanwhile.
        unsafe { read_once!((*self.as_ptr()).i_flags) & bindings::S_IMMUTABLE != 0 }
    }

    /// Sets the generation number, for file handles.
    pub(crate) fn set_generation(&self, generation: u32) {
        // SAFETY: The inode is alive. Others may read the field meanwhile.
        unsafe { write_once!((*self.as_ptr()).i_generation, generation) };
    }

    /// Takes the inode lock exclusively.
    pub(crate) fn lock(&self) -> InodeGuard<'_, T> {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_lock(self.as_ptr()) };
        InodeGuard(self, PhantomData)
    }

    /// Takes the inode lock shared.
    pub(crate) fn lock_shared(&self) -> SharedInodeGuard<'_, T> {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_lock_shared(self.as_ptr()) };
        SharedInodeGuard(self, PhantomData)
    }

    /// Writes the attributes if they are dirty, and waits.
    pub(crate) fn sync_metadata(&self) -> Result {
        // SAFETY: The inode is alive and referenced.
        to_result(unsafe { bindings::sync_inode_metadata(self.as_ptr(), 1) })
    }

    /// Waits for direct I/O that is under way. The caller holds the inode lock.
    pub(crate) fn dio_wait(&self) {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_dio_wait(self.as_ptr()) };
    }

    /// Checks a new size against the limits of the file system and the process.
    pub(crate) fn newsize_ok(&self, size: u64) -> Result {
        let size = i64::try_from(size).map_err(|_| EFBIG)?;
        // SAFETY: The inode is alive.
        to_result(unsafe { bindings::inode_newsize_ok(self.as_ptr(), size) })
    }

    /// Sets the size and drops the page cache beyond it. The caller holds the inode lock.
    pub(crate) fn truncate_setsize(&self, size: u64) {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        // SAFETY: The inode is alive and locked by the caller.
        unsafe { bindings::truncate_setsize(self.as_ptr(), size) };
    }

    /// Drops the page cache from `from` bytes on.
    pub(crate) fn truncate_pagecache(&self, from: u64) {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        // SAFETY: The inode is alive.
        unsafe { bindings::truncate_pagecache(self.as_ptr(), from) };
    }

    /// Tells the page cache that the size grew from `from` to `to`. The caller holds the lock.
    pub(crate) fn pagecache_extended(&self, from: u64, to: u64) {
        if let (Ok(from), Ok(to)) = (i64::try_from(from), i64::try_from(to)) {
            // SAFETY: The inode is alive and its size is at least `to`.
            unsafe { bindings::pagecache_isize_extended(self.as_ptr(), from, to) };
        }
    }

    /// Whether any data is dirty or under writeback in the page cache.
    pub(crate) fn has_data_in_flight(&self) -> bool {
        // SAFETY: The inode and its mapping are alive.
        unsafe {
            bindings::mapping_tagged_dirty(self.mapping())
                || bindings::mapping_tagged_writeback(self.mapping())
        }
    }

    /// Writes the dirty data in `from..to` bytes and waits.
    pub(crate) fn write_and_wait(&self, from: u64, to: u64) -> Result {
        let from = i64::try_from(from).map_err(|_| EFBIG)?;
        let to = i64::try_from(to.saturating_sub(1)).unwrap_or(i64::MAX);
        // SAFETY: The inode and its mapping are alive.
        to_result(unsafe { bindings::filemap_write_and_wait_range(self.mapping(), from, to) })
    }

    /// Waits for the data in `from..to` bytes that is on its way to the device. Whether it arrived
    /// is for others to see.
    pub(crate) fn wait_for_data(&self, from: u64, to: u64) {
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let to = i64::try_from(to.saturating_sub(1)).unwrap_or(i64::MAX);
        // SAFETY: The inode and its mapping are alive. Unlike the other variants, this one leaves
        // an error recorded for `fsync`.
        unsafe { bindings::filemap_fdatawait_range_keep_errors(self.mapping(), from, to) };
    }

    /// Starts writing all dirty data; does not wait for the writes.
    pub(crate) fn start_write(&self) -> Result {
        // SAFETY: The inode and its mapping are alive.
        to_result(unsafe { bindings::filemap_flush(self.mapping()) })
    }
}

/// The exclusively locked inode.
#[must_use]
pub(crate) struct InodeGuard<'a, T: FileSystem>(&'a Inode<T>, PhantomData<*mut ()>);

impl<T: FileSystem> Drop for InodeGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: The lock was taken by `Inode::lock` in this task.
        unsafe { bindings::inode_unlock(self.0.as_ptr()) };
    }
}

/// The inode, locked shared.
#[must_use]
pub(crate) struct SharedInodeGuard<'a, T: FileSystem>(&'a Inode<T>, PhantomData<*mut ()>);

impl<T: FileSystem> Drop for SharedInodeGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: The lock was taken by `Inode::lock_shared` in this task.
        unsafe { bindings::inode_unlock_shared(self.0.as_ptr()) };
    }
}
