// SPDX-License-Identifier: GPL-2.0

//! Carries out operations on one of the two mounts and puts what happened into words.

use super::op::{Op, SLOTS};
use super::snap::{alias_text, hash};
use crate::expect::pattern;
use crate::sys::{self, Errno, Map, Res};
use crate::vol::Vol;
use std::fs::File;
use std::path::Path;

/// One mount with its open files.
pub struct Side {
    pub vol: Vol,
    slots: Vec<Option<File>>,
}

impl Side {
    /// A side without open files.
    pub fn new(vol: Vol) -> Side {
        Side {
            vol,
            slots: (0..SLOTS).map(|_| None).collect(),
        }
    }

    /// Closes all files.
    pub fn close_all(&mut self) {
        self.slots.fill_with(|| None);
    }

    /// What the operation returned.
    pub fn run(&mut self, op: &Op) -> String {
        match self.exec(op) {
            Ok(s) => s,
            Err(e) => e.to_string(),
        }
    }

    fn open(&self, p: &Path, flags: i32) -> Res<File> {
        sys::open(&self.vol.p(p), flags)
    }

    fn slot(&self, i: usize) -> Res<&File> {
        self.slots[i].as_ref().ok_or(Errno(libc::EBADF))
    }

    /// The C driver doesn't roll back when an expansion fails half-way, so an expansion that
    /// can't succeed is left out on both sides.
    fn room(&self, f: &File, end: u64) -> Res<bool> {
        let st = sys::fstat(f)?;
        let fs = sys::statfs(&self.vol.mp)?;
        let have = st.blocks * 512 + fs.bfree * fs.bsize as u64;
        Ok(end + fs.bsize as u64 <= have)
    }

    fn write_at(&self, f: &File, off: u64, data: &[u8]) -> Res<String> {
        let size = sys::fstat(f)?.size;
        if off > size && !self.room(f, off + data.len() as u64)? {
            return Ok("no room".into());
        }
        let mut done = 0;
        while done < data.len() {
            match sys::pwrite(f, &data[done..], (off as usize + done) as i64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) => return Ok(format!("{done} bytes, then {e}")),
            }
        }
        Ok(format!("{done} bytes"))
    }

    fn exec(&mut self, op: &Op) -> Res<String> {
        let p = |x: &Path| self.vol.p(x);
        let ok = |()| "ok".to_string();
        match op {
            Op::Create(x, excl) => {
                let excl = if *excl { libc::O_EXCL } else { 0 };
                self.open(x, libc::O_RDWR | libc::O_CREAT | excl)
                    .map(|_| "ok".into())
            }
            Op::Mkdir(x) => sys::mkdir(&p(x)).map(ok),
            Op::Rmdir(x) => sys::rmdir(&p(x)).map(ok),
            Op::Unlink(x) => sys::unlink(&p(x)).map(ok),
            Op::Rename(a, b, flags) => sys::rename(&p(a), &p(b), *flags).map(ok),
            Op::Write(x, off, len, tag) => {
                let f = self.open(x, libc::O_RDWR | libc::O_CREAT)?;
                self.write_at(&f, *off, &pattern(*tag, *off, *len))
            }
            Op::Append(x, len, tag) => {
                let f = self.open(x, libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT)?;
                Ok(format!(
                    "{} bytes",
                    sys::write(&f, &pattern(*tag, 0, *len))?
                ))
            }
            Op::DirectWrite(x, off, len, tag) => {
                let f = self.open(x, libc::O_RDWR | libc::O_DIRECT)?;
                if *off > sys::fstat(&f)?.size || !self.room(&f, off + *len as u64)? {
                    return Ok("no room or past the end".into());
                }
                let mut a = sys::Aligned::new(*len);
                a.bytes().copy_from_slice(&pattern(*tag, *off, *len));
                Ok(format!(
                    "{} bytes",
                    sys::pwrite(&f, a.bytes(), *off as i64)?
                ))
            }
            Op::MapWrite(x, off, len, tag) => {
                let f = self.open(x, libc::O_RDWR)?;
                let size = sys::fstat(&f)?.size;
                if size == 0 {
                    return Ok("empty".into());
                }
                let m = Map::shared(&f, size as usize, true)?;
                let off = off % size;
                let len = (*len).min((size - off) as usize);
                m.write(off as usize, &pattern(*tag, off, len));
                m.sync()?;
                Ok(format!("{len} bytes mapped"))
            }
            Op::Read(x, off, len) => {
                let f = self.open(x, libc::O_RDONLY)?;
                let v = sys::pread_vec(&f, *len, *off as i64)?;
                Ok(format!("{} bytes {:016x}", v.len(), hash(&v)))
            }
            Op::Truncate(x, size) => {
                let f = self.open(x, libc::O_RDWR)?;
                self.truncate(&f, *size)
            }
            Op::Fallocate(x, off, len) => {
                let f = self.open(x, libc::O_RDWR)?;
                if !self.room(&f, off + len)? {
                    return Ok("no room".into());
                }
                sys::fallocate(&f, 0, *off as i64, *len as i64).map(ok)
            }
            Op::KeepSize(x, len) => {
                let f = self.open(x, libc::O_RDWR)?;
                if !self.room(&f, *len)? {
                    return Ok("no room".into());
                }
                let r = sys::fallocate(&f, libc::FALLOC_FL_KEEP_SIZE, 0, *len as i64);
                let st = sys::fstat(&f)?;
                sys::ftruncate(&f, st.size as i64)?;
                r?;
                Ok(format!("{} bytes in {} blocks", st.size, st.blocks))
            }
            Op::Copy(a, b) => {
                let from = self.open(a, libc::O_RDONLY)?;
                let size = sys::fstat(&from)?.size;
                let to = self.open(b, libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC)?;
                if !self.room(&to, size)? {
                    return Ok("no room".into());
                }
                Ok(format!(
                    "{} bytes",
                    sys::copy_range(&from, 0, &to, 0, size as usize)?
                ))
            }
            Op::Chmod(x, mode) => sys::chmod(&p(x), *mode).map(ok),
            Op::Chown(x, u, g) => sys::chown(&p(x), *u, *g).map(ok),
            Op::Utimes(x, a, m) => sys::utimens(&p(x), Some((*a, 0)), Some((*m, 0))).map(ok),
            Op::Attrs(x, a) => sys::set_attrs(&self.open(x, libc::O_RDONLY)?, *a).map(ok),
            Op::GetAttrs(x) => Ok(format!("{:#x}", sys::get_attrs(&self.open(x, 0)?)?)),
            Op::Stat(x) => {
                let s = sys::stat(&p(x))?;
                Ok(super::snap::stat_text(&s))
            }
            Op::List(x) => {
                let list = sys::list(&p(x))?;
                let name = |d: &sys::Dirent| String::from_utf8_lossy(&d.name).into_owned();
                let mut names: Vec<String> = list.iter().map(name).collect();
                names.sort();
                Ok(names.join("|"))
            }
            Op::Aliases(x) => {
                let d = self.open(x, libc::O_RDONLY | libc::O_DIRECTORY)?;
                Ok(alias_text(&sys::readdir_ioctl(&d, true)?))
            }
            Op::Symlink(x) => sys::symlink("target", &p(x)).map(ok),
            Op::Link(a, b) => sys::link(&p(a), &p(b)).map(ok),
            Op::Mknod(x, mode) => sys::mknod(&p(x), mode | 0o600).map(ok),
            Op::Seek(x, off, whence) => {
                let f = self.open(x, libc::O_RDONLY)?;
                if sys::fstat(&f)?.is_dir() {
                    return Ok("directory".into());
                }
                Ok(sys::lseek(&f, *off, *whence)?.to_string())
            }
            Op::Open(i, x, flags) => {
                let f = self.open(x, libc::O_RDWR | flags)?;
                self.slots[*i] = Some(f);
                Ok("ok".into())
            }
            Op::Close(i) => {
                self.slots[*i] = None;
                Ok("ok".into())
            }
            Op::FdWrite(i, off, len, tag) => {
                let f = self.slot(*i)?;
                self.write_at(f, *off, &pattern(*tag, *off, *len))
            }
            Op::FdRead(i, off, len) => {
                let v = sys::pread_vec(self.slot(*i)?, *len, *off as i64)?;
                Ok(format!("{} bytes {:016x}", v.len(), hash(&v)))
            }
            Op::FdTruncate(i, size) => self.truncate(self.slot(*i)?, *size),
            Op::FdSync(i, data) => {
                let f = self.slot(*i)?;
                if *data {
                    sys::fdatasync(f)
                } else {
                    sys::fsync(f)
                }
                .map(ok)
            }
            Op::StatFs => {
                let s = sys::statfs(&self.vol.mp)?;
                // What is free is compared in snapshots.
                Ok(format!("{} blocks, {} bytes each", s.blocks, s.bsize))
            }
            Op::Sync => {
                sys::sync();
                Ok("ok".into())
            }
        }
    }

    fn truncate(&self, f: &File, size: u64) -> Res<String> {
        if size > sys::fstat(f)?.size && !self.room(f, size)? {
            return Ok("no room".into());
        }
        sys::ftruncate(f, size as i64).map(|()| "ok".to_string())
    }
}
