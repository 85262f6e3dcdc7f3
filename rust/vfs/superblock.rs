// SPDX-License-Identifier: GPL-2.0

//! Superblocks and `super_operations`.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::bindings;
use super::{icache, to_c, FileSystem, Inode, Mounted};
use core::marker::PhantomData;
use kernel::prelude::*;
use kernel::types::Opaque;

/// A superblock of a file system of type `T`. Exists only behind references.
///
/// # Invariants
///
/// Alive while referenced, with a [`Mounted<T>`] in `s_fs_info` that lives until an RCU grace
/// period after the last operation.
#[repr(transparent)]
pub(crate) struct SuperBlock<T: FileSystem>(Opaque<bindings::super_block>, PhantomData<T>);

// SAFETY: Superblocks are shared between tasks.
unsafe impl<T: FileSystem> Sync for SuperBlock<T> {}

impl<T: FileSystem> SuperBlock<T> {
    /// # Safety
    ///
    /// `ptr` must be a superblock of type `T` with its volume set, alive for `'a`.
    pub(super) unsafe fn from_raw<'a>(ptr: *mut bindings::super_block) -> &'a Self {
        // SAFETY: Transparent over the C type; liveness is the caller's promise.
        unsafe { &*ptr.cast() }
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::super_block {
        self.0.get()
    }

    /// The volume.
    pub(crate) fn volume(&self) -> &Mounted<T> {
        // SAFETY: By the type invariant `s_fs_info` is the volume, which lives as long as the
        // superblock is in use, and of which there are shared references only.
        unsafe { &*(*self.as_ptr()).s_fs_info.cast::<Mounted<T>>() }
    }

    /// Whether the volume is frozen or about to be: [`SuperOps::freeze_fs`] writes what there is to
    /// be written, and nothing else may.
    pub(super) fn is_frozen(&self) -> bool {
        // SAFETY: The superblock is alive. The state may change at any time.
        let state = unsafe { (&raw const (*self.as_ptr()).s_writers.frozen).read_volatile() };
        u32::from(state) != bindings::SB_UNFROZEN
    }
}

/// What `statfs` reports; units are `block_size` bytes.
pub(crate) struct Statfs {
    /// File system magic number.
    pub(crate) magic: u64,
    /// Bytes per block.
    pub(crate) block_size: u32,
    /// Blocks in all.
    pub(crate) blocks: u64,
    /// Free blocks.
    pub(crate) free: u64,
    /// Longest name in bytes.
    pub(crate) name_max: u32,
    /// File system ID.
    pub(crate) fsid: u64,
}

/// Output of `show_options`.
pub(crate) struct SeqFile<'a>(&'a Opaque<bindings::seq_file>);

impl core::fmt::Write for SeqFile<'_> {
    fn write_str(&mut self, s: &str) -> core::fmt::Result {
        // SAFETY: The seq_file is alive and being shown by this task.
        unsafe { bindings::seq_write(self.0.get(), s.as_ptr().cast(), s.len()) };
        Ok(())
    }
}

/// How far `write_inode` has to go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteMode {
    /// The flusher: nobody waits.
    Background,
    /// `sync`: `sync_fs` follows and finishes the work.
    ForSync,
    /// On disk on return.
    Integrity,
}

/// Superblock operations; the names are those of `super_operations`.
pub(crate) trait SuperOps: FileSystem {
    /// Writes the inode's attributes to its directory entry.
    fn write_inode(inode: &Inode<Self>, mode: WriteMode) -> Result;
    /// The last reference is gone and the page cache is empty: frees what has no name any more.
    fn evict_inode(inode: &Inode<Self>);
    /// Writes out metadata; on disk on return if `wait`.
    fn sync_fs(sb: &SuperBlock<Self>, wait: bool) -> Result;
    /// Nobody changes the volume any more. On return all is on disk, and nothing is written
    /// until `unfreeze_fs`: somebody is going to copy the device.
    fn freeze_fs(sb: &SuperBlock<Self>) -> Result;
    /// The end of that.
    fn unfreeze_fs(sb: &SuperBlock<Self>);
    /// The volume is about to be unmounted; all inodes are gone.
    fn put_super(sb: &SuperBlock<Self>);
    /// Usage figures.
    fn statfs(sb: &SuperBlock<Self>) -> Result<Statfs>;
    /// Writes the mount options.
    fn show_options(sb: &SuperBlock<Self>, out: &mut SeqFile<'_>) -> Result;
}

pub(super) struct SuperTable<T>(PhantomData<T>);

impl<T: SuperOps> SuperTable<T> {
    pub(super) const TABLE: bindings::super_operations = bindings::super_operations {
        alloc_inode: Some(icache::alloc_inode::<T>),
        destroy_inode: Some(icache::destroy_inode::<T>),
        free_inode: Some(icache::free_inode),
        write_inode: Some(Self::write_inode),
        evict_inode: Some(Self::evict_inode),
        put_super: Some(Self::put_super),
        sync_fs: Some(Self::sync_fs),
        freeze_fs: Some(Self::freeze_fs),
        unfreeze_fs: Some(Self::unfreeze_fs),
        statfs: Some(Self::statfs),
        show_options: Some(Self::show_options),
        // SAFETY: All fields are function pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    // SAFETY contract of the callbacks below: the VFS calls them with live objects of type `T`
    // whose volume is set; see Documentation/filesystems/vfs.rst.

    /// # Safety
    ///
    /// Called by the VFS as `super_operations.write_inode`, with live objects of type `T`.
    unsafe extern "C" fn write_inode(
        inode: *mut bindings::inode,
        wbc: *mut bindings::writeback_control,
    ) -> i32 {
        // SAFETY: The VFS passes a live inode and control block.
        unsafe {
            let mode = if (*wbc).sync_mode != bindings::writeback_sync_modes_WB_SYNC_ALL {
                WriteMode::Background
            } else if (*wbc).for_sync() != 0 {
                WriteMode::ForSync
            } else {
                WriteMode::Integrity
            };
            to_c(T::write_inode(Inode::from_raw(inode), mode))
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `super_operations.evict_inode`, with live objects of type `T`.
    unsafe extern "C" fn evict_inode(inode: *mut bindings::inode) {
        // SAFETY: The VFS passes an inode that only this task uses; `i_data` is its mapping.
        unsafe {
            bindings::truncate_inode_pages_final(&raw mut (*inode).i_data);
            // One that could not be set up has no data to take care of.
            if !bindings::is_bad_inode(inode) {
                T::evict_inode(Inode::from_raw(inode));
            }
            bindings::clear_inode(inode);
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `super_operations.put_super`, with live objects of type `T`.
    unsafe extern "C" fn put_super(sb: *mut bindings::super_block) {
        // SAFETY: The VFS passes a live superblock.
        T::put_super(unsafe { SuperBlock::from_raw(sb) });
    }

    /// # Safety
    ///
    /// Called by the VFS as `super_operations.sync_fs`, with live objects of type `T`.
    unsafe extern "C" fn sync_fs(sb: *mut bindings::super_block, wait: i32) -> i32 {
        // SAFETY: The VFS passes a live superblock.
        to_c(T::sync_fs(unsafe { SuperBlock::from_raw(sb) }, wait != 0))
    }

    /// # Safety
    ///
    /// Called by the VFS as `super_operations.freeze_fs`, with live objects of type `T`.
    unsafe extern "C" fn freeze_fs(sb: *mut bindings::super_block) -> i32 {
        // SAFETY: The VFS passes a live superblock.
        to_c(T::freeze_fs(unsafe { SuperBlock::from_raw(sb) }))
    }

    /// # Safety
    ///
    /// Called by the VFS as `super_operations.unfreeze_fs`, with live objects of type `T`.
    unsafe extern "C" fn unfreeze_fs(sb: *mut bindings::super_block) -> i32 {
        // SAFETY: The VFS passes a live superblock.
        T::unfreeze_fs(unsafe { SuperBlock::from_raw(sb) });
        0
    }

    /// # Safety
    ///
    /// Called by the VFS as `super_operations.statfs`, with live objects of type `T`.
    unsafe extern "C" fn statfs(dentry: *mut bindings::dentry, buf: *mut bindings::kstatfs) -> i32 {
        // SAFETY: The VFS passes a live dentry of the file system and a zeroed buffer.
        unsafe {
            match T::statfs(SuperBlock::from_raw((*dentry).d_sb)) {
                Ok(s) => {
                    (*buf).f_type = s.magic as isize;
                    (*buf).f_bsize = s.block_size as isize;
                    (*buf).f_blocks = s.blocks;
                    (*buf).f_bfree = s.free;
                    (*buf).f_bavail = s.free;
                    (*buf).f_namelen = s.name_max as isize;
                    (*buf).f_fsid.val = [s.fsid as i32, (s.fsid >> 32) as i32];
                    0
                }
                Err(e) => e.to_errno(),
            }
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `super_operations.show_options`, with live objects of type `T`.
    unsafe extern "C" fn show_options(
        seq: *mut bindings::seq_file,
        dentry: *mut bindings::dentry,
    ) -> i32 {
        // SAFETY: The VFS passes a live seq_file and dentry; `Opaque` is transparent.
        unsafe {
            let mut out = SeqFile(&*seq.cast::<Opaque<bindings::seq_file>>());
            to_c(T::show_options(
                SuperBlock::from_raw((*dentry).d_sb),
                &mut out,
            ))
        }
    }
}
