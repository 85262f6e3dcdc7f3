// SPDX-License-Identifier: GPL-2.0

//! Directories, and moving things between them.

use super::Script;
use crate::content::Obj;
use crate::op::ROOT;

/// A tree of directories with files.
fn plant(s: &mut Script, root: Obj, dirs: usize, files: usize) {
    let mut all = vec![root];
    // A tree may be planted in parts.
    let first = s.below(root).len();
    for d in first..first + dirs {
        let parent = s.rng.pick(&all).copied().unwrap_or(root);
        let name = match d % 2 {
            0 => format!("dir{d}"),
            _ => format!("A directory with number {d}"),
        };
        all.push(s.mkdir(parent, name));
        for f in 0..files {
            let dir = s.rng.pick(&all).copied().unwrap_or(root);
            let name = match f % 3 {
                0 => format!("F{d}X{f}.C"),
                1 => format!("file {d}-{f}.txt"),
                _ => format!("Documentation of part {d} and its subpart number {f}.rst"),
            };
            let len = s.rng.below(6000);
            s.file(dir, name, len);
        }
    }
}

/// Unpacking an archive.
pub fn copy(s: &mut Script) {
    let root = s.mkdir(ROOT, "linux-7.3");
    plant(s, root, 8, 6);
    s.sync();
    let second = s.mkdir(ROOT, "second copy");
    plant(s, second, 6, 6);
    s.pause(6000);
    plant(s, second, 2, 6);
}

/// Removing trees; what they leave free is used again at once.
pub fn delete(s: &mut Script) {
    let old = s.mkdir(ROOT, "old tree");
    plant(s, old, 5, 6);
    s.sync();
    s.empty(old);
    s.rmdir(old);
    let new = s.mkdir(ROOT, "new tree");
    plant(s, new, 5, 6);
    s.pause(6000);
    s.empty(new);
    for i in 0..6 {
        let file = s.file(new, format!("in their place {i}"), 9000);
        s.fsync(file);
    }
}

/// Files move between directories, some of them over others.
pub fn move_files(s: &mut Script) {
    let dirs: Vec<Obj> = (0..3)
        .map(|d| s.mkdir(ROOT, format!("Folder {d}")))
        .collect();
    let mut files = Vec::new();
    for i in 0..12 {
        files.push(s.file(
            dirs[i % 3],
            format!("wandering file {i}.dat"),
            700 * i as u64 + 1,
        ));
    }
    s.sync();
    for turn in 0..36 {
        let Some(&file) = s.rng.pick(&files) else {
            return;
        };
        let dir = s.rng.pick(&dirs).copied().unwrap_or(ROOT);
        let name = match s.rng.below(3) {
            0 => format!("w{turn}.dat"),
            1 => format!("wandering file {turn} with a name for many slots.dat"),
            _ => "the one name.dat".to_string(),
        };
        let victim = s.get(dir, &name).filter(|v| *v != file);
        s.rename(file, dir, name);
        files.retain(|f| Some(*f) != victim);
        match turn % 9 {
            3 => s.fsync(file),
            6 => s.fsync(dir),
            _ => {}
        }
        if turn == 20 {
            s.pause(6000);
        }
    }
}

/// Directories come and go.
pub fn make_and_remove(s: &mut Script) {
    let top = s.mkdir(ROOT, "top");
    s.fsync(top);
    for turn in 0..40 {
        let dirs: Vec<Obj> = s
            .below(top)
            .into_iter()
            .filter(|d| d.1)
            .map(|d| d.0)
            .collect();
        let parent = s
            .rng
            .pick(&dirs)
            .copied()
            .filter(|_| turn % 2 == 0)
            .unwrap_or(top);
        let dir = s.mkdir(parent, format!("Level of turn {turn}"));
        match turn % 5 {
            0 => s.fsync(dir),
            2 => s.fsync(parent),
            3 => {
                s.file(dir, "x", 300);
            }
            4 => {
                let Some(&victim) = s.rng.pick(&dirs) else {
                    continue;
                };
                s.empty(victim);
                s.rmdir(victim);
            }
            _ => {}
        }
        if turn == 25 {
            s.pause(6000);
        }
    }
}

/// Directories are renamed and moved, with what is in them.
pub fn move_dirs(s: &mut Script) {
    let parents: Vec<Obj> = (0..3)
        .map(|d| s.mkdir(ROOT, format!("Parent {d}")))
        .collect();
    let mut moving = Vec::new();
    for i in 0..6 {
        let dir = s.mkdir(parents[i % 3], format!("moving directory {i}"));
        s.file(dir, "inside.txt", 1500);
        s.file(dir, "another file inside.txt", 200);
        moving.push(dir);
    }
    s.sync();
    for turn in 0..30 {
        let Some(&dir) = s.rng.pick(&moving) else {
            return;
        };
        let parent = match s.rng.below(4) {
            0 => ROOT,
            n => parents[n as usize - 1],
        };
        s.rename(dir, parent, format!("moved in turn {turn}"));
        match turn % 6 {
            1 => s.fsync(dir),
            3 => s.fsync(parent),
            5 => {
                let file = s.file(dir, format!("new in turn {turn}"), 900);
                s.fsync(file);
            }
            _ => {}
        }
        if turn == 15 {
            s.pause(6000);
        }
    }
}

/// Two files change places, in one directory block.
pub fn exchange(s: &mut Script) {
    let a = s.file(ROOT, "A", 1000);
    let b = s.file(ROOT, "B", 5000);
    s.sync();
    for turn in 0..12 {
        s.exchange(a, b);
        if turn % 3 == 0 {
            s.fsync(ROOT);
        }
        if turn == 6 {
            s.pause(6000);
        }
    }
}

/// Two files or directories change places, in two directories.
pub fn exchange_far(s: &mut Script) {
    let left = s.mkdir(ROOT, "left");
    let right = s.mkdir(ROOT, "right");
    let a = s.file(left, "first of the two.txt", 1000);
    let b = s.file(right, "second of the two.txt", 5000);
    let c = s.mkdir(left, "first directory");
    let d = s.mkdir(right, "second directory");
    s.file(c, "in c", 600);
    s.file(d, "in d", 700);
    s.sync();
    for turn in 0..16 {
        match turn % 2 {
            0 => s.exchange(a, b),
            _ => s.exchange(c, d),
        }
        if turn % 3 == 0 {
            s.fsync(left);
        }
        if turn == 6 {
            s.pause(6000);
        }
    }
}
