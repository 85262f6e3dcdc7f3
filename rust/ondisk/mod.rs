// SPDX-License-Identifier: GPL-2.0

//! The FAT12, FAT16 and FAT32 on-disk format, without any I/O.
//!
//! This layer turns bytes into checked values and back. It knows no kernel type, allocates nothing
//! and is safe code only, so the same files are built into the kernel module and, for tests, into a
//! host crate (`tools/testing/unit`). Callers read and write the blocks; what needs a lookup or a
//! character set comes in as a closure or as a [`Codepage`].
//!
//! No function here panics, whatever bytes it is given: values from the disk are only ever used
//! through checked arithmetic and checked slices.
//!
//! | Module        | Contents                                                       |
//! |---------------|----------------------------------------------------------------|
//! | [`attr`]      | attribute byte, and its mapping to Unix modes                  |
//! | [`bpb`]       | fields of the boot sector                                      |
//! | [`charset`]   | the [`Codepage`] trait and names in a mount's character set    |
//! | [`dirent`]    | 32-byte directory entries                                      |
//! | [`extent`]    | runs of clusters in a file                                     |
//! | [`fat`]       | entries of the file allocation table                           |
//! | [`fsinfo`]    | FAT32 free-space hint sector                                   |
//! | [`geometry`]  | where everything is on a volume: [`Geometry`]                  |
//! | [`longname`]  | VFAT long-name slots                                           |
//! | [`name`]      | rules for names as UTF-16 units, UTF-8 conversion              |
//! | [`shortname`] | 8.3 names: making and showing them                             |
//! | [`time`]      | DOS dates and times                                            |
//! | `units`       | [`Cluster`], [`Sector`] and other units that must not be mixed |
//!
//! Sources: the Microsoft "FAT32 File System Specification" (fatgen103), and, where implementations
//! differ, what the Linux vfat driver does. Each item says which of the two it follows.

pub mod attr;
pub mod bpb;
mod bytes;
pub mod charset;
pub mod dirent;
mod error;
pub mod extent;
pub mod fat;
pub mod fsinfo;
pub mod geometry;
pub mod longname;
pub mod name;
pub mod shortname;
pub mod time;
mod units;

pub use self::{
    attr::{
        Attrs,
        ModeOptions, //
    },
    bpb::ParseOptions,
    charset::Codepage,
    dirent::{
        RawDirent,
        ShortName,
        SlotKind,
        DIRENT_SIZE, //
    },
    error::FormatError,
    extent::Extent,
    fat::{
        FatEntry,
        FatType, //
    },
    fsinfo::FsInfo,
    geometry::Geometry,
    longname::{
        LongNameAssembler,
        LongSlot, //
    },
    shortname::{
        CreateCase,
        DisplayCase,
        ShortNameCase,
        ShortNameError, //
    },
    time::{
        DosDate,
        DosStamp,
        DosTime,
        TzOffset, //
    },
    units::{
        Cluster,
        ClusterCount,
        DirPos,
        Sector, //
    }, //
};
