// SPDX-License-Identifier: GPL-2.0

//! What follows from an error on the volume: the option `errors`, what the kernel log says, and
//! the mark of a volume that is in use.

use super::{fresh, geom, stamp, Test};
use crate::expect::errno;
use crate::kmsg::Kmsg;
use crate::runner::Config;
use crate::same;
use crate::sys::{self, Errno};
use crate::vol::Vol;
use anyhow::{ensure, Context, Result};

pub const TESTS: &[Test] = &[
    ("errors_continue", 60, |c| {
        after_error(c, "errors=continue", true)
    }),
    ("errors_remount_ro", 60, |c| {
        after_error(c, "errors=remount-ro", false)
    }),
    ("errors_default", 60, |c| after_error(c, "", false)),
    ("messages_limited", 60, messages_limited),
    ("dirty_flag", 60, dirty_flag),
];

/// A volume with a whole file and one whose chain leads to a free cluster; mounted.
fn broken(cfg: &Config, opts: &str) -> Result<Vol> {
    let mut v = fresh(cfg, &geom(16, 12, 2048), opts)?;
    for name in ["WHOLE", "BROKEN"] {
        std::fs::write(v.p(name), stamp(1, 0, 100_000))?;
    }
    v.umount()?;
    let d = v.disk()?;
    let chain = d.chain(d.start(d.find_root(b"BROKEN     ")?)?)?;
    d.set(chain[7], 0)?;
    v.mount()?;
    Ok(v)
}

fn read_broken(v: &Vol) -> Result<()> {
    let f = sys::open(&v.p("BROKEN"), libc::O_RDONLY)?;
    errno(
        sys::pread_vec(&f, 10, 90_000),
        libc::EIO,
        "reading behind the damage",
    )
}

/// What the kernel says of the volume.
fn said(log: &mut Kmsg, v: &Vol) -> Vec<String> {
    let dev = v
        .dev()
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    log.read()
        .into_iter()
        .filter(|l| l.contains(&dev))
        .collect()
}

/// The mount stays writable or not, what is whole can be read, and the volume counts as clean
/// afterwards only if it stayed writable. The log names the device, what was found, and what was
/// expected.
fn after_error(cfg: &Config, opts: &str, writable: bool) -> Result<()> {
    let mut v = broken(cfg, opts)?;
    let mut log = Kmsg::now();
    read_broken(&v)?;
    let shown = v.shown_options()?;
    same!(
        shown.starts_with("rw"),
        writable,
        "mounted writable: {shown}"
    );
    let made = sys::create(&v.p("new")).map(drop);
    if writable {
        made?;
    } else {
        errno(made, libc::EROFS, "a new file")?;
    }
    same!(
        std::fs::read(v.p("WHOLE"))? == stamp(1, 0, 100_000),
        true,
        "the whole file"
    );
    let lines = said(&mut log, &v);
    ensure!(!lines.is_empty(), "nothing is said");
    if cfg.fs == "rvfat" {
        let tells = |l: &String| l.contains("Free") && l.contains("expected");
        ensure!(
            lines.iter().any(tells),
            "not what was found and expected: {lines:?}"
        );
        let ends = lines.iter().any(|l| l.contains("read-only"));
        same!(ends, !writable, "said to be read-only: {lines:?}");
    }
    v.umount()?;
    same!(v.disk()?.dirty()?, !writable, "marked dirty after umount");
    Ok(())
}

/// A broken volume that is read over and over must not fill the log.
fn messages_limited(cfg: &Config) -> Result<()> {
    let v = broken(cfg, "errors=continue")?;
    let mut log = Kmsg::now();
    for _ in 0..500 {
        read_broken(&v)?;
    }
    let lines = said(&mut log, &v);
    ensure!(
        (1..=40).contains(&lines.len()),
        "{} lines for 500 errors",
        lines.len()
    );
    Ok(())
}

/// The mark is set while the volume is mounted writable. One that was there before stays until
/// somebody checks the volume, and mounting tells of it.
fn dirty_flag(cfg: &Config) -> Result<()> {
    for bits in [16, 32] {
        let g = if bits == 16 {
            geom(16, 12, 2048)
        } else {
            geom(32, 36, 512)
        };
        let mut v = fresh(cfg, &g, "")?;
        let mut step = |what: &str, want: bool, act: fn(&mut Vol) -> Result<()>| -> Result<()> {
            act(&mut v).context(what.to_string())?;
            same!(v.disk()?.dirty()?, want, "FAT{bits}: dirty after {what}");
            Ok(())
        };
        step("mounting", true, |_| Ok(()))?;
        step("remounting read-only", false, |v| {
            Ok(v.reconfigure(libc::MS_RDONLY)?)
        })?;
        step("remounting writable", true, |v| Ok(v.reconfigure(0)?))?;
        step("unmounting", false, Vol::umount)?;
        step("mounting read-only", false, |v| {
            v.flags = libc::MS_RDONLY;
            v.mount()
        })?;
        step("unmounting again", false, Vol::umount)?;
        step("marking it", true, |v| {
            v.flags = 0;
            let d = v.disk()?;
            let at = if d.bits == 32 { 65 } else { 37 };
            d.write(at, &[1])
        })?;
        let mut log = Kmsg::now();
        step("mounting a dirty one", true, Vol::mount)?;
        let told = log
            .read()
            .iter()
            .any(|l| l.contains("not properly unmounted"));
        ensure!(told, "FAT{bits}: nothing is said of the mark");
        let made = |v: &mut Vol| -> Result<()> {
            sys::create(&v.p("f")).map_err(|e: Errno| e)?;
            Vol::umount(v)
        };
        step("unmounting a dirty one", true, made)?;
    }
    Ok(())
}
