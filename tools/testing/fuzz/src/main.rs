// SPDX-License-Identifier: GPL-2.0

//! Fuzzes the on-disk format layer. Workers run in processes of their own; this one hands out the
//! time and reports in KTAP.

mod corpus;
mod cover;
mod mutate;
mod worker;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use rvfat_fuzz_targets::TARGETS;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Coverage-guided fuzzing of the rvfat on-disk format layer
#[derive(Parser)]
struct Cli {
    /// Folder with the corpus in text form
    #[arg(long, global = true, default_value = "tools/testing/fuzz/corpus")]
    corpus: PathBuf,
    /// Folder for what a run finds
    #[arg(long, global = true, default_value = "build/fuzz")]
    work: PathBuf,
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Fuzz targets, all of them if none is given
    Run {
        /// Time for all together
        #[arg(long)]
        seconds: u64,
        /// Processes at once
        #[arg(long)]
        jobs: usize,
        /// Start of the random sequence
        #[arg(long, default_value_t = 1)]
        seed: u64,
        targets: Vec<String>,
    },
    /// Run one target on input files
    Replay { target: String, files: Vec<PathBuf> },
    /// Reduce the corpus, together with what runs have found
    Minimise { targets: Vec<String> },
    /// List the targets
    List,
    /// Fuzz one target in this process
    #[command(hide = true)]
    Worker {
        #[arg(long)]
        seconds: f64,
        #[arg(long)]
        seed: u64,
        target: String,
    },
}

/// The function of a target.
fn target(name: &str) -> Result<fn(&[u8])> {
    TARGETS
        .iter()
        .find(|t| t.0 == name)
        .map(|t| t.1)
        .with_context(|| format!("no target {name}"))
}

/// What became of a target.
#[derive(Clone, Default)]
struct Outcome {
    /// Workers that have ended.
    ended: usize,
    executions: u64,
    edges: u64,
    inputs: u64,
    /// Each crash: its path and what it said.
    crashes: Vec<(String, String)>,
    /// A worker ended in another way.
    broken: Option<String>,
}

/// Starts a worker and follows its output.
fn follow(cli: &Cli, name: &str, seconds: f64, seed: u64, state: &Mutex<Outcome>) -> Result<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("--corpus")
        .arg(&cli.corpus)
        .arg("--work")
        .arg(&cli.work)
        .args(["worker", "--seconds", &seconds.to_string()])
        .args(["--seed", &seed.to_string(), name])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let out = child.stdout.take().context("no output")?;
    let (mut before, mut done, mut crash) = (0, false, None::<(String, String)>);
    for line in BufReader::new(out).lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        if let ["at" | "done", n, edges, inputs] = words[..] {
            let n: u64 = n.parse()?;
            let mut s = state.lock().expect("state");
            s.executions += n - before;
            before = n;
            s.edges = s.edges.max(edges.parse()?);
            s.inputs = s.inputs.max(inputs.parse()?);
            done = words[0] == "done";
        } else if let ["crash", path] = words[..] {
            crash = Some((path.into(), String::new()));
        } else if let Some((_, said)) = &mut crash {
            said.push_str(&line);
            said.push('\n');
        }
    }
    let status = child.wait()?;
    let mut s = state.lock().expect("state");
    s.ended += 1;
    match crash {
        Some(crash) => s.crashes.push(crash),
        None if done && status.success() => {}
        None => s.broken = Some(format!("the worker ended early: {status}")),
    }
    Ok(())
}

/// Fuzzes and reports. Returns whether nothing was found.
fn run(cli: &Cli, seconds: u64, jobs: usize, seed: u64, names: &[String]) -> Result<bool> {
    for n in names {
        target(n)?;
    }
    let all = TARGETS.iter().map(|t| t.0.to_string());
    let names: Vec<String> = all
        .filter(|n| names.is_empty() || names.contains(n))
        .collect();
    // With many processors several workers share a target.
    let each = jobs.div_ceil(names.len());
    let total = names.len() * each;
    let seconds = seconds as f64 / total.div_ceil(jobs) as f64;
    println!("KTAP version 1\n1..{}", names.len());

    let states: Vec<Mutex<Outcome>> = names.iter().map(|_| Mutex::default()).collect();
    let next = Mutex::new(0);
    let report = Mutex::new(0);
    let failed = Mutex::new(false);
    let start = Instant::now();
    std::thread::scope(|scope| {
        let slot = || loop {
            let n = {
                let mut next = next.lock().expect("next");
                *next += 1;
                *next - 1
            };
            if n >= total {
                return;
            }
            let (i, state) = (n / each, &states[n / each]);
            if let Err(e) = follow(cli, &names[i], seconds, seed + n as u64, state) {
                let mut s = state.lock().expect("state");
                s.ended += 1;
                s.broken = Some(format!("{e:#}"));
            }
            let s = state.lock().expect("state").clone();
            if s.ended == each {
                let mut number = report.lock().expect("report");
                *number += 1;
                *failed.lock().expect("failed") |= !result(&names[i], *number, &s);
            }
        };
        for _ in 0..jobs.min(total) {
            scope.spawn(slot);
        }
        scope.spawn(|| progress(&names, &states, each, start));
    });
    let failed = *failed.lock().expect("failed");
    Ok(!failed)
}

/// Says every ten seconds what is under way.
fn progress(names: &[String], states: &[Mutex<Outcome>], each: usize, start: Instant) {
    let mut told = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(200));
        let now: Vec<Outcome> = states
            .iter()
            .map(|s| s.lock().expect("state").clone())
            .collect();
        if now.iter().all(|s| s.ended == each) {
            return;
        }
        if told.elapsed() < Duration::from_secs(10) {
            continue;
        }
        told = Instant::now();
        let busy: Vec<String> = names
            .iter()
            .zip(&now)
            .filter(|(_, s)| s.ended < each && s.executions > 0)
            .map(|(n, s)| {
                format!(
                    "{n} {} edges, {} million",
                    s.edges,
                    s.executions / 1_000_000
                )
            })
            .collect();
        let ended = now.iter().filter(|s| s.ended == each).count();
        let secs = start.elapsed().as_secs();
        println!(
            "# {secs} s, {ended} of {} targets: {}",
            names.len(),
            busy.join("; ")
        );
    }
}

/// Reports a target. Returns whether it passed.
fn result(name: &str, number: usize, s: &Outcome) -> bool {
    for (path, said) in &s.crashes {
        println!("# {name}: {}", said.trim_end().replace('\n', "\n#   "));
        println!("#   input: {path}");
        println!("#   replay: tools/testing/fuzz/fuzz.sh replay {name} {path}");
    }
    if let Some(why) = &s.broken {
        println!("# {name}: {why}");
    }
    println!(
        "# {name}: {} inputs tried, {} edges, {} inputs kept",
        s.executions, s.edges, s.inputs
    );
    let passed = s.crashes.is_empty() && s.broken.is_none() && s.executions > 0;
    println!("{} {number} {name}", if passed { "ok" } else { "not ok" });
    passed
}

fn replay(name: &str, files: &[PathBuf]) -> Result<()> {
    let run = target(name)?;
    for f in files {
        let input = std::fs::read(f).with_context(|| f.display().to_string())?;
        println!("{}: {} bytes: {input:02x?}", f.display(), input.len());
        run(&input);
        println!("{}: nothing is wrong", f.display());
    }
    Ok(())
}

fn minimise(cli: &Cli, names: &[String]) -> Result<()> {
    for (name, _) in TARGETS {
        if names.is_empty() || names.iter().any(|n| n == name) {
            let (before, after) = worker::minimise(name, &cli.corpus, &cli.work)?;
            let size = size(&cli.corpus.join(format!("{name}.hex")));
            println!("{name}: {before} inputs, {after} left, {size} bytes");
        }
    }
    Ok(())
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len())
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let clean = match &cli.what {
        What::Run {
            seconds,
            jobs,
            seed,
            targets,
        } => run(&cli, *seconds, (*jobs).max(1), *seed, targets)?,
        What::Worker {
            seconds,
            seed,
            target,
        } => {
            let time = Duration::from_secs_f64(*seconds);
            worker::run(target, &cli.corpus, &cli.work, *seed, time)?
        }
        What::Replay { target, files } => {
            replay(target, files)?;
            true
        }
        What::Minimise { targets } => {
            minimise(&cli, targets)?;
            true
        }
        What::List => {
            TARGETS.iter().for_each(|t| println!("{}", t.0));
            true
        }
    };
    std::process::exit(i32::from(!clean));
}
