// SPDX-License-Identifier: GPL-2.0

//! Sets of numbers kept as sorted ranges.

use kernel::prelude::*;

/// A set of `u64`, stored as disjoint, non-adjacent ranges in ascending order.
#[derive(Default)]
pub(crate) struct RangeSet {
    ranges: KVVec<(u64, u64)>,
}

impl RangeSet {
    /// The empty set.
    pub(crate) const fn new() -> Self {
        Self {
            ranges: KVVec::new(),
        }
    }

    /// Makes room for `more` ranges, so that changes that add so many can't fail.
    pub(crate) fn reserve(&mut self, more: usize) -> Result {
        Ok(self.ranges.reserve(more, GFP_KERNEL)?)
    }

    /// The ranges, `start..end`, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.ranges.iter().copied()
    }

    /// The index of the first range that ends after `at`, or touches it if `touching`.
    fn first_ending(&self, at: u64, touching: bool) -> usize {
        self.ranges
            .partition_point(|&(_, end)| if touching { end < at } else { end <= at })
    }

    /// Replaces the ranges with index `from..to` by `with`. `ENOMEM`; the set is unchanged then.
    fn splice(&mut self, from: usize, to: usize, with: &[(u64, u64)]) -> Result {
        let removed = to - from;
        let old_len = self.ranges.len();
        let grow = with.len().saturating_sub(removed);
        self.ranges.reserve(grow, GFP_KERNEL)?;
        for _ in 0..grow {
            self.ranges.push((0, 0), GFP_KERNEL)?;
        }
        self.ranges.copy_within(to..old_len, from + with.len());
        if let Some(gap) = self.ranges.get_mut(from..from + with.len()) {
            gap.copy_from_slice(with);
        }
        self.ranges.truncate(old_len - removed + with.len());
        Ok(())
    }

    /// Adds `start..end`. `ENOMEM`; the set is unchanged then.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> Result {
        if start >= end {
            return Ok(());
        }
        // Appending is the common case.
        if let Some(last) = self.ranges.last_mut() {
            if last.1 == start {
                last.1 = end;
                return Ok(());
            }
        }
        let from = self.first_ending(start, true);
        let to = self.ranges.partition_point(|&(s, _)| s <= end);
        let (mut lo, mut hi) = (start, end);
        if let Some(&(s, _)) = self.ranges.get(from).filter(|_| from < to) {
            lo = lo.min(s);
        }
        if let Some(&(_, e)) = to.checked_sub(1).and_then(|i| self.ranges.get(i)) {
            if from < to {
                hi = hi.max(e);
            }
        }
        self.splice(from, to.max(from), &[(lo, hi)])
    }

    /// Takes `start..end` out. `ENOMEM` when that would split a range and there is no memory; the
    /// set is unchanged then.
    pub(crate) fn remove(&mut self, start: u64, end: u64) -> Result {
        if start >= end {
            return Ok(());
        }
        let from = self.first_ending(start, false);
        let to = self.ranges.partition_point(|&(s, _)| s < end);
        if from >= to {
            return Ok(());
        }
        let left = self.ranges.get(from).map(|&(s, _)| (s, start));
        let right = to
            .checked_sub(1)
            .and_then(|i| self.ranges.get(i))
            .map(|&(_, e)| (end, e));
        let mut keep = [(0, 0); 2];
        let mut n = 0;
        for piece in [left, right].into_iter().flatten() {
            if piece.0 < piece.1 {
                if let Some(slot) = keep.get_mut(n) {
                    *slot = piece;
                    n += 1;
                }
            }
        }
        self.splice(from, to, keep.get(..n).unwrap_or(&[]))
    }

    /// The first range that ends after `at`.
    pub(crate) fn next(&self, at: u64) -> Option<(u64, u64)> {
        self.ranges.get(self.first_ending(at, false)).copied()
    }

    /// Drops everything from `at` on. Never needs memory.
    pub(crate) fn truncate(&mut self, at: u64) {
        let keep = self.ranges.partition_point(|&(s, _)| s < at);
        self.ranges.truncate(keep);
        if let Some(last) = self.ranges.last_mut() {
            last.1 = last.1.min(at);
        }
    }
}
