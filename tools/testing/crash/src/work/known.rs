// SPDX-License-Identifier: GPL-2.0

//! Cases that other drivers for FAT are known to get wrong.

use super::Script;
use crate::op::ROOT;

/// A temporary file, fsync, rename over the target, fsync of the directory: then the new content is
/// there, and at no moment before none.
pub fn save_and_sync_directory(s: &mut Script) {
    let conf = s.mkdir(ROOT, "etc");
    let target = s.file(conf, "settings.conf", 3000);
    s.fsync(target);
    for round in 0..16 {
        let tmp = s.create(conf, format!("settings.conf.{round}"));
        let len = s.rng.range(1, 8000);
        s.append(tmp, len);
        s.fsync(tmp);
        s.close(tmp);
        s.rename(tmp, conf, "settings.conf");
        s.fsync(conf);
        if round == 8 {
            s.pause(6000);
        }
    }
}

/// fsync of a file whose directories are all new: the path to it has to be there.
pub fn fsync_below_new_directories(s: &mut Script) {
    for round in 0..8 {
        let a = s.mkdir(ROOT, format!("new {round}"));
        let b = s.mkdir(a, "newer");
        let c = s.mkdir(b, "The newest of all");
        let file = s.create(c, "deep.txt");
        s.append(file, 2500);
        s.fsync(file);
        s.close(file);
        if round % 2 == 0 {
            s.file(b, "not synced.txt", 1200);
        } else {
            s.fsync(c);
        }
        if round == 4 {
            s.pause(6000);
        }
    }
}

/// Stores to a mapping behind the end of the file, which then grows: they must not show.
pub fn store_past_the_end(s: &mut Script) {
    for round in 0..10 {
        let file = s.create(ROOT, format!("mapped {round}"));
        let size = 4096 * (round % 3) + s.rng.range(1, 3000);
        s.append(file, size);
        if round % 2 == 0 {
            s.fsync(file);
        }
        s.store(file, size - 1, 4096 - (size - 1) % 4096);
        match round % 3 {
            0 => s.fsync(file),
            1 => s.pause(1000),
            _ => {}
        }
        match round % 4 {
            0 => s.truncate(file, size + 6000),
            1 => s.write(file, size + 3000, 1000),
            2 => s.fallocate(file, 0, size + 5000, false),
            _ => s.append(file, 100),
        }
        match round % 3 {
            0 => s.sync(),
            1 => s.fsync(file),
            _ => s.pause(1500),
        }
        s.close(file);
    }
}

/// Files grow over clusters that held other files: nothing of them may show.
pub fn expand_over_old_bytes(s: &mut Script) {
    let dir = s.mkdir(ROOT, "Secrets");
    for round in 0..5 {
        for i in 0..6 {
            let file = s.file(dir, format!("secret {round} {i}"), 20_000);
            s.fsync(file);
        }
        s.empty(dir);
        s.sync();
        for i in 0..4 {
            let file = s.create(ROOT, format!("grows over it {round} {i}"));
            s.append(file, 100 * i);
            match i {
                0 => s.truncate(file, 25_000),
                1 => s.fallocate(file, 0, 25_000, false),
                2 => s.write(file, 25_000, 100),
                _ => {
                    s.fallocate(file, 0, 25_000, true);
                    s.truncate(file, 23_000);
                }
            }
            if (round + i) % 2 == 0 {
                s.fsync(file);
            }
        }
        if round % 2 == 0 {
            s.pause(6000);
        }
        for i in 0..4 {
            if let Some(file) = s.get(ROOT, &format!("grows over it {round} {i}")) {
                if i % 2 == 0 {
                    s.write(file, 12_000, 3000);
                    s.fsync(file);
                }
                s.close(file);
            }
        }
    }
}
