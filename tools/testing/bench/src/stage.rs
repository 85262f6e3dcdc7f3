// SPDX-License-Identifier: GPL-2.0

//! One file system on one disk, and the measuring of what is done there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::errno::Errno;
use nix::mount::{mount, umount, MsFlags};

use crate::blockstat::BlockStat;
use crate::disk::Disk;
use crate::progress::Progress;
use crate::sys;

/// What one run of a loop took.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    pub seconds: f64,
    pub io: BlockStat,
    /// Values that only some loops have, by name.
    pub extra: BTreeMap<String, f64>,
}

impl Sample {
    /// Adds a value that only this kind of loop has.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.extra.insert(name.into(), value);
        self
    }
}

/// A file system type, the disk it works on and where it is mounted.
pub struct Stage {
    /// The type as mount knows it.
    kind: String,
    /// The name in the results.
    pub name: String,
    pub disk: Disk,
    dir: PathBuf,
    mounted: bool,
    pub terminal: bool,
}

impl Stage {
    pub fn new(kind: &str, name: &str, disk: Disk, terminal: bool) -> Result<Self> {
        let dir = PathBuf::from("/mnt").join(name);
        fs::create_dir_all(&dir)?;
        Ok(Self {
            kind: kind.into(),
            name: name.into(),
            disk,
            dir,
            mounted: false,
            terminal,
        })
    }

    /// The same stage with another's file system driver.
    pub fn with_driver_of(&self, other: &Self) -> Result<Self> {
        Self::new(&other.kind, &other.name, self.disk.clone(), self.terminal)
    }

    /// Makes a fresh volume and leaves nothing of it in memory.
    pub fn format(&mut self, cluster: u32, bytes: u64) -> Result<()> {
        self.unmount()?;
        self.disk.format(cluster, bytes)?;
        sys::drop_caches()
    }

    /// Mounts with the options as in `mount -o`; "async" stands for none.
    pub fn mount(&mut self, options: &str) -> Result<()> {
        let mut flags = MsFlags::empty();
        let mut data = Vec::new();
        for option in options.split(',') {
            match option {
                "" | "async" => {}
                "sync" => flags |= MsFlags::MS_SYNCHRONOUS,
                "ro" => flags |= MsFlags::MS_RDONLY,
                other => data.push(other),
            }
        }
        let data = data.join(",");
        let device = self.disk.device();
        mount(
            Some(&device),
            &self.dir,
            Some(self.kind.as_str()),
            flags,
            Some(data.as_str()),
        )
        .with_context(|| {
            let (kind, device) = (&self.kind, device.display());
            format!("can't mount {device} as {kind} with '{options}' (see dmesg)")
        })?;
        self.mounted = true;
        Ok(())
    }

    /// Unmounts; nothing happens if it isn't mounted.
    pub fn unmount(&mut self) -> Result<()> {
        let mut tries = 0;
        while self.mounted {
            match umount(&self.dir) {
                Ok(()) => self.mounted = false,
                // Something else may look at all mounts for a moment.
                Err(Errno::EBUSY) if tries < 20 => thread::sleep(Duration::from_millis(50)),
                Err(e) => Err(e).with_context(|| format!("can't unmount {}", self.name))?,
            }
            tries += 1;
        }
        Ok(())
    }

    /// Unmounts, forgets everything, mounts again: nothing of the volume is in memory then.
    pub fn remount_cold(&mut self, options: &str) -> Result<()> {
        self.unmount()?;
        sys::drop_caches()?;
        self.mount(options)
    }

    /// A path on the volume.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.join(name)
    }

    /// Takes time and requests of a loop. The loop says how far it is.
    pub fn measure(&self, work: impl FnOnce(&mut Progress) -> Result<()>) -> Result<Sample> {
        let mut progress = Progress::new(&self.name, self.terminal);
        let before = self.disk.stat()?;
        let start = Instant::now();
        work(&mut progress)?;
        let seconds = start.elapsed().as_secs_f64();
        let io = self.disk.stat()? - before;
        Ok(Sample {
            seconds,
            io,
            extra: BTreeMap::new(),
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(e) = self.unmount() {
            eprintln!("{e:#}");
        }
    }
}
