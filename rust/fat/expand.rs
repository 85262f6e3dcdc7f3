// SPDX-License-Identifier: GPL-2.0

//! Making files longer and shorter.
//!
//! Space comes from [`preallocate`], any number of clusters in one call. Bytes that a file gains
//! without being written are [unwritten](super::unwritten), so growing a file costs nothing per
//! page. Before a size on disk covers them, [`fill_range`] writes the zeros, in requests as large
//! as the extents. What has been written by then is not zeroed.

use crate::ondisk::{Cluster, FatEntry};
use crate::vfs::{Inode, NofsScope};
use core::sync::atomic::Ordering;
use kernel::prelude::*;

use super::alloc::Run;
use super::chain::Chain;
use super::table::Change;
use super::unwritten::Fill;
use super::volume::Volume;
use super::{flush, node, Fat};

/// Bytes that are held behind a file that is being written, so that files written in turns do not
/// lie in alternating clusters.
const HOLD_BYTES: u64 = 1 << 20;

/// Makes the chain at least `clusters` long. All or nothing: on error chain, FAT and free count
/// are as before. The inode lock is held.
pub(crate) fn preallocate(inode: &Inode<Fat>, clusters: u32) -> Result {
    lengthen(inode, clusters, 0)
}

/// [`preallocate`] for a write up to byte `end`: clusters behind it are held for the next one.
pub(crate) fn preallocate_write(inode: &Inode<Fat>, end: u64) -> Result {
    let vol = inode.volume();
    lengthen(inode, vol.clusters_for(end), vol.clusters_for(HOLD_BYTES))?;
    if vol.should_commit() {
        vol.commit(false)?;
    }
    Ok(())
}

/// [`preallocate`], with the next `ahead` clusters held for the file.
fn lengthen(inode: &Inode<Fat>, clusters: u32, ahead: u32) -> Result {
    let vol = inode.volume();
    let _nofs = NofsScope::new();
    let mut chain = inode.node().chain.lock();
    let have = chain.len(vol)?;
    let Some(want) = clusters.checked_sub(have).filter(|&n| n > 0) else {
        return Ok(());
    };
    match extend(vol, &mut chain, want, ahead) {
        Err(e) if e == ENOSPC && vol.has_pending() => {
            // Clusters that are being freed may be enough.
            vol.commit(false)?;
            extend(vol, &mut chain, want, ahead)?;
        }
        result => result?,
    }
    node::set_blocks(inode, clusters);
    Ok(())
}

/// Like [`preallocate_write`], but on a full volume takes what is left: at least up to byte `pos`,
/// for a write that can be short.
pub(crate) fn preallocate_some(inode: &Inode<Fat>, pos: u64, end: u64) -> Result {
    let vol = inode.volume();
    match preallocate_write(inode, end) {
        Err(e) if e == ENOSPC => {
            let (have, free) = {
                let _nofs = NofsScope::new();
                let have = inode.node().chain.lock().len(vol)?;
                (have, vol.table.lock().free.count(vol)?)
            };
            let most = have.saturating_add(free).min(vol.clusters_for(end));
            if most < vol.clusters_for(pos.saturating_add(1)) {
                return Err(ENOSPC);
            }
            preallocate(inode, most)
        }
        result => result,
    }
}

/// Adds `want` clusters to a chain whose end is known.
fn extend(vol: &Volume, chain: &mut Chain, want: u32, ahead: u32) -> Result {
    let runs = take(vol, chain, want, ahead)?;
    link(vol, chain, &runs)
}

/// Allocates `want` clusters, if possible behind the chain's tail, and holds the next `ahead` ones
/// for it. Nothing refers to them yet.
pub(crate) fn take(vol: &Volume, chain: &mut Chain, want: u32, ahead: u32) -> Result<KVVec<Run>> {
    if chain.cut {
        // The old end of the chain must be on disk before the new one.
        vol.commit(false)?;
        chain.cut = false;
    }
    let tail = chain.tail(vol)?;
    vol.table.lock().free.take(vol, want, tail, ahead)
}

/// The file is not written any more for now: what is held behind it is for everybody.
pub(crate) fn let_go(inode: &Inode<Fat>) {
    let tail = inode.node().chain.lock().known_tail();
    if let Some(tail) = tail {
        inode.volume().table.lock().free.let_go(tail);
    }
}

/// Gives back clusters that [`take`] returned and that were not linked.
pub(crate) fn give_back(vol: &Volume, runs: &[Run]) {
    let mut table = vol.table.lock();
    for run in runs {
        table.free.release(run);
    }
}

/// Links the runs behind the chain's tail. On error they are free again.
pub(crate) fn link(vol: &Volume, chain: &mut Chain, runs: &[Run]) -> Result {
    let result = try_link(vol, chain, runs);
    if result.is_err() {
        give_back(vol, runs);
    }
    result
}

fn try_link(vol: &Volume, chain: &mut Chain, runs: &[Run]) -> Result {
    let tail = chain.tail(vol)?.map(|first| Run { first, len: 1 });
    chain.reserve(runs.len())?;
    // The link from the tail must not reach the disk before what it leads to: either one block
    // holds it all, or the link is made later.
    let one_block = Iterator::chain(tail.iter(), runs)
        .map(|run| vol.fat_blocks(run))
        .try_fold(None, |block, (start, end)| {
            let same = block.is_none_or(|block| block == start) && end == start + 1;
            same.then_some(Some(start))
        })
        .is_some();
    let changes = link_changes(tail, runs)?;
    {
        let mut table = vol.table.lock();
        // A tail that is itself on its way to the disk only with what is added now is a part of
        // that: nothing on disk leads to it yet.
        if tail.is_none() || one_block || chain.seq > table.started {
            table.apply(vol, &changes)?;
            return chain.append(runs, table.seq);
        }
    }
    let (start, next) = (chain.start().ok_or(EIO)?, runs.first().ok_or(EIO)?.first);
    let link = (start, tail.ok_or(EIO)?.first);
    let seq = vol.link_later(link, next, changes.get(1..).ok_or(EIO)?)?;
    chain.append(runs, seq)
}

/// The changes that chain `runs` to one another behind `tail`, the tail's own change first.
fn link_changes(tail: Option<Run>, runs: &[Run]) -> Result<KVVec<Change>> {
    let mut changes = KVVec::with_capacity(runs.len() + 1, GFP_KERNEL)?;
    let mut nexts = runs.iter().skip(usize::from(tail.is_none()));
    for run in Iterator::chain(tail.iter(), runs) {
        let then = Some(match nexts.next() {
            Some(next) => FatEntry::Next(next.first),
            None => FatEntry::End,
        });
        changes.push(Change { run: *run, then }, GFP_KERNEL)?;
    }
    Ok(changes)
}

/// Clusters in the chain of a file.
pub(crate) fn chain_len(inode: &Inode<Fat>) -> Result<u32> {
    let _nofs = NofsScope::new();
    inode.node().chain.lock().len(inode.volume())
}

/// Makes sure that there is space for the first `end` bytes of a file, whatever its size. On a
/// sync mount chain and entry are on disk on return. On failure nothing has changed. The inode lock
/// is held.
pub(crate) fn keep_size(inode: &Inode<Fat>, end: u64) -> Result {
    let before = chain_len(inode)?;
    preallocate(inode, inode.volume().clusters_for(end))?;
    inode.mark_dirty();
    if inode.is_sync() {
        flush::sync_inode(inode).inspect_err(|_| take_back(inode, inode.size(), before))?;
    }
    Ok(())
}

/// Makes a file longer: `size` is more than its size now. On a sync mount zeros, chain and entry
/// are on disk on return. On failure nothing has changed. The inode lock is held.
pub(crate) fn cont_expand(inode: &Inode<Fat>, size: u64) -> Result {
    inode.newsize_ok(size)?;
    let old = inode.size();
    let before = chain_len(inode)?;
    preallocate(inode, inode.volume().clusters_for(size))?;
    let done = grow(inode, old, size).and_then(|()| {
        if inode.is_sync() {
            flush::sync_inode(inode)
        } else {
            Ok(())
        }
    });
    done.inspect_err(|_| take_back(inode, old, before))
}

/// After a change that failed: the file has `size` bytes, as before it, and gives back what it has
/// more than `before` clusters. What was preallocated before stays.
///
/// The invalidate lock keeps page faults away meanwhile, and dropping the pages waits for
/// writeback, so nothing maps blocks that are being freed.
pub(crate) fn take_back(inode: &Inode<Fat>, size: u64, before: u32) {
    let vol = inode.volume();
    let keep = before.max(vol.clusters_for(size));
    let _faults = inode.invalidate_lock();
    if size < inode.size() {
        inode.truncate_setsize(size);
    } else {
        inode.truncate_pagecache(size);
    }
    forget_unwritten(inode, vol.round_up(size));
    let undone = cut(inode, keep).and_then(|cut| {
        // The entry in memory may claim the new size, though it did not get to the disk. One that
        // can't even be read claims what it did before.
        match node::shrink_entry(inode, keep) {
            Err(e) if node::has_entry_in_memory(inode) => Err(e),
            _ => cut.free(inode),
        }
    });
    inode.mark_dirty();
    if undone.is_err() {
        vol.warn(fmt!("space of a change that failed could not be freed"));
    }
}

/// Moves the size from `old` to `size`; the space is there.
fn grow(inode: &Inode<Fat>, old: u64, size: u64) -> Result {
    let vol = inode.volume();
    // What lies behind the old end in its block may be anything.
    let edge = vol.round_up(old);
    if edge > old {
        inode.zero_range(old, edge - old)?;
    }
    add_unwritten(inode, edge, vol.round_up(size))?;
    inode.set_size(size);
    inode.pagecache_extended(old, size);
    node::set_archive(inode);
    node::set_mtime(inode, inode.current_time());
    inode.mark_dirty();
    Ok(())
}

/// Notes that `start..end`, whole blocks, is space without data.
pub(crate) fn add_unwritten(inode: &Inode<Fat>, start: u64, end: u64) -> Result {
    let _nofs = NofsScope::new();
    inode.node().unwritten.lock().add(start, end)?;
    inode.node().layout.fetch_add(1, Ordering::Release);
    Ok(())
}

/// Writes zeros to what was not written in `from..to` bytes. Data that is on its way there is
/// waited for. A folio lock must not be held.
pub(crate) fn fill_range(inode: &Inode<Fat>, from: u64, to: u64) -> Result {
    let vol = inode.volume();
    // Unwritten ranges are whole blocks.
    let from = from & !(vol.block_bytes() - 1);
    let to = vol.round_up(to);
    loop {
        match fill_some(inode, from, to)? {
            Fill::Done => return Ok(()),
            Fill::Zero(..) => (),
            // A write that failed leaves the range as it was: it is zeroed next.
            Fill::Wait(start, end) => inode.wait_for_data(start, end),
        }
    }
}

/// Writes zeros to the first part of `from..to` that needs them; returns what was to be done. The
/// chain stays locked, so that no writeback sends data there before the zeros have arrived.
fn fill_some(inode: &Inode<Fat>, from: u64, to: u64) -> Result<Fill> {
    let vol = inode.volume();
    let _nofs = NofsScope::new();
    let mut chain = inode.node().chain.lock();
    let todo = inode.node().unwritten.lock().fill(from, to);
    if let Fill::Zero(start, end) = todo {
        let end = zero_some(vol, &mut chain, start, end)?;
        inode.node().unwritten.lock().filled(start, end)?;
        inode.node().layout.fetch_add(1, Ordering::Release);
    }
    Ok(todo)
}

/// Zeroes from `start` to `end` or to the end of the extent; returns how far it got.
fn zero_some(vol: &Volume, chain: &mut Chain, start: u64, end: u64) -> Result<u64> {
    let (addr, len) = locate(vol, chain, start)?.ok_or(EIO)?;
    let len = len.min(end - start);
    let bits = vol.geo.sector_bits();
    vol.disk.zero_out(addr >> bits, len >> bits)?;
    Ok(start + len)
}

/// The place of byte `pos` on the device and the bytes that follow it there. `None`: no cluster.
pub(crate) fn locate(vol: &Volume, chain: &mut Chain, pos: u64) -> Result<Option<(u64, u64)>> {
    let bits = vol.geo.cluster_bits();
    let index = u32::try_from(pos >> bits).map_err(|_| EFBIG)?;
    let offset = pos & (u64::from(vol.geo.cluster_bytes()) - 1);
    Ok(chain.find(vol, index)?.map(|found| {
        (
            vol.cluster_addr(found.cluster) + offset,
            (u64::from(found.run) << bits) - offset,
        )
    }))
}

/// Makes a file shorter: `size` is at most its size now. The inode lock and the mapping's
/// invalidate lock are held.
pub(crate) fn truncate(inode: &Inode<Fat>, size: u64) -> Result {
    let vol = inode.volume();
    let edge = vol.round_up(size);
    if edge > size {
        inode.zero_range(size, edge.min(inode.size()) - size)?;
    }
    inode.truncate_setsize(size);
    forget_unwritten(inode, edge);
    release(inode, vol.clusters_for(size))?;
    inode.mark_dirty();
    Ok(())
}

/// What lies behind byte `edge`, a block's start, is no longer part of the file.
pub(crate) fn forget_unwritten(inode: &Inode<Fat>, edge: u64) {
    inode.node().unwritten.lock().truncate(edge);
    inode.node().layout.fetch_add(1, Ordering::Release);
}

/// Cuts the chain after `keep` clusters. The entry on disk gives up its claim before they are free.
pub(crate) fn release(inode: &Inode<Fat>, keep: u32) -> Result {
    if chain_len(inode)? <= keep {
        return Ok(());
    }
    let cut = cut(inode, keep)?;
    node::shrink_entry(inode, keep)?;
    cut.free(inode)
}

/// Makes a directory `keep` clusters long; nothing is in those behind them. The inode lock is held.
pub(crate) fn shorten_dir(dir: &Inode<Fat>, keep: u32) -> Result {
    cut(dir, keep)?.free(dir)?;
    dir.set_size(u64::from(keep) << dir.volume().geo.cluster_bits());
    Ok(())
}

/// What was cut off a chain.
struct Cut {
    /// The chain's start, and its new end.
    end: Option<(Cluster, Cluster)>,
    gone: KVVec<Run>,
}

impl Cut {
    /// Frees it, once the entry does not claim it any more.
    fn free(self, inode: &Inode<Fat>) -> Result {
        if self.gone.is_empty() {
            return Ok(());
        }
        inode.volume().free_later(self.end, &self.gone)
    }
}

/// Cuts the chain in memory after `keep` clusters.
fn cut(inode: &Inode<Fat>, keep: u32) -> Result<Cut> {
    let vol = inode.volume();
    let _nofs = NofsScope::new();
    let mut chain = inode.node().chain.lock();
    if chain.len(vol)? <= keep {
        return Ok(Cut {
            end: None,
            gone: KVVec::new(),
        });
    }
    let (end, gone) = chain.cut(vol, keep)?;
    let end = chain.start().zip(end);
    chain.cut = end.is_some();
    inode.node().layout.fetch_add(1, Ordering::Release);
    drop(chain);
    node::set_blocks(inode, keep);
    Ok(Cut { end, gone })
}

/// Gives back the clusters that were allocated beyond the end of the file.
pub(crate) fn release_beyond_size(inode: &Inode<Fat>) -> Result {
    let vol = inode.volume();
    let keep = vol.clusters_for(inode.size());
    let known = inode.node().chain.lock().known_len();
    match known {
        Some(len) if len > keep => release(inode, keep),
        _ => Ok(()),
    }
}
