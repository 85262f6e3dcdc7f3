// SPDX-License-Identifier: GPL-2.0

//! Suite `faults`: I/O errors, in every operation and every part of the volume.

mod copies;
mod engine;
mod full;
mod ops;
pub mod rig;
mod snap;
mod watch;

use crate::runner::{Config, Suite};

/// The suite.
pub fn suite(cfg: &Config) -> Suite {
    let mut groups = engine::groups(cfg);
    groups.extend(full::groups(cfg.quick));
    groups.push(copies::group());
    Suite {
        name: "faults",
        groups,
    }
}
