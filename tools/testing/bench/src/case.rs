// SPDX-License-Identifier: GPL-2.0

//! A cell of a table: what is done, on what kind of volume, and what is expected.

use anyhow::Result;

use crate::stage::{Sample, Stage};
use crate::target::Bound;
use crate::text;

/// A cell that would take vfat longer than this is named, not run.
pub const LONGEST: f64 = 600.0;

/// Does a cell's work on a stage and gives one sample for each of the cell's loops.
pub type Work = fn(&Case, &mut Stage) -> Result<Vec<Sample>>;

/// One measured loop of a cell.
#[derive(Clone, Debug)]
pub struct Loop {
    pub op: &'static str,
    pub bounds: Vec<Bound>,
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub struct Case {
    pub mount: &'static str,
    pub cluster: u32,
    pub files: u64,
    pub bytes: u64,
    /// Bytes of the volume.
    pub volume: u64,
    pub work: Work,
    pub loops: Vec<Loop>,
    /// About how long the cell takes with vfat and with rvfat, preparations included.
    pub takes: (f64, f64),
    /// Whether the cell belongs to the short run.
    pub quick: bool,
    /// Whether it is run on the slow disks.
    pub slow: bool,
}

impl Case {
    /// A cell of `files` files of `bytes` bytes each, on a volume where they fit.
    pub fn new(mount: &'static str, cluster: u32, bytes: u64, files: u64, work: Work) -> Self {
        let content = files * bytes.next_multiple_of(cluster.into());
        Self {
            mount,
            cluster,
            files,
            bytes,
            volume: (1 << 30).max(content.next_multiple_of(1 << 30) + (1 << 30)),
            work,
            loops: Vec::new(),
            takes: (1.0, 1.0),
            quick: false,
            slow: false,
        }
    }

    /// Adds a loop that is measured and what rvfat should reach in it.
    pub fn measures(mut self, op: &'static str, bounds: &[Bound]) -> Self {
        let bounds = bounds.to_vec();
        self.loops.push(Loop { op, bounds });
        self
    }

    /// Says about how long the cell takes with vfat and with rvfat.
    pub fn takes(mut self, vfat: f64, rvfat: f64) -> Self {
        self.takes = (vfat, rvfat);
        self
    }

    /// Makes the cell a part of the short run.
    pub fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    /// Runs the cell on the slow disks.
    pub fn slow(mut self) -> Self {
        self.slow = true;
        self
    }

    /// Sets the volume's size.
    pub fn volume(mut self, bytes: u64) -> Self {
        self.volume = bytes;
        self
    }

    /// Whether vfat would take too long.
    pub fn too_long(&self) -> bool {
        self.takes.0 > LONGEST
    }

    /// About how many seconds the cell takes.
    pub fn estimate(&self) -> f64 {
        self.takes.1 + if self.too_long() { 0.0 } else { self.takes.0 }
    }

    /// The cell in a few words.
    pub fn title(&self) -> String {
        let clusters = text::size(self.cluster.into());
        let files = text::thousands(self.files);
        match self.bytes {
            0 => format!("{}, {clusters} clusters, {files}", self.mount),
            n => format!(
                "{}, {clusters} clusters, {files} x {}",
                self.mount,
                text::size(n)
            ),
        }
    }
}
