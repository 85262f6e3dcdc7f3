// SPDX-License-Identifier: GPL-2.0

//! A volume in memory: its shape, its bytes, and the parts of the format needed to fill it and
//! to break it. Pages that hold nothing but zeroes take no room, so that a volume may be large.

use super::slots::{short_slot, Name};
use crate::rng::Rng;
use crate::sys;
use std::collections::BTreeMap;
use std::fs::File;

const PAGE: u64 = 4096;

/// What the boot sector says.
#[derive(Clone, Debug)]
pub struct Shape {
    pub bits: u32,
    pub sector: u64,
    pub per_cluster: u64,
    pub reserved: u64,
    pub fats: u64,
    pub fat_sectors: u64,
    pub root_entries: u64,
    pub root_cluster: u32,
    pub clusters: u32,
}

impl Shape {
    /// Length of a cluster in bytes.
    pub fn cluster(&self) -> u64 {
        self.sector * self.per_cluster
    }

    /// Where the first FAT starts.
    pub fn fat_start(&self) -> u64 {
        self.reserved * self.sector
    }

    /// Length of one FAT in bytes.
    pub fn fat_bytes(&self) -> u64 {
        self.fat_sectors * self.sector
    }

    /// Where the fixed root directory starts.
    pub fn root_start(&self) -> u64 {
        self.fat_start() + self.fats * self.fat_bytes()
    }

    /// Where cluster 2 starts.
    pub fn data_start(&self) -> u64 {
        self.root_start() + self.root_entries * 32
    }

    /// Length of the volume in bytes.
    pub fn bytes(&self) -> u64 {
        self.data_start() + self.clusters as u64 * self.cluster()
    }

    /// Where a cluster starts.
    pub fn at(&self, cluster: u32) -> u64 {
        self.data_start() + (cluster as u64 - 2) * self.cluster()
    }

    /// The highest FAT value: the end of a chain.
    pub fn end_mark(&self) -> u32 {
        match self.bits {
            12 => 0xFFF,
            16 => 0xFFFF,
            _ => 0x0FFF_FFFF,
        }
    }

    /// The highest cluster number.
    pub fn last(&self) -> u32 {
        self.clusters + 1
    }
}

/// A directory, as it was built.
#[derive(Clone, Debug)]
pub struct Dir {
    /// Its path below the mount point.
    pub path: String,
    /// Its clusters; empty for a fixed root.
    pub chain: Vec<u32>,
    /// Where its slots are.
    pub slots: Vec<u64>,
    /// How many are in use.
    pub used: usize,
    /// Where its entry is; none for the root.
    pub entry: Option<u64>,
    pub parent: usize,
}

/// A file, as it was built.
#[derive(Clone, Debug)]
pub struct Regular {
    pub path: String,
    pub chain: Vec<u32>,
    pub size: u64,
    /// Where its entry is.
    pub entry: u64,
    /// Where its long-name slots are, in the order of the disk.
    pub longs: Vec<u64>,
    /// Its content's tag, for `expect::pattern`.
    pub tag: u32,
}

/// The volume.
pub struct Image {
    pub shape: Shape,
    pages: BTreeMap<u64, Box<[u8; PAGE as usize]>>,
    pub dirs: Vec<Dir>,
    pub files: Vec<Regular>,
    /// Where the search for free clusters goes on.
    next: u32,
    free: u32,
}

impl Image {
    /// A formatted volume that is empty.
    pub fn new(shape: Shape) -> Image {
        let mut v = Image {
            pages: BTreeMap::new(),
            dirs: Vec::new(),
            files: Vec::new(),
            next: 2,
            free: shape.clusters,
            shape,
        };
        v.format();
        v
    }

    fn format(&mut self) {
        let s = self.shape.clone();
        let total = s.bytes() / s.sector;
        let mut b = [0u8; 512];
        b[..3].copy_from_slice(&[0xEB, 0x58, 0x90]);
        b[3..11].copy_from_slice(b"HOSTILE ");
        b[11..13].copy_from_slice(&(s.sector as u16).to_le_bytes());
        b[13] = s.per_cluster as u8;
        b[14..16].copy_from_slice(&(s.reserved as u16).to_le_bytes());
        b[16] = s.fats as u8;
        b[17..19].copy_from_slice(&(s.root_entries as u16).to_le_bytes());
        if total < 0x1_0000 && s.bits != 32 {
            b[19..21].copy_from_slice(&(total as u16).to_le_bytes());
        } else {
            b[32..36].copy_from_slice(&(total as u32).to_le_bytes());
        }
        b[21] = 0xF8;
        let tail = if s.bits == 32 {
            b[36..40].copy_from_slice(&(s.fat_sectors as u32).to_le_bytes());
            b[44..48].copy_from_slice(&s.root_cluster.to_le_bytes());
            b[48] = 1;
            b[50] = 6;
            64
        } else {
            b[22..24].copy_from_slice(&(s.fat_sectors as u16).to_le_bytes());
            36
        };
        b[tail] = 0x80;
        b[tail + 2] = 0x29;
        b[tail + 3..tail + 7].copy_from_slice(&0x1234_ABCDu32.to_le_bytes());
        b[tail + 7..tail + 18].copy_from_slice(b"HOSTILE    ");
        b[tail + 18..tail + 26].copy_from_slice(match s.bits {
            12 => b"FAT12   ",
            16 => b"FAT16   ",
            _ => b"FAT32   ",
        });
        b[510..].copy_from_slice(&[0x55, 0xAA]);
        self.write(0, &b);
        if s.bits == 32 && s.reserved > 7 {
            self.write(6 * s.sector, &b);
        }
        self.set(0, s.end_mark() - 7);
        self.set(1, s.end_mark());
        let mut root = Dir {
            path: String::new(),
            chain: Vec::new(),
            slots: (0..s.root_entries)
                .map(|i| s.root_start() + i * 32)
                .collect(),
            used: 0,
            entry: None,
            parent: 0,
        };
        if s.bits == 32 {
            self.set(s.root_cluster, s.end_mark());
            self.free -= 1;
            root.chain = vec![s.root_cluster];
            root.slots = self.slots_of(s.root_cluster);
        }
        self.dirs.push(root);
    }

    /// Writes the hints of FAT32 as they are now.
    pub fn write_fsinfo(&mut self) {
        if self.shape.bits == 32 {
            let at = self.shape.sector;
            self.write(at, b"RRaA");
            self.write(at + 484, b"rrAa");
            self.write(at + 488, &self.free.to_le_bytes());
            self.write(at + 492, &self.next.to_le_bytes());
            self.write(at + 508, &[0, 0, 0x55, 0xAA]);
        }
    }

    /// Some bytes.
    pub fn read(&self, at: u64, len: usize) -> Vec<u8> {
        let mut out = vec![0; len];
        let mut done = 0;
        while done < len {
            let i = at + done as u64;
            let from = (i % PAGE) as usize;
            let n = (len - done).min(PAGE as usize - from);
            if let Some(p) = self.pages.get(&(i / PAGE)) {
                out[done..done + n].copy_from_slice(&p[from..from + n]);
            }
            done += n;
        }
        out
    }

    /// Overwrites bytes.
    pub fn write(&mut self, mut at: u64, mut data: &[u8]) {
        while !data.is_empty() {
            let (page, from) = (at / PAGE, (at % PAGE) as usize);
            let n = data.len().min(PAGE as usize - from);
            let p = self
                .pages
                .entry(page)
                .or_insert_with(|| Box::new([0; PAGE as usize]));
            p[from..from + n].copy_from_slice(&data[..n]);
            (at, data) = (at + n as u64, &data[n..]);
        }
    }

    /// Flips a bit.
    pub fn flip(&mut self, at: u64, bit: u64) {
        let b = self.read(at, 1)[0] ^ (1 << (bit % 8));
        self.write(at, &[b]);
    }

    /// Where the bytes of a FAT entry are: in the copy, and how far to shift.
    fn entry(&self, copy: u64, cluster: u32) -> (u64, u32, u32) {
        let (c, base) = (
            cluster as u64,
            self.shape.fat_start() + copy * self.shape.fat_bytes(),
        );
        match self.shape.bits {
            12 => (base + c * 3 / 2, 4 * (cluster % 2), 0xFFF),
            16 => (base + c * 2, 0, 0xFFFF),
            _ => (base + c * 4, 0, 0x0FFF_FFFF),
        }
    }

    /// A FAT entry of the first copy.
    pub fn get(&self, cluster: u32) -> u32 {
        let (at, shift, mask) = self.entry(0, cluster);
        let b = self.read(at, 4);
        (u32::from_le_bytes([b[0], b[1], b[2], b[3]]) >> shift) & mask
    }

    /// Sets a FAT entry in one copy.
    pub fn set_copy(&mut self, copy: u64, cluster: u32, value: u32) {
        let (at, shift, mask) = self.entry(copy, cluster);
        let width = if self.shape.bits == 32 { 4 } else { 2 };
        let b = self.read(at, 4);
        let old = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let new = (old & !(mask << shift)) | ((value & mask) << shift);
        self.write(at, &new.to_le_bytes()[..width]);
    }

    /// Sets a FAT entry in every copy.
    pub fn set(&mut self, cluster: u32, value: u32) {
        for copy in 0..self.shape.fats {
            self.set_copy(copy, cluster, value);
        }
    }

    /// Allocates a chain, with gaps if `scatter`. Fewer clusters if the volume is full.
    pub fn alloc(&mut self, n: u64, rng: &mut Rng, scatter: bool) -> Vec<u32> {
        let mut chain: Vec<u32> = Vec::new();
        let mut tried = 0;
        while (chain.len() as u64) < n && self.free > 0 && tried <= self.shape.clusters {
            let c = self.next;
            let skip = if scatter && rng.one_in(3) {
                1 + rng.below(5) as u32
            } else {
                1
            };
            self.next = if c + skip > self.shape.last() {
                2
            } else {
                c + skip
            };
            tried += 1;
            if self.get(c) != 0 {
                continue;
            }
            self.set(c, self.shape.end_mark());
            if let Some(&last) = chain.last() {
                self.set(last, c);
            }
            chain.push(c);
            self.free -= 1;
            tried = 0;
        }
        if tried > self.shape.clusters {
            // What is broken already may have left fewer than were counted.
            self.free = 0;
        }
        chain
    }

    fn slots_of(&self, cluster: u32) -> Vec<u64> {
        let at = self.shape.at(cluster);
        (0..self.shape.cluster() / 32)
            .map(|i| at + i * 32)
            .collect()
    }

    /// Makes room for `n` more slots of a directory; false if there is none.
    fn grow(&mut self, dir: usize, n: usize, rng: &mut Rng) -> bool {
        while self.dirs[dir].slots.len() - self.dirs[dir].used < n {
            let Some(&last) = self.dirs[dir].chain.last() else {
                return false;
            };
            let Some(&c) = self.alloc(1, rng, false).first() else {
                return false;
            };
            self.set(last, c);
            let more = self.slots_of(c);
            self.dirs[dir].chain.push(c);
            self.dirs[dir].slots.extend(more);
        }
        true
    }

    /// Appends slots as they are; gives where they are.
    pub fn append(&mut self, dir: usize, slots: &[[u8; 32]], rng: &mut Rng) -> Option<Vec<u64>> {
        if !self.grow(dir, slots.len(), rng) {
            return None;
        }
        let used = self.dirs[dir].used;
        let at = self.dirs[dir].slots[used..used + slots.len()].to_vec();
        for (at, s) in at.iter().zip(slots) {
            self.write(*at, s);
        }
        self.dirs[dir].used += slots.len();
        Some(at)
    }

    /// Adds a file with content of a tag; false if there is no room.
    pub fn add_file(
        &mut self,
        dir: usize,
        name: &Name,
        size: u64,
        tag: u32,
        rng: &mut Rng,
    ) -> bool {
        let scatter = rng.one_in(3);
        let chain = self.alloc(size.div_ceil(self.shape.cluster()), rng, scatter);
        let size = size.min(chain.len() as u64 * self.shape.cluster());
        let data = crate::expect::pattern(tag, 0, size as usize);
        for (c, part) in chain.iter().zip(data.chunks(self.shape.cluster() as usize)) {
            self.write(self.shape.at(*c), part);
        }
        let start = chain.first().copied().unwrap_or(0);
        let mut slots = name.long_slots();
        slots.push(short_slot(&name.short, 0x20, start, size as u32));
        let Some(mut at) = self.append(dir, &slots, rng) else {
            return false;
        };
        let entry = at.pop().expect("a slot");
        self.files.push(Regular {
            path: self.path(dir, name),
            chain,
            size,
            entry,
            longs: at,
            tag,
        });
        true
    }

    /// Adds a directory; gives its number.
    pub fn add_dir(&mut self, dir: usize, name: &Name, rng: &mut Rng) -> Option<usize> {
        let start = *self.alloc(1, rng, false).first()?;
        let up = if dir == 0 { 0 } else { self.dirs[dir].chain[0] };
        let mut slots = name.long_slots();
        slots.push(short_slot(&name.short, 0x10, start, 0));
        let at = self.append(dir, &slots, rng)?;
        let new = Dir {
            path: self.path(dir, name),
            chain: vec![start],
            slots: self.slots_of(start),
            used: 0,
            entry: at.last().copied(),
            parent: dir,
        };
        self.dirs.push(new);
        let n = self.dirs.len() - 1;
        let dots = [
            short_slot(b".          ", 0x10, start, 0),
            short_slot(b"..         ", 0x10, up, 0),
        ];
        self.append(n, &dots, rng)?;
        Some(n)
    }

    fn path(&self, dir: usize, name: &Name) -> String {
        let leaf = name.shown();
        match self.dirs[dir].path.as_str() {
            "" => leaf,
            p => format!("{p}/{leaf}"),
        }
    }

    /// Replaces a device's backing file with this volume.
    pub fn store(&self, backing: &File, device: u64) -> sys::Res<()> {
        // FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
        sys::fallocate(backing, 3, 0, device as i64)?;
        for (n, p) in &self.pages {
            let at = n * PAGE;
            if at < device {
                let len = (device - at).min(PAGE) as usize;
                sys::pwrite_all(backing, &p[..len], at as i64)?;
            }
        }
        Ok(())
    }

    /// The start cluster in the entry at `slot`.
    pub fn set_start(&mut self, slot: u64, cluster: u32) {
        self.write(slot + 26, &(cluster as u16).to_le_bytes());
        self.write(slot + 20, &((cluster >> 16) as u16).to_le_bytes());
    }

    /// The size in the entry at `slot`.
    pub fn set_size(&mut self, slot: u64, size: u32) {
        self.write(slot + 28, &size.to_le_bytes());
    }
}
