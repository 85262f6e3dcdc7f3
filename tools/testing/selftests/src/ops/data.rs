// SPDX-License-Identifier: GPL-2.0

//! Reading and writing file data.

use super::Op;
use crate::expect::{bytes, errno, one_of, pattern};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{ensure, Result};

pub const OPS: &[Op] = &[
    ("data_survives_remount", "", survives),
    ("append", "", append),
    ("write_past_end", "", past_end),
    ("truncate", "", truncate),
    ("truncate_tail_is_zero", "", tail_zero),
    ("odd_offsets", "", odd_offsets),
    ("sendfile_splice_copy", "", transfer),
    ("fsync_forms", "", fsyncs),
    ("size_limit", "", size_limit),
    ("open_modes", "", open_modes),
    ("read_edges", "", read_edges),
    ("two_files_interleaved", "", interleaved),
    ("sync_mount", "sync", survives_sync),
    ("fadvise", "", fadvise),
];

fn survives(v: &mut Vol) -> Result<()> {
    let sizes = [0, 1, 511, 512, 513, 4095, 4096, 4097, 65535, 65537, 300_001];
    for n in sizes {
        std::fs::write(v.p(format!("file{n}")), pattern(n, 0, n as usize))?;
    }
    v.remount()?;
    for n in sizes {
        let want = pattern(n, 0, n as usize);
        bytes(
            &std::fs::read(v.p(format!("file{n}")))?,
            &want,
            &format!("file of {n}"),
        )?;
        let cluster = v.geom.as_ref().map_or(512, |g| g.cluster) as u64;
        same!(
            sys::stat(&v.p(format!("file{n}")))?.blocks,
            (n as u64).div_ceil(cluster) * cluster / 512,
            "blocks of a file of {n}"
        );
    }
    Ok(())
}

fn append(v: &mut Vol) -> Result<()> {
    let f = sys::open(&v.p("log"), libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND)?;
    let mut want = Vec::new();
    for i in 0..200u32 {
        let line = pattern(i, 0, 37 + i as usize);
        same!(sys::write(&f, &line)?, line.len(), "bytes appended");
        want.extend(line);
    }
    bytes(&std::fs::read(v.p("log"))?, &want, "content")?;
    drop(f);
    v.remount()?;
    bytes(&std::fs::read(v.p("log"))?, &want, "content after remount")
}

fn past_end(v: &mut Vol) -> Result<()> {
    // Leave old data in the clusters that get reused.
    std::fs::write(v.p("old"), vec![0xEE; 400_000])?;
    sys::sync();
    sys::unlink(&v.p("old"))?;
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, b"start", 0)?;
    sys::pwrite_all(&f, b"end", 200_000)?;
    let mut want = vec![0u8; 200_003];
    want[..5].copy_from_slice(b"start");
    want[200_000..].copy_from_slice(b"end");
    bytes(&std::fs::read(v.p("f"))?, &want, "content")?;
    sys::pwrite_all(&f, b"more", 250_001)?;
    want.resize(250_001, 0);
    want.extend(b"more");
    drop(f);
    v.remount()?;
    bytes(&std::fs::read(v.p("f"))?, &want, "content after remount")
}

fn truncate(v: &mut Vol) -> Result<()> {
    let free = sys::statfs(&v.mp)?.bfree;
    let f = sys::create(&v.p("f"))?;
    let mut want = pattern(1, 0, 50_000);
    sys::pwrite_all(&f, &want, 0)?;
    for size in [
        30_000usize,
        29_999,
        70_000,
        512,
        513,
        100_000,
        0,
        4096,
        1,
        0,
    ] {
        sys::ftruncate(&f, size as i64)?;
        want.resize(size, 0);
        same!(sys::fstat(&f)?.size, size as u64, "size");
        bytes(
            &std::fs::read(v.p("f"))?,
            &want,
            &format!("content at size {size}"),
        )?;
    }
    same!(sys::fstat(&f)?.blocks, 0, "blocks of an empty file");
    same!(sys::statfs(&v.mp)?.bfree, free, "free clusters");
    errno(sys::ftruncate(&f, -1), libc::EINVAL, "negative size")?;
    errno(
        sys::truncate(&v.mp, 0),
        libc::EISDIR,
        "truncate of a directory",
    )?;
    sys::truncate(&v.p("f"), 12_345)?;
    drop(f);
    v.remount()?;
    bytes(
        &std::fs::read(v.p("f"))?,
        &vec![0; 12_345],
        "content after remount",
    )
}

fn tail_zero(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    for cut in [1i64, 100, 511, 512, 700, 2047, 3000, 4095] {
        sys::pwrite_all(&f, &[0xFF; 9000], 0)?;
        sys::fsync(&f)?;
        sys::ftruncate(&f, cut)?;
        sys::ftruncate(&f, 9000)?;
        let got = sys::pread_vec(&f, 9000, 0)?;
        ensure!(
            got[..cut as usize].iter().all(|&b| b == 0xFF),
            "lost data before {cut}"
        );
        ensure!(
            got[cut as usize..].iter().all(|&b| b == 0),
            "old data after {cut}"
        );
        // The same by writing past the end.
        sys::pwrite_all(&f, &[0xFF; 9000], 0)?;
        sys::ftruncate(&f, cut)?;
        sys::pwrite_all(&f, b"!", 8999)?;
        sys::fsync(&f)?;
        v_check(&f, cut)?;
    }
    drop(f);
    v.remount()?;
    v_check(&sys::open(&v.p("f"), libc::O_RDONLY)?, 4095)
}

fn v_check(f: &std::fs::File, cut: i64) -> Result<()> {
    let got = sys::pread_vec(f, 9000, 0)?;
    same!(got.len(), 9000, "size");
    ensure!(
        got[cut as usize..8999].iter().all(|&b| b == 0),
        "old data after {cut}"
    );
    same!(got[8999], b'!', "last byte");
    Ok(())
}

fn odd_offsets(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    let mut want = vec![0u8; 0];
    for i in 0..150u64 {
        let off = (i * 7919) % 60_000;
        let len = (i * 331 % 3000 + 1) as usize;
        let data = pattern(i as u32, 0, len);
        sys::pwrite_all(&f, &data, off as i64)?;
        if want.len() < off as usize + len {
            want.resize(off as usize + len, 0);
        }
        want[off as usize..off as usize + len].copy_from_slice(&data);
    }
    bytes(&std::fs::read(v.p("f"))?, &want, "content")?;
    drop(f);
    v.remount()?;
    bytes(&std::fs::read(v.p("f"))?, &want, "content after remount")
}

fn transfer(v: &mut Vol) -> Result<()> {
    let data = pattern(3, 0, 150_000);
    std::fs::write(v.p("src"), &data)?;
    let src = sys::open(&v.p("src"), libc::O_RDONLY)?;
    let to = sys::create(&v.p("sendfile"))?;
    let mut n = 0;
    while n < data.len() {
        n += match sys::sendfile(&to, &src, data.len())? {
            0 => break,
            n => n,
        };
    }
    same!(n, data.len(), "bytes sent");
    drop(to);
    let to = sys::create(&v.p("splice"))?;
    same!(
        sys::splice_through_pipe(&src, &to, data.len())?,
        data.len(),
        "bytes spliced"
    );
    drop(to);
    let to = sys::create(&v.p("range"))?;
    let mut n = 0;
    while n < data.len() {
        n += match sys::copy_range(&src, n as i64, &to, n as i64, data.len() - n)? {
            0 => break,
            n => n,
        };
    }
    drop((src, to));
    v.remount()?;
    for name in ["sendfile", "splice", "range"] {
        bytes(&std::fs::read(v.p(name))?, &data, name)?;
    }
    Ok(())
}

fn fsyncs(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    for (i, how) in ["fsync", "fdatasync", "syncfs", "sync"].iter().enumerate() {
        sys::pwrite_all(&f, &pattern(i as u32, 0, 10_000), i as i64 * 10_000)?;
        match *how {
            "fsync" => sys::fsync(&f)?,
            "fdatasync" => sys::fdatasync(&f)?,
            "syncfs" => sys::syncfs(&f)?,
            _ => sys::sync(),
        }
        // What was synced is on the device: look for it there.
        let d = v.disk()?;
        let chain = d.chain(d.start(d.find_root(b"F          ")?)?)?;
        let need = (i as u64 + 1) * 10_000;
        ensure!(
            chain.len() as u64 * d.cluster >= need,
            "{how}: {} clusters on the device for {need} bytes",
            chain.len()
        );
        let mut on_disk = Vec::new();
        for c in chain {
            on_disk.extend(d.read(d.at(c), d.cluster as usize)?);
        }
        let want = pattern(i as u32, 0, 10_000);
        bytes(
            &on_disk[i * 10_000..need as usize],
            &want,
            &format!("on the device after {how}"),
        )?;
    }
    let dir = sys::open(&v.mp, libc::O_RDONLY)?;
    sys::fsync(&dir)?;
    sys::fdatasync(&dir)?;
    Ok(())
}

fn size_limit(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    errno(
        sys::ftruncate(&f, 1 << 32),
        libc::EFBIG,
        "ftruncate to 4 GiB",
    )?;
    errno(
        sys::ftruncate(&f, 1 << 40),
        libc::EFBIG,
        "ftruncate to 1 TiB",
    )?;
    errno(
        sys::pwrite(&f, b"x", (1 << 32) - 1),
        libc::EFBIG,
        "write at 4 GiB - 1",
    )?;
    errno(
        sys::pwrite(&f, b"x", 1 << 33),
        libc::EFBIG,
        "write at 8 GiB",
    )?;
    one_of(
        sys::fallocate(&f, 0, 1 << 32, 4096),
        &[libc::EFBIG, libc::ENOSPC],
        "fallocate at 4 GiB",
    )?;
    errno(
        sys::ftruncate(&f, (1 << 32) - 1),
        libc::ENOSPC,
        "ftruncate to 4 GiB - 1",
    )?;
    // The C driver leaves what it had got so far.
    if v.fs != "vfat" {
        same!(sys::fstat(&f)?.size, 0, "size");
        same!(sys::fstat(&f)?.blocks, 0, "blocks");
    }
    Ok(())
}

fn open_modes(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("f"), b"data")?;
    let r = sys::open(&v.p("f"), libc::O_RDONLY)?;
    errno(
        sys::pwrite(&r, b"x", 0),
        libc::EBADF,
        "write to a reading descriptor",
    )?;
    errno(
        sys::ftruncate(&r, 0),
        libc::EINVAL,
        "ftruncate of a reading descriptor",
    )?;
    errno(
        sys::fallocate(&r, 0, 0, 10),
        libc::EBADF,
        "fallocate of a reading descriptor",
    )?;
    let w = sys::open(&v.p("f"), libc::O_WRONLY)?;
    errno(
        sys::pread(&w, &mut [0; 4], 0),
        libc::EBADF,
        "read from a writing descriptor",
    )?;
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    errno(
        sys::pread(&d, &mut [0; 4], 0),
        libc::EISDIR,
        "read of a directory",
    )
}

fn read_edges(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("f"), pattern(1, 0, 5000))?;
    let f = sys::open(&v.p("f"), libc::O_RDONLY)?;
    same!(sys::pread_vec(&f, 100, 5000)?.len(), 0, "bytes at the end");
    same!(
        sys::pread_vec(&f, 100, 1 << 40)?.len(),
        0,
        "bytes far past the end"
    );
    same!(
        sys::pread_vec(&f, 100, 4990)?.len(),
        10,
        "bytes across the end"
    );
    errno(
        sys::pread(&f, &mut [0; 1], -1),
        libc::EINVAL,
        "negative offset",
    )?;
    same!(sys::lseek(&f, 0, libc::SEEK_END)?, 5000, "SEEK_END");
    errno(
        sys::lseek(&f, -1, libc::SEEK_SET),
        libc::EINVAL,
        "negative seek",
    )
}

fn interleaved(v: &mut Vol) -> Result<()> {
    let (a, b) = (sys::create(&v.p("a"))?, sys::create(&v.p("b"))?);
    for i in 0..60u64 {
        sys::pwrite_all(&a, &pattern(1, i * 3000, 3000), i as i64 * 3000)?;
        sys::pwrite_all(&b, &pattern(2, i * 1700, 1700), i as i64 * 1700)?;
        if i % 10 == 9 {
            sys::fdatasync(&a)?;
        }
    }
    drop((a, b));
    v.remount()?;
    bytes(&std::fs::read(v.p("a"))?, &pattern(1, 0, 180_000), "a")?;
    bytes(&std::fs::read(v.p("b"))?, &pattern(2, 0, 102_000), "b")
}

fn survives_sync(v: &mut Vol) -> Result<()> {
    v.umount()?;
    v.flags = libc::MS_SYNCHRONOUS | libc::MS_DIRSYNC;
    v.opts = String::new();
    v.mount()?;
    ensure!(
        v.shown_options()?.contains("sync"),
        "no sync among the options"
    );
    sys::mkdir(&v.p("DIR"))?;
    std::fs::write(v.p("DIR/FILE.TXT"), pattern(1, 0, 5000))?;
    // A sync mount has everything on the device as the calls return.
    let d = v.disk()?;
    let dir = d.start(d.find_root(b"DIR        ")?)?;
    let file = d.find(&d.dir_slots(dir)?, b"FILE    TXT")?;
    same!(
        d.chain(d.start(file)?)?.len() as u64,
        5000u64.div_ceil(d.cluster),
        "clusters"
    );
    same!(
        d.read(file + 28, 4)?,
        5000u32.to_le_bytes().to_vec(),
        "size on the device"
    );
    same!(
        d.read(d.at(d.start(file)?), 512)?,
        pattern(1, 0, 512),
        "data on the device"
    );
    sys::unlink(&v.p("DIR/FILE.TXT"))?;
    ensure!(
        d.find(&d.dir_slots(dir)?, b"FILE    TXT").is_err(),
        "still there after unlink"
    );
    sys::rmdir(&v.p("DIR"))?;
    ensure!(
        d.find_root(b"DIR        ").is_err(),
        "still there after rmdir"
    );
    Ok(())
}

fn fadvise(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("f"), pattern(1, 0, 100_000))?;
    let f = sys::open(&v.p("f"), libc::O_RDWR)?;
    for a in [
        libc::POSIX_FADV_NORMAL,
        libc::POSIX_FADV_SEQUENTIAL,
        libc::POSIX_FADV_RANDOM,
        libc::POSIX_FADV_WILLNEED,
        libc::POSIX_FADV_NOREUSE,
        libc::POSIX_FADV_DONTNEED,
    ] {
        sys::fadvise(&f, 0, 0, a)?;
    }
    errno(sys::fadvise(&f, 0, 0, 99), libc::EINVAL, "unknown advice")?;
    sys::fsync(&f)?;
    sys::fadvise(&f, 0, 0, libc::POSIX_FADV_DONTNEED)?;
    bytes(
        &sys::pread_vec(&f, 100_000, 0)?,
        &pattern(1, 0, 100_000),
        "content",
    )
}
