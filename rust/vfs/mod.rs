// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers around the parts of the VFS that a disk file system needs.
//!
//! This module and its private [`bindings`] are the only places that hold `unsafe`. A file system
//! implements the traits [`FileSystem`], [`SuperOps`], [`DirOps`], [`FileOps`] and [`DataOps`]
//! for one type and registers it with [`Registration`]; the operation tables that the kernel
//! wants are built here, as associated constants, from those traits. Names are those of C.
//!
//! # Contracts expressed as types
//!
//! - [`Inode`] is only ever seen behind a reference or an `ARef`; the reference count is held
//!   through those. A [`NewInode`] is an inode under construction: dropping it fails the inode.
//! - [`BufferHead`] owns one reference to a buffer. Bytes are copied out and in, because others
//!   (user space with the block device open) may write them at any time: no slice ever refers to
//!   them.
//! - [`Mounted`] is all that belongs to a mounted volume: the [`Disk`], the [`Worker`] and the file
//!   system's data. This layer creates and drops it; the file system only ever sees references.
//! - [`NofsScope`] is held while a lock is held that reclaim may need.

#[path = "../bindings/mod.rs"]
mod bindings;
mod block_write;
mod buffer;
mod data;
mod dentry;
mod disk;
mod file;
mod icache;
mod inode;
mod inode_ops;
pub(crate) mod ioctl;
mod iomap;
mod mount;
mod nls;
mod nofs;
mod params;
mod ratelimit;
mod superblock;
mod user;
mod worker;
mod writeback;

pub(crate) use buffer::{BufferHead, Plug};
pub(crate) use dentry::{Dentry, DentryOps, LookupFlags};
pub(crate) use disk::{DeviceCursor, Disk};
pub(crate) use file::{DirContext, File, FileOps, IoVec, Kiocb};
pub(crate) use icache::{FoundInode, NewInode};
pub(crate) use inode::{Inode, Timespec};
pub(crate) use inode_ops::{DirOps, Iattr, IdMap, Kstat, RenameFlags, SetattrOps, UpdateTime};
pub(crate) use iomap::{DataOps, IomapFlags, IomapKind, IomapTarget};
pub(crate) use mount::{MountOps, Mounted, NewSuper, Registration};
pub(crate) use nls::Nls;
pub(crate) use nofs::NofsScope;
pub(crate) use params::{ParamKind, ParamSpec, ParamTable, ParamValue, Params};
pub(crate) use superblock::{SeqFile, Statfs, SuperBlock, SuperOps, WriteMode};
pub(crate) use user::UserPtr;

use kernel::prelude::*;

/// A file system type: the types of its per-volume and per-inode data.
///
/// One implementation per module: the inode slab cache is a static of this module.
pub(crate) trait FileSystem: Sized + Send + Sync + 'static {
    /// The name given to `mount -t`.
    const NAME: &'static CStr;

    /// The file system's data of one mounted volume, a part of [`Mounted`]. Created by
    /// [`MountOps::fill_super`], dropped after the last inode is gone and after an RCU grace
    /// period.
    type Volume: Send + Sync;

    /// Data of one inode, allocated in one object with the VFS inode.
    type Node: Send + Sync;

    /// Initialises the data of a fresh inode.
    fn new_node() -> impl PinInit<Self::Node>;
}

/// The kernel's configured default code page for 8.3 names.
pub(crate) const DEFAULT_CODEPAGE: u32 = bindings::FAT_DEFAULT_CODEPAGE as u32;

/// Whether the kernel is configured to take names from user space as UTF-8.
pub(crate) const DEFAULT_UTF8: bool = bindings::FAT_DEFAULT_UTF8;

/// The kernel's configured default character set of user space.
pub(crate) fn default_iocharset() -> &'static CStr {
    CStr::from_bytes_with_nul(bindings::FAT_DEFAULT_IOCHARSET).unwrap_or(c"ascii")
}

/// The system's time zone, in minutes west of UTC.
pub(crate) fn local_minutes_west() -> i32 {
    // SAFETY: Reads one integer that settimeofday() sets.
    unsafe { bindings::local_minuteswest() }
}

/// Whether the current task may set immutable flags.
pub(crate) fn may_set_immutable() -> bool {
    // SAFETY: Asks about the current task.
    unsafe { bindings::capable(bindings::CAP_LINUX_IMMUTABLE as i32) }
}

/// Whether the current task may administer the system.
pub(crate) fn is_admin() -> bool {
    // SAFETY: Asks about the current task.
    unsafe { bindings::capable(bindings::CAP_SYS_ADMIN as i32) }
}

/// A random number.
pub(crate) fn random_u32() -> u32 {
    // SAFETY: May be called in any context.
    unsafe { bindings::get_random_u32() }
}

/// Stops the machine, for `errors=panic`.
pub(crate) fn panic(message: &CStr) {
    // SAFETY: The message is NUL-terminated. `panic()` does not return.
    unsafe { bindings::panic(message.as_char_ptr()) };
}

/// Turns a `Result` into the 0-or-negative-errno of C.
fn to_c(result: Result) -> kernel::ffi::c_int {
    match result {
        Ok(()) => 0,
        Err(e) => e.to_errno(),
    }
}
