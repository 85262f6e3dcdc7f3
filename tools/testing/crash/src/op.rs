// SPDX-License-Identifier: GPL-2.0

//! What a workload does, step by step.
//!
//! A workload is a list of these, made from its name and the seed before anything runs. The guest
//! carries them out; the host knows the same list and need only be told what came of each.

use serde::{Deserialize, Serialize};

use crate::content::Obj;

/// The root directory.
pub const ROOT: Obj = 0;

/// A name in a directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// The directory.
    pub dir: Obj,
    /// The name in it.
    pub name: String,
}

/// How bytes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum How {
    /// `pwrite`.
    Buffered,
    /// `pwrite` on a descriptor with `O_DIRECT`.
    Direct,
    /// Stores to a shared mapping. It reaches up to the end of the last page, and stores behind the
    /// end of the file are no bytes of the file.
    Mapped,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// A new file, which stays open.
    Create { obj: Obj, at: Place },
    /// A new directory.
    Mkdir { obj: Obj, at: Place },
    /// Removes a file.
    Unlink { at: Place },
    /// Removes a directory.
    Rmdir { at: Place },
    /// Renames, over what is there.
    Rename { from: Place, to: Place },
    /// `RENAME_EXCHANGE`.
    Exchange { a: Place, b: Place },
    /// Closes a file. Steps that need an open file open and close it if it is not.
    Close { obj: Obj },
    /// Writes `len` bytes at `off`.
    Write {
        obj: Obj,
        off: u64,
        len: u64,
        how: How,
    },
    /// `ftruncate`.
    Truncate { obj: Obj, size: u64 },
    /// `fallocate`, with `FALLOC_FL_KEEP_SIZE` if `keep`.
    Fallocate {
        obj: Obj,
        off: u64,
        len: u64,
        keep: bool,
    },
    /// `fsync` of a file or a directory.
    Fsync { obj: Obj },
    /// `syncfs`.
    Sync,
    /// Time passes; what the file system does by itself happens.
    Pause { ms: u64 },
    /// The end of each workload.
    Unmount,
}

/// What came of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The error, if it failed.
    pub error: Option<String>,
    /// Bytes written.
    pub bytes: u64,
}
