// SPDX-License-Identifier: GPL-2.0

//! Runs of clusters.

use proptest::prelude::*;
use rvfat_unit::ondisk::{Cluster, Extent};

fn extent(file_cluster: u32, cluster: u32, len: u32) -> Option<Extent> {
    Extent::new(file_cluster, Cluster::new(cluster).unwrap(), len)
}

#[test]
fn limits() {
    assert_eq!(extent(0, 2, 0), None);
    assert_eq!(extent(u32::MAX, 2, 1), None);
    assert_eq!(extent(0, 0x0FFF_FFF6, 2), None);
    assert!(extent(0, 0x0FFF_FFF6, 1).is_some());
    assert!(extent(u32::MAX - 1, 2, 1).is_some());
}

#[test]
fn parts() {
    let run = extent(10, 100, 5).unwrap();
    assert_eq!((run.file_cluster(), run.len(), run.end()), (10, 5, 15));
    assert_eq!(run.cluster().get(), 100);
    assert_eq!(run.last().get(), 104);
    let at = |n| run.cluster_at(n).map(Cluster::get);
    assert_eq!([9, 10, 14, 15].map(at), [None, Some(100), Some(104), None]);
}

#[test]
fn merging() {
    let run = extent(10, 100, 5).unwrap();
    assert_eq!(run.merge(&extent(15, 105, 2).unwrap()), extent(10, 100, 7));
    assert_eq!(run.merge(&extent(16, 105, 2).unwrap()), None);
    assert_eq!(run.merge(&extent(15, 106, 2).unwrap()), None);
    assert_eq!(run.merge(&run), None);
    // Nothing follows the highest cluster.
    let top = extent(0, 0x0FFF_FFF6, 1).unwrap();
    assert_eq!(top.merge(&extent(1, 2, 1).unwrap()), None);
}

proptest! {
    #[test]
    fn split_and_merge(file: u32, cluster in 2u32..0x0FFF_FFF7, len: u32, at: u32) {
        if let Some(run) = extent(file, cluster, len) {
            prop_assert_eq!(run.split_at(0), None);
            prop_assert_eq!(run.split_at(len), None);
            let at = at % len;
            if at > 0 {
                let (head, tail) = run.split_at(at).unwrap();
                prop_assert_eq!(head.len() + tail.len(), len);
                prop_assert!(head.contains(tail.file_cluster() - 1));
                prop_assert!(!head.contains(tail.file_cluster()));
                prop_assert_eq!(run.cluster_at(tail.file_cluster()), Some(tail.cluster()));
                prop_assert_eq!(head.merge(&tail), Some(run));
            }
        }
    }
}
