// SPDX-License-Identifier: GPL-2.0

//! What `fsck.fat` says, line by line. What is not known to be harmless is a violation.

use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context, Result};

use crate::verdict::{Kind, Problem};

/// What `fsck.fat` found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files whose chain is longer than their size.
    pub longer: usize,
    /// Pairs of files that share clusters.
    pub shared: usize,
    /// Directories whose `..` names another one.
    pub parents: Vec<String>,
    /// Files whose chain leads to a free cluster.
    pub broken: Vec<String>,
    /// Clusters that belong to no file.
    pub lost: bool,
    /// Whether anything but lost clusters was found.
    pub found: bool,
    /// What must not be.
    pub problems: Vec<Problem>,
}

/// Runs `fsck.fat` on an image; `usual` is what it says about the volume when nothing is wrong.
pub fn run(image: &Path, usual: &str) -> Result<Report> {
    Ok(parse(&output(image, "-n")?, usual))
}

/// What `fsck.fat` says with an option, `-n` or `-a`.
pub fn output(image: &Path, option: &str) -> Result<String> {
    let out = Command::new("fsck.fat")
        .arg(option)
        .arg(image)
        .output()
        .context("can't start fsck.fat")?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let errors = String::from_utf8_lossy(&out.stderr);
    ensure!(
        matches!(out.status.code(), Some(0 | 1)),
        "fsck.fat {option} failed ({}): {text}{errors}",
        out.status
    );
    Ok(text + &errors)
}

/// Lines that say nothing, or what is in the list of what a cut may leave.
fn is_harmless(line: &str) -> bool {
    const WHOLE: [&str; 11] = [
        "Dirty bit is set. Fs was not properly unmounted and some data may be corrupt.",
        " Automatically removing dirty bit.",
        "There are differences between boot sector and its backup.",
        "This is mostly harmless. Differences: (offset:original/backup)",
        "  65:01/00",
        "  Not automatically fixing this.",
        "FATs differ but appear to be intact.",
        "  Using first FAT.",
        "  Auto-correcting.",
        "Leaving filesystem unchanged.",
        "",
    ];
    const START: [&str; 3] = [
        "fsck.fat ",
        "Free cluster summary wrong ",
        "Free cluster summary uninitialized ",
    ];
    WHOLE.contains(&line)
        || START.iter().any(|start| line.starts_with(start))
        || (line.contains(" files, ") && line.ends_with(" clusters"))
}

fn parse(text: &str, usual: &str) -> Report {
    let mut report = Report::default();
    let lines: Vec<&str> = text.lines().collect();
    let mut rest = lines.as_slice();
    // Second names, which lost their chain to the first.
    let mut second = Vec::new();
    while let Some((line, tail)) = rest.split_first() {
        rest = tail;
        let next = |i: usize| tail.get(i).copied().unwrap_or_default();
        if usual.lines().any(|u| u == *line) {
            continue;
        } else if line.starts_with("Reclaimed ") || *line == "Reclaiming unconnected clusters." {
            report.lost = true;
            continue;
        } else if is_harmless(line) {
            let says_nothing = line.starts_with("fsck.fat ") || line.ends_with(" clusters");
            report.found |= !says_nothing && *line != "Leaving filesystem unchanged.";
            continue;
        }
        report.found = true;
        let size = next(0).strip_prefix("  File size is ");
        if line.starts_with('/') && size.is_some_and(|s| s.contains(" chain length is > ")) {
            report.longer += 1;
            rest = tail.get(2..).unwrap_or(&[]);
        } else if line.ends_with("  and") && next(1) == "  share clusters." {
            report.shared += 1;
            if next(2) == "  Truncating second to 0 bytes." {
                second.push(next(0));
            }
            rest = tail.get(3..).unwrap_or(&[]);
        } else if next(0) == "  Invalid '..' entry in the second slot. Fixing." {
            report.parents.push((*line).to_string());
            rest = tail.get(1..).unwrap_or(&[]);
        } else if line.starts_with('/') && next(0).starts_with("  Contains a free cluster ") {
            report.broken.push((*line).to_string());
            rest = tail.get(1..).unwrap_or(&[]);
        } else if second.contains(line) && size.is_some_and(|s| s.ends_with(" is 0 bytes.")) {
            rest = tail.get(2..).unwrap_or(&[]);
        } else {
            // What is said about a file follows its path, indented.
            let more = tail
                .iter()
                .take_while(|l| line.starts_with('/') && l.starts_with(' '));
            let text: Vec<&str> = more.map(|l| l.trim()).collect();
            rest = tail.get(text.len()..).unwrap_or(&[]);
            let text = format!("{} {}", line.trim(), text.join(" "));
            report.problems.push(Problem::new(Kind::Fsck, text.trim()));
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_cut_may_leave() {
        let text = "fsck.fat 4.2 (2021-01-31)\nWarning: small\nDirty bit is set. Fs was not \
            properly unmounted and some data may be corrupt.\n Automatically removing dirty bit.\n\
            Reclaimed 3 unused clusters (1536 bytes).\nFree cluster summary wrong (3 vs. really 4)\n  \
            Auto-correcting.\n\nLeaving filesystem unchanged.\n/x: 3 files, 4/99 clusters\n";
        let report = parse(text, "Warning: small\n");
        assert!(report.lost && report.found && report.problems.is_empty());
    }

    #[test]
    fn long_chains_and_shared_ones_are_counted() {
        let text = "/a.txt\n  File size is 100 bytes, cluster chain length is > 512 bytes.\n  \
            Truncating file to 100 bytes.\n/a  and\n/b\n  share clusters.\n  Truncating second to \
            0 bytes.\n/b\n  File size is 900 bytes, cluster chain length is 0 bytes.\n  Truncating \
            file to 0 bytes.\n";
        let report = parse(text, "");
        assert_eq!((report.longer, report.shared), (1, 1));
        assert!(report.problems.is_empty());
    }

    #[test]
    fn all_else_is_a_violation() {
        for text in [
            "/a\n  Contains a bad cluster (7). Assuming EOF.\n",
            "/a\n  File size is 600 bytes, cluster chain length is 512 bytes.\n",
            "Orphaned long file name part \"x\"\n",
            "FATs differ - using second FAT.\n",
        ] {
            assert!(!parse(text, "").problems.is_empty(), "{text}");
        }
    }
}
