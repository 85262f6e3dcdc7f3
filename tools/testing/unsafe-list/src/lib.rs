// SPDX-License-Identifier: GPL-2.0

//! Lists every use of `unsafe` and checks that each names the contract it relies on.

pub mod lex;
pub mod rules;
pub mod scan;

use rules::{sentence, Reason};
use scan::{Site, What};
use std::fmt::Write;

/// A site, where it is, and its reason.
pub struct Entry {
    /// The file's path.
    pub path: String,
    /// What was found.
    pub site: Site,
    /// Why it is sound, or what is wrong with the comment that should say so.
    pub reason: Reason,
}

impl Entry {
    fn contract(&self) -> &str {
        match &self.reason {
            Ok(text) => sentence(text),
            Err(fault) => fault,
        }
    }

    fn calls(&self) -> String {
        let mut calls = self.site.calls.join(" ");
        if self.site.derefs {
            let gap = if calls.is_empty() { "" } else { " " };
            write!(calls, "{gap}(*)").unwrap_or(());
        }
        calls
    }
}

/// The entries of one file. Outside the folders `within`, if there are any, `unsafe` is a fault.
pub fn entries(path: &str, source: &str, within: &[String]) -> Vec<Entry> {
    let file = scan::scan(source);
    let inside = within.is_empty() || within.iter().any(|dir| is_below(path, dir));
    let reasons = rules::reasons(&file);
    let pairs = file.sites.into_iter().zip(reasons);
    pairs
        .map(|(site, reason)| Entry {
            path: path.to_string(),
            site,
            reason: if inside {
                reason
            } else {
                Err(format!("unsafe is only allowed in {}", within.join(", ")))
            },
        })
        .collect()
}

/// Whether `path` is the file or in the folder `dir`.
fn is_below(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// One line for each fault.
pub fn faults(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .filter_map(|e| {
            let fault = e.reason.as_ref().err()?;
            let what = e.site.what.name();
            Some(format!(
                "{}:{}: unsafe {what}: {fault}",
                e.path, e.site.line
            ))
        })
        .collect()
}

/// How many there are of each kind.
pub fn summary(entries: &[Entry]) -> String {
    let count = |what: What| entries.iter().filter(|e| e.site.what == what).count();
    let mut parts = vec![
        format!("{} blocks", count(What::Block)),
        format!("{} fns", count(What::Fn)),
        format!("{} impls", count(What::Impl)),
    ];
    let named: usize = [What::Block, What::Fn, What::Impl].map(count).iter().sum();
    if entries.len() > named {
        parts.push(format!("{} others", entries.len() - named));
    }
    format!("{}; {} faults", parts.join(", "), faults(entries).len())
}

/// Everything, in columns: place, kind, function, C functions called, contract. `(*)` stands for
/// raw pointers that are followed.
pub fn table(entries: &[Entry]) -> String {
    let rows: Vec<[String; 5]> = entries
        .iter()
        .map(|e| {
            [
                format!("{}:{}", e.path, e.site.line),
                e.site.what.name().to_string(),
                e.site.function(),
                e.calls(),
                e.contract().to_string(),
            ]
        })
        .collect();
    let width = |col: usize| {
        rows.iter()
            .map(|r| r[col].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (a, b, c) = (width(0), width(1), width(2));
    let mut out = String::new();
    for [place, kind, function, calls, contract] in &rows {
        let calls = if calls.is_empty() { "-" } else { calls };
        let line = format!("{place:a$}  {kind:b$}  {function:c$}  {calls} | {contract}\n");
        out.push_str(&line);
    }
    out
}
