// SPDX-License-Identifier: GPL-2.0

//! The file allocation table: reading entries, changing them, writing the changed blocks.
//!
//! All changes go through [`Table::apply`]: it reads every block it needs first, so it either
//! changes all or nothing. The table keeps the changed blocks. [`Volume::sync_fat`] submits
//! them for the active FAT and all mirrors before it waits for the first.

use crate::ondisk::{fat, Cluster, FatEntry, FatType};
use crate::vfs::{BufferHead, DeviceCursor};
use kernel::prelude::*;

use super::alloc::{FreeMap, Run};
use super::range::RangeSet;
use super::volume::Volume;

/// Bytes of FAT that are read ahead at a time.
const READ_AHEAD: u64 = 64 * 1024;

/// What changes in the FAT: a run of clusters, chained to one another.
#[derive(Clone, Copy)]
pub(crate) struct Change {
    /// The clusters.
    pub(crate) run: Run,
    /// The entry of the last one; `None`: all become free.
    pub(crate) then: Option<FatEntry>,
}

/// Changed blocks above which a change makes its task commit: 8 MiB of FAT.
const MAX_CHANGED: usize = 16_384;

/// A changed block of the active FAT. It stays in memory, and is not dirty for the flusher, until
/// it is written here.
struct Changed {
    /// Counted from the start of the FAT.
    block: u64,
    bh: BufferHead,
    /// The number of its last change.
    seq: u64,
}

/// The state of the FAT that its lock protects.
pub(crate) struct Table {
    /// Free space.
    pub(crate) free: FreeMap,
    /// What has to be written, in ascending order.
    changed: KVVec<Changed>,
    /// Counts changes.
    pub(crate) seq: u64,
    /// The last change that may be on disk, or on its way there.
    pub(crate) started: u64,
}

impl Table {
    /// The table of a volume that was just opened.
    pub(crate) fn new(free: FreeMap) -> Self {
        Self {
            free,
            changed: KVVec::new(),
            seq: 0,
            started: 0,
        }
    }

    /// Whether anything waits to be written.
    pub(crate) fn is_dirty(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Whether so much waits that it should be written soon.
    pub(crate) fn is_large(&self) -> bool {
        self.changed.len() > MAX_CHANGED
    }

    /// Makes the changes in the buffers of the active FAT. On error nothing has changed.
    pub(crate) fn apply(&mut self, vol: &Volume, changes: &[Change]) -> Result {
        let mut touched = RangeSet::new();
        for change in changes {
            let (start, end) = vol.fat_blocks(&change.run);
            touched.insert(start, end)?;
        }
        let blocks = Blocks::read(vol, &touched)?;
        self.changed.reserve(blocks.list.len(), GFP_KERNEL)?;
        self.seq += 1;
        for (block, bh) in &blocks.list {
            self.note(*block, bh)?;
        }
        for change in changes {
            blocks.change(vol, change)?;
        }
        Ok(())
    }

    /// Notes that a block is part of the current change. There is room for it.
    fn note(&mut self, block: u64, bh: &BufferHead) -> Result {
        let seq = self.seq;
        let at = self.changed.partition_point(|c| c.block < block);
        if let Some(c) = self.changed.get_mut(at).filter(|c| c.block == block) {
            c.seq = seq;
            return Ok(());
        }
        let bh = bh.clone();
        self.changed
            .insert_within_capacity(at, Changed { block, bh, seq })
            .map_err(|_| ENOMEM)
    }
}

/// The blocks of the active FAT that a change needs, in ascending order.
struct Blocks {
    list: KVVec<(u64, BufferHead)>,
}

impl Blocks {
    fn read(vol: &Volume, touched: &RangeSet) -> Result<Self> {
        let mut list = KVVec::new();
        let mut ahead = 0;
        let bits = vol.geo.sector_bits();
        for (start, end) in touched.iter() {
            for block in start..end {
                let on_disk = vol.fat_block(vol.geo.active_fat(), block);
                let bh = match vol.disk.cached(on_disk) {
                    Some(bh) => bh,
                    None => {
                        if block >= ahead {
                            // To the end of a window: what follows will be needed soon, and
                            // windows don't overlap.
                            let window = READ_AHEAD >> bits;
                            ahead = end.max((block / window + 1) * window);
                            vol.read_ahead_fat(block << bits, ahead << bits);
                        }
                        vol.disk.bread(on_disk)?
                    }
                };
                list.push((block, bh), GFP_KERNEL)?;
            }
        }
        Ok(Self { list })
    }

    fn index_of(&self, block: u64) -> Result<usize> {
        self.list
            .binary_search_by_key(&block, |(b, _)| *b)
            .map_err(|_| EIO)
    }

    /// Makes one change, a copy of at most [`PART`] bytes at a time.
    fn change(&self, vol: &Volume, change: &Change) -> Result {
        let ty = vol.geo.fat_type();
        let (mut number, last) = (change.run.first.get(), change.run.last().get());
        let mut copy = [0u8; PART];
        while number <= last {
            let at = fat::number_byte_offset(ty, number);
            let room = match ty {
                FatType::Fat12 => PART,
                // All parts but the first then lie in one block.
                _ => PART - at as usize % PART,
            };
            let count = (last - number + 1).min(fat::entries_in(ty, room) as u32);
            let end = fat::number_byte_offset(ty, number + count - 1) + fat::entry_len(ty) as u64;
            let part = copy.get_mut(..(end - at) as usize).ok_or(EIO)?;
            self.each_block(vol, at, part, |bh, at, bytes| bh.read_into(at, bytes))?;
            match change.then.map(|then| then.value(ty)) {
                None => fat::encode_each(ty, number, part, |_| FatEntry::Free.value(ty)),
                Some(then) => fat::encode_each(ty, number, part, |n| {
                    if n == last {
                        then
                    } else {
                        n.saturating_add(1)
                    }
                }),
            }
            self.each_block(vol, at, part, |bh, at, bytes| bh.write(at, bytes))?;
            number += count;
        }
        Ok(())
    }

    /// Calls `f(block, offset, bytes)` for the blocks that `bytes`, which start `at` bytes into the
    /// FAT, lie in.
    fn each_block(
        &self,
        vol: &Volume,
        at: u64,
        mut bytes: &mut [u8],
        f: impl Fn(&BufferHead, usize, &mut [u8]) -> Result,
    ) -> Result {
        let size = vol.block_bytes();
        let mut at = at;
        while !bytes.is_empty() {
            let (_, bh) = self.list.get(self.index_of(at / size)?).ok_or(EIO)?;
            let offset = (at % size) as usize;
            let len = bytes.len().min(size as usize - offset);
            let (here, rest) = bytes.split_at_mut_checked(len).ok_or(EIO)?;
            f(bh, offset, here)?;
            bytes = rest;
            at += len as u64;
        }
        Ok(())
    }
}

impl Volume {
    /// The byte on the device where the active FAT starts.
    pub(crate) fn fat_addr(&self) -> u64 {
        self.fat_block(self.geo.active_fat(), 0) << self.geo.sector_bits()
    }

    /// The device block of block `block` of FAT copy `copy`.
    pub(crate) fn fat_block(&self, copy: u8, block: u64) -> u64 {
        self.geo
            .fat_copy_start(copy)
            .unwrap_or(self.geo.fat_start())
            .get()
            .saturating_add(block)
    }

    /// The FAT copies that follow the active one; none when mirroring is switched off.
    fn mirrors(&self) -> impl Iterator<Item = u8> + '_ {
        let copies = if self.geo.mirroring() {
            self.geo.fats()
        } else {
            0
        };
        (0..copies).filter(|&copy| copy != self.geo.active_fat())
    }

    /// The blocks of a FAT copy in which the entries of `run` lie, as `start..end`.
    pub(crate) fn fat_blocks(&self, run: &Run) -> (u64, u64) {
        let ty = self.geo.fat_type();
        let bits = self.geo.sector_bits();
        let start = fat::entry_byte_offset(ty, run.first) >> bits;
        let last = fat::entry_byte_offset(ty, run.last()) + fat::entry_len(ty) as u64 - 1;
        (start, (last >> bits) + 1)
    }

    /// Starts reading bytes `start..end` of the active FAT.
    pub(crate) fn read_ahead_fat(&self, start: u64, end: u64) {
        let bits = self.geo.sector_bits();
        let first = start >> bits;
        let last = end.min(self.geo.fat_bytes()).saturating_sub(1) >> bits;
        if first <= last {
            self.disk.read_ahead(
                self.fat_block(self.geo.active_fat(), first),
                last - first + 1,
            );
        }
    }

    /// Writes every changed FAT block, primary and mirrors in one submission, and waits. Returns
    /// the number of the last change that is on disk then. On error all has to be written again.
    /// The caller holds the commit lock, so that nobody takes blocks on their way for written.
    pub(crate) fn sync_fat(&self) -> Result<u64> {
        let (blocks, seq) = {
            let mut table = self.table.lock();
            table.started = table.seq;
            let mut blocks = KVVec::with_capacity(table.changed.len(), GFP_KERNEL)?;
            for c in &table.changed {
                blocks.push(c.bh.clone(), GFP_KERNEL)?;
            }
            (blocks, table.seq)
        };
        if blocks.is_empty() {
            return Ok(seq);
        }
        // The mirrors get the same bytes from the same memory.
        let mut distances = KVVec::with_capacity(self.geo.fats().into(), GFP_KERNEL)?;
        let active = self.fat_block(self.geo.active_fat(), 0);
        distances.push(0, GFP_KERNEL)?;
        for copy in self.mirrors() {
            let distance = self.fat_block(copy, 0).wrapping_sub(active) as i64;
            distances.push(distance, GFP_KERNEL)?;
        }
        self.disk.write_blocks(&blocks, &distances)?;
        self.table.lock().changed.retain(|c| c.seq > seq);
        Ok(seq)
    }

    /// A reader of FAT entries.
    pub(crate) fn fat_reader(&self) -> FatReader<'_> {
        FatReader {
            vol: self,
            cursor: self.disk.cursor(),
            ahead: None,
            part: [0; PART],
            part_at: None,
        }
    }
}

/// Bytes of FAT that a reader copies out at a time.
const PART: usize = 512;

/// Reads entries of the active FAT, with readahead. Those it returns must not change meanwhile: a
/// lock of the chain they belong to is held.
pub(crate) struct FatReader<'a> {
    vol: &'a Volume,
    cursor: DeviceCursor<'a>,
    /// The window that was read ahead last.
    ahead: Option<u64>,
    part: [u8; PART],
    /// Where in the FAT `part` is from.
    part_at: Option<u64>,
}

impl FatReader<'_> {
    /// The entry of `cluster`.
    pub(crate) fn get(&mut self, cluster: Cluster) -> Result<FatEntry> {
        let geo = &self.vol.geo;
        let ty = geo.fat_type();
        let offset = fat::entry_byte_offset(ty, cluster);
        let window = offset / READ_AHEAD;
        if self.ahead != Some(window) {
            self.ahead = Some(window);
            let start = window * READ_AHEAD;
            self.vol.read_ahead_fat(start, start + READ_AHEAD);
        }
        let mut raw = [0u8; 4];
        let bytes = raw.get_mut(..fat::entry_len(ty)).ok_or(EIO)?;
        if ty == FatType::Fat12 {
            // Entries may cross any boundary.
            self.cursor.read(self.vol.fat_addr() + offset, bytes)?;
        } else {
            let at = offset & !(PART as u64 - 1);
            if self.part_at != Some(at) {
                self.part_at = None;
                let addr = self.vol.fat_addr() + at;
                self.cursor.read(addr, &mut self.part)?;
                self.part_at = Some(at);
            }
            let start = (offset - at) as usize;
            let part = self.part.get(start..start + bytes.len());
            bytes.copy_from_slice(part.ok_or(EIO)?);
        }
        Ok(fat::decode(ty, cluster, raw, geo.max_cluster()))
    }
}
