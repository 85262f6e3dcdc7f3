// SPDX-License-Identifier: GPL-2.0

//! Space: fallocate, block mapping, statfs, discard.

use super::Op;
use crate::expect::{bytes, errno, one_of, pattern};
use crate::runner::skip;
use crate::same;
use crate::sys::{self, Errno};
use crate::vol::Vol;
use anyhow::{ensure, Result};

pub const OPS: &[Op] = &[
    ("fallocate", "", plain),
    ("fallocate_keep_size", "", keep_size),
    ("fallocate_keep_size_write", "", keep_size_write),
    ("fallocate_modes", "", modes),
    ("fallocate_nospace", "", nospace),
    ("seek_data_hole", "", seek),
    ("fibmap", "", fibmap),
    ("fiemap", "", fiemap),
    ("statfs_counts", "", statfs),
    ("fitrim", "", fitrim),
    ("discard_mount", "discard", discard),
    ("swapfile", "", swapfile),
];

fn cluster(v: &Vol) -> u64 {
    v.geom.as_ref().map_or(512, |g| g.cluster) as u64
}

fn plain(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, b"abc", 0)?;
    sys::fallocate(&f, 0, 10_000, 90_000)?;
    same!(sys::fstat(&f)?.size, 100_000, "size");
    sys::fallocate(&f, 0, 0, 50_000)?;
    same!(sys::fstat(&f)?.size, 100_000, "size after a smaller one");
    let mut want = vec![0; 100_000];
    want[..3].copy_from_slice(b"abc");
    bytes(&sys::pread_vec(&f, 100_001, 0)?, &want, "content")?;
    drop(f);
    v.remount()?;
    bytes(&std::fs::read(v.p("f"))?, &want, "content after remount")
}

fn keep_size(v: &mut Vol) -> Result<()> {
    let free = sys::statfs(&v.mp)?.bfree;
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, b"abc", 0)?;
    sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, 100_000)?;
    let st = sys::fstat(&f)?;
    let want = 100_000u64.div_ceil(cluster(v));
    same!(
        (st.size, st.blocks),
        (3, want * cluster(v) / 512),
        "size and blocks"
    );
    same!(sys::statfs(&v.mp)?.bfree, free - want, "free clusters");
    // Again: nothing more is taken.
    sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, 100_000)?;
    same!(
        sys::fstat(&f)?.blocks,
        st.blocks,
        "blocks after a second time"
    );
    // What was reserved must not show old data once the size grows.
    sys::ftruncate(&f, 50_000)?;
    ensure!(
        sys::pread_vec(&f, 49_997, 3)?.iter().all(|&b| b == 0),
        "no zeros in reserved space"
    );
    sys::ftruncate(&f, 1000)?;
    same!(
        sys::fstat(&f)?.blocks,
        1000u64.div_ceil(cluster(v)) * cluster(v) / 512,
        "blocks"
    );
    Ok(())
}

fn keep_size_write(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, 200_000)?;
    for i in 0..40u64 {
        sys::pwrite_all(&f, &pattern(1, i * 4000, 4000), i as i64 * 4000)?;
    }
    same!(sys::fstat(&f)?.size, 160_000, "size");
    drop(f);
    v.remount()?;
    bytes(
        &std::fs::read(v.p("f"))?,
        &pattern(1, 0, 160_000),
        "content after remount",
    )
}

fn modes(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, &[1; 8192], 0)?;
    let keep = libc::FALLOC_FL_KEEP_SIZE;
    for (mode, name) in [
        (libc::FALLOC_FL_PUNCH_HOLE | keep, "punch hole"),
        (libc::FALLOC_FL_COLLAPSE_RANGE, "collapse range"),
        (libc::FALLOC_FL_ZERO_RANGE, "zero range"),
        (libc::FALLOC_FL_ZERO_RANGE | keep, "zero range, keep size"),
        (libc::FALLOC_FL_INSERT_RANGE, "insert range"),
        (libc::FALLOC_FL_UNSHARE_RANGE, "unshare range"),
    ] {
        errno(sys::fallocate(&f, mode, 0, 4096), libc::EOPNOTSUPP, name)?;
    }
    errno(sys::fallocate(&f, 0, 0, 0), libc::EINVAL, "no length")?;
    errno(
        sys::fallocate(&f, 0, -1, 10),
        libc::EINVAL,
        "negative offset",
    )?;
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    one_of(
        sys::fallocate(&d, 0, 0, 10),
        &[libc::EBADF, libc::EISDIR],
        "of a directory",
    )
}

/// A failed expansion changes nothing. The C driver leaves what it had got so far.
fn unchanged(v: &Vol, f: &std::fs::File) -> Result<()> {
    if v.fs == "vfat" {
        return Ok(sys::ftruncate(f, 3)?);
    }
    let st = sys::fstat(f)?;
    same!(
        (st.size, st.blocks),
        (3, cluster(v) / 512),
        "size and blocks after a failure"
    );
    Ok(())
}

fn nospace(v: &mut Vol) -> Result<()> {
    let st = sys::statfs(&v.mp)?;
    let too_much = (st.bfree + 1) as i64 * st.bsize;
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, b"abc", 0)?;
    for mode in [0, libc::FALLOC_FL_KEEP_SIZE] {
        errno(
            sys::fallocate(&f, mode, 0, too_much),
            libc::ENOSPC,
            "more than there is",
        )?;
        unchanged(v, &f)?;
    }
    errno(
        sys::ftruncate(&f, too_much),
        libc::ENOSPC,
        "ftruncate to more than there is",
    )?;
    unchanged(v, &f)?;
    drop(f);
    v.remount()?;
    sys::unlink(&v.p("f"))?;
    same!(
        sys::statfs(&v.mp)?.bfree,
        st.bfree,
        "free clusters in the end"
    );
    Ok(())
}

fn seek(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, &[1; 5000], 20_000)?;
    // FAT has no holes: all of it may count as data, but the ends are certain.
    let first = sys::lseek(&f, 0, libc::SEEK_DATA)?;
    ensure!((0..=20_000).contains(&first), "SEEK_DATA found {first}");
    let hole = sys::lseek(&f, 20_000, libc::SEEK_HOLE)?;
    same!(hole, 25_000, "SEEK_HOLE from the data");
    errno(
        sys::lseek(&f, 25_000, libc::SEEK_DATA),
        libc::ENXIO,
        "SEEK_DATA at the end",
    )?;
    errno(
        sys::lseek(&f, 25_000, libc::SEEK_HOLE),
        libc::ENXIO,
        "SEEK_HOLE at the end",
    )
}

fn fibmap(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("F"), pattern(1, 0, 20_000))?;
    let f = sys::open(&v.p("F"), libc::O_RDWR)?;
    sys::fsync(&f)?;
    let d = v.disk()?;
    let bs = d.sector;
    for block in [0u64, 1, 7, 19_999 / bs] {
        let at = sys::fibmap(&f, block as u32)? as u64 * bs;
        let off = block * bs;
        let n = (20_000 - off).min(bs) as usize;
        bytes(
            &d.read(at, n)?,
            &pattern(1, off, n),
            &format!("block {block} at {at}"),
        )?;
    }
    same!(sys::fibmap(&f, 1_000_000)?, 0, "block past the end");
    Ok(())
}

fn fiemap(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("F"), pattern(1, 0, 50_000))?;
    std::fs::write(v.p("gap"), b"x")?;
    let f = sys::open(&v.p("F"), libc::O_RDWR)?;
    sys::pwrite_all(&f, &pattern(1, 50_000, 30_000), 50_000)?;
    let map = match sys::fiemap(&f) {
        Err(Errno(libc::EOPNOTSUPP)) if v.fs == "vfat" => return skip("vfat has no FIEMAP"),
        m => m?,
    };
    let d = v.disk()?;
    let mut next = 0;
    for e in &map {
        same!(e.logical, next, "start of an extent");
        let n = e.length.min(80_000 - next) as usize;
        bytes(
            &d.read(e.physical, n)?,
            &pattern(1, next, n),
            "data of an extent",
        )?;
        next += e.length;
    }
    ensure!(next >= 80_000, "the extents end at {next}");
    ensure!(
        map.last().is_some_and(|e| e.flags & sys::FIEMAP_LAST != 0),
        "no last flag"
    );
    ensure!(map.len() <= 3, "{} extents", map.len());
    Ok(())
}

fn statfs(v: &mut Vol) -> Result<()> {
    let d = v.disk()?;
    let st = sys::statfs(&v.mp)?;
    same!(st.kind, 0x4d44, "magic");
    same!(st.bsize as u64, cluster(v), "block size");
    same!(st.blocks, d.clusters as u64, "blocks");
    same!(st.bfree, d.count_free()? as u64, "free clusters");
    same!(st.bavail, st.bfree, "available clusters");
    std::fs::write(v.p("f"), vec![1; 100_000])?;
    sys::mkdir(&v.p("d"))?;
    let used = 100_000u64.div_ceil(cluster(v)) + 1;
    sys::sync();
    same!(
        sys::statfs(&v.mp)?.bfree,
        st.bfree - used,
        "free clusters with a file"
    );
    same!(
        v.disk()?.count_free()? as u64,
        st.bfree - used,
        "free entries in the FAT"
    );
    v.remount()?;
    same!(
        sys::statfs(&v.mp)?.bfree,
        st.bfree - used,
        "free clusters after remount"
    );
    sys::unlink(&v.p("f"))?;
    sys::rmdir(&v.p("d"))?;
    same!(
        sys::statfs(&v.mp)?.bfree,
        st.bfree,
        "free clusters in the end"
    );
    Ok(())
}

fn fitrim(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("keep"), pattern(1, 0, 100_000))?;
    std::fs::write(v.p("gone"), vec![0xDD; 1_000_000])?;
    sys::sync();
    sys::unlink(&v.p("gone"))?;
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    sys::syncfs(&d)?;
    let used = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&v.image.path)?);
    let n = match sys::fitrim(&d, 0) {
        Err(Errno(libc::EOPNOTSUPP)) => return skip("no discard on this loop device"),
        n => n?,
    };
    let st = sys::statfs(&v.mp)?;
    ensure!(
        n > 0 && n <= st.bfree * cluster(v),
        "{n} bytes trimmed of {} free",
        st.bfree * cluster(v)
    );
    let now = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(&v.image.path)?);
    ensure!(
        now + 1500 < used,
        "the image shrank from {used} to {now} blocks only"
    );
    drop(d);
    v.remount()?;
    bytes(
        &std::fs::read(v.p("keep"))?,
        &pattern(1, 0, 100_000),
        "the file that stays",
    )
}

fn discard(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("keep"), pattern(1, 0, 100_000))?;
    for i in 0..10 {
        std::fs::write(v.p(format!("f{i}")), vec![0xDD; 100_000])?;
        sys::sync();
    }
    for i in 0..10 {
        sys::unlink(&v.p(format!("f{i}")))?;
    }
    v.remount()?;
    bytes(
        &std::fs::read(v.p("keep"))?,
        &pattern(1, 0, 100_000),
        "the file that stays",
    )
}

fn swapfile(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("swap"))?;
    sys::pwrite_all(&f, &vec![0; 1 << 20], 0)?;
    let mut head = vec![0u8; 4096];
    head[1024] = 1; // version
    head[1028..1032].copy_from_slice(&255u32.to_le_bytes()); // last page
    head[4086..].copy_from_slice(b"SWAPSPACE2");
    sys::pwrite_all(&f, &head, 0)?;
    sys::fsync(&f)?;
    drop(f);
    sys::chmod(&v.p("swap"), 0o755)?;
    match sys::swapon(&v.p("swap")) {
        Err(Errno(libc::EINVAL)) if cluster(v) < 4096 => {
            return skip("clusters smaller than a page needn't give aligned pages")
        }
        r => r?,
    }
    let f = sys::open(&v.p("swap"), libc::O_RDWR)?;
    let w = sys::pwrite(&f, b"x", 0);
    let busy = sys::unlink(&v.p("swap"));
    sys::swapoff(&v.p("swap"))?;
    errno(w, libc::ETXTBSY, "write to an active swap file")?;
    one_of(
        busy,
        &[libc::EPERM, libc::ETXTBSY],
        "unlink of an active swap file",
    )
}
