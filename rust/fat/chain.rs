// SPDX-License-Identifier: GPL-2.0

//! The clusters of a file or directory, as a list of extents.
//!
//! The list is built while the chain is walked, only as far as needed, and kept while the inode is
//! in memory. A walk is bounded by the largest file, and loops are found early (by R. P. Brent's
//! method: a cluster that comes again since the last power of two). Free, bad and impossible
//! entries inside a chain are corruption, never its end.

use crate::ondisk::{Cluster, Extent, FatEntry};
use kernel::prelude::*;

use super::alloc::Run;
use super::table::FatReader;
use super::volume::Volume;

/// Clusters that a walk may go beyond what is needed.
const AHEAD: u32 = 65_536;

/// Where the data of an inode lies.
pub(crate) struct Chain {
    start: Option<Cluster>,
    extents: KVVec<Extent>,
    /// Whether `extents` reaches the end of the chain.
    complete: bool,
    /// Most clusters that the chain can have.
    limit: u32,
    /// A cluster of the chain, and the length of the walk at which the next one is remembered.
    mark: (Option<Cluster>, u32),
    /// The FAT change that made the newest part of the chain.
    pub(crate) seq: u64,
    /// The chain was cut, and the disk does not know its new end yet.
    pub(crate) cut: bool,
}

/// A place in a chain.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    /// The cluster there.
    pub(crate) cluster: Cluster,
    /// Clusters from there on that follow one another on disk, at least 1.
    pub(crate) run: u32,
}

impl Chain {
    /// The chain that starts at `start`, with at most `limit` clusters; empty if `None`.
    pub(crate) const fn new(start: Option<Cluster>, limit: u32) -> Self {
        Self {
            start,
            extents: KVVec::new(),
            complete: start.is_none(),
            limit,
            mark: (None, 1),
            seq: 0,
            cut: false,
        }
    }

    /// The first cluster.
    pub(crate) fn start(&self) -> Option<Cluster> {
        self.start
    }

    /// Clusters known so far.
    fn known(&self) -> u32 {
        self.extents.last().map_or(0, Extent::end)
    }

    /// The last cluster known so far.
    fn last(&self) -> Option<Cluster> {
        self.extents.last().map(Extent::last)
    }

    /// Walks the FAT until `wanted` clusters or the end of the chain are known, and further on
    /// while it is cheap: as long as clusters follow one another, [`AHEAD`] at most.
    fn walk(&mut self, vol: &Volume, wanted: u32) -> Result {
        if self.complete || self.known() >= wanted {
            return Ok(());
        }
        let mut reader = vol.fat_reader();
        while !self.complete && self.known() < wanted {
            self.step(vol, &mut reader)?;
        }
        let limit = wanted.saturating_add(AHEAD);
        while !self.complete && self.known() < limit {
            let extents = self.extents.len();
            // What is wrong further on is logged, but fails only who needs that part.
            if self.step(vol, &mut reader).is_err() || self.extents.len() != extents {
                break;
            }
        }
        Ok(())
    }

    /// Follows the chain by one cluster.
    fn step(&mut self, vol: &Volume, reader: &mut FatReader<'_>) -> Result {
        let next = match self.last() {
            None => self.start,
            Some(last) => match reader.get(last)? {
                FatEntry::Next(next) => Some(next),
                FatEntry::End => None,
                other => {
                    return Err(vol.corrupt(fmt!(
                        "cluster {} of a chain is followed by {other:?}, expected a cluster \
                         or the end of the chain",
                        last.get()
                    )))
                }
            },
        };
        match next {
            None => self.complete = true,
            Some(next) if self.mark.0 == Some(next) => {
                return Err(vol.corrupt(fmt!(
                    "chain from cluster {} comes to cluster {} again",
                    self.start.map_or(0, Cluster::get),
                    next.get()
                )))
            }
            Some(_) if self.known() >= self.limit => {
                return Err(vol.corrupt(fmt!(
                    "chain from cluster {} has more than {} clusters",
                    self.start.map_or(0, Cluster::get),
                    self.limit
                )))
            }
            Some(next) => {
                self.push(next, 1)?;
                if self.known() >= self.mark.1 {
                    self.mark = (Some(next), self.mark.1.saturating_mul(2));
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, cluster: Cluster, len: u32) -> Result {
        let new = Extent::new(self.known(), cluster, len).ok_or(EFBIG)?;
        if let Some(last) = self.extents.last_mut() {
            if let Some(merged) = last.merge(&new) {
                *last = merged;
                return Ok(());
            }
        }
        Ok(self.extents.push(new, GFP_KERNEL)?)
    }

    /// Finds the `index`th cluster. `None`: the chain ends before.
    pub(crate) fn find(&mut self, vol: &Volume, index: u32) -> Result<Option<Found>> {
        self.walk(vol, index.saturating_add(1))?;
        let at = self.extents.partition_point(|e| e.end() <= index);
        Ok(self.extents.get(at).and_then(|e| {
            Some(Found {
                cluster: e.cluster_at(index)?,
                run: e.end() - index,
            })
        }))
    }

    /// Clusters in the chain; walks it to its end.
    pub(crate) fn len(&mut self, vol: &Volume) -> Result<u32> {
        self.walk(vol, u32::MAX)?;
        Ok(self.known())
    }

    /// Clusters in the chain, if that is known without reading.
    pub(crate) fn known_len(&self) -> Option<u32> {
        self.complete.then(|| self.known())
    }

    /// The last cluster, if that is known without reading.
    pub(crate) fn known_tail(&self) -> Option<Cluster> {
        self.last().filter(|_| self.complete)
    }

    /// The last cluster; walks the chain to its end.
    pub(crate) fn tail(&mut self, vol: &Volume) -> Result<Option<Cluster>> {
        self.walk(vol, u32::MAX)?;
        Ok(self.last())
    }

    /// Makes room so that [`append`](Self::append) of `runs` runs can't fail.
    pub(crate) fn reserve(&mut self, runs: usize) -> Result {
        Ok(self.extents.reserve(runs, GFP_KERNEL)?)
    }

    /// Adds clusters that the FAT links behind the tail now.
    pub(crate) fn append(&mut self, runs: &[Run], seq: u64) -> Result {
        for run in runs {
            self.push(run.first, run.len)?;
        }
        if self.start.is_none() {
            self.start = runs.first().map(|r| r.first);
        }
        self.complete = true;
        self.seq = seq;
        Ok(())
    }

    /// Cuts the chain after `keep` clusters. Returns the new last cluster and what was cut off.
    pub(crate) fn cut(&mut self, vol: &Volume, keep: u32) -> Result<(Option<Cluster>, KVVec<Run>)> {
        self.walk(vol, u32::MAX)?;
        let mut gone = KVVec::new();
        let at = self.extents.partition_point(|e| e.end() <= keep);
        gone.reserve(self.extents.len().saturating_sub(at), GFP_KERNEL)?;
        let mut split = None;
        for e in self.extents.get(at..).unwrap_or(&[]) {
            let tail = match e.split_at(keep.saturating_sub(e.file_cluster())) {
                Some((head, tail)) => {
                    split = Some(head);
                    tail
                }
                None => *e,
            };
            gone.push(
                Run {
                    first: tail.cluster(),
                    len: tail.len(),
                },
                GFP_KERNEL,
            )?;
        }
        self.extents.truncate(at);
        if let Some(head) = split {
            // The space of the extent that was split is there.
            self.extents.push(head, GFP_KERNEL)?;
        }
        if keep == 0 {
            self.start = None;
        }
        Ok((self.last(), gone))
    }
}
