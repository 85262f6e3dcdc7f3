// SPDX-License-Identifier: GPL-2.0

//! Listing directories.
//!
//! A position is a byte in the directory. The root has no `.` and `..` on disk: they are at
//! positions 0 and 1, and its first entry is at 2.
//!
//! Entries in a block that can't be read are passed over. The position remembers it, and at the end
//! of the listing the reader is told, by `EIO`.

use crate::ondisk::{Attrs, ShortName};
use crate::vfs::{DirContext, Inode};
use kernel::prelude::*;

use super::dir::{DirReader, Record};
use super::names::{Units, MAX_NAME_BYTES};
use super::{node, Fat};

/// The position of the root's first entry.
const AFTER_DOTS: u64 = 2;

/// Set in positions once entries were passed over; above all positions in a directory.
const DAMAGED: u64 = 1 << 24;

/// An entry for user space.
pub(crate) struct Listed {
    /// The entry.
    pub(crate) record: Record,
    /// The length of the long name, or of the 8.3 name if there is none.
    pub(crate) name: usize,
}

/// Goes through a directory, with names in user space's character set.
pub(crate) struct Lister<'a> {
    dir: &'a Inode<Fat>,
    reader: DirReader<'a>,
    units: Units,
    bytes: KBox<[u8; MAX_NAME_BYTES]>,
    at: u64,
    /// Whether entries were passed over before.
    damaged: bool,
}

impl<'a> Lister<'a> {
    /// Starts at position `pos`. The caller holds the inode lock shared.
    pub(crate) fn new(dir: &'a Inode<Fat>, pos: u64) -> Result<Self> {
        let (damaged, pos) = (pos & DAMAGED != 0, pos & !DAMAGED);
        let at = if node::is_root(dir) && pos <= AFTER_DOTS {
            0
        } else {
            pos.checked_next_multiple_of(32).ok_or(EINVAL)?
        };
        Ok(Self {
            dir,
            reader: DirReader::new(dir),
            units: [0; 260],
            bytes: KBox::new([0u8; MAX_NAME_BYTES], GFP_KERNEL)?,
            at,
            damaged,
        })
    }

    /// The position behind the last entry.
    pub(crate) fn pos(&self) -> u64 {
        self.position(self.at)
    }

    fn position(&self, at: u64) -> u64 {
        let at = if node::is_root(self.dir) {
            at.max(AFTER_DOTS)
        } else {
            at
        };
        if self.is_damaged() {
            at | DAMAGED
        } else {
            at
        }
    }

    /// Whether entries were passed over, here or before.
    fn is_damaged(&self) -> bool {
        self.damaged || self.reader.is_damaged()
    }

    /// The next entry that can be shown, with its position.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, Listed)>> {
        while let Some(record) = self.reader.next(&mut self.at, &mut self.units)? {
            let short = record.entry.name();
            if node::is_root(self.dir) && (short.is_dot() || short.is_dot_dot()) {
                continue;
            }
            let name = self.convert(&record, &short)?;
            let shown = self.bytes.get(..name).unwrap_or(&[]);
            // A slash can only come from a broken entry; user space must not see it.
            if !shown.is_empty() && !shown.contains(&b'/') {
                let pos = self.position(record.loc.first());
                return Ok(Some((pos, Listed { record, name })));
            }
        }
        Ok(None)
    }

    fn convert(&mut self, record: &Record, short: &ShortName) -> Result<usize> {
        let names = &self.dir.volume().names;
        let dots: &[u8] = match (short.is_dot(), short.is_dot_dot()) {
            (true, _) => b".",
            (_, true) => b"..",
            _ if record.long > 0 => {
                let units = self.units.get(..record.long).unwrap_or(&[]);
                return Ok(names.show_units(units, &mut *self.bytes));
            }
            _ => return Ok(names.short_to_bytes(&record.entry, &mut *self.bytes)),
        };
        self.bytes
            .get_mut(..dots.len())
            .ok_or(EIO)?
            .copy_from_slice(dots);
        Ok(dots.len())
    }

    /// The name of an entry that was just returned.
    pub(crate) fn name(&self, listed: &Listed) -> &[u8] {
        self.bytes.get(..listed.name).unwrap_or(&[])
    }
}

/// `readdir`. `EIO` at the end if entries had to be passed over.
pub(crate) fn list(dir: &Inode<Fat>, ctx: &mut DirContext<'_>) -> Result {
    let begin = ctx.pos();
    if node::is_root(dir) && !ctx.emit_dots() {
        return Ok(());
    }
    let mut reported = ctx.pos() != begin;
    let mut lister = Lister::new(dir, ctx.pos())?;
    while let Some((pos, listed)) = lister.next()? {
        ctx.set_pos(pos);
        let entry = &listed.record.entry;
        let ino = if entry.name().is_dot() {
            dir.ino()
        } else if entry.name().is_dot_dot() {
            ctx.parent_ino()
        } else {
            ino_of(dir, &listed.record)
        };
        let is_dir = entry.attrs().contains(Attrs::DIRECTORY);
        if !ctx.emit(lister.name(&listed), ino, is_dir) {
            return Ok(());
        }
        reported = true;
        ctx.set_pos(lister.pos());
    }
    if lister.is_damaged() && !reported {
        // A call that has reported entries can't fail: the next one does, once.
        ctx.set_pos(lister.pos() & !DAMAGED);
        return Err(EIO);
    }
    ctx.set_pos(lister.pos());
    Ok(())
}

/// The inode number to report: the real one where the inode is in memory.
fn ino_of(dir: &Inode<Fat>, record: &Record) -> u64 {
    match node::find_cached(dir.sb(), record.loc.pos) {
        Some(inode) => inode.ino(),
        None => dir.volume().new_ino(),
    }
}
