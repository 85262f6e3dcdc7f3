// SPDX-License-Identifier: GPL-2.0

//! The workloads.

mod data;
mod known;
mod random;
mod save;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};

use crate::content::Obj;
use crate::names::Names;
use crate::op::{How, Op, Place, ROOT};
use crate::rng::Rng;

/// A workload.
pub struct Work {
    /// Its name.
    pub name: &'static str,
    /// Whether it wants a volume that it can fill.
    pub small: bool,
    /// Writes its steps.
    make: fn(&mut Script),
}

const fn work(name: &'static str, make: fn(&mut Script)) -> Work {
    Work {
        name,
        small: false,
        make,
    }
}

/// All workloads. New ones go to the end.
pub const ALL: [Work; 20] = [
    work("editor", save::editor),
    work("packages", save::packages),
    work("copytree", tree::copy),
    work("deltree", tree::delete),
    work("move", tree::move_files),
    work("mkdir", tree::make_and_remove),
    work("movedir", tree::move_dirs),
    work("expand", data::expand),
    work("keepsize", data::keep_size),
    work("overwrite", data::overwrite),
    work("append", data::append),
    work("shrink", data::shrink),
    Work {
        name: "full",
        small: true,
        make: data::full,
    },
    work("random", random::mixture),
    work("savedir", known::save_and_sync_directory),
    work("newdirs", known::fsync_below_new_directories),
    work("mapped", known::store_past_the_end),
    work("oldbytes", known::expand_over_old_bytes),
    work("exchange", tree::exchange),
    work("exchange-far", tree::exchange_far),
];

/// The steps of a workload.
pub fn script(name: &str, seed: u64) -> Result<Vec<Op>> {
    let work = ALL.iter().find(|w| w.name == name);
    let work = work.with_context(|| format!("no workload {name}"))?;
    let mut script = Script::new(Rng::named(seed, name));
    (work.make)(&mut script);
    script.ops.push(Op::Unmount);
    Ok(script.ops)
}

/// Steps that are being written, and what they lead to.
pub struct Script {
    ops: Vec<Op>,
    names: Names,
    /// Size of each file.
    sizes: BTreeMap<Obj, u64>,
    /// Files that are open.
    open: BTreeSet<Obj>,
    next: Obj,
    /// For what is left to chance.
    pub rng: Rng,
}

impl Script {
    fn new(rng: Rng) -> Self {
        Self {
            ops: Vec::new(),
            names: Names::default(),
            sizes: BTreeMap::new(),
            open: BTreeSet::new(),
            next: ROOT + 1,
            rng,
        }
    }

    /// Adds a step.
    fn push(&mut self, op: Op) {
        self.names.apply(&op);
        self.ops.push(op);
    }

    /// A name in a directory.
    pub fn at(&self, dir: Obj, name: impl Into<String>) -> Place {
        Place {
            dir,
            name: name.into(),
        }
    }

    fn new_obj(&mut self) -> Obj {
        self.next += 1;
        self.next - 1
    }

    /// A new file, which stays open.
    pub fn create(&mut self, dir: Obj, name: impl Into<String>) -> Obj {
        let obj = self.new_obj();
        let at = self.at(dir, name);
        self.sizes.insert(obj, 0);
        self.open.insert(obj);
        self.push(Op::Create { obj, at });
        obj
    }

    /// A new file with content, closed.
    pub fn file(&mut self, dir: Obj, name: impl Into<String>, len: u64) -> Obj {
        let obj = self.create(dir, name);
        self.append(obj, len);
        self.close(obj);
        obj
    }

    /// A new directory.
    pub fn mkdir(&mut self, dir: Obj, name: impl Into<String>) -> Obj {
        let obj = self.new_obj();
        let at = self.at(dir, name);
        self.push(Op::Mkdir { obj, at });
        obj
    }

    /// Where an object is.
    pub fn place(&self, obj: Obj) -> Option<Place> {
        self.names.places.get(&obj).cloned()
    }

    /// What a name stands for.
    pub fn get(&self, dir: Obj, name: &str) -> Option<Obj> {
        self.names.get(&self.at(dir, name))
    }

    /// Removes a file.
    pub fn unlink(&mut self, obj: Obj) {
        self.close(obj);
        if let Some(at) = self.place(obj) {
            self.push(Op::Unlink { at });
        }
    }

    /// Removes an empty directory.
    pub fn rmdir(&mut self, obj: Obj) {
        if let Some(at) = self.place(obj) {
            self.push(Op::Rmdir { at });
        }
    }

    /// Renames an object, over what has the name.
    pub fn rename(&mut self, obj: Obj, dir: Obj, name: impl Into<String>) {
        let to = self.at(dir, name);
        if let Some(from) = self.place(obj).filter(|from| *from != to) {
            if let Some(victim) = self.names.get(&to) {
                self.close(victim);
            }
            self.push(Op::Rename { from, to });
        }
    }

    /// Exchanges two objects.
    pub fn exchange(&mut self, a: Obj, b: Obj) {
        if let (Some(a), Some(b)) = (self.place(a), self.place(b)) {
            self.push(Op::Exchange { a, b });
        }
    }

    /// Closes a file.
    pub fn close(&mut self, obj: Obj) {
        if self.open.remove(&obj) {
            self.push(Op::Close { obj });
        }
    }

    /// The size of a file.
    pub fn size(&self, obj: Obj) -> u64 {
        self.sizes.get(&obj).copied().unwrap_or(0)
    }

    fn write_as(&mut self, obj: Obj, off: u64, len: u64, how: How) {
        if len > 0 {
            let size = self.size(obj);
            if how != How::Mapped {
                self.sizes.insert(obj, size.max(off + len));
            }
            self.push(Op::Write { obj, off, len, how });
        }
    }

    /// Writes.
    pub fn write(&mut self, obj: Obj, off: u64, len: u64) {
        self.write_as(obj, off, len, How::Buffered);
    }

    /// Writes directly; `off` and `len` are made multiples of sectors.
    pub fn write_direct(&mut self, obj: Obj, off: u64, len: u64) {
        let len = len.next_multiple_of(512);
        self.write_as(obj, off - off % 512, len, How::Direct);
    }

    /// Stores to a mapping.
    pub fn store(&mut self, obj: Obj, off: u64, len: u64) {
        self.write_as(obj, off, len, How::Mapped);
    }

    /// Writes at the end.
    pub fn append(&mut self, obj: Obj, len: u64) {
        self.write(obj, self.size(obj), len);
    }

    /// Sets the size.
    pub fn truncate(&mut self, obj: Obj, size: u64) {
        self.sizes.insert(obj, size);
        self.push(Op::Truncate { obj, size });
    }

    /// `fallocate`.
    pub fn fallocate(&mut self, obj: Obj, off: u64, len: u64, keep: bool) {
        if !keep {
            let size = self.size(obj);
            self.sizes.insert(obj, size.max(off + len));
        }
        self.push(Op::Fallocate {
            obj,
            off,
            len,
            keep,
        });
    }

    /// `fsync`.
    pub fn fsync(&mut self, obj: Obj) {
        self.push(Op::Fsync { obj });
    }

    /// `syncfs`.
    pub fn sync(&mut self) {
        self.push(Op::Sync);
    }

    /// Time passes.
    pub fn pause(&mut self, ms: u64) {
        self.push(Op::Pause { ms });
    }

    /// Everything below a directory, children before their parents.
    pub fn below(&self, dir: Obj) -> Vec<(Obj, bool)> {
        let mut all = Vec::new();
        let children: Vec<Obj> = self.names.children(dir).map(|(_, obj)| obj).collect();
        for obj in children {
            let is_dir = !self.sizes.contains_key(&obj);
            if is_dir {
                all.extend(self.below(obj));
            }
            all.push((obj, is_dir));
        }
        all
    }

    /// Removes everything below a directory.
    pub fn empty(&mut self, dir: Obj) {
        for (obj, is_dir) in self.below(dir) {
            if is_dir {
                self.rmdir(obj);
            } else {
                self.unlink(obj);
            }
        }
    }
}
