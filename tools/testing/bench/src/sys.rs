// SPDX-License-Identifier: GPL-2.0

//! Small dealings with the guest: commands, `/proc` and `/sys`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};

/// Runs a command to its end and gives its output; an error names the command and what it said.
pub fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let out = command
        .output()
        .with_context(|| format!("can't start {name}"))?;
    let mut text = String::from_utf8_lossy(&out.stdout).into_owned();
    if !out.status.success() {
        text.push_str(&String::from_utf8_lossy(&out.stderr));
        bail!("{name} failed ({}): {}", out.status, text.trim());
    }
    Ok(text)
}

/// Writes a setting below `/proc` or `/sys`.
pub fn set(path: impl AsRef<Path>, value: impl ToString) -> Result<()> {
    let path = path.as_ref();
    fs::write(path, value.to_string()).with_context(|| format!("can't write {}", path.display()))
}

/// Writes everything dirty and forgets everything clean, so that what follows starts cold.
pub fn drop_caches() -> Result<()> {
    nix::unistd::sync();
    set("/proc/sys/vm/drop_caches", 3)
}

/// The running kernel's release.
pub fn kernel() -> Result<String> {
    Ok(nix::sys::utsname::uname()?
        .release()
        .to_string_lossy()
        .into_owned())
}

/// How this guest is run: `kvm` or `tcg`.
pub fn accel() -> Result<&'static str> {
    let clocks = "/sys/devices/system/clocksource/clocksource0/available_clocksource";
    let kvm = fs::read_to_string(clocks)?.contains("kvm-clock");
    Ok(if kvm { "kvm" } else { "tcg" })
}

/// Whether a file system of this type can be mounted now.
pub fn knows_file_system(kind: &str) -> Result<bool> {
    let known = fs::read_to_string("/proc/filesystems")?;
    Ok(known
        .lines()
        .any(|line| line.split_whitespace().last() == Some(kind)))
}

/// A value in KiB from `/proc/meminfo`.
pub fn meminfo_kib(key: &str) -> Result<u64> {
    parse_meminfo(&fs::read_to_string("/proc/meminfo")?, key)
        .with_context(|| format!("no {key} in /proc/meminfo"))
}

fn parse_meminfo(text: &str, key: &str) -> Option<u64> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Writes a file so that a reader sees the old content or the new, never a part.
pub fn write_whole(path: &Path, content: &str) -> Result<()> {
    let new = path.with_extension("new");
    fs::write(&new, content).with_context(|| format!("can't write {}", new.display()))?;
    fs::rename(&new, path).with_context(|| format!("can't write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo() {
        let text = "MemFree:  10 kB\nDirty:    312 kB\nDirtyX: 1 kB\n";
        assert_eq!(parse_meminfo(text, "Dirty"), Some(312));
        assert_eq!(parse_meminfo(text, "Writeback"), None);
    }
}
