// SPDX-License-Identifier: GPL-2.0

//! Finding entries by name, and keeping the index of a directory up to date.

use crate::ondisk::ShortName;
use crate::vfs::{Inode, NofsScope};
use kernel::prelude::*;

use super::dir::{DirReader, Location, Record, SLOT};
use super::index::DirIndex;
use super::names::{hash_short, Units, MAX_NAME_BYTES};
use super::Fat;

/// Buffers for one entry's names.
pub(crate) struct NameBuf {
    units: Units,
    bytes: KBox<[u8; MAX_NAME_BYTES]>,
}

impl NameBuf {
    fn new() -> Result<Self> {
        Ok(Self {
            units: [0; 260],
            bytes: KBox::new([0u8; MAX_NAME_BYTES], GFP_KERNEL)?,
        })
    }

    /// Calls `f` with the 8.3 name and the long name, those of the two that the entry has, in user
    /// space's character set, until it returns something.
    fn each<R>(
        &mut self,
        dir: &Inode<Fat>,
        record: &Record,
        mut f: impl FnMut(&[u8]) -> Option<R>,
    ) -> Option<R> {
        let names = &dir.volume().names;
        let n = names.short_to_bytes(&record.entry, &mut *self.bytes);
        if n > 0 {
            let found = f(self.bytes.get(..n).unwrap_or(&[]));
            if found.is_some() {
                return found;
            }
        }
        if record.long == 0 {
            return None;
        }
        let units = self.units.get(..record.long).unwrap_or(&[]);
        let n = names.show_units(units, &mut *self.bytes);
        f(self.bytes.get(..n).unwrap_or(&[]))
    }
}

/// The number of the slot at byte `at`.
pub(crate) fn slot_number(at: u64) -> u32 {
    // A directory has at most 65,536 slots.
    (at / SLOT) as u32
}

/// Runs `f` on the directory's index, which is built first if need be. It is kept only if it is
/// complete.
pub(crate) fn with_index<R>(dir: &Inode<Fat>, f: impl FnOnce(&mut DirIndex) -> R) -> Result<R> {
    let _nofs = NofsScope::new();
    let mut guard = dir.node().index.lock();
    if let Some(index) = &mut *guard {
        return Ok(f(index));
    }
    let mut index = DirIndex::new()?;
    let mut reader = DirReader::new(dir);
    let mut names = NameBuf::new()?;
    let mut at = 0;
    while let Some(record) = reader.next(&mut at, &mut names.units)? {
        note(dir, &mut index, &record, &mut names)?;
    }
    if reader.is_damaged() {
        index.complete = false;
        return Ok(f(&mut index));
    }
    Ok(f(guard.insert(index)))
}

/// Puts an entry into the index.
pub(crate) fn note(
    dir: &Inode<Fat>,
    index: &mut DirIndex,
    record: &Record,
    names: &mut NameBuf,
) -> Result {
    let slot = slot_number(record.loc.first());
    index.insert(hash_short(&record.entry.name()), slot)?;
    let failed = names.each(dir, record, |name| {
        index.insert(dir.volume().names.hash(name), slot).err()
    });
    failed.map_or(Ok(()), Err)
}

/// Takes an entry out of the index.
pub(crate) fn forget(
    dir: &Inode<Fat>,
    index: &mut DirIndex,
    record: &Record,
    names: &mut NameBuf,
) -> Result {
    let slot = slot_number(record.loc.first());
    let last = slot_number(record.loc.last());
    let commit = dir.volume().next_commit();
    let mut drop_name = |hash| {
        index.remove(hash, slot);
        index.removed(hash, last, commit)
    };
    drop_name(hash_short(&record.entry.name()))?;
    let failed = names.each(dir, record, |name| {
        drop_name(dir.volume().names.hash(name)).err()
    });
    index.gave(slot);
    failed.map_or(Ok(()), Err)
}

/// What it means that a name was not found.
fn absent(complete: bool) -> Result {
    if complete {
        Ok(())
    } else {
        // It may be in a block that can't be read.
        Err(EIO)
    }
}

/// Finds the entry with a name in user space's character set, long or 8.3. `EIO` when it may be in
/// a block that can't be read.
pub(crate) fn find(dir: &Inode<Fat>, name: &[u8]) -> Result<Option<Record>> {
    let vol_names = &dir.volume().names;
    let hash = vol_names.hash(name);
    let (candidates, complete) = with_index(dir, |index| index.candidates(hash))??;
    if candidates.is_empty() {
        return absent(complete).map(|()| None);
    }
    let mut reader = DirReader::new(dir);
    let mut names = NameBuf::new()?;
    for slot in candidates {
        let mut at = u64::from(slot) * SLOT;
        let Some(record) = reader.next(&mut at, &mut names.units)? else {
            continue;
        };
        let same = |other: &[u8]| vol_names.equal(other, name).then_some(());
        if names.each(dir, &record, same).is_some() {
            return Ok(Some(record));
        }
    }
    absent(complete && !reader.is_damaged()).map(|()| None)
}

/// Whether an 8.3 name is taken. `EIO` as for [`find`].
pub(crate) fn has_short(dir: &Inode<Fat>, name: &ShortName) -> Result<bool> {
    let (candidates, complete) = with_index(dir, |index| index.candidates(hash_short(name)))??;
    let mut reader = DirReader::new(dir);
    let mut units: Units = [0; 260];
    for slot in candidates {
        let mut at = u64::from(slot) * SLOT;
        let record = reader.next(&mut at, &mut units)?;
        if record.is_some_and(|record| record.entry.name() == *name) {
            return Ok(true);
        }
    }
    absent(complete && !reader.is_damaged()).map(|()| false)
}

/// Changes the index for the entry at `loc`, as it is now. If that fails, the index is dropped, to
/// be built again when it is needed.
pub(crate) fn update_index(
    dir: &Inode<Fat>,
    reader: &mut DirReader<'_>,
    loc: &Location,
    change: impl FnOnce(&mut DirIndex, &Record, &mut NameBuf) -> Result,
) {
    let _nofs = NofsScope::new();
    let mut guard = dir.node().index.lock();
    let Some(index) = &mut *guard else {
        return;
    };
    let result = (|| {
        let mut names = NameBuf::new()?;
        let mut at = loc.first();
        let record = reader
            .next(&mut at, &mut names.units)?
            .filter(|record| record.loc.first() == loc.first())
            .ok_or(EIO)?;
        change(index, &record, &mut names)
    })();
    if result.is_err() {
        *guard = None;
    }
}
