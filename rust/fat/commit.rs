// SPDX-License-Identifier: GPL-2.0

//! The order in which changes reach the disk.
//!
//! Nothing on disk may point to what is not there yet, and nothing may be reused before all that
//! pointed to it is gone from disk. So changes of metadata wait here, in memory, and
//! [`Volume::commit`] writes them in steps, each waited for before the next:
//!
//! 1. new blocks of directories, and every changed FAT block, primary and mirrors together;
//! 2. directory blocks: names, starts, sizes;
//! 3. ends of chains that became shorter;
//! 4. freed clusters, which only now are free in the FAT and may be allocated again.
//!
//! A directory block that was changed stays *pinned*: its buffer is referenced and modified but
//! not marked dirty, so neither the flusher nor reclaim touches it before step 2. On a device with
//! a volatile write cache the cache is flushed between the steps.

use crate::ondisk::{Cluster, FatEntry};
use crate::vfs::{BufferHead, NofsScope, Plug};
use core::sync::atomic::Ordering;
use kernel::prelude::*;

use super::alloc::Run;
use super::table::Change;
use super::volume::Volume;

/// Pinned directory blocks above which a change makes its task commit.
const MAX_PINNED: usize = 8192;

/// A pinned directory block.
struct Pinned {
    bh: BufferHead,
    /// The FAT change that has to be on disk first.
    after: u64,
}

/// Changes that wait.
pub(crate) struct Pending {
    /// Blocks that nothing on disk refers to yet.
    new_blocks: KVVec<BufferHead>,
    /// Sorted by block number.
    pinned: KVVec<Pinned>,
    /// Clusters whose chain ends there now.
    ends: KVVec<Cluster>,
    /// Clusters to be freed.
    frees: KVVec<Run>,
}

impl Pending {
    /// Nothing waits.
    pub(crate) fn new() -> Self {
        Self {
            new_blocks: KVVec::new(),
            pinned: KVVec::new(),
            ends: KVVec::new(),
            frees: KVVec::new(),
        }
    }

    fn is_empty(&self) -> bool {
        self.new_blocks.is_empty()
            && self.pinned.is_empty()
            && self.ends.is_empty()
            && self.frees.is_empty()
    }

    /// Makes sure that the block is pinned.
    fn pin(&mut self, bh: &BufferHead, after: u64) -> Result {
        let block = bh.block();
        let at = self.pinned.partition_point(|p| p.bh.block() < block);
        if let Some(p) = self.pinned.get_mut(at).filter(|p| p.bh.block() == block) {
            p.after = p.after.max(after);
            return Ok(());
        }
        self.pinned.reserve(1, GFP_KERNEL)?;
        let new = Pinned {
            bh: bh.clone(),
            after,
        };
        self.pinned
            .insert_within_capacity(at, new)
            .map_err(|_| ENOMEM)
    }
}

/// Clusters in all of `runs`.
fn total(runs: &[Run]) -> u64 {
    runs.iter().map(|run| u64::from(run.len)).sum()
}

/// Step 1 for new blocks. The lock stays held: they are few, and none may be missed.
fn write_new(pending: &mut Pending) -> Result {
    BufferHead::sync_all(pending.new_blocks.iter())?;
    pending.new_blocks.clear();
    Ok(())
}

impl Volume {
    /// Changes a directory block. What `change` writes may depend on FAT changes up to `after`.
    pub(crate) fn change_block(
        &self,
        bh: &BufferHead,
        after: u64,
        change: impl FnOnce(&BufferHead) -> Result,
    ) -> Result {
        let _nofs = NofsScope::new();
        let mut pending = self.pending.lock();
        pending.pin(bh, after)?;
        // A write of the block that is under way must not pick up the change.
        bh.wait_io();
        self.commit_later();
        change(bh)
    }

    /// Registers blocks, zeroed or filled by the caller, that nothing on disk refers to yet.
    pub(crate) fn add_new_blocks(&self, blocks: KVVec<BufferHead>) -> Result {
        let _nofs = NofsScope::new();
        let mut pending = self.pending.lock();
        pending.new_blocks.reserve(blocks.len(), GFP_KERNEL)?;
        for bh in blocks {
            bh.mark_dirty();
            pending.new_blocks.push(bh, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Registers clusters that become free when the changes made so far are on disk; `end` is the
    /// cluster that then ends what is left of their chain.
    pub(crate) fn free_later(&self, end: Option<Cluster>, runs: &[Run]) -> Result {
        let _nofs = NofsScope::new();
        let mut pending = self.pending.lock();
        pending.ends.reserve(1, GFP_KERNEL)?;
        pending.frees.reserve(runs.len(), GFP_KERNEL)?;
        if let Some(end) = end {
            pending.ends.push(end, GFP_KERNEL)?;
            self.cuts.fetch_add(1, Ordering::Release);
        }
        for run in runs {
            pending.frees.push(*run, GFP_KERNEL)?;
        }
        self.pending_free.fetch_add(total(runs), Ordering::Relaxed);
        self.commit_later();
        Ok(())
    }

    /// Whether there are chains whose new end the FAT does not show yet.
    pub(crate) fn has_cuts(&self) -> bool {
        self.cuts.load(Ordering::Acquire) != 0
    }

    /// Whether so much waits that the task that adds to it should commit.
    pub(crate) fn should_commit(&self) -> bool {
        self.pending.lock().pinned.len() > MAX_PINNED
    }

    /// Whether anything waits to be written.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.lock().is_empty() || self.table.lock().is_dirty()
    }

    /// Writes everything that waits, in order. On return it is on disk; with `durable` none of it is
    /// in a volatile write cache any more. (The FAT blocks of freed clusters may still be dirty.)
    pub(crate) fn commit(&self, durable: bool) -> Result {
        let _nofs = NofsScope::new();
        let _one = self.commit.lock();
        self.commit_steps()?;
        if durable {
            self.disk.flush()?;
        }
        Ok(())
    }

    /// Like [`commit`](Self::commit), and the FAT blocks of freed clusters, too, which otherwise
    /// follow when there is more to write: nothing is left to be done.
    pub(crate) fn settle(&self) -> Result {
        let _nofs = NofsScope::new();
        let _one = self.commit.lock();
        self.commit_steps()?;
        self.sync_fat()?;
        self.disk.flush()
    }

    fn commit_steps(&self) -> Result {
        if !self.has_pending() {
            return Ok(());
        }
        self.write_new_blocks()?;
        let synced = self.sync_fat()?;
        self.barrier()?;
        let (ends, frees) = self.write_pinned(synced)?;
        let result = if ends.is_empty() && frees.is_empty() {
            Ok(())
        } else {
            self.barrier().and_then(|()| self.free_now(&ends, &frees))
        };
        self.cuts.fetch_sub(ends.len(), Ordering::Release);
        self.pending_free
            .fetch_sub(total(&frees), Ordering::Relaxed);
        if result.is_err() {
            // Lost until the next mount finds them; nothing else refers to them.
            self.warn(fmt!("freed clusters could not be written to the FAT"));
        }
        result
    }

    /// One flush between two steps, where the device could reorder them.
    fn barrier(&self) -> Result {
        if self.disk.has_write_cache() {
            self.disk.flush()?;
        }
        Ok(())
    }

    fn write_new_blocks(&self) -> Result {
        write_new(&mut self.pending.lock())
    }

    /// Step 2. Returns what can be freed after it.
    fn write_pinned(&self, mut synced: u64) -> Result<(KVVec<Cluster>, KVVec<Run>)> {
        let (pinned, ends, frees) = {
            let mut pending = self.pending.lock();
            // Changes that came in meanwhile may need more of the FAT; while the lock is held no
            // further ones come.
            let more = !pending.new_blocks.is_empty();
            if more || pending.pinned.iter().any(|p| p.after > synced) {
                write_new(&mut pending)?;
                synced = self.sync_fat()?;
                self.barrier()?;
            }
            let pinned = core::mem::replace(&mut pending.pinned, KVVec::new());
            Plug::run(|| {
                for p in pinned.iter().filter(|p| p.after <= synced) {
                    p.bh.mark_dirty();
                    p.bh.submit_write();
                }
            });
            (
                pinned,
                core::mem::replace(&mut pending.ends, KVVec::new()),
                core::mem::replace(&mut pending.frees, KVVec::new()),
            )
        };
        let result = pinned.iter().map(|p| p.bh.wait()).fold(Ok(()), Result::and);
        if let Err(e) = result {
            self.put_back(pinned, &ends, &frees);
            return Err(e);
        }
        Ok((ends, frees))
    }

    /// After a failed write: all waits again.
    fn put_back(&self, pinned: KVVec<Pinned>, ends: &[Cluster], frees: &[Run]) {
        let mut pending = self.pending.lock();
        for p in pinned {
            if pending.pin(&p.bh, p.after).is_err() {
                p.bh.mark_dirty();
            }
        }
        let ends = pending.ends.extend_from_slice(ends, GFP_KERNEL);
        let frees = pending.frees.extend_from_slice(frees, GFP_KERNEL);
        if ends.is_err() || frees.is_err() {
            self.warn(fmt!("freed clusters are lost until the volume is checked"));
        }
    }

    /// Steps 3 and 4.
    fn free_now(&self, ends: &[Cluster], frees: &[Run]) -> Result {
        if !ends.is_empty() {
            let mut changes = KVVec::with_capacity(ends.len(), GFP_KERNEL)?;
            for &first in ends {
                changes.push(
                    Change {
                        run: Run { first, len: 1 },
                        then: Some(FatEntry::End),
                    },
                    GFP_KERNEL,
                )?;
            }
            self.table.lock().apply(self, &changes)?;
            self.sync_fat()?;
            self.barrier()?;
        }
        if frees.is_empty() {
            return Ok(());
        }
        // Nothing refers to them any more, and nobody can allocate them yet.
        self.discard(frees);
        let mut changes = KVVec::with_capacity(frees.len(), GFP_KERNEL)?;
        for &run in frees {
            changes.push(Change { run, then: None }, GFP_KERNEL)?;
        }
        {
            let mut table = self.table.lock();
            table.apply(self, &changes)?;
            for run in frees {
                table.free.release(run);
            }
        }
        if self.disk.is_sync() {
            self.sync_fat()?;
        }
        Ok(())
    }

    /// Tells the device about freed clusters, with the mount option `discard`.
    fn discard(&self, runs: &[Run]) {
        if !self.options.discard {
            return;
        }
        for run in runs {
            let sector = self.geo.cluster_sector(run.first).get();
            let count = u64::from(run.len) * u64::from(self.geo.sectors_per_cluster());
            if self.disk.discard(sector, count).is_err() {
                return;
            }
        }
    }
}
