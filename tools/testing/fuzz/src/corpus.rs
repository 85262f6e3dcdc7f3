// SPDX-License-Identifier: GPL-2.0

//! Inputs on disk: the corpus in the repository, a text file for each target with an input in
//! hexadecimal on each line, and the inputs of a run, a file each.

use anyhow::{Context, Result};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

fn from_hex(line: &str) -> Option<Vec<u8>> {
    if line.len() % 2 != 0 || !line.is_ascii() {
        return None;
    }
    (0..line.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&line[i..i + 2], 16).ok())
        .collect()
}

fn file(dir: &Path, target: &str) -> PathBuf {
    dir.join(format!("{target}.hex"))
}

/// Reads a target's corpus. One without a file is empty.
pub fn load(dir: &Path, target: &str) -> Result<Vec<Vec<u8>>> {
    let path = file(dir, target);
    if !path.exists() {
        return Ok(Vec::new());
    }
    std::fs::read_to_string(&path)?
        .lines()
        .filter(|l| !l.starts_with('#') && !l.is_empty())
        .map(|l| from_hex(l).with_context(|| format!("{}: no hexadecimal: {l}", path.display())))
        .collect()
}

/// Writes a target's corpus.
pub fn store(dir: &Path, target: &str, inputs: &[Vec<u8>]) -> Result<()> {
    let mut text = String::from("# SPDX-License-Identifier: GPL-2.0\n");
    for input in inputs {
        for b in input {
            text += &format!("{b:02x}");
        }
        text.push('\n');
    }
    Ok(std::fs::write(file(dir, target), text)?)
}

/// Keeps an input in a folder, under a name made from its content.
pub fn keep(dir: &Path, input: &[u8]) -> Result<PathBuf> {
    let mut hash = DefaultHasher::new();
    input.hash(&mut hash);
    std::fs::create_dir_all(dir)?;
    let path = dir.join(format!("{:016x}", hash.finish()));
    std::fs::write(&path, input)?;
    Ok(path)
}

/// The inputs in a folder, with their paths.
pub fn kept(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .collect();
    paths.sort();
    paths
        .into_iter()
        .filter_map(|p| std::fs::read(&p).ok().map(|data| (p, data)))
        .collect()
}
