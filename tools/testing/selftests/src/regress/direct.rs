// SPDX-License-Identifier: GPL-2.0

//! Direct I/O where it is most easily got wrong.

use super::{drop_caches, fresh, geom, make_stale, stamp, Test};
use crate::expect::bytes;
use crate::runner::Config;
use crate::same;
use crate::sys::{self, Errno};
use crate::vol::Vol;
use anyhow::{bail, Context, Result};

pub const TESTS: &[Test] = &[
    ("unaligned", 60, unaligned),
    ("part_of_a_sector", 60, part_of_a_sector),
    ("middle_of_unwritten", 60, middle_of_unwritten),
    ("aio_overwrite", 60, aio_overwrite),
];

/// Writes with O_DIRECT, which may be refused with EINVAL, and keeps `want` up to date.
fn write(v: &Vol, want: &mut [u8], at: usize, len: usize) -> Result<()> {
    let d = sys::open(&v.p("f"), libc::O_RDWR | libc::O_DIRECT)?;
    let mut a = sys::Aligned::new(len);
    a.bytes().fill(0x5A);
    match sys::pwrite(&d, a.bytes(), at as i64) {
        Ok(n) => want[at..at + n].fill(0x5A),
        Err(Errno(libc::EINVAL)) => {}
        Err(e) => bail!("{len} bytes at {at}: {e}"),
    }
    Ok(())
}

/// The whole file, with and without the caches and after a remount.
fn verify(v: &mut Vol, want: &[u8]) -> Result<()> {
    bytes(&std::fs::read(v.p("f"))?, want, "f at once")?;
    sys::sync();
    drop_caches()?;
    bytes(&std::fs::read(v.p("f"))?, want, "f without caches")?;
    v.remount()?;
    bytes(&std::fs::read(v.p("f"))?, want, "f after remount")
}

fn tried(v: &mut Vol, ranges: &[(usize, usize)]) -> Result<()> {
    make_stale(v)?;
    for &(at, len) in ranges {
        let f = sys::create(&v.p("f"))?;
        sys::ftruncate(&f, 1 << 20)?;
        drop(f);
        let mut want = vec![0; 1 << 20];
        write(v, &mut want, at, len)?;
        verify(v, &want).with_context(|| format!("{len} bytes at {at}"))?;
        sys::unlink(&v.p("f"))?;
        sys::sync();
        // What was just deleted would be seen, too; but 0xAA is easier to tell.
        make_stale(v)?;
    }
    Ok(())
}

/// A direct write that isn't aligned, over space that had never been written: it was found
/// to be impossible only after the space had been marked as written. It may be refused, or
/// done; the space around it reads as zero.
fn unaligned(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg, &geom(16, 12, 2048), "")?;
    tried(&mut v, &[(100, 512), (4096, 100), (70_000, 8192)])?;
    v.finish()
}

/// The device takes 512 bytes, the volume's sectors have 4096: the rest of a sector that a
/// direct write touched first kept what had been there. It has to read as zero.
fn part_of_a_sector(cfg: &Config) -> Result<()> {
    let mut g = geom(16, 20, 4096);
    g.sector = 4096;
    g.name += "-s4096";
    let mut v = fresh(cfg, &g, "")?;
    tried(
        &mut v,
        &[(512, 512), (8192 + 1024, 512), (40_960 - 512, 1024)],
    )?;
    v.finish()
}

/// Direct writes of a few blocks within a large range that had been expanded only. All that
/// was skipped, before and after, reads as zero.
fn middle_of_unwritten(cfg: &Config) -> Result<()> {
    for g in [geom(12, 8, 4096), geom(16, 12, 2048), geom(32, 36, 512)] {
        let mut v = fresh(cfg, &g, "")?;
        make_stale(&v)?;
        let f = sys::create(&v.p("f"))?;
        sys::ftruncate(&f, 1_500_000)?;
        let mut want = vec![0; 1_500_000];
        for (at, len) in [
            (800_256 / 512 * 512, 512),
            (409_600, 8192),
            (1_228_800, 1024),
        ] {
            write(&v, &mut want, at, len)?;
            let got = sys::pread_vec(&f, want.len(), 0)?;
            bytes(&got, &want, "f after a write")?;
        }
        drop(f);
        verify(&mut v, &want).with_context(|| g.name.clone())?;
        v.finish()?;
    }
    Ok(())
}

/// Direct overwrites with 64 requests in flight, whose completions come from other contexts
/// than their submitter's. Each has to arrive where it belongs.
fn aio_overwrite(cfg: &Config) -> Result<()> {
    const SIZE: usize = 16384;
    let mut v = fresh(cfg, &geom(16, 12, 2048), "")?;
    let total = 256 * SIZE;
    std::fs::write(v.p("f"), stamp(1, 0, total))?;
    sys::sync();
    let f = sys::open(&v.p("f"), libc::O_RDWR | libc::O_DIRECT)?;
    for round in 0..4u32 {
        for part in 0..4 {
            // Every fourth place, so that neighbours are not in flight together.
            let mut all: Vec<sys::Request> = (0..64)
                .map(|i| {
                    let off = ((i * 4 + part) * SIZE) as u64;
                    let mut buf = sys::Aligned::new(SIZE);
                    buf.bytes().copy_from_slice(&stamp(10 + round, off, SIZE));
                    sys::Request {
                        off: off as i64,
                        buf,
                    }
                })
                .collect();
            same!(
                sys::aio_write(&f, &mut all)?,
                vec![Ok(SIZE); 64],
                "results of round {round}"
            );
            for r in &mut all {
                r.buf.bytes().fill(0);
            }
            same!(sys::aio_read(&f, &mut all)?, vec![Ok(SIZE); 64], "reads");
            for r in &mut all {
                let want = stamp(10 + round, r.off as u64, SIZE);
                bytes(r.buf.bytes(), &want, "read back")?;
            }
        }
    }
    drop(f);
    verify(&mut v, &stamp(13, 0, total))?;
    v.finish()
}
