// SPDX-License-Identifier: GPL-2.0

//! Suite `options`: each mount option is accepted, refused and shown as vfat does it.

use crate::geom;
use crate::runner::{Case, Group, Suite};
use crate::same;
use crate::sys::{self, Res};
use crate::vol::{Image, Vol, WORK};
use anyhow::{bail, Result};
use std::path::Path;

/// Named lists of option strings. `,` separates options as in mount(8).
const LISTS: &[(&str, &[&str])] = &[
    ("defaults", &["", ",", "rw", "debug"]),
    (
        "owner",
        &[
            "uid=0",
            "uid=1000",
            "gid=1000",
            "uid=1,gid=2",
            "uid=4294967294",
            "uid=-1",
            "uid=4294967295",
            "uid=abc",
            "uid=",
            "uid",
            "gid=-1",
            "gid=x",
            "uid=0x10",
            "uid=010",
        ],
    ),
    (
        "masks",
        &[
            "umask=0",
            "umask=077",
            "umask=777",
            "fmask=0111",
            "dmask=0222",
            "umask=077,dmask=022",
            "dmask=022,umask=077",
            "umask=8",
            "umask=0x12",
            "umask=-1",
            "umask=",
            "umask=1777",
            "umask=177777",
            "fmask=abc",
            "dmask=9",
            "allow_utime=0022",
            "allow_utime=020",
            "allow_utime=2",
            "allow_utime=0",
            "allow_utime=777",
            "allow_utime=x",
        ],
    ),
    (
        "charset",
        &[
            "codepage=437",
            "codepage=850",
            "codepage=866",
            "codepage=932",
            "codepage=1",
            "codepage=99999",
            "codepage=abc",
            "codepage=",
            "codepage=-5",
            "codepage=cp437",
            "iocharset=iso8859-1",
            "iocharset=iso8859-15",
            "iocharset=utf8",
            "iocharset=koi8-r",
            "iocharset=default",
            "iocharset=ascii",
            "iocharset=none-such",
            "iocharset=",
            "iocharset",
            "codepage=850,iocharset=koi8-u",
        ],
    ),
    (
        "utf8",
        &[
            "utf8",
            "utf8=1",
            "utf8=0",
            "utf8=true",
            "utf8=false",
            "utf8=yes",
            "utf8=no",
            "utf8=2",
            "utf8=on",
            "utf8=maybe",
            "noutf8",
            "uni_xlate",
            "uni_xlate=1",
            "uni_xlate=no",
            "uni_xlate=x",
            "utf8,uni_xlate",
            "utf8,utf8=0",
        ],
    ),
    (
        "names",
        &[
            "shortname=lower",
            "shortname=win95",
            "shortname=winnt",
            "shortname=mixed",
            "shortname=MIXED",
            "shortname=",
            "shortname=x",
            "shortname",
            "nonumtail",
            "nonumtail=1",
            "nonumtail=no",
            "nonumtail=0",
            "nonumtail=?",
            "numtail",
            "check=r",
            "check=n",
            "check=s",
            "check=relaxed",
            "check=normal",
            "check=strict",
            "check=x",
            "check=",
            "nocase",
            "shortname=win95,nocase",
            "dots",
            "nodots",
            "dotsOK=yes",
            "posix",
        ],
    ),
    (
        "errors",
        &[
            "errors=continue",
            "errors=remount-ro",
            "errors=panic",
            "errors=ignore",
            "errors=",
            "errors",
        ],
    ),
    (
        "flags",
        &[
            "flush",
            "flush=1",
            "noflush",
            "discard",
            "nodiscard",
            "discard=yes",
            "quiet",
            "quiet=0",
            "showexec",
            "sys_immutable",
            "usefree",
            "rodir",
            "dos1xfloppy",
            "flush,discard,quiet,showexec,sys_immutable,usefree,rodir",
        ],
    ),
    (
        "time",
        &[
            "tz=UTC",
            "tz=utc",
            "tz=CET",
            "tz=",
            "time_offset=0",
            "time_offset=60",
            "time_offset=-60",
            "time_offset=1440",
            "time_offset=-1440",
            "time_offset=1441",
            "time_offset=-1441",
            "time_offset=x",
            "time_offset=",
            "tz=UTC,time_offset=5",
            "time_offset=5,tz=UTC",
        ],
    ),
    (
        "nfs",
        &[
            "nfs",
            "nfs=stale_rw",
            "nfs=nostale_ro",
            "nfs=x",
            "nfs=",
            "nonfs",
        ],
    ),
    (
        "obsolete",
        &[
            "conv=b",
            "conv=binary",
            "conv=t",
            "conv=text",
            "conv=a",
            "conv=auto",
            "conv=x",
            "fat=12",
            "fat=16",
            "fat=x",
            "blocksize=512",
            "blocksize=x",
            "cvf_format=x",
            "cvf_options=x",
            "posix=1",
        ],
    ),
    (
        "unknown",
        &[
            "bogus",
            "bogus=1",
            "=",
            "=1",
            "uid=1,bogus",
            "bogus,uid=1",
            "UID=1",
            "umask =0",
            "fmask=0,fmask=0177",
            "uid=1,uid=2",
        ],
    ),
];

/// What a mount of a type with these options comes to.
fn outcome(image: &Path, fs: &str, flags: u64, opts: &str) -> Result<String> {
    let dev = sys::Loop::attach(image, 0, false)?;
    let mp = Path::new(WORK).join("mnt-t");
    let _ = std::fs::create_dir(&mp);
    if let Err(e) = sys::mount(&dev.dev, &mp, fs, flags, opts) {
        return Ok(format!("refused: {e}"));
    }
    let shown = sys::mounts()
        .into_iter()
        .rfind(|m| m.dir == mp)
        .map(|m| m.opts);
    sys::umount(&mp, 0)?;
    Ok(shown.unwrap_or_default())
}

fn compare(cfg_fs: &str, opts: &[&str]) -> Result<()> {
    let image = Image::make(&geom::fat(16), "t")?;
    let mut bad = Vec::new();
    for o in opts {
        let want = outcome(&image.path, "vfat", 0, o)?;
        let got = outcome(&image.path, cfg_fs, 0, o)?;
        if want != got {
            bad.push(format!("-o '{o}'\n  vfat: {want}\n other: {got}"));
        }
    }
    if !bad.is_empty() {
        bail!("{} of {} differ\n{}", bad.len(), opts.len(), bad.join("\n"));
    }
    Ok(())
}

/// Remounting ignores the options of FAT, but not the general ones.
fn reconfigure() -> Case {
    Case::new("remount", |cfg| {
        let run = |fs: &str, opts: &str, flags: u64| -> Result<(Res<()>, String)> {
            let mut v = Vol::fresh(&geom::fat(32), fs, "uid=7,utf8", "t")?;
            v.opts = opts.into();
            let r = v.reconfigure(flags);
            let shown = v.shown_options()?;
            v.finish()?;
            Ok((r, shown))
        };
        for (opts, flags) in [
            ("uid=5", 0),
            ("uid=abc", 0),
            ("bogus=1", 0),
            ("utf8=0,shortname=lower", libc::MS_RDONLY),
            ("", libc::MS_SYNCHRONOUS),
            ("", libc::MS_NODIRATIME | libc::MS_DIRSYNC),
            ("errors=panic", libc::MS_NOATIME),
        ] {
            same!(
                run(&cfg.fs, opts, flags)?,
                run("vfat", opts, flags)?,
                "remount with '{opts}' {flags:#x}"
            );
        }
        Ok(())
    })
}

/// Each type of the device node and of its content.
fn wrong_devices() -> Case {
    Case::new("wrong_devices", |cfg| {
        let mp = Path::new(WORK).join("mnt-t");
        let _ = std::fs::create_dir(&mp);
        for dev in ["/dev/null", "/dev/none", "/proc/version", "none", ""] {
            let go = |fs: &str| {
                let r = sys::mount(Path::new(dev), &mp, fs, 0, "");
                if r.is_ok() {
                    let _ = sys::umount(&mp, 0);
                }
                r
            };
            same!(go(&cfg.fs), go("vfat"), "mount of {dev:?}");
        }
        Ok(())
    })
}

/// The suite.
pub fn suite() -> Suite {
    let mut cases: Vec<Case> = LISTS
        .iter()
        .map(|&(name, list)| Case::new(name, move |cfg| compare(&cfg.fs, list)))
        .collect();
    cases.push(reconfigure());
    cases.push(wrong_devices());
    Suite {
        name: "options",
        groups: vec![Group {
            name: "differential".into(),
            cases,
        }],
    }
}
