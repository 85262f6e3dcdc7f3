// SPDX-License-Identifier: GPL-2.0

//! Registering a file system type and mounting it.
//!
//! C headers: [`include/linux/fs_context.h`](srctree/include/linux/fs_context.h),
//! [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::bindings;
use super::icache::InodeCache;
use super::ratelimit::RateLimit;
use super::superblock::SuperTable;
use super::worker::Worker;
use super::writeback::{WriteEndQueue, WriteEnds};
use super::{
    params, to_c, DataOps, DentryOps, Disk, FileSystem, Inode, ParamValue, Params, SuperBlock,
    SuperOps,
};
use core::ops::Deref;
use core::ptr::NonNull;
use kernel::error::{from_result, to_result};
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::types::Opaque;

/// What mounting needs to know of a file system.
pub(crate) trait MountOps: FileSystem {
    /// The mount options while they are collected.
    type Options: Send + Sync;

    /// The table of options (see [`super::ParamTable`]).
    const PARAMS: Params;

    /// The options before any is parsed. `uid`, `gid` and `umask` are the mounting task's.
    fn default_options(uid: u32, gid: u32, umask: u16) -> Result<KBox<Self::Options>>;

    /// Takes one option.
    fn parse_param(options: &mut Self::Options, id: u8, value: ParamValue<'_>) -> Result;

    /// Reads the superblock from disk. The result makes the file system's part of [`Mounted`].
    fn fill_super(
        new: &NewSuper<'_>,
        disk: &Disk,
        options: &Self::Options,
    ) -> Result<impl PinInit<Self::Volume, Error>>;

    /// The root directory.
    fn root(sb: &SuperBlock<Self>) -> Result<ARef<Inode<Self>>>;

    /// The mount is complete; `read_only` tells how.
    fn mounted(sb: &SuperBlock<Self>, read_only: bool);

    /// A remount is about to change whether the volume is read-only. All is synced.
    fn remount(sb: &SuperBlock<Self>, read_only: bool) -> Result;

    /// What [`Mounted::schedule`] asked for. Never runs before [`root`](Self::root), nor once the
    /// volume is being unmounted.
    fn background(sb: &SuperBlock<Self>);

    /// Case-insensitive names?
    fn ignores_case(sb: &SuperBlock<Self>) -> bool;
}

/// A mounted volume: what `s_fs_info` points to.
///
/// Made by `fill_super` and dropped by `kill_sb`, here. The file system gets no more than shared
/// references to it, so it can't keep the disk or the worker longer than the superblock lives.
#[pin_data]
pub(crate) struct Mounted<T: FileSystem> {
    /// The device.
    pub(crate) disk: Disk,
    #[pin]
    worker: Worker<T>,
    #[pin]
    pub(super) write_ends: WriteEnds<T>,
    #[pin]
    messages: RateLimit,
    /// The file system's part.
    #[pin]
    data: T::Volume,
}

impl<T: FileSystem> Deref for Mounted<T> {
    type Target = T::Volume;

    fn deref(&self) -> &T::Volume {
        &self.data
    }
}

impl<T: MountOps> Mounted<T> {
    /// Has [`MountOps::background`] run in `seconds`, unless it is due earlier or the volume is
    /// being unmounted.
    pub(crate) fn schedule(&self, seconds: u32) {
        self.worker.schedule(seconds);
    }

    /// Whether a message about the volume may be printed now: a broken one must not flood the log.
    pub(crate) fn may_log(&self) -> bool {
        self.messages.allows()
    }
}

/// A superblock whose volume does not exist yet.
pub(crate) struct NewSuper<'a>(&'a Opaque<bindings::super_block>);

impl NewSuper<'_> {
    fn as_ptr(&self) -> *mut bindings::super_block {
        self.0.get()
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
        // SAFETY: As in `set_block_size`.
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

/// The module's file system type. It holds the keys of lock classes, which lockdep takes from
/// static memory only.
struct Type(Opaque<bindings::file_system_type>);

// SAFETY: Only `Registration` writes to it, of which there is one at a time; while it is
// registered, it is the kernel's.
unsafe impl Sync for Type {}

static TYPE: Type = Type(Opaque::uninit());

/// The registration of file system type `T`; unregistered when dropped. A module has one at a time.
pub(crate) struct Registration<T: FileSystem> {
    _cache: InodeCache<T>,
    _queue: WriteEndQueue,
}

impl<T: MountOps + SuperOps + DentryOps + DataOps> Registration<T> {
    /// Registers the type. `EBUSY` if the module has one registered.
    pub(crate) fn new(module: &'static ThisModule) -> Result<Self> {
        let cache = InodeCache::new()?;
        let queue = WriteEndQueue::new()?;
        // SAFETY: All-zero is a valid `file_system_type` to start from.
        let mut fs: bindings::file_system_type = unsafe { core::mem::zeroed() };
        fs.owner = module.as_ptr().cast();
        fs.name = T::NAME.as_char_ptr();
        fs.init_fs_context = Some(Self::init_fs_context);
        fs.parameters = T::PARAMS.as_ptr();
        fs.kill_sb = Some(Self::kill_sb);
        fs.fs_flags = (bindings::FS_REQUIRES_DEV | bindings::FS_ALLOW_IDMAP) as i32;
        // SAFETY: The cache exists once, so no other registration uses the static. The type is
        // complete when it is registered, and stays where it is.
        to_result(unsafe {
            TYPE.0.get().write(fs);
            bindings::register_filesystem(TYPE.0.get())
        })?;
        Ok(Self {
            _cache: cache,
            _queue: queue,
        })
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
    /// Called by the VFS as `file_system_type.init_fs_context`, with live objects of type `T`.
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
    /// Called by the VFS as `fs_context_operations.free`, with live objects of type `T`.
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
    /// Called by the VFS as `fs_context_operations.parse_param`, with live objects of type `T`.
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
    /// Called by the VFS as `fs_context_operations.get_tree`, with live objects of type `T`.
    unsafe extern "C" fn get_tree(fc: *mut bindings::fs_context) -> i32 {
        // SAFETY: The VFS passes a live context.
        unsafe { bindings::get_tree_bdev(fc, Some(Self::fill_super)) }
    }

    /// # Safety
    ///
    /// Called by `get_tree_bdev`, with a new superblock and a live context of type `T`.
    unsafe extern "C" fn fill_super(
        sb: *mut bindings::super_block,
        fc: *mut bindings::fs_context,
    ) -> i32 {
        from_result(|| {
            let ptr = NonNull::new(sb).ok_or(EINVAL)?;
            // SAFETY: The superblock is alive and its device open until this function returns.
            let disk = unsafe { Disk::new(ptr) };
            // SAFETY: Transparent wrapper of a live superblock; the options are live too.
            let (new, options) = unsafe {
                (
                    NewSuper(&*sb.cast::<Opaque<bindings::super_block>>()),
                    &*(*fc).fs_private.cast::<T::Options>(),
                )
            };
            let data = T::fill_super(&new, &disk, options)?;
            let volume = KBox::try_pin_init(
                try_pin_init!(Mounted::<T> {
                    // SAFETY: `kill_sb` stops the use of the device before it is closed, and drops
                    // the volume before the superblock.
                    disk: unsafe { Disk::new(ptr) },
                    // SAFETY: `kill_sb` stops the worker while the superblock is alive.
                    worker <- unsafe { Worker::new(ptr) },
                    write_ends <- WriteEnds::new(),
                    messages <- RateLimit::new(),
                    data <- data,
                }? Error),
                GFP_KERNEL,
            )?;
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
    /// Called by the VFS as `fs_context_operations.reconfigure`, with live objects of type `T`.
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
    /// Called by the VFS as `file_system_type.kill_sb`, with live objects of type `T`.
    unsafe extern "C" fn kill_sb(sb: *mut bindings::super_block) {
        // SAFETY: The VFS passes the superblock for the last time. The worker is stopped while all
        // that it uses is there. `kill_block_super` evicts all inodes, calls `put_super` and closes
        // the device. RCU path walks may still compare names with the volume's tables, so it is
        // dropped a grace period later. It is null if `fill_super` failed early.
        unsafe {
            let volume = (*sb).s_fs_info.cast::<Mounted<T>>();
            if !volume.is_null() {
                (*volume).worker.stop();
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
        // SAFETY: Registered in `new`; no superblock is left, or the module would be in use.
        unsafe { bindings::unregister_filesystem(TYPE.0.get()) };
    }
}
