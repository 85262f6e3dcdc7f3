// SPDX-License-Identifier: GPL-2.0

//! What a workload did, as a base for what may be on disk after a cut.
//!
//! Two things have a history: a *cell*, which is a name in a directory and stands for one object
//! after the other or for none; and the content of a file. For each, some steps are *floors*: what
//! they left is promised to be on disk from the moment on at which they were acknowledged. On disk
//! a cell then has the value it had at its latest floor, or one it got since.

use std::collections::{BTreeMap, BTreeSet};

use crate::content::{Gen, Obj};
use crate::names::Names;
use crate::op::{How, Op, Outcome, Place, ROOT};
use crate::plan::MountMode;

/// A change of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Bytes were written; `tried` is what the step asked for.
    Write {
        off: u64,
        len: u64,
        tried: u64,
        gen: Gen,
    },
    /// Bytes were stored to a mapping; the size stays.
    Store { off: u64, len: u64, gen: Gen },
    /// The file became shorter, or longer by zeros.
    Resize(u64),
    /// Space behind the end, which does not show.
    Reserve,
}

/// The steps at which something happened, in order.
type Steps<T> = Vec<(usize, T)>;

/// A file's or a directory's history.
#[derive(Debug, Default)]
pub struct ObjHistory {
    /// Whether it is a directory.
    pub dir: bool,
    /// Changes of the content.
    pub changes: Steps<Change>,
    /// Steps whose end promises the content.
    floors: Vec<usize>,
    /// The step that removed it.
    pub removed: Option<usize>,
    /// Where the stores to its mapping wait for an fsync: then a write to a sync mount does not
    /// promise all of the content.
    stored: bool,
}

/// The history of a workload.
#[derive(Debug, Default)]
pub struct History {
    /// Each name's values.
    cells: BTreeMap<Place, Steps<Option<Obj>>>,
    /// Steps whose end promises a name.
    cell_floors: BTreeMap<Place, Vec<usize>>,
    /// Steps whose end promises everything.
    all: Vec<usize>,
    /// Each object's history.
    pub objs: BTreeMap<Obj, ObjHistory>,
}

/// The last of ascending `steps` that is at most `done`.
fn last_until(steps: &[usize], done: Option<usize>) -> Option<usize> {
    let done = done?;
    let at = steps.partition_point(|step| *step <= done);
    steps.get(at.checked_sub(1)?).copied()
}

impl History {
    /// The history of `ops`, of which the first `outcomes.len()` ran.
    pub fn new(ops: &[Op], outcomes: &[Outcome], mode: MountMode) -> Self {
        let mut history = Self::default();
        history.objs.entry(ROOT).or_default().dir = true;
        let mut names = Names::default();
        for (step, op) in ops.iter().enumerate() {
            // A step that did not end may have done what it was asked for.
            let outcome = outcomes.get(step);
            if outcome.is_some_and(|o| o.error.is_some() && o.bytes == 0) {
                continue;
            }
            history.record(step, op, outcome, &names);
            names.apply(op);
            history.promise(step, op, &names, mode);
        }
        history
    }

    /// Notes what a step changes.
    fn record(&mut self, step: usize, op: &Op, outcome: Option<&Outcome>, names: &Names) {
        if let Some(gone) = names.removed(op) {
            self.objs.entry(gone).or_default().removed = Some(step);
        }
        for (place, value) in names.changes(op) {
            self.cells.entry(place).or_default().push((step, value));
        }
        match op {
            Op::Mkdir { obj, .. } => self.objs.entry(*obj).or_default().dir = true,
            Op::Create { obj, .. } => {
                self.objs.entry(*obj).or_default();
            }
            _ => {}
        }
        let gen = (step + 1) as Gen;
        let change = match *op {
            Op::Write {
                obj,
                off,
                len,
                how: How::Mapped,
            } => {
                self.objs.entry(obj).or_default().stored = true;
                (obj, Change::Store { off, len, gen })
            }
            Op::Write { obj, off, len, .. } => {
                let done = outcome.map_or(len, |o| o.bytes);
                (
                    obj,
                    Change::Write {
                        off,
                        len: done,
                        tried: len,
                        gen,
                    },
                )
            }
            Op::Truncate { obj, size } => (obj, Change::Resize(size)),
            Op::Fallocate {
                obj,
                off,
                len,
                keep,
            } => {
                let size = self.size(obj);
                match keep || off + len <= size {
                    true => (obj, Change::Reserve),
                    false => (obj, Change::Resize(off + len)),
                }
            }
            _ => return,
        };
        let obj = self.objs.entry(change.0).or_default();
        obj.changes.push((step, change.1));
    }

    /// The size of a file after all that was recorded.
    pub fn size(&self, obj: Obj) -> u64 {
        let changes = self.objs.get(&obj).map_or(&[][..], |o| &o.changes);
        changes.iter().fold(0, |size, (_, change)| match *change {
            Change::Write { off, len, .. } if len > 0 => size.max(off + len),
            Change::Resize(size) => size,
            _ => size,
        })
    }

    /// Notes what the end of a step promises.
    fn promise(&mut self, step: usize, op: &Op, names: &Names, mode: MountMode) {
        match op {
            Op::Sync | Op::Unmount => {
                self.all.push(step);
                self.objs.values_mut().for_each(|o| o.stored = false);
            }
            Op::Fsync { obj } => {
                self.promise_path(step, *obj, names);
                let history = self.objs.entry(*obj).or_default();
                history.floors.push(step);
                history.stored = false;
                let children: Vec<_> = self
                    .cells
                    .keys()
                    .filter(|p| p.dir == *obj)
                    .cloned()
                    .collect();
                for place in children {
                    self.promise_cell(step, place);
                }
            }
            _ => self.promise_at_once(step, op, names, mode),
        }
    }

    /// What mounts with `sync` and `dirsync` promise at the end of each step.
    fn promise_at_once(&mut self, step: usize, op: &Op, names: &Names, mode: MountMode) {
        let touched: Vec<Place> = match op {
            Op::Create { at, .. } | Op::Mkdir { at, .. } | Op::Unlink { at } | Op::Rmdir { at } => {
                vec![at.clone()]
            }
            Op::Rename { from, to } => vec![from.clone(), to.clone()],
            Op::Exchange { a, b } => vec![a.clone(), b.clone()],
            _ => Vec::new(),
        };
        if mode == MountMode::Sync || mode == MountMode::Dirsync {
            for place in touched {
                self.promise_cell(step, place);
            }
        }
        let obj = match op {
            Op::Create { obj, .. } | Op::Truncate { obj, .. } | Op::Fallocate { obj, .. } => obj,
            Op::Write { obj, how, .. } if *how != How::Mapped => obj,
            _ => return,
        };
        if mode == MountMode::Sync {
            self.promise_path(step, *obj, names);
            let history = self.objs.entry(*obj).or_default();
            if !history.stored {
                history.floors.push(step);
            }
        }
    }

    /// Promises an object's entry, and those of the directories that lead to it.
    fn promise_path(&mut self, step: usize, obj: Obj, names: &Names) {
        let mut obj = obj;
        while let Some(place) = names.places.get(&obj) {
            self.promise_cell(step, place.clone());
            obj = place.dir;
        }
    }

    fn promise_cell(&mut self, step: usize, place: Place) {
        self.cell_floors.entry(place).or_default().push(step);
    }

    /// The floor of a name at a cut behind the end of step `done`.
    fn cell_floor(&self, place: &Place, done: Option<usize>) -> Option<usize> {
        let own = self
            .cell_floors
            .get(place)
            .and_then(|floors| last_until(floors, done));
        own.max(last_until(&self.all, done))
    }

    /// The floor of a file's content.
    pub fn content_floor(&self, obj: Obj, done: Option<usize>) -> Option<usize> {
        let own = self
            .objs
            .get(&obj)
            .and_then(|o| last_until(&o.floors, done));
        own.max(last_until(&self.all, done))
    }

    /// What a name may stand for at a cut: the promised value first, then those it got since.
    pub fn values(&self, place: &Place, at: Moment) -> Vec<Option<Obj>> {
        let floor = self.cell_floor(place, at.done);
        let mut values = vec![None];
        for (step, value) in self.cells.get(place).map_or(&[][..], |v| v) {
            if Some(*step) <= floor {
                values = vec![*value];
            } else if Some(*step) <= at.begun && !values.contains(value) {
                values.push(*value);
            }
        }
        values
    }

    /// All names that were ever used in a directory.
    pub fn names_in(&self, dir: Obj) -> BTreeSet<&Place> {
        self.cells.keys().filter(|p| p.dir == dir).collect()
    }

    /// Objects that had a promised name and were not removed since, not even by a step that only
    /// began: under one name or another they have to be there.
    pub fn must_exist(&self, at: Moment) -> Vec<Obj> {
        let mut objs = BTreeSet::new();
        for place in self.cells.keys() {
            let floor = self.cell_floor(place, at.done);
            let Some(Some(obj)) = self.cells.get(place).and_then(|values| {
                let at = values.partition_point(|(step, _)| Some(*step) <= floor);
                Some(values.get(at.checked_sub(1)?)?.1)
            }) else {
                continue;
            };
            let removed = self.objs.get(&obj).and_then(|o| o.removed);
            if removed.is_none_or(|step| Some(step) > at.begun) {
                objs.insert(obj);
            }
        }
        objs.into_iter().collect()
    }

    /// Whether an object was given another name that is not promised yet, so that it may have two.
    pub fn may_have_two_names(&self, obj: Obj, at: Moment) -> bool {
        let held = |place: &&Place| self.values(place, at).contains(&Some(obj));
        self.cells.keys().filter(held).count() > 1
    }
}

/// A moment in a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The last step that was acknowledged.
    pub done: Option<usize>,
    /// The last step that began.
    pub begun: Option<usize>,
}
