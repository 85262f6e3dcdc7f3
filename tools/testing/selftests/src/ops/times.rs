// SPDX-License-Identifier: GPL-2.0

//! Time stamps and what is left of them on the disk.

use super::Op;
use crate::same;
use crate::sys::{self, Stamp};
use crate::vol::Vol;
use anyhow::{ensure, Result};
use std::time::{SystemTime, UNIX_EPOCH};

pub const OPS: &[Op] = &[
    ("time_granularity", "tz=UTC", granularity),
    ("time_of_creation", "tz=UTC", creation),
    ("time_of_write", "tz=UTC", of_write),
    ("time_range", "tz=UTC", range),
    ("time_of_directories", "tz=UTC", directories),
    ("time_zone", "time_offset=90", zone),
];

fn now() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs() as i64)
}

/// Within two seconds before and three after; the disk rounds down by up to two.
fn near(t: Stamp, want: i64, what: &str) -> Result<()> {
    ensure!(
        (want - 2..=want + 3).contains(&t.0),
        "{what}: {t:?}, expected about {want}"
    );
    Ok(())
}

fn granularity(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    // 2001-09-09 01:46:41.123456789.
    let t = (1_000_000_001, 123_456_789);
    sys::utimens(&v.p("f"), Some(t), Some(t))?;
    for round in 0..2 {
        let st = sys::stat(&v.p("f"))?;
        same!(st.mtime, (1_000_000_000, 0), "mtime: 2 s, round {round}");
        same!(st.atime, (999_993_600, 0), "atime: 1 day, round {round}");
        v.remount()?;
    }
    sys::utimens(&v.p("f"), None, Some((1_500_000_003, 0)))?;
    same!(
        sys::stat(&v.p("f"))?.atime,
        (999_993_600, 0),
        "atime that was left alone"
    );
    sys::utimens(&v.p("f"), Some((1_400_000_000, 0)), None)?;
    same!(
        sys::stat(&v.p("f"))?.mtime,
        (1_500_000_002, 0),
        "mtime that was left alone"
    );
    Ok(())
}

fn creation(v: &mut Vol) -> Result<()> {
    let t = now();
    sys::create(&v.p("f"))?;
    sys::mkdir(&v.p("d"))?;
    for round in 0..2 {
        for n in ["f", "d"] {
            let st = sys::stat(&v.p(n))?;
            near(st.mtime, t, "mtime")?;
            near(st.ctime, t, "ctime")?;
            same!(st.atime.0 % 86_400, 0, "seconds of atime");
            let b = st.btime.ok_or_else(|| anyhow::anyhow!("no btime"))?;
            near(b, t, "btime")?;
            same!(b.1 % 10_000_000, 0, "btime in units of 10 ms");
            same!(
                (st.mtime.0 % 2, st.mtime.1),
                (0, 0),
                "mtime in units of 2 s, round {round}"
            );
        }
        v.remount()?;
    }
    // Setting times doesn't touch the time of birth.
    let b = sys::stat(&v.p("f"))?.btime;
    sys::utimens(&v.p("f"), Some((1, 0)), Some((400_000_000, 0)))?;
    v.remount()?;
    same!(sys::stat(&v.p("f"))?.btime, b, "btime after utimens");
    Ok(())
}

fn of_write(v: &mut Vol) -> Result<()> {
    let old = Some((1_000_000_000, 0));
    let f = sys::create(&v.p("f"))?;
    sys::utimens(&v.p("f"), old, old)?;
    sys::pwrite_all(&f, b"x", 0)?;
    near(sys::fstat(&f)?.mtime, now(), "mtime after write")?;
    sys::utimens(&v.p("f"), old, old)?;
    sys::ftruncate(&f, 5000)?;
    near(sys::fstat(&f)?.mtime, now(), "mtime after growing")?;
    sys::utimens(&v.p("f"), old, old)?;
    sys::ftruncate(&f, 0)?;
    near(sys::fstat(&f)?.mtime, now(), "mtime after shrinking")?;
    drop(f);
    sys::utimens(&v.p("f"), old, old)?;
    sys::rename(&v.p("f"), &v.p("g"), 0)?;
    v.remount()?;
    same!(
        sys::stat(&v.p("g"))?.mtime,
        (1_000_000_000, 0),
        "mtime after rename"
    );
    Ok(())
}

fn range(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    let (min, max) = (315_532_800, 4_354_819_198);
    for (set, want) in [
        (0, min),
        (min - 1, min),
        (min, min),
        (951_782_400, 951_782_400),     // 2000-02-29
        (4_107_542_400, 4_107_542_400), // 2100-03-01: that year has no leap day
        (max, max),
        (max + 10, max),
        (1 << 40, max),
    ] {
        sys::utimens(&v.p("f"), Some((set, 0)), Some((set, 0)))?;
        v.remount()?;
        let st = sys::stat(&v.p("f"))?;
        same!(st.mtime, (want, 0), "mtime for {set}");
        same!(st.atime, (want - want % 86_400, 0), "atime for {set}");
    }
    Ok(())
}

fn directories(v: &mut Vol) -> Result<()> {
    let old = Some((1_000_000_000, 0));
    let is_old = |v: &Vol| -> Result<bool> { Ok(sys::stat(&v.p("d"))?.mtime.0 == 1_000_000_000) };
    sys::mkdir(&v.p("d"))?;
    type Step = (&'static str, fn(&Vol) -> sys::Res<()>);
    let steps: &[Step] = &[
        ("create", |v| sys::create(&v.p("d/f")).map(drop)),
        ("rename inside", |v| {
            sys::rename(&v.p("d/f"), &v.p("d/g"), 0)
        }),
        ("unlink", |v| sys::unlink(&v.p("d/g"))),
        ("mkdir", |v| sys::mkdir(&v.p("d/s"))),
        ("rmdir", |v| sys::rmdir(&v.p("d/s"))),
    ];
    for (name, step) in steps {
        sys::utimens(&v.p("d"), old, old)?;
        step(v)?;
        ensure!(!is_old(v)?, "{name} doesn't change the directory's mtime");
    }
    sys::utimens(&v.p("d"), old, old)?;
    sys::list(&v.p("d"))?;
    v.remount()?;
    ensure!(is_old(v)?, "mtime lost over a remount");
    Ok(())
}

fn zone(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("f"))?;
    sys::utimens(
        &v.p("f"),
        Some((1_000_000_000, 0)),
        Some((1_000_000_000, 0)),
    )?;
    v.umount()?;
    v.opts = "tz=UTC".into();
    v.mount()?;
    // The disk holds local time, 90 minutes ahead of UTC.
    same!(
        sys::stat(&v.p("f"))?.mtime,
        (1_000_000_000 + 5400, 0),
        "mtime read as UTC"
    );
    Ok(())
}
