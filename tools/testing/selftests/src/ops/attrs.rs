// SPDX-License-Identifier: GPL-2.0

//! Modes, owners, and what FAT can't hold.

use super::Op;
use crate::expect::{errno, one_of};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{ensure, Result};

pub const OPS: &[Op] = &[
    ("modes_of_masks", "fmask=0137,dmask=0027,uid=1,gid=2", masks),
    ("chmod_read_only", "", read_only),
    ("chmod_ignored", "", ignored),
    ("chmod_refused", "", refused),
    ("chown", "uid=5,gid=6", chown),
    ("quiet", "quiet,uid=5,gid=6", quiet),
    ("no_links_no_nodes", "", no_nodes),
    ("read_only_file_can_be_removed", "", remove_ro),
    ("showexec", "showexec", showexec),
    ("rodir", "rodir", rodir),
    ("sys_immutable", "sys_immutable", immutable),
    ("no_xattrs", "", xattrs),
];

fn perm(v: &Vol, name: &str) -> Result<u32> {
    Ok(sys::stat(&v.p(name))?.perm())
}

fn masks(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    sys::mkdir(&v.p("d"))?;
    for _ in 0..2 {
        same!(perm(v, "f")?, 0o640, "mode of a file");
        same!(perm(v, "d")?, 0o750, "mode of a directory");
        same!(perm(v, "")?, 0o750, "mode of the root");
        let st = sys::stat(&v.p("f"))?;
        same!((st.uid, st.gid), (1, 2), "owner");
        v.remount()?;
    }
    Ok(())
}

fn read_only(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    same!(perm(v, "f")?, 0o755, "mode at first");
    sys::chmod(&v.p("f"), 0o555)?;
    same!(perm(v, "f")?, 0o555, "mode");
    let f = sys::open(&v.p("f"), libc::O_RDONLY)?;
    same!(
        sys::get_attrs(&f)? & sys::ATTR_RO,
        sys::ATTR_RO,
        "read-only attribute"
    );
    drop(f);
    v.remount()?;
    same!(perm(v, "f")?, 0o555, "mode after remount");
    sys::chmod(&v.p("f"), 0o755)?;
    v.remount()?;
    same!(perm(v, "f")?, 0o755, "mode in the end");
    Ok(())
}

fn ignored(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    sys::mkdir(&v.p("d"))?;
    // Modes that FAT can't hold are accepted and not taken.
    for mode in [0o700, 0o644, 0o000, 0o711] {
        sys::chmod(&v.p("f"), mode)?;
        same!(perm(v, "f")?, 0o755, "mode of the file after {mode:o}");
    }
    sys::chmod(&v.p("f"), 0o777)?;
    same!(perm(v, "f")?, 0o755, "mode after 777 with a mask of 022");
    for mode in [0o555, 0o700, 0o777] {
        sys::chmod(&v.p("d"), mode)?;
        same!(perm(v, "d")?, 0o755, "mode of the directory after {mode:o}");
    }
    Ok(())
}

fn refused(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    for mode in [0o4755, 0o2755, 0o1755] {
        errno(
            sys::chmod(&v.p("f"), mode),
            libc::EPERM,
            &format!("chmod {mode:o}"),
        )?;
    }
    same!(perm(v, "f")?, 0o755, "mode");
    Ok(())
}

fn chown(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    errno(
        sys::chown(&v.p("f"), 1, u32::MAX),
        libc::EPERM,
        "other user",
    )?;
    errno(
        sys::chown(&v.p("f"), u32::MAX, 1),
        libc::EPERM,
        "other group",
    )?;
    errno(sys::chown(&v.p("f"), 0, 0), libc::EPERM, "root")?;
    sys::chown(&v.p("f"), 5, 6)?;
    sys::chown(&v.p("f"), u32::MAX, u32::MAX)?;
    Ok(())
}

fn quiet(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    sys::chown(&v.p("f"), 1, 1)?;
    sys::chmod(&v.p("f"), 0o4755)?;
    let st = sys::stat(&v.p("f"))?;
    same!((st.uid, st.gid, st.perm()), (5, 6, 0o755), "owner and mode");
    Ok(())
}

fn no_nodes(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    errno(sys::symlink("f", &v.p("s")), libc::EPERM, "symlink")?;
    errno(sys::link(&v.p("f"), &v.p("l")), libc::EPERM, "link")?;
    for kind in [libc::S_IFIFO, libc::S_IFSOCK, libc::S_IFCHR, libc::S_IFBLK] {
        errno(sys::mknod(&v.p("n"), kind | 0o600), libc::EPERM, "mknod")?;
    }
    sys::mknod(&v.p("r"), libc::S_IFREG | 0o600)?;
    same!(
        sys::names(&v.mp)?,
        vec!["f".to_string(), "r".to_string()],
        "names"
    );
    Ok(())
}

fn remove_ro(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    sys::chmod(&v.p("f"), 0o555)?;
    sys::rename(&v.p("f"), &v.p("g"), 0)?;
    same!(perm(v, "g")?, 0o555, "mode after rename");
    sys::unlink(&v.p("g"))?;
    Ok(())
}

fn showexec(v: &mut Vol) -> Result<()> {
    for n in ["a.exe", "b.COM", "c.Bat", "d.txt", "e", "f.exec"] {
        sys::create(&v.p(n))?;
    }
    v.remount()?;
    for (n, x) in [
        ("a.exe", true),
        ("b.COM", true),
        ("c.Bat", true),
        ("d.txt", false),
        ("e", false),
        ("f.exec", true),
    ] {
        // The long name's alias decides: F.EXE for f.exec.
        same!(perm(v, n)? & 0o111 != 0, x, "execute bit of {n}");
    }
    Ok(())
}

fn rodir(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("d"))?;
    sys::chmod(&v.p("d"), 0o555)?;
    v.remount()?;
    same!(perm(v, "d")?, 0o555, "mode");
    sys::chmod(&v.p("d"), 0o755)?;
    same!(perm(v, "d")?, 0o755, "mode in the end");
    Ok(())
}

fn immutable(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    let f = sys::open(&v.p("f"), libc::O_RDONLY)?;
    sys::set_attrs(&f, sys::ATTR_SYS | sys::ATTR_ARCH)?;
    drop(f);
    v.remount()?;
    one_of(
        sys::unlink(&v.p("f")),
        &[libc::EPERM],
        "unlink of a system file",
    )?;
    one_of(
        sys::open(&v.p("f"), libc::O_WRONLY),
        &[libc::EPERM],
        "writing open",
    )?;
    one_of(
        sys::rename(&v.p("f"), &v.p("g"), 0),
        &[libc::EPERM],
        "rename",
    )?;
    let f = sys::open(&v.p("f"), libc::O_RDONLY)?;
    sys::set_attrs(&f, sys::ATTR_ARCH)?;
    drop(f);
    sys::unlink(&v.p("f"))?;
    Ok(())
}

fn xattrs(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    let r = sys::setxattr(&v.p("f"), "user.x", b"1");
    ensure!(r == Err(sys::Errno(libc::EOPNOTSUPP)), "setxattr: {r:?}");
    Ok(())
}
