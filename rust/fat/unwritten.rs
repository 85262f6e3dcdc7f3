// SPDX-License-Identifier: GPL-2.0

//! What of a file's space holds no data yet.
//!
//! Space that is new or that the file grew into without a write is *unwritten*: the disk holds old
//! bytes there. It reads as zero, and no size on disk covers it ([`Unwritten::first`]). It stays
//! so while its data is only in the page cache and while that is on its way; a write that fails
//! changes nothing. It ends when the data or zeros have arrived.

use kernel::prelude::*;

use super::range::RangeSet;

/// The unwritten ranges of a file, in bytes, whole blocks. Its lock is never held across I/O: the
/// end of writes needs it.
pub(crate) struct Unwritten {
    ranges: RangeSet,
    /// Parts whose data is on its way, one for each mapping that writeback asked for.
    writing: KVVec<(u64, u64)>,
}

/// What is to be done before a range is data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
    /// Nothing: it is.
    Done,
    /// These bytes need zeros.
    Zero(u64, u64),
    /// These bytes are on their way and have to be waited for.
    Wait(u64, u64),
}

impl Unwritten {
    /// All is written.
    pub(crate) const fn new() -> Self {
        Self {
            ranges: RangeSet::new(),
            writing: KVVec::new(),
        }
    }

    /// Adds `start..end`: space without data.
    pub(crate) fn add(&mut self, start: u64, end: u64) -> Result {
        self.reserve()?;
        self.ranges.insert(start, end)
    }

    /// Keeps room for the splits that ends of writes may cause.
    fn reserve(&mut self) -> Result {
        self.ranges.reserve(self.writing.len().saturating_add(2))
    }

    /// The first unwritten range that ends after `pos`.
    pub(crate) fn next(&self, pos: u64) -> Option<(u64, u64)> {
        self.ranges.next(pos)
    }

    /// The first unwritten byte.
    pub(crate) fn first(&self) -> Option<u64> {
        self.ranges.next(0).map(|(start, _)| start)
    }

    /// The data of `start..end`, which is unwritten, is sent to the device.
    pub(crate) fn write_begins(&mut self, start: u64, end: u64) -> Result {
        self.reserve()?;
        Ok(self.writing.push((start, end), GFP_KERNEL)?)
    }

    /// The writes that began at or after `start` and before `end` have ended, with `arrived` all on
    /// the device.
    pub(crate) fn write_ends(&mut self, start: u64, end: u64, arrived: bool) {
        let end = end.max(start.saturating_add(1));
        let mut done: Option<(u64, u64)> = None;
        self.writing.retain(|&mut (s, e)| {
            let ended = s >= start && s < end;
            if ended {
                let (lo, hi) = done.unwrap_or((s, e));
                done = Some((lo.min(s), hi.max(e)));
            }
            !ended
        });
        if let Some((s, e)) = done.filter(|_| arrived) {
            // Room for it was made when the write began.
            let _ = self.ranges.remove(s, e);
        }
        if self.writing.is_empty() {
            self.writing = KVVec::new();
        }
    }

    /// What comes first to make `from..to` data.
    pub(crate) fn fill(&self, from: u64, to: u64) -> Fill {
        let Some((start, end)) = self.ranges.next(from) else {
            return Fill::Done;
        };
        let (start, mut end) = (start.max(from), end.min(to));
        if start >= end {
            return Fill::Done;
        }
        for &(s, e) in &self.writing {
            if s <= start && start < e {
                return Fill::Wait(start, e.min(end));
            }
            if s > start {
                end = end.min(s);
            }
        }
        Fill::Zero(start, end)
    }

    /// Zeros are on the device in `start..end`. `ENOMEM`: they count as unwritten still.
    pub(crate) fn filled(&mut self, start: u64, end: u64) -> Result {
        self.reserve()?;
        self.ranges.remove(start, end)
    }

    /// Drops everything from `at` on; nothing of it is on its way.
    pub(crate) fn truncate(&mut self, at: u64) {
        self.ranges.truncate(at);
    }
}
