// SPDX-License-Identifier: GPL-2.0

//! Renaming: moving an entry, and exchanging two.
//!
//! Entries in two blocks can't change in one write. So the new name is on disk before the old one
//! goes, and after a power cut a file has its old name, its new one, or both.

use crate::ondisk::RawDirent;
use crate::vfs::{Dentry, Inode};
use kernel::prelude::*;

use super::dir::{self, Location};
use super::namei::{
    drop_subdir,
    finish,
    location,
    parent_start,
    touch,
    touch_less,
    undo_add,
    undo_remove,
    Slots, //
};
use super::{find, node, place, Fat};

/// Moves `inode` from its entry in `old_dir` to the name `new` in `new_dir`, in place of `target`.
pub(super) fn move_entry(
    old_dir: &Inode<Fat>,
    inode: &Inode<Fat>,
    new_dir: &Inode<Fat>,
    new: &Dentry<Fat>,
    target: Option<&Inode<Fat>>,
) -> Result {
    let vol = old_dir.volume();
    let now = old_dir.current_time();
    let old_loc = location(inode)?;
    let raw = dir::read(old_dir, &old_loc)?;
    let after = inode.node().chain.lock().seq;
    let moves_dir = inode.is_dir() && old_dir.ino() != new_dir.ino();
    // The new name first; on disk before the old one goes, unless one write does both.
    let (new_loc, undo) = match target {
        Some(target) => {
            if target.is_dir() && !dir::is_empty(target)? {
                return Err(ENOTEMPTY);
            }
            let loc = location(target)?;
            let replaced = dir::read(new_dir, &loc)?;
            // From here on nobody writes the target's attributes into its entry.
            node::detach(target);
            if let Err(e) = replace_content(new_dir, &loc, &raw, after) {
                node::attach(target, loc);
                return Err(e);
            }
            (loc, Undo::Restore(target, replaced))
        }
        None => {
            let slots = Slots::new(new_dir, new.name(), raw)?;
            let loc = place::add(new_dir, &slots, after)?;
            touch(new_dir, now);
            (loc, Undo::Remove)
        }
    };
    node::attach(inode, new_loc);
    inode.mark_dirty();
    let together = old_dir.ino() == new_dir.ino() && dir::share_block(old_dir, &old_loc, &new_loc);
    let mut removed = None;
    let result = (|| {
        if !together {
            vol.commit(false)?;
        }
        move_parent(inode, old_dir, new_dir)?;
        removed = Some(dir::remove(old_dir, &old_loc)?);
        touch_less(old_dir, now);
        finish(&[old_dir, new_dir, inode])
    })();
    if let Err(e) = result {
        if let Some(removed) = &removed {
            undo_remove(old_dir, &old_loc, removed);
        }
        node::attach(inode, old_loc);
        undo.run(new_dir, &new_loc);
        if moves_dir && dir::set_parent(inode, parent_start(old_dir)).is_err() {
            vol.warn(fmt!("\"..\" of a directory could not be set back"));
        }
        return Err(e);
    }
    settle_links(inode, old_dir, new_dir, target);
    Ok(())
}

/// Points the `..` of a directory that has a name in `from` and one in `to` to the latter, and
/// commits that: as long as both names are there, `..` may fit either.
fn move_parent(inode: &Inode<Fat>, from: &Inode<Fat>, to: &Inode<Fat>) -> Result {
    if !inode.is_dir() || from.ino() == to.ino() {
        return Ok(());
    }
    dir::set_parent(inode, parent_start(to))?;
    inode.volume().commit(false)
}

/// How to take back the new name of a rename that failed.
enum Undo<'a> {
    /// It was new.
    Remove,
    /// It was this inode's, with this entry.
    Restore(&'a Inode<Fat>, RawDirent),
}

impl Undo<'_> {
    fn run(self, dir: &Inode<Fat>, loc: &Location) {
        match self {
            Undo::Remove => undo_add(dir, loc),
            Undo::Restore(target, entry) => {
                if replace_content(dir, loc, &entry, 0).is_err() {
                    dir.volume()
                        .corrupt(fmt!("a replaced entry could not be restored"));
                }
                node::attach(target, *loc);
                target.mark_dirty();
            }
        }
    }
}

/// Gives the entry at `loc` the content of `from`; the name stays.
fn replace_content(dir: &Inode<Fat>, loc: &Location, from: &RawDirent, after: u64) -> Result {
    dir::rewrite(dir, loc, after, |entry| {
        let (name, lcase) = (entry.name(), entry.lcase());
        *entry = *from;
        entry.set_name(name);
        entry.set_lcase(lcase);
    })
}

/// Link counts after a rename.
fn settle_links(
    inode: &Inode<Fat>,
    old_dir: &Inode<Fat>,
    new_dir: &Inode<Fat>,
    target: Option<&Inode<Fat>>,
) {
    if inode.is_dir() && old_dir.ino() != new_dir.ino() {
        drop_subdir(old_dir);
        new_dir.inc_nlink();
    }
    if let Some(target) = target {
        if target.is_dir() {
            drop_subdir(new_dir);
        }
        target.clear_nlink();
    }
}

/// Adds a further name for a file whose entry holds `content`, and commits it. `None`: the
/// directory is full, and does not get longer for that.
fn add_spare(dir: &Inode<Fat>, content: RawDirent, after: u64) -> Result<Option<Location>> {
    let mut name = *b".exchange-00000000";
    loop {
        let random = crate::vfs::random_u32();
        for (i, digit) in name.iter_mut().rev().take(8).enumerate() {
            let nibble = (random >> (4 * i)) as u8 & 0xf;
            *digit = nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
        }
        if find::find(dir, &name)?.is_none() {
            break;
        }
    }
    let slots = Slots::new(dir, &name, content)?;
    if !place::fits(dir, slots.list.len())? {
        return Ok(None);
    }
    let loc = place::add(dir, &slots, after)?;
    dir.volume()
        .commit(false)
        .inspect_err(|_| undo_add(dir, &loc))?;
    Ok(Some(loc))
}

/// Points the `..` of those inodes that are directories to the directory given with each, if these
/// differ.
fn set_parents(pairs: &[(&Inode<Fat>, &Inode<Fat>); 2]) -> Result {
    if pairs[0].1.ino() == pairs[1].1.ino() {
        return Ok(());
    }
    for (inode, parent) in pairs.iter().filter(|(inode, _)| inode.is_dir()) {
        dir::set_parent(inode, parent_start(parent))?;
    }
    Ok(())
}

/// Swaps the entries of two inodes; both names stay where they are. On failure nothing has changed.
pub(super) fn exchange(
    dir_a: &Inode<Fat>,
    a: &Inode<Fat>,
    dir_b: &Inode<Fat>,
    b: &Inode<Fat>,
) -> Result {
    let now = dir_a.current_time();
    let (loc_a, loc_b) = (location(a)?, location(b)?);
    let (raw_a, raw_b) = (dir::read(dir_a, &loc_a)?, dir::read(dir_b, &loc_b)?);
    let after = a.node().chain.lock().seq;
    let after = after.max(b.node().chain.lock().seq);
    let together = dir_a.ino() == dir_b.ino() && dir::share_block(dir_a, &loc_a, &loc_b);
    // While only one of the names has changed, the other file has no name: it gets a third one.
    let mut spare = if together {
        None
    } else {
        add_spare(dir_b, raw_b, after)?
    };
    // From here on nobody writes attributes into the entries.
    node::detach(a);
    node::detach(b);
    let result = (|| {
        replace_content(dir_b, &loc_b, &raw_a, after)?;
        if let Some(loc) = &spare {
            let vol = dir_a.volume();
            vol.commit(false)?;
            move_parent(a, dir_a, dir_b)?;
            replace_content(dir_a, &loc_a, &raw_b, after)?;
            vol.commit(false)?;
            move_parent(b, dir_b, dir_a)?;
            dir::remove(dir_b, loc)?;
            spare = None;
        } else {
            replace_content(dir_a, &loc_a, &raw_b, after)?;
            set_parents(&[(a, dir_b), (b, dir_a)])?;
        }
        touch(dir_a, now);
        touch(dir_b, now);
        node::attach(a, loc_b);
        node::attach(b, loc_a);
        finish(&[dir_a, dir_b, a, b])
    })();
    if let Err(e) = result {
        let undone = replace_content(dir_a, &loc_a, &raw_a, 0)
            .and(replace_content(dir_b, &loc_b, &raw_b, 0))
            .and(set_parents(&[(a, dir_a), (b, dir_b)]));
        node::attach(a, loc_a);
        node::attach(b, loc_b);
        if undone.is_err() {
            dir_a
                .volume()
                .corrupt(fmt!("exchanged entries could not be set back"));
        }
        if let Some(spare) = &spare {
            undo_add(dir_b, spare);
        }
        a.mark_dirty();
        b.mark_dirty();
        return Err(e);
    }
    a.mark_dirty();
    b.mark_dirty();
    if dir_a.ino() != dir_b.ino() {
        for (inode, from, to) in [(a, dir_a, dir_b), (b, dir_b, dir_a)] {
            if inode.is_dir() {
                drop_subdir(from);
                to.inc_nlink();
            }
        }
    }
    Ok(())
}
