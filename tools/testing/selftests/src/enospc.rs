// SPDX-License-Identifier: GPL-2.0

//! Suite `enospc`: fill the volume in different ways, free it, and miss nothing.

use crate::geom;
use crate::runner::{Case, Group, Suite};
use crate::same;
use crate::sys::{self, Errno, Res};
use crate::vol::Vol;
use anyhow::{ensure, Result};

/// Uses up space until the first error.
type Way = fn(&Vol) -> Errno;

/// Ways to use up space.
const WAYS: &[(&str, Way)] = &[
    ("write", by_write),
    ("small_files", by_files),
    ("mkdir", by_mkdir),
    ("directory_entries", by_entries),
    ("fallocate", by_fallocate),
    ("keep_size", by_keep_size),
    ("truncate", by_truncate),
    ("mmap_and_fsync", by_fsync),
];

fn until_error(mut step: impl FnMut(usize) -> Res<()>) -> Errno {
    for i in 0.. {
        if let Err(e) = step(i) {
            return e;
        }
    }
    Errno(0)
}

fn by_write(v: &Vol) -> Errno {
    let f = sys::create(&v.p("fill"));
    until_error(|i| {
        let f = f.as_ref().map_err(|e| *e)?;
        sys::pwrite_all(f, &[0x55; 30_000], i as i64 * 30_000)
    })
}

fn by_files(v: &Vol) -> Errno {
    let made = sys::mkdir(&v.p("files"));
    until_error(|i| {
        made?;
        let f = sys::create(&v.p(format!("files/file number {i}")))?;
        sys::pwrite_all(&f, &vec![1; 9000], 0)
    })
}

fn by_mkdir(v: &Vol) -> Errno {
    let made = sys::mkdir(&v.p("dirs"));
    until_error(|i| {
        made?;
        if i % 50 == 0 {
            sys::mkdir(&v.p(format!("dirs/d{}", i / 50)))?;
        }
        sys::mkdir(&v.p(format!("dirs/d{}/directory {i}", i / 50)))
    })
}

fn by_entries(v: &Vol) -> Errno {
    let e = by_write(v);
    if e.0 != libc::ENOSPC {
        return e;
    }
    // Make room for a little more than a directory.
    let cluster = v.geom.as_ref().map_or(512, |g| g.cluster) as i64;
    let size = sys::stat(&v.p("fill")).map_or(0, |s| s.size as i64);
    let _ = sys::truncate(&v.p("fill"), (size - 4 * cluster).max(0));
    let made = sys::mkdir(&v.p("entries"));
    until_error(|i| {
        made?;
        sys::create(&v.p(format!("entries/{}{i}", "long name ".repeat(18)))).map(drop)
    })
}

fn by_fallocate(v: &Vol) -> Errno {
    let f = sys::create(&v.p("fill"));
    until_error(|i| {
        let f = f.as_ref().map_err(|e| *e)?;
        sys::fallocate(f, 0, i as i64 * 100_000, 100_000)
    })
}

fn by_keep_size(v: &Vol) -> Errno {
    let f = sys::create(&v.p("fill"));
    until_error(|i| {
        let f = f.as_ref().map_err(|e| *e)?;
        sys::fallocate(f, libc::FALLOC_FL_KEEP_SIZE, i as i64 * 100_000, 100_000)
    })
}

fn by_truncate(v: &Vol) -> Errno {
    let made = sys::mkdir(&v.p("files"));
    until_error(|i| {
        made?;
        let f = sys::create(&v.p(format!("files/f{i}")))?;
        sys::ftruncate(&f, 300_000)
    })
}

fn by_fsync(v: &Vol) -> Errno {
    let made = sys::mkdir(&v.p("files"));
    until_error(|i| {
        made?;
        let f = sys::create(&v.p(format!("files/f{i}")))?;
        sys::ftruncate(&f, 400_000)?;
        let m = sys::Map::shared(&f, 400_000, true)?;
        m.write(399_000, b"mapped");
        m.write(3000, b"mapped");
        m.sync()?;
        sys::fsync(&f)
    })
}

fn clear(v: &Vol) -> Result<()> {
    for name in sys::names(&v.mp)? {
        let p = v.p(name);
        if sys::stat(&p)?.is_dir() {
            std::fs::remove_dir_all(p)?;
        } else {
            sys::unlink(&p)?;
        }
    }
    Ok(())
}

fn rounds(v: &mut Vol, way: Way) -> Result<()> {
    let free = sys::statfs(&v.mp)?.bfree;
    ensure!(free > 0, "an empty volume is full");
    // On a directory full of entries the root may keep its clusters on FAT32.
    let mut least = free;
    for round in 0..3 {
        same!(
            way(v),
            Errno(libc::ENOSPC),
            "the error at the end, round {round}"
        );
        let st = sys::statfs(&v.mp)?;
        ensure!(
            st.bfree < 100 + free / 8,
            "round {round}: {} clusters still free",
            st.bfree
        );
        if round == 1 {
            v.remount()?;
        }
        clear(v)?;
        let now = sys::statfs(&v.mp)?.bfree;
        ensure!(
            now <= free && now + 2 >= free,
            "round {round}: {now} clusters free of {free}"
        );
        if round > 0 {
            same!(now, least, "free clusters, round {round}");
        }
        least = now;
        sys::sync();
        same!(
            v.disk()?.count_free()? as u64,
            now,
            "free entries in the FAT, round {round}"
        );
    }
    // Everything can be used again, and holds data.
    let n = (free * sys::statfs(&v.mp)?.bsize as u64 / 2).min(1_000_000) as usize;
    std::fs::write(v.p("again"), vec![7; n])?;
    v.remount()?;
    same!(
        std::fs::read(v.p("again"))?,
        vec![7; n],
        "content of a new file"
    );
    Ok(())
}

/// The suite.
pub fn suite() -> Suite {
    let mut groups = Vec::new();
    for mut g in geom::basic() {
        // Small, since every cluster gets used three times and more.
        (g.bytes, g.cluster) = match g.bits {
            12 => (1 << 20, 1024),
            16 => (5 << 20, 1024),
            _ => (34 << 20, 512),
        };
        let ways = WAYS.iter().filter(|w| {
            g.bits != 32 || matches!(w.0, "write" | "fallocate" | "keep_size" | "truncate")
        });
        groups.push(Group {
            name: g.name.clone(),
            cases: ways
                .map(|&(name, way)| {
                    let g = g.clone();
                    Case::new(name, move |cfg| {
                        let mut v = Vol::fresh(&g, &cfg.fs, "", "t")?;
                        rounds(&mut v, way)?;
                        v.finish()
                    })
                    .limit(300)
                })
                .collect(),
        });
    }
    Suite {
        name: "enospc",
        groups,
    }
}
