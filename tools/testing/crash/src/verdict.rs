// SPDX-License-Identifier: GPL-2.0

//! What can be wrong with a disk after a cut.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Kinds of violations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// Two files share clusters.
    CrossLink,
    /// A chain that is too short, broken or leads to free clusters.
    Chain,
    /// A directory that can't be read as one, or a name that is there twice.
    Structure,
    /// A long name of which a part is missing.
    LongName,
    /// `..` names another directory than the one it is in.
    Parent,
    /// A name that nobody gave at that time.
    Name,
    /// A promised name that is not there.
    Missing,
    /// An object that has none of its names: not the old, not the new one.
    Lost,
    /// A file that is longer or shorter than it ever was since the last promise.
    Size,
    /// Bytes of the disk that nobody wrote there.
    Stale,
    /// Bytes of another file.
    Foreign,
    /// Bytes that differ from all that the file was given.
    Content,
    /// A file's chain is longer than its size without a reason.
    Longer,
    /// Something that `fsck.fat` says and that is not in the list of what may be left.
    Fsck,
    /// After mounting the disk: what the driver shows, or leaves behind.
    Mounted,
}

impl Kind {
    /// The kind in words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CrossLink => "cross link",
            Self::Chain => "broken chain",
            Self::Structure => "broken directory",
            Self::LongName => "torn long name",
            Self::Parent => "wrong ..",
            Self::Name => "unknown name",
            Self::Missing => "missing name",
            Self::Lost => "neither name",
            Self::Size => "wrong size",
            Self::Stale => "stale bytes",
            Self::Foreign => "foreign bytes",
            Self::Content => "wrong bytes",
            Self::Longer => "chain longer than size",
            Self::Fsck => "fsck",
            Self::Mounted => "after mount",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Its kind.
    pub kind: Kind,
    /// What exactly.
    pub text: String,
}

impl Problem {
    /// A violation.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}
