// SPDX-License-Identifier: GPL-2.0

//! One process that fuzzes one target for some time.
//!
//! It tells what it does in lines on its output: `at N EDGES INPUTS` once a second, `crash PATH`
//! and the message, and at the end `done` with the same numbers.

use crate::cover::Coverage;
use crate::mutate::{mutate, Rng};
use crate::{corpus, target};
use anyhow::Result;
use std::collections::HashSet;
use std::panic::{catch_unwind, set_hook};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// An input that takes longer than this counts as a crash.
const LIMIT: Duration = Duration::from_secs(5);

/// How often inputs of other workers are looked for.
const EXCHANGE: Duration = Duration::from_secs(10);

/// What the last panic said.
static MESSAGE: Mutex<String> = Mutex::new(String::new());

/// The input that is being executed, for the watchdog.
static CURRENT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The number of the execution.
static NUMBER: AtomicU64 = AtomicU64::new(0);

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

/// Where a run keeps the inputs of a target.
pub fn inputs_dir(work: &Path, target: &str) -> PathBuf {
    work.join("inputs").join(target)
}

/// Where a run keeps what crashes a target.
pub fn crash_dir(work: &Path, target: &str) -> PathBuf {
    work.join("crash").join(target)
}

struct Worker {
    run: fn(&[u8]),
    coverage: Coverage,
    pool: Vec<Vec<u8>>,
    known: HashSet<PathBuf>,
    inputs: PathBuf,
}

impl Worker {
    /// Executes an input; gives what a panic said.
    fn execute(&mut self, input: &[u8]) -> Option<String> {
        input.clone_into(&mut lock(&CURRENT));
        NUMBER.fetch_add(1, Relaxed);
        self.coverage.reset();
        let run = self.run;
        match catch_unwind(|| run(input)) {
            Ok(()) => None,
            Err(_) => Some(std::mem::take(&mut *lock(&MESSAGE))),
        }
    }

    /// Executes an input and keeps it if it does something new.
    fn consider(&mut self, input: &[u8], save: bool) -> Result<Option<String>> {
        let said = self.execute(input);
        if said.is_none() && self.coverage.is_new() {
            self.pool.push(input.to_vec());
            if save {
                self.known.insert(corpus::keep(&self.inputs, input)?);
            }
        }
        Ok(said)
    }

    /// Takes over what other workers have found.
    fn exchange(&mut self) -> Result<Option<(Vec<u8>, String)>> {
        for (path, input) in corpus::kept(&self.inputs) {
            if self.known.insert(path) {
                if let Some(said) = self.consider(&input, false)? {
                    return Ok(Some((input, said)));
                }
            }
        }
        Ok(None)
    }

    /// Makes an input shorter, as long as it is `still` of use.
    fn shorten(&mut self, mut input: Vec<u8>, still: impl Fn(&mut Self, &[u8]) -> bool) -> Vec<u8> {
        let mut step = input.len() / 2;
        while step > 0 {
            let mut at = 0;
            while at < input.len() {
                let mut less = input.clone();
                less.drain(at..(at + step).min(input.len()));
                if still(self, &less) {
                    input = less;
                } else {
                    at += step;
                }
            }
            step /= 2;
        }
        input
    }

    fn fuzz(&mut self, seed: u64, time: Duration) -> Result<Option<(Vec<u8>, String)>> {
        let mut rng = Rng::new(seed);
        let start = Instant::now();
        let (mut told, mut exchanged) = (start, start);
        loop {
            for _ in 0..500 {
                // Half of the time one of the newest.
                let last = self.pool.len();
                let recent = if rng.below(2) == 0 {
                    last
                } else {
                    last.min(16)
                };
                let mut input = self.pool[last - 1 - rng.below(recent)].clone();
                let other = self.pool[rng.below(last)].clone();
                mutate(&mut rng, &mut input, &other);
                if let Some(said) = self.consider(&input, true)? {
                    return Ok(Some((input, said)));
                }
            }
            let now = Instant::now();
            if now - start >= time {
                return Ok(None);
            }
            if now - told >= Duration::from_secs(1) {
                told = now;
                self.tell("at");
            }
            if now - exchanged >= EXCHANGE {
                exchanged = now;
                if let Some(crash) = self.exchange()? {
                    return Ok(Some(crash));
                }
            }
        }
    }

    fn tell(&self, what: &str) {
        let n = NUMBER.load(Relaxed);
        println!("{what} {n} {} {}", self.coverage.edges(), self.pool.len());
    }
}

/// The processor time that this process has used: how long an input takes must not depend on what
/// else runs.
fn used() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default();
    // User and system time, in hundredths of a second (proc(5): fields 14 and 15).
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = times.filter_map(|t| t.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// Ends the process if one input takes too long.
fn watchdog(dir: PathBuf) {
    let mut last = (0, used());
    loop {
        std::thread::sleep(Duration::from_millis(250));
        let n = NUMBER.load(Relaxed);
        if n != last.0 {
            last = (n, used());
        } else if used() - last.1 > LIMIT {
            let input = lock(&CURRENT).clone();
            match corpus::keep(&dir, &input) {
                Ok(path) => println!("crash {}\nno end after {LIMIT:?}", path.display()),
                Err(e) => println!("crash -\nno end after {LIMIT:?}, and not kept: {e}"),
            }
            std::process::exit(1);
        }
    }
}

/// Fuzzes `name` for `time`. Returns whether nothing was found.
pub fn run(name: &str, seeds: &Path, work: &Path, seed: u64, time: Duration) -> Result<bool> {
    let mut worker = Worker {
        run: target(name)?,
        coverage: Coverage::new(),
        pool: Vec::new(),
        known: HashSet::new(),
        inputs: inputs_dir(work, name),
    };
    anyhow::ensure!(
        worker.coverage.counters() > 0,
        "built without instrumentation: use tools/testing/fuzz/fuzz.sh"
    );
    set_hook(Box::new(|info| *lock(&MESSAGE) = info.to_string()));
    let crashes = crash_dir(work, name);
    let dir = crashes.clone();
    std::thread::spawn(move || watchdog(dir));

    let mut found = None;
    for input in corpus::load(seeds, name)? {
        if let Some(said) = worker.consider(&input, false)? {
            found = Some((input, said));
            break;
        }
    }
    if found.is_none() {
        found = worker.exchange()?;
    }
    if worker.pool.is_empty() {
        worker.pool.push(Vec::new());
    }
    if found.is_none() {
        found = worker.fuzz(seed, time)?;
    }
    let clean = found.is_none();
    if let Some((input, said)) = found {
        // The first line of what was said is where it was said.
        let place = |s: &str| s.lines().next().unwrap_or("").to_string();
        let same = |w: &mut Worker, less: &[u8]| {
            let again = w.execute(less);
            again.is_some_and(|again| place(&again) == place(&said))
        };
        let input = worker.shorten(input, same);
        let path = corpus::keep(&crashes, &input)?;
        println!("crash {}\n{said}", path.display());
    }
    worker.tell("done");
    Ok(clean)
}

/// Reduces the corpus of `name`, with what a run has found, to inputs that together take each
/// edge. Returns how many there were and how many are left.
pub fn minimise(name: &str, seeds: &Path, work: &Path) -> Result<(usize, usize)> {
    let mut all = corpus::load(seeds, name)?;
    all.extend(
        corpus::kept(&inputs_dir(work, name))
            .into_iter()
            .map(|k| k.1),
    );
    all.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    let mut worker = Worker {
        run: target(name)?,
        coverage: Coverage::new(),
        pool: Vec::new(),
        known: HashSet::new(),
        inputs: PathBuf::new(),
    };
    let before = all.len();
    let mut left = Vec::new();
    for input in all {
        let sound = worker.execute(&input).is_none();
        let need = worker.coverage.new_edges();
        if !sound || need.is_empty() {
            continue;
        }
        let input = worker.shorten(input, |w, less| {
            let sound = w.execute(less).is_none();
            let taken = w.coverage.new_edges();
            sound && need.iter().all(|edge| taken.contains(edge))
        });
        worker.consider(&input, false)?;
        left.push(input);
    }
    corpus::store(seeds, name, &left)?;
    Ok((before, left.len()))
}
