// SPDX-License-Identifier: GPL-2.0

//! ENOSPC in the middle of an operation: with so few clusters left, it fails and leaves
//! everything as it was, or it succeeds. With room it succeeds.

use super::engine::drop_caches;
use super::snap::Snap;
use super::watch::watched;
use crate::disk::Disk;
use crate::geom::Geom;
use crate::runner::{Case, Group};
use crate::sys::{self, Errno, Res};
use crate::vol::{fsck, Image, Vol, WORK};
use anyhow::{anyhow, bail, ensure, Context, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

const CLUSTER: u64 = 512;
/// No operation here needs more clusters.
const MOST: u64 = 8;

/// The size that a file got to by a write that may be short.
type Wrote = Option<(&'static str, u64)>;

struct Op {
    name: &'static str,
    run: fn(&Vol) -> Res<Wrote>,
    /// The clusters it needs.
    needs: u64,
}

fn wrote(name: &'static str, at: u64, r: Res<usize>) -> Res<Wrote> {
    r.map(|n| Some((name, at + n as u64)))
}

fn long(n: usize) -> String {
    format!("full/{}", "long name ".repeat(n).trim())
}

const OPS: &[Op] = &[
    Op {
        name: "create",
        needs: 1,
        run: |v| sys::create(&v.p("full/new")).map(|_| None),
    },
    Op {
        // 21 slots; a cluster has 16.
        name: "create_long",
        needs: 2,
        run: |v| sys::create(&v.p(long(25))).map(|_| None),
    },
    Op {
        name: "mkdir",
        needs: 1,
        run: |v| sys::mkdir(&v.p("d/new")).map(|()| None),
    },
    Op {
        name: "mkdir_in_full",
        needs: 2,
        run: |v| sys::mkdir(&v.p("full/new")).map(|()| None),
    },
    Op {
        name: "mkdir_long_in_full",
        needs: 3,
        run: |v| sys::mkdir(&v.p(long(25))).map(|()| None),
    },
    Op {
        name: "rename_into_full",
        needs: 1,
        run: |v| sys::rename(&v.p("d/file"), &v.p("full/file"), 0).map(|()| None),
    },
    Op {
        name: "rename_long_into_full",
        needs: 2,
        run: |v| sys::rename(&v.p("d/file"), &v.p(long(25)), 0).map(|()| None),
    },
    Op {
        name: "rename_dir_into_full",
        needs: 1,
        run: |v| sys::rename(&v.p("d/sub"), &v.p("full/sub"), 0).map(|()| None),
    },
    Op {
        // Short, if there's room for a part.
        name: "write",
        needs: 1,
        run: |v| {
            let f = sys::open(&v.p("d/nil"), libc::O_WRONLY)?;
            wrote("d/nil", 0, sys::pwrite(&f, &[0x51; 2000], 0))
        },
    },
    Op {
        name: "append",
        needs: 1,
        run: |v| {
            let f = sys::open(&v.p("d/file"), libc::O_WRONLY)?;
            wrote("d/file", 1024, sys::pwrite(&f, &[0x52; 2000], 1024))
        },
    },
    Op {
        name: "write_behind_gap",
        needs: 7,
        run: |v| {
            let f = sys::open(&v.p("d/nil"), libc::O_WRONLY)?;
            wrote("d/nil", 3100, sys::pwrite(&f, &[0x53; 200], 3100))
        },
    },
    Op {
        name: "direct_write",
        needs: 1,
        run: |v| {
            let f = sys::open(&v.p("d/nil"), libc::O_WRONLY | libc::O_DIRECT)?;
            let mut a = sys::Aligned::new(2048);
            a.bytes().fill(0x54);
            wrote("d/nil", 0, sys::pwrite(&f, a.bytes(), 0))
        },
    },
    Op {
        name: "truncate_up",
        needs: 4,
        run: |v| sys::truncate(&v.p("d/nil"), 2000).map(|()| None),
    },
    Op {
        name: "truncate_up_more",
        needs: 4,
        run: |v| sys::truncate(&v.p("d/file"), 3000).map(|()| None),
    },
    Op {
        name: "fallocate",
        needs: 4,
        run: |v| {
            let f = sys::open(&v.p("d/nil"), libc::O_RDWR)?;
            sys::fallocate(&f, 0, 100, 1900).map(|()| None)
        },
    },
    Op {
        // Also written, so that it stays.
        name: "fallocate_keep",
        needs: 4,
        run: |v| {
            let f = sys::open(&v.p("d/nil"), libc::O_RDWR)?;
            sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, 2000)?;
            wrote("d/nil", 0, sys::pwrite(&f, &[0x55; 2000], 0))
        },
    },
    Op {
        // FAT has no holes: what is mapped has its clusters, so it is the expansion that fails.
        name: "mmap_write",
        needs: 4,
        run: |v| {
            let f = sys::open(&v.p("d/nil"), libc::O_RDWR)?;
            sys::ftruncate(&f, 2000)?;
            let m = sys::Map::shared(&f, 2000, true)?;
            m.write(1500, &[0x56; 500]);
            m.sync().map(|()| None)
        },
    },
];

fn geom(bits: u32) -> Geom {
    let kib = match bits {
        12 => 1 << 10,
        16 => 3 << 10,
        _ => 34 << 10,
    };
    let mut g = Geom::new(bits, kib * 1024, CLUSTER as u32);
    g.name = format!("full{bits}");
    // As few as a sector holds.
    g.root_entries = 16;
    g
}

/// Marks most clusters as bad, so that there's less to be filled.
fn shrink(d: &Disk) -> Result<()> {
    for c in 1000..d.clusters + 2 {
        d.set(c, d.end_mark() - 1)?;
    }
    if d.bits == 32 {
        let free = d.count_free()?;
        d.write(d.fsinfo + 488, &free.to_le_bytes())?;
    }
    Ok(())
}

/// A full volume, made once by the stock driver. `full` is a directory without room for one
/// more slot, `fill` has most of the space, `spare` is to be removed.
fn model(bits: u32) -> Result<PathBuf> {
    let path = Path::new(WORK).join(format!("full{bits}-tree.tmpl"));
    if path.exists() {
        return Ok(path);
    }
    let image = Image::make(&geom(bits), "tree")?;
    shrink(&image.disk()?)?;
    let mut v = Vol::mount_image(image, "vfat", "", "tree")?;
    for dir in ["d", "d/sub", "full"] {
        sys::mkdir(&v.p(dir))?;
    }
    for i in 2..CLUSTER / 32 {
        sys::create(&v.p(format!("full/F{i}")))?;
    }
    sys::create(&v.p("d/nil"))?;
    std::fs::write(v.p("d/file"), [0x50; 1024])?;
    std::fs::write(v.p("spare"), vec![0x57; 32 * CLUSTER as usize])?;
    let fill = sys::create(&v.p("fill"))?;
    let mut at = 0;
    for chunk in [65536, CLUSTER as usize] {
        while let Ok(n) = sys::pwrite(&fill, &vec![0x58; chunk], at) {
            at += n as i64;
        }
    }
    drop(fill);
    ensure!(sys::statfs(&v.mp)?.bfree == 0, "the volume isn't full");
    v.umount()?;
    std::fs::copy(&v.image.path, &path)?;
    Ok(path)
}

/// A volume with `left` clusters free.
fn volume(bits: u32, fs: &str, opts: &str, left: u64) -> Result<Vol> {
    let v = Vol::mount_image(Image::copy_of(&model(bits)?, "t")?, fs, opts, "t")?;
    let fill = sys::open(&v.p("fill"), libc::O_RDWR)?;
    let size = sys::fstat(&fill)?.size.div_ceil(CLUSTER) - left;
    sys::ftruncate(&fill, (size * CLUSTER) as i64)?;
    sys::syncfs(&fill)?;
    drop(fill);
    drop_caches()?;
    let free = sys::statfs(&v.mp)?.bfree;
    ensure!(free == left, "{free} clusters free, expected {left}");
    Ok(v)
}

fn run(op: &Op, v: &Vol) -> Res<Wrote> {
    watched(Duration::from_secs(10), op.name, || (op.run)(v))
}

/// With `left` clusters. Whether the operation succeeded.
fn with(op: &Op, bits: u32, fs: &str, opts: &str, left: u64) -> Result<bool> {
    let mut v = volume(bits, fs, opts, left)?;
    let before = Snap::of(&v.mp)?.timeless();
    let r = run(op, &v);
    drop_caches()?;
    let after = Snap::of(&v.mp)?.timeless();
    match &r {
        Err(Errno(libc::ENOSPC)) => {
            if let Some(d) = after.differs(&before, None) {
                bail!("ENOSPC, but {d}");
            }
            sys::unlink(&v.p("spare"))?;
            run(op, &v).map_err(|e| anyhow!("with enough space: {e}"))?;
        }
        Err(e) => bail!("{e}, expected ENOSPC or success"),
        Ok(Some((name, size))) => {
            let got = after.tree.get(*name).map(|e| e.size);
            ensure!(got == Some(*size), "written up to {size}, size is {got:?}");
        }
        Ok(None) => {}
    }
    sys::syncfs(&sys::open(&v.mp, libc::O_RDONLY)?)?;
    drop_caches()?;
    let memory = Snap::of(&v.mp)?.timeless();
    let (free, real) = (memory.free, v.disk()?.count_free()? as u64);
    ensure!(free == real, "statfs says {free} free, there are {real}");
    v.umount()?;
    fsck(&v.image.path)?;
    v.mount()?;
    if let Some(d) = Snap::of(&v.mp)?.timeless().differs(&memory, None) {
        bail!("after a mount {d}");
    }
    v.umount()?;
    Ok(r.is_ok())
}

/// From a full volume on, until there is enough.
fn case(op: &Op, bits: u32, fs: &str, opts: &str) -> Result<()> {
    for left in 0..=MOST {
        let done = with(op, bits, fs, opts, left).with_context(|| format!("{left} left"))?;
        ensure!(
            done == (left >= op.needs),
            "{left} clusters left: {}",
            if done { "success" } else { "ENOSPC" }
        );
        if left > op.needs {
            break;
        }
    }
    Ok(())
}

/// The root directory of FAT12 and FAT16 can't grow.
fn root_full(bits: u32, fs: &str) -> Result<()> {
    let mut v = volume(bits, fs, "", 20)?;
    let mut n = 0;
    while sys::create(&v.p(format!("R{n}"))).is_ok() {
        n += 1;
        ensure!(n < 100, "the root directory takes everything");
    }
    let before = Snap::of(&v.mp)?.timeless();
    let tries: [(&str, Res<()>); 5] = [
        ("create", sys::create(&v.p("MORE")).map(drop)),
        ("mkdir", sys::mkdir(&v.p("MORE"))),
        ("rename", sys::rename(&v.p("d/file"), &v.p("MORE"), 0)),
        ("rename of a directory", {
            sys::rename(&v.p("d/sub"), &v.p("MORE"), 0)
        }),
        ("rename to a longer name", {
            sys::rename(&v.p("R0"), &v.p("A name of two slots"), 0)
        }),
    ];
    for (what, r) in tries {
        ensure!(r == Err(Errno(libc::ENOSPC)), "{what}: {r:?}");
    }
    if let Some(d) = Snap::of(&v.mp)?.timeless().differs(&before, None) {
        bail!("ENOSPC, but {d}");
    }
    sys::unlink(&v.p("R0"))?;
    sys::mkdir(&v.p("MORE")).context("mkdir with room")?;
    v.umount()?;
    fsck(&v.image.path)
}

/// The groups.
pub fn groups(quick: bool) -> Vec<Group> {
    let mut out = Vec::new();
    for (bits, opts) in [(12, ""), (16, "sync"), (32, "")] {
        if quick && bits == 32 {
            continue;
        }
        let mut cases: Vec<Case> = OPS
            .iter()
            .map(|op| Case::new(op.name, move |cfg| case(op, bits, &cfg.fs, opts)))
            .collect();
        if bits != 32 {
            cases.push(Case::new("root_full", move |cfg| root_full(bits, &cfg.fs)));
        }
        out.push(Group {
            name: format!("full_fat{bits}"),
            cases,
        });
    }
    out
}
