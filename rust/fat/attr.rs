// SPDX-License-Identifier: GPL-2.0

//! Attributes: what of mode, owner and times FAT can hold.

use crate::ondisk::attr;
use crate::vfs::{Iattr, IdMap, Inode, Kstat, SetattrOps, UpdateTime};
use kernel::prelude::*;

use super::{expand, node, Fat};

/// Mode bits that can be asked for at all.
const VALID_MODE: u16 = 0o100000 | 0o040000 | 0o777;

impl SetattrOps for Fat {
    fn setattr(idmap: &IdMap<'_>, inode: &Inode<Fat>, attr: &mut Iattr<'_>) -> Result {
        let quiet = inode.volume().options.quiet;
        let any_time = attr.sets_times() && may_set_times(idmap, inode);
        if let Err(e) = attr.prepare(idmap, any_time) {
            return if quiet { Ok(()) } else { Err(e) };
        }
        if let Some(size) = attr.size() {
            inode.dio_wait();
            if size > inode.size() {
                expand::cont_expand(inode, size)?;
                if attr.is_size_only() {
                    return Ok(());
                }
                attr.clear_size();
            }
        }
        let options = &inode.volume().options;
        let foreign = attr.changes_owner(idmap, inode, options.uid, options.gid)
            || attr.mode().is_some_and(|mode| mode & !VALID_MODE != 0);
        if foreign {
            return if quiet { Ok(()) } else { Err(EPERM) };
        }
        if let Some(mode) = attr.mode() {
            attr.set_mode(attr::sanitize_mode(inode.mode(), mode, &options.modes()));
        }
        if let Some(size) = attr.size() {
            shorter(inode, size)?;
        }
        set_times(inode, attr);
        attr.copy_to(idmap, inode);
        inode.mark_dirty();
        Ok(())
    }

    fn getattr(inode: &Inode<Fat>, stat: &mut Kstat<'_>) {
        let vol = inode.volume();
        stat.set_block_size(vol.geo.cluster_bytes());
        stat.set_nlink(node::links(inode));
        let entry = inode.node().entry.lock();
        if !node::is_root(inode) {
            stat.set_btime(node::to_timespec(vol, entry.created));
        }
    }

    fn update_time(inode: &Inode<Fat>, what: UpdateTime) {
        let now = inode.current_time();
        let before = (inode.atime(), inode.mtime());
        match what {
            UpdateTime::Access => node::set_atime(inode, now),
            UpdateTime::Change => node::set_mtime(inode, now),
        }
        if before != (inode.atime(), inode.mtime()) {
            inode.mark_dirty_sync();
        }
    }

    fn folds_case(inode: &Inode<Fat>) -> bool {
        inode.volume().names.ignores_case()
    }
}

/// Whether the caller may set any time though the file is not theirs (option `allow_utime`).
fn may_set_times(idmap: &IdMap<'_>, inode: &Inode<Fat>) -> bool {
    if inode.is_owned_by_current(idmap) {
        return false;
    }
    let mut allowed = inode.volume().options.allow_utime();
    if inode.is_group_of_current(idmap) {
        allowed >>= 3;
    }
    allowed & 0o2 != 0
}

fn set_times(inode: &Inode<Fat>, attr: &mut Iattr<'_>) {
    if let Some(t) = attr.atime() {
        node::set_atime(inode, t);
    }
    if let Some(t) = attr.mtime() {
        node::set_mtime(inode, t);
    }
    attr.clear_times();
}

/// `truncate` that makes the file shorter.
fn shorter(inode: &Inode<Fat>, size: u64) -> Result {
    let vol = inode.volume();
    {
        let _faults = inode.invalidate_lock();
        expand::truncate(inode, size)?;
    }
    node::set_mtime(inode, inode.current_time());
    inode.mark_dirty();
    node::set_archive(inode);
    if inode.is_sync() {
        node::write(inode)?;
        vol.commit(true)?;
    }
    Ok(())
}
