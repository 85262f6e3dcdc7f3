// SPDX-License-Identifier: GPL-2.0

//! Direct I/O, alone and together with buffered I/O.

use super::Op;
use crate::expect::{bytes, errno, pattern};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::Result;

pub const OPS: &[Op] = &[
    ("direct_io", "", direct),
    ("direct_and_buffered", "", direct_mixed),
];

fn direct(v: &mut Vol) -> Result<()> {
    let f = sys::open(&v.p("f"), libc::O_RDWR | libc::O_CREAT | libc::O_DIRECT)?;
    let mut a = sys::Aligned::new(65536);
    let data = pattern(7, 0, 65536);
    a.bytes().copy_from_slice(&data);
    same!(
        sys::pwrite(&f, a.bytes(), 0)?,
        65536,
        "bytes written at the end"
    );
    a.bytes().fill(0);
    same!(sys::pread(&f, a.bytes(), 0)?, 65536, "bytes read");
    bytes(a.bytes(), &data, "content")?;
    // Over existing data.
    let new = pattern(8, 0, 8192);
    a.bytes()[..8192].copy_from_slice(&new);
    same!(
        sys::pwrite(&f, &a.bytes()[..8192], 4096)?,
        8192,
        "bytes overwritten"
    );
    a.bytes().fill(0);
    same!(
        sys::pread(&f, &mut a.bytes()[..4096], 65536)?,
        0,
        "bytes read at the end"
    );
    errno(
        sys::pread(&f, &mut a.bytes()[..100], 0),
        libc::EINVAL,
        "read of 100 bytes",
    )?;
    errno(
        sys::pread(&f, &mut a.bytes()[..512], 100),
        libc::EINVAL,
        "read at 100",
    )?;
    drop(f);
    v.remount()?;
    let mut want = data;
    want[4096..12288].copy_from_slice(&new);
    bytes(&std::fs::read(v.p("f"))?, &want, "content after remount")
}

fn direct_mixed(v: &mut Vol) -> Result<()> {
    let b = sys::create(&v.p("f"))?;
    let d = sys::open(&v.p("f"), libc::O_RDWR | libc::O_DIRECT)?;
    let mut a = sys::Aligned::new(4096);
    let mut want = pattern(1, 0, 20_000);
    sys::pwrite_all(&b, &want, 0)?;
    // Direct reads see buffered writes, up to an unaligned end.
    same!(
        sys::pread(&d, a.bytes(), 16384)?,
        20_000 - 16384,
        "bytes of the tail"
    );
    bytes(&a.bytes()[..20_000 - 16384], &want[16384..], "tail")?;
    a.bytes().fill(0x5A);
    same!(sys::pwrite(&d, a.bytes(), 8192)?, 4096, "bytes written");
    want[8192..12288].fill(0x5A);
    bytes(
        &sys::pread_vec(&b, 20_000, 0)?,
        &want,
        "buffered read after direct write",
    )?;
    // A direct write past the end: what lies between is zero.
    same!(
        sys::pwrite(&d, a.bytes(), 40960)?,
        4096,
        "bytes written past the end"
    );
    want.resize(40960, 0);
    want.extend([0x5A; 4096]);
    drop((b, d));
    v.remount()?;
    bytes(&std::fs::read(v.p("f"))?, &want, "content after remount")
}
