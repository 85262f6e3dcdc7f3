// SPDX-License-Identifier: GPL-2.0

//! Content, size and space of files.

use super::Script;
use crate::content::Obj;
use crate::op::ROOT;

/// Files grow without being written, and are written here and there afterwards.
pub fn expand(s: &mut Script) {
    for i in 0..10 {
        let file = s.create(ROOT, format!("grown file {i}.bin"));
        s.append(file, i * 333);
        match i % 3 {
            0 => s.fsync(file),
            1 => s.sync(),
            _ => {}
        }
        let size = s.rng.range(i * 333, 60_000);
        match i % 2 {
            0 => s.truncate(file, size),
            _ => s.fallocate(file, 0, size.max(1), false),
        }
        for _ in 0..s.rng.below(4) {
            let off = s.rng.below(size);
            let len = s.rng.range(1, 5000);
            match s.rng.below(4) {
                0 => s.write_direct(file, off, len),
                _ => s.write(file, off, len),
            }
            if s.rng.one_in(3) {
                s.fsync(file);
            }
        }
        if s.rng.one_in(2) {
            // Far behind the end: a gap of zeros.
            let off = s.size(file) + s.rng.range(1, 20_000);
            s.write(file, off, 777);
        }
        if i % 4 == 3 {
            s.pause(6000);
        }
        if s.rng.one_in(2) {
            s.close(file);
        }
    }
}

/// Space behind the end of files, used or given back.
pub fn keep_size(s: &mut Script) {
    for i in 0..8 {
        let file = s.create(ROOT, format!("reserved {i}"));
        s.append(file, i * 777);
        s.fallocate(file, 0, 40_000, true);
        match i % 4 {
            0 => s.fsync(file),
            1 => s.append(file, 5000),
            2 => s.truncate(file, 100),
            _ => s.truncate(file, 30_000),
        }
        for _ in 0..3 {
            let len = s.rng.range(1, 9000);
            s.append(file, len);
            if s.rng.one_in(2) {
                s.fsync(file);
            }
        }
        if i == 4 {
            s.pause(6000);
        }
        s.close(file);
        s.file(ROOT, format!("after {i}"), 4000);
    }
}

/// Bytes of files are replaced in place.
pub fn overwrite(s: &mut Script) {
    let files: Vec<Obj> = (0..3)
        .map(|i| s.file(ROOT, format!("Database {i}"), 30_000 + i * 4321))
        .collect();
    s.sync();
    for turn in 0..30 {
        let Some(&file) = s.rng.pick(&files) else {
            return;
        };
        let size = s.size(file);
        let off = s.rng.below(size);
        let len = s.rng.range(1, (size - off).min(9000));
        match turn % 4 {
            0 if off + 9728 < size => s.write_direct(file, off, len),
            1 => s.store(file, off, len),
            _ => s.write(file, off, len),
        }
        if turn % 3 == 0 {
            s.fsync(file);
        }
        if turn % 12 == 11 {
            s.pause(1500);
        }
    }
}

/// Logs grow in turns, by odd lengths.
pub fn append(s: &mut Script) {
    let files: Vec<Obj> = (0..3).map(|i| s.create(ROOT, format!("log.{i}"))).collect();
    for turn in 0..45 {
        let file = files[turn % 3];
        let len = s.rng.range(1, 3000);
        s.append(file, len);
        if turn % 5 == 0 {
            s.fsync(file);
        }
        if turn % 20 == 19 {
            s.pause(6000);
        }
    }
}

/// Files become shorter and grow again.
pub fn shrink(s: &mut Script) {
    let files: Vec<Obj> = (0..4)
        .map(|i| s.file(ROOT, format!("shrinking {i}"), 20_000 + i * 1111))
        .collect();
    s.sync();
    for turn in 0..36 {
        let Some(&file) = s.rng.pick(&files) else {
            return;
        };
        let size = s.size(file);
        match s.rng.below(6) {
            0 => s.truncate(file, 0),
            1 | 2 => {
                let to = s.rng.below(size + 1);
                s.truncate(file, to);
            }
            3 => {
                let to = size + s.rng.below(9000);
                s.truncate(file, to);
            }
            4 => {
                let len = s.rng.range(1, 12_000);
                s.append(file, len);
            }
            _ => {
                // As programs do that write a file anew.
                s.truncate(file, 0);
                let len = s.rng.range(1, 20_000);
                s.write(file, 0, len);
            }
        }
        if turn % 4 == 0 {
            s.fsync(file);
        }
        if turn % 14 == 13 {
            s.pause(6000);
        }
    }
}

/// The volume is filled until nothing fits, some of it is freed, and it is filled again.
pub fn full(s: &mut Script) {
    let dir = s.mkdir(ROOT, "full");
    let mut files: Vec<Obj> = Vec::new();
    for round in 0..3 {
        for i in 0..9 {
            let file = s.create(dir, format!("filler {round} {i}"));
            let len = s.rng.range(100_000, 200_000);
            s.append(file, len);
            if s.rng.one_in(3) {
                s.fsync(file);
            }
            s.close(file);
            files.push(file);
        }
        if round == 1 {
            s.pause(6000);
        }
        for i in 0..files.len() / 2 + 1 {
            let file = files.swap_remove((i * 7) % files.len());
            match i % 3 {
                0 => s.truncate(file, 1000),
                _ => s.unlink(file),
            }
        }
        if round == 0 {
            s.sync();
        }
    }
}
