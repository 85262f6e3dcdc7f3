// SPDX-License-Identifier: GPL-2.0

//! Watches over the time and the memory that one volume takes, from a thread of its own.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// One volume may take so long, on a slow machine, or there with a debugging kernel.
const LIMIT: Duration = Duration::from_secs(60);
const LIMIT_DEBUG: Duration = Duration::from_secs(300);

/// One volume may take so much memory for a moment, in KiB, that nothing else could have.
const MEMORY: u64 = 256 << 10;

struct State {
    seed: u64,
    what: &'static str,
    since: Instant,
    /// The least memory that was available.
    least: u64,
    limit: Duration,
}

/// The watchdog.
#[derive(Clone)]
pub struct Watch(Arc<Mutex<State>>);

/// A number out of /proc/meminfo, in KiB.
pub fn meminfo(key: &str) -> u64 {
    std::fs::read_to_string("/proc/meminfo")
        .unwrap_or_default()
        .lines()
        .find_map(|l| l.strip_prefix(key)?.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0)
}

impl Watch {
    /// Starts watching this thread.
    pub fn start(debug: bool) -> Watch {
        let limit = if debug { LIMIT_DEBUG } else { LIMIT };
        let w = Watch(Arc::new(Mutex::new(State {
            seed: 0,
            what: "",
            since: Instant::now(),
            least: u64::MAX,
            limit,
        })));
        // The main thread of the process that a test runs in.
        let me = std::process::id();
        let other = w.clone();
        std::thread::spawn(move || other.run(me));
        w
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The volume of a seed comes next.
    pub fn volume(&self, seed: u64) {
        let mut s = self.state();
        *s = State {
            seed,
            what: "making the volume",
            since: Instant::now(),
            least: u64::MAX,
            limit: s.limit,
        };
    }

    /// What was done last, or is done now.
    pub fn doing(&self, what: &'static str) {
        self.state().what = what;
    }

    /// What is wrong with the memory that the volume took, which had `before` KiB to begin with.
    pub fn greedy(&self, before: u64) -> Option<String> {
        let least = self.state().least;
        (least.saturating_add(MEMORY) < before)
            .then(|| format!("took {} MiB of memory", (before - least) >> 10))
    }

    /// The time that the volume took up to now.
    pub fn took(&self) -> Duration {
        self.state().since.elapsed()
    }

    fn run(&self, pid: u32) {
        loop {
            std::thread::sleep(Duration::from_millis(100));
            let available = meminfo("MemAvailable");
            let mut s = self.state();
            s.least = s.least.min(available);
            if s.since.elapsed() > s.limit {
                let stack = Path::new("/proc/self/task")
                    .join(pid.to_string())
                    .join("stack");
                let stack = std::fs::read_to_string(stack).unwrap_or_default();
                println!(
                    "# seed {}: not done after {:?}; the last step: {}",
                    s.seed, s.limit, s.what
                );
                println!("# {}", stack.trim_end().replace('\n', "\n# "));
                // Ends this process, if the kernel lets go of it; if not, the runner notices.
                std::process::exit(1);
            }
        }
    }
}
