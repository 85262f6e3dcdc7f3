// SPDX-License-Identifier: GPL-2.0

//! Safe wrappers around the parts of the VFS that a disk file system needs.
//!
//! This module and [`crate::bindings`] are the only places that hold `unsafe`. A file system
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
//! - [`Disk`] is the volume's block device. It lives in the file system's volume, which is dropped
//!   before the superblock is.
//! - [`NofsScope`] is held while a lock is held that reclaim may need.

mod buffer;
mod dentry;
mod disk;
mod file;
mod inode;
mod inode_ops;
mod iomap;
mod mount;
mod nls;
mod nofs;
mod params;
mod superblock;
mod user;

pub use buffer::{BufferHead, Plug};
pub use dentry::{Dentry, DentryOps, LookupFlags};
pub use disk::{DeviceCursor, Disk};
pub use file::{DirContext, File, FileOps, IoVec, Kiocb};
pub use inode::{FoundInode, Inode, InodeGuard, NewInode, Timespec};
pub use inode_ops::{DirOps, IdMap, Iattr, Kstat, RenameFlags, SetattrOps, UpdateTime};
pub use iomap::{DataOps, InvalidateGuard, IomapFlags, IomapKind, IomapTarget};
pub use mount::{MountOps, NewSuper, Registration};
pub use nls::Nls;
pub use nofs::NofsScope;
pub use params::{ParamKind, ParamSpec, ParamTable, ParamValue};
pub use superblock::{SeqFile, Statfs, SuperBlock, SuperOps};
pub use user::UserPtr;

use kernel::prelude::*;

/// A file system type: the types of its per-volume and per-inode data.
///
/// One implementation per module: the inode slab cache is a static of this module.
pub trait FileSystem: Sized + Send + Sync + 'static {
    /// The name given to `mount -t`.
    const NAME: &'static CStr;

    /// Data of one mounted volume. Created by [`MountOps::fill_super`], dropped after the last
    /// inode is gone and after an RCU grace period.
    type Volume: Send + Sync;

    /// Data of one inode, allocated in one object with the VFS inode.
    type Node: Send + Sync;

    /// Initialises the data of a fresh inode.
    fn new_node() -> impl PinInit<Self::Node>;
}

/// Turns a `Result` into the 0-or-negative-errno of C.
fn to_c(result: Result) -> kernel::ffi::c_int {
    match result {
        Ok(()) => 0,
        Err(e) => e.to_errno(),
    }
}
