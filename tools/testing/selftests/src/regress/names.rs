// SPDX-License-Identifier: GPL-2.0

//! Names: those of files under writeback, and those of a directory so large that what is
//! known of it in memory matters.

use super::{drop_caches, fresh, geom, not_vfat, stamp, Test};
use crate::expect::{bytes, errno};
use crate::rng::Rng;
use crate::runner::Config;
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    ("rename_under_writeback", 60, rename_under_writeback),
    ("unlink_under_writeback", 60, unlink_under_writeback),
    ("index", 120, index),
    ("entry_in_one_block", 60, entry_in_one_block),
    (
        "exchange_in_full_directories",
        60,
        exchange_in_full_directories,
    ),
];

/// An inode's entry was looked for in the place that it had before a rename that ran at the
/// same time, and another file's entry got its size and start. Each file has to keep its own
/// content, under whichever name it ends.
fn rename_under_writeback(cfg: &Config) -> Result<()> {
    const FILES: u32 = 8;
    let mut v = fresh(cfg, &geom(16, 12, 2048), "")?;
    let (mp, end) = (v.mp.clone(), Instant::now() + Duration::from_secs(4));
    sys::mkdir(&v.p("d"))?;
    let place = |i: u32| {
        mp.join(if i % 2 == 0 { "d" } else { "." })
            .join(format!("File name {i}"))
    };
    let open = |i: u32| sys::create(&place(i)).map(|f| (i, f));
    let files = (0..FILES).map(open).collect::<sys::Res<Vec<_>>>()?;
    let running = || Instant::now() < end;
    let (names, sizes) = std::thread::scope(|s| {
        let renames = s.spawn(|| -> Result<Vec<u32>> {
            let mut rng = Rng::new(5);
            let mut names: Vec<u32> = (0..FILES).collect();
            while running() {
                let (a, b) = (
                    rng.below(FILES as u64) as u32,
                    rng.below(FILES as u64) as u32,
                );
                if a == b {
                    continue;
                }
                if rng.one_in(2) {
                    sys::rename(&place(a), &place(b), libc::RENAME_EXCHANGE).context("exchange")?;
                } else {
                    let tmp = mp.join("a temporary name");
                    sys::rename(&place(a), &tmp, 0).context("rename away")?;
                    sys::rename(&place(b), &place(a), 0).context("rename")?;
                    sys::rename(&tmp, &place(b), 0).context("rename back")?;
                }
                names.swap(a as usize, b as usize);
            }
            Ok(names)
        });
        let syncs = s.spawn(|| -> Result<()> {
            while running() {
                sys::syncfs(&files[0].1).context("syncfs")?;
            }
            Ok(())
        });
        let mut sizes = vec![0usize; FILES as usize];
        let mut rng = Rng::new(6);
        let mut dirty = || -> Result<()> {
            while running() {
                let (i, f) = &files[rng.below(FILES as u64) as usize];
                let size = &mut sizes[*i as usize];
                if *size > 400_000 {
                    sys::ftruncate(f, 0).context("truncate")?;
                    *size = 0;
                }
                let data = stamp(*i, *size as u64, 512 * (1 + rng.below(40) as usize));
                sys::pwrite_all(f, &data, *size as i64).context("write")?;
                *size += data.len();
            }
            Ok(())
        };
        let written = dirty();
        let names = renames.join().expect("renaming thread")?;
        syncs.join().expect("syncing thread")?;
        written.map(|()| (names, sizes))
    })?;
    drop(files);
    for when in ["at once", "after remount"] {
        for (i, &tag) in names.iter().enumerate() {
            let want = stamp(tag, 0, sizes[tag as usize]);
            let got = std::fs::read(place(i as u32))?;
            bytes(&got, &want, &format!("place {i} {when}"))?;
        }
        if when == "at once" {
            v.remount()?;
        }
    }
    v.finish()
}

/// An inode's attributes were written into its entry while that was being removed: read before,
/// written after, so that the 8.3 slot was back. What is removed stays so.
fn unlink_under_writeback(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg, &geom(16, 12, 2048), "")?;
    let end = Instant::now() + Duration::from_secs(4);
    let path = v.p("comes and goes");
    // Others whose entries are in the same block: it is being written nearly all the time.
    let others = (0..3).map(|i| sys::create(&v.p(format!("OTHER{i}"))));
    let others = others.collect::<sys::Res<Vec<_>>>()?;
    let keep_writing = |f: &std::fs::File, go_on: &dyn Fn() -> bool| -> sys::Res<()> {
        let mut n = 0u8;
        while go_on() {
            n = n.wrapping_add(1);
            sys::pwrite_all(f, &[n], 0)?;
            sys::fsync(f)?;
        }
        Ok(())
    };
    let rounds = std::thread::scope(|s| -> Result<u64> {
        let others: Vec<_> = others
            .iter()
            .map(|f| s.spawn(move || keep_writing(f, &|| Instant::now() < end)))
            .collect();
        let mut rounds = 0;
        while Instant::now() < end {
            let f = sys::create(&path)?;
            let gone = AtomicBool::new(false);
            std::thread::scope(|s| {
                let write = s.spawn(|| keep_writing(&f, &|| !gone.load(Ordering::Relaxed)));
                std::thread::sleep(Duration::from_micros(500 + rounds % 7 * 300));
                let removed = sys::unlink(&path);
                gone.store(true, Ordering::Relaxed);
                write.join().expect("no panic").context("writing")?;
                removed.context("unlink")
            })?;
            rounds += 1;
        }
        for other in others {
            other.join().expect("no panic")?;
        }
        Ok(rounds)
    })?;
    drop(others);
    v.remount()?;
    let left = ["OTHER0", "OTHER1", "OTHER2"];
    same!(sys::names(&v.mp)?, left, "names after {rounds} rounds");
    v.finish()
}

/// What a directory has to hold: names in small letters, the spelling and the content.
type Model = BTreeMap<String, (String, u32)>;

fn compare(v: &Vol, model: &Model, when: &str) -> Result<()> {
    let dir = v.p("dir");
    let mut want: Vec<String> = model.values().map(|x| x.0.clone()).collect();
    want.sort();
    let got = sys::names(&dir)?;
    if got != want {
        let odd: Vec<&String> = got.iter().filter(|n| !want.contains(n)).take(5).collect();
        let gone: Vec<&String> = want.iter().filter(|n| !got.contains(n)).take(5).collect();
        anyhow::bail!("{when}: too much {odd:?}, missing {gone:?}");
    }
    let mut aliases = BTreeMap::new();
    let d = sys::open(&dir, libc::O_RDONLY)?;
    for (short, long) in sys::readdir_ioctl(&d, true)? {
        // A name that needs no long one has just one.
        let short = String::from_utf8_lossy(&short).into_owned();
        let long = String::from_utf8_lossy(&long).to_lowercase();
        let key = if long.is_empty() {
            short.to_lowercase()
        } else {
            long
        };
        aliases.insert(key, short);
    }
    for (i, (key, (name, tag))) in model.iter().enumerate() {
        if i % 4 != 0 {
            continue;
        }
        let alias = aliases
            .get(key)
            .with_context(|| format!("no alias of {name}"))?;
        let content = |name: &str| std::fs::read_to_string(dir.join(name));
        for n in [name, key, &name.to_uppercase(), alias] {
            let got = content(n).with_context(|| format!("{when}: {n}, alias of {name}"))?;
            same!(got, tag.to_string(), "{when}: content of {n} ({name})");
        }
    }
    Ok(())
}

/// Names were found in the index of a directory that had been deleted, or not found that had
/// been made again; aliases got given twice. Listings and lookups have to agree with what was
/// done, at once, without caches, and after a remount.
fn index(cfg: &Config) -> Result<()> {
    const N: u32 = 3000;
    let mut v = fresh(cfg, &geom(16, 24, 2048), "")?;
    let mut rng = Rng::new(14);
    let mut model = Model::new();
    let dir = v.p("dir");
    sys::mkdir(&dir)?;
    let spell = |i: u32, upper: bool| {
        let n = match i % 3 {
            0 => format!("A long file name, number {i}.text"),
            1 => format!("Another{i}.t"),
            _ => format!("f{i}.txt"),
        };
        if upper {
            n.to_uppercase()
        } else {
            n
        }
    };
    let put = |model: &mut Model, name: String, tag: u32| -> Result<()> {
        let f = sys::open(
            &dir.join(&name),
            libc::O_RDWR | libc::O_CREAT | libc::O_EXCL,
        )
        .with_context(|| format!("create {name}"))?;
        sys::pwrite_all(&f, tag.to_string().as_bytes(), 0)?;
        model.insert(name.to_lowercase(), (name, tag));
        Ok(())
    };
    for i in 0..N {
        put(&mut model, spell(i, false), i)?;
    }
    compare(&v, &model, "3,000 files")?;
    let mut gone = Vec::new();
    for i in 0..N {
        if rng.one_in(2) {
            let upper = rng.one_in(2);
            sys::unlink(&dir.join(spell(i, upper))).context("unlink")?;
            model.remove(&spell(i, false).to_lowercase());
            gone.push(i);
        }
    }
    for &i in gone.iter().step_by(3) {
        errno(
            sys::stat(&dir.join(spell(i, false))),
            libc::ENOENT,
            "a deleted name",
        )?;
    }
    compare(&v, &model, "half deleted")?;
    // Now under the other spelling, in another order.
    while gone.len() > 200 {
        let i = gone.swap_remove(rng.below(gone.len() as u64) as usize);
        put(&mut model, spell(i, true), 10_000 + i)?;
        errno(
            sys::open(&dir.join(spell(i, false)), libc::O_CREAT | libc::O_EXCL),
            libc::EEXIST,
            "a name in other case",
        )?;
    }
    compare(&v, &model, "created again")?;
    sys::sync();
    drop_caches()?;
    compare(&v, &model, "without caches")?;
    v.remount()?;
    compare(&v, &model, "after remount")?;
    for &i in &gone {
        errno(
            sys::stat(&dir.join(spell(i, true))),
            libc::ENOENT,
            "a deleted name",
        )?;
        put(&mut model, spell(i, true), 20_000 + i)?;
    }
    v.remount()?;
    compare(&v, &model, "complete again")?;
    v.finish()
}

/// The first and the last slot of each entry.
fn entries(raw: &[[u8; 32]]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut first = None;
    for (i, slot) in raw.iter().enumerate() {
        match (slot[0], slot[11]) {
            (0, _) => break,
            (0xE5, _) => first = None,
            (_, 0x0F) => first = first.or(Some(i)),
            _ => out.push((first.take().unwrap_or(i), i)),
        }
    }
    out
}

/// An entry whose slots lay in two blocks could be on disk in halves after a power cut. What fits
/// into one block is placed there, also where others were removed; a name that doesn't, and one
/// that would not fit any more, still get their room.
fn entry_in_one_block(cfg: &Config) -> Result<()> {
    not_vfat(cfg, "entries lie across blocks")?;
    let mut g = geom(16, 8, 512);
    g.name += "-root64";
    g.root_entries = 64;
    let mut v = fresh(cfg, &g, "")?;
    let mut rng = Rng::new(8);
    let dir = v.p("dir");
    sys::mkdir(&dir)?;
    let mut names = Vec::new();
    for i in 0..600 {
        let long = "x".repeat(rng.below(180) as usize);
        let name = dir.join(format!("n{i}{long}"));
        sys::create(&name)?;
        names.push(name);
        if rng.one_in(3) {
            let gone = names.swap_remove(rng.below(names.len() as u64) as usize);
            sys::unlink(&gone)?;
        }
    }
    sys::create(&dir.join("y".repeat(255)))?;
    // The root directory is full when nothing fits, not when nothing fits into one block: without
    // the third name there are 3 slots at the end of one block and 5 in the next.
    let five = |i: u32| v.p(format!("{i:03} {}", "z".repeat(38)));
    for i in 0..11 {
        sys::create(&five(i)).context("5 slots")?;
    }
    errno(sys::create(&five(11)), libc::ENOSPC, "full")?;
    sys::unlink(&five(2))?;
    let eight = v.p("N".repeat(90));
    sys::create(&eight).context("8 slots")?;
    names.push(eight);
    v.umount()?;
    let disk = v.disk()?;
    let read = |slots: &[u64]| -> Result<Vec<[u8; 32]>> {
        let slot = |&at: &u64| Ok(disk.read(at, 32)?.as_slice().try_into()?);
        slots.iter().map(slot).collect()
    };
    let at = disk.find_root(b"DIR        ")?;
    let slots = read(&disk.dir_slots(disk.start(at)?)?)?;
    let mut across = 0;
    let found = entries(&slots);
    same!(
        found.len(),
        names.len() + 2,
        "entries, dots and the longest"
    );
    for (first, last) in found {
        if first / 16 != last / 16 {
            same!(
                last - first,
                20,
                "slots before the 8.3 slot of one that lies across"
            );
            across += 1;
        }
    }
    same!(across, 1, "entries across blocks");
    v.mount()?;
    for name in &names {
        sys::stat(name).with_context(|| name.display().to_string())?;
    }
    v.finish()
}

/// An exchange in directories that had no room for a third name left each directory's `..` as it
/// was.
fn exchange_in_full_directories(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg, &geom(16, 8, 512), "")?;
    for d in ["a", "b"] {
        sys::mkdir(&v.p(d))?;
        sys::mkdir(&v.p(d).join("SUB"))?;
        // 16 slots: two dots, SUB, and these.
        for i in 0..13 {
            sys::create(&v.p(d).join(format!("FILE{i}")))?;
        }
        sys::create(&v.p(d).join("SUB").join(d))?;
    }
    sys::rename(&v.p("a/SUB"), &v.p("b/SUB"), libc::RENAME_EXCHANGE)?;
    for remounted in [false, true] {
        for (d, file) in [("a", "b"), ("b", "a")] {
            let sub = v.p(d).join("SUB");
            sys::stat(&sub.join(file)).context("content")?;
            let parent = sys::stat(&sub.join(".."))?.ino;
            same!(
                parent,
                sys::stat(&v.p(d))?.ino,
                ".. in {d}, remounted: {remounted}"
            );
        }
        if !remounted {
            v.remount()?;
        }
    }
    same!(
        sys::stat(&v.p("a"))?.blocks,
        1,
        "the directory did not grow"
    );
    v.finish()
}
