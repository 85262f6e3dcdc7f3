// SPDX-License-Identifier: GPL-2.0

//! Making things durable: fsync, sync mounts, close on `flush` mounts.

use crate::vfs::{DirContext, File, FileOps, Inode, IoVec, Kiocb, UserPtr};
use kernel::prelude::*;

use super::{data, expand, ioctl, node, readdir, Fat};

impl FileOps for Fat {
    fn read(iocb: &Kiocb<'_, Fat>, to: &IoVec<'_>) -> Result<usize> {
        data::read(iocb, to)
    }

    fn write(iocb: &Kiocb<'_, Fat>, from: &IoVec<'_>) -> Result<usize> {
        data::write(iocb, from)
    }

    fn fsync(inode: &Inode<Fat>, start: u64, end: u64, _datasync: bool) -> Result {
        if inode.is_reg() {
            inode.write_and_wait(start, end)?;
        }
        inode.sync_metadata()?;
        // An inode whose attributes were put off is clean for the VFS.
        node::write(inode)?;
        // Entries that lead to the inode are among what a commit writes.
        inode.volume().commit(true)
    }

    fn fallocate(inode: &Inode<Fat>, keep_size: bool, offset: u64, len: u64) -> Result {
        if !inode.is_reg() {
            return Err(EOPNOTSUPP);
        }
        let end = offset.checked_add(len).ok_or(EFBIG)?;
        let _guard = inode.lock();
        if keep_size {
            expand::keep_size(inode, end)
        } else if end > inode.size() {
            inode.dio_wait();
            expand::cont_expand(inode, end)
        } else {
            Ok(())
        }
    }

    fn flush(inode: &Inode<Fat>, writable: bool) -> Result {
        let vol = inode.volume();
        if writable {
            expand::let_go(inode);
        }
        if !writable || !vol.options.flush || vol.disk.is_read_only() {
            return Ok(());
        }
        // All data is on its way when close returns, and nothing is waited for. The entry and the
        // FAT follow when the data has arrived, for all files closed by then at once.
        let moving = inode.has_data_in_flight();
        if moving {
            inode.start_write()?;
        }
        if moving || inode.is_dirty() {
            vol.settle_later(inode);
        }
        Ok(())
    }

    fn iterate(dir: &Inode<Fat>, ctx: &mut DirContext<'_>) -> Result {
        readdir::list(dir, ctx)
    }

    fn ioctl(file: &File<'_, Fat>, cmd: u32, arg: UserPtr) -> Result<isize> {
        ioctl::ioctl(file, cmd, arg)
    }
}

/// Writes data, entry and FAT of a file and waits: for sync mounts, where no open file is at hand.
/// The inode lock is held.
pub(crate) fn sync_inode(inode: &Inode<Fat>) -> Result {
    let vol = inode.volume();
    inode.write_and_wait(0, inode.size())?;
    node::write(inode)?;
    vol.commit(true)
}
