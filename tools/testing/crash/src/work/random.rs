// SPDX-License-Identifier: GPL-2.0

//! Everything, as the seed has it.

use super::Script;
use crate::content::Obj;
use crate::op::ROOT;

/// A few hundred steps of any kind.
pub fn mixture(s: &mut Script) {
    let mut dirs: Vec<Obj> = vec![ROOT];
    for i in 0..4 {
        let parent = s.rng.pick(&dirs).copied().unwrap_or(ROOT);
        dirs.push(s.mkdir(parent, format!("Place {i}")));
    }
    for turn in 0..220 {
        let everything = s.below(ROOT);
        let files: Vec<Obj> = everything.iter().filter(|e| !e.1).map(|e| e.0).collect();
        let dir = s.rng.pick(&dirs).copied().unwrap_or(ROOT);
        let file = match s.rng.pick(&files) {
            Some(file) if files.len() > 3 => *file,
            _ => s.create(dir, format!("Born in {turn}.bin")),
        };
        content(s, file);
        match s.rng.below(16) {
            0..=2 => {
                s.create(dir, format!("created in turn {turn}"));
            }
            3 => s.unlink(file),
            4 | 5 => s.rename(file, dir, format!("renamed in turn {turn}")),
            6 => {
                if let Some(place) = s.rng.pick(&files).and_then(|f| s.place(*f)) {
                    s.rename(file, place.dir, place.name);
                }
            }
            7 => s.fsync(dir),
            8 | 9 => s.fsync(file),
            10 => s.close(file),
            11 if turn % 3 == 0 => s.sync(),
            12 if turn % 4 == 0 => s.pause(1200),
            _ => {}
        }
    }
}

/// Changes the content of a file.
fn content(s: &mut Script, file: Obj) {
    let size = s.size(file);
    let off = s.rng.below(size + 1);
    let len = s.rng.range(1, 6000);
    match s.rng.below(12) {
        0..=2 => s.append(file, len),
        3 => s.write(file, off, len),
        4 => s.write_direct(file, off, len),
        5 => s.truncate(file, off),
        6 => s.truncate(file, size + len),
        7 => s.fallocate(file, off, len * 2, true),
        8 => s.fallocate(file, off, len * 2, false),
        9 if size > 0 => {
            let off = off.min(size - 1);
            s.store(file, off, len.min(size - off));
        }
        10 => s.write(file, size + len, 500),
        _ => {}
    }
}
