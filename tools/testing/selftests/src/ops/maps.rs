// SPDX-License-Identifier: GPL-2.0

//! Memory mappings.

use super::Op;
use crate::expect::{bytes, pattern};
use crate::same;
use crate::sys::{self, Map};
use crate::vol::Vol;
use anyhow::{ensure, Result};

pub const OPS: &[Op] = &[
    ("mmap_shared", "", shared),
    ("mmap_sees_writes", "", coherent),
    ("mmap_tail_is_zero", "", tail),
    ("mmap_of_extended_file", "", extended),
    ("mmap_read_only_mount", "", read_only),
];

fn shared(v: &mut Vol) -> Result<()> {
    let mut want = pattern(1, 0, 50_000);
    std::fs::write(v.p("f"), &want)?;
    v.remount()?;
    let f = sys::open(&v.p("f"), libc::O_RDWR)?;
    let m = Map::shared(&f, 50_000, true)?;
    bytes(&m.read(0, 50_000), &want, "mapping")?;
    for (off, tag) in [(0usize, 2), (4090, 3), (12_288, 4), (49_900, 5)] {
        let data = pattern(tag, 0, 100);
        m.write(off, &data);
        want[off..off + 100].copy_from_slice(&data);
    }
    m.sync()?;
    bytes(&sys::pread_vec(&f, 50_000, 0)?, &want, "read after msync")?;
    drop((m, f));
    v.remount()?;
    bytes(&std::fs::read(v.p("f"))?, &want, "content after remount")
}

fn coherent(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, &[1; 8192], 0)?;
    let m = Map::shared(&f, 8192, true)?;
    same!(m.read(5000, 1), vec![1], "byte");
    sys::pwrite_all(&f, &[2; 10], 5000)?;
    same!(m.read(5000, 1), vec![2], "byte after write");
    m.write(100, &[3]);
    same!(sys::pread_vec(&f, 1, 100)?, vec![3], "byte by read");
    // Without msync; unmounting has to write it.
    drop((m, f));
    v.remount()?;
    same!(std::fs::read(v.p("f"))?[100], 3, "byte after remount");
    Ok(())
}

fn tail(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    sys::pwrite_all(&f, &[7; 1000], 0)?;
    let m = Map::shared(&f, 4096, true)?;
    ensure!(
        m.read(1000, 3096).iter().all(|&b| b == 0),
        "no zeros behind the end"
    );
    // What is written behind the end by mapping must not appear in the file.
    m.write(999, &[8, 9, 9, 9]);
    m.sync()?;
    drop((m, f));
    v.remount()?;
    let got = std::fs::read(v.p("f"))?;
    same!((got.len(), got[999]), (1000, 8), "size and last byte");
    let f = sys::open(&v.p("f"), libc::O_RDWR)?;
    sys::ftruncate(&f, 4096)?;
    let got = sys::pread_vec(&f, 4096, 0)?;
    ensure!(
        got[1000..].iter().all(|&b| b == 0),
        "bytes from behind the end appeared"
    );
    Ok(())
}

fn extended(v: &mut Vol) -> Result<()> {
    let f = sys::create(&v.p("f"))?;
    sys::ftruncate(&f, 40_000)?;
    let m = Map::shared(&f, 40_000, true)?;
    ensure!(m.read(0, 40_000).iter().all(|&b| b == 0), "no zeros");
    m.write(20_000, &pattern(1, 0, 5000));
    sys::ftruncate(&f, 60_000)?;
    drop((m, f));
    v.remount()?;
    let mut want = vec![0; 60_000];
    want[20_000..25_000].copy_from_slice(&pattern(1, 0, 5000));
    bytes(&std::fs::read(v.p("f"))?, &want, "content after remount")
}

fn read_only(v: &mut Vol) -> Result<()> {
    std::fs::write(v.p("f"), pattern(1, 0, 9000))?;
    v.umount()?;
    v.flags = libc::MS_RDONLY;
    v.mount()?;
    let f = sys::open(&v.p("f"), libc::O_RDONLY)?;
    bytes(
        &Map::shared(&f, 9000, false)?.read(0, 9000),
        &pattern(1, 0, 9000),
        "mapping",
    )
}
