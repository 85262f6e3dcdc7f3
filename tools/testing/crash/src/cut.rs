// SPDX-License-Identifier: GPL-2.0

//! Power cuts: which, and what the disk holds after them.
//!
//! A disk with a volatile cache may have put any of the writes since the last flush on the medium
//! before the cut, and torn any of them between two sectors. A disk without one has all that it
//! completed, and a part of what was on its way.

use std::fmt;
use std::str::FromStr;

use anyhow::{bail, ensure, Context, Result};

use crate::log::{Entry, SECTOR};
use crate::rng::Rng;

/// Which of the writes since the last flush are on the medium.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kept {
    /// All.
    All,
    /// None.
    Nothing,
    /// All, but of the last one only the first so many sectors.
    Torn(usize),
    /// All but the one that many places from the last.
    Without(usize),
    /// Only the one that many places from the last.
    Only(usize),
    /// All but so many of the first.
    Late(usize),
    /// Any; some of them torn.
    Random(u64),
}

/// A power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cut {
    /// Entries of the log before the cut.
    pub at: usize,
    /// Which of their writes are there.
    pub kept: Kept,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match self.kept {
            Kept::All => write!(f, "{at}:all"),
            Kept::Nothing => write!(f, "{at}:nothing"),
            Kept::Torn(n) => write!(f, "{at}:torn:{n}"),
            Kept::Without(n) => write!(f, "{at}:without:{n}"),
            Kept::Only(n) => write!(f, "{at}:only:{n}"),
            Kept::Late(n) => write!(f, "{at}:late:{n}"),
            Kept::Random(n) => write!(f, "{at}:random:{n}"),
        }
    }
}

impl FromStr for Cut {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let at = parts.next().unwrap_or_default();
        let at = at.parse().with_context(|| format!("no cut: {text}"))?;
        let kind = parts.next().unwrap_or_default();
        let number: u64 = match parts.next() {
            None => 0,
            Some(number) => number.parse().with_context(|| format!("no cut: {text}"))?,
        };
        let n = usize::try_from(number).unwrap_or(usize::MAX);
        let kept = match kind {
            "all" => Kept::All,
            "nothing" => Kept::Nothing,
            "torn" => Kept::Torn(n),
            "without" => Kept::Without(n),
            "only" => Kept::Only(n),
            "late" => Kept::Late(n),
            "random" => Kept::Random(number),
            _ => bail!("no cut: {text}"),
        };
        Ok(Self { at, kept })
    }
}

/// The medium at one position of the log, and the writes that may be on it or not.
pub struct Medium<'a> {
    entries: &'a [Entry],
    /// Whether the disk has a volatile cache.
    volatile: bool,
    /// What is there for sure.
    pub bytes: Vec<u8>,
    /// Entries that `bytes` has.
    settled: usize,
    /// Entries that were looked at.
    at: usize,
}

impl<'a> Medium<'a> {
    /// The medium before the first entry.
    pub fn new(base: Vec<u8>, entries: &'a [Entry], volatile: bool) -> Self {
        Self {
            entries,
            volatile,
            bytes: base,
            settled: 0,
            at: 0,
        }
    }

    /// Goes on to position `at`, which is not before the last one.
    pub fn advance(&mut self, at: usize) -> Result<()> {
        ensure!(
            self.at <= at && at <= self.entries.len(),
            "no position {at}"
        );
        let settled = match self.volatile {
            true => self.entries[..at]
                .iter()
                .rposition(|e| *e == Entry::Flush)
                .unwrap_or(0),
            false => at,
        };
        let entries = self.entries;
        for entry in &entries[self.settled.min(settled)..settled] {
            for piece in pieces(entry, usize::MAX) {
                self.put(&piece);
            }
        }
        self.settled = self.settled.max(settled);
        self.at = at;
        Ok(())
    }

    fn put(&mut self, piece: &Piece<'_>) -> Vec<u8> {
        let Some(place) = self.bytes.get_mut(piece.range()) else {
            return Vec::new();
        };
        let old = place.to_vec();
        piece.store(place);
        old
    }

    /// The writes that may be on the medium or not, with their places in the log.
    fn window(&self) -> Vec<usize> {
        let is_write = |e: &Entry| matches!(e, Entry::Write { .. } | Entry::Discard { .. });
        (self.settled..self.at)
            .filter(|i| is_write(&self.entries[*i]))
            .collect()
    }

    /// The pieces of those that `kept` leaves there.
    fn kept(&self, kept: Kept) -> Vec<Piece<'a>> {
        let window = self.window();
        let count = window.len();
        let mut rng = match kept {
            Kept::Random(seed) => Rng::named(seed, "kept"),
            _ => Rng::new(0),
        };
        let style = rng.below(3);
        let mut out = Vec::new();
        for (i, index) in window.into_iter().enumerate() {
            let back = count - 1 - i;
            let entry = &self.entries[index];
            let fua = matches!(entry, Entry::Write { fua: true, .. });
            let sectors = match kept {
                _ if fua => usize::MAX,
                Kept::All => usize::MAX,
                Kept::Nothing => 0,
                Kept::Torn(n) if back == 0 => n,
                Kept::Torn(_) => usize::MAX,
                Kept::Without(n) => {
                    if back == n {
                        0
                    } else {
                        usize::MAX
                    }
                }
                Kept::Only(n) => {
                    if back == n {
                        usize::MAX
                    } else {
                        0
                    }
                }
                Kept::Late(n) => {
                    if i < n {
                        0
                    } else {
                        usize::MAX
                    }
                }
                // Half of them, few of them, most of them; one in eight is torn.
                Kept::Random(_) => match rng.below(8) {
                    0 => rng.below(16) as usize,
                    n => match (style, n) {
                        (0, 1..=3) | (1, 1..=6) | (2, 1) => 0,
                        _ => usize::MAX,
                    },
                },
            };
            if sectors > 0 {
                out.extend(pieces(entry, sectors));
            }
        }
        out
    }

    /// Calls `f` with the medium after a cut here. A disk without a cache tears what comes next.
    pub fn with_cut<T>(&mut self, kept: Kept, f: impl FnOnce(&[u8]) -> T) -> T {
        let entries = self.entries;
        let there = match (self.volatile, kept) {
            (true, kept) => self.kept(kept),
            (false, Kept::Torn(n)) => entries.get(self.at).map_or(Vec::new(), |e| pieces(e, n)),
            (false, _) => Vec::new(),
        };
        let undo: Vec<_> = there.iter().map(|p| (p.range(), self.put(p))).collect();
        let result = f(&self.bytes);
        for (range, old) in undo.into_iter().rev() {
            if let Some(place) = self.bytes.get_mut(range) {
                if place.len() == old.len() {
                    place.copy_from_slice(&old);
                }
            }
        }
        result
    }
}

/// Bytes for the medium.
struct Piece<'a> {
    start: usize,
    len: usize,
    /// `None`: discarded.
    data: Option<&'a [u8]>,
}

impl Piece<'_> {
    fn range(&self) -> std::ops::Range<usize> {
        self.start..self.start + self.len
    }

    fn store(&self, place: &mut [u8]) {
        match self.data {
            Some(data) => place.copy_from_slice(data),
            None => place.fill(0xDD),
        }
    }
}

/// The first `sectors` sectors of an entry, as a list of at most one.
fn pieces(entry: &Entry, sectors: usize) -> Vec<Piece<'_>> {
    let (sector, len, data) = match entry {
        Entry::Write { sector, data, .. } => (*sector, data.len(), Some(data.as_slice())),
        Entry::Discard { sector, count } => (*sector, *count as usize * SECTOR, None),
        _ => return Vec::new(),
    };
    let len = len.min(sectors.saturating_mul(SECTOR));
    vec![Piece {
        start: sector as usize * SECTOR,
        len,
        data: data.map(|data| &data[..len]),
    }]
}

/// Chooses `count` cuts of a log, in the order of their positions.
pub fn choose(entries: &[Entry], volatile: bool, count: usize, rng: &mut Rng) -> Vec<Cut> {
    let is_write = |e: &Entry| matches!(e, Entry::Write { .. } | Entry::Discard { .. });
    // After each write, and after the last write before each flush with everything in play.
    let places: Vec<usize> = (0..entries.len())
        .filter(|i| is_write(&entries[*i]))
        .map(|i| i + 1)
        .collect();
    let mut last = 0;
    let mut full = Vec::new();
    for (i, entry) in entries.iter().enumerate() {
        if is_write(entry) {
            last = i + 1;
        } else if *entry == Entry::Flush && last > 0 {
            full.push(last);
            last = 0;
        }
    }
    let mut cuts = vec![Cut {
        at: entries.len(),
        kept: Kept::All,
    }];
    let mut seen: std::collections::HashSet<Cut> = cuts.iter().copied().collect();
    for turn in 0..count * 8 {
        let places = if volatile && turn % 3 == 0 && !full.is_empty() {
            &full
        } else {
            &places
        };
        let Some(&at) = rng.pick(places) else { break };
        // Marks behind the write count: a cut may come after the step was acknowledged.
        let marks = entries[at..]
            .iter()
            .take_while(|e| matches!(e, Entry::Mark { .. }))
            .count();
        let at = at + rng.below(marks as u64 + 1) as usize;
        let kept = if volatile {
            some_kept(rng, width(&entries[..at]))
        } else {
            match entries.get(at) {
                Some(Entry::Write { data, .. }) if data.len() > SECTOR && rng.one_in(2) => {
                    Kept::Torn(rng.range(1, (data.len() / SECTOR) as u64 - 1) as usize)
                }
                _ => Kept::All,
            }
        };
        let cut = Cut { at, kept };
        if seen.insert(cut) {
            cuts.push(cut);
        }
        if cuts.len() >= count {
            break;
        }
    }
    cuts.sort_by_key(|cut| cut.at);
    cuts
}

/// The number of writes since the last flush.
fn width(entries: &[Entry]) -> u64 {
    entries
        .iter()
        .rev()
        .take_while(|e| **e != Entry::Flush)
        .filter(|e| matches!(e, Entry::Write { .. } | Entry::Discard { .. }))
        .count() as u64
}

fn some_kept(rng: &mut Rng, width: u64) -> Kept {
    match rng.below(12) {
        0 => Kept::All,
        1 => Kept::Torn(rng.range(1, 15) as usize),
        2 => Kept::Without(rng.below(width) as usize),
        3 => Kept::Only(rng.below(width) as usize),
        4 => Kept::Only(0),
        5 => Kept::Late(rng.below(width) as usize),
        6 => Kept::Nothing,
        _ => Kept::Random(rng.below(1 << 20)),
    }
}
