// SPDX-License-Identifier: GPL-2.0

//! The order in which changes reach the disk.
//!
//! Nothing on disk may point to what is not there yet, and nothing may be reused before all that
//! pointed to it is gone from disk. So changes of metadata wait here, in memory, and
//! [`Volume::commit`] writes them in steps, each waited for before the next:
//!
//! 1. new blocks of directories, and every changed FAT block, primary and mirrors together;
//! 2. links from the old ends of chains to what was added, where one write could not do both;
//! 3. directory blocks: names, starts, sizes;
//! 4. ends of chains that became shorter;
//! 5. freed clusters, which only now are free in the FAT and may be allocated again.
//!
//! A directory block that was changed stays *pinned*: its buffer is referenced and modified but
//! not marked dirty, so neither the flusher nor reclaim touches it before step 3. On a device with
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

/// What one entry of a chain will be: the FAT does not show it yet.
struct Loose {
    /// The start of the chain.
    chain: Cluster,
    /// The entry.
    at: Cluster,
    then: FatEntry,
}

/// Changes that wait.
pub(crate) struct Pending {
    /// Blocks that nothing on disk refers to yet.
    new_blocks: KVVec<BufferHead>,
    /// Former ends of chains that go on.
    links: KVVec<Loose>,
    /// Sorted by block number.
    pinned: KVVec<Pinned>,
    /// New ends of chains.
    ends: KVVec<Loose>,
    /// Clusters to be freed.
    frees: KVVec<Run>,
    /// How many of `ends` and of `frees` only waited for blocks that are on disk now.
    ready: (usize, usize),
}

impl Pending {
    /// Nothing waits.
    pub(crate) fn new() -> Self {
        Self {
            new_blocks: KVVec::new(),
            links: KVVec::new(),
            pinned: KVVec::new(),
            ends: KVVec::new(),
            frees: KVVec::new(),
            ready: (0, 0),
        }
    }

    fn is_empty(&self) -> bool {
        self.new_blocks.is_empty()
            && self.links.is_empty()
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

/// The first entries of a list are in the FAT now.
fn settled(list: &mut KVVec<Loose>, count: usize) {
    let mut index = 0;
    list.retain(|_| {
        index += 1;
        index > count
    });
}

/// The changes of the FAT that a list stands for.
fn changes(list: &[Loose]) -> Result<KVVec<Change>> {
    let mut changes = KVVec::with_capacity(list.len(), GFP_KERNEL)?;
    for loose in list {
        let run = Run {
            first: loose.at,
            len: 1,
        };
        let then = Some(loose.then);
        changes.push(Change { run, then }, GFP_KERNEL)?;
    }
    Ok(changes)
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
            pending.new_blocks.push(bh, GFP_KERNEL)?;
        }
        Ok(())
    }

    /// Changes the FAT and, when that is on disk, has the chain that starts at `chain` go on behind
    /// `tail` with `next`. Returns the number of the change. On error nothing has changed.
    pub(crate) fn link_later(
        &self,
        (chain, tail): (Cluster, Cluster),
        next: Cluster,
        changes: &[Change],
    ) -> Result<u64> {
        let mut pending = self.pending.lock();
        pending.links.reserve(1, GFP_KERNEL)?;
        let seq = {
            let mut table = self.table.lock();
            table.apply(self, changes)?;
            table.seq
        };
        let link = Loose {
            chain,
            at: tail,
            then: FatEntry::Next(next),
        };
        pending.links.push(link, GFP_KERNEL)?;
        self.loose.fetch_add(1, Ordering::Release);
        self.commit_later();
        Ok(seq)
    }

    /// Registers clusters that become free when the changes made so far are on disk; `end` is the
    /// start of their chain and the cluster that then ends what is left of it.
    pub(crate) fn free_later(&self, end: Option<(Cluster, Cluster)>, runs: &[Run]) -> Result {
        let _nofs = NofsScope::new();
        let mut pending = self.pending.lock();
        pending.ends.reserve(1, GFP_KERNEL)?;
        pending.frees.reserve(runs.len(), GFP_KERNEL)?;
        if let Some((chain, at)) = end {
            let then = FatEntry::End;
            pending.ends.push(Loose { chain, at, then }, GFP_KERNEL)?;
            self.loose.fetch_add(1, Ordering::Release);
        }
        for run in runs {
            pending.frees.push(*run, GFP_KERNEL)?;
        }
        self.pending_free.fetch_add(total(runs), Ordering::Relaxed);
        self.commit_later();
        Ok(())
    }

    /// Whether the FAT does not show yet how the chain that starts at `chain` goes on, or where it
    /// ends.
    pub(crate) fn is_loose(&self, chain: Cluster) -> bool {
        if self.loose.load(Ordering::Acquire) == 0 {
            return false;
        }
        let pending = self.pending.lock();
        Iterator::chain(pending.links.iter(), pending.ends.iter()).any(|l| l.chain == chain)
    }

    /// The number of the commit that will write what is changed now, or of an earlier one.
    pub(crate) fn next_commit(&self) -> u64 {
        self.commits.load(Ordering::Acquire)
    }

    /// Whether so much waits that the task that adds to it should commit.
    pub(crate) fn should_commit(&self) -> bool {
        self.pending.lock().pinned.len() > MAX_PINNED || self.table.lock().is_large()
    }

    /// Whether anything waits to be written.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.lock().is_empty() || self.table.lock().is_dirty()
    }

    /// Writes everything that waits, in order. On return it is on disk; with `durable` none of it
    /// is in a volatile write cache any more. (The FAT blocks of freed clusters may still be
    /// dirty.)
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
        // Those that are registered by now go on to clusters that are written in step 1.
        let (links, count) = {
            let mut pending = self.pending.lock();
            write_new(&mut pending)?;
            (changes(&pending.links)?, pending.links.len())
        };
        let synced = self.sync_fat()?;
        self.barrier()?;
        let linked = self.change_fat(&links)?;
        self.settle_loose(count, |pending| &mut pending.links);
        self.write_pinned(synced.max(linked))?;
        self.write_ends()?;
        self.free_pending()
    }

    /// Changes the FAT and has that on disk. Returns up to which change it is there.
    fn change_fat(&self, changes: &[Change]) -> Result<u64> {
        if changes.is_empty() {
            return Ok(0);
        }
        self.table.lock().apply(self, changes)?;
        let synced = self.sync_fat()?;
        self.barrier()?;
        Ok(synced)
    }

    /// The FAT shows the first `count` entries of a list now.
    fn settle_loose(&self, count: usize, list: impl FnOnce(&mut Pending) -> &mut KVVec<Loose>) {
        settled(list(&mut self.pending.lock()), count);
        self.loose.fetch_sub(count, Ordering::Release);
    }

    /// One flush between two steps, where the device could reorder them.
    fn barrier(&self) -> Result {
        self.disk.flush()
    }

    /// Step 3. What follows it depends on what was registered before.
    fn write_pinned(&self, mut synced: u64) -> Result {
        let pinned = {
            let mut pending = self.pending.lock();
            // Changes that came in meanwhile may need more of the FAT; while the lock is held no
            // further ones come.
            let more = !pending.new_blocks.is_empty() || !pending.links.is_empty();
            if more || pending.pinned.iter().any(|p| p.after > synced) {
                write_new(&mut pending)?;
                synced = self.sync_fat()?;
                self.barrier()?;
                let count = pending.links.len();
                synced = synced.max(self.change_fat(&changes(&pending.links)?)?);
                settled(&mut pending.links, count);
                self.loose.fetch_sub(count, Ordering::Release);
            }
            let pinned = core::mem::replace(&mut pending.pinned, KVVec::new());
            self.commits.fetch_add(1, Ordering::Release);
            Plug::run(|| {
                for p in pinned.iter().filter(|p| p.after <= synced) {
                    p.bh.submit_write();
                }
            });
            // From here on there may be ends and frees that depend on later changes of blocks.
            pending.ready = (pending.ends.len(), pending.frees.len());
            pinned
        };
        let result = pinned.iter().map(|p| p.bh.wait()).fold(Ok(()), Result::and);
        if result.is_err() {
            self.pin_again(pinned);
        }
        result
    }

    /// After a failed write: all blocks wait again.
    fn pin_again(&self, pinned: KVVec<Pinned>) {
        let mut pending = self.pending.lock();
        pending.ready = (0, 0);
        for p in pinned {
            if pending.pin(&p.bh, p.after).is_err() {
                // The flusher may still get it to the disk.
                p.bh.submit_write();
            }
        }
    }

    /// Step 4.
    fn write_ends(&self) -> Result {
        let (ends, count) = {
            let pending = self.pending.lock();
            let count = pending.ready.0;
            if pending.ready == (0, 0) {
                return Ok(());
            }
            (changes(pending.ends.get(..count).unwrap_or(&[]))?, count)
        };
        self.barrier()?;
        self.change_fat(&ends)?;
        self.settle_loose(count, |pending| &mut pending.ends);
        Ok(())
    }

    /// Step 5.
    fn free_pending(&self) -> Result {
        let frees = {
            let mut pending = self.pending.lock();
            let (_, count) = core::mem::take(&mut pending.ready);
            let mut later = KVVec::new();
            later.extend_from_slice(pending.frees.get(count..).unwrap_or(&[]), GFP_KERNEL)?;
            let mut frees = core::mem::replace(&mut pending.frees, later);
            frees.truncate(count);
            frees
        };
        let freed = self.free_now(&frees);
        if freed.is_err() {
            let mut pending = self.pending.lock();
            if pending.frees.extend_from_slice(&frees, GFP_KERNEL).is_err() {
                self.warn(fmt!("freed clusters are lost until the volume is checked"));
            }
            return freed;
        }
        self.pending_free
            .fetch_sub(total(&frees), Ordering::Relaxed);
        if self.disk.is_sync() && !frees.is_empty() {
            self.sync_fat()?;
        }
        Ok(())
    }

    /// Makes clusters free in the FAT in memory. Nothing refers to them any more, and nobody can
    /// allocate them yet.
    fn free_now(&self, frees: &[Run]) -> Result {
        if frees.is_empty() {
            return Ok(());
        }
        self.discard(frees);
        let mut changes = KVVec::with_capacity(frees.len(), GFP_KERNEL)?;
        for &run in frees {
            changes.push(Change { run, then: None }, GFP_KERNEL)?;
        }
        let mut table = self.table.lock();
        for run in frees {
            table.free.look(self, run);
        }
        table.apply(self, &changes)?;
        for run in frees {
            table.free.release(run);
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
