// SPDX-License-Identifier: GPL-2.0

//! Counts of what happened, so that a run can show that it got somewhere.

use crate::sys::Res;
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::Write;

/// Named counts.
#[derive(Default)]
pub struct Stats(pub BTreeMap<String, u64>);

impl Stats {
    /// Counts one.
    pub fn one(&mut self, key: &str) {
        self.add(key, 1);
    }

    /// Counts some.
    pub fn add(&mut self, key: &str, n: u64) {
        match self.0.get_mut(key) {
            Some(old) => *old += n,
            None => drop(self.0.insert(key.into(), n)),
        }
    }

    /// Counts the result of an operation: `op NAME ok`, or with the error's name.
    pub fn result<T>(&mut self, op: &str, r: &Res<T>) {
        match r {
            Ok(_) => self.one(&format!("op {op} ok")),
            Err(e) => self.one(&format!("op {op} {e}")),
        }
    }

    /// The sum of all counts whose name starts with `prefix`.
    pub fn sum(&self, prefix: &str) -> u64 {
        let all = self.0.iter().filter(|(k, _)| k.starts_with(prefix));
        all.map(|(_, n)| n).sum()
    }

    /// Adds these to those in a file.
    pub fn save(&self, file: &str) -> Result<()> {
        let mut text = String::new();
        for (k, n) in &self.0 {
            text += &format!("{n} {k}\n");
        }
        let mut f = std::fs::File::options()
            .create(true)
            .append(true)
            .open(file)?;
        // In one write: lines of others don't get in between.
        Ok(f.write_all(text.as_bytes())?)
    }

    /// Adds those of a file to these.
    pub fn load(&mut self, file: &str) {
        for line in std::fs::read_to_string(file).unwrap_or_default().lines() {
            if let Some((n, key)) = line.split_once(' ') {
                self.add(key, n.parse().unwrap_or(0));
            }
        }
    }

    /// All counts, for people: a line for each operation with its results, the rest side by side.
    pub fn report(&self) -> Vec<String> {
        let mut ops: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let (mut lines, mut changes) = (Vec::new(), Vec::new());
        for (k, n) in &self.0 {
            if let Some((op, result)) = k.strip_prefix("op ").and_then(|k| k.rsplit_once(' ')) {
                ops.entry(op).or_default().push(format!("{result} {n}"));
            } else if let Some(name) = k.strip_prefix("mutation ") {
                changes.push(format!("{name} {n}"));
            } else {
                lines.push(format!("{k}: {n}"));
            }
        }
        let row = |(op, results): (&str, Vec<String>)| format!("{op:<16} {}", results.join(", "));
        lines.extend(ops.into_iter().map(row));
        lines.extend(changes.chunks(6).map(|c| c.join(", ")));
        lines
    }
}
