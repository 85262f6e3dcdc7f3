// SPDX-License-Identifier: GPL-2.0

//! Suite `faults`: I/O errors, in every operation and every part of the volume.

mod engine;
mod ops;
pub mod rig;
mod snap;
mod watch;

use crate::runner::{Config, Suite};

/// The suite.
pub fn suite(cfg: &Config) -> Suite {
    Suite {
        name: "faults",
        groups: engine::groups(cfg),
    }
}
