// SPDX-License-Identifier: GPL-2.0

//! Looks at the disk after each cut of a test's log.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};

use crate::check;
use crate::cut::{self, Cut, Medium};
use crate::fsck;
use crate::history::{History, Moment};
use crate::log::{self, Entry, SECTOR};
use crate::op::{Op, Outcome};
use crate::plan::{Cache, Plan, Test};
use crate::rng::Rng;
use crate::verdict::{Kind, Problem};
use crate::volume::{self, Ends, What};
use crate::work;

/// A cut after which something is wrong.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// The cut.
    pub cut: String,
    /// The steps that were acknowledged and begun.
    pub moment: String,
    /// What is wrong.
    pub problems: Vec<Problem>,
    /// Whether it is the first of its kind in the test.
    pub first: bool,
    /// The image, if it was kept: that of the first cut of a test. All can be made again.
    pub image: Option<PathBuf>,
}

/// What came of a test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Found {
    /// The test's name.
    pub test: String,
    /// Cuts that were looked at.
    pub cuts: usize,
    /// Entries of the log.
    pub entries: usize,
    /// Flushes in it.
    pub flushes: usize,
    /// Why it could not be looked at.
    pub error: Option<String>,
    /// Steps that failed and should not.
    pub bad_steps: Vec<String>,
    /// The cuts that failed.
    pub failures: Vec<Failure>,
    /// Images to be mounted, with their cuts.
    pub samples: Vec<(String, PathBuf)>,
    /// What `fsck.fat` says about the volume when nothing is wrong.
    pub usual: String,
}

/// All that is known about a test that ran.
pub struct Case<'a> {
    test: &'a Test,
    base: Vec<u8>,
    entries: Vec<Entry>,
    moments: Vec<Moment>,
    ops: Vec<Op>,
    history: History,
    bad_steps: Vec<String>,
    usual: String,
    scratch: PathBuf,
}

impl<'a> Case<'a> {
    /// Reads what the guest left in `dir`.
    pub fn load(plan: &Plan, test: &'a Test, dir: &Path) -> Result<Self> {
        let json = test.file(&dir.join(format!("guest{}", test.guest)), "json");
        let outcomes = fs::read_to_string(&json)
            .with_context(|| format!("the workload did not end: no {}", json.display()))?;
        let outcomes: Vec<Outcome> = serde_json::from_str(&outcomes)?;
        let ops = work::script(&test.work, plan.seed)?;
        ensure!(ops.len() == outcomes.len(), "the workload is another one");
        let entries = log::read(&test.file(dir, "log"), test.mark_sector())?;
        let scratch = Path::new("/tmp").join(&test.serial);
        fs::create_dir_all(&scratch)?;
        let base = fs::read(test.base_file(dir))?;
        let mut case = Self {
            test,
            moments: log::moments(&entries),
            entries,
            history: History::new(&ops, &outcomes, test.mount),
            bad_steps: bad_steps(test, &ops, &outcomes),
            ops,
            base,
            usual: String::new(),
            scratch,
        };
        let last = case.moments.last().and_then(|m| m.done);
        ensure!(
            last == case.ops.len().checked_sub(1),
            "the log ends at step {last:?} of {}",
            case.ops.len()
        );
        case.usual = case.fsck_of(&case.base)?;
        Ok(case)
    }

    fn image_file(&self) -> PathBuf {
        self.scratch.join("cut.img")
    }

    /// The volume without what is behind it.
    fn volume<'b>(&self, disk: &'b [u8]) -> &'b [u8] {
        &disk[..self.test.shape.sectors as usize * SECTOR]
    }

    fn fsck_of(&self, disk: &[u8]) -> Result<String> {
        fs::write(self.image_file(), self.volume(disk))?;
        fsck::output(&self.image_file(), "-n")
    }

    /// The medium before the first write.
    pub fn medium(&self) -> Medium<'_> {
        let volatile = self.test.cache == Cache::Volatile;
        Medium::new(self.base.clone(), &self.entries, volatile)
    }

    /// What is wrong after a cut. `medium` must not be past it.
    pub fn examine(&self, medium: &mut Medium<'_>, cut: Cut) -> Result<Vec<Problem>> {
        medium.advance(cut.at)?;
        let at = *self.moments.get(cut.at).context("a cut behind the end")?;
        medium.with_cut(cut.kept, |disk| self.look(disk, at))
    }

    fn look(&self, disk: &[u8], at: Moment) -> Result<Vec<Problem>> {
        let image = self.volume(disk);
        fs::write(self.image_file(), image)?;
        let report = fsck::run(&self.image_file(), &self.usual)?;
        let mut problems = report.problems.clone();
        let all = volume::read(image, 0, Ends::Nowhere)?;
        let longer = count_longer(&all.nodes);
        if report.longer > longer + all.shared.len() {
            let text = format!("{} chains are too long, not {longer}", report.longer);
            problems.push(Problem::new(Kind::Fsck, text));
        }
        if report.shared > 0 && all.shared.is_empty() {
            problems.push(Problem::new(Kind::Fsck, "files share clusters"));
        }
        problems.extend(excuse(&report, &all));
        // The promises hold for whoever reads the volume.
        let volumes = [
            ("", Some(volume::read(image, 0, Ends::Here)?)),
            (" (read past the end mark)", Some(all)),
            (
                " (by the second FAT)",
                volume::read(image, 1, Ends::Here).ok(),
            ),
        ];
        for (how, volume) in volumes {
            let Some(volume) = volume else { continue };
            for mut problem in check::check(&self.history, &volume, at) {
                if !problems.contains(&problem) {
                    problem.text.push_str(how);
                    problems.push(problem);
                }
            }
        }
        // After the end of a workload nothing at all may be left.
        let end = at.done == self.ops.len().checked_sub(1);
        if end && (report.found || report.lost) {
            let text = format!("after unmounting: {}", self.fsck_of(disk)?);
            problems.push(Problem::new(Kind::Fsck, text.replace('\n', " | ")));
        }
        Ok(problems)
    }

    /// The moment of a cut in words.
    pub fn moment(&self, cut: Cut) -> String {
        let Some(at) = self.moments.get(cut.at) else {
            return String::new();
        };
        let step = |step: Option<usize>| match step {
            None => "nothing".to_string(),
            Some(n) => format!("step {n}, {}", show(&self.ops, n)),
        };
        match at.done == at.begun {
            true => format!("after {}", step(at.done)),
            false => format!("in {}", step(at.begun)),
        }
    }

    /// The steps before a cut, the last `count` of them.
    pub fn steps(&self, cut: Cut, count: usize) -> Vec<String> {
        let begun = self.moments.get(cut.at).and_then(|m| m.begun).unwrap_or(0);
        let from = (begun + 1).saturating_sub(count);
        (from..=begun.min(self.ops.len().saturating_sub(1)))
            .map(|n| format!("{n}: {}", show(&self.ops, n)))
            .collect()
    }

    /// Writes the image after a cut.
    pub fn save(&self, medium: &mut Medium<'_>, cut: Cut, path: &Path) -> Result<()> {
        medium.advance(cut.at)?;
        medium.with_cut(cut.kept, |disk| fs::write(path, self.volume(disk)))?;
        Ok(())
    }
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

fn show(ops: &[Op], step: usize) -> String {
    ops.get(step).map_or(String::new(), |op| format!("{op:?}"))
}

/// Steps that failed without a reason. On a volume that gets full, some have one.
fn bad_steps(test: &Test, ops: &[Op], outcomes: &[Outcome]) -> Vec<String> {
    let full = work::ALL.iter().any(|w| w.name == test.work && w.small);
    let failed = outcomes.iter().enumerate().filter_map(|(step, outcome)| {
        let error = outcome.error.as_ref()?;
        let excused = full
            && ["No space", "has no name", "No such file"]
                .iter()
                .any(|text| error.contains(text));
        (!excused).then(|| format!("step {step}, {}: {error}", show(ops, step)))
    });
    failed.collect()
}

/// What `fsck.fat` says about objects with two names, and is wrong otherwise: a directory is in one
/// of two places only; and space behind the end of a file that is cut off in memory under one name
/// is free then under the other.
fn excuse(report: &fsck::Report, volume: &volume::Volume) -> Vec<Problem> {
    let two = |path: &&String| {
        let path = path.trim_start_matches('/');
        volume.shared.iter().any(|(a, b)| a == path || b == path)
    };
    let parents = report.parents.iter().map(|p| (p, "an invalid '..'"));
    let broken = report.broken.iter().map(|p| (p, "a free cluster"));
    parents
        .chain(broken)
        .filter(|(path, _)| !two(path))
        .map(|(path, what)| Problem::new(Kind::Fsck, format!("{path}: {what}")))
        .collect()
}

fn count_longer(nodes: &[volume::Node]) -> usize {
    let one = |node: &volume::Node| match &node.what {
        What::File { longer, .. } => usize::from(*longer),
        What::Dir { nodes, .. } => count_longer(nodes),
    };
    nodes.iter().map(one).sum()
}

/// Looks at all cuts of a test; every `every`th is kept to be mounted.
pub fn test(plan: &Plan, test: &Test, dir: &Path, every: usize) -> Found {
    let mut found = Found {
        test: test.name.clone(),
        ..Found::default()
    };
    if let Err(e) = fill(plan, test, dir, every, &mut found) {
        found.error = Some(format!("{e:#}"));
    }
    found
}

fn fill(plan: &Plan, test: &Test, dir: &Path, every: usize, found: &mut Found) -> Result<()> {
    let case = Case::load(plan, test, dir)?;
    let mut rng = Rng::named(plan.seed, &test.name);
    let volatile = test.cache == Cache::Volatile;
    let cuts = cut::choose(&case.entries, volatile, test.cuts, &mut rng);
    found.entries = case.entries.len();
    found.flushes = case.entries.iter().filter(|e| **e == Entry::Flush).count();
    found.bad_steps = case.bad_steps.clone();
    found.usual = case.usual.clone();
    let skip = rng.below(every as u64) as usize;
    let mut medium = case.medium();
    let mut kinds = BTreeSet::new();
    for (i, cut) in cuts.into_iter().enumerate() {
        let problems = case.examine(&mut medium, cut)?;
        found.cuts += 1;
        if problems.is_empty() {
            if i % every == skip {
                let path = dir.join(format!("samples/{}-{}.img", test.serial, show_cut(cut)));
                case.save(&mut medium, cut, &path)?;
                found.samples.push((cut.to_string(), path));
            }
            continue;
        }
        let first = problems.iter().filter(|p| kinds.insert(p.kind)).count() > 0;
        let keep = found.failures.is_empty();
        let path = dir.join(format!("failed/{}-{}.img", test.serial, show_cut(cut)));
        if keep {
            case.save(&mut medium, cut, &path)?;
        }
        found.failures.push(Failure {
            cut: cut.to_string(),
            moment: case.moment(cut),
            problems,
            first,
            image: keep.then_some(path),
        });
    }
    Ok(())
}

fn show_cut(cut: Cut) -> String {
    cut.to_string().replace(':', "-")
}
