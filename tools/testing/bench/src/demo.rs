// SPDX-License-Identifier: GPL-2.0

//! The demonstration: the benchmark's best-known loop on both file systems, then a real directory
//! tree, checked by everyone who can read it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::record::Row;
use crate::runner::{self, Pair};
use crate::stage::Stage;
use crate::sys;
use crate::tables::demo_case;
use crate::text::{self, left, right, Column};
use crate::tree::Tree;

/// The tree's name on the volumes.
const TOP: &str = "library";

/// rvfat is asked to be this many times as fast at least, by cluster size. The benchmark's own
/// targets are higher; a demonstration should not fail because the machine was busy for a moment.
const FASTER: [(u32, f64); 2] = [(512, 300.0), (4096, 100.0)];

/// How often a loop that takes no time to speak of is repeated, for its median.
const REPEATS: usize = 3;

const LOOPS: [Column; 7] = [
    left("clusters", 9),
    left("file system", 11),
    right("time", 9),
    right("write requests", 14),
    right("sectors", 9),
    right("flushes", 7),
    right("", 14),
];

const TREES: [Column; 6] = [
    left("file system", 11),
    right("copied in", 9),
    left("  fsck.fat -n", 13),
    left("read by vfat", 12),
    left("by rvfat", 8),
    left("by mtools", 9),
];

/// The demonstration's results, as in its file.
#[derive(Serialize)]
struct Results {
    kernel: String,
    accel: String,
    rows: Vec<Row>,
    fsck: BTreeMap<String, i32>,
}

/// What is run and where its results go.
pub struct Demo {
    pub tree: PathBuf,
    pub out: PathBuf,
}

impl Demo {
    /// Runs it all; true if everything held.
    pub fn run(&self, pair: &mut Pair) -> Result<bool> {
        let (kernel, accel) = (sys::kernel()?, sys::accel()?);
        println!("\nThe kernel's own vfat and rvfat, side by side on Linux {kernel}");
        println!(
            "(one boot, two equal virtio disks, guest runs on {})",
            accel.to_uppercase()
        );
        let mut failures = Vec::new();
        let rows = loops(pair, &mut failures);
        let fsck = self.trees(pair, &mut failures)?;
        let results = Results {
            kernel,
            accel: accel.into(),
            rows,
            fsck,
        };
        let json = serde_json::to_string_pretty(&results)? + "\n";
        sys::write_whole(&self.out.join("demo.json"), &json)?;
        println!();
        for failure in &failures {
            println!("FAILED: {failure}");
        }
        if failures.is_empty() {
            println!("Everything held. The figures are in build/demo.json.");
        }
        Ok(failures.is_empty())
    }

    /// Copies a tree to both volumes and has it checked.
    fn trees(&self, pair: &mut Pair, failures: &mut Vec<String>) -> Result<BTreeMap<String, i32>> {
        let tree = Tree::load(&self.tree)?;
        println!("\n2. A real directory tree\n");
        println!(
            "   {} files in {} folders, {:.1} MB: the source of Rust's standard library. It is copied",
            text::thousands(tree.files.len() as u64),
            text::thousands(tree.folders.len() as u64),
            tree.bytes() as f64 / 1e6
        );
        println!(
            "   to the volumes of part 1; then the volumes are checked, and read by both drivers"
        );
        println!("   and by mtools, and all that is read is compared with the source.\n");
        println!(" {}", text::head(&TREES));
        let mut status = BTreeMap::new();
        let Pair { vfat, rvfat } = pair;
        let mut copied = Vec::new();
        for own in [&mut *vfat, &mut *rvfat] {
            copied.push(copy_in(&tree, own).map_err(|e| format!("{}: {e:#}", own.name)));
        }
        for (own, copied) in [&*vfat, &*rvfat].into_iter().zip(copied) {
            let (code, text) = own.disk.fsck()?;
            if code != 0 {
                failures.push(format!(
                    "fsck.fat on {}'s volume: {}",
                    own.name,
                    text.trim()
                ));
            }
            status.insert(own.name.clone(), code);
            let mut verdict = |reader: &str, copy: Result<Tree>| {
                let found = match copy {
                    Ok(copy) => tree.difference(&copy),
                    Err(e) => Some(format!("{e:#}")),
                };
                let word = if found.is_none() { "equal" } else { "DIFFERS" };
                failures.extend(found.map(|what| {
                    format!("{}'s volume, read by {reader}: {what} differs", own.name)
                }));
                word.to_owned()
            };
            let cells = [
                own.name.clone(),
                copied
                    .as_ref()
                    .map_or("failed".into(), |s| text::seconds(*s)),
                format!("  {}", if code == 0 { "clean" } else { "NOT CLEAN" }),
                verdict("vfat", read_by(own, vfat)),
                verdict("rvfat", read_by(own, rvfat)),
                verdict("mtools", read_by_mtools(own)),
            ];
            println!(" {}", text::line(&TREES, &cells));
            failures.extend(copied.err());
        }
        Ok(status)
    }
}

/// The first part: the published loop, for both sizes of cluster.
fn loops(pair: &mut Pair, failures: &mut Vec<String>) -> Vec<Row> {
    println!("\n1. Giving files their space on a sync mount\n");
    println!("   fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 MiB) for 16 open files. The FAT32 volumes are fresh,");
    println!("   nothing of them is in memory, and mount -o sync has every write waited for.\n");
    println!(" {}", text::head(&LOOPS));
    let mut all = Vec::new();
    for (cluster, faster) in FASTER {
        if !all.is_empty() {
            println!();
        }
        let case = demo_case(cluster);
        let mut rows = runner::run(&case, pair, REPEATS, &[], |row| {
            println!(" {}", text::line(&LOOPS, &cells(row)));
        });
        for row in &rows {
            if let Some(why) = &row.skipped {
                failures.push(format!("{}: {why}", row.fs));
            }
        }
        if let Some(row) = rows.last().filter(|row| row.seconds.is_some()) {
            check(row, faster, failures);
        }
        for row in &mut rows {
            // Those of the benchmark; the demonstration has its own.
            (row.target, row.met) = (None, None);
        }
        all.extend(rows);
    }
    all
}

/// Holds rvfat's row against what the demonstration promises.
fn check(row: &Row, faster: f64, failures: &mut Vec<String>) {
    let clusters = text::size(row.cluster.into());
    let most = 4 * row.files;
    if row.io.write_requests > most {
        let requests = row.io.write_requests;
        failures.push(format!(
            "{clusters} clusters: {requests} write requests, more than {most}"
        ));
    }
    if let Some(ratio) = row.ratio_seconds.filter(|ratio| *ratio < faster) {
        let ratio = text::ratio(ratio);
        failures.push(format!(
            "{clusters} clusters: {ratio} as fast as vfat, less than {faster}x"
        ));
    }
}

fn cells(row: &Row) -> Vec<String> {
    let clusters = text::size(row.cluster.into());
    let Some(seconds) = row.seconds else {
        return vec![clusters, row.fs.clone(), "-".into()];
    };
    let ratio = |ratio| format!("{} as fast", text::ratio(ratio));
    vec![
        clusters,
        row.fs.clone(),
        text::seconds(seconds),
        text::thousands(row.io.write_requests),
        text::thousands(row.io.write_sectors),
        text::thousands(row.io.flushes),
        row.ratio_seconds.map(ratio).unwrap_or_default(),
    ]
}

/// Copies the tree and unmounts; the time includes the writing of all that is dirty.
fn copy_in(tree: &Tree, stage: &mut Stage) -> Result<f64> {
    stage.remount_cold("async")?;
    let sample = stage.measure(|progress| {
        tree.store(&stage.path(TOP), progress)?;
        nix::unistd::sync();
        Ok(())
    })?;
    stage.unmount()?;
    Ok(sample.seconds)
}

/// Reads what is on a volume through a driver.
fn read_by(volume: &Stage, driver: &Stage) -> Result<Tree> {
    let mut reader = volume.with_driver_of(driver)?;
    reader.remount_cold("ro")?;
    let tree = Tree::load(&reader.path(TOP))?;
    reader.unmount()?;
    Ok(tree)
}

/// Reads what is on a volume without any driver of the kernel.
fn read_by_mtools(volume: &Stage) -> Result<Tree> {
    let out = Path::new("/tmp/mtools").join(&volume.name);
    fs::create_dir_all(&out)?;
    sys::run(
        Command::new("mcopy")
            .env("MTOOLSRC", "/dev/null")
            .args(["-s", "-n", "-i"])
            .arg(volume.disk.device())
            .arg(format!("::/{TOP}"))
            .arg(&out),
    )
    .context("reading with mtools")?;
    let tree = Tree::load(&out.join(TOP))?;
    fs::remove_dir_all(&out)?;
    Ok(tree)
}
