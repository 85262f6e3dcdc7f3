// SPDX-License-Identifier: GPL-2.0

//! A mounted test volume: image, loop device, mount point, and the checks at its end.

use crate::disk::Disk;
use crate::geom::Geom;
use crate::sys;
use anyhow::{anyhow, bail, Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where a run keeps its images and mount points; a tmpfs.
pub const WORK: &str = "/run/rvfat-selftest";

/// Makes the work folder a tmpfs of its own, and loads the modules that tests need.
pub fn prepare_work() -> Result<()> {
    // Built-in on some kernels; what is missing shows when it is used.
    let _ = Command::new("modprobe")
        .args(["-a", "loop", "vfat", "virtio_blk"])
        .output();
    std::fs::create_dir_all(WORK)?;
    if !sys::mounts().iter().any(|m| m.dir == Path::new(WORK)) {
        sys::mount(
            Path::new("tmpfs"),
            Path::new(WORK),
            "tmpfs",
            0,
            "size=90%,mode=700",
        )
        .context("mounting a tmpfs for the images")?;
    }
    Ok(())
}

/// Unmounts and detaches what a test left behind. Returns what there was.
pub fn sweep() -> Vec<String> {
    let mut left = Vec::new();
    let mut stuck = false;
    for m in sys::mounts().iter().rev() {
        if m.dir.starts_with(WORK) && m.dir != Path::new(WORK) {
            left.push(format!("{} was still mounted", m.dir.display()));
            if sys::umount(&m.dir, 0).is_err() {
                let _ = sys::umount(&m.dir, libc::MNT_DETACH);
                stuck = true;
            }
        }
    }
    crate::regress::dm::sweep();
    crate::faults::rig::sweep();
    for e in std::fs::read_dir("/sys/block")
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = e.file_name();
        let back = e.path().join("loop/backing_file");
        let Ok(back) = std::fs::read_to_string(back) else {
            continue;
        };
        if back.starts_with(WORK) {
            let _ = sys::loop_detach(&Path::new("/dev").join(name));
        }
    }
    if !stuck {
        for e in std::fs::read_dir(WORK).into_iter().flatten().flatten() {
            let p = e.path();
            let _ = if p.is_dir() {
                std::fs::remove_dir_all(p)
            } else if p.extension().is_some_and(|x| x == "tmpl") {
                Ok(())
            } else {
                std::fs::remove_file(p)
            };
        }
    }
    left
}

/// An unmounted image file in the work folder.
pub struct Image {
    pub path: PathBuf,
}

impl Image {
    /// A fresh file system; a template made once for each shape is copied.
    pub fn make(geom: &Geom, tag: &str) -> Result<Image> {
        let tmpl = Path::new(WORK).join(format!("{}-{}.tmpl", geom.name, geom.bytes));
        if !tmpl.exists() {
            geom.mkfs(&tmpl)?;
        }
        Image::copy_of(&tmpl, tag)
    }

    /// A sparse copy of an existing image.
    pub fn copy_of(from: &Path, tag: &str) -> Result<Image> {
        let path = Path::new(WORK).join(format!("{tag}.img"));
        let _ = std::fs::remove_file(&path);
        let (src, dst) = (std::fs::File::open(from)?, sys::create(&path)?);
        let len = src.metadata()?.len();
        dst.set_len(len)?;
        let mut at = 0;
        while let Ok(data) = sys::lseek(&src, at, libc::SEEK_DATA) {
            let hole = sys::lseek(&src, data, libc::SEEK_HOLE)?;
            let bytes = sys::pread_vec(&src, (hole - data) as usize, data)?;
            sys::pwrite_all(&dst, &bytes, data)?;
            at = hole;
        }
        Ok(Image { path })
    }

    /// The structures on it.
    pub fn disk(&self) -> Result<Disk> {
        Disk::open(&self.path)
    }
}

/// `fsck.fat -n` has to exit with 0 and to say nothing but its version and the summary.
pub fn fsck(image: &Path) -> Result<()> {
    let out = Command::new("fsck.fat").arg("-n").arg(image).output()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let extra: Vec<&str> = text
        .lines()
        .filter(|l| !l.starts_with("fsck.fat ") && !l.contains(" clusters"))
        .collect();
    if !out.status.success() || !extra.is_empty() {
        bail!(
            "fsck.fat -n isn't content ({}):\n{}",
            out.status,
            extra[..extra.len().min(20)].join("\n")
        );
    }
    Ok(())
}

/// A folder below the work folder where a device gets mounted; unmounted on drop.
pub struct Mount {
    pub dir: PathBuf,
    mounted: bool,
}

impl Mount {
    /// Makes the folder.
    pub fn new(tag: &str) -> Mount {
        let dir = Path::new(WORK).join(format!("mnt-{tag}"));
        let _ = std::fs::create_dir(&dir);
        Mount::at(&dir)
    }

    /// A folder that is there.
    fn at(dir: &Path) -> Mount {
        Mount {
            dir: dir.into(),
            mounted: false,
        }
    }

    /// Whether it is mounted.
    pub fn is_mounted(&self) -> bool {
        self.mounted
    }

    /// mount(2).
    pub fn mount(&mut self, dev: &Path, fs: &str, flags: u64, opts: &str) -> sys::Res<()> {
        sys::mount(dev, &self.dir, fs, flags, opts)?;
        self.mounted = true;
        Ok(())
    }

    /// Changes flags with `MS_REMOUNT`.
    pub fn remount(&self, dev: &Path, fs: &str, flags: u64, opts: &str) -> sys::Res<()> {
        sys::mount(dev, &self.dir, fs, flags | libc::MS_REMOUNT, opts)
    }

    /// Unmounts, if it is mounted.
    pub fn umount(&mut self) -> sys::Res<()> {
        self.umount_with(0)
    }

    /// Unmounts when nobody uses it any more.
    pub fn detach(&mut self) -> sys::Res<()> {
        self.umount_with(libc::MNT_DETACH)
    }

    fn umount_with(&mut self, flags: i32) -> sys::Res<()> {
        if self.mounted {
            sys::umount(&self.dir, flags)?;
            self.mounted = false;
        }
        Ok(())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = self.umount();
    }
}

/// A volume mounted below the work folder.
pub struct Vol {
    pub fs: String,
    pub opts: String,
    pub flags: u64,
    pub mp: PathBuf,
    pub image: Image,
    pub geom: Option<Geom>,
    // Unmounted before the device goes.
    mount: Mount,
    dev: Option<sys::Loop>,
}

impl Vol {
    /// Attaches an image and mounts it.
    pub fn mount_image(image: Image, fs: &str, opts: &str, tag: &str) -> Result<Vol> {
        let dev = sys::Loop::attach(&image.path, 0, false).context("loop device")?;
        let mount = Mount::new(tag);
        let mut v = Vol {
            fs: fs.into(),
            opts: opts.into(),
            flags: 0,
            mp: mount.dir.clone(),
            image,
            geom: None,
            mount,
            dev: Some(dev),
        };
        v.mount()?;
        Ok(v)
    }

    /// Makes a fresh file system and mounts it.
    pub fn fresh(geom: &Geom, fs: &str, opts: &str, tag: &str) -> Result<Vol> {
        let mut v = Vol::mount_image(Image::make(geom, tag)?, fs, opts, tag)?;
        v.geom = Some(geom.clone());
        Ok(v)
    }

    /// A volume that the caller mounts and unmounts.
    pub fn view(fs: &str, mp: &Path, image: &Path) -> Vol {
        Vol {
            fs: fs.into(),
            opts: String::new(),
            flags: 0,
            mp: mp.into(),
            image: Image { path: image.into() },
            geom: None,
            mount: Mount::at(mp),
            dev: None,
        }
    }

    /// The block device that is mounted.
    pub fn dev(&self) -> &Path {
        self.dev.as_ref().map_or(Path::new(""), |d| &d.dev)
    }

    /// Mounts again after `umount`.
    pub fn mount(&mut self) -> Result<()> {
        self.try_mount()
            .map_err(|e| anyhow!("mount -t {} -o '{}': {e}", self.fs, self.opts))
    }

    /// Mounts and gives the bare error.
    pub fn try_mount(&mut self) -> sys::Res<()> {
        let dev = self.dev().to_owned();
        self.mount.mount(&dev, &self.fs, self.flags, &self.opts)
    }

    /// Changes mount flags with `MS_REMOUNT`.
    pub fn reconfigure(&mut self, flags: u64) -> sys::Res<()> {
        self.flags = flags;
        self.mount.remount(self.dev(), &self.fs, flags, &self.opts)
    }

    /// Unmounts; the image then holds everything.
    pub fn umount(&mut self) -> Result<()> {
        self.mount.umount().map_err(|e| anyhow!("umount: {e}"))
    }

    /// Unmounts when nobody uses it any more.
    pub fn detach(&mut self) -> sys::Res<()> {
        self.mount.detach()
    }

    /// Unmounts and mounts, so that nothing comes from a cache.
    pub fn remount(&mut self) -> Result<()> {
        self.umount()?;
        self.mount()
    }

    /// The path of something on the volume.
    pub fn p(&self, name: impl AsRef<Path>) -> PathBuf {
        self.mp.join(name)
    }

    /// The image's structures as they are on the device now.
    pub fn disk(&self) -> Result<Disk> {
        self.image.disk()
    }

    /// The options in /proc/self/mounts.
    pub fn shown_options(&self) -> Result<String> {
        sys::mounts()
            .into_iter()
            .rfind(|m| m.dir == self.mp)
            .map(|m| m.opts)
            .ok_or_else(|| anyhow!("not in /proc/self/mounts"))
    }

    /// The end of every test: unmount, compare FAT copies, fsck.
    pub fn finish(mut self) -> Result<()> {
        self.umount()?;
        let d = self.disk()?;
        if !d.copies_agree()? {
            bail!("the FAT copies differ after umount");
        }
        if d.dirty()? {
            bail!("the volume is still marked dirty after umount");
        }
        fsck(&self.image.path)
    }
}

impl Drop for Vol {
    fn drop(&mut self) {
        let _ = self.umount();
        let _ = std::fs::remove_file(&self.image.path);
    }
}
