// SPDX-License-Identifier: GPL-2.0

//! The log of a disk's writes, in the format of the kernel's dm-log-writes, which QEMU's
//! `blklogwrites` filter writes, too.
//!
//! Entries are in the order in which the disk completed them. The workload says how far it is by
//! writing *marks* to sectors behind the file system: they take their place in the log like any
//! other write, and flush nothing.

use std::path::Path;

use anyhow::{bail, ensure, Context, Result};

use crate::history::Moment;

const MAGIC: u64 = 0x006a_7366_7773_6872;
const FLUSH: u64 = 1 << 0;
const FUA: u64 = 1 << 1;
const DISCARD: u64 = 1 << 2;

/// Bytes of a sector.
pub const SECTOR: usize = 512;

/// How a mark begins.
const MARK: &[u8; 16] = b"rvfat crash mark";

/// Where in a step a mark was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Before it.
    Begin,
    /// After it was acknowledged.
    End,
}

/// The sector that marks a moment.
pub fn mark(step: usize, phase: Phase) -> [u8; SECTOR] {
    let mut bytes = [0; SECTOR];
    bytes[..16].copy_from_slice(MARK);
    bytes[16..24].copy_from_slice(&(step as u64).to_le_bytes());
    bytes[24] = u8::from(phase == Phase::End);
    bytes
}

fn parse_mark(bytes: &[u8]) -> Option<(usize, Phase)> {
    let rest = bytes.strip_prefix(MARK)?;
    let step = u64::from_le_bytes(*rest.first_chunk()?);
    let phase = match rest.get(8)? {
        0 => Phase::Begin,
        _ => Phase::End,
    };
    Some((usize::try_from(step).ok()?, phase))
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Data for consecutive sectors. With `fua` it is on the medium when it is completed.
    Write {
        sector: u64,
        data: Vec<u8>,
        fua: bool,
    },
    /// Sectors whose content does not matter any more.
    Discard { sector: u64, count: u64 },
    /// What was completed before is on the medium.
    Flush,
    /// A mark.
    Mark { step: usize, phase: Phase },
}

/// Reads a log. Writes from sector `end` on must be marks.
pub fn read(path: &Path, end: u64) -> Result<Vec<Entry>> {
    let bytes = std::fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
    parse(&bytes, end).with_context(|| format!("in the log {}", path.display()))
}

fn parse(bytes: &[u8], end: u64) -> Result<Vec<Entry>> {
    let word = |at: usize| -> Result<u64> {
        let raw = bytes.get(at..at + 8).context("the log ends early")?;
        Ok(u64::from_le_bytes(raw.try_into()?))
    };
    ensure!(word(0)? == MAGIC, "no log: its magic is {:#x}", word(0)?);
    ensure!(word(8)? == 1, "version {}", word(8)?);
    let count = word(16)?;
    ensure!(
        word(24)? as u32 as usize == SECTOR,
        "not of 512-byte sectors"
    );
    let mut entries = Vec::new();
    let mut at = SECTOR;
    for _ in 0..count {
        let (sector, sectors, flags) = (word(at)?, word(at + 8)?, word(at + 16)?);
        at += SECTOR;
        if flags & FLUSH != 0 {
            entries.push(Entry::Flush);
        }
        if flags & DISCARD != 0 {
            entries.push(Entry::Discard {
                sector,
                count: sectors,
            });
        } else if sectors > 0 {
            let len = usize::try_from(sectors)? * SECTOR;
            let data = bytes.get(at..at + len).context("the log ends early")?;
            at += len;
            entries.push(entry(sector, data, flags & FUA != 0, end)?);
        }
    }
    Ok(entries)
}

fn entry(sector: u64, data: &[u8], fua: bool, end: u64) -> Result<Entry> {
    if sector >= end {
        let Some((step, phase)) = parse_mark(data) else {
            bail!("a write to sector {sector}, behind the file system");
        };
        return Ok(Entry::Mark { step, phase });
    }
    Ok(Entry::Write {
        sector,
        data: data.to_vec(),
        fua,
    })
}

/// The moment in the workload at each position: after the first so many entries.
pub fn moments(entries: &[Entry]) -> Vec<Moment> {
    let mut now = Moment {
        done: None,
        begun: None,
    };
    let mut moments = vec![now];
    for entry in entries {
        match entry {
            Entry::Mark { step, phase } if *phase == Phase::End => now.done = Some(*step),
            Entry::Mark { step, .. } => now.begun = Some(*step),
            _ => {}
        }
        moments.push(now);
    }
    moments
}
