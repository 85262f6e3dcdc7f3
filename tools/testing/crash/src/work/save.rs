// SPDX-License-Identifier: GPL-2.0

//! How programs replace files.

use super::Script;
use crate::op::ROOT;

/// An editor: a new file beside the old one, fsync, rename over it. Every other time the old one is
/// kept as a backup.
pub fn editor(s: &mut Script) {
    let docs = s.mkdir(ROOT, "documents");
    for name in ["letter.txt", "a rather long name of a chapter.txt", "N.MD"] {
        s.file(docs, name, 5000);
    }
    s.sync();
    for round in 0..8 {
        for name in ["letter.txt", "a rather long name of a chapter.txt", "N.MD"] {
            let new = s.create(docs, format!(".{name}.swp"));
            let len = s.rng.range(1, 20_000);
            s.append(new, len);
            s.fsync(new);
            s.close(new);
            if round % 2 == 1 {
                if let Some(old) = s.get(docs, name) {
                    s.rename(old, docs, format!("{name}~"));
                }
            }
            s.rename(new, docs, name);
            if round % 3 == 0 {
                s.fsync(docs);
            }
        }
        if round == 4 {
            s.pause(6000);
        }
    }
}

/// A package manager: unpacks many files under other names, syncs them, renames them over the old
/// ones, removes what is left of the old version.
pub fn packages(s: &mut Script) {
    let usr = s.mkdir(ROOT, "usr");
    let lib = s.mkdir(usr, "lib");
    let share = s.mkdir(usr, "Share of the Package");
    let names: Vec<String> = (0..12).map(|i| format!("module-{i:02}.so")).collect();
    for version in 0..4 {
        let mut unpacked = Vec::new();
        for (i, name) in names.iter().enumerate() {
            let dir = if i % 3 == 0 { share } else { lib };
            let new = s.create(dir, format!("{name}.dpkg-new"));
            let len = s.rng.range(100, 9000);
            s.append(new, len);
            s.close(new);
            unpacked.push((new, dir, name));
        }
        for (new, _, _) in &unpacked {
            s.fsync(*new);
        }
        for (new, dir, name) in unpacked {
            s.rename(new, dir, name);
        }
        let old = s.get(lib, &format!("only-in-{}.txt", version - 1));
        old.into_iter().for_each(|old| s.unlink(old));
        s.file(lib, format!("only-in-{version}.txt"), 3000);
        s.fsync(lib);
        if version == 2 {
            s.pause(6000);
        }
    }
}
