// SPDX-License-Identifier: GPL-2.0

//! Free space: which clusters are free, and handing them out as runs.
//!
//! The FAT is looked at in windows of [`WINDOW`] clusters. A window's free clusters are kept as a
//! bitmap from the first time it is needed, so no part of the FAT is searched twice.

use crate::ondisk::{fat, Cluster};
use kernel::prelude::*;

use super::volume::Volume;

/// Clusters in a window: 64 KiB of a FAT32, all of a FAT12.
const WINDOW: u32 = 16384;
const WORDS: usize = WINDOW as usize / 64;

/// Windows searched for a long run before a short one is taken.
const PATIENCE: u32 = 16;

/// A run shorter than this is passed over at first when more clusters are wanted.
const SHORT: u32 = 64;

/// Files that clusters are held for at a time.
const MAX_HELD: usize = 32;

/// At most this part of the free clusters is held for one file.
const HOLD_SHARE: u32 = 64;

/// `len` clusters with consecutive numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    /// The first of them.
    pub(crate) first: Cluster,
    /// How many, not zero.
    pub(crate) len: u32,
}

impl Run {
    /// The last cluster.
    pub(crate) fn last(&self) -> Cluster {
        self.first
            .checked_add(self.len.saturating_sub(1))
            .unwrap_or(self.first)
    }

    /// The number after the last cluster's.
    fn end(&self) -> u32 {
        self.first.get().saturating_add(self.len)
    }
}

/// The free clusters of one window; bit set: free.
struct Window {
    bits: [u64; WORDS],
    free: u32,
}

impl Window {
    /// Sets the bits of `start..end`; returns how many of them changed.
    fn set(&mut self, start: u32, end: u32, free: bool) -> u32 {
        let mut changed = 0;
        let mut at = start;
        while at < end {
            let next = ((at / 64 + 1) * 64).min(end);
            let mask = (u64::MAX >> (64 - (next - at))) << (at % 64);
            if let Some(word) = self.bits.get_mut(at as usize / 64) {
                let new = if free { *word | mask } else { *word & !mask };
                changed += (*word ^ new).count_ones();
                *word = new;
            }
            at = next;
        }
        self.free = if free {
            self.free + changed
        } else {
            self.free - changed
        };
        changed
    }

    /// The first index from `from` on whose bit is `free`.
    fn find(&self, from: u32, free: bool) -> Option<u32> {
        let mut index = from;
        while index < WINDOW {
            let word = self.bits.get(index as usize / 64)?;
            let word = (if free { *word } else { !*word }) >> (index % 64);
            if word != 0 {
                let found = index + word.trailing_zeros();
                return (found < WINDOW).then_some(found);
            }
            index = (index / 64 + 1) * 64;
        }
        None
    }
}

/// The free space of a volume.
pub(crate) struct FreeMap {
    windows: KVVec<Option<KBox<Window>>>,
    loaded: u32,
    /// Clusters of the volume.
    clusters: u32,
    /// Free clusters, if known.
    free: Option<u32>,
    /// Where to look first for a file's first cluster.
    next: u32,
    /// Free clusters behind files that are being written, the oldest first: others allocate them
    /// only if there is nothing else.
    held: KVVec<Run>,
}

impl FreeMap {
    /// A map about which nothing is known but, perhaps, what FSINFO says.
    pub(crate) fn new(max_cluster: u32, free: Option<u32>, next: Option<u32>) -> Result<Self> {
        let count = max_cluster / WINDOW + 1;
        let mut windows = KVVec::with_capacity(count as usize, GFP_KERNEL)?;
        for _ in 0..count {
            windows.push(None, GFP_KERNEL)?;
        }
        Ok(Self {
            windows,
            loaded: 0,
            clusters: max_cluster.saturating_sub(1),
            free,
            next: next.unwrap_or(2),
            held: KVVec::new(),
        })
    }

    /// Where the next search starts, for FSINFO.
    pub(crate) fn next(&self) -> u32 {
        self.next
    }

    /// Free clusters; reads what of the FAT has not been read.
    pub(crate) fn count(&mut self, vol: &Volume) -> Result<u32> {
        match self.free {
            Some(n) => Ok(n),
            None => self.recount(vol),
        }
    }

    /// Counts the free clusters by the FAT alone.
    fn recount(&mut self, vol: &Volume) -> Result<u32> {
        let mut free = 0u32;
        for index in 0..self.windows.len() {
            free = free.saturating_add(self.window(vol, index)?.free);
        }
        self.free = Some(free);
        Ok(free)
    }

    fn window(&mut self, vol: &Volume, index: usize) -> Result<&mut Window> {
        let slot = self.windows.get_mut(index).ok_or(EIO)?;
        if slot.is_none() {
            *slot = Some(load(vol, index as u32)?);
            self.loaded += 1;
            if self.loaded as usize == self.windows.len() {
                // All is known now: what FSINFO said no longer matters.
                let free = self.windows.iter().flatten().map(|w| w.free).sum();
                self.free = Some(free);
            }
        }
        match self.windows.get_mut(index) {
            Some(Some(window)) => Ok(window),
            _ => Err(EIO),
        }
    }

    /// The first run of free clusters at or after number `from`, at most `max` long. Runs do not
    /// go beyond a window.
    fn find(&mut self, vol: &Volume, from: u32, max: u32) -> Result<Option<Run>> {
        let mut from = from.max(2);
        while from <= vol.geo.max_cluster() {
            let (index, offset) = (from / WINDOW, from % WINDOW);
            let window = self.window(vol, index as usize)?;
            if window.free != 0 {
                if let Some(start) = window.find(offset, true) {
                    let end = window.find(start, false).unwrap_or(WINDOW);
                    let first = Cluster::new(index * WINDOW + start).ok_or(EIO)?;
                    let len = (end - start).min(max);
                    return Ok(Some(Run { first, len }));
                }
            }
            from = (index + 1) * WINDOW;
        }
        Ok(None)
    }

    fn mark(&mut self, run: &Run, free: bool) {
        // On a broken volume, two chains may have shared clusters that are freed twice.
        let mut changed = 0u32;
        let mut at = run.first.get();
        while at < run.end() {
            let index = at / WINDOW;
            let next = ((index + 1) * WINDOW).min(run.end());
            let base = index * WINDOW;
            match self.windows.get_mut(index as usize) {
                Some(Some(window)) => changed += window.set(at - base, next - base, free),
                // It could not be read: how many of these were free is not known.
                _ => self.free = None,
            }
            at = next;
        }
        if let Some(count) = &mut self.free {
            *count = if free {
                count.saturating_add(changed).min(self.clusters)
            } else {
                count.saturating_sub(changed)
            };
        }
    }

    /// Looks at the part of the FAT where the clusters are, before it changes: only so is it known
    /// which of them were free. What can't be read is left out, and the count is not known then.
    pub(crate) fn look(&mut self, vol: &Volume, run: &Run) {
        for index in run.first.get() / WINDOW..=run.last().get() / WINDOW {
            let _ = self.window(vol, index as usize);
        }
    }

    /// Notes that the clusters are free in the FAT.
    pub(crate) fn release(&mut self, run: &Run) {
        self.mark(run, true);
    }

    /// Takes `want` clusters, if possible right after `tail`, in as few runs as a bounded search
    /// finds, and holds the next `ahead` ones for who comes back with the last of them as tail.
    /// `ENOSPC`: there are not that many; nothing is taken then.
    pub(crate) fn take(
        &mut self,
        vol: &Volume,
        want: u32,
        tail: Option<Cluster>,
        ahead: u32,
    ) -> Result<KVVec<Run>> {
        if self.free.is_some_and(|free| free < want) && self.recount(vol)? < want {
            return Err(ENOSPC);
        }
        let mut runs = KVVec::new();
        let result = self.take_into(vol, want, tail, &mut runs);
        if let Err(e) = result {
            for run in &runs {
                self.mark(run, true);
            }
            return Err(e);
        }
        if let Some(last) = runs.last() {
            self.next = last.end();
            let ahead = ahead.min(self.free.unwrap_or(u32::MAX) / HOLD_SHARE);
            self.hold(last.last(), ahead);
        }
        Ok(runs)
    }

    /// Holds the `len` clusters behind `tail` for its file.
    fn hold(&mut self, tail: Cluster, len: u32) {
        let Some(first) = tail.checked_add(1).filter(|_| len > 0) else {
            return;
        };
        if self.held.len() >= MAX_HELD {
            // The oldest is the least likely to be asked for.
            let _ = self.held.remove(0);
        }
        // Without memory there is nothing held, and no harm done.
        let _ = self.held.push(Run { first, len }, GFP_KERNEL);
    }

    /// Holds nothing behind `tail` any more.
    pub(crate) fn let_go(&mut self, tail: Cluster) {
        let first = tail.checked_add(1);
        self.held.retain(|run| Some(run.first) != first);
    }

    /// What of a free run starting at `first` is not held: moves `first` out of held runs and cuts
    /// `len` before the next one. `None`: all of it is held.
    fn not_held(&self, run: Run) -> Option<Run> {
        let mut first = run.first.get();
        while let Some(held) = self
            .held
            .iter()
            .find(|h| h.first.get() <= first && first < h.end())
        {
            first = held.end();
        }
        let end = self
            .held
            .iter()
            .map(|h| h.first.get())
            .filter(|&start| start > first)
            .fold(run.end(), u32::min);
        Some(Run {
            first: Cluster::new(first)?,
            len: end.checked_sub(first).filter(|&len| len > 0)?,
        })
    }

    fn take_into(
        &mut self,
        vol: &Volume,
        want: u32,
        tail: Option<Cluster>,
        runs: &mut KVVec<Run>,
    ) -> Result {
        let mut left = want;
        let start = match tail {
            Some(tail) => {
                self.let_go(tail);
                let after = tail.get().saturating_add(1);
                if let Some(run) = self
                    .find(vol, after, left)?
                    .filter(|r| r.first.get() == after)
                {
                    left -= self.add(run, runs)?;
                }
                after
            }
            None => self.next,
        };
        let start = start.clamp(2, vol.geo.max_cluster());
        // First long runs, from `start` on, then any, but nothing that is held for others; then
        // whatever there is, from `start` on and round.
        let limit = start.saturating_add(WINDOW * PATIENCE);
        left = self.sweep(vol, (start, limit), left, left.min(SHORT), true, runs)?;
        left = self.sweep(vol, (start, limit), left, 1, true, runs)?;
        left = self.sweep(vol, (start, u32::MAX), left, 1, false, runs)?;
        left = self.sweep(vol, (2, start), left, 1, false, runs)?;
        if left == 0 {
            Ok(())
        } else {
            // The count was wrong.
            self.recount(vol)?;
            Err(ENOSPC)
        }
    }

    /// Takes runs of at least `min` clusters that start in `range.0..range.1`, with `spare` only
    /// such as are not held; returns what is still wanted.
    fn sweep(
        &mut self,
        vol: &Volume,
        range: (u32, u32),
        mut left: u32,
        min: u32,
        spare: bool,
        runs: &mut KVVec<Run>,
    ) -> Result<u32> {
        let mut from = range.0;
        while left > 0 && from < range.1 {
            let Some(free) = self.find(vol, from, u32::MAX)? else {
                break;
            };
            if free.first.get() >= range.1 {
                break;
            }
            let found = if spare {
                self.not_held(free)
            } else {
                Some(free)
            };
            from = found.map_or(free.end(), |found| found.end());
            if let Some(found) = found.filter(|found| found.len >= min.min(left)) {
                let run = Run {
                    first: found.first,
                    len: found.len.min(left),
                };
                left -= self.add(run, runs)?;
            }
        }
        Ok(left)
    }

    /// Takes `run`, merged with the one before where they touch; returns its length.
    fn add(&mut self, run: Run, runs: &mut KVVec<Run>) -> Result<u32> {
        match runs.last_mut() {
            Some(last) if last.end() == run.first.get() => last.len += run.len,
            _ => runs.push(run, GFP_KERNEL)?,
        }
        self.mark(&run, false);
        Ok(run.len)
    }
}

impl Volume {
    /// Discards free space in `start..start + len` bytes of the data area, in pieces of at least
    /// `min` bytes; returns the bytes discarded.
    pub(crate) fn trim(&self, start: u64, len: u64, min: u64) -> Result<u64> {
        let _nofs = crate::vfs::NofsScope::new();
        let bits = self.geo.cluster_bits();
        let clusters = u64::from(self.geo.clusters());
        let from = start >> bits;
        let to = (start.saturating_add(len) >> bits).min(clusters);
        if from >= clusters || len < 1 << bits {
            return Err(EINVAL);
        }
        let min = min.div_ceil(1 << bits).max(1);
        let mut at = u32::try_from(from + 2).map_err(|_| EINVAL)?;
        let end = u32::try_from(to + 2).map_err(|_| EINVAL)?;
        let mut trimmed = 0;
        while at < end {
            // The lock keeps the run free while the device drops it.
            let mut table = self.table.lock();
            let Some(run) = table.free.find(self, at, u32::MAX)? else {
                break;
            };
            let stop = run.end().min(end);
            let len = u64::from(stop.saturating_sub(run.first.get()));
            if len >= min {
                let sectors = len * u64::from(self.geo.sectors_per_cluster());
                self.disk
                    .discard(self.geo.cluster_sector(run.first).get(), sectors)?;
                trimmed += len << bits;
            }
            at = run.end();
        }
        Ok(trimmed)
    }
}

/// Reads a window's part of the FAT.
fn load(vol: &Volume, index: u32) -> Result<KBox<Window>> {
    let mut window = KBox::new(
        Window {
            bits: [0; WORDS],
            free: 0,
        },
        GFP_KERNEL,
    )?;
    let first = index * WINDOW;
    let last = first.saturating_add(WINDOW - 1).min(vol.geo.max_cluster());
    let ty = vol.geo.fat_type();
    let end = fat::number_byte_offset(ty, last).saturating_add(fat::entry_len(ty) as u64);
    vol.read_ahead_fat(fat::number_byte_offset(ty, first), end);
    let mut cursor = vol.disk.cursor();
    let mut buf = [0u8; 512];
    let mut number = first;
    while number <= last {
        let at = fat::number_byte_offset(ty, number);
        let len = (end - at).min(buf.len() as u64) as usize;
        let part = buf.get_mut(..len).ok_or(EIO)?;
        cursor.read(vol.fat_addr() + at, part)?;
        fat::for_each_entry(ty, number, part, |n, free| {
            let index = n % WINDOW;
            if let Some(word) = window.bits.get_mut(index as usize / 64) {
                *word |= u64::from(free) << (index % 64);
            }
        });
        number += fat::entries_in(ty, buf.len()) as u32;
    }
    if let Some(word) = window.bits.first_mut().filter(|_| index == 0) {
        // Entries 0 and 1 are no clusters'.
        *word &= !0b11;
    }
    window.free = window.bits.iter().map(|word| word.count_ones()).sum();
    Ok(window)
}
