// SPDX-License-Identifier: GPL-2.0

//! Signs of life during a long measurement, rare enough not to disturb a short one.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::text;

/// Says how far a loop is: in place on a terminal, in a line now and then elsewhere.
pub struct Progress {
    label: String,
    terminal: bool,
    start: Instant,
    last: Instant,
    shown: bool,
}

impl Progress {
    pub fn new(label: impl Into<String>, terminal: bool) -> Self {
        let now = Instant::now();
        Self {
            label: label.into(),
            terminal,
            start: now,
            last: now,
            shown: false,
        }
    }

    /// To be called after each step; mostly does nothing.
    pub fn tick(&mut self, done: u64, total: u64, unit: &str) {
        let pause = Duration::from_secs(if self.terminal { 1 } else { 10 });
        if self.last.elapsed() < pause {
            return;
        }
        self.last = Instant::now();
        self.shown = true;
        let seconds = self.start.elapsed().as_secs();
        let (done, total) = (text::thousands(done), text::thousands(total));
        let line = format!("    {}: {done} of {total} {unit}, {seconds} s", self.label);
        let mut out = io::stdout().lock();
        // A lost sign of life is no reason to stop.
        let _ = if self.terminal {
            write!(out, "\r\x1b[K{line}").and_then(|()| out.flush())
        } else {
            writeln!(out, "{line}")
        };
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown && self.terminal {
            print!("\r\x1b[K");
            let _ = io::stdout().flush();
        }
    }
}
