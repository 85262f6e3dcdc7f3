// SPDX-License-Identifier: GPL-2.0

//! rename in all its forms.

use super::Op;
use crate::expect::{errno, one_of};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{ensure, Result};

pub const OPS: &[Op] = &[
    ("rename_file", "", file),
    ("rename_over_file", "", over_file),
    ("rename_case_only", "", case_only),
    ("rename_directory", "", directory),
    ("rename_over_directory", "", over_directory),
    ("rename_into_itself", "", into_itself),
    ("rename_type_conflicts", "", conflicts),
    ("rename_noreplace", "", noreplace),
    ("rename_exchange", "", exchange),
    ("rename_other_flags", "", other_flags),
    ("rename_open_file", "", open_file),
    ("rename_over_open_file", "", over_open),
    ("rename_same_inode", "", same_inode),
];

fn put(v: &Vol, name: &str, text: &str) -> Result<()> {
    Ok(std::fs::write(v.p(name), text)?)
}

fn get(v: &Vol, name: &str) -> Result<String> {
    Ok(std::fs::read_to_string(v.p(name))?)
}

fn file(v: &mut Vol) -> Result<()> {
    put(v, "a", "A")?;
    sys::mkdir(&v.p("d"))?;
    let ino = sys::stat(&v.p("a"))?.ino;
    sys::rename(&v.p("a"), &v.p("a longer name than before"), 0)?;
    errno(sys::stat(&v.p("a")), libc::ENOENT, "the old name")?;
    same!(
        sys::stat(&v.p("a longer name than before"))?.ino,
        ino,
        "inode"
    );
    sys::rename(&v.p("a longer name than before"), &v.p("d/b"), 0)?;
    same!(get(v, "d/b")?, "A", "content");
    errno(
        sys::rename(&v.p("none"), &v.p("x"), 0),
        libc::ENOENT,
        "missing source",
    )?;
    errno(
        sys::rename(&v.p("d/b"), &v.p("none/x"), 0),
        libc::ENOENT,
        "missing target dir",
    )?;
    v.remount()?;
    same!(get(v, "d/b")?, "A", "content after remount");
    same!(sys::names(&v.mp)?, vec!["d".to_string()], "names");
    Ok(())
}

fn over_file(v: &mut Vol) -> Result<()> {
    let free = sys::statfs(&v.mp)?.bfree;
    put(v, "a", &"A".repeat(5000))?;
    put(v, "b", &"B".repeat(50000))?;
    sys::mkdir(&v.p("d"))?;
    put(v, "d/c", "C")?;
    sys::rename(&v.p("a"), &v.p("b"), 0)?;
    same!(get(v, "b")?, "A".repeat(5000), "content");
    sys::rename(&v.p("b"), &v.p("d/c"), 0)?;
    same!(
        get(v, "d/c")?,
        "A".repeat(5000),
        "content across directories"
    );
    v.remount()?;
    same!(get(v, "d/c")?, "A".repeat(5000), "content after remount");
    sys::unlink(&v.p("d/c"))?;
    sys::rmdir(&v.p("d"))?;
    same!(sys::statfs(&v.mp)?.bfree, free, "free clusters");
    Ok(())
}

/// The VFS takes both names for the same file and the C driver keeps the old spelling; a
/// driver that changes it is fine, too. Nothing may get lost either way.
fn case_only(v: &mut Vol) -> Result<()> {
    put(v, "readme.txt", "x")?;
    sys::mkdir(&v.p("Some Directory"))?;
    put(v, "Some Directory/f", "y")?;
    for to in ["README.TXT", "ReadMe.Txt"] {
        sys::rename(&v.p("readme.txt"), &v.p(to), 0)?;
        let names = sys::names(&v.mp)?;
        same!(names.len(), 2, "number of names");
        ensure!(
            names.iter().any(|n| n.eq_ignore_ascii_case("readme.txt")),
            "names {names:?}"
        );
    }
    sys::rename(&v.p("Some Directory"), &v.p("SOME directory"), 0)?;
    let names = sys::names(&v.mp)?;
    v.remount()?;
    same!(sys::names(&v.mp)?, names, "names after remount");
    same!(get(v, "readme.TXT")?, "x", "content");
    same!(get(v, "some directory/f")?, "y", "content below");
    // By way of a third name it has to work.
    sys::rename(&v.p("readme.txt"), &v.p("third"), 0)?;
    sys::rename(&v.p("third"), &v.p("ReadMe.TXT"), 0)?;
    ensure!(
        sys::names(&v.mp)?.contains(&"ReadMe.TXT".to_string()),
        "new spelling"
    );
    Ok(())
}

fn directory(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("a"))?;
    sys::mkdir(&v.p("a/sub"))?;
    put(v, "a/sub/f", "F")?;
    sys::mkdir(&v.p("b"))?;
    sys::rename(&v.p("a/sub"), &v.p("b/moved"), 0)?;
    same!(get(v, "b/moved/f")?, "F", "content");
    same!(
        sys::stat(&v.p("b/moved/.."))?.ino,
        sys::stat(&v.p("b"))?.ino,
        "its .."
    );
    v.remount()?;
    same!(get(v, "b/moved/f")?, "F", "content after remount");
    same!(
        sys::stat(&v.p("b/moved/.."))?.ino,
        sys::stat(&v.p("b"))?.ino,
        "its .. later"
    );
    // To the root, whose cluster number in ".." is 0.
    sys::rename(&v.p("b/moved"), &v.p("up"), 0)?;
    v.umount()?;
    let d = v.disk()?;
    let up = d.start(d.find_root(b"UP         ")?)?;
    same!(
        d.start(d.at(up) + 32)?,
        0,
        "cluster in .. of a directory in the root"
    );
    v.mount()?;
    same!(get(v, "up/f")?, "F", "content in the root");
    Ok(())
}

fn over_directory(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("a"))?;
    put(v, "a/f", "F")?;
    sys::mkdir(&v.p("b"))?;
    put(v, "b/g", "G")?;
    errno(
        sys::rename(&v.p("a"), &v.p("b"), 0),
        libc::ENOTEMPTY,
        "over a full directory",
    )?;
    sys::unlink(&v.p("b/g"))?;
    let free = sys::statfs(&v.mp)?.bfree;
    sys::rename(&v.p("a"), &v.p("b"), 0)?;
    same!(get(v, "b/f")?, "F", "content");
    same!(sys::names(&v.mp)?, vec!["b".to_string()], "names");
    same!(sys::statfs(&v.mp)?.bfree, free + 1, "free clusters");
    Ok(())
}

fn into_itself(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("a"))?;
    sys::mkdir(&v.p("a/b"))?;
    errno(
        sys::rename(&v.p("a"), &v.p("a/x"), 0),
        libc::EINVAL,
        "into itself",
    )?;
    errno(
        sys::rename(&v.p("a"), &v.p("a/b/x"), 0),
        libc::EINVAL,
        "into its child",
    )?;
    errno(
        sys::rename(&v.p("a/b"), &v.p("a"), 0),
        libc::ENOTEMPTY,
        "over its parent",
    )?;
    one_of(
        sys::rename(&v.p("a/."), &v.p("x"), 0),
        &[libc::EBUSY, libc::EINVAL],
        "of .",
    )
}

fn conflicts(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("d"))?;
    put(v, "f", "F")?;
    errno(
        sys::rename(&v.p("f"), &v.p("d"), 0),
        libc::EISDIR,
        "file over directory",
    )?;
    errno(
        sys::rename(&v.p("d"), &v.p("f"), 0),
        libc::ENOTDIR,
        "directory over file",
    )?;
    errno(
        sys::rename(&v.p("f"), &v.p("a:b"), 0),
        libc::EINVAL,
        "to a refused name",
    )?;
    errno(
        sys::rename(&v.p("f"), std::path::Path::new("/run/f"), 0),
        libc::EXDEV,
        "to another file system",
    )
}

fn noreplace(v: &mut Vol) -> Result<()> {
    put(v, "a", "A")?;
    put(v, "b", "B")?;
    errno(
        sys::rename(&v.p("a"), &v.p("b"), libc::RENAME_NOREPLACE),
        libc::EEXIST,
        "NOREPLACE over a file",
    )?;
    errno(
        sys::rename(&v.p("a"), &v.p("B"), libc::RENAME_NOREPLACE),
        libc::EEXIST,
        "NOREPLACE over other case",
    )?;
    sys::rename(&v.p("a"), &v.p("c"), libc::RENAME_NOREPLACE)?;
    same!(get(v, "c")? + &get(v, "b")?, "AB", "contents");
    Ok(())
}

fn exchange(v: &mut Vol) -> Result<()> {
    let x = libc::RENAME_EXCHANGE;
    put(v, "a", "A")?;
    sys::mkdir(&v.p("d"))?;
    put(v, "d/b", "B")?;
    sys::rename(&v.p("a"), &v.p("d/b"), x)?;
    same!(get(v, "a")? + &get(v, "d/b")?, "BA", "two files");
    sys::mkdir(&v.p("e"))?;
    sys::mkdir(&v.p("e/sub"))?;
    put(v, "e/sub/f", "F")?;
    sys::mkdir(&v.p("d/sub2"))?;
    sys::rename(&v.p("e/sub"), &v.p("d/sub2"), x)?;
    same!(get(v, "d/sub2/f")?, "F", "two directories");
    same!(
        sys::stat(&v.p("d/sub2/.."))?.ino,
        sys::stat(&v.p("d"))?.ino,
        ".. after exchange"
    );
    // A file with a directory, across directories: link counts follow.
    sys::rename(&v.p("a"), &v.p("d/sub2"), x)?;
    same!(get(v, "a/f")?, "F", "directory for a file");
    same!(get(v, "d/sub2")?, "B", "file for a directory");
    same!(sys::stat(&v.p("d"))?.nlink, 2, "links of d");
    errno(
        sys::rename(&v.p("a"), &v.p("none"), x),
        libc::ENOENT,
        "with a missing one",
    )?;
    errno(
        sys::rename(&v.p("a"), &v.p("a/f"), x),
        libc::EINVAL,
        "with its child",
    )?;
    v.remount()?;
    same!(
        get(v, "a/f")? + &get(v, "d/b")? + &get(v, "d/sub2")?,
        "FAB",
        "after remount"
    );
    Ok(())
}

fn other_flags(v: &mut Vol) -> Result<()> {
    put(v, "a", "A")?;
    errno(
        sys::rename(&v.p("a"), &v.p("b"), libc::RENAME_WHITEOUT),
        libc::EINVAL,
        "WHITEOUT",
    )?;
    errno(
        sys::rename(
            &v.p("a"),
            &v.p("b"),
            libc::RENAME_NOREPLACE | libc::RENAME_EXCHANGE,
        ),
        libc::EINVAL,
        "both flags",
    )
}

fn open_file(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("a"))?;
    sys::pwrite_all(&f, b"one", 0)?;
    sys::rename(&v.p("a"), &v.p("b"), 0)?;
    sys::pwrite_all(&f, b"two", 3)?;
    drop(f);
    v.remount()?;
    same!(get(v, "b")?, "onetwo", "content");
    Ok(())
}

fn over_open(v: &mut Vol) -> Result<()> {
    let free = sys::statfs(&v.mp)?.bfree;
    put(v, "new", "new")?;
    let f = sys::create(&v.p("old"))?;
    sys::pwrite_all(&f, &[b'o'; 9000], 0)?;
    sys::rename(&v.p("new"), &v.p("old"), 0)?;
    same!(sys::fstat(&f)?.nlink, 0, "links of the replaced file");
    sys::pwrite_all(&f, b"still there", 9000)?;
    same!(
        sys::pread_vec(&f, 20, 8999)?,
        b"ostill there".to_vec(),
        "content of it"
    );
    same!(get(v, "old")?, "new", "content of the new one");
    drop(f);
    sys::unlink(&v.p("old"))?;
    same!(sys::statfs(&v.mp)?.bfree, free, "free clusters");
    Ok(())
}

fn same_inode(v: &mut Vol) -> Result<()> {
    put(v, "a long file name.txt", "A")?;
    sys::rename(
        &v.p("a long file name.txt"),
        &v.p("a long file name.txt"),
        0,
    )?;
    same!(get(v, "a long file name.txt")?, "A", "content");
    // By its alias: the same file under its own other name.
    let _ = sys::rename(&v.p("ALONGF~1.TXT"), &v.p("a long file name.txt"), 0);
    v.remount()?;
    same!(
        get(v, "a long file name.txt")?,
        "A",
        "content after remount"
    );
    same!(sys::names(&v.mp)?.len(), 1, "number of names");
    Ok(())
}
