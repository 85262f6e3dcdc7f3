// SPDX-License-Identifier: GPL-2.0

//! KTAP version 1 output.

/// What became of one test.
#[derive(Clone, Debug)]
pub enum Verdict {
    Pass,
    Skip(String),
    Fail(String),
}

/// Counts of leaf tests.
#[derive(Clone, Copy, Default)]
pub struct Counts {
    pub passed: u32,
    pub failed: u32,
    pub skipped: u32,
}

impl Counts {
    /// Adds the counts of a subtest.
    pub fn add(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }

    /// The exit status that KTAP prescribes: 0 pass, 1 fail, 4 skip.
    pub fn exit_code(self) -> i32 {
        match self {
            Counts { failed: 1.., .. } => 1,
            Counts {
                passed: 0,
                skipped: 1..,
                ..
            } => 4,
            _ => 0,
        }
    }
}

/// One level of KTAP output.
pub struct Ktap {
    indent: usize,
    number: u32,
    pub counts: Counts,
}

impl Ktap {
    /// Starts a report of `total` tests, `level` levels deep.
    pub fn new(level: usize, name: Option<&str>, total: usize) -> Ktap {
        let k = Ktap {
            indent: level * 2,
            number: 0,
            counts: Counts::default(),
        };
        k.line("KTAP version 1");
        if let Some(name) = name {
            k.line(&format!("# Subtest: {name}"));
        }
        k.line(&format!("1..{total}"));
        k
    }

    fn line(&self, text: &str) {
        use std::io::Write;
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{:w$}{text}", "", w = self.indent);
        let _ = out.flush();
    }

    /// Diagnostic lines.
    pub fn note(&self, text: &str) {
        for l in text.lines() {
            self.line(&format!("# {l}"));
        }
    }

    /// Reports a leaf test.
    pub fn result(&mut self, name: &str, verdict: &Verdict) {
        self.number += 1;
        let n = self.number;
        match verdict {
            Verdict::Pass => {
                self.counts.passed += 1;
                self.line(&format!("ok {n} {name}"));
            }
            Verdict::Skip(why) => {
                self.counts.skipped += 1;
                self.line(&format!("ok {n} {name} # SKIP {why}"));
            }
            Verdict::Fail(why) => {
                self.counts.failed += 1;
                self.note(&format!("{name}: {why}"));
                self.line(&format!("not ok {n} {name}"));
            }
        }
    }

    /// Reports a group of tests that `inner` has listed.
    pub fn subtest(&mut self, name: &str, inner: Counts) {
        self.number += 1;
        self.counts.add(inner);
        let n = self.number;
        match inner.exit_code() {
            0 => self.line(&format!("ok {n} {name}")),
            4 => self.line(&format!("ok {n} {name} # SKIP all skipped")),
            _ => self.line(&format!("not ok {n} {name}")),
        }
    }
}
