// SPDX-License-Identifier: GPL-2.0

//! VFAT long names: UTF-16 names spread over the slots before an 8.3 entry.
//!
//! Each slot carries 13 units of the name. The slots are stored in reverse, the end of the name
//! first, and tied to the 8.3 name by a checksum (fatgen103, "FAT Long Directory Entries"). A set
//! that is incomplete, out of order, or of another entry is ignored, and the entry then goes by its
//! 8.3 name.

use super::{
    bytes::{
        byte,
        field,
        set_field, //
    },
    Attrs,
    ShortName,
    DIRENT_SIZE, //
};

/// Largest length of a long name, in UTF-16 units.
pub const MAX_UNITS: usize = 255;

/// Number of UTF-16 units in a slot.
pub const UNITS_PER_SLOT: usize = 13;

/// Largest number of slots of a long name.
pub const MAX_SLOTS: usize = 20;

/// Bit of LDIR_Ord that marks the slot with the end of the name, which comes first on the disk.
const LAST: u8 = 0x40;

/// Unit that fills a slot behind the terminating NUL.
const PADDING: u16 = 0xFFFF;

/// A long-name slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongSlot {
    /// Place of this part in the name, from 1, unchecked.
    pub ordinal: u8,
    /// Whether the name ends in this slot.
    pub last: bool,
    /// LDIR_Chksum: checksum of the 8.3 name.
    pub checksum: u8,
    /// This part of the name. A NUL ends a name that does not fill its last slot.
    pub units: [u16; UNITS_PER_SLOT],
}

impl LongSlot {
    /// Reads the slot in `bytes`.
    ///
    /// LDIR_Type and LDIR_FstClusLO, both zero by the specification, are not looked at, as in Linux
    /// vfat.
    pub fn parse(bytes: &[u8; DIRENT_SIZE]) -> Self {
        let order = byte::<0, DIRENT_SIZE>(bytes);
        let mut stored = field::<1, 10, DIRENT_SIZE>(bytes)
            .into_iter()
            .chain(field::<14, 12, DIRENT_SIZE>(bytes))
            .chain(field::<28, 4, DIRENT_SIZE>(bytes));
        let mut units = [0; UNITS_PER_SLOT];
        for unit in &mut units {
            *unit = u16::from_le_bytes([stored.next().unwrap_or(0), stored.next().unwrap_or(0)]);
        }
        Self {
            ordinal: order & !LAST,
            last: order & LAST != 0,
            checksum: byte::<13, DIRENT_SIZE>(bytes),
            units,
        }
    }

    /// Returns the bytes of the slot.
    pub fn encode(&self) -> [u8; DIRENT_SIZE] {
        let mut stored = [0; UNITS_PER_SLOT * 2];
        for (bytes, unit) in stored.chunks_exact_mut(2).zip(self.units) {
            bytes.copy_from_slice(&unit.to_le_bytes());
        }
        let order = (self.ordinal & !LAST) | if self.last { LAST } else { 0 };
        let mut slot = [0; DIRENT_SIZE];
        set_field::<0, 1, DIRENT_SIZE>(&mut slot, [order]);
        set_field::<1, 10, DIRENT_SIZE>(&mut slot, field::<0, 10, 26>(&stored));
        set_field::<11, 1, DIRENT_SIZE>(&mut slot, [Attrs::LONG_NAME.bits()]);
        set_field::<13, 1, DIRENT_SIZE>(&mut slot, [self.checksum]);
        set_field::<14, 12, DIRENT_SIZE>(&mut slot, field::<10, 12, 26>(&stored));
        set_field::<28, 4, DIRENT_SIZE>(&mut slot, field::<22, 4, 26>(&stored));
        slot
    }
}

/// Returns the checksum by which long-name slots refer to the entry called `name`.
///
/// A sum of the bytes as stored, rotated right by one bit before each addition (fatgen103,
/// "Organization and Association of Short & Long Directory Entries").
pub fn checksum(name: &ShortName) -> u8 {
    name.on_disk()
        .iter()
        .fold(0, |sum: u8, byte| sum.rotate_right(1).wrapping_add(*byte))
}

/// Returns the number of slots for a name of `units` UTF-16 units.
///
/// A name that fills its last slot has no terminating NUL.
pub const fn slots_needed(units: usize) -> usize {
    units.div_ceil(UNITS_PER_SLOT)
}

/// Returns slot `ordinal`, from 1, of `name`.
///
/// On the disk, slot [`slots_needed`] comes first and slot 1 last. An `ordinal` that the name does
/// not need gives a slot of padding.
pub fn encode_slots(name: &[u16], checksum: u8, ordinal: u8) -> [u8; DIRENT_SIZE] {
    let start = usize::from(ordinal.saturating_sub(1)).saturating_mul(UNITS_PER_SLOT);
    let part = name.get(start..).unwrap_or(&[]);
    let terminated = part.iter().copied().chain([0]);
    let mut units = [PADDING; UNITS_PER_SLOT];
    for (unit, value) in units.iter_mut().zip(terminated) {
        *unit = value;
    }
    LongSlot {
        ordinal,
        last: usize::from(ordinal) == slots_needed(name.len()),
        checksum,
        units,
    }
    .encode()
}

/// How far a set of slots has been read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Not in a set.
    Idle,
    /// The slot with this ordinal, at least 1, comes next.
    Expecting(u8),
    /// All slots are there; the entry comes next.
    Complete,
}

/// Puts the slots of a directory together to names.
///
/// Feed it the long-name slots as they come, and call [`finish`](Self::finish) at each entry and
/// [`reset`](Self::reset) at any other kind of slot.
#[derive(Clone, Debug)]
pub struct LongNameAssembler {
    units: [u16; MAX_SLOTS * UNITS_PER_SLOT],
    progress: Progress,
    slots: u8,
    checksum: u8,
}

impl Default for LongNameAssembler {
    fn default() -> Self {
        Self::new()
    }
}

impl LongNameAssembler {
    /// Returns an assembler that is not in a set.
    pub const fn new() -> Self {
        Self {
            units: [0; MAX_SLOTS * UNITS_PER_SLOT],
            progress: Progress::Idle,
            slots: 0,
            checksum: 0,
        }
    }

    /// Takes the next slot.
    ///
    /// One that does not continue the set ends it, and starts a new set if it can.
    pub fn feed(&mut self, slot: &LongSlot) {
        match self.progress {
            Progress::Expecting(ordinal)
                if slot.ordinal == ordinal && slot.checksum == self.checksum => {}
            _ if slot.last && (1..=MAX_SLOTS).contains(&usize::from(slot.ordinal)) => {
                self.slots = slot.ordinal;
                self.checksum = slot.checksum;
            }
            _ => {
                self.reset();
                return;
            }
        }
        self.store(slot);
    }

    /// Stores the units of `slot`, whose ordinal was checked, and moves on to the next.
    fn store(&mut self, slot: &LongSlot) {
        let before = slot.ordinal.saturating_sub(1);
        let start = usize::from(before).saturating_mul(UNITS_PER_SLOT);
        let tail = self.units.get_mut(start..).unwrap_or(&mut []);
        for (unit, value) in tail.iter_mut().zip(slot.units) {
            *unit = value;
        }
        if slot.last {
            // The name ends here. Linux vfat honours the mark in any slot.
            if let Some(unit) = tail.get_mut(UNITS_PER_SLOT) {
                *unit = 0;
            }
        }
        self.progress = match before {
            0 => Progress::Complete,
            ordinal => Progress::Expecting(ordinal),
        };
    }

    /// Forgets the set.
    pub fn reset(&mut self) {
        self.progress = Progress::Idle;
        self.slots = 0;
    }

    /// Returns the long name of the entry called `short`, and forgets the set.
    ///
    /// [`None`] if the entry has none: the set is incomplete, belongs to another entry, or holds a
    /// name that is empty or longer than [`MAX_UNITS`]. Only the last differs from Linux vfat,
    /// which shows names of up to 260 units that it can't look up again.
    pub fn finish(&mut self, short: &ShortName) -> Option<&[u16]> {
        let complete = self.progress == Progress::Complete;
        self.progress = Progress::Idle;
        if !complete || checksum(short) != self.checksum {
            self.slots = 0;
            return None;
        }
        let stored = usize::from(self.slots).saturating_mul(UNITS_PER_SLOT);
        let name = self.units.get(..stored)?.split(|unit| *unit == 0).next()?;
        (1..=MAX_UNITS).contains(&name.len()).then_some(name)
    }

    /// Returns the number of long-name slots of the entry that [`finish`](Self::finish) was last
    /// called for: those to remove with it, even if the name in them is of no use.
    pub fn slots(&self) -> usize {
        usize::from(self.slots)
    }
}
