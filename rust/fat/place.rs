// SPDX-License-Identifier: GPL-2.0

//! Adding an entry to a directory: finding room for it, and making some.
//!
//! One block is what reaches the disk whole. So an entry is placed within one block where that can
//! be done; what is left free at a block's end serves for shorter names. An entry that spans blocks
//! gets its 8.3 slot last: a power cut leaves slots that mean nothing, not a file with half a name.

use crate::ondisk::{Cluster, SlotKind, DIRENT_SIZE};
use crate::vfs::{BufferHead, Inode, NofsScope};
use core::sync::atomic::Ordering;
use kernel::prelude::*;

use super::dir::{self, write_slots, DirReader, Location, MAX_DIR_BYTES, SLOT};
use super::find::{self, slot_number};
use super::namei::Slots;
use super::node::is_root;
use super::{expand, Fat};

/// Room for an entry.
struct Room {
    /// The byte where it starts.
    first: u64,
    /// Slots that are there; the rest have to be made.
    have: u64,
    /// The end mark, if it is among them or before them.
    end_mark: Option<u64>,
}

/// Finds the first place from byte `from` on with `want` free slots in a row, or the free ones at
/// the end. With `whole`, none that lies in two blocks; `None` if there is only such room.
fn find_room(
    reader: &mut DirReader<'_>,
    from: u64,
    want: u64,
    whole: Option<u64>,
) -> Result<Option<Room>> {
    let mut room = Room {
        first: 0,
        have: 0,
        end_mark: None,
    };
    let mut at = from;
    while room.have < want {
        if whole.is_some_and(|block| at % block == 0) {
            room.have = 0;
        }
        let Some(kind) = reader.slot(at)?.map(|slot| slot.kind()) else {
            break;
        };
        let ends = matches!(kind, SlotKind::End);
        if room.end_mark.is_some() && room.have == 0 && !ends {
            // The end mark is in the block before, so only `whole` comes here. What is behind the
            // mark may be anything; it would have to be cleared before the mark is moved.
            return Ok(None);
        }
        // Everything behind the end mark is free, whatever it holds.
        if room.end_mark.is_some() || ends || matches!(kind, SlotKind::Deleted) {
            if room.have == 0 {
                room.first = at;
            }
            room.have += 1;
            if ends {
                room.end_mark.get_or_insert(at);
            }
        } else {
            room.have = 0;
        }
        at += SLOT;
    }
    if room.have == 0 {
        room.first = at;
    }
    Ok(Some(room))
}

/// Finds room for `count` slots within one block. `None`: there is none, nor can there be.
fn find_whole(dir: &Inode<Fat>, count: usize) -> Result<Option<Room>> {
    let block = dir.volume().block_bytes();
    let want = count as u64;
    if want * SLOT > block {
        return Ok(None);
    }
    let from = u64::from(find::with_index(dir, |index| index.room(count))?) * SLOT;
    find_room(&mut DirReader::new(dir), from, want, Some(block))
}

/// Finds room for `count` slots that may lie in two or three blocks.
fn find_anywhere(dir: &Inode<Fat>, count: usize) -> Result<Room> {
    let want = count as u64;
    // Where one block could hold the slots, the index knows of such room only.
    let from = if want * SLOT > dir.volume().block_bytes() {
        u64::from(find::with_index(dir, |index| index.room(count))?) * SLOT
    } else {
        0
    };
    find_room(&mut DirReader::new(dir), from, want, None)?.ok_or(EIO)
}

/// Whether there is room for `count` slots without making the directory longer. The inode lock is
/// held.
pub(crate) fn fits(dir: &Inode<Fat>, count: usize) -> Result<bool> {
    let want = count as u64;
    if find_whole(dir, count)?.is_some_and(|room| room.have >= want) {
        return Ok(true);
    }
    Ok(find_anywhere(dir, count)?.have >= want)
}

/// Adds an entry, its slots in disk order. What it refers to needs the FAT up to change `after`.
/// On error nothing has changed; `ENOSPC`. The inode lock is held.
pub(crate) fn add(dir: &Inode<Fat>, slots: &Slots, after: u64) -> Result<Location> {
    dir.node().grown_from.store(0, Ordering::Relaxed);
    try_add(dir, slots, after).inspect_err(|_| undo_growth(dir))
}

/// The entry that was added last is gone, and so is what the directory got for it. The inode lock
/// was held all the time.
pub(crate) fn undo_growth(dir: &Inode<Fat>) {
    let keep = dir.node().grown_from.swap(0, Ordering::Relaxed);
    if keep > 0 && expand::shorten_dir(dir, keep).is_err() {
        dir.volume()
            .warn(fmt!("a directory stays longer than it has to be"));
    }
}

fn try_add(dir: &Inode<Fat>, slots: &Slots, after: u64) -> Result<Location> {
    let count = slots.list.len();
    let want = count as u64;
    if let Some(room) = find_whole(dir, count)? {
        match extend(dir, &room, want) {
            // What is free may still do, in two blocks.
            Err(e) if e == ENOSPC => {}
            result => return result.and_then(|()| fill(dir, &room, slots, after)),
        }
    }
    let room = find_anywhere(dir, count)?;
    extend(dir, &room, want)?;
    fill(dir, &room, slots, after)
}

/// Makes the slots of `room` that are not there yet.
fn extend(dir: &Inode<Fat>, room: &Room, want: u64) -> Result {
    if room.have < want {
        let end = room.first + room.have * SLOT;
        grow(dir, end, (want - room.have) * SLOT)?;
    }
    Ok(())
}

/// Puts an entry into its room.
fn fill(dir: &Inode<Fat>, room: &Room, slots: &Slots, after: u64) -> Result<Location> {
    let vol = dir.volume();
    let mut reader = DirReader::new(dir);
    let want = slots.list.len() as u64;
    let end = room.first + want * SLOT;
    let block_of = |at: u64| at >> vol.geo.sector_bits();
    // If the name was removed from another block, that has to be on disk first: never one name for
    // two files.
    let commit = vol.next_commit();
    let reused = find::with_index(dir, |index| {
        let elsewhere = |slot| block_of(u64::from(slot) * SLOT) != block_of(end - SLOT);
        let mut hashes = slots.hashes.iter();
        hashes.any(|&hash| index.was_removed(hash, commit, elsewhere))
    })?;
    if reused {
        vol.commit(false)?;
    }
    if let Some(mark) = room.end_mark {
        // The end mark moves behind the new entry, if there is anything behind it.
        if let Some(slot) = reader.slot(end)? {
            if !matches!(slot.kind(), SlotKind::End) {
                write_slots(&mut reader, end, &[[0; DIRENT_SIZE]], after)?;
                if block_of(end) != block_of(end - SLOT) {
                    vol.commit(false)?;
                }
            }
        }
        for at in (mark..room.first).step_by(DIRENT_SIZE) {
            let (bh, offset) = reader.place(at)?.ok_or(EIO)?;
            vol.change_block(bh, 0, |bh| bh.write(offset, &[dir::DELETED]))?;
        }
    }
    // The slots before the last one's block.
    let last = block_of(end - SLOT) << vol.geo.sector_bits();
    let early = (last.saturating_sub(room.first) / SLOT) as usize;
    let (early, late) = slots.list.split_at_checked(early).ok_or(EIO)?;
    if !early.is_empty() {
        write_slots(&mut reader, room.first, early, after)?;
        vol.commit(false)?;
    }
    write_slots(&mut reader, last.max(room.first), late, after)?;
    let loc = Location::new(reader.pos(end - SLOT)?, room.first, slots.list.len())?;
    find::update_index(dir, &mut reader, &loc, |index, record, names| {
        let per_block = (vol.block_bytes() / SLOT) as usize;
        index.took(slot_number(loc.first()), slots.list.len(), per_block);
        find::note(dir, index, record, names)
    });
    Ok(loc)
}

/// Makes the directory, which ends at byte `end`, at least `bytes` longer.
fn grow(dir: &Inode<Fat>, end: u64, bytes: u64) -> Result {
    let vol = dir.volume();
    if is_root(dir) && vol.geo.root_cluster().is_none() {
        return Err(ENOSPC);
    }
    if end.saturating_add(bytes) > MAX_DIR_BYTES {
        return Err(ENOSPC);
    }
    let _nofs = NofsScope::new();
    let mut chain = dir.node().chain.lock();
    let want = vol.clusters_for(bytes);
    let runs = match expand::take(vol, &mut chain, want, 0) {
        Err(e) if e == ENOSPC && vol.has_pending() => {
            vol.commit(false)?;
            expand::take(vol, &mut chain, want, 0)?
        }
        result => result?,
    };
    // The zeros have to be on disk before the chain leads there.
    let zeroed = (|| {
        for run in &runs {
            let mut cluster = Some(run.first);
            for _ in 0..run.len {
                let c = cluster.ok_or(EIO)?;
                let blocks = zero_cluster(dir, c)?;
                BufferHead::sync_all(blocks.iter())?;
                cluster = c.checked_add(1);
            }
        }
        vol.disk.flush()
    })();
    if let Err(e) = zeroed {
        expand::give_back(vol, &runs);
        return Err(e);
    }
    let before = chain.len(vol)?;
    expand::link(vol, &mut chain, &runs)?;
    drop(chain);
    dir.node().grown_from.store(before, Ordering::Relaxed);
    let size = dir.size() + (u64::from(want) << vol.geo.cluster_bits());
    dir.set_size(size);
    super::node::set_blocks(dir, vol.clusters_for(size));
    Ok(())
}

/// The blocks of a cluster, zeroed in memory.
pub(crate) fn zero_cluster(dir: &Inode<Fat>, cluster: Cluster) -> Result<KVVec<BufferHead>> {
    let vol = dir.volume();
    let first = vol.geo.cluster_sector(cluster).get();
    let count = vol.geo.sectors_per_cluster();
    let mut blocks = KVVec::with_capacity(count as usize, GFP_KERNEL)?;
    for i in 0..u64::from(count) {
        let bh = vol.disk.getblk(first + i)?;
        bh.zero();
        blocks.push(bh, GFP_KERNEL)?;
    }
    Ok(blocks)
}
