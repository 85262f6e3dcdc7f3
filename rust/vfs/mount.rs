// SPDX-License-Identifier: GPL-2.0

//! Registering a file system type and mounting it.
//!
//! C headers: [`include/linux/fs_context.h`](srctree/include/linux/fs_context.h),
//! [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::super::bindings;
use super::inode::InodeCache;
use super::superblock::SuperTable;
use super::{params, to_c, DentryOps, Disk, FileSystem, Inode, ParamValue, SuperBlock, SuperOps};
use core::ptr::NonNull;
use kernel::error::from_result;
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::types::Opaque;

/// What mounting needs to know of a file system.
pub(crate) trait MountOps: FileSystem {
    /// The mount options while they are collected.
    type Options: Send + Sync;

    /// The table of options (see [`super::ParamTable`]).
    const PARAMS: &'static [bindings::fs_parameter_spec];

    /// The options before any is parsed. `uid`, `gid` and `umask` are the mounting task's.
    fn default_options(uid: u32, gid: u32, umask: u16) -> Result<KBox<Self::Options>>;

    /// Takes one option.
    fn parse_param(options: &mut Self::Options, id: u8, value: ParamValue<'_>) -> Result;

    /// Reads the superblock from disk. `silent` when the kernel only tries which type fits.
    fn fill_super(
        new: &NewSuper<'_>,
        disk: Disk,
        options: &Self::Options,
    ) -> Result<Pin<KBox<Self::Volume>>>;

    /// The root directory.
    fn root(sb: &SuperBlock<Self>) -> Result<ARef<Inode<Self>>>;

    /// The mount is complete; `read_only` tells how.
    fn mounted(sb: &SuperBlock<Self>, read_only: bool);

    /// A remount is about to change whether the volume is read-only. All is synced.
    fn remount(sb: &SuperBlock<Self>, read_only: bool) -> Result;

    /// The volume is about to be unmounted: stops its [`super::Worker`]s.
    fn stop(sb: &SuperBlock<Self>);

    /// What a [`super::Worker`] does.
    fn background(sb: &SuperBlock<Self>);

    /// Case-insensitive names?
    fn ignores_case(sb: &SuperBlock<Self>) -> bool;
}

/// A superblock whose volume does not exist yet.
pub(crate) struct NewSuper<'a>(&'a Opaque<bindings::super_block>);

impl NewSuper<'_> {
    fn as_ptr(&self) -> *mut bindings::super_block {
        self.0.get()
    }

    pub(super) fn as_non_null(&self) -> NonNull<bindings::super_block> {
        NonNull::from(self.0).cast()
    }

    /// Whether errors should not be logged.
    pub(crate) fn is_silent(&self) -> bool {
        // SAFETY: The superblock is alive.
        unsafe { (*self.as_ptr()).s_flags & bindings::SB_SILENT != 0 }
    }

    /// Sets the block size; `false` when the device can't have it.
    pub(crate) fn set_block_size(&self, bytes: u32) -> bool {
        // SAFETY: The superblock is alive and has no buffers of another size in use.
        unsafe { bindings::sb_set_blocksize(self.as_ptr(), bytes as i32) != 0 }
    }

    /// Sets the smallest block size the device and `bytes` allow; `None` when there is none.
    pub(crate) fn min_block_size(&self, bytes: u32) -> Option<u32> {
        // SAFETY: As above.
        let size = unsafe { bindings::sb_min_blocksize(self.as_ptr(), bytes as i32) };
        u32::try_from(size).ok().filter(|&n| n > 0)
    }

    /// Sets magic number, largest file in bytes, time granularity (ns) and range (seconds).
    pub(crate) fn set_limits(
        &self,
        magic: u32,
        max_bytes: u64,
        granularity: u32,
        times: (i64, i64),
    ) {
        // SAFETY: The superblock is alive and not yet published.
        unsafe {
            let sb = self.as_ptr();
            (*sb).s_magic = magic as usize;
            (*sb).s_maxbytes = i64::try_from(max_bytes).unwrap_or(i64::MAX);
            (*sb).s_time_gran = granularity;
            (*sb).s_time_min = times.0;
            (*sb).s_time_max = times.1;
            (*sb).s_flags |= bindings::SB_NODIRATIME;
        }
    }
}

/// The registration of file system type `T`; unregistered when dropped.
pub(crate) struct Registration<T: FileSystem> {
    fs: Pin<KBox<Opaque<bindings::file_system_type>>>,
    _cache: InodeCache<T>,
}

// SAFETY: The type's registration is only touched when created and dropped.
unsafe impl<T: FileSystem> Send for Registration<T> {}
// SAFETY: As above.
unsafe impl<T: FileSystem> Sync for Registration<T> {}

impl<T: MountOps + SuperOps + DentryOps> Registration<T> {
    /// Registers the type.
    pub(crate) fn new(module: &'static ThisModule) -> Result<Self> {
        let cache = InodeCache::new()?;
        // SAFETY: All-zero is a valid `file_system_type` to start from.
        let mut fs: bindings::file_system_type = unsafe { core::mem::zeroed() };
        fs.owner = module.as_ptr().cast();
        fs.name = T::NAME.as_char_ptr();
        fs.init_fs_context = Some(Self::init_fs_context);
        fs.parameters = T::PARAMS.as_ptr();
        fs.kill_sb = Some(Self::kill_sb);
        fs.fs_flags = (bindings::FS_REQUIRES_DEV | bindings::FS_ALLOW_IDMAP) as i32;
        let fs = KBox::pin(Opaque::new(fs), GFP_KERNEL)?;
        // SAFETY: The type is pinned and zeroed where its keys are; `drop` takes them back.
        unsafe { bindings::register_lock_keys(fs.get()) };
        let this = Self { fs, _cache: cache };
        // SAFETY: The type is complete and pinned; it stays allocated until unregistered.
        kernel::error::to_result(unsafe { bindings::register_filesystem(this.fs.get()) })?;
        Ok(this)
    }

    const CONTEXT_OPS: bindings::fs_context_operations = bindings::fs_context_operations {
        free: Some(Self::free),
        parse_param: Some(Self::parse_param),
        get_tree: Some(Self::get_tree),
        reconfigure: Some(Self::reconfigure),
        // SAFETY: All fields are function pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn init_fs_context(fc: *mut bindings::fs_context) -> i32 {
        // SAFETY: The current task's credentials are readable by itself.
        let (uid, gid, umask) = unsafe {
            (
                bindings::from_kuid(bindings::current_uid()),
                bindings::from_kgid(bindings::current_gid()),
                bindings::current_umask(),
            )
        };
        from_result(|| {
            let options = T::default_options(uid, gid, umask)?;
            // SAFETY: The VFS passes a fresh context; the box is freed by `free`.
            unsafe {
                (*fc).fs_private = KBox::into_raw(options).cast();
                (*fc).ops = &Self::CONTEXT_OPS;
            }
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn free(fc: *mut bindings::fs_context) {
        // SAFETY: `fs_private` is what `init_fs_context` put there; the context is going away.
        unsafe {
            let options = (*fc).fs_private.cast::<T::Options>();
            if !options.is_null() {
                drop(KBox::from_raw(options));
            }
        }
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn parse_param(
        fc: *mut bindings::fs_context,
        param: *mut bindings::fs_parameter,
    ) -> i32 {
        // SAFETY: The VFS passes a live context and parameter.
        from_result(|| unsafe {
            // Options of a remount have always been ignored for FAT.
            if (*fc).purpose() == bindings::fs_context_purpose_FS_CONTEXT_FOR_RECONFIGURE {
                return Ok(0);
            }
            let (id, value) = params::parse(fc, T::PARAMS, param)?;
            let options = &mut *(*fc).fs_private.cast::<T::Options>();
            T::parse_param(options, id, value)?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn get_tree(fc: *mut bindings::fs_context) -> i32 {
        // SAFETY: The VFS passes a live context.
        unsafe { bindings::get_tree_bdev(fc, Some(Self::fill_super)) }
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn fill_super(
        sb: *mut bindings::super_block,
        fc: *mut bindings::fs_context,
    ) -> i32 {
        from_result(|| {
            let ptr = NonNull::new(sb).ok_or(EINVAL)?;
            // SAFETY: The superblock lives until `kill_sb` has dropped the volume.
            let disk = unsafe { Disk::new(ptr) };
            // SAFETY: Transparent wrapper of a live superblock; the options are live too.
            let (new, options) = unsafe {
                (
                    NewSuper(&*sb.cast::<Opaque<bindings::super_block>>()),
                    &*(*fc).fs_private.cast::<T::Options>(),
                )
            };
            let volume = T::fill_super(&new, disk, options)?;
            // SAFETY: The superblock is not published. The volume is owned by `s_fs_info` from
            // here on and dropped in `kill_sb`; it stays pinned there.
            unsafe {
                let raw = KBox::into_raw(Pin::into_inner_unchecked(volume));
                (*sb).s_fs_info = raw.cast();
                (*sb).s_op = &SuperTable::<T>::TABLE;
                (*sb).s_export_op = core::ptr::null();
            }
            // SAFETY: The volume is set.
            let sb = unsafe { SuperBlock::<T>::from_raw(sb) };
            super::dentry::set_ops(sb, T::ignores_case(sb));
            Self::make_root(sb)
        })
    }

    fn make_root(sb: &SuperBlock<T>) -> Result<i32> {
        let root = T::root(sb)?;
        // SAFETY: `d_make_root` consumes the reference, also when it fails.
        let dentry = unsafe { bindings::d_make_root(ARef::into_raw(root).as_ptr().cast()) };
        if dentry.is_null() {
            return Err(ENOMEM);
        }
        // SAFETY: The superblock is being filled by this task.
        unsafe { (*sb.as_ptr()).s_root = dentry };
        // SAFETY: As above.
        T::mounted(sb, unsafe { bindings::sb_rdonly(sb.as_ptr()) });
        Ok(0)
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn reconfigure(fc: *mut bindings::fs_context) -> i32 {
        // SAFETY: The VFS passes a context with a live root.
        unsafe {
            let raw = (*(*fc).root).d_sb;
            let read_only = (*fc).sb_flags as usize & bindings::SB_RDONLY != 0;
            (*fc).sb_flags |= bindings::SB_NODIRATIME as u32;
            bindings::sync_filesystem(raw);
            if read_only == bindings::sb_rdonly(raw) {
                return 0;
            }
            to_c(T::remount(SuperBlock::from_raw(raw), read_only))
        }
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn kill_sb(sb: *mut bindings::super_block) {
        // SAFETY: The VFS passes the superblock for the last time. `kill_block_super` evicts all
        // inodes and calls `put_super`. RCU path walks may still compare names with the volume's
        // tables, so it is dropped a grace period later. It is null if `fill_super` failed early.
        unsafe {
            let volume = (*sb).s_fs_info.cast::<T::Volume>();
            if !volume.is_null() {
                T::stop(SuperBlock::from_raw(sb));
            }
            bindings::kill_block_super(sb);
            if !volume.is_null() {
                bindings::synchronize_rcu();
                drop(KBox::from_raw(volume));
            }
        }
    }
}

impl<T: FileSystem> Drop for Registration<T> {
    fn drop(&mut self) {
        // SAFETY: No superblock is left, or the module would be in use. The keys were registered
        // in `new`. The type was, too, unless that failed: then this finds nothing to do.
        unsafe {
            bindings::unregister_filesystem(self.fs.get());
            bindings::unregister_lock_keys(self.fs.get());
        }
    }
}
