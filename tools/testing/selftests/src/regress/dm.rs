// SPDX-License-Identifier: GPL-2.0

//! A volume below the device mapper, parts of which can be made to fail.

use super::MIB;
use crate::geom::Geom;
use crate::runner::skip;
use crate::sys;
use crate::vol::{Image, Mount};
use anyhow::{anyhow, ensure, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const NAME: &str = "rvfat-selftest";

fn dmsetup(args: &[&str]) -> Result<()> {
    let out = Command::new("dmsetup")
        .env("DM_DISABLE_UDEV", "1")
        .args(args)
        .output()?;
    ensure!(
        out.status.success(),
        "dmsetup {args:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    Ok(())
}

/// Removes what a test left behind.
pub fn sweep() {
    if Path::new("/dev/mapper").join(NAME).exists() {
        let _ = dmsetup(&["remove", "--force", NAME]);
    }
}

/// How a range of sectors of the device behaves; the rest works.
#[derive(Clone, Copy)]
pub enum Fault {
    /// Everything fails.
    All,
    /// Writes fail.
    Writes,
}

/// An image, its loop device, and the mapped device upon it.
pub struct Mapped {
    pub image: Image,
    mount: Mount,
    dev: sys::Loop,
    sectors: u64,
}

impl Mapped {
    /// A fresh volume, all of which works.
    pub fn fresh(geom: &Geom) -> Result<Mapped> {
        let _ = Command::new("modprobe")
            .args(["-a", "dm_mod", "dm_flakey"])
            .output();
        if !Path::new("/dev/mapper/control").exists() {
            return skip("there's no device mapper");
        }
        let image = Image::make(geom, "t")?;
        let dev = sys::Loop::attach(&image.path, 0, false)?;
        let m = Mapped {
            image,
            mount: Mount::new("t"),
            dev,
            sectors: geom.bytes / 512,
        };
        ensure!(geom.bytes % MIB == 0, "odd size");
        dmsetup(&["create", NAME, "--table", &m.table(None)])?;
        Ok(m)
    }

    fn table(&self, fault: Option<(Fault, u64, u64)>) -> String {
        let dev = self.dev.dev.display();
        let end = self.sectors;
        let Some((fault, start, len)) = fault else {
            return format!("0 {end} linear {dev} 0");
        };
        let bad = match fault {
            Fault::All => "error".to_string(),
            Fault::Writes => format!("flakey {dev} {start} 0 1 1 error_writes"),
        };
        let after = start + len;
        let mut t = String::new();
        if start > 0 {
            t += &format!("0 {start} linear {dev} 0\n");
        }
        t += &format!("{start} {len} {bad}\n");
        if after < end {
            t += &format!("{after} {} linear {dev} {after}\n", end - after);
        }
        t
    }

    /// Lets a range of bytes fail from now on, or nothing any more. The file system isn't
    /// frozen for that.
    pub fn set(&self, fault: Option<(Fault, u64, u64)>) -> Result<()> {
        let sectors = fault.map(|(f, at, len)| (f, at / 512, len / 512));
        dmsetup(&["suspend", "--noflush", "--nolockfs", NAME])?;
        let loaded = dmsetup(&["load", NAME, "--table", &self.table(sectors)]);
        dmsetup(&["resume", NAME])?;
        loaded
    }

    pub fn mount(&mut self, fs: &str, opts: &str) -> Result<()> {
        let dev = Path::new("/dev/mapper").join(NAME);
        let mounted = self.mount.mount(&dev, fs, 0, opts);
        mounted.map_err(|e| anyhow!("mount -t {fs} -o '{opts}': {e}"))
    }

    pub fn umount(&mut self) -> Result<()> {
        Ok(self.mount.umount()?)
    }

    pub fn p(&self, name: &str) -> PathBuf {
        self.mount.dir.join(name)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        let _ = self.set(None);
        let _ = self.umount();
        sweep();
    }
}
