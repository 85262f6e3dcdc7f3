// SPDX-License-Identifier: GPL-2.0

//! Looks at all tests, and says what came of them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use anyhow::{Context, Result};

use crate::cut::Cut;
use crate::examine::{self, Case, Found};
use crate::mounted;
use crate::plan::{Plan, Test};
use crate::verdict::Kind;

/// Looks at the cuts of all tests in `dir`.
pub fn check(dir: &Path, every: usize) -> Result<()> {
    let plan = Plan::read(dir)?;
    for sub in ["samples", "failed"] {
        let _ = fs::remove_dir_all(dir.join(sub));
        fs::create_dir_all(dir.join(sub))?;
    }
    let next = AtomicUsize::new(0);
    let all = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(test) = plan.tests.get(i) else { break };
                let found = examine::test(&plan, test, dir, every.max(1));
                if let Ok(mut all) = all.lock() {
                    all.insert(i, found);
                }
            });
        }
    });
    let all = all.into_inner().unwrap_or_default();
    let all: Vec<Found> = all.into_values().collect();
    fs::write(dir.join("found.json"), serde_json::to_string_pretty(&all)?)?;
    mounted::prepare(dir, &plan.fs, &all)
}

fn find<'a>(plan: &'a Plan, name: &str) -> Result<&'a Test> {
    let test = plan
        .tests
        .iter()
        .find(|t| t.name == name || t.serial == name);
    test.with_context(|| format!("no test {name} in the plan"))
}

/// Looks at one cut again.
pub fn replay(dir: &Path, name: &str, cut: &str) -> Result<()> {
    let plan = Plan::read(dir)?;
    let test = find(&plan, name)?;
    let cut: Cut = cut.parse()?;
    let case = Case::load(&plan, test, dir)?;
    let mut medium = case.medium();
    let problems = case.examine(&mut medium, cut)?;
    let path = dir.join(format!("failed/replay-{}.img", test.serial));
    case.save(&mut medium, cut, &path)?;
    println!("{}, {:?}: {}", test.name, test.shape, case.moment(cut));
    println!("the last steps:");
    case.steps(cut, 12).iter().for_each(|s| println!("  {s}"));
    println!("the image: {}", path.display());
    for problem in &problems {
        println!("{}: {}", problem.kind, problem.text);
    }
    if problems.is_empty() {
        println!("nothing is wrong");
    }
    Ok(())
}

/// Shows a workload's steps.
pub fn steps(dir: &Path, name: &str) -> Result<()> {
    let plan = Plan::read(dir)?;
    let test = find(&plan, name)?;
    let ops = crate::work::script(&test.work, plan.seed)?;
    for (i, op) in ops.iter().enumerate() {
        println!("{i}: {op:?}");
    }
    Ok(())
}

/// Says what came of all tests; the last line counts them.
pub fn report(dir: &Path, guests: i32, inform: bool) -> Result<()> {
    let plan = Plan::read(dir)?;
    let text = fs::read_to_string(dir.join("found.json")).context("nothing was checked")?;
    let mut all: Vec<Found> = serde_json::from_str(&text)?;
    let mounted = mounted::collect(dir, &mut all)?;
    let mut kinds: BTreeMap<Kind, usize> = BTreeMap::new();
    let (mut passed, mut failed) = (0, 0);
    for found in &all {
        let broken = found.error.is_some() || !found.bad_steps.is_empty();
        let bad = broken || !found.failures.is_empty();
        if !bad || (inform && !broken) {
            passed += 1;
        } else {
            failed += 1;
        }
        if bad {
            print_found(found);
        }
        for failure in &found.failures {
            let mut seen: Vec<Kind> = failure.problems.iter().map(|p| p.kind).collect();
            seen.sort_unstable();
            seen.dedup();
            seen.into_iter()
                .for_each(|k| *kinds.entry(k).or_default() += 1);
        }
    }
    let cuts: usize = all.iter().map(|f| f.cuts).sum();
    let bad: usize = all.iter().map(|f| f.failures.len()).sum();
    let entries: usize = all.iter().map(|f| f.entries).sum();
    let flushes: usize = all.iter().map(|f| f.flushes).sum();
    println!();
    println!(
        "{}, seed {}: {} workloads wrote logs of {entries} entries with {flushes} flushes",
        plan.fs,
        plan.seed,
        all.len()
    );
    println!(
        "{cuts} cuts were checked, {mounted} images were mounted; {bad} cuts violate the promises"
    );
    for (kind, count) in &kinds {
        println!("  {count:5} {kind}");
    }
    println!();
    if guests != 0 {
        println!(
            "a guest ended with status {guests}: see {}/guest*",
            dir.display()
        );
        failed += 1;
    }
    println!("{passed} passed, {failed} failed, 0 skipped");
    if failed > 0 {
        std::process::exit(1);
    }
    Ok(())
}

fn print_found(found: &Found) {
    println!(
        "{}: {} of {} cuts",
        found.test,
        found.failures.len(),
        found.cuts
    );
    if let Some(error) = &found.error {
        println!("  {error}");
    }
    for step in found.bad_steps.iter().take(3) {
        println!("  {step}");
    }
    for failure in found.failures.iter().filter(|f| f.first).take(4) {
        println!("  cut {} ({})", failure.cut, failure.moment);
        for problem in failure.problems.iter().take(4) {
            println!("    {}: {}", problem.kind, problem.text);
        }
        if let Some(image) = &failure.image {
            println!("    {}", image.display());
        }
    }
}
