// SPDX-License-Identifier: GPL-2.0

//! Directories: create, remove, list, positions, growth.

use super::Op;
use crate::expect::{errno, one_of};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{ensure, Result};

pub const OPS: &[Op] = &[
    ("smoke", "", smoke),
    ("mkdir_rmdir", "", mkdir_rmdir),
    ("create_exclusive", "", create_excl),
    ("nlink_of_directories", "", nlink),
    ("readdir_types", "", types),
    ("readdir_small_buffer", "", small_buffer),
    ("readdir_positions", "", positions),
    ("readdir_while_removing", "", while_removing),
    ("directory_grows", "", grows),
    ("deep_path", "", deep),
    ("unlink_open_file", "", unlink_open),
    ("rmdir_open_directory", "", rmdir_open),
    ("root_directory", "", root),
    ("slots_are_reused", "", slots),
];

fn smoke(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("dir"))?;
    let f = sys::create(&v.p("dir/file with a long name"))?;
    sys::pwrite_all(&f, b"hello", 0)?;
    drop(f);
    sys::rename(&v.p("dir/file with a long name"), &v.p("moved"), 0)?;
    v.remount()?;
    same!(std::fs::read(v.p("moved"))?, b"hello".to_vec(), "content");
    sys::rmdir(&v.p("dir"))?;
    sys::unlink(&v.p("moved"))?;
    Ok(())
}

fn mkdir_rmdir(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("d"))?;
    errno(sys::mkdir(&v.p("d")), libc::EEXIST, "mkdir twice")?;
    errno(
        sys::mkdir(&v.p("none/d")),
        libc::ENOENT,
        "mkdir in a missing directory",
    )?;
    sys::create(&v.p("d/f"))?;
    errno(
        sys::rmdir(&v.p("d")),
        libc::ENOTEMPTY,
        "rmdir of a full directory",
    )?;
    errno(sys::rmdir(&v.p("d/f")), libc::ENOTDIR, "rmdir of a file")?;
    one_of(
        sys::unlink(&v.p("d")),
        &[libc::EISDIR, libc::EPERM],
        "unlink of a directory",
    )?;
    sys::unlink(&v.p("d/f"))?;
    sys::mkdir(&v.p("d/e"))?;
    errno(
        sys::rmdir(&v.p("d")),
        libc::ENOTEMPTY,
        "rmdir with a subdirectory",
    )?;
    sys::rmdir(&v.p("d/e"))?;
    errno(sys::rmdir(&v.p("d/.")), libc::EINVAL, "rmdir of .")?;
    sys::rmdir(&v.p("d"))?;
    errno(sys::stat(&v.p("d")), libc::ENOENT, "stat after rmdir")?;
    v.remount()?;
    errno(sys::stat(&v.p("d")), libc::ENOENT, "stat after remount")
}

fn create_excl(v: &mut Vol) -> Result<()> {
    let x = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR;
    let f = sys::open(&v.p("f"), x)?;
    sys::pwrite_all(&f, b"data", 0)?;
    errno(sys::open(&v.p("f"), x), libc::EEXIST, "O_EXCL on a file")?;
    sys::mkdir(&v.p("d"))?;
    errno(
        sys::open(&v.p("d"), x),
        libc::EEXIST,
        "O_EXCL on a directory",
    )?;
    errno(
        sys::open(&v.p("d"), libc::O_RDWR),
        libc::EISDIR,
        "writing open of a directory",
    )?;
    errno(
        sys::open(&v.p("f"), libc::O_RDONLY | libc::O_DIRECTORY),
        libc::ENOTDIR,
        "O_DIRECTORY on a file",
    )?;
    sys::create(&v.p("f"))?;
    same!(sys::stat(&v.p("f"))?.size, 4, "size after O_CREAT");
    sys::open(&v.p("f"), libc::O_RDWR | libc::O_TRUNC)?;
    same!(sys::stat(&v.p("f"))?.size, 0, "size after O_TRUNC");
    one_of(
        sys::open(&v.mp, libc::O_RDWR | libc::O_TMPFILE),
        &[libc::EOPNOTSUPP],
        "O_TMPFILE",
    )
}

fn nlink(v: &mut Vol) -> Result<()> {
    let base = sys::stat(&v.mp)?.nlink;
    sys::mkdir(&v.p("a"))?;
    same!(
        sys::stat(&v.p("a"))?.nlink,
        2,
        "links of an empty directory"
    );
    sys::mkdir(&v.p("a/b"))?;
    sys::mkdir(&v.p("a/c"))?;
    sys::create(&v.p("a/f"))?;
    same!(
        sys::stat(&v.p("a"))?.nlink,
        4,
        "links with two subdirectories"
    );
    same!(sys::stat(&v.p("a/f"))?.nlink, 1, "links of a file");
    same!(sys::stat(&v.mp)?.nlink, base + 1, "links of the root");
    sys::rename(&v.p("a/b"), &v.p("b"), 0)?;
    same!(
        sys::stat(&v.p("a"))?.nlink,
        3,
        "links after a subdirectory left"
    );
    same!(
        sys::stat(&v.mp)?.nlink,
        base + 2,
        "links of the root after it came"
    );
    v.remount()?;
    same!(sys::stat(&v.p("a"))?.nlink, 3, "links after remount");
    same!(
        sys::stat(&v.mp)?.nlink,
        base + 2,
        "links of the root after remount"
    );
    sys::rmdir(&v.p("a/c"))?;
    same!(sys::stat(&v.p("a"))?.nlink, 2, "links after rmdir");
    Ok(())
}

fn types(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("d"))?;
    sys::mkdir(&v.p("d/sub"))?;
    sys::create(&v.p("d/file"))?;
    for dir in [v.p("d"), v.mp.clone()] {
        let l = sys::list(&dir)?;
        same!(l[0].name, b".".to_vec(), "first entry");
        same!(l[1].name, b"..".to_vec(), "second entry");
        for e in &l {
            let name = String::from_utf8_lossy(&e.name).into_owned();
            let st = sys::stat(&dir.join(&name))?;
            let want = if st.is_dir() {
                libc::DT_DIR
            } else {
                libc::DT_REG
            };
            same!(e.kind, want, "d_type of {name}");
            if name != ".." || dir != v.mp {
                same!(e.ino, st.ino, "d_ino of {name}");
            }
        }
    }
    errno(
        sys::getdents(&sys::open(&v.p("d/file"), libc::O_RDONLY)?, 4096),
        libc::ENOTDIR,
        "getdents of a file",
    )
}

fn fill(v: &Vol, dir: &str, n: usize) -> Result<()> {
    sys::mkdir(&v.p(dir))?;
    for i in 0..n {
        sys::create(&v.p(dir).join(format!("entry with a long name {i:04}")))?;
    }
    Ok(())
}

fn small_buffer(v: &mut Vol) -> Result<()> {
    fill(v, "d", 60)?;
    let all = sys::list(&v.p("d"))?;
    same!(all.len(), 62, "entries");
    for size in [80, 100, 333, 4096] {
        let d = sys::open(&v.p("d"), libc::O_RDONLY)?;
        same!(
            sys::read_all(&d, size)?,
            all,
            "entries with a buffer of {size}"
        );
    }
    let d = sys::open(&v.p("d"), libc::O_RDONLY)?;
    errno(sys::getdents(&d, 8), libc::EINVAL, "buffer of 8 bytes")
}

fn positions(v: &mut Vol) -> Result<()> {
    for dir in ["d", ""] {
        if dir == "d" {
            fill(v, dir, 40)?;
        }
        let d = sys::open(&v.p(dir), libc::O_RDONLY)?;
        let all = sys::read_all(&d, 32768)?;
        for i in 0..all.len() {
            sys::lseek(&d, all[i].off, libc::SEEK_SET)?;
            let rest = sys::read_all(&d, 32768)?;
            same!(
                rest,
                all[i + 1..].to_vec(),
                "entries after the offset of entry {i}"
            );
        }
        sys::lseek(&d, 0, libc::SEEK_SET)?;
        same!(sys::read_all(&d, 512)?, all, "entries after a rewind");
        sys::lseek(&d, 1 << 30, libc::SEEK_SET)?;
        ensure!(
            sys::read_all(&d, 512).map_or(true, |v| v.is_empty()),
            "entries far past the end"
        );
    }
    Ok(())
}

fn while_removing(v: &mut Vol) -> Result<()> {
    fill(v, "d", 100)?;
    let d = sys::open(&v.p("d"), libc::O_RDONLY)?;
    let mut removed = 0;
    loop {
        let part = sys::getdents(&d, 600)?;
        if part.is_empty() {
            break;
        }
        for e in part.iter().filter(|e| !e.is_dot()) {
            sys::unlink(&v.p("d").join(String::from_utf8_lossy(&e.name).as_ref()))?;
            removed += 1;
        }
    }
    same!(removed, 100, "entries seen while removing them");
    sys::rmdir(&v.p("d"))?;
    Ok(())
}

fn grows(v: &mut Vol) -> Result<()> {
    let cluster = v.geom.as_ref().map_or(512, |g| g.cluster) as usize;
    // Each name takes 4 slots of 32 bytes; three clusters, within reason.
    let n = (3 * cluster / 128).clamp(100, 700);
    fill(v, "d", n)?;
    let st = sys::stat(&v.p("d"))?;
    ensure!(
        st.size as usize >= n * 128 && st.size as usize % cluster == 0,
        "directory size {}",
        st.size
    );
    same!(st.blocks * 512, st.size, "bytes in blocks of the directory");
    v.remount()?;
    same!(
        sys::stat(&v.p("d"))?.size,
        st.size,
        "directory size after remount"
    );
    same!(sys::names(&v.p("d"))?.len(), n, "names");
    sys::stat(&v.p(format!("d/ENTRY with a long name {:04}", n - 1)))?;
    for i in 0..n {
        sys::unlink(&v.p(format!("d/entry with a long name {i:04}")))?;
    }
    sys::rmdir(&v.p("d"))?;
    Ok(())
}

fn deep(v: &mut Vol) -> Result<()> {
    let mut p = v.mp.clone();
    for i in 0..60 {
        p = p.join(format!("level{i}"));
        sys::mkdir(&p)?;
    }
    std::fs::write(p.join("bottom"), b"x")?;
    v.remount()?;
    same!(
        std::fs::read(p.join("bottom"))?,
        b"x".to_vec(),
        "content at the bottom"
    );
    same!(
        sys::stat(&p.join("../.."))?.ino,
        sys::stat(p.parent().and_then(|p| p.parent()).unwrap_or(&p))?.ino,
        "inode by ../.."
    );
    std::fs::remove_dir_all(v.p("level0"))?;
    Ok(())
}

fn unlink_open(v: &mut Vol) -> Result<()> {
    let free = sys::statfs(&v.mp)?.bfree;
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, &[1; 10000], 0)?;
    sys::unlink(&v.p("f"))?;
    same!(sys::fstat(&f)?.nlink, 0, "links");
    sys::pwrite_all(&f, &[2; 10000], 10000)?;
    sys::fsync(&f)?;
    let back = sys::pread_vec(&f, 30000, 0)?;
    same!(back.len(), 20000, "bytes read");
    ensure!(
        back[..10000] == [1; 10000] && back[10000..] == [2; 10000],
        "wrong content"
    );
    // Another file of the same name is another file.
    std::fs::write(v.p("f"), b"other")?;
    sys::ftruncate(&f, 5)?;
    same!(std::fs::read(v.p("f"))?, b"other".to_vec(), "the new file");
    sys::unlink(&v.p("f"))?;
    drop(f);
    same!(sys::statfs(&v.mp)?.bfree, free, "free clusters afterwards");
    Ok(())
}

fn rmdir_open(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("d"))?;
    let d = sys::open(&v.p("d"), libc::O_RDONLY)?;
    sys::rmdir(&v.p("d"))?;
    ensure!(
        sys::read_all(&d, 512).map_or(true, |v| v.len() <= 2),
        "entries of a removed directory"
    );
    let inside = format!("/proc/self/fd/{}/x", std::os::fd::AsRawFd::as_raw_fd(&d));
    errno(
        sys::create(std::path::Path::new(&inside)),
        libc::ENOENT,
        "create in it",
    )?;
    sys::mkdir(&v.p("d"))?;
    sys::create(&v.p("d/y"))?;
    Ok(())
}

fn root(v: &mut Vol) -> Result<()> {
    let st = sys::stat(&v.mp)?;
    ensure!(st.is_dir(), "not a directory");
    one_of(sys::rmdir(&v.mp), &[libc::EBUSY], "rmdir of the root")?;
    same!(sys::stat(&v.p(".."))?.is_dir(), true, ".. of the root");
    let fixed = v.geom.as_ref().is_some_and(|g| g.bits != 32);
    if fixed {
        // The root of FAT12 and FAT16 has a fixed number of slots; the label takes one.
        let n = v.geom.as_ref().map_or(512, |g| g.root_entries) as usize - 1;
        for i in 0..n {
            sys::create(&v.p(format!("F{i}")))?;
        }
        errno(sys::create(&v.p("ONEMORE")), libc::ENOSPC, "a full root")?;
        errno(
            sys::mkdir(&v.p("ONEMORE")),
            libc::ENOSPC,
            "mkdir in a full root",
        )?;
        sys::unlink(&v.p("F7"))?;
        errno(
            sys::create(&v.p("needs three slots, not one")),
            libc::ENOSPC,
            "long name",
        )?;
        sys::create(&v.p("ONEMORE"))?;
    }
    Ok(())
}

fn slots(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("d"))?;
    fill(v, "d/x", 50)?;
    let size = sys::stat(&v.p("d/x"))?.size;
    for round in 0..5 {
        for i in 0..50 {
            sys::unlink(&v.p(format!("d/x/entry with a long name {i:04}")))?;
        }
        for i in 0..50 {
            sys::create(&v.p(format!("d/x/entry with a long name {i:04}")))?;
        }
        same!(
            sys::stat(&v.p("d/x"))?.size,
            size,
            "directory size, round {round}"
        );
    }
    Ok(())
}
