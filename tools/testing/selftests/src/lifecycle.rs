// SPDX-License-Identifier: GPL-2.0

//! Suite `lifecycle`: the module goes and comes back, and leaves nothing behind.

use crate::geom;
use crate::runner::{skip, Case, Config, Group, Suite};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{bail, ensure, Context, Result};
use std::path::Path;
use std::process::Command;

fn tool(name: &str, args: &[&str]) -> Result<()> {
    let out = Command::new(name)
        .args(args)
        .output()
        .with_context(|| name.to_string())?;
    if !out.status.success() {
        bail!(
            "{name} {}: {}",
            args.join(" "),
            String::from_utf8_lossy(&out.stderr).trim()
        );
    }
    Ok(())
}

fn loaded(fs: &str) -> bool {
    Path::new("/sys/module").join(fs).join("refcnt").exists()
}

fn load(cfg: &Config) -> Result<()> {
    match &cfg.module {
        Some(p) => tool("insmod", &[p]),
        None => tool("modprobe", &[&cfg.fs]),
    }
}

fn registered(fs: &str) -> bool {
    std::fs::read_to_string("/proc/filesystems")
        .unwrap_or_default()
        .lines()
        .any(|l| l.trim_start().trim_start_matches("nodev").trim() == fs)
}

fn is_module(cfg: &Config) -> Result<()> {
    if !loaded(&cfg.fs) {
        return skip(format!("{} isn't loaded as a module", cfg.fs));
    }
    Ok(())
}

fn reload(cfg: &Config) -> Result<()> {
    is_module(cfg)?;
    for round in 0..3 {
        for bits in [12, 16, 32] {
            let mut v = Vol::fresh(&geom::fat(bits), &cfg.fs, "", "t")?;
            sys::mkdir(&v.p("dir"))?;
            for i in 0..50 {
                std::fs::write(v.p(format!("dir/file number {i}")), vec![1; 500 * i])?;
            }
            v.remount()?;
            same!(sys::names(&v.p("dir"))?.len(), 50, "names");
            // Inodes that wait for their memory to be freed must not outlive the module.
            v.finish()?;
        }
        tool("rmmod", &[&cfg.fs]).with_context(|| format!("round {round}"))?;
        ensure!(!registered(&cfg.fs), "still registered without the module");
        load(cfg).with_context(|| format!("round {round}"))?;
        ensure!(registered(&cfg.fs), "not registered after loading");
    }
    Ok(())
}

fn in_use(cfg: &Config) -> Result<()> {
    is_module(cfg)?;
    let v = Vol::fresh(&geom::fat(16), &cfg.fs, "", "t")?;
    ensure!(tool("rmmod", &[&cfg.fs]).is_err(), "removed while mounted");
    std::fs::write(v.p("f"), b"x")?;
    v.finish()
}

fn many_mounts(cfg: &Config) -> Result<()> {
    for i in 0..60 {
        let v = Vol::fresh(&geom::fat([12, 16, 32][i % 3]), &cfg.fs, "", "t")?;
        std::fs::write(v.p("f"), b"x")?;
        if i % 20 == 0 {
            v.finish()?;
        }
    }
    Ok(())
}

fn after_failed_mount(cfg: &Config) -> Result<()> {
    is_module(cfg)?;
    for opts in ["bogus", "codepage=9999", "uid=x", "iocharset=none"] {
        ensure!(
            Vol::fresh(&geom::fat(32), &cfg.fs, opts, "t").is_err(),
            "mounted with {opts}"
        );
    }
    tool("rmmod", &[&cfg.fs])?;
    load(cfg)
}

/// The suite.
pub fn suite() -> Suite {
    Suite {
        name: "lifecycle",
        groups: vec![Group {
            name: "module".into(),
            cases: vec![
                Case::new("many_mounts", many_mounts),
                Case::new("no_removal_in_use", in_use),
                Case::new("reload_after_failed_mount", after_failed_mount),
                Case::new("reload", reload),
            ],
        }],
    }
}
