// SPDX-License-Identifier: GPL-2.0

//! Runs test cases: each in a process of its own, under a time limit, with the kernel log
//! watched.

use crate::kmsg::Kmsg;
use crate::ktap::{Counts, Ktap, Verdict};
use crate::{sys, vol};
use anyhow::Result;
use std::fmt;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Config {
    /// The file system under test.
    pub fs: String,
    /// Only tests whose path contains this.
    pub only: Option<String>,
    /// Stop at the first failure and leave everything mounted.
    pub keep: bool,
    /// A part of the suite `faults`, for a run of some minutes.
    pub quick: bool,
    /// Print the time of every test.
    pub times: bool,
    pub seeds: Vec<u64>,
    pub ops: usize,
    pub seconds: u64,
    pub scale: usize,
    /// Multiplies the time limits of the cases.
    pub patience: u32,
    pub module: Option<String>,
    /// This part of that many, to split a suite between guests.
    pub part: (usize, usize),
}

/// Why a case is skipped: return it as an error.
#[derive(Debug)]
pub struct Skip(pub String);

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}

/// Ends a case as skipped.
pub fn skip<T>(why: impl Into<String>) -> Result<T> {
    Err(Skip(why.into()).into())
}

type Body = Box<dyn Fn(&Config) -> Result<()>>;

/// One test.
pub struct Case {
    pub name: String,
    pub limit: Duration,
    pub body: Body,
}

impl Case {
    /// A case with the usual time limit.
    pub fn new(name: impl Into<String>, body: impl Fn(&Config) -> Result<()> + 'static) -> Case {
        Case {
            name: name.into(),
            limit: Duration::from_secs(120),
            body: Box::new(body),
        }
    }

    /// The same case with another time limit.
    pub fn limit(mut self, seconds: u64) -> Case {
        self.limit = Duration::from_secs(seconds);
        self
    }
}

/// A named group of cases.
pub struct Group {
    pub name: String,
    pub cases: Vec<Case>,
}

/// A suite: one subcommand.
pub struct Suite {
    pub name: &'static str,
    pub groups: Vec<Group>,
}

impl Suite {
    /// Drops the cases that the configuration leaves out.
    pub fn select(&mut self, cfg: &Config) {
        let (part, parts) = cfg.part;
        let mut n = 0;
        for g in &mut self.groups {
            let prefix = format!("{}/{}/", self.name, g.name);
            g.cases.retain(|c| {
                n += 1;
                let path = format!("{prefix}{}", c.name);
                cfg.only.as_ref().is_none_or(|o| path.contains(o.as_str()))
                    && n % parts == part % parts
            });
        }
        self.groups.retain(|g| !g.cases.is_empty());
    }

    /// Runs everything at KTAP level `level`.
    pub fn run(&self, cfg: &Config, level: usize) -> Counts {
        let mut k = Ktap::new(level, Some(self.name), self.groups.len());
        for g in &self.groups {
            let start = Instant::now();
            let mut sub = Ktap::new(level + 1, Some(&g.name), g.cases.len());
            for c in &g.cases {
                let t = Instant::now();
                let verdict = run_case(c, cfg);
                if cfg.times {
                    sub.note(&format!("{}: {:.2} s", c.name, t.elapsed().as_secs_f64()));
                }
                sub.result(&c.name, &verdict);
                if cfg.keep && matches!(verdict, Verdict::Fail(_)) {
                    sub.note("stopped with everything left as it is");
                    std::process::exit(1);
                }
            }
            k.note(&format!(
                "{}/{} took {:.1} s",
                self.name,
                g.name,
                start.elapsed().as_secs_f64()
            ));
            k.subtest(&g.name, sub.counts);
        }
        k.counts
    }
}

fn run_case(case: &Case, cfg: &Config) -> Verdict {
    let mut log = Kmsg::now();
    let verdict = match fork_case(case, cfg) {
        Ok(v) => v,
        Err(e) => Verdict::Fail(format!("can't run: {e:#}")),
    };
    if cfg.keep && matches!(verdict, Verdict::Fail(_)) {
        return verdict;
    }
    let left = vol::sweep();
    let mut why = Vec::new();
    match &verdict {
        Verdict::Fail(w) => why.push(w.clone()),
        _ => why.extend(left),
    }
    why.extend(log.trouble());
    if why.is_empty() {
        verdict
    } else {
        Verdict::Fail(why.join("\n"))
    }
}

/// Runs the case in a child process that reports through a pipe.
fn fork_case(case: &Case, cfg: &Config) -> Result<Verdict> {
    let (mut rd, wr) = sys::pipe()?;
    // SAFETY: the program has a single thread, so the child may do anything.
    let pid = sys::check(unsafe { libc::fork() })?;
    if pid == 0 {
        drop(rd);
        child(case, cfg, wr);
    }
    drop(wr);
    let limit = case.limit * cfg.patience;
    let end = Instant::now() + limit;
    let mut text = Vec::new();
    let mut buf = [0u8; 4096];
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(timed_out(pid, case, limit));
        }
        let mut p = libc::pollfd {
            fd: rd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one valid pollfd.
        unsafe { libc::poll(&mut p, 1, left.as_millis().min(1000) as i32) };
        if p.revents != 0 {
            match rd.read(&mut buf)? {
                0 => break,
                n => text.extend_from_slice(&buf[..n]),
            }
        }
    }
    let mut status = 0;
    // SAFETY: `status` lives across the call; the pid is our child's.
    unsafe { libc::waitpid(pid, &mut status, 0) };
    let text = String::from_utf8_lossy(&text).into_owned();
    Ok(match text.split_once('\n') {
        Some(("pass", _)) if status == 0 => Verdict::Pass,
        Some(("skip", why)) => Verdict::Skip(why.trim().into()),
        Some(("fail", why)) => Verdict::Fail(why.into()),
        _ => Verdict::Fail(format!("the test process died: status {status:#x}\n{text}")),
    })
}

fn child(case: &Case, cfg: &Config, mut wr: std::fs::File) -> ! {
    // SAFETY: only sets this process's group, so that a time-out ends its children, too.
    unsafe { libc::setpgid(0, 0) };
    let text = match (case.body)(cfg) {
        Ok(()) => "pass\n".to_string(),
        Err(e) => match e.downcast_ref::<Skip>() {
            Some(s) => format!("skip\n{s}"),
            None => format!("fail\n{e:#}"),
        },
    };
    let _ = wr.write_all(text.as_bytes());
    std::process::exit(0);
}

fn timed_out(pid: i32, case: &Case, limit: Duration) -> Verdict {
    // SAFETY: signals the process group of our own child.
    unsafe { libc::kill(-pid, libc::SIGKILL) };
    let stack = std::fs::read_to_string(format!("/proc/{pid}/stack")).unwrap_or_default();
    let mut why = format!("not done after {} s\n{stack}", limit.as_secs());
    for _ in 0..50 {
        let mut status = 0;
        // SAFETY: `status` lives across the call; the pid is our child's.
        if unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) } == pid {
            return Verdict::Fail(why);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    why += "and can't be killed: hangs in the kernel";
    let _ = std::fs::write("/proc/sysrq-trigger", "w");
    println!("# {}: {why}", case.name);
    println!("Bail out! a task hangs in the kernel");
    std::process::exit(1);
}
