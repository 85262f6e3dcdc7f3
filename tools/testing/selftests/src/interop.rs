// SPDX-License-Identifier: GPL-2.0

//! Suite `interop`: what the file system under test writes is read by vfat, mtools and 7z, and
//! the other way round; and images that were made by none of these tests.

use crate::differ::snap;
use crate::expect::{bytes, pattern};
use crate::geom;
use crate::runner::{skip, Case, Config, Group, Suite};
use crate::same;
use crate::sys;
use crate::vol::{fsck, Image, Vol, WORK};
use anyhow::{bail, Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files by path, with their contents.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("SHORT.TXT", pattern(1, 0, 100)),
        ("lower.txt", pattern(2, 0, 5000)),
        ("A long file name with spaces.text", pattern(3, 0, 70_000)),
        ("Dir One/inner file.bin", pattern(4, 0, 300_000)),
        ("Dir One/Deeper/EMPTY", Vec::new()),
        ("Dir One/Deeper/x", pattern(5, 0, 1)),
        ("MiXeD.CaSe", pattern(6, 0, 4096)),
        ("many.dots.in.name", pattern(7, 0, 512)),
        ("plus+comma,equals=;", pattern(8, 0, 513)),
    ]
}

fn write_all(root: &Path) -> Result<()> {
    for (name, data) in files() {
        let p = root.join(name);
        std::fs::create_dir_all(p.parent().unwrap_or(root))?;
        std::fs::write(p, data)?;
    }
    Ok(())
}

fn check_all(root: &Path) -> Result<()> {
    for (name, data) in files() {
        bytes(
            &std::fs::read(root.join(name)).with_context(|| name.to_string())?,
            &data,
            name,
        )?;
    }
    Ok(())
}

/// Runs a tool that works on an image; its output.
fn tool(name: &str, args: &[&str]) -> Result<Vec<u8>> {
    let out = Command::new(name)
        .args(args)
        .env("MTOOLS_SKIP_CHECK", "1")
        .env("MTOOLSRC", "/dev/null")
        .env("LC_ALL", "C.UTF-8")
        .output();
    let out = match out {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return skip(format!("no {name}")),
        o => o?,
    };
    if !out.status.success() {
        let text = String::from_utf8_lossy(&out.stderr).into_owned();
        bail!("{name} {}: {} {text}", args.join(" "), out.status);
    }
    Ok(out.stdout)
}

fn image_arg(v: &Vol) -> String {
    v.image.path.display().to_string()
}

fn scratch() -> Result<PathBuf> {
    let d = Path::new(WORK).join("host");
    let _ = std::fs::remove_dir_all(&d);
    std::fs::create_dir(&d)?;
    Ok(d)
}

fn by_vfat(bits: u32, cfg: &Config, forward: bool) -> Result<()> {
    let (one, two) = if forward {
        (cfg.fs.as_str(), "vfat")
    } else {
        ("vfat", cfg.fs.as_str())
    };
    let mut v = Vol::fresh(&geom::fat(bits), one, "utf8", "t")?;
    write_all(&v.mp)?;
    v.umount()?;
    fsck(&v.image.path)?;
    v.fs = two.into();
    v.mount()?;
    check_all(&v.mp)?;
    // And on from there, with the other driver again.
    sys::rename(&v.p("Dir One/Deeper"), &v.p("Moved"), 0)?;
    sys::unlink(&v.p("lower.txt"))?;
    v.umount()?;
    v.fs = one.into();
    v.mount()?;
    bytes(
        &std::fs::read(v.p("moved/X"))?,
        &pattern(5, 0, 1),
        "moved file",
    )?;
    v.finish()
}

fn mtools_reads(bits: u32, cfg: &Config) -> Result<()> {
    let mut v = Vol::fresh(&geom::fat(bits), &cfg.fs, "utf8", "t")?;
    write_all(&v.mp)?;
    v.umount()?;
    let i = image_arg(&v);
    for (name, data) in files() {
        let got = tool("mtype", &["-i", &i, &format!("::{name}")])?;
        bytes(&got, &data, name)?;
    }
    let list = String::from_utf8_lossy(&tool("mdir", &["-i", &i, "-b", "-/", "::"])?).into_owned();
    for (name, _) in files() {
        if !list.lines().any(|l| l.ends_with(&format!("/{name}"))) {
            bail!("mdir doesn't list {name}:\n{list}");
        }
    }
    v.mount()?;
    v.finish()
}

fn mtools_writes(bits: u32, cfg: &Config) -> Result<()> {
    let host = scratch()?;
    write_all(&host)?;
    let mut v = Vol::fresh(&geom::fat(bits), &cfg.fs, "utf8", "t")?;
    v.umount()?;
    let i = image_arg(&v);
    for e in std::fs::read_dir(&host)? {
        let p = e?.path().display().to_string();
        tool("mcopy", &["-i", &i, "-s", "-Q", &p, "::"])?;
    }
    tool("mattrib", &["-i", &i, "+r", "::SHORT.TXT"])?;
    tool("mmd", &["-i", &i, "::made by mmd"])?;
    v.mount()?;
    check_all(&v.mp)?;
    same!(
        sys::stat(&v.p("SHORT.TXT"))?.perm(),
        0o555,
        "mode of a read-only file"
    );
    sys::rmdir(&v.p("made by mmd"))?;
    std::fs::write(v.p("Dir One/new"), b"new")?;
    v.finish()
}

fn seven_zip(bits: u32, cfg: &Config) -> Result<()> {
    let mut v = Vol::fresh(&geom::fat(bits), &cfg.fs, "utf8", "t")?;
    write_all(&v.mp)?;
    v.umount()?;
    let host = scratch()?;
    let to = format!("-o{}", host.display());
    tool("7z", &["x", "-y", &to, &image_arg(&v)])?;
    check_all(&host)?;
    v.mount()?;
    v.finish()
}

/// Images by mformat: floppies and other shapes.
fn mformat(args: &'static [&'static str]) -> Case {
    let name = args.join("_").replace('-', "");
    Case::new(format!("mformat_{name}"), move |cfg| {
        let path = Path::new(WORK).join("mformat.img");
        let i = path.display().to_string();
        let mut all = vec!["-C", "-i", &i, "-v", "MFORMAT"];
        all.extend(args);
        all.push("::");
        tool("mformat", &all)?;
        let mut v = Vol::mount_image(Image { path }, &cfg.fs, "utf8", "t")?;
        let free = sys::statfs(&v.mp)?.bfree;
        same!(v.disk()?.count_free()? as u64, free, "free clusters");
        std::fs::write(v.p("by the driver"), pattern(1, 0, 30_000))?;
        sys::mkdir(&v.p("dir"))?;
        v.umount()?;
        let got = tool("mtype", &["-i", &i, "::by the driver"])?;
        bytes(&got, &pattern(1, 0, 30_000), "read by mtools")?;
        tool("mdel", &["-i", &i, "::by the driver"])?;
        tool("mrd", &["-i", &i, "::dir"])?;
        v.mount()?;
        same!(sys::statfs(&v.mp)?.bfree, free, "free clusters in the end");
        v.umount()
    })
}

/// Both drivers see the same on an image that is mounted read-only.
fn compare_read_only(dev: &Path, fs: &str) -> Result<()> {
    let mp = Path::new(WORK).join("mnt-t");
    let _ = std::fs::create_dir(&mp);
    let look = |fs: &str| -> Result<_> {
        sys::mount(dev, &mp, fs, libc::MS_RDONLY, "utf8")
            .with_context(|| format!("mount -t {fs}"))?;
        let s = snap::take(&mp, snap::Care::Exact);
        sys::umount(&mp, 0)?;
        s
    };
    snap::compare(&look("vfat")?, &look(fs)?)
}

/// A disk that QEMU makes up from a folder of the host.
fn qemu_disk(cfg: &Config) -> Result<()> {
    let disk = Path::new("/sys/block");
    for e in std::fs::read_dir(disk)?.flatten() {
        let serial = std::fs::read_to_string(e.path().join("serial")).unwrap_or_default();
        if serial.trim() == "vvfat" {
            let name = e.file_name().to_string_lossy().into_owned();
            let part = PathBuf::from(format!("/dev/{name}1"));
            let dev = if part.exists() {
                part
            } else {
                format!("/dev/{name}").into()
            };
            return compare_read_only(&dev, &cfg.fs);
        }
    }
    skip("no disk with the serial number vvfat in this guest")
}

/// FAT images inside files that came with Debian packages: the EFI image of an ISO 9660 file, or
/// the memory disk that a GRUB image carries, which starts at any multiple of four bytes.
fn packaged_images(cfg: &Config) -> Result<()> {
    let mut todo: Vec<PathBuf> = [
        "/usr/lib/debian-installer",
        "/usr/share/OVMF",
        "/usr/share/ovmf",
        "/usr/lib/ipxe",
        "/usr/lib/memtest86+",
        "/boot",
    ]
    .iter()
    .map(PathBuf::from)
    .collect();
    let mut found = 0;
    while let Some(p) = todo.pop() {
        if p.is_symlink() {
            continue;
        }
        if p.is_dir() {
            todo.extend(std::fs::read_dir(&p)?.flatten().map(|e| e.path()));
            continue;
        }
        let ext = p.extension().map(|e| e.to_string_lossy().into_owned());
        if !matches!(ext.as_deref(), Some("img" | "iso" | "fd" | "bin" | "efi")) {
            continue;
        }
        let data = std::fs::read(&p)?;
        for at in (0..data.len().saturating_sub(512)).step_by(4) {
            let b = &data[at..at + 512];
            let fat = b[510..512] == [0x55, 0xAA] && (&b[54..57] == b"FAT" || &b[82..85] == b"FAT");
            if fat && b[11..13] == [0, 2] {
                let path = Path::new(WORK).join("found.img");
                std::fs::write(&path, &data[at..])?;
                let dev = sys::Loop::attach(&path, 0, true)?;
                compare_read_only(&dev.dev, &cfg.fs)
                    .with_context(|| format!("{} at {at}", p.display()))?;
                found += 1;
            }
        }
    }
    if found == 0 {
        return skip("no FAT image among the installed packages");
    }
    Ok(())
}

/// The suite.
pub fn suite() -> Suite {
    let groups = [12, 16, 32].into_iter().map(|b| Group {
        name: format!("fat{b}"),
        cases: vec![
            Case::new("vfat_reads", move |c| by_vfat(b, c, true)),
            Case::new("vfat_writes", move |c| by_vfat(b, c, false)),
            Case::new("mtools_reads", move |c| mtools_reads(b, c)),
            Case::new("mtools_writes", move |c| mtools_writes(b, c)),
            Case::new("7z_reads", move |c| seven_zip(b, c)),
        ],
    });
    let mut others = vec![
        Case::new("qemu_vvfat", qemu_disk),
        Case::new("packaged", packaged_images),
    ];
    const SHAPES: &[&[&str]] = &[
        &["-f", "160"],
        &["-f", "180"],
        &["-f", "320"],
        &["-f", "360"],
        &["-f", "720"],
        &["-f", "1200"],
        &["-f", "1440"],
        &["-f", "2880"],
        &["-t", "80", "-h", "2", "-s", "21"],
        &["-t", "100", "-h", "4", "-s", "32", "-c", "1", "-d", "1"],
        &["-t", "200", "-h", "16", "-s", "32", "-c", "8"],
        &["-t", "150", "-h", "16", "-s", "63", "-c", "1", "-F"],
        &["-t", "200", "-h", "8", "-s", "32", "-c", "4", "-r", "16"],
        &["-t", "80", "-h", "2", "-s", "18", "-M", "1024"],
    ];
    others.extend(SHAPES.iter().map(|s| mformat(s)));
    Suite {
        name: "interop",
        groups: groups
            .chain([Group {
                name: "other_images".into(),
                cases: others,
            }])
            .collect(),
    }
}
