// SPDX-License-Identifier: GPL-2.0

//! rvfat-bench - measures rvfat against the kernel's own vfat
//!
//! Runs as root in a guest that has two or four disks to itself: whatever is on them is lost.

#![forbid(unsafe_code)]

mod bench;
mod blockstat;
mod case;
mod chart;
mod demo;
mod disk;
mod fragment;
mod page;
mod progress;
mod record;
mod runner;
mod stage;
mod sys;
mod tables;
mod target;
mod text;
mod tree;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{ensure, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};

use bench::{Pairs, Plan};
use demo::Demo;
use disk::Disk;
use runner::Pair;
use stage::Stage;
use tables::Table;

/// Measures rvfat against the kernel's own vfat
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Cmd,
}

#[derive(Subcommand)]
enum Cmd {
    /// The demonstration: one loop on both, then a real directory tree
    Demo {
        #[command(flatten)]
        common: Common,
        /// The directory tree to copy
        #[arg(long, default_value = "/usr/lib/rustlib/src/rust/library")]
        tree: PathBuf,
    },
    /// The benchmark's tables
    Bench {
        #[command(flatten)]
        common: Common,
        /// The tables to run; without it all
        #[arg(long, value_delimiter = ',')]
        table: Vec<Table>,
        /// All cells, or those that are done in a few minutes
        #[arg(long, value_enum, default_value_t = Sizes::Quick)]
        sizes: Sizes,
        /// Only the cells, of either size, whose title has this in it, as in "16 x 1 MiB"
        #[arg(long)]
        only: Option<String>,
        /// A pair of slow disks
        #[arg(long, num_args = 2, value_names = ["VFAT", "RVFAT"])]
        slow_disks: Option<Vec<String>>,
    },
}

#[derive(Args)]
struct Common {
    /// A pair of equal disks, by device or by serial number
    #[arg(long, num_args = 2, value_names = ["VFAT", "RVFAT"], required = true)]
    disks: Vec<String>,
    /// The type of the file system that vfat is compared with
    #[arg(long, default_value = "rvfat")]
    fs2: String,
    /// Where the results go
    #[arg(long, default_value = "/job")]
    out: PathBuf,
    /// Show progress in place, as on a terminal
    #[arg(long)]
    terminal: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Sizes {
    Quick,
    Full,
}

impl Common {
    /// vfat on the first disk, what it's compared with on the second.
    fn pair(&self, disks: &[String]) -> Result<Pair> {
        let stage = |kind: &str, name: &str, n: usize| {
            let disk = Disk::find(disks.get(n).map_or("", String::as_str))?;
            Stage::new(kind, name, disk, self.terminal)
        };
        // vfat is loaded when it's needed; rvfat has to be there.
        ensure!(
            self.fs2 == "vfat" || sys::knows_file_system(&self.fs2)?,
            "this kernel doesn't know the file system {}: the module isn't loaded",
            self.fs2
        );
        // A stand-in gets a name of its own.
        let name = if self.fs2 == "vfat" {
            "vfat-2"
        } else {
            &self.fs2
        };
        Ok(Pair {
            vfat: stage("vfat", "vfat", 0)?,
            rvfat: stage(&self.fs2, name, 1)?,
        })
    }
}

fn run(cli: Cli) -> Result<bool> {
    match cli.command {
        Cmd::Demo { common, tree } => {
            let mut pair = common.pair(&common.disks)?;
            let demo = Demo {
                tree,
                out: common.out,
            };
            demo.run(&mut pair)
        }
        Cmd::Bench {
            common,
            table,
            sizes,
            only,
            slow_disks,
        } => {
            let mut pairs = Pairs {
                fast: Some(common.pair(&common.disks)?),
                slow: slow_disks.map(|disks| common.pair(&disks)).transpose()?,
            };
            let plan = Plan {
                tables: match table.as_slice() {
                    [] => Table::value_variants().to_vec(),
                    some => some.to_vec(),
                },
                full: sizes == Sizes::Full,
                only,
                out: common.out,
            };
            plan.announce();
            plan.run(&mut pairs)
        }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("rvfat-bench: {e:#}");
            ExitCode::from(2)
        }
    }
}
