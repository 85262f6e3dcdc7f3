// SPDX-License-Identifier: GPL-2.0

//! File data: where iomap finds it, reading and writing.
//!
//! Every byte of a file has space on disk; there are no holes. What lies below the size is either
//! data or [unwritten](super::unwritten). Space that a write adds is unwritten, too, until
//! writeback has brought the data to the disk: whatever fails on the way, nobody ever reads what
//! the disk held before.

use crate::vfs::{
    DataOps,
    Inode,
    IoVec,
    IomapFlags,
    IomapKind,
    IomapTarget,
    Kiocb,
    NofsScope, //
};
use core::sync::atomic::Ordering;
use kernel::prelude::*;

use super::{expand, node, Fat};

impl DataOps for Fat {
    fn map(inode: &Inode<Fat>, pos: u64, len: u64, flags: IomapFlags) -> Result<IomapTarget> {
        let vol = inode.volume();
        // Data ends here; behind it there may be space, but nothing to be read.
        let edge = vol.round_up(inode.size());
        let end = pos.saturating_add(len);
        if flags.is_write() {
            if end > edge {
                expand::preallocate_some(inode, pos, end)?;
            }
        } else if pos >= edge {
            return Ok(IomapTarget {
                offset: pos,
                len,
                kind: IomapKind::Hole,
                cookie: 0,
            });
        }
        let end = if pos < edge { end.min(edge) } else { end };
        if flags.is_write() && !flags.is_direct() && pos >= edge {
            // Before a folio can be written back.
            let block = pos & !(vol.block_bytes() - 1);
            expand::add_unwritten(inode, block, vol.round_up(end))?;
        }
        let mut target = match lookup(inode, pos, end - pos)? {
            Some(target) => target,
            // The file became shorter meanwhile.
            None if !flags.is_write() && pos >= vol.round_up(inode.size()) => IomapTarget {
                offset: pos,
                len,
                kind: IomapKind::Hole,
                cookie: 0,
            },
            None => {
                return Err(vol.corrupt(fmt!(
                    "chain of a file ends before byte {pos}, expected {} bytes",
                    inode.size()
                )))
            }
        };
        target.kind = match target.kind {
            // The rest of a block that a direct write adds becomes zero.
            IomapKind::Mapped(addr) if pos >= edge => IomapKind::New(addr),
            // The block may have data in the page cache; on disk it has none.
            IomapKind::Unwritten(addr) if flags.is_zero() => IomapKind::New(addr),
            kind => kind,
        };
        Ok(target)
    }

    fn written(inode: &Inode<Fat>, _pos: u64, written: u64) -> Result {
        if written > 0 {
            node::set_archive(inode);
            inode.mark_dirty();
        }
        Ok(())
    }

    fn map_writeback(inode: &Inode<Fat>, pos: u64, len: u64) -> Result<IomapTarget> {
        let vol = inode.volume();
        let _nofs = NofsScope::new();
        let mut chain = inode.node().chain.lock();
        let (addr, run) = expand::locate(vol, &mut chain, pos)?.ok_or_else(|| {
            vol.corrupt(fmt!("no cluster for byte {pos} of a file being written"))
        })?;
        let mut len = len.min(run);
        let mut unwritten = inode.node().unwritten.lock();
        let kind = match unwritten.next(pos) {
            Some((start, end)) if start <= pos => {
                len = len.min(end - pos);
                let block = pos & !(vol.block_bytes() - 1);
                unwritten.write_begins(block, vol.round_up(pos + len))?;
                IomapKind::Unwritten(addr)
            }
            next => {
                len = next.map_or(len, |(start, _)| len.min(start - pos));
                IomapKind::Mapped(addr)
            }
        };
        Ok(IomapTarget {
            offset: pos,
            len,
            kind,
            cookie: 0,
        })
    }

    fn written_back(inode: &Inode<Fat>, start: u64, len: u64, result: Result) {
        let _nofs = NofsScope::new();
        inode
            .node()
            .unwritten
            .lock()
            .write_ends(start, start.saturating_add(len), result.is_ok());
        inode.node().layout.fetch_add(1, Ordering::Release);
    }

    fn direct_written(inode: &Inode<Fat>, pos: u64, len: u64) -> Result {
        // Only a write that was waited for makes a file longer; others may end in an interrupt.
        let end = pos.saturating_add(len);
        if len > 0 && end > inode.size() {
            inode.set_size(end);
            inode.mark_dirty();
        }
        Ok(())
    }

    fn is_valid(inode: &Inode<Fat>, cookie: u64) -> bool {
        inode.node().layout.load(Ordering::Acquire) == cookie
    }
}

/// What `len` bytes at `pos` are. `None`: there is no space.
fn lookup(inode: &Inode<Fat>, pos: u64, len: u64) -> Result<Option<IomapTarget>> {
    let vol = inode.volume();
    let _nofs = NofsScope::new();
    let cookie = inode.node().layout.load(Ordering::Acquire);
    let mut chain = inode.node().chain.lock();
    let Some((addr, run)) = expand::locate(vol, &mut chain, pos)? else {
        return Ok(None);
    };
    let mut len = len.min(run);
    let mut kind = IomapKind::Mapped(addr);
    if let Some((start, end)) = inode.node().unwritten.lock().next(pos) {
        if start <= pos {
            kind = IomapKind::Unwritten(addr);
            len = len.min(end - pos);
        } else {
            len = len.min(start - pos);
        }
    }
    Ok(Some(IomapTarget {
        offset: pos,
        len,
        kind,
        cookie,
    }))
}

/// `read_iter`.
pub(crate) fn read(iocb: &Kiocb<'_, Fat>, to: &IoVec<'_>) -> Result<usize> {
    if !iocb.is_direct() {
        return iocb.buffered_read(to);
    }
    iocb.file_accessed();
    let _shared = iocb.inode().lock_shared();
    iocb.direct_read(to)
}

/// `write_iter`.
pub(crate) fn write(iocb: &Kiocb<'_, Fat>, from: &IoVec<'_>) -> Result<usize> {
    let inode = iocb.inode();
    let guard = inode.lock();
    if iocb.write_checks(from)? == 0 {
        return Ok(0);
    }
    iocb.file_modified()?;
    let pos = iocb.pos();
    let end = pos.saturating_add(from.count() as u64);
    let before = expand::chain_len(inode)?;
    if pos > inode.size() {
        inode.dio_wait();
        expand::cont_expand(inode, pos)?;
    }
    let result = if iocb.is_direct() {
        direct_write(iocb, from, pos, end)
    } else {
        inode.dio_wait();
        iocb.buffered_write(from)
    };
    if end > inode.size() {
        expand::take_back(inode, inode.size(), before);
    }
    drop(guard);
    let written = result?;
    match written {
        0 => Ok(0),
        n => iocb.write_sync(n),
    }
}

fn direct_write(iocb: &Kiocb<'_, Fat>, from: &IoVec<'_>, pos: u64, end: u64) -> Result<usize> {
    let inode = iocb.inode();
    let size = inode.size();
    if end > size {
        match expand::preallocate_write(inode, end) {
            // iomap would lose count of what fitted; the page cache does not.
            Err(e) if e == ENOSPC => {
                iocb.clear_direct();
                return through_cache(iocb, from);
            }
            result => result?,
        }
    }
    // Below the size, what was never written must not be mistaken for data. What the page cache
    // holds of it goes first.
    inode.write_and_wait(pos, end.min(size))?;
    expand::fill_range(inode, pos, end.min(size))?;
    node::set_archive(inode);
    inode.mark_dirty();
    let done = match iocb.direct_write(from, end > size) {
        Err(e) if e == ENOTBLK => 0,
        result => result?,
    };
    if from.count() == 0 {
        return Ok(done);
    }
    iocb.clear_direct();
    match through_cache(iocb, from) {
        Ok(n) => Ok(done + n),
        // What was written before the error counts.
        Err(_) if done > 0 => Ok(done),
        Err(e) => Err(e),
    }
}

/// The part of a direct write that can't bypass the page cache: through it, and on to the disk.
fn through_cache(iocb: &Kiocb<'_, Fat>, from: &IoVec<'_>) -> Result<usize> {
    let start = iocb.pos();
    let n = iocb.buffered_write(from)?;
    iocb.inode().write_and_wait(start, start + n as u64)?;
    Ok(n)
}
