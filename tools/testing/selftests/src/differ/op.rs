// SPDX-License-Identifier: GPL-2.0

//! Operations that both sides carry out.

use super::names;
use crate::rng::Rng;
use std::path::PathBuf;

/// One operation; paths are relative to the mount point.
#[derive(Clone, Debug)]
pub enum Op {
    Create(PathBuf, bool),
    Mkdir(PathBuf),
    Rmdir(PathBuf),
    Unlink(PathBuf),
    Rename(PathBuf, PathBuf, u32),
    Write(PathBuf, u64, usize, u32),
    Append(PathBuf, usize, u32),
    DirectWrite(PathBuf, u64, usize, u32),
    MapWrite(PathBuf, u64, usize, u32),
    Read(PathBuf, u64, usize),
    Truncate(PathBuf, u64),
    Fallocate(PathBuf, u64, u64),
    KeepSize(PathBuf, u64),
    Copy(PathBuf, PathBuf),
    Chmod(PathBuf, u32),
    Chown(PathBuf, u32, u32),
    Utimes(PathBuf, i64, i64),
    Attrs(PathBuf, u32),
    GetAttrs(PathBuf),
    Stat(PathBuf),
    List(PathBuf),
    Aliases(PathBuf),
    Symlink(PathBuf),
    Link(PathBuf, PathBuf),
    Mknod(PathBuf, u32),
    Seek(PathBuf, i64, i32),
    Open(usize, PathBuf, i32),
    Close(usize),
    FdWrite(usize, u64, usize, u32),
    FdRead(usize, u64, usize),
    FdTruncate(usize, u64),
    FdSync(usize, bool),
    StatFs,
    Sync,
}

/// Descriptors that stay open between operations.
pub const SLOTS: usize = 6;

fn size(rng: &mut Rng) -> u64 {
    match rng.below(6) {
        0 => 0,
        1 => rng.below(600),
        2 => 512 * rng.below(20),
        3 => 4096 * rng.below(8),
        4 => rng.below(20_000),
        _ => rng.below(80_000),
    }
}

fn len(rng: &mut Rng) -> usize {
    match rng.below(4) {
        0 => rng.below(100) as usize,
        1 => 512,
        2 => rng.below(5000) as usize,
        _ => rng.below(20_000) as usize,
    }
}

fn time(rng: &mut Rng) -> i64 {
    match rng.below(6) {
        0 => rng.below(400_000_000) as i64,
        1 => 4_354_819_190 + rng.below(20) as i64,
        2 => -(rng.below(1_000_000) as i64),
        3 => 951_696_000 + rng.below(400_000) as i64,
        _ => 1_000_000_000 + rng.below(700_000_000) as i64,
    }
}

/// The next operation of a random sequence.
pub fn random(rng: &mut Rng) -> Op {
    use names::{any, dir};
    let tag = rng.next() as u32 & 0xFFFF;
    let slot = rng.below(SLOTS as u64) as usize;
    match rng.below(100) {
        0..=11 => Op::Create(any(rng), rng.one_in(3)),
        12..=19 => {
            let mut d = dir(rng);
            if d.as_os_str().is_empty() {
                d = any(rng);
            }
            Op::Mkdir(d)
        }
        20..=22 => Op::Rmdir(dir(rng)),
        23..=31 => Op::Unlink(any(rng)),
        32..=39 => Op::Rename(any(rng), any(rng), 0),
        40..=41 => Op::Rename(dir(rng), dir(rng), 0),
        42 => Op::Rename(any(rng), any(rng), libc::RENAME_NOREPLACE),
        43 => Op::Rename(any(rng), any(rng), libc::RENAME_EXCHANGE),
        44 => Op::Rename(dir(rng), any(rng), libc::RENAME_EXCHANGE),
        45..=52 => Op::Write(any(rng), size(rng), len(rng), tag),
        53..=56 => Op::Append(any(rng), len(rng), tag),
        57 => Op::DirectWrite(any(rng), 4096 * rng.below(8), 4096, tag),
        58 => Op::MapWrite(any(rng), rng.below(20_000), len(rng), tag),
        59..=62 => Op::Read(any(rng), size(rng), len(rng)),
        63..=65 => Op::Truncate(any(rng), size(rng)),
        66 => Op::Fallocate(any(rng), size(rng), size(rng)),
        67 => Op::KeepSize(any(rng), size(rng)),
        68 => Op::Copy(any(rng), any(rng)),
        69 => Op::Chmod(
            any(rng),
            *rng.pick(&[0o755, 0o555, 0o644, 0o777, 0, 0o4755]),
        ),
        70 => Op::Chown(
            any(rng),
            *rng.pick(&[0, 1, u32::MAX]),
            *rng.pick(&[0, 1, u32::MAX]),
        ),
        71..=72 => Op::Utimes(any(rng), time(rng), time(rng)),
        73 => Op::Attrs(any(rng), rng.below(256) as u32),
        74 => Op::GetAttrs(any(rng)),
        75..=78 => Op::Stat(any(rng)),
        79..=80 => Op::List(dir(rng)),
        81 => Op::Aliases(dir(rng)),
        82 => Op::Symlink(any(rng)),
        83 => Op::Link(any(rng), any(rng)),
        84 => Op::Mknod(
            any(rng),
            *rng.pick(&[libc::S_IFIFO, libc::S_IFREG, libc::S_IFSOCK]),
        ),
        85 => Op::Seek(
            any(rng),
            size(rng) as i64,
            *rng.pick(&[libc::SEEK_END, libc::SEEK_HOLE, libc::SEEK_SET]),
        ),
        86..=88 => Op::Open(
            slot,
            any(rng),
            *rng.pick(&[0, libc::O_CREAT, libc::O_TRUNC, libc::O_APPEND]),
        ),
        89 => Op::Close(slot),
        90..=92 => Op::FdWrite(slot, size(rng), len(rng), tag),
        93..=94 => Op::FdRead(slot, size(rng), len(rng)),
        95 => Op::FdTruncate(slot, size(rng)),
        96 => Op::FdSync(slot, rng.one_in(2)),
        97..=98 => Op::StatFs,
        _ => Op::Sync,
    }
}

/// Every name at the edge through the same few steps.
pub fn scripted() -> Vec<Op> {
    let mut v = vec![Op::Mkdir("dir".into())];
    let all = names::nasty();
    for (i, n) in all.iter().enumerate() {
        let p = names::path_of(n);
        let q = PathBuf::from("dir").join(names::path_of(n));
        let next = names::path_of(&all[(i + 7) % all.len()]);
        v.extend([
            Op::Stat(p.clone()),
            Op::Create(p.clone(), true),
            Op::Create(p.clone(), true),
            Op::Append(p.clone(), 100 + i, i as u32),
            Op::Stat(p.clone()),
            Op::Read(p.clone(), 0, 4096),
            Op::Mkdir(q.clone()),
            Op::Mkdir(q.clone()),
            Op::Create(q.join(&p), false),
            Op::Rmdir(q.clone()),
            Op::Rename(
                q.join(&p),
                PathBuf::from("dir").join(format!("out{}", i % 5)),
                0,
            ),
            Op::List("dir".into()),
            Op::Aliases("dir".into()),
            Op::Rmdir(q.clone()),
        ]);
        match i % 6 {
            0 => v.push(Op::Unlink(p)),
            1 => v.push(Op::Rename(p, q, 0)),
            2 => v.push(Op::Rename(p, next, libc::RENAME_NOREPLACE)),
            3 => v.push(Op::Rename(p, next, 0)),
            4 => v.push(Op::Rename(p, next, libc::RENAME_EXCHANGE)),
            _ => {}
        }
        if i % 8 == 0 {
            v.extend([Op::List("".into()), Op::Aliases("".into()), Op::StatFs]);
        }
    }
    v
}
