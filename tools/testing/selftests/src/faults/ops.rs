// SPDX-License-Identifier: GPL-2.0

//! The operations that meet errors, and what is known of each.

use super::rig::{Class, Class::*, Rig};
use crate::sys::{self, Errno, Res};
use anyhow::Result;
use std::fs::File;

/// What an operation's preparation leaves open.
#[derive(Default)]
pub struct Held {
    pub files: Vec<File>,
    pub map: Option<sys::Map>,
}

impl Held {
    fn file(&self) -> &File {
        &self.files[0]
    }
}

/// The operation's preparation leaves changes that aren't on disk.
pub const DIRTY: u32 = 1;
/// When it fails, it may have changed the file `target` in part.
pub const LOOSE: u32 = 2;
/// It doesn't have to tell of failed writes.
pub const SILENT: u32 = 4;
/// It writes `sync` on every mount, not only on those that are synchronous.
pub const ALWAYS: u32 = 8;
/// A file may have both its names when it fails.
pub const TWINS: u32 = 16;
/// It can't be undone when it has failed late: a name is gone, a file is cut.
pub const LATE: u32 = 32;
/// It doesn't tell of lost data, since the VFS doesn't let it know.
pub const NO_DATA: u32 = 64;

/// An operation.
pub struct Op {
    pub name: &'static str,
    /// Runs on the mounted volume, before anything fails.
    pub prep: fn(&mut Rig, &mut Held) -> Result<()>,
    pub run: fn(&mut Rig, &mut Held) -> Res<()>,
    /// Without caches it must read these.
    pub needs: &'static [Class],
    /// On a `sync` mount it must write these.
    pub sync: &'static [Class],
    pub flags: u32,
    /// The file it works on, below the mount point.
    pub target: &'static str,
}

impl Op {
    pub fn is(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

const fn op(
    name: &'static str,
    prep: fn(&mut Rig, &mut Held) -> Result<()>,
    run: fn(&mut Rig, &mut Held) -> Res<()>,
) -> Op {
    Op {
        name,
        prep,
        run,
        needs: &[],
        sync: &[],
        flags: 0,
        target: "",
    }
}

const LONG: &str = "d/A new file whose name takes several slots.text";
const FATS: &[Class] = &[Fat1, Fat2];
const ENTRY: &[Class] = &[DirD];
const SPACE: &[Class] = &[Fat1, Fat2, DirD];

/// All of them. Each works on the tree of `model`.
pub const OPS: &[Op] = &[
    Op {
        needs: ENTRY,
        sync: ENTRY,
        ..op("create", none, |r, _| {
            sys::open(&r.p("d/new"), libc::O_RDWR | libc::O_CREAT | libc::O_EXCL).map(drop)
        })
    },
    Op {
        needs: ENTRY,
        sync: ENTRY,
        ..op("create_long", none, |r, _| {
            sys::create(&r.p(LONG)).map(drop)
        })
    },
    Op {
        // The root may have no room in its cluster, and on FAT32 grows.
        sync: &[Root],
        needs: &[Root],
        ..op("create_in_root", none, |r, _| {
            sys::create(&r.p("A new file in the root directory.text")).map(drop)
        })
    },
    Op {
        needs: &[DirD, Fat1],
        sync: &[Fat1, Fat2, DirD, Data],
        ..op("mkdir", none, |r, _| sys::mkdir(&r.p("d/newdir")))
    },
    Op {
        needs: ENTRY,
        // The clusters may follow later.
        sync: ENTRY,
        flags: LATE,
        ..op("unlink", none, |r, _| sys::unlink(&r.p("d/over")))
    },
    Op {
        needs: ENTRY,
        // The clusters may follow later.
        sync: ENTRY,
        flags: LATE,
        ..op("rmdir", none, |r, _| sys::rmdir(&r.p("d/empty")))
    },
    Op {
        needs: ENTRY,
        sync: ENTRY,
        flags: TWINS,
        ..op("rename_same_dir", none, |r, _| {
            sys::rename(&r.p("d/over"), &r.p("d/moved"), 0)
        })
    },
    Op {
        needs: &[DirD, DirE],
        sync: &[DirD, DirE],
        flags: TWINS,
        ..op("rename_across", none, |r, _| {
            sys::rename(&r.p("d/over"), &r.p("e/moved"), 0)
        })
    },
    Op {
        needs: &[DirD, DirE],
        sync: &[DirD, DirE],
        flags: TWINS | LATE,
        ..op("rename_replace", none, |r, _| {
            sys::rename(&r.p("d/over"), &r.p("e/dst"), 0)
        })
    },
    Op {
        needs: &[DirD, DirE, Data],
        sync: &[DirD, DirE, Data],
        flags: TWINS,
        ..op("rename_dir_across", none, |r, _| {
            sys::rename(&r.p("d/sub"), &r.p("e/sub"), 0)
        })
    },
    Op {
        needs: &[DirD, DirE],
        sync: &[DirD, DirE],
        flags: TWINS,
        ..op("rename_exchange", none, |r, _| {
            sys::rename(&r.p("d/over"), &r.p("e/dst"), libc::RENAME_EXCHANGE)
        })
    },
    Op {
        needs: &[Fat1],
        sync: &[Fat1, Fat2, DirD, Data],
        flags: LOOSE,
        target: "d/nil",
        ..op("write_new", nil, |_, h| {
            sys::pwrite_all(h.file(), &[0x31; 5000], 0)
        })
    },
    Op {
        needs: &[Fat1],
        sync: &[Fat1, Fat2, Data],
        flags: LOOSE,
        target: "d/nil",
        ..op("write_new_direct", nil_direct, |_, h| {
            let mut a = sys::Aligned::new(8192);
            a.bytes().fill(0x32);
            sys::pwrite_all(h.file(), a.bytes(), 0)
        })
    },
    Op {
        needs: &[DirD, Fat1, Data],
        sync: &[Fat1, Fat2, DirD, Data],
        flags: LOOSE,
        target: "d/file",
        ..op("append", none, |r, h| {
            h.files.push(sys::open(&r.p("d/file"), libc::O_WRONLY)?);
            sys::pwrite_all(h.file(), &[0x33; 7000], 20_000)
        })
    },
    Op {
        needs: &[DirD, Data],
        sync: &[Data],
        flags: LOOSE,
        target: "d/file",
        ..op("overwrite", none, |r, h| {
            h.files.push(sys::open(&r.p("d/file"), libc::O_WRONLY)?);
            sys::pwrite_all(h.file(), &[0x34; 3000], 5001)
        })
    },
    Op {
        needs: &[DirD, Fat1],
        sync: &[Data],
        flags: LOOSE | ALWAYS,
        target: "d/file",
        ..op("overwrite_direct", none, |r, h| {
            let flags = libc::O_WRONLY | libc::O_DIRECT;
            h.files.push(sys::open(&r.p("d/file"), flags)?);
            let mut a = sys::Aligned::new(4096);
            a.bytes().fill(0x35);
            sys::pwrite_all(h.file(), a.bytes(), 8192)
        })
    },
    Op {
        needs: &[Fat1],
        sync: SPACE,
        ..op("truncate_up", nil, |_, h| sys::ftruncate(h.file(), 10_000))
    },
    Op {
        needs: &[DirD, Fat1, Data],
        sync: SPACE,
        flags: LATE | LOOSE,
        target: "d/file",
        ..op("truncate_down", none, |r, _| {
            sys::truncate(&r.p("d/file"), 5001)
        })
    },
    Op {
        needs: &[DirD, Fat1],
        sync: SPACE,
        flags: LATE | LOOSE,
        target: "d/file",
        ..op("truncate_to_0", none, |r, _| {
            sys::truncate(&r.p("d/file"), 0)
        })
    },
    Op {
        needs: &[Fat1],
        sync: SPACE,
        ..op("fallocate_keep", nil, |_, h| {
            sys::fallocate(h.file(), libc::FALLOC_FL_KEEP_SIZE, 0, 9000)
        })
    },
    Op {
        needs: &[Fat1],
        sync: SPACE,
        ..op("fallocate", nil, |_, h| {
            sys::fallocate(h.file(), 0, 0, 9000)
        })
    },
    Op {
        needs: ENTRY,
        ..op("utimes", none, |r, _| {
            let t = Some((1_000_000_000, 0));
            sys::utimens(&r.p("d/file"), t, t)
        })
    },
    Op {
        needs: ENTRY,
        ..op("chmod", none, |r, _| sys::chmod(&r.p("d/file"), 0o555))
    },
    Op {
        needs: ENTRY,
        ..op("attr_ioctl", none, |r, _| {
            let f = sys::open(&r.p("d/file"), libc::O_RDONLY)?;
            sys::set_attrs(&f, sys::ATTR_HIDDEN | sys::ATTR_ARCH)
        })
    },
    Op {
        sync: &[Fat1, Fat2, DirD, Data],
        flags: DIRTY | ALWAYS | LOOSE,
        target: "d/nil",
        ..op("write_fsync", nil_written, |_, h| sys::fsync(h.file()))
    },
    Op {
        sync: &[Fat1, Fat2, DirD, Data],
        flags: DIRTY | ALWAYS | LOOSE,
        target: "d/nil",
        ..op("write_fdatasync", nil_written, |_, h| {
            sys::fdatasync(h.file())
        })
    },
    Op {
        sync: &[Fat1, Fat2, DirD, Data],
        flags: DIRTY | ALWAYS | LOOSE,
        target: "d/file",
        ..op("append_fsync", appended, |_, h| sys::fsync(h.file()))
    },
    Op {
        sync: &[Data],
        flags: DIRTY | ALWAYS | LOOSE,
        target: "d/file",
        ..op("overwrite_fsync", overwritten, |_, h| sys::fsync(h.file()))
    },
    Op {
        sync: &[Data],
        flags: DIRTY | ALWAYS | LOOSE,
        target: "d/file",
        ..op("mmap_msync", mapped, |_, h| match &h.map {
            Some(m) => m.sync(),
            None => Err(Errno(libc::EINVAL)),
        })
    },
    Op {
        sync: ENTRY,
        flags: DIRTY | ALWAYS,
        ..op("fsync_dir", created, |_, h| sys::fsync(h.file()))
    },
    Op {
        sync: &[Fat1, Fat2, DirD, Data],
        flags: DIRTY | ALWAYS | LOOSE,
        target: "d/nil",
        ..op("syncfs", nil_written, |r, _| r.syncfs())
    },
    Op {
        flags: DIRTY | SILENT | LOOSE,
        target: "d/nil",
        ..op("sync", nil_written, |_, _| {
            sys::sync();
            Ok(())
        })
    },
    Op {
        flags: DIRTY | SILENT | LOOSE,
        target: "d/nil",
        ..op("close", nil_written, |_, h| {
            h.files.clear();
            Ok(())
        })
    },
    Op {
        needs: &[Fat1],
        ..op("statfs", uncounted, |r, _| sys::statfs(&r.mp).map(drop))
    },
    Op {
        needs: ENTRY,
        ..op("readdir", none, |r, _| sys::list(&r.p("d")).map(drop))
    },
    Op {
        needs: ENTRY,
        ..op("lookup", none, |r, _| sys::stat(&r.p("d/file")).map(drop))
    },
    Op {
        needs: &[DirD, Fat1, Data],
        ..op("read", none, |r, _| {
            let f = sys::open(&r.p("d/file"), libc::O_RDONLY)?;
            sys::pread_vec(&f, 20_000, 0).map(drop)
        })
    },
    Op {
        needs: &[DirD, Fat1, Data],
        ..op("read_direct", none, |r, _| {
            let f = sys::open(&r.p("d/file"), libc::O_RDONLY | libc::O_DIRECT)?;
            let mut a = sys::Aligned::new(16384);
            sys::pread(&f, a.bytes(), 0).map(drop)
        })
    },
    Op {
        needs: &[DirD, Fat1, Data],
        ..op("mmap_read", none, |r, _| {
            let f = sys::open(&r.p("d/file"), libc::O_RDONLY)?;
            sys::Map::shared(&f, 20_000, false)?.touch(12_000)
        })
    },
    Op {
        needs: &[DirD, Fat1],
        ..op("fibmap", none, |r, _| {
            let f = sys::open(&r.p("d/file"), libc::O_RDONLY)?;
            sys::fibmap(&f, 15).map(drop)
        })
    },
    Op {
        needs: &[Boot, Fsinfo],
        flags: SILENT,
        ..op("mount", unmounted, |r, _| r.try_mount(0))
    },
    Op {
        flags: DIRTY | SILENT | LOOSE,
        target: "d/nil",
        ..op("umount", nil_written_closed, |r, _| {
            r.umount().map_err(|_| Errno(libc::EBUSY))
        })
    },
    Op {
        flags: DIRTY | ALWAYS | LOOSE | NO_DATA,
        sync: FATS,
        target: "d/nil",
        ..op("remount_ro", nil_written_closed, |r, _| {
            r.remount(libc::MS_RDONLY)
        })
    },
    Op {
        flags: SILENT,
        ..op("remount_rw", read_only, |r, _| r.remount(0))
    },
];

fn none(_: &mut Rig, _: &mut Held) -> Result<()> {
    Ok(())
}

/// An empty file, open.
fn nil(r: &mut Rig, h: &mut Held) -> Result<()> {
    h.files.push(sys::open(&r.p("d/nil"), libc::O_RDWR)?);
    Ok(())
}

fn nil_direct(r: &mut Rig, h: &mut Held) -> Result<()> {
    let flags = libc::O_RDWR | libc::O_DIRECT;
    h.files.push(sys::open(&r.p("d/nil"), flags)?);
    Ok(())
}

/// Data and clusters wait to be written.
fn nil_written(r: &mut Rig, h: &mut Held) -> Result<()> {
    nil(r, h)?;
    Ok(sys::pwrite_all(h.file(), &[0x41; 6000], 0)?)
}

fn nil_written_closed(r: &mut Rig, h: &mut Held) -> Result<()> {
    nil_written(r, h)?;
    h.files.clear();
    Ok(())
}

fn appended(r: &mut Rig, h: &mut Held) -> Result<()> {
    h.files.push(sys::open(&r.p("d/file"), libc::O_RDWR)?);
    Ok(sys::pwrite_all(h.file(), &[0x42; 6000], 20_000)?)
}

fn overwritten(r: &mut Rig, h: &mut Held) -> Result<()> {
    h.files.push(sys::open(&r.p("d/file"), libc::O_RDWR)?);
    Ok(sys::pwrite_all(h.file(), &[0x43; 6000], 3000)?)
}

fn mapped(r: &mut Rig, h: &mut Held) -> Result<()> {
    h.files.push(sys::open(&r.p("d/file"), libc::O_RDWR)?);
    let m = sys::Map::shared(h.file(), 20_000, true)?;
    m.write(4000, &[0x44; 5000]);
    h.map = Some(m);
    Ok(())
}

/// A new name in the directory that is held.
fn created(r: &mut Rig, h: &mut Held) -> Result<()> {
    sys::create(&r.p("d/new"))?;
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    h.files.push(sys::open(&r.p("d"), flags)?);
    Ok(())
}

fn unmounted(r: &mut Rig, _: &mut Held) -> Result<()> {
    r.umount()
}

fn read_only(r: &mut Rig, _: &mut Held) -> Result<()> {
    Ok(r.remount(libc::MS_RDONLY)?)
}

/// The number of free clusters isn't known: FSINFO has no count.
fn uncounted(r: &mut Rig, _: &mut Held) -> Result<()> {
    r.umount()?;
    let d = crate::disk::Disk::open(&r.image)?;
    if d.bits == 32 {
        d.write(d.fsinfo + 488, &[0xFF; 4])?;
    }
    r.mount()
}
