// SPDX-License-Identifier: GPL-2.0

//! What the content of a file may be after a cut.

use crate::content::{self, Gen, Grain, Obj, GRAIN, ZERO};
use crate::history::{Change, History, Moment};

/// What a file may hold.
#[derive(Debug)]
pub struct Expected {
    obj: Obj,
    /// What is promised, byte by byte.
    base: Vec<Gen>,
    /// Sizes it may have: from, to.
    sizes: Vec<(u64, u64)>,
    /// Bytes that may have been written since, or be zero: from, to, which.
    since: Vec<(u64, u64, Gen)>,
    /// Whether its space was changed since, so that its chain may be longer than its size.
    pub moving: bool,
}

/// Carries out a change on the promised content.
fn apply(base: &mut Vec<Gen>, change: Change) {
    match change {
        Change::Write { off, len, gen, .. } if len > 0 => {
            let (off, end) = (off as usize, (off + len) as usize);
            if base.len() < end {
                base.resize(end, ZERO);
            }
            base[off..end].fill(gen);
        }
        Change::Store { off, len, gen } => {
            let end = ((off + len) as usize).min(base.len());
            if let Some(part) = base.get_mut(off as usize..end) {
                part.fill(gen);
            }
        }
        Change::Resize(size) => base.resize(size as usize, ZERO),
        Change::Write { .. } | Change::Reserve => {}
    }
}

impl Expected {
    /// What `obj` may hold at a moment.
    pub fn new(history: &History, obj: Obj, at: Moment) -> Self {
        let floor = history.content_floor(obj, at.done);
        let mut expected = Self {
            obj,
            base: Vec::new(),
            sizes: Vec::new(),
            since: Vec::new(),
            moving: false,
        };
        let changes = history.objs.get(&obj).map_or(&[][..], |o| &o.changes);
        let promised = changes.partition_point(|(step, _)| Some(*step) <= floor);
        for (_, change) in &changes[..promised] {
            apply(&mut expected.base, *change);
            // Space that was reserved stays until the inode leaves memory.
            expected.moving |= *change == Change::Reserve;
        }
        let size = expected.base.len() as u64;
        expected.sizes.push((size, size));
        let mut now = size;
        for (step, change) in &changes[promised..] {
            if Some(*step) <= at.begun {
                now = expected.pending(*change, now, Some(*step) <= at.done);
            }
        }
        expected
    }

    /// Allows for a change that is not promised; returns the size after it.
    fn pending(&mut self, change: Change, size: u64, done: bool) -> u64 {
        match change {
            Change::Write {
                off,
                len,
                tried,
                gen,
            } => {
                let len = if done { len } else { tried };
                let end = off + len;
                self.since.push((off, end, gen));
                if end <= size || len == 0 {
                    return size;
                }
                // What it gained may have been zeroed and not written yet.
                self.since.push((size, end, ZERO));
                self.sizes.push((size, end));
                self.moving = true;
                end
            }
            Change::Store { off, len, gen } => {
                self.since.push((off, (off + len).min(size), gen));
                size
            }
            Change::Resize(new) => {
                // Bytes that are cut off may be zeroed before the size is on disk.
                self.since.push((size.min(new), size.max(new), ZERO));
                self.sizes.push((new, new));
                self.moving = true;
                new
            }
            Change::Reserve => {
                self.moving = true;
                size
            }
        }
    }

    /// The promised size.
    pub fn promised_size(&self) -> u64 {
        self.base.len() as u64
    }

    /// What is wrong with `bytes` as the content of the file.
    pub fn check(&self, bytes: &[u8]) -> Result<(), String> {
        let size = bytes.len() as u64;
        if !self.sizes.iter().any(|(a, b)| (*a..=*b).contains(&size)) {
            return Err(format!("size {size}, allowed {}", self.show_sizes()));
        }
        // Pieces between which nothing changes.
        let mut cuts: Vec<u64> = self.since.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        cuts.extend([0, size, self.promised_size()]);
        cuts.retain(|at| *at <= size);
        cuts.sort_unstable();
        cuts.dedup();
        for piece in cuts.windows(2) {
            self.check_piece(bytes, piece[0], piece[1])?;
        }
        Ok(())
    }

    fn check_piece(&self, bytes: &[u8], from: u64, to: u64) -> Result<(), String> {
        let mut gens: Vec<Gen> = Vec::new();
        for (a, b, gen) in &self.since {
            if *a <= from && to <= *b && !gens.contains(gen) {
                gens.push(*gen);
            }
        }
        for at in from as usize..to as usize {
            let is = |gen: Gen| bytes[at] == content::byte(self.obj, gen, at);
            let promised = self.base.get(at).copied();
            if !promised.is_some_and(is) && !gens.iter().any(|gen| is(*gen)) {
                gens.extend(promised);
                return Err(self.explain(bytes, at, &gens));
            }
        }
        Ok(())
    }

    /// Says what is wrong at a byte, and how far the wrong grains reach.
    fn explain(&self, bytes: &[u8], at: usize, gens: &[Gen]) -> String {
        let start = at - at % GRAIN;
        let found = grain_at(bytes, start);
        let kind = |g: &Grain| match g {
            Grain::Data { obj, gen, .. } => (1, *obj, *gen),
            Grain::Stale(_) => (2, 0, 0),
            Grain::Zero => (3, 0, 0),
            Grain::Unknown => (4, 0, 0),
        };
        let mut end = start;
        while end < bytes.len() && kind(&grain_at(bytes, end)) == kind(&found) {
            end += GRAIN;
        }
        let what = match found {
            Grain::Data { obj, .. } if obj != self.obj => {
                format!("bytes of another file: {found:?}")
            }
            Grain::Data { .. } => format!("bytes of its own that do not belong there: {found:?}"),
            Grain::Stale(sector) => format!("stale bytes of sector {sector}"),
            Grain::Zero => "zeros".to_string(),
            Grain::Unknown => "unknown bytes".to_string(),
        };
        format!(
            "{what} at {at} (up to {}) of {}, allowed writes {gens:?}",
            end.min(bytes.len()),
            bytes.len()
        )
    }

    fn show_sizes(&self) -> String {
        let one = |(a, b): &(u64, u64)| match a == b {
            true => a.to_string(),
            false => format!("{a}-{b}"),
        };
        let mut sizes: Vec<String> = self.sizes.iter().map(one).collect();
        sizes.dedup();
        sizes.join(", ")
    }
}

fn grain_at(bytes: &[u8], at: usize) -> Grain {
    content::identify(&bytes[at..bytes.len().min(at + GRAIN)])
}

/// The file whose bytes these are, by the first grain that names one.
pub fn owner(bytes: &[u8]) -> Option<Obj> {
    bytes
        .chunks(GRAIN)
        .find_map(|chunk| match content::identify(chunk) {
            Grain::Data { obj, .. } => Some(obj),
            _ => None,
        })
}
