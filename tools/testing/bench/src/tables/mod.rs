// SPDX-License-Identifier: GPL-2.0

//! The tables and their cells, with the figures rvfat is held to.

mod cont_expand;
mod data;
mod flush;
mod keep_size;
mod mirror;
mod scale;

use clap::ValueEnum;

use crate::case::Case;

pub use keep_size::demo as demo_case;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// One table of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Table {
    KeepSize,
    ContExpand,
    Mirror,
    Flush,
    Data,
    Scale,
}

impl Table {
    /// The name on the command line and of the table's file.
    pub fn name(self) -> &'static str {
        match self {
            Self::KeepSize => "keep_size",
            Self::ContExpand => "cont_expand",
            Self::Mirror => "mirror",
            Self::Flush => "flush",
            Self::Data => "data",
            Self::Scale => "scale",
        }
    }

    /// What the table is about.
    pub fn title(self) -> &'static str {
        match self {
            Self::KeepSize => "Space for open files: fallocate with KEEP_SIZE",
            Self::ContExpand => "Growing files: ftruncate and fallocate",
            Self::Mirror => "Freeing and linking on sync mounts",
            Self::Flush => "Closing files on flush mounts",
            Self::Data => "Reading and writing content",
            Self::Scale => "Many files, big volumes",
        }
    }

    /// All cells.
    pub fn cases(self) -> Vec<Case> {
        match self {
            Self::KeepSize => keep_size::cases(),
            Self::ContExpand => cont_expand::cases(),
            Self::Mirror => mirror::cases(),
            Self::Flush => flush::cases(),
            Self::Data => data::cases(),
            Self::Scale => scale::cases(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_command_line() {
        for table in Table::value_variants() {
            let value = table.to_possible_value().unwrap();
            assert_eq!(value.get_name(), table.name());
        }
    }

    #[test]
    fn the_short_run_is_short() {
        let seconds: f64 = Table::value_variants()
            .iter()
            .flat_map(|table| table.cases())
            .filter(|case| case.quick)
            .map(|case| case.estimate())
            .sum();
        assert!(seconds < 300.0, "{seconds}");
    }

    #[test]
    fn cells_fit_their_volumes() {
        for case in Table::value_variants()
            .iter()
            .flat_map(|table| table.cases())
        {
            assert!(!case.loops.is_empty());
            assert!(case.volume <= 33 * GIB, "{}", case.title());
            let clusters = case.volume / u64::from(case.cluster);
            assert!((65_525..(1 << 28)).contains(&clusters), "{}", case.title());
        }
    }
}
