// SPDX-License-Identifier: GPL-2.0

//! The FAT file system, on top of [`crate::vfs`] and [`crate::ondisk`]. Safe code only.
//!
//! | Module         | What it does                                                 |
//! |----------------|--------------------------------------------------------------|
//! | [`superblock`] | mounting, statfs, the dirty flag, FSINFO                     |
//! | [`options`]    | mount options                                                |
//! | [`volume`]     | what all parts share                                         |
//! | [`table`]      | the FAT: reading, changing, writing it                       |
//! | [`alloc`]      | free space                                                   |
//! | [`chain`]      | a file's clusters as extents                                 |
//! | [`expand`]     | making files longer and shorter                              |
//! | [`unwritten`]  | what of a file's space holds no data yet                     |
//! | [`data`]       | reading and writing file data                                |
//! | [`dir`]        | directories as slots                                         |
//! | [`place`]      | adding entries to directories                                |
//! | [`find`]       | finding entries by name                                      |
//! | [`index`]      | a directory's index in memory                                |
//! | [`readdir`]    | listing them                                                 |
//! | [`namei`]      | lookup, create, mkdir, unlink, rmdir                         |
//! | [`rename`]     | renaming                                                     |
//! | [`node`]       | inodes                                                       |
//! | [`attr`]       | mode, owner, times                                           |
//! | [`commit`]     | the order in which changes reach the disk                    |
//! | [`flush`]      | fsync, sync mounts, close                                    |
//! | [`ioctl`]      | ioctls                                                       |
//! | [`names`]      | character sets                                               |
//! | [`error`]      | messages, and what happens on corruption                     |
//!
//! # Locks
//!
//! In the order in which they are taken:
//!
//! 1. the inode lock (`i_rwsem`), then the mapping's invalidate lock, then folio locks: the VFS's;
//! 2. [`node::Node::entry`]: where the directory entry is, and what it holds;
//! 3. [`node::Node::index`]: where names are in a directory;
//! 4. [`node::Node::chain`]: the extents; while it is held, no writeback of the file begins;
//! 5. [`volume::Volume::commit`]: one task commits at a time;
//! 6. [`volume::Volume::pending`]: what waits to be committed, and the bytes of directory blocks;
//! 7. [`volume::Volume::table`]: the FAT and the free space;
//! 8. [`node::Node::unwritten`]: the unwritten ranges. Never held across I/O: the worker that ends
//!    writes takes it.
//!
//! All of 2 to 8 are mutexes under which memory may be allocated, but not with reclaim entering
//! the file system: a [`crate::vfs::NofsScope`] is held with them.

mod alloc;
mod attr;
mod chain;
mod commit;
mod data;
mod dir;
mod error;
mod expand;
mod find;
mod flush;
mod index;
mod ioctl;
mod namei;
mod names;
mod node;
mod options;
mod place;
mod range;
mod readdir;
mod rename;
mod superblock;
mod table;
mod unwritten;
mod volume;

use crate::vfs::FileSystem;
use kernel::prelude::*;

/// The file system type.
pub(crate) struct Fat;

impl FileSystem for Fat {
    const NAME: &'static CStr = c"rvfat";

    type Volume = volume::VolumeData;
    type Node = node::Node;

    fn new_node() -> impl PinInit<node::Node> {
        node::Node::new()
    }
}
