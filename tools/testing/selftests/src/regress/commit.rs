// SPDX-License-Identifier: GPL-2.0

//! What has to be on the device, and when: the image is copied while it is mounted, as if
//! the power had failed, and the stock driver reads the copy.

use super::{fresh, geom, not_vfat, stamp, Test};
use crate::runner::Config;
use crate::same;
use crate::sys;
use crate::vol::{fsck, Image, Vol};
use anyhow::{ensure, Context, Result};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub const TESTS: &[Test] = &[
    ("sync_many", 60, sync_many),
    ("background", 90, background),
    ("flush_mount", 90, flush_mount),
    ("flush_mount_data_first", 90, flush_mount_data_first),
    ("fsync_after_flusher", 60, fsync_after_flusher),
    ("mirror_read_meanwhile", 60, mirror_read_meanwhile),
    ("fat_written_once", 60, fat_written_once),
];

fn name(i: u32) -> String {
    format!("small file number {i}")
}

fn content(i: u32) -> Vec<u8> {
    stamp(i, 0, 100 + (i as usize * 37) % 6000)
}

fn create(v: &Vol, n: u32, mut each: impl FnMut(&std::fs::File) -> Result<()>) -> Result<()> {
    sys::mkdir(&v.p("dir"))?;
    for i in 0..n {
        let f = sys::create(&v.p("dir").join(name(i)))?;
        sys::pwrite_all(&f, &content(i), 0)?;
        each(&f)?;
    }
    Ok(())
}

/// All files have to be in a copy of the image; nothing but its dirty flag may be wrong.
fn complete(v: &Vol, n: u32) -> Result<()> {
    let copy = Image::copy_of(&v.image.path, "copy")?;
    let d = copy.disk()?;
    let at = if d.bits == 32 { 65 } else { 37 };
    let flags = d.read(at, 1)?[0] & !1;
    d.write(at, &[flags])?;
    let checked = fsck(&copy.path).context("the copy");
    let mut old = Vol::mount_image(copy, "vfat", "", "copy")?;
    let mut want: Vec<String> = (0..n).map(name).collect();
    want.sort();
    same!(sys::names(&old.p("dir"))?, want, "names in the copy");
    let whole = |i: &u32| {
        let got = std::fs::read(old.p("dir").join(name(*i)));
        got.is_ok_and(|got| got == content(*i))
    };
    let short: Vec<u32> = (0..n).filter(|i| !whole(i)).collect();
    same!(short, Vec::<u32>::new(), "files not complete in the copy");
    old.umount()?;
    checked
}

/// They have to be there within some seconds, without anybody's help.
fn within(v: &Vol, n: u32, seconds: u64) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(seconds);
    loop {
        std::thread::sleep(Duration::from_secs(1));
        let late = Instant::now() >= end;
        match complete(v, n) {
            Err(e) if late => return Err(e.context(format!("after {seconds} s"))),
            Err(_) => {}
            Ok(()) => return Ok(()),
        }
    }
}

/// One syncfs(2) for many new files. Inodes were committed one after the other, and some of
/// them not at all. When it returns, every file has to be complete on the device.
fn sync_many(cfg: &Config) -> Result<()> {
    for g in [geom(16, 12, 2048), geom(32, 36, 512)] {
        let v = fresh(cfg, &g, "")?;
        create(&v, 300, |_| Ok(()))?;
        sys::syncfs(&sys::open(&v.mp, libc::O_RDONLY)?)?;
        complete(&v, 300).with_context(|| g.name.clone())?;
        v.finish()?;
    }
    Ok(())
}

/// Lets the flusher write what is older than a time, as often as another; undone on drop.
struct Eager([(&'static str, String); 2]);

impl Eager {
    /// In hundredths of a second.
    fn new(older: u32, every: u32) -> Result<Eager> {
        let names = ["dirty_expire_centisecs", "dirty_writeback_centisecs"];
        let old = names.map(|n| {
            (
                n,
                std::fs::read_to_string(Eager::path(n)).unwrap_or_default(),
            )
        });
        std::fs::write(Eager::path(names[0]), older.to_string())?;
        std::fs::write(Eager::path(names[1]), every.to_string())?;
        Ok(Eager(old))
    }

    fn path(name: &str) -> String {
        format!("/proc/sys/vm/{name}")
    }
}

impl Drop for Eager {
    fn drop(&mut self) {
        for (name, value) in &self.0 {
            let _ = std::fs::write(Eager::path(name), value);
        }
    }
}

/// Nobody asks for a commit: the flusher writes the data, when it is old enough, and tells
/// the file system of the inodes. FAT and directory have to follow within
/// some 5 s.
fn background(cfg: &Config) -> Result<()> {
    let _eager = Eager::new(100, 50)?;
    let v = fresh(cfg, &geom(16, 12, 2048), "")?;
    create(&v, 100, |_| Ok(()))?;
    within(&v, 100, 20)?;
    v.finish()
}

/// With `-o flush` a file has to be on the device soon after it was closed; not only those
/// whose data took a while to get there.
fn flush_mount(cfg: &Config) -> Result<()> {
    let v = fresh(cfg, &geom(16, 12, 2048), "flush")?;
    create(&v, 400, |_| Ok(()))?;
    within(&v, 400, 4)?;
    v.finish()
}

/// The same where all data has arrived before the file is closed, so that nothing but the
/// entry and the FAT remains to be written.
fn flush_mount_data_first(cfg: &Config) -> Result<()> {
    let v = fresh(cfg, &geom(16, 12, 2048), "flush")?;
    create(&v, 30, |f| Ok(sys::write_data(f)?))?;
    within(&v, 30, 4)?;
    v.finish()
}

/// The flusher had started a file's data and put the entry off until that had arrived; for the VFS
/// the inode was clean, and fsync wrote no entry. The size has to be on disk.
fn fsync_after_flusher(cfg: &Config) -> Result<()> {
    let v = fresh(cfg, &geom(16, 12, 2048), "")?;
    let _eager = Eager::new(1, 1)?;
    let mut size = 0;
    let f = sys::create(&v.p("SIZE"))?;
    sys::syncfs(&f)?;
    let slot = v.disk()?.find_root(b"SIZE       ")?;
    for round in 0..30u64 {
        let len = 40_000 + 1000 * round as usize;
        sys::pwrite_all(&f, &stamp(1, size, len), size as i64)?;
        size += len as u64;
        std::thread::sleep(Duration::from_millis(10 + round * 2));
        sys::fsync(&f)?;
        let raw = v.disk()?.read(slot + 28, 4)?;
        let on_disk = u32::from_le_bytes(raw.as_slice().try_into()?);
        same!(u64::from(on_disk), size, "round {round}: the size on disk");
    }
    drop(f);
    v.finish()
}

/// Mirrors are written without a copy in memory. Who reads them through the block device, once or
/// all the time, has to see what was written, and so does who reads the disk.
fn mirror_read_meanwhile(cfg: &Config) -> Result<()> {
    let mut v = fresh(cfg, &geom(16, 12, 2048), "")?;
    let d = v.disk()?;
    let dev = sys::open(v.dev(), libc::O_RDONLY)?;
    let len = d.fat_bytes as usize;
    let copy = |n: u64| sys::pread_vec(&dev, len, (d.fat_start + n * d.fat_bytes) as i64);
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        let reader = s.spawn(|| -> sys::Res<()> {
            while !stop.load(Ordering::Relaxed) {
                copy(1)?;
            }
            Ok(())
        });
        let result = (|| {
            for round in 0..200 {
                let f = sys::create(&v.p(name(round % 7)))?;
                sys::pwrite_all(&f, &stamp(round, 0, 2048 * (1 + round as usize % 90)), 0)?;
                sys::fsync(&f)?;
                same!(
                    copy(1)? == copy(0)?,
                    true,
                    "round {round}: the mirror as it is read"
                );
            }
            Ok(())
        })();
        stop.store(true, Ordering::Relaxed);
        reader.join().expect("no panic")?;
        result
    })?;
    v.umount()?;
    same!(copy(1)? == copy(0)?, true, "the mirror, unmounted");
    v.finish()
}

/// Sectors written to the device so far.
fn sectors_written(v: &Vol) -> Result<u64> {
    let dev = v.dev().file_name().context("device")?;
    let stat = std::fs::read_to_string(Path::new("/sys/block").join(dev).join("stat"))?;
    let field = stat.split_whitespace().nth(6).context("write sectors")?;
    Ok(field.parse()?)
}

/// A file that is written piece by piece got a link from each piece to the next, and each was
/// written by itself. Nothing on disk leads to pieces that are new, so one write does for all.
fn fat_written_once(cfg: &Config) -> Result<()> {
    not_vfat(cfg, "writes FAT sectors more than once")?;
    const PIECE: usize = 256 << 10;
    const PIECES: usize = 64;
    let v = fresh(cfg, &geom(32, 36, 512), "")?;
    let f = sys::create(&v.p("f"))?;
    sys::fsync(&f)?;
    let before = sectors_written(&v)?;
    for i in 0..PIECES {
        sys::pwrite_all(&f, &stamp(1, 0, PIECE), (i * PIECE) as i64)?;
    }
    sys::fsync(&f)?;
    drop(f);
    let written = sectors_written(&v)? - before;
    let data = (PIECE * PIECES / 512) as u64;
    // A FAT32 sector has 128 entries, and there are two copies.
    let fat = data / 128 * 2;
    ensure!(
        (data + fat..data + fat + 20).contains(&written),
        "{written} sectors were written, {data} of them data; the FAT's part has {fat}"
    );
    v.finish()
}
