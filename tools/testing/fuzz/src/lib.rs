// SPDX-License-Identifier: GPL-2.0

//! Fuzz targets: each takes bytes, makes a use of the on-disk format layer from them, and panics
//! if a result contradicts what the layer promises. A panic in the layer itself counts the same,
//! and so does an overflow, for which the build has checks.

mod input;
mod targets;

/// The unit tests' boot sectors and character sets.
#[path = "../../unit/tests/common/mod.rs"]
mod common;

/// A target: what `rvfat-fuzz` calls it, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("geometry", targets::geometry::run),
    ("fsinfo", targets::fsinfo::run),
    ("table", targets::table::run),
    ("directory", targets::directory::run),
    ("shortname", targets::shortname::run),
    ("charset", targets::charset::run),
    ("extent", targets::extent::run),
    ("time", targets::time::run),
];
