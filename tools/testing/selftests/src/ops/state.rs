// SPDX-License-Identifier: GPL-2.0

//! Mount states: read-only, dirty flag, FSINFO, remounts.

use super::Op;
use crate::expect::{errno, one_of};
use crate::geom;
use crate::runner::Case;
use crate::same;
use crate::sys;
use crate::vol::{fsck, Image, Vol};
use anyhow::{ensure, Result};

pub const OPS: &[Op] = &[
    ("dirty_flag", "", dirty),
    ("dirty_flag_of_unclean_volume", "", unclean),
    ("read_only_mount", "", read_only),
    ("remount_modes", "", remount),
    ("read_only_device", "", read_only_device),
    ("busy_umount", "", busy),
    ("fsinfo_after_umount", "", fsinfo),
    ("mount_twice", "", twice),
    ("nosuid_noexec", "", noexec),
];

fn dirty(v: &mut Vol) -> Result<()> {
    ensure!(v.disk()?.dirty()?, "not marked dirty while mounted");
    sys::create(&v.p("f"))?;
    sys::sync();
    ensure!(v.disk()?.dirty()?, "not marked dirty after sync");
    v.umount()?;
    ensure!(!v.disk()?.dirty()?, "marked dirty after umount");
    v.flags = libc::MS_RDONLY;
    v.mount()?;
    ensure!(!v.disk()?.dirty()?, "marked dirty by a read-only mount");
    v.reconfigure(0)?;
    ensure!(v.disk()?.dirty()?, "not marked dirty by remount rw");
    v.reconfigure(libc::MS_RDONLY)?;
    ensure!(!v.disk()?.dirty()?, "marked dirty after remount ro");
    Ok(())
}

fn unclean(v: &mut Vol) -> Result<()> {
    v.umount()?;
    let d = v.disk()?;
    let at = if d.bits == 32 { 65 } else { 37 };
    d.write(at, &[1])?;
    v.mount()?;
    sys::create(&v.p("f"))?;
    v.umount()?;
    // Only a check may call an unclean volume clean.
    ensure!(v.disk()?.dirty()?, "the mark of an unclean volume got lost");
    d.write(at, &[0])
}

fn read_only(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("f"), b"x")?;
    sys::mkdir(&v.p("d"))?;
    v.umount()?;
    let before = std::fs::read(&v.image.path)?;
    v.flags = libc::MS_RDONLY;
    v.mount()?;
    let erofs = libc::EROFS;
    errno(sys::create(&v.p("g")), erofs, "create")?;
    errno(sys::open(&v.p("f"), libc::O_RDWR), erofs, "writing open")?;
    errno(sys::unlink(&v.p("f")), erofs, "unlink")?;
    errno(sys::mkdir(&v.p("e")), erofs, "mkdir")?;
    errno(sys::rmdir(&v.p("d")), erofs, "rmdir")?;
    errno(sys::rename(&v.p("f"), &v.p("g"), 0), erofs, "rename")?;
    errno(sys::truncate(&v.p("f"), 0), erofs, "truncate")?;
    errno(sys::chmod(&v.p("f"), 0o555), erofs, "chmod")?;
    errno(
        sys::utimens(&v.p("f"), None, Some((1, 0))),
        erofs,
        "utimens",
    )?;
    let f = sys::open(&v.p("f"), libc::O_RDONLY)?;
    errno(sys::set_attrs(&f, 2), erofs, "attributes")?;
    same!(sys::pread_vec(&f, 10, 0)?, b"x".to_vec(), "content");
    drop(f);
    sys::list(&v.p("d"))?;
    v.umount()?;
    ensure!(
        std::fs::read(&v.image.path)? == before,
        "a read-only mount changed the device"
    );
    Ok(())
}

fn remount(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    errno(
        v.reconfigure(libc::MS_RDONLY),
        libc::EBUSY,
        "ro with a writable file open",
    )?;
    sys::pwrite_all(&f, b"data", 0)?;
    drop(f);
    for _ in 0..3 {
        v.reconfigure(libc::MS_RDONLY)?;
        ensure!(v.shown_options()?.starts_with("ro"), "not shown as ro");
        errno(sys::create(&v.p("g")), libc::EROFS, "create while ro")?;
        v.reconfigure(0)?;
        ensure!(v.shown_options()?.starts_with("rw"), "not shown as rw");
        std::fs::write(v.p("f"), b"more data")?;
    }
    v.reconfigure(libc::MS_SYNCHRONOUS)?;
    std::fs::write(v.p("g"), b"sync")?;
    v.reconfigure(libc::MS_NOATIME)?;
    v.remount()?;
    same!(std::fs::read(v.p("f"))?, b"more data".to_vec(), "content");
    Ok(())
}

fn read_only_device(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("f"), b"x")?;
    v.umount()?;
    let dev = sys::Loop::attach(&v.image.path, 0, true)?;
    one_of(
        sys::mount(&dev.dev, &v.mp, &v.fs, 0, ""),
        &[libc::EACCES, libc::EROFS],
        "rw mount of a ro device",
    )?;
    sys::mount(&dev.dev, &v.mp, &v.fs, libc::MS_RDONLY, "")?;
    let got = std::fs::read(v.p("f"));
    let rw = sys::mount(&dev.dev, &v.mp, &v.fs, libc::MS_REMOUNT, "");
    sys::umount(&v.mp, 0)?;
    same!(got?, b"x".to_vec(), "content");
    one_of(rw, &[libc::EACCES, libc::EROFS], "remount rw")
}

fn busy(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    errno(
        sys::umount(&v.mp, 0),
        libc::EBUSY,
        "umount with an open file",
    )?;
    sys::pwrite_all(&f, b"x", 0)?;
    drop(f);
    v.remount()
}

fn fsinfo(v: &mut Vol) -> Result<()> {
    for round in 0..3 {
        for i in 0..20 {
            std::fs::write(v.p(format!("f{round}-{i}")), vec![1; 3000 * i])?;
        }
        sys::mkdir(&v.p(format!("d{round}")))?;
        if round > 0 {
            sys::unlink(&v.p(format!("f{}-7", round - 1)))?;
        }
        let shown = sys::statfs(&v.mp)?.bfree;
        v.umount()?;
        let d = v.disk()?;
        same!(
            d.count_free()? as u64,
            shown,
            "free entries in the FAT, round {round}"
        );
        if d.bits == 32 {
            same!(
                d.fsinfo_free()? as u64,
                shown,
                "free count in FSINFO, round {round}"
            );
        }
        v.mount()?;
    }
    Ok(())
}

fn twice(v: &mut Vol) -> Result<()> {
    let second = v.mp.with_file_name("mnt-second");
    let _ = std::fs::create_dir(&second);
    let dev = sys::mounts()
        .into_iter()
        .rfind(|m| m.dir == v.mp)
        .map(|m| m.dev);
    let dev = std::path::PathBuf::from(dev.unwrap_or_default());
    sys::mount(&dev, &second, &v.fs, 0, "")?;
    std::fs::write(v.p("f"), b"one")?;
    let got = std::fs::read(second.join("F"));
    std::fs::write(second.join("g"), b"two")?;
    sys::umount(&second, 0)?;
    same!(got?, b"one".to_vec(), "content by the second mount");
    same!(
        std::fs::read(v.p("g"))?,
        b"two".to_vec(),
        "content by the first mount"
    );
    Ok(())
}

fn noexec(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("run"), "#!/bin/sh\nexit 7\n")?;
    let code = std::process::Command::new(v.p("run")).status()?.code();
    same!(code, Some(7), "status of a script");
    v.reconfigure(libc::MS_NOEXEC | libc::MS_NOSUID | libc::MS_NODEV)?;
    ensure!(
        std::process::Command::new(v.p("run")).status().is_err(),
        "ran in spite of noexec"
    );
    Ok(())
}

/// What FSINFO may say, and the driver must not trust.
pub fn fsinfo_cases() -> Vec<Case> {
    let bad: [(&str, u64, Vec<u8>); 7] = [
        ("unknown_count", 488, vec![0xFF; 4]),
        ("count_too_high", 488, 0x7FFF_FFFFu32.to_le_bytes().to_vec()),
        ("next_unknown", 492, vec![0xFF; 4]),
        (
            "next_beyond_end",
            492,
            0x0FFF_FFF0u32.to_le_bytes().to_vec(),
        ),
        ("next_zero", 492, vec![0; 4]),
        ("no_lead_signature", 0, vec![0; 4]),
        ("no_struct_signature", 484, vec![0; 4]),
    ];
    bad.into_iter()
        .map(|(name, at, value)| {
            Case::new(name, move |cfg| {
                let image = Image::make(&geom::fat(32), "t")?;
                let d = image.disk()?;
                d.write(d.fsinfo + at, &value)?;
                let broken_signature = at == 0 || at == 484;
                let mut v = Vol::mount_image(image, &cfg.fs, "", "t")?;
                let free = d.count_free()? as u64;
                same!(sys::statfs(&v.mp)?.bfree, free, "free clusters");
                std::fs::write(v.p("f"), vec![1; 100_000])?;
                v.remount()?;
                same!(std::fs::read(v.p("f"))?.len(), 100_000, "size");
                sys::unlink(&v.p("f"))?;
                v.umount()?;
                same!(d.count_free()? as u64, free, "free entries in the FAT");
                if broken_signature {
                    return Ok(());
                }
                same!(d.fsinfo_free()? as u64, free, "free count in FSINFO");
                fsck(&v.image.path)
            })
        })
        .collect()
}
