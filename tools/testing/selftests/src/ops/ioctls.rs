// SPDX-License-Identifier: GPL-2.0

//! The ioctls of FAT.

use super::Op;
use crate::expect::{errno, one_of};
use crate::geom::VOLUME_ID;
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::Result;

pub const OPS: &[Op] = &[
    ("ioctl_attributes", "", attributes),
    ("ioctl_volume_id", "", volume_id),
    ("ioctl_readdir", "", readdir),
    ("ioctl_unknown", "", unknown),
];

fn attributes(v: &mut Vol) -> Result<()> {
    use sys::{ATTR_ARCH, ATTR_DIR, ATTR_HIDDEN, ATTR_RO, ATTR_SYS};
    sys::create(&v.p("f"))?;
    sys::mkdir(&v.p("d"))?;
    let open = |v: &Vol, n: &str| sys::open(&v.p(n), libc::O_RDONLY);
    same!(
        sys::get_attrs(&open(v, "f")?)?,
        ATTR_ARCH,
        "attributes of a new file"
    );
    same!(
        sys::get_attrs(&open(v, "d")?)?,
        ATTR_DIR,
        "attributes of a new directory"
    );
    same!(
        sys::get_attrs(&open(v, "")?)?,
        ATTR_DIR,
        "attributes of the root"
    );
    for a in [
        ATTR_HIDDEN,
        ATTR_SYS | ATTR_RO,
        ATTR_HIDDEN | ATTR_SYS | ATTR_ARCH,
        0,
    ] {
        sys::set_attrs(&open(v, "f")?, a)?;
        v.remount()?;
        same!(
            sys::get_attrs(&open(v, "f")?)?,
            a,
            "attributes that were set"
        );
        let mode = if a & ATTR_RO != 0 { 0o555 } else { 0o755 };
        same!(
            sys::stat(&v.p("f"))?.perm(),
            mode,
            "mode with attributes {a:#x}"
        );
    }
    // The kinds can't be changed.
    sys::set_attrs(&open(v, "f")?, ATTR_DIR | 8 | ATTR_ARCH | 0xFF00)?;
    same!(
        sys::get_attrs(&open(v, "f")?)?,
        ATTR_ARCH,
        "attributes without the kinds"
    );
    sys::set_attrs(&open(v, "d")?, ATTR_HIDDEN)?;
    same!(
        sys::get_attrs(&open(v, "d")?)?,
        ATTR_DIR | ATTR_HIDDEN,
        "hidden directory"
    );
    errno(
        sys::set_attrs(&open(v, "")?, ATTR_HIDDEN),
        libc::EINVAL,
        "hidden root",
    )?;
    sys::set_attrs(&open(v, "")?, 0)?;
    Ok(())
}

fn volume_id(v: &mut Vol) -> Result<()> {
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    same!(sys::volume_id(&d)?, VOLUME_ID, "volume id");
    let f = sys::create(&v.p("f"))?;
    same!(sys::volume_id(&f)?, VOLUME_ID, "volume id by a file");
    Ok(())
}

fn readdir(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("A long name.txt"))?;
    sys::create(&v.p("SHORT.TXT"))?;
    sys::mkdir(&v.p("lower"))?;
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    let text = |b: &[u8]| String::from_utf8_lossy(b).into_owned();
    let mut both: Vec<(String, String)> = sys::readdir_ioctl(&d, true)?
        .iter()
        .map(|(s, l)| (text(s), text(l)))
        .filter(|(s, _)| !s.starts_with('.'))
        .collect();
    both.sort();
    let pair = |s: &str, l: &str| (s.to_string(), l.to_string());
    same!(
        both,
        vec![
            pair("ALONGN~1.TXT", "A long name.txt"),
            pair("LOWER", "lower"),
            pair("SHORT.TXT", "")
        ],
        "short and long names"
    );
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    let mut short: Vec<String> = sys::readdir_ioctl(&d, false)?
        .iter()
        .map(|(s, _)| text(s))
        .collect();
    short.retain(|s| !s.starts_with('.'));
    short.sort();
    same!(
        short,
        vec![
            "ALONGN~1.TXT".to_string(),
            "LOWER".into(),
            "SHORT.TXT".into()
        ],
        "short names"
    );
    one_of(
        sys::readdir_ioctl(&sys::create(&v.p("f"))?, true),
        &[libc::ENOTTY, libc::ENOTDIR],
        "on a file",
    )
}

fn unknown(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    errno(sys::unknown_ioctl(&f), libc::ENOTTY, "unknown ioctl")?;
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    errno(
        sys::unknown_ioctl(&d),
        libc::ENOTTY,
        "unknown ioctl of a directory",
    )
}
