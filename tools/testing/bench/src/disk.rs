// SPDX-License-Identifier: GPL-2.0

//! A disk of the guest: made fresh, counted, checked.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{ensure, Context, Result};

use crate::blockstat::BlockStat;
use crate::sys;

/// A whole virtio disk.
#[derive(Clone, Debug)]
pub struct Disk {
    name: String,
}

impl Disk {
    /// Finds a disk by the serial number QEMU gave it, or by its name (`vda`, `/dev/vda`).
    pub fn find(wanted: &str) -> Result<Self> {
        let name = wanted.strip_prefix("/dev/").unwrap_or(wanted);
        if PathBuf::from("/sys/block").join(name).exists() {
            return Ok(Self { name: name.into() });
        }
        for entry in fs::read_dir("/sys/block")? {
            let entry = entry?;
            let serial = fs::read_to_string(entry.path().join("serial")).unwrap_or_default();
            if serial.trim() == wanted {
                let name = entry.file_name().to_string_lossy().into_owned();
                return Ok(Self { name });
            }
        }
        anyhow::bail!("this guest has no disk called {wanted}")
    }

    /// Where the disk's device is.
    pub fn device(&self) -> PathBuf {
        PathBuf::from("/dev").join(&self.name)
    }

    /// What the disk did so far.
    pub fn stat(&self) -> Result<BlockStat> {
        BlockStat::parse(&fs::read_to_string(self.sys("stat"))?)
    }

    /// Size in bytes.
    pub fn size(&self) -> Result<u64> {
        let sectors: u64 = fs::read_to_string(self.sys("size"))?.trim().parse()?;
        Ok(sectors * 512)
    }

    /// Sets one of the disk's queue parameters.
    pub fn set_queue(&self, parameter: &str, value: impl ToString) -> Result<()> {
        sys::set(self.sys("queue").join(parameter), value)
    }

    /// Makes an empty FAT32 on a disk without content. Volumes of the same parameters are equal,
    /// byte for byte.
    pub fn format(&self, cluster: u32, bytes: u64) -> Result<()> {
        let size = self.size()?;
        ensure!(
            bytes <= size,
            "{} has {size} bytes, a volume of {bytes} is needed",
            self.name
        );
        sys::run(Command::new("blkdiscard").arg("-f").arg(self.device()))?;
        let sectors = (cluster / 512).to_string();
        sys::run(
            Command::new("mkfs.fat")
                .args(["-F", "32", "-S", "512", "-s", &sectors, "--invariant", "-I"])
                .arg(self.device())
                .arg((bytes / 1024).to_string()),
        )?;
        Ok(())
    }

    /// Checks the volume without changing it; `Ok(Err(text))` is what a check found.
    pub fn fsck(&self) -> Result<(i32, String)> {
        let out = Command::new("fsck.fat")
            .arg("-n")
            .arg(self.device())
            .output()
            .context("can't start fsck.fat")?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        Ok((out.status.code().unwrap_or(-1), text))
    }

    fn sys(&self, file: &str) -> PathBuf {
        PathBuf::from("/sys/block").join(&self.name).join(file)
    }
}
