// SPDX-License-Identifier: GPL-2.0

//! Slots of a directory, and long names put together from them.

use super::fat_type;
use crate::input::Input;
use rvfat_unit::ondisk::{
    attr, longname, Attrs, Cluster, DosStamp, LongNameAssembler, LongSlot, ModeOptions, RawDirent,
    ShortName, SlotKind,
};

/// The input gives slots: as they are, or as whole names, sound or with one thing wrong.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut reader = Reader {
        assembler: LongNameAssembler::new(),
        longs: 0,
    };
    for _ in 0..40 {
        if input.is_empty() {
            return;
        }
        match input.below(4) {
            0 => {
                reader.slot(RawDirent::from_bytes(input.array()));
            }
            1 => {
                // A long-name slot, likely to go with its neighbours.
                let (order, checksum, unit) = (input.u8(), input.u8(), input.u16());
                let slot = LongSlot {
                    ordinal: order & 0x3F,
                    last: order & 0x40 != 0,
                    checksum,
                    units: [unit; 13],
                };
                reader.slot(RawDirent::from_bytes(slot.encode()));
            }
            2 => fields(RawDirent::from_bytes(input.array()), &mut input),
            _ => set(&mut reader, &mut input),
        }
    }
}

/// Reads slots as a directory's reader does.
struct Reader {
    assembler: LongNameAssembler,
    /// Long-name slots since the last of another kind.
    longs: usize,
}

impl Reader {
    /// Takes a slot; gives the long name of an entry.
    fn slot(&mut self, raw: RawDirent) -> Option<Vec<u16>> {
        assert_eq!(RawDirent::from_bytes(*raw.as_bytes()), raw);
        match raw.kind() {
            SlotKind::Long(slot) => {
                self.assembler.feed(&slot);
                self.longs += 1;
                assert_eq!(LongSlot::parse(&slot.encode()), slot);
                None
            }
            SlotKind::Entry => {
                let name = self.assembler.finish(&raw.name()).map(<[u16]>::to_vec);
                let slots = self.assembler.slots();
                assert!(slots <= self.longs && slots <= longname::MAX_SLOTS);
                if let Some(name) = &name {
                    assert!((1..=255).contains(&name.len()) && !name.contains(&0));
                    assert!(longname::slots_needed(name.len()) <= slots);
                }
                self.longs = 0;
                name
            }
            SlotKind::End | SlotKind::Deleted | SlotKind::VolumeLabel => {
                self.assembler.reset();
                assert_eq!(self.assembler.slots(), 0);
                self.longs = 0;
                None
            }
        }
    }
}

/// A whole name with its entry, from the input's units, with at most one flaw.
fn set(reader: &mut Reader, input: &mut Input<'_>) {
    let units = input.units(300);
    let short = ShortName::from_disk(input.array());
    let (flaw, which) = (input.u8() % 8, usize::from(input.u8()));
    let n = longname::slots_needed(units.len());
    if n > usize::from(u8::MAX) {
        return;
    }
    let sum = longname::checksum(&short);
    let mut slots: Vec<[u8; 32]> = (1..=n as u8)
        .rev()
        .map(|ordinal| longname::encode_slots(&units, sum, ordinal))
        .collect();
    let flawed = n > 0 && flaw < 5;
    if flawed {
        let at = which % n;
        match flaw {
            0 => drop(slots.remove(at)),
            1 => slots[at][13] ^= 1 + (which as u8 & 0x7E),
            2 => slots[at][0] ^= 1 << (which % 6),
            3 => slots[0][0] &= !0x40,
            _ => slots[at][0] = 0xE5,
        }
    }
    for s in slots {
        reader.slot(RawDirent::from_bytes(s));
    }
    let entry = RawDirent::new(short, Attrs::ARCHIVE, 0, DosStamp::default(), None);
    if !matches!(entry.kind(), SlotKind::Entry) {
        reader.slot(entry);
        return;
    }
    let got = reader.slot(entry);
    if flawed {
        assert_ne!(got.as_deref(), Some(&units[..]), "flaw {flaw} went unseen");
    } else if (1..=255).contains(&units.len()) && !units.contains(&0) {
        assert_eq!(got.as_deref(), Some(&units[..]));
        assert_eq!(reader.assembler.slots(), n);
    }
}

/// Fields of an entry: what is set is read back, and nothing else changes.
fn fields(raw: RawDirent, input: &mut Input<'_>) {
    let ty = fat_type(input.below(3));
    let cluster = Cluster::new(input.u32());
    let mut e = raw;
    e.set_start(cluster);
    let want = cluster.map_or(0, Cluster::get);
    let kept = if ty.bits() == 32 { u32::MAX } else { 0xFFFF };
    assert_eq!(e.start(ty), want & kept);
    e.set_size(raw.size());
    e.set_lcase(raw.lcase());
    e.set_attrs(raw.attrs());
    e.set_name(raw.name());
    e.set_created(raw.created());
    e.set_modified(raw.modified());
    e.set_accessed(raw.adate());
    assert_eq!(e.size(), raw.size());
    assert_eq!((e.created(), e.modified()), (raw.created(), raw.modified()));
    for (at, (new, old)) in e.as_bytes().iter().zip(raw.as_bytes()).enumerate() {
        assert!(new == old || (20..22).contains(&at) || (26..28).contains(&at));
    }
    e.mark_deleted();
    assert_eq!(e.kind(), SlotKind::Deleted);
    modes(&raw, input);
}

/// The mode made from the attributes, and back.
fn modes(raw: &RawDirent, input: &mut Input<'_>) {
    let bits = input.u8();
    let opts = ModeOptions {
        fmask: input.u16() & 0o777,
        dmask: input.u16() & 0o777,
        rodir: bits & 1 != 0,
        showexec: bits & 2 != 0,
    };
    let attrs = raw.attrs();
    let mode = attr::make_mode(attrs, &raw.name().extension(), &opts);
    let is_dir = attrs.is_dir();
    assert_eq!(mode & 0o170000, if is_dir { 0o040000 } else { 0o100000 });
    let saved = attr::saved_attrs(attrs, is_dir, &opts);
    let back = attr::make_attrs(saved, mode, &opts);
    // The label's bit and the two reserved ones have no place in memory.
    let kept = Attrs::from_bits(0x37);
    assert_eq!(back.intersection(kept), attrs.intersection(kept));
    if let Some(new) = attr::sanitize_mode(mode, input.u16(), &opts) {
        assert_eq!(new & 0o555, mode & 0o555);
    }
    assert_eq!(attr::sanitize_mode(mode, mode, &opts), Some(mode));
}
