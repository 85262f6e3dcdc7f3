// SPDX-License-Identifier: GPL-2.0

//! Directories as sequences of 32-byte slots.

use crate::ondisk::{
    Cluster,
    DirPos,
    LongNameAssembler,
    RawDirent,
    Sector,
    SlotKind,
    DIRENT_SIZE, //
};
use crate::vfs::{BufferHead, Inode, NofsScope};
use kernel::prelude::*;

use super::find;
use super::names::Units;
use super::node::is_root;
use super::{expand, Fat};

/// Bytes per slot.
pub(crate) const SLOT: u64 = DIRENT_SIZE as u64;

/// Most bytes a directory may have: 65,536 slots (Microsoft's specification, section 6).
pub(crate) const MAX_DIR_BYTES: u64 = 65_536 * SLOT;

/// Blocks that are read ahead at a time.
const READ_AHEAD: u64 = 128;

/// First byte of the name of a removed entry.
pub(super) const DELETED: u8 = 0xe5;

/// Where an entry is.
#[derive(Clone, Copy)]
pub(crate) struct Location {
    /// The place of its 8.3 slot on the device.
    pub(crate) pos: DirPos,
    /// The byte in the directory where its first slot starts.
    first: u64,
    /// Its slots, long name ones included.
    slots: u32,
}

impl Location {
    /// The entry whose 8.3 slot is at `pos`, whose first slot is at byte `first` of the directory,
    /// and which has `slots` of them.
    pub(super) fn new(pos: DirPos, first: u64, slots: usize) -> Result<Self> {
        let slots = u32::try_from(slots).map_err(|_| EINVAL)?;
        Ok(Self { pos, first, slots })
    }

    /// The byte in the directory where the entry's first slot starts.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// The byte in the directory where its 8.3 slot starts.
    pub(crate) fn last(&self) -> u64 {
        self.first
            .saturating_add(u64::from(self.slots.saturating_sub(1)) * SLOT)
    }
}

/// An entry as it was read.
pub(crate) struct Record {
    /// Where it is.
    pub(crate) loc: Location,
    /// Its 8.3 slot.
    pub(crate) entry: RawDirent,
    /// Units of its long name; 0: it has none.
    pub(crate) long: usize,
}

/// Reads a directory. The caller holds its inode lock, at least shared.
pub(crate) struct DirReader<'a> {
    dir: &'a Inode<Fat>,
    current: Option<(u64, BufferHead)>,
    ahead: u64,
    /// Whether the last block asked for can't be read.
    unreadable: bool,
    /// Whether entries were passed over because their block can't be read.
    damaged: bool,
    assembler: LongNameAssembler,
}

impl<'a> DirReader<'a> {
    /// A reader of `dir`.
    pub(crate) fn new(dir: &'a Inode<Fat>) -> Self {
        Self {
            dir,
            current: None,
            ahead: 0,
            unreadable: false,
            damaged: false,
            assembler: LongNameAssembler::new(),
        }
    }

    /// The device block of the directory's block `index`, and the blocks that follow it there.
    fn locate(&self, index: u64) -> Result<Option<(u64, u64)>> {
        let vol = self.dir.volume();
        if is_root(self.dir) && vol.geo.root_cluster().is_none() {
            let blocks = u64::from(vol.geo.root_sectors());
            return Ok(
                (index < blocks).then(|| (vol.geo.root_start().get() + index, blocks - index))
            );
        }
        let _nofs = NofsScope::new();
        let mut chain = self.dir.node().chain.lock();
        let bits = vol.geo.sector_bits();
        let found = expand::locate(vol, &mut chain, index << bits)?;
        Ok(found.map(|(addr, len)| (addr >> bits, len >> bits)))
    }

    /// The directory's block `index`; `None` beyond its end.
    fn block(&mut self, index: u64) -> Result<Option<&BufferHead>> {
        if self.current.as_ref().map(|(i, _)| *i) != Some(index) {
            self.current = None;
            self.unreadable = false;
            let Some((block, run)) = self.locate(index)? else {
                return Ok(None);
            };
            let disk = &self.dir.volume().disk;
            if index >= self.ahead {
                let n = run.min(READ_AHEAD);
                if !disk.is_cached(block) {
                    disk.read_ahead(block, n);
                }
                self.ahead = index + n;
            }
            let bh = disk.bread(block);
            self.unreadable = bh.is_err();
            self.current = Some((index, bh?));
        }
        Ok(self.current.as_ref().map(|(_, bh)| bh))
    }

    /// The block and the offset in it of the slot at byte `at`.
    pub(super) fn place(&mut self, at: u64) -> Result<Option<(&BufferHead, usize)>> {
        let vol = self.dir.volume();
        let offset = (at & (vol.block_bytes() - 1)) as usize;
        let block = self.block(at >> vol.geo.sector_bits())?;
        Ok(block.map(|bh| (bh, offset)))
    }

    /// The slot at byte `at`; `None` beyond the end.
    pub(super) fn slot(&mut self, at: u64) -> Result<Option<RawDirent>> {
        match self.place(at)? {
            Some((bh, offset)) => Ok(Some(RawDirent::from_bytes(bh.read(offset)?))),
            None => Ok(None),
        }
    }

    /// The place on the device of the slot at byte `at`.
    pub(super) fn pos(&mut self, at: u64) -> Result<DirPos> {
        let bits = self.dir.volume().geo.sector_bits();
        let (bh, offset) = self.place(at)?.ok_or(EIO)?;
        DirPos::new(
            Sector::new(bh.block()),
            u32::try_from(offset).map_err(|_| EIO)?,
            bits,
        )
        .ok_or(EIO)
    }

    /// The next entry from byte `at` on, with its long name in `units`; moves `at` behind it.
    /// `None`: there are no more, `at` is at the end.
    pub(crate) fn next(&mut self, at: &mut u64, units: &mut Units) -> Result<Option<Record>> {
        self.assembler.reset();
        while *at < MAX_DIR_BYTES {
            let here = *at;
            let entry = match self.slot(here) {
                Ok(Some(entry)) => entry,
                Ok(None) => return Ok(None),
                Err(_) if self.unreadable => {
                    // The other blocks' entries can still be used.
                    self.damaged = true;
                    self.assembler.reset();
                    *at = (here | (self.dir.volume().block_bytes() - 1)) + 1;
                    continue;
                }
                Err(e) => return Err(e),
            };
            match entry.kind() {
                SlotKind::End => return Ok(None),
                SlotKind::Long(slot) => self.assembler.feed(&slot),
                SlotKind::Deleted | SlotKind::VolumeLabel => self.assembler.reset(),
                SlotKind::Entry => {
                    *at = here + SLOT;
                    return self.record(here, entry, units).map(Some);
                }
            }
            *at = here + SLOT;
        }
        Ok(None)
    }

    /// Whether [`next`](Self::next) has passed over entries: what it did not find may exist.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    fn record(&mut self, here: u64, entry: RawDirent, units: &mut Units) -> Result<Record> {
        let mut long = 0;
        let mut slots = 1;
        if let Some(name) = self.assembler.finish(&entry.name()) {
            long = name.len();
            units.get_mut(..long).ok_or(EIO)?.copy_from_slice(name);
            slots += self.assembler.slots();
        }
        let slots = u32::try_from(slots).map_err(|_| EIO)?;
        Ok(Record {
            loc: Location {
                pos: self.pos(here)?,
                first: here.saturating_sub(u64::from(slots - 1) * SLOT),
                slots,
            },
            entry,
            long,
        })
    }
}

/// Whether there is nothing but `.` and `..`.
pub(crate) fn is_empty(dir: &Inode<Fat>) -> Result<bool> {
    let mut reader = DirReader::new(dir);
    let mut units: Units = [0; 260];
    let mut at = 0;
    while let Some(record) = reader.next(&mut at, &mut units)? {
        let name = record.entry.name();
        if !name.is_dot() && !name.is_dot_dot() {
            return Ok(false);
        }
    }
    if reader.is_damaged() {
        return Err(EIO);
    }
    Ok(true)
}

/// Counts the entries that are directories, `.` and `..` included, and tells whether that is all of
/// them: some may be in blocks that can't be read.
pub(crate) fn count_subdirs(dir: &Inode<Fat>) -> Result<(u32, bool)> {
    let mut reader = DirReader::new(dir);
    let mut units: Units = [0; 260];
    let mut at = 0;
    let mut n = 0u32;
    while let Some(record) = reader.next(&mut at, &mut units)? {
        if record
            .entry
            .attrs()
            .contains(crate::ondisk::Attrs::DIRECTORY)
        {
            n = n.saturating_add(1);
        }
    }
    Ok((n, !reader.is_damaged()))
}

/// Writes slots from byte `first` on, block by block.
pub(super) fn write_slots(
    reader: &mut DirReader<'_>,
    first: u64,
    slots: &[[u8; DIRENT_SIZE]],
    after: u64,
) -> Result {
    let vol = reader.dir.volume();
    let mut at = first;
    let mut rest = slots;
    while !rest.is_empty() {
        let mask = vol.block_bytes() - 1;
        let here = ((vol.block_bytes() - (at & mask)) / SLOT) as usize;
        let (now, later) = rest.split_at_checked(here.min(rest.len())).ok_or(EIO)?;
        let (bh, offset) = reader.place(at)?.ok_or(EIO)?;
        vol.change_block(bh, after, |bh| {
            now.iter()
                .enumerate()
                .try_for_each(|(i, slot)| bh.write(offset + i * DIRENT_SIZE, slot))
        })?;
        at += now.len() as u64 * SLOT;
        rest = later;
    }
    Ok(())
}

/// The slots of a removed entry, for [`put_back`].
pub(crate) struct Removed(KVVec<[u8; DIRENT_SIZE]>);

/// Removes the entry at `loc`. The inode lock is held, and no inode has the entry any more, so that
/// nobody [rewrites](rewrite) it.
pub(crate) fn remove(dir: &Inode<Fat>, loc: &Location) -> Result<Removed> {
    let vol = dir.volume();
    let mut reader = DirReader::new(dir);
    let mut slots = KVVec::with_capacity(loc.slots as usize, GFP_KERNEL)?;
    for i in 0..u64::from(loc.slots) {
        let slot = reader.slot(loc.first + i * SLOT)?.ok_or(EIO)?;
        slots.push(slot.into_bytes(), GFP_KERNEL)?;
    }
    find::update_index(dir, &mut reader, loc, |index, record, names| {
        find::forget(dir, index, record, names)
    });
    // From the 8.3 slot backwards: without it the long name means nothing.
    for i in (0..u64::from(loc.slots)).rev() {
        let (bh, offset) = reader.place(loc.first + i * SLOT)?.ok_or(EIO)?;
        vol.change_block(bh, 0, |bh| bh.write(offset, &[DELETED]))?;
    }
    Ok(Removed(slots))
}

/// Takes a removal back. The inode lock was held all the time.
pub(crate) fn put_back(dir: &Inode<Fat>, loc: &Location, removed: &Removed) -> Result {
    let mut reader = DirReader::new(dir);
    write_slots(&mut reader, loc.first, &removed.0, 0)?;
    find::update_index(dir, &mut reader, loc, |index, record, names| {
        find::note(dir, index, record, names)
    });
    Ok(())
}

/// Whether all slots of both entries of `dir` lie in one block, so that one write changes both.
pub(crate) fn share_block(dir: &Inode<Fat>, a: &Location, b: &Location) -> bool {
    let bits = dir.volume().geo.sector_bits();
    let block = a.first >> bits;
    [a, b].iter().all(|l| {
        l.first >> bits == block && (l.first + u64::from(l.slots - 1) * SLOT) >> bits == block
    })
}

/// Points the `..` of a directory to `parent`.
pub(crate) fn set_parent(dir: &Inode<Fat>, parent: Option<Cluster>) -> Result {
    let vol = dir.volume();
    let mut reader = DirReader::new(dir);
    let entry = reader.slot(SLOT)?.ok_or(EIO)?;
    if !entry.name().is_dot_dot() {
        return Err(vol.corrupt(fmt!(
            "second entry of a directory is {:?}, expected \"..\"",
            entry.name()
        )));
    }
    let (bh, offset) = reader.place(SLOT)?.ok_or(EIO)?;
    vol.change_block(bh, 0, |bh| {
        let mut raw = RawDirent::from_bytes(bh.read(offset)?);
        raw.set_start(parent);
        bh.write(offset, raw.as_bytes())
    })
}

/// Rewrites the 8.3 slot at `loc`, if that changes it. The caller makes sure that nobody else does
/// so at the same time: it holds the entry lock of the slot's inode, or the inode has no slot.
pub(crate) fn rewrite(
    dir: &Inode<Fat>,
    loc: &Location,
    after: u64,
    change: impl FnOnce(&mut RawDirent),
) -> Result {
    let vol = dir.volume();
    let bits = vol.geo.sector_bits();
    let bh = vol.disk.bread(loc.pos.sector(bits).get())?;
    let offset = loc.pos.offset(bits);
    let old = RawDirent::from_bytes(bh.read(offset)?);
    let mut new = old;
    change(&mut new);
    if new.as_bytes() == old.as_bytes() {
        return Ok(());
    }
    vol.change_block(&bh, after, |bh| bh.write(offset, new.as_bytes()))
}

/// The 8.3 slot at `loc`.
pub(crate) fn read(dir: &Inode<Fat>, loc: &Location) -> Result<RawDirent> {
    let vol = dir.volume();
    let bits = vol.geo.sector_bits();
    let bh = vol.disk.bread(loc.pos.sector(bits).get())?;
    Ok(RawDirent::from_bytes(bh.read(loc.pos.offset(bits))?))
}
