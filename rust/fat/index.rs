// SPDX-License-Identifier: GPL-2.0

//! An index of a directory in memory: where names may be, and where there is room.
//!
//! Built by the first lookup and kept as long as the inode is, it makes lookups, 8.3 name checks
//! and the search for room independent of the directory's length. It holds hashes only: what it
//! finds is compared with the entry itself.

use kernel::prelude::*;

/// Most slots that an entry takes: 20 for the long name, and the 8.3 one.
const MAX_SLOTS: usize = 21;

/// Removed names that are searched.
const MAX_GONE: usize = 1024;

/// An unused cell.
const EMPTY: u64 = 0;

/// A cell whose content was removed.
const GONE: u64 = u64::MAX;

/// The first slots of entries, ascending.
pub(crate) type Candidates = KVVec<u32>;

/// The index of one directory.
pub(crate) struct DirIndex {
    /// Open addressing, a power of two: hash and slot number.
    cells: KVVec<u64>,
    /// Cells that are not [`EMPTY`].
    used: usize,
    /// For each number of slots: the first slot at which so many free ones may begin, within one
    /// block if so many fit.
    rooms: [u32; MAX_SLOTS + 1],
    /// Whether all entries are in it.
    pub(crate) complete: bool,
    /// Hashes and first slots of names that were removed, and the commit that is to write that.
    gone: KVVec<u64>,
    gone_by: u64,
}

/// Puts a hash and a slot number into one cell.
fn cell(hash: u32, slot: u32) -> u64 {
    (u64::from(hash) << 32) | (u64::from(slot) + 1)
}

impl DirIndex {
    /// An index of nothing.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            cells: KVVec::from_elem(EMPTY, 64, GFP_KERNEL)?,
            used: 0,
            rooms: [0; MAX_SLOTS + 1],
            complete: true,
            gone: KVVec::new(),
            gone_by: 0,
        })
    }

    /// The cells to look at for `hash`, in order, as positions.
    fn probe(&self, hash: u32) -> impl Iterator<Item = usize> {
        let mask = self.cells.len() - 1;
        let start = hash as usize;
        (0..=mask).map(move |i| (start.wrapping_add(i)) & mask)
    }

    /// Notes that an entry with a name of this hash starts at `slot`.
    pub(crate) fn insert(&mut self, hash: u32, slot: u32) -> Result {
        if (self.used + 1) * 2 > self.cells.len() {
            self.rebuild()?;
        }
        self.put(cell(hash, slot), hash);
        Ok(())
    }

    fn put(&mut self, value: u64, hash: u32) {
        let at = self
            .probe(hash)
            .find(|&at| self.cells.get(at).is_some_and(|&c| c == EMPTY));
        if let Some(c) = at.and_then(|at| self.cells.get_mut(at)) {
            *c = value;
            self.used += 1;
        }
    }

    /// Makes room, and drops what was removed.
    fn rebuild(&mut self) -> Result {
        let live = |&&c: &&u64| c != EMPTY && c != GONE;
        let count = self.cells.iter().filter(live).count();
        let size = ((count + 1) * 4).next_power_of_two().max(64);
        let new = KVVec::from_elem(EMPTY, size, GFP_KERNEL)?;
        let old = core::mem::replace(&mut self.cells, new);
        self.used = 0;
        for &c in old.iter().filter(live) {
            self.put(c, (c >> 32) as u32);
        }
        Ok(())
    }

    /// Takes back what [`insert`](Self::insert) noted.
    pub(crate) fn remove(&mut self, hash: u32, slot: u32) {
        let wanted = cell(hash, slot);
        for at in self.probe(hash) {
            match self.cells.get_mut(at) {
                Some(c) if *c == wanted => {
                    *c = GONE;
                    return;
                }
                Some(c) if *c == EMPTY => return,
                _ => {}
            }
        }
    }

    /// Notes that a name of the entry at `slot` was removed, which the commit with number `commit`
    /// will write.
    pub(crate) fn removed(&mut self, hash: u32, slot: u32, commit: u64) -> Result {
        if self.gone_by != commit {
            self.gone = KVVec::new();
            self.gone_by = commit;
        }
        Ok(self.gone.push(cell(hash, slot), GFP_KERNEL)?)
    }

    /// Whether an entry with a name of this hash was removed before `commit`, and was at a slot
    /// that `elsewhere` is true for.
    pub(crate) fn was_removed(
        &self,
        hash: u32,
        commit: u64,
        elsewhere: impl Fn(u32) -> bool,
    ) -> bool {
        // A long list costs more than a commit, which empties it.
        self.gone_by == commit
            && (self.gone.len() > MAX_GONE
                || self
                    .gone
                    .iter()
                    .any(|&c| (c >> 32) as u32 == hash && elsewhere((c as u32).wrapping_sub(1))))
    }

    /// The first slots of entries that may have a name with this hash, ascending, and whether there
    /// are no others.
    pub(crate) fn candidates(&self, hash: u32) -> Result<(Candidates, bool)> {
        let mut found: Candidates = KVVec::new();
        for at in self.probe(hash) {
            match self.cells.get(at) {
                Some(&EMPTY) | None => break,
                Some(&c) if c != GONE && (c >> 32) as u32 == hash => {
                    let slot = (c as u32).wrapping_sub(1);
                    found.reserve(1, GFP_KERNEL)?;
                    let at = found.partition_point(|&other| other < slot);
                    found.insert_within_capacity(at, slot).map_err(|_| ENOMEM)?;
                }
                _ => {}
            }
        }
        Ok((found, self.complete))
    }

    /// The first slot at which `slots` free ones may begin.
    pub(crate) fn room(&self, slots: usize) -> u32 {
        self.rooms.get(slots).copied().unwrap_or(0)
    }

    /// Notes that the first `slots` free slots in a row, which began at `first`, are in use now.
    /// Up to `per_block` of them are looked for within a block, longer rows anywhere.
    pub(crate) fn took(&mut self, first: u32, slots: usize, per_block: usize) {
        let next = first.saturating_add(slots as u32);
        let alike = if slots <= per_block {
            per_block
        } else {
            MAX_SLOTS
        };
        for room in self.rooms.iter_mut().take(alike + 1).skip(slots) {
            *room = (*room).max(next);
        }
    }

    /// Notes that the slots from `first` on became free; with free ones before them they may make
    /// a longer row.
    pub(crate) fn gave(&mut self, first: u32) {
        let earliest = first.saturating_sub(MAX_SLOTS as u32);
        for room in &mut self.rooms {
            *room = (*room).min(earliest);
        }
    }
}
