// SPDX-License-Identifier: GPL-2.0

//! The benchmark: all cells of the wanted tables, on the terminal and in files.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Result;

use crate::case::Case;
use crate::page;
use crate::record::{Report, Row};
use crate::runner::{self, Pair};
use crate::sys;
use crate::tables::Table;
use crate::text::{self, left, right, Column};

const COLUMNS: [Column; 9] = [
    left("", 24),
    left("", 6),
    right("time", 9),
    right("writes", 9),
    right("sectors", 10),
    right("flushes", 7),
    right("reads", 7),
    right("KiB/write", 9),
    right("vs vfat", 9),
];

/// What is to be run, and where its results go.
pub struct Plan {
    pub tables: Vec<Table>,
    pub full: bool,
    /// Only cells whose title has this in it, of either size.
    pub only: Option<String>,
    pub out: PathBuf,
}

impl Plan {
    fn cases(&self, table: Table) -> Vec<Case> {
        let mut cases = table.cases();
        cases.retain(|case| match &self.only {
            Some(words) => case.title().contains(words.as_str()),
            None => self.full || case.quick,
        });
        cases
    }

    /// Says beforehand what is going to happen and how long it'll take.
    pub fn announce(&self) {
        let cases: Vec<_> = self.tables.iter().flat_map(|&t| self.cases(t)).collect();
        let seconds: f64 = cases.iter().map(Case::estimate).sum();
        println!(
            "{} cells, about {}. Ctrl-C stops; what was measured by then is kept.",
            cases.len(),
            text::duration(seconds * if self.full { 1.3 } else { 1.0 })
        );
        for case in cases.iter().filter(|case| case.too_long()) {
            let time = text::duration(case.takes.0);
            println!(
                "  not run with vfat, it would take {time}: {}",
                case.title()
            );
        }
    }

    /// Runs it all; true if every target that could be checked was met.
    pub fn run(&self, pairs: &mut Pairs) -> Result<bool> {
        let mut missed = 0;
        let mut told = 0;
        let start = Instant::now();
        for &table in &self.tables {
            let report = self.run_table(table, pairs)?;
            told += report.rows.iter().filter(|row| row.met.is_some()).count();
            missed += report
                .rows
                .iter()
                .filter(|row| row.met == Some(false))
                .count();
        }
        let took = text::duration(start.elapsed().as_secs_f64());
        println!("\n{} of {told} targets met, after {took}.", told - missed);
        Ok(missed == 0)
    }

    fn run_table(&self, table: Table, pairs: &mut Pairs) -> Result<Report> {
        let mut report = Report {
            kernel: sys::kernel()?,
            accel: sys::accel()?.into(),
            table: table.name().into(),
            title: table.title().into(),
            ..Report::default()
        };
        println!("\n{} ({})\n", table.title(), table.name());
        println!("{}", text::head(&COLUMNS));
        let repeats = if self.full { 5 } else { 3 };
        for (n, case) in self.cases(table).iter().enumerate() {
            if n > 0 {
                println!();
            }
            println!("  {}", case.title());
            let pair = if case.slow {
                &mut pairs.slow
            } else {
                &mut pairs.fast
            };
            let Some(pair) = pair else {
                println!("    not run: the slow disks aren't there");
                continue;
            };
            let rows = runner::run(case, pair, repeats, &report.rows, print);
            report.rows.extend(rows);
            self.save(&report)?;
        }
        report.complete = self.only.is_none();
        self.save(&report)?;
        Ok(report)
    }

    fn save(&self, report: &Report) -> Result<()> {
        let path = self.out.join(&report.table).with_extension("json");
        sys::write_whole(&path, &(serde_json::to_string_pretty(report)? + "\n"))?;
        sys::write_whole(
            &self.out.join("index.html"),
            &page::html(&load_all(&self.out)),
        )
    }
}

/// The disks that cells are run on.
pub struct Pairs {
    pub fast: Option<Pair>,
    pub slow: Option<Pair>,
}

/// The reports of all tables that were ever run.
fn load_all(dir: &Path) -> Vec<Report> {
    let load = |table: &Table| {
        let path = dir.join(table.name()).with_extension("json");
        serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
    };
    <Table as clap::ValueEnum>::value_variants()
        .iter()
        .filter_map(load)
        .collect()
}

fn print(row: &Row) {
    println!("{}", text::line(&COLUMNS, &cells(row)));
    if let Some(why) = &row.skipped {
        println!("    {why}");
    }
    let mut notes = Vec::new();
    if let Some((fastest, slowest)) = row.spread() {
        let (n, fastest, slowest) = (
            row.samples.len(),
            text::seconds(fastest),
            text::seconds(slowest),
        );
        notes.push(format!("{n} runs, {fastest} to {slowest}"));
    }
    for (name, value) in &row.extra {
        if *value != 0.0 || name != "cache_grown_mib" {
            notes.push(format!("{} {value:.1}", name.replace('_', " ")));
        }
    }
    if !notes.is_empty() {
        println!("{:28}{}", "", notes.join("; "));
    }
    if let (Some(target), Some(met)) = (&row.target, row.met) {
        let verdict = if met { "met" } else { "MISSED" };
        println!("{:28}target {target}: {verdict}", "");
    }
}

/// A row's cells in the columns above.
fn cells(row: &Row) -> Vec<String> {
    let Some(seconds) = row.seconds else {
        return vec![format!("  {}", row.op), row.fs.clone(), "-".into()];
    };
    vec![
        format!("  {}", row.op),
        row.fs.clone(),
        text::seconds(seconds),
        text::thousands(row.io.write_requests),
        text::thousands(row.io.write_sectors),
        text::thousands(row.io.flushes),
        text::thousands(row.io.read_requests),
        format!("{:.1}", row.average_write_kib),
        row.ratio_seconds.map(text::ratio).unwrap_or_default(),
    ]
}
