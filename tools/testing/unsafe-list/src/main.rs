// SPDX-License-Identifier: GPL-2.0

//! The command: see `USAGE`.

use rvfat_unsafe_list::{entries, faults, summary, table, Entry};
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

const USAGE: &str = "\
unsafe-list [OPTION]... PATH...

Checks each unsafe block, fn and impl in the Rust sources below PATHs: it needs a
comment that names the contract it relies on. Fails and prints those that have none.

  --within PATH  unsafe anywhere else is a fault; may be given several times
  --table        print all of them: place, kind, function, C functions called ((*)
                 stands for raw pointers that are followed) and contract";

/// The Rust sources below `path`, without generated ones.
fn sources(path: &Path, out: &mut Vec<String>) -> io::Result<()> {
    if path.is_dir() {
        let mut inside: Vec<_> = fs::read_dir(path)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<_>>()?;
        inside.sort();
        for path in inside.iter().filter(|p| !p.ends_with("target")) {
            sources(path, out)?;
        }
    } else if let Some(name) = path.to_str() {
        if name.ends_with(".rs") && !name.ends_with("_generated.rs") {
            out.push(name.to_string());
        }
    }
    Ok(())
}

fn run() -> Result<bool, String> {
    let (mut within, mut paths, mut all) = (Vec::new(), Vec::new(), false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--within" => within.push(args.next().ok_or("--within needs a path")?),
            "--table" => all = true,
            "--help" | "-h" => {
                println!("{USAGE}");
                return Ok(true);
            }
            _ if arg.starts_with('-') => return Err(format!("unknown option {arg}")),
            _ => paths.push(arg),
        }
    }
    let mut files = Vec::new();
    for path in &paths {
        sources(Path::new(path), &mut files).map_err(|e| format!("{path}: {e}"))?;
    }
    if files.is_empty() {
        return Err("there are no sources; see --help".to_string());
    }
    let mut found: Vec<Entry> = Vec::new();
    for file in &files {
        let source = fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
        found.extend(entries(file, &source, &within));
    }
    if all {
        print!("{}", table(&found));
    }
    let faults = faults(&found);
    for fault in &faults {
        println!("{fault}");
    }
    println!("{}", summary(&found));
    Ok(faults.is_empty())
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("unsafe-list: {e}");
            ExitCode::from(2)
        }
    }
}
