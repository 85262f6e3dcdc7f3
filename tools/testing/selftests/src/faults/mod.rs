// SPDX-License-Identifier: GPL-2.0

//! Suite `faults`: I/O errors, in every operation and every part of the volume.

mod copies;
mod engine;
mod full;
mod once;
mod ops;
mod removal;
pub mod rig;
mod snap;
mod source;
mod sweep;
mod tasks;
mod watch;

use crate::runner::{Config, Suite};

/// The suite.
pub fn suite(cfg: &Config) -> Suite {
    let mut groups = engine::groups(cfg);
    groups.push(once::group());
    groups.extend(full::groups(cfg.quick));
    groups.push(copies::group());
    groups.push(tasks::group());
    groups.push(source::group());
    groups.push(removal::group());
    groups.extend(sweep::groups());
    Suite {
        name: "faults",
        groups,
    }
}
