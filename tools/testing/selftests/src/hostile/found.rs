// SPDX-License-Identifier: GPL-2.0

//! Mistakes that broken volumes have led to, each with a volume made for it. The comment of a
//! test tells what went wrong.

use crate::expect::errno;
use crate::geom::Geom;
use crate::kmsg::Kmsg;
use crate::runner::{Case, Config};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{ensure, Context, Result};

/// The tests.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("freed_twice", freed_twice).limit(60),
        Case::new("message_without_device", message_without_device).limit(60),
    ]
}

/// Two files had the same clusters. When both were removed, their clusters were counted as freed
/// twice: more was free than there is, and FSINFO said so, too.
fn freed_twice(cfg: &Config) -> Result<()> {
    for (bits, mib, cluster) in [(12, 4, 2048), (16, 12, 2048), (32, 36, 512)] {
        let mut g = Geom::new(bits, mib << 20, cluster);
        g.name = format!("hostile{bits}");
        let mut v = Vol::fresh(&g, &cfg.fs, "errors=continue", "t")?;
        // Three quarters of the volume.
        let size = (mib as usize) << 20 >> 2;
        std::fs::write(v.p("A"), vec![1; 3 * size])?;
        std::fs::write(v.p("B"), b"")?;
        v.umount()?;
        let d = v.disk()?;
        let (a, b) = (d.find_root(b"A          ")?, d.find_root(b"B          ")?);
        d.set_start(b, d.start(a)?)?;
        d.set_size(b, 3 * size as u32)?;
        v.mount()?;
        sys::statfs(&v.mp)?;
        // Where both are is known before the clusters of the first are freed.
        for name in ["A", "B"] {
            std::fs::read(v.p(name))?;
        }
        for name in ["A", "B"] {
            sys::unlink(&v.p(name))?;
        }
        let root = sys::open(&v.mp, libc::O_RDONLY)?;
        sys::syncfs(&root)?;
        drop(root);
        let s = sys::statfs(&v.mp)?;
        ensure!(
            s.bfree <= s.blocks,
            "FAT{bits}: statfs has {} clusters free of {}",
            s.bfree,
            s.blocks
        );
        v.umount()?;
        let free = v.disk()?.count_free()?;
        same!(
            s.bfree,
            free as u64,
            "FAT{bits}: free clusters by statfs and by the FAT"
        );
        if bits == 32 {
            same!(
                v.disk()?.fsinfo_free()?,
                free,
                "free clusters by FSINFO and by the FAT"
            );
        }
    }
    Ok(())
}

/// A mount that failed for a character set that isn't there said so, but not on which device.
fn message_without_device(cfg: &Config) -> Result<()> {
    let mut g = Geom::new(16, 12 << 20, 2048);
    g.name = "hostile16".into();
    let mut v = Vol::fresh(&g, &cfg.fs, "", "t")?;
    v.umount()?;
    for opts in ["iocharset=nonsense", "codepage=12345"] {
        let mut log = Kmsg::now();
        v.opts = opts.into();
        errno(v.try_mount(), libc::EINVAL, opts)?;
        let said: Vec<String> = log.read();
        let about = said.iter().find(|l| l.contains("not found"));
        let about = about.with_context(|| format!("{opts}: nothing is said: {said:?}"))?;
        ensure!(about.contains("(loop"), "{opts}: {about}");
    }
    Ok(())
}
