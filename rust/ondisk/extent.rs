// SPDX-License-Identifier: GPL-2.0

//! Runs of clusters: a stretch of a file that is contiguous on the volume.

use super::Cluster;

/// `len` clusters of a file that follow each other on the volume.
///
/// # Invariants
///
/// `len` is not zero, `file_cluster + len` does not overflow, and the last cluster of the run is a
/// valid [`Cluster`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Index in the file of the first cluster, from 0.
    file_cluster: u32,
    /// The first cluster on the volume.
    cluster: Cluster,
    /// Number of clusters.
    len: u32,
}

#[allow(clippy::len_without_is_empty)] // Never empty.
impl Extent {
    /// Returns the run of `len` clusters that starts with `cluster`, at cluster `file_cluster` of
    /// the file.
    ///
    /// [`None`] if that breaks an invariant of the type.
    pub fn new(file_cluster: u32, cluster: Cluster, len: u32) -> Option<Self> {
        file_cluster.checked_add(len)?;
        cluster.checked_add(len.checked_sub(1)?)?;
        // INVARIANT: All three were just checked.
        Some(Self {
            file_cluster,
            cluster,
            len,
        })
    }

    /// Returns the index in the file of the first cluster.
    pub const fn file_cluster(&self) -> u32 {
        self.file_cluster
    }

    /// Returns the first cluster on the volume.
    pub const fn cluster(&self) -> Cluster {
        self.cluster
    }

    /// Returns the number of clusters, at least 1.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Returns the index in the file that follows the last cluster.
    pub const fn end(&self) -> u32 {
        // Exact, by the type's invariant.
        self.file_cluster.saturating_add(self.len)
    }

    /// Returns the last cluster on the volume.
    pub fn last(&self) -> Cluster {
        // Present, by the type's invariant.
        self.cluster
            .checked_add(self.len.saturating_sub(1))
            .unwrap_or(self.cluster)
    }

    /// Returns whether the run covers cluster `file_cluster` of the file.
    pub const fn contains(&self, file_cluster: u32) -> bool {
        self.file_cluster <= file_cluster && file_cluster < self.end()
    }

    /// Returns where cluster `file_cluster` of the file lies, or [`None`] if outside the run.
    pub fn cluster_at(&self, file_cluster: u32) -> Option<Cluster> {
        if !self.contains(file_cluster) {
            return None;
        }
        self.cluster
            .checked_add(file_cluster.checked_sub(self.file_cluster)?)
    }

    /// Returns both runs as one, or [`None`] if `next` does not follow this one both in the file
    /// and on the volume.
    pub fn merge(&self, next: &Self) -> Option<Self> {
        if self.end() != next.file_cluster || self.last().checked_add(1) != Some(next.cluster) {
            return None;
        }
        Self::new(
            self.file_cluster,
            self.cluster,
            self.len.checked_add(next.len)?,
        )
    }

    /// Returns the first `count` clusters and the rest, or [`None`] if either would be empty.
    pub fn split_at(&self, count: u32) -> Option<(Self, Self)> {
        let head = Self::new(self.file_cluster, self.cluster, count)?;
        let tail = Self::new(
            self.file_cluster.checked_add(count)?,
            self.cluster.checked_add(count)?,
            self.len.checked_sub(count)?,
        )?;
        Some((head, tail))
    }
}
