// SPDX-License-Identifier: GPL-2.0

//! Power cuts: runs workloads in a guest whose disks' writes are logged, builds the disks as they
//! may be after a cut at any point, and holds them against what rvfat promises.
//!
//! `crash.sh` calls the parts of this program in their order: `prepare`, `guest` in a guest,
//! `check`, `mount` in a guest, `report`.

mod check;
mod content;
mod cut;
mod examine;
mod expect;
mod fsck;
mod guest;
mod history;
mod log;
mod mounted;
mod names;
mod op;
mod plan;
mod report;
mod rng;
mod sys;
#[cfg(test)]
mod tests;
mod verdict;
mod volume;
mod work;

use std::path::PathBuf;

use anyhow::Result;
use clap::{Parser, Subcommand};

use plan::Plan;

#[derive(Parser)]
#[command(about = "Power cuts on FAT volumes")]
struct Args {
    /// Where plan, disks and logs are.
    #[arg(long)]
    dir: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Makes the plan and the disks.
    Prepare {
        /// The seed.
        #[arg(long)]
        seed: u64,
        /// The file system type.
        #[arg(long, default_value = "rvfat")]
        fs: String,
        /// Cuts in total.
        #[arg(long)]
        points: usize,
        /// The folder as QEMU sees it.
        #[arg(long)]
        seen: PathBuf,
        /// Only a part of the tests.
        #[arg(long)]
        quick: bool,
        /// Words of the names of tests: editor, editor/sync, sync/through.
        only: Vec<String>,
    },
    /// Runs the workloads, in the guest.
    Guest {
        /// Which guest of the plan this is.
        #[arg(long)]
        guest: usize,
        /// Where to note what came of the steps.
        #[arg(long)]
        out: PathBuf,
    },
    /// Looks at the cuts.
    Check {
        /// Keep one of so many to be mounted.
        #[arg(long)]
        every: usize,
    },
    /// Mounts what was kept, in the guest.
    Mount {
        /// Which of the guests this is.
        #[arg(long)]
        guest: usize,
        /// Where to put what came of it.
        #[arg(long)]
        out: PathBuf,
    },
    /// Says what came of it.
    Report {
        /// The exit status of the guests that ran the workloads.
        #[arg(long, default_value_t = 0)]
        guests: i32,
        /// Violations are told, and don't count as failures.
        #[arg(long)]
        inform: bool,
    },
    /// Looks at one cut again.
    Replay {
        /// The test.
        test: String,
        /// The cut.
        cut: String,
    },
    /// Lists the tests of the plan.
    List,
    /// Shows a workload's steps.
    Steps {
        /// The test.
        test: String,
    },
}

fn main() -> Result<()> {
    let args = Args::parse();
    let dir = args.dir.as_path();
    match args.command {
        Command::Prepare {
            seed,
            fs,
            points,
            seen,
            quick,
            only,
        } => Plan::new(seed, &fs, &only, points, quick)?.prepare(dir, &seen),
        Command::Guest { guest, out } => guest::run(dir, guest, &out),
        Command::Check { every } => report::check(dir, every),
        Command::Mount { guest, out } => mounted::run(dir, guest, &out),
        Command::Report { guests, inform } => report::report(dir, guests, inform),
        Command::Replay { test, cut } => report::replay(dir, &test, &cut),
        Command::List => {
            Plan::read(dir)?
                .tests
                .iter()
                .for_each(|t| println!("{} {}", t.serial, t.name));
            Ok(())
        }
        Command::Steps { test } => report::steps(dir, &test),
    }
}
