// SPDX-License-Identifier: GPL-2.0

//! Runs of clusters, against ranges of 64-bit numbers.

use crate::input::Input;
use rvfat_unit::ondisk::{Cluster, ClusterCount, Extent};

/// The input gives extents, each with where to look into it and where to split it.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let mut before: Option<Extent> = None;
    for _ in 0..64 {
        if input.is_empty() {
            return;
        }
        let (at, first, len) = (input.u32(), input.u32(), input.u32());
        let (look, split) = (input.u32(), input.u32());
        counts(at, len);
        let Some(cluster) = Cluster::new(first) else {
            continue;
        };
        let made = Extent::new(at, cluster, len);
        let last = u64::from(first) + u64::from(len) - u64::from(len > 0);
        let sound = len > 0
            && u64::from(at) + u64::from(len) <= u64::from(u32::MAX)
            && last <= u64::from(Cluster::MAX.get());
        assert_eq!(made.is_some(), sound, "{at} {first} {len}");
        let Some(e) = made else { continue };
        check(&e, look, split);
        if let Some(before) = before.replace(e) {
            merge(&before, &e);
        }
    }
}

fn counts(a: u32, b: u32) {
    let (x, y) = (ClusterCount::new(a), ClusterCount::new(b));
    assert_eq!(x.checked_add(y).map(ClusterCount::get), a.checked_add(b));
    assert_eq!(x.checked_sub(y).map(ClusterCount::get), a.checked_sub(b));
}

fn check(e: &Extent, look: u32, split: u32) {
    let (at, first, len) = (e.file_cluster(), e.cluster().get(), e.len());
    assert_eq!(u64::from(e.end()), u64::from(at) + u64::from(len));
    assert_eq!(e.last().get(), first + (len - 1));
    for i in [look, at, at + (len - 1), e.end(), at.wrapping_sub(1)] {
        let inside = i >= at && u64::from(i) < u64::from(at) + u64::from(len);
        assert_eq!(e.contains(i), inside);
        let want = inside.then(|| first + (i - at));
        assert_eq!(e.cluster_at(i).map(Cluster::get), want);
    }
    for count in [split, split % len, len, 0] {
        let parts = e.split_at(count);
        assert_eq!(parts.is_some(), count > 0 && count < len);
        if let Some((head, tail)) = parts {
            assert_eq!((head.len(), head.end()), (count, tail.file_cluster()));
            assert_eq!(head.merge(&tail), Some(*e));
            assert_eq!(tail.merge(&head), None);
        }
    }
}

fn merge(a: &Extent, b: &Extent) {
    let follows = a.end() == b.file_cluster() && a.last().get() + 1 == b.cluster().get();
    let Some(both) = a.merge(b) else {
        assert!(!follows);
        return;
    };
    assert!(follows);
    assert_eq!(
        (both.file_cluster(), both.cluster()),
        (a.file_cluster(), a.cluster())
    );
    assert_eq!((both.end(), both.last()), (b.end(), b.last()));
}
