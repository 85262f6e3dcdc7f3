// SPDX-License-Identifier: GPL-2.0

//! The checker has to see what is wrong: disks that were damaged on purpose.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use rvfat_unit::ondisk::{
    fat, Attrs, Cluster, DosStamp, FatEntry, Geometry, RawDirent, ShortName, DIRENT_SIZE,
};

use crate::check::check;
use crate::content::{self, Gen, Obj};
use crate::cut::{Kept, Medium};
use crate::history::{History, Moment};
use crate::log::{Entry, SECTOR};
use crate::op::{How, Op, Outcome, Place, ROOT};
use crate::plan::{self, MountMode, Shape};
use crate::verdict::{Kind, Problem};
use crate::{fsck, volume};

const SHAPE: Shape = Shape {
    bits: 12,
    cluster: 2,
    sectors: 2048,
};

/// Bytes of a cluster.
const CLUSTER: usize = 2 * SECTOR;

/// A volume that is made by hand.
struct Disk {
    bytes: Vec<u8>,
    geo: Geometry,
    usual: String,
    dir: std::path::PathBuf,
}

impl Disk {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("crash-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let bytes = plan::base(SHAPE, SHAPE.sectors, &dir).unwrap();
        let geo = volume::geometry(&bytes).unwrap();
        let path = dir.join("image");
        std::fs::write(&path, &bytes).unwrap();
        let usual = fsck::output(&path, "-n").unwrap();
        Self {
            bytes,
            geo,
            usual,
            dir,
        }
    }

    fn cluster(n: u32) -> Cluster {
        Cluster::new(n).unwrap()
    }

    fn at(&self, cluster: u32) -> usize {
        self.geo.cluster_sector(Self::cluster(cluster)).get() as usize * SECTOR
    }

    fn set_fat(&mut self, cluster: u32, entry: FatEntry) {
        for copy in 0..self.geo.fats() {
            let start = self.geo.fat_copy_start(copy).unwrap().get() as usize * SECTOR;
            let at = start + self.geo.fat_offset(Self::cluster(cluster)) as usize;
            let mut old = [0; 4];
            old[..2].copy_from_slice(&self.bytes[at..at + 2]);
            let ty = self.geo.fat_type();
            let new = fat::encode_number(ty, cluster, old, entry.value(ty));
            self.bytes[at..at + 2].copy_from_slice(&new[..2]);
        }
    }

    fn chain(&mut self, clusters: &[u32]) {
        for pair in clusters.windows(2) {
            self.set_fat(pair[0], FatEntry::Next(Self::cluster(pair[1])));
        }
        if let Some(last) = clusters.last() {
            self.set_fat(*last, FatEntry::End);
        }
    }

    fn entry(&mut self, slot: usize, name: &str, attrs: Attrs, start: u32, size: u32) {
        let mut short = [b' '; 11];
        short[..name.len()].copy_from_slice(name.as_bytes());
        let short = ShortName::from_disk(short);
        let mut raw = RawDirent::new(short, attrs, 0, DosStamp::default(), Cluster::new(start));
        raw.set_size(size);
        let at = self.geo.root_start().get() as usize * SECTOR + slot * DIRENT_SIZE;
        self.bytes[at..at + DIRENT_SIZE].copy_from_slice(raw.as_bytes());
    }

    fn file(&mut self, slot: usize, name: &str, clusters: &[u32], size: u32) {
        self.entry(
            slot,
            name,
            Attrs::ARCHIVE,
            clusters.first().copied().unwrap_or(0),
            size,
        );
        self.chain(clusters);
    }

    fn data(&mut self, clusters: &[u32], obj: Obj, gen: Gen) {
        for (i, cluster) in clusters.iter().enumerate() {
            let at = self.at(*cluster);
            content::fill(obj, gen, i * CLUSTER, &mut self.bytes[at..at + CLUSTER]);
        }
    }

    /// The kinds of what is wrong.
    fn kinds(&self, history: &History, at: Moment) -> BTreeSet<Kind> {
        let path = self.dir.join("image");
        std::fs::write(&path, &self.bytes).unwrap();
        let report = fsck::run(&path, &self.usual).unwrap();
        let mut problems: Vec<Problem> = report.problems;
        for copy in 0..self.geo.fats() {
            let volume = volume::read(&self.bytes, copy, volume::Ends::Here).unwrap();
            problems.extend(check(history, &volume, at));
        }
        problems.into_iter().map(|p| p.kind).collect()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

fn place(name: &str) -> Place {
    Place {
        dir: ROOT,
        name: name.to_string(),
    }
}

fn create(obj: Obj, name: &str) -> Op {
    Op::Create {
        obj,
        at: place(name),
    }
}

fn write(obj: Obj, len: u64) -> Op {
    Op::Write {
        obj,
        off: 0,
        len,
        how: How::Buffered,
    }
}

/// A history in which all steps succeeded.
fn history(ops: &[Op], mode: MountMode) -> History {
    let outcomes: Vec<Outcome> = ops
        .iter()
        .map(|op| Outcome {
            error: None,
            bytes: match op {
                Op::Write { len, .. } => *len,
                _ => 0,
            },
        })
        .collect();
    History::new(ops, &outcomes, mode)
}

fn moment(done: usize, begun: usize) -> Moment {
    Moment {
        done: Some(done),
        begun: Some(begun),
    }
}

/// A and B, of 1500 and 500 bytes, both synced.
fn two_files() -> (Disk, History, Moment) {
    let ops = [
        create(1, "A"),
        write(1, 1500),
        create(2, "B"),
        write(2, 500),
        Op::Sync,
    ];
    let mut disk = Disk::new();
    disk.file(0, "A", &[5, 6], 1500);
    disk.data(&[5, 6], 1, 2);
    disk.file(1, "B", &[7], 500);
    disk.data(&[7], 2, 4);
    (disk, history(&ops, MountMode::Async), moment(4, 4))
}

#[track_caller]
fn assert_kinds(disk: &Disk, history: &History, at: Moment, wanted: &[Kind]) {
    let kinds = disk.kinds(history, at);
    for kind in wanted {
        assert!(kinds.contains(kind), "no {kind} in {kinds:?}");
    }
    assert_eq!(kinds.is_empty(), wanted.is_empty(), "{kinds:?}");
}

#[test]
fn what_is_right_passes() {
    let (mut disk, history, at) = two_files();
    assert_kinds(&disk, &history, at, &[]);
    // Lost clusters may be left.
    disk.chain(&[90, 91]);
    assert_kinds(&disk, &history, at, &[]);
}

#[test]
fn cross_link() {
    let (mut disk, history, at) = two_files();
    disk.chain(&[5, 7]);
    assert_kinds(&disk, &history, at, &[Kind::CrossLink]);
    let (mut disk, history, at) = two_files();
    disk.file(1, "B", &[5], 500);
    assert_kinds(&disk, &history, at, &[Kind::CrossLink, Kind::Foreign]);
}

#[test]
fn stale_bytes() {
    let (mut disk, history, at) = two_files();
    disk.file(0, "A", &[5, 9], 1500);
    assert_kinds(&disk, &history, at, &[Kind::Stale]);
}

#[test]
fn foreign_and_wrong_bytes() {
    let (mut disk, history, at) = two_files();
    disk.data(&[7], 1, 2);
    assert_kinds(&disk, &history, at, &[Kind::Foreign]);
    let (mut disk, history, at) = two_files();
    disk.data(&[7], 2, 9);
    assert_kinds(&disk, &history, at, &[Kind::Content]);
    let (mut disk, history, at) = two_files();
    let last = disk.at(7) + 499;
    disk.bytes[last] ^= 1;
    assert_kinds(&disk, &history, at, &[Kind::Content]);
}

#[test]
fn zeros_where_none_were_asked_for() {
    let (mut disk, history, at) = two_files();
    let start = disk.at(6);
    disk.bytes[start..start + SECTOR].fill(0);
    assert_kinds(&disk, &history, at, &[Kind::Content]);
}

#[test]
fn missing_file() {
    let (mut disk, history, at) = two_files();
    disk.entry(1, "\u{5}", Attrs::VOLUME, 0, 0);
    assert_kinds(&disk, &history, at, &[Kind::Missing, Kind::Lost]);
}

#[test]
fn unknown_name() {
    let (mut disk, history, at) = two_files();
    disk.file(2, "C", &[], 0);
    assert_kinds(&disk, &history, at, &[Kind::Name]);
}

#[test]
fn size_beyond_the_chain() {
    let (mut disk, history, at) = two_files();
    disk.file(0, "A", &[5], 1500);
    assert_kinds(&disk, &history, at, &[Kind::Chain, Kind::Fsck]);
}

#[test]
fn chain_to_a_free_cluster() {
    let (mut disk, history, at) = two_files();
    disk.set_fat(7, FatEntry::Next(Disk::cluster(40)));
    assert_kinds(&disk, &history, at, &[Kind::Chain]);
}

#[test]
fn wrong_size() {
    let (mut disk, history, at) = two_files();
    disk.file(0, "A", &[5, 6], 1400);
    assert_kinds(&disk, &history, at, &[Kind::Size]);
}

#[test]
fn chain_longer_than_the_size() {
    let (mut disk, history, at) = two_files();
    disk.file(1, "B", &[7, 8], 500);
    assert_kinds(&disk, &history, at, &[Kind::Longer]);
}

#[test]
fn growing_file_may_have_a_long_chain() {
    let ops = [create(1, "A"), write(1, 100), Op::Sync, write(1, 3000)];
    let history = history(&ops, MountMode::Async);
    let mut disk = Disk::new();
    disk.file(0, "A", &[5, 6, 7], 100);
    disk.data(&[5], 1, 2);
    assert_kinds(&disk, &history, moment(2, 3), &[]);
    // The new size with zeros, or with what was written.
    disk.file(0, "A", &[5, 6, 7], 3000);
    for cluster in [6, 7] {
        let at = disk.at(cluster);
        disk.bytes[at..at + CLUSTER].fill(0);
    }
    let at = disk.at(5);
    disk.bytes[at + 100..at + CLUSTER].fill(0);
    assert_kinds(&disk, &history, moment(2, 3), &[]);
    disk.data(&[5, 6, 7], 1, 4);
    assert_kinds(&disk, &history, moment(2, 3), &[]);
}

#[test]
fn acknowledged_on_a_sync_mount() {
    let ops = [create(1, "A"), write(1, 100), write(1, 3000)];
    let mut disk = Disk::new();
    disk.file(0, "A", &[5], 100);
    disk.data(&[5], 1, 2);
    let sync = history(&ops, MountMode::Sync);
    assert_kinds(&disk, &sync, moment(2, 2), &[Kind::Size]);
    assert_kinds(&disk, &sync, moment(1, 2), &[]);
    assert_kinds(&disk, &history(&ops, MountMode::Async), moment(2, 2), &[]);
}

/// A was synced; its renaming to B began.
fn renamed(disk: &mut Disk, names: &[&str]) -> (History, Moment) {
    let ops = [
        create(1, "A"),
        write(1, 100),
        Op::Fsync { obj: 1 },
        Op::Rename {
            from: place("A"),
            to: place("B"),
        },
    ];
    disk.data(&[5], 1, 2);
    for (slot, name) in names.iter().enumerate() {
        disk.file(slot, name, &[5], 100);
    }
    (history(&ops, MountMode::Async), moment(2, 3))
}

#[test]
fn a_rename_leaves_old_new_or_both() {
    for names in [&["A"][..], &["B"], &["A", "B"]] {
        let mut disk = Disk::new();
        let (history, at) = renamed(&mut disk, names);
        assert_kinds(&disk, &history, at, &[]);
    }
    let mut disk = Disk::new();
    let (history, at) = renamed(&mut disk, &[]);
    assert_kinds(&disk, &history, at, &[Kind::Lost]);
}

#[test]
fn torn_long_name() {
    let (mut disk, history, at) = two_files();
    disk.entry(2, "\u{42}b", Attrs::LONG_NAME, 0, 0);
    assert_kinds(&disk, &history, at, &[Kind::LongName]);
}

#[test]
fn wrong_parent() {
    let ops = [
        Op::Mkdir {
            obj: 1,
            at: place("D"),
        },
        Op::Sync,
    ];
    let history = history(&ops, MountMode::Async);
    let mut disk = Disk::new();
    disk.entry(0, "D", Attrs::DIRECTORY, 5, 0);
    disk.chain(&[5]);
    for (up, wanted) in [(None, &[][..]), (Cluster::new(9), &[Kind::Parent])] {
        let at = disk.at(5);
        disk.bytes[at..at + CLUSTER].fill(0);
        let dot = RawDirent::dot(DosStamp::default(), Cluster::new(5));
        let dot_dot = RawDirent::dot_dot(DosStamp::default(), up);
        disk.bytes[at..at + DIRENT_SIZE].copy_from_slice(dot.as_bytes());
        disk.bytes[at + DIRENT_SIZE..at + 2 * DIRENT_SIZE].copy_from_slice(dot_dot.as_bytes());
        assert_kinds(&disk, &history, moment(1, 1), wanted);
    }
}

#[test]
fn bytes_stored_behind_the_end_must_not_show() {
    let ops = [
        create(1, "A"),
        write(1, 100),
        Op::Write {
            obj: 1,
            off: 100,
            len: 400,
            how: How::Mapped,
        },
        Op::Truncate { obj: 1, size: 500 },
        Op::Sync,
    ];
    let history = history(&ops, MountMode::Async);
    let mut disk = Disk::new();
    disk.file(0, "A", &[5], 500);
    disk.data(&[5], 1, 2);
    let at = disk.at(5);
    content::fill(1, 3, 100, &mut disk.bytes[at + 100..at + 500]);
    assert_kinds(&disk, &history, moment(4, 4), &[Kind::Content]);
    disk.bytes[at + 100..at + 500].fill(0);
    assert_kinds(&disk, &history, moment(4, 4), &[]);
}

/// Writes of one sector each, filled with its number, and a flush after the second.
fn log() -> Vec<Entry> {
    let write = |n: u8| Entry::Write {
        sector: u64::from(n),
        data: vec![n; SECTOR],
        fua: n == 5,
    };
    vec![
        write(1),
        write(2),
        Entry::Flush,
        write(3),
        write(4),
        write(5),
    ]
}

/// The sectors that are there after a cut at the end of the log.
fn there(volatile: bool, at: usize, kept: Kept) -> Vec<u8> {
    let entries = log();
    let mut medium = Medium::new(vec![0; 8 * SECTOR], &entries, volatile);
    medium.advance(at).unwrap();
    let found = medium.with_cut(kept, |disk| {
        let firsts = disk.iter().step_by(SECTOR);
        firsts.copied().filter(|b| *b != 0).collect()
    });
    assert!(medium.bytes[3 * SECTOR..].iter().all(|b| *b == 0) || !volatile);
    found
}

#[test]
fn a_cache_keeps_what_was_flushed() {
    assert_eq!(there(true, 5, Kept::All), [1, 2, 3, 4]);
    assert_eq!(there(true, 5, Kept::Nothing), [1, 2]);
    assert_eq!(there(true, 5, Kept::Only(0)), [1, 2, 4]);
    assert_eq!(there(true, 5, Kept::Without(0)), [1, 2, 3]);
    assert_eq!(there(true, 5, Kept::Late(1)), [1, 2, 4]);
    assert!(there(true, 2, Kept::Nothing).is_empty());
    // What was written with FUA is there.
    assert_eq!(there(true, 6, Kept::Nothing), [1, 2, 5]);
}

#[test]
fn without_a_cache_what_was_completed_is_there() {
    assert_eq!(there(false, 4, Kept::Nothing), [1, 2, 3]);
    assert_eq!(there(false, 2, Kept::All), [1, 2]);
}

#[test]
fn requests_are_torn_between_sectors() {
    let entries = [Entry::Write {
        sector: 1,
        data: vec![7; 3 * SECTOR],
        fua: false,
    }];
    for volatile in [true, false] {
        let mut medium = Medium::new(vec![0; 8 * SECTOR], &entries, volatile);
        medium.advance(usize::from(volatile)).unwrap();
        let written = medium.with_cut(Kept::Torn(2), |disk| {
            disk.iter().filter(|b| **b == 7).count()
        });
        assert_eq!(written, 2 * SECTOR);
    }
}

#[test]
fn scripts_and_cuts_are_the_same_each_time() {
    for work in &crate::work::ALL {
        let ops = crate::work::script(work.name, 3).unwrap();
        assert_eq!(ops, crate::work::script(work.name, 3).unwrap());
        assert_eq!(ops.last(), Some(&Op::Unmount));
        assert!(ops.len() < usize::from(Gen::MAX));
    }
    let choose = || {
        let mut rng = crate::rng::Rng::named(1, "x");
        crate::cut::choose(&log(), true, 20, &mut rng)
    };
    let cuts = choose();
    assert_eq!(cuts, choose());
    for cut in cuts {
        assert_eq!(cut.to_string().parse::<crate::cut::Cut>().unwrap(), cut);
    }
}
