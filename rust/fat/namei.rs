// SPDX-License-Identifier: GPL-2.0

//! Names: lookup, create, mkdir, unlink, rmdir, rename.

use crate::ondisk::{
    longname,
    name,
    shortname,
    Attrs,
    Cluster,
    RawDirent,
    ShortNameError,
    DIRENT_SIZE, //
};
use crate::vfs::{Dentry, DentryOps, DirOps, Inode, LookupFlags, NofsScope, RenameFlags, Timespec};
use kernel::prelude::*;
use kernel::sync::aref::ARef;

use super::chain::Chain;
use super::dir::{self, Location};
use super::names::Units;
use super::volume::{Volume, VolumeData};
use super::{expand, find, node, Fat};

impl DentryOps for Fat {
    const IGNORED_TAIL: u8 = b'.';

    fn d_revalidate_negative(dir: &Inode<Fat>, version: u64, flags: LookupFlags) -> bool {
        // A name that is about to be created shall be created in the case it is given now.
        if dir.volume().names.ignores_case() && (flags.is_unknown() || flags.is_create()) {
            return false;
        }
        // Something created since may have this name as its 8.3 alias.
        dir.eq_version(version)
    }

    fn fold(volume: &VolumeData, byte: u8) -> u8 {
        volume.names.fold(byte)
    }
}

/// What of a name counts: without the dots at its end.
fn significant(name: &[u8]) -> &[u8] {
    name.get(..name::strip_trailing_dots_len(name))
        .unwrap_or(name)
}

/// The slots of a new entry, in disk order, the 8.3 one last.
struct Slots {
    list: KVVec<[u8; DIRENT_SIZE]>,
}

impl Slots {
    /// Builds them for `given`, a name from user space; `entry` is the rest of the 8.3 slot.
    fn new(dir: &Inode<Fat>, given: &[u8], mut entry: RawDirent) -> Result<Self> {
        let vol = dir.volume();
        let given = significant(given);
        if given.is_empty() {
            return Err(ENOENT);
        }
        let mut units: Units = [0; 260];
        let n = vol.names.to_units(given, &mut units)?;
        let long = units.get(..n).ok_or(EINVAL)?;
        name::check(long)?;
        let basis = shortname::from_long(long, &vol.names.disk)?;
        let chosen = basis
            .choose(
                vol.options.shortname.create,
                vol.options.numtail,
                crate::vfs::random_u32(),
                |candidate| find::has_short(dir, candidate),
            )
            .map_err(|e| match e {
                ShortNameError::Exists | ShortNameError::Exhausted => EEXIST,
                ShortNameError::Lookup(e) => e,
            })?;
        let mut list = KVVec::new();
        if chosen.needs_long {
            let sum = longname::checksum(&chosen.name);
            for ordinal in (1..=longname::slots_needed(n)).rev() {
                let ordinal = u8::try_from(ordinal).map_err(|_| ENAMETOOLONG)?;
                list.push(longname::encode_slots(long, sum, ordinal), GFP_KERNEL)?;
            }
        }
        entry.set_name(chosen.name);
        entry.set_lcase(chosen.lcase);
        list.push(entry.into_bytes(), GFP_KERNEL)?;
        Ok(Self { list })
    }
}

/// Notes a change of `dir`'s entries at time `now`.
fn touch(dir: &Inode<Fat>, now: Timespec) {
    dir.inc_version();
    node::set_mtime(dir, now);
    dir.mark_dirty();
}

/// Notes a removal from `dir` at time `now`; as in the kernel's vfat, it counts as an access, too.
fn touch_less(dir: &Inode<Fat>, now: Timespec) {
    node::set_atime(dir, now);
    touch(dir, now);
}

/// Notes that an inode lost its name at time `now`.
fn touch_removed(inode: &Inode<Fat>, now: Timespec) {
    node::set_mtime(inode, now);
    node::set_atime(inode, now);
}

/// The end of a change of `dirs`: on disk if they want it.
fn finish(dirs: &[&Inode<Fat>]) -> Result {
    let Some(first) = dirs.first() else {
        return Ok(());
    };
    if dirs.iter().any(|dir| dir.is_dirsync()) {
        for dir in dirs {
            node::write(dir)?;
        }
        first.volume().commit(true)
    } else if first.volume().should_commit() {
        first.volume().commit(false)
    } else {
        Ok(())
    }
}

/// The location of an inode's entry.
fn location(inode: &Inode<Fat>) -> Result<Location> {
    inode.node().entry.lock().loc.ok_or(ENOENT)
}

/// The start cluster by which a directory is known in a `..` entry: none for the root.
fn parent_start(dir: &Inode<Fat>) -> Option<Cluster> {
    if node::is_root(dir) {
        None
    } else {
        dir.node().chain.lock().start()
    }
}

/// Makes the cluster of a new directory in `dir`.
fn new_dir_cluster(dir: &Inode<Fat>, now: Timespec) -> Result<Chain> {
    let vol = dir.volume();
    let _nofs = NofsScope::new();
    let mut chain = Chain::new(None, 1);
    let runs = match expand::take(vol, &mut chain, 1, 0) {
        Err(e) if e == ENOSPC && vol.has_pending() => {
            vol.commit(false)?;
            expand::take(vol, &mut chain, 1, 0)?
        }
        result => result?,
    };
    expand::link(vol, &mut chain, &runs)?;
    let filled = (|| {
        let first = chain.start().ok_or(EIO)?;
        let stamp = node::to_stamp(vol, now);
        let blocks = dir::zero_cluster(dir, first)?;
        let head = blocks.first().ok_or(EIO)?;
        head.write(0, RawDirent::dot(stamp, Some(first)).as_bytes())?;
        head.write(
            DIRENT_SIZE,
            RawDirent::dot_dot(stamp, parent_start(dir)).as_bytes(),
        )?;
        vol.add_new_blocks(blocks)
    })();
    match filled {
        Ok(()) => Ok(chain),
        Err(e) => {
            drop_chain(vol, &mut chain)?;
            Err(e)
        }
    }
}

/// Frees a chain that nothing refers to.
fn drop_chain(vol: &Volume, chain: &mut Chain) -> Result {
    let (_, runs) = chain.cut(vol, 0)?;
    vol.free_later(None, &runs)
}

impl DirOps for Fat {
    fn lookup(dir: &Inode<Fat>, dentry: &Dentry<Fat>) -> Result<Option<ARef<Inode<Fat>>>> {
        let name = significant(dentry.name());
        if dentry.name().len() > super::names::MAX_NAME_BYTES {
            return Err(ENAMETOOLONG);
        }
        let found = if name.is_empty() {
            None
        } else {
            find::find(dir, name)?
        };
        match found {
            Some(record) => node::get(dir.sb(), &record.entry, record.loc).map(Some),
            None => {
                dentry.set_version(dir.query_version());
                Ok(None)
            }
        }
    }

    fn create(dir: &Inode<Fat>, dentry: &Dentry<Fat>) -> Result {
        let now = dir.current_time();
        let inode = make(dir, dentry, Attrs::ARCHIVE, None, now, 0)?;
        touch(dir, now);
        inode.inc_version();
        finish(&[dir])?;
        dentry.instantiate(inode);
        Ok(())
    }

    fn mkdir(dir: &Inode<Fat>, dentry: &Dentry<Fat>) -> Result {
        let vol = dir.volume();
        let now = dir.current_time();
        let mut chain = new_dir_cluster(dir, now)?;
        let made = make(dir, dentry, Attrs::DIRECTORY, chain.start(), now, chain.seq);
        let inode = match made {
            Ok(inode) => inode,
            Err(e) => {
                drop_chain(vol, &mut chain)?;
                return Err(e);
            }
        };
        inode.node().chain.lock().seq = chain.seq;
        dir.inc_nlink();
        touch(dir, now);
        inode.inc_version();
        inode.set_nlink(2);
        finish(&[dir])?;
        dentry.instantiate(inode);
        Ok(())
    }

    fn unlink(dir: &Inode<Fat>, dentry: &Dentry<Fat>) -> Result {
        let inode = dentry.inode().ok_or(ENOENT)?;
        let now = dir.current_time();
        dir::remove(dir, &location(inode)?)?;
        node::detach(inode);
        touch_less(dir, now);
        inode.clear_nlink();
        touch_removed(inode, now);
        dentry.set_version(dir.query_version());
        finish(&[dir])
    }

    fn rmdir(dir: &Inode<Fat>, dentry: &Dentry<Fat>) -> Result {
        let inode = dentry.inode().ok_or(ENOENT)?;
        if !dir::is_empty(inode)? {
            return Err(ENOTEMPTY);
        }
        let now = dir.current_time();
        dir::remove(dir, &location(inode)?)?;
        node::detach(inode);
        touch_less(dir, now);
        drop_subdir(dir);
        inode.clear_nlink();
        touch_removed(inode, now);
        dentry.set_version(dir.query_version());
        finish(&[dir])
    }

    fn rename(
        old_dir: &Inode<Fat>,
        old: &Dentry<Fat>,
        new_dir: &Inode<Fat>,
        new: &Dentry<Fat>,
        flags: RenameFlags,
    ) -> Result {
        let inode = old.inode().ok_or(ENOENT)?;
        match new.inode() {
            Some(other) if flags.is_exchange() => exchange(old_dir, inode, new_dir, other),
            None if flags.is_exchange() => Err(ENOENT),
            target => move_entry(old_dir, inode, new_dir, new, target),
        }
    }
}

/// Makes an entry and its inode.
fn make(
    dir: &Inode<Fat>,
    dentry: &Dentry<Fat>,
    attrs: Attrs,
    start: Option<Cluster>,
    now: Timespec,
    after: u64,
) -> Result<ARef<Inode<Fat>>> {
    let vol = dir.volume();
    let entry = RawDirent::new(
        crate::ondisk::ShortName::from_disk(*b"           "),
        attrs,
        0,
        node::to_stamp(vol, now),
        start,
    );
    let slots = Slots::new(dir, dentry.name(), entry)?;
    let loc = dir::add(dir, &slots.list, after)?;
    let last = slots.list.last().ok_or(EIO)?;
    node::get(dir.sb(), &RawDirent::from_bytes(*last), loc).inspect_err(|_| undo_add(dir, &loc))
}

/// Takes back an entry that was just added. If that fails, too, the volume is treated as corrupt:
/// what the entry refers to must not be used for anything else.
fn undo_add(dir: &Inode<Fat>, loc: &Location) {
    if dir::remove(dir, loc).is_err() {
        dir.volume()
            .corrupt(fmt!("an entry could not be taken back"));
    }
}

/// Takes a subdirectory's `..` off the link count.
fn drop_subdir(dir: &Inode<Fat>) {
    if dir.nlink() >= 3 {
        dir.drop_nlink();
    } else {
        dir.volume().corrupt(fmt!(
            "link count of a directory is {}, expected at least 3",
            dir.nlink()
        ));
    }
}

/// Moves `inode` from its entry in `old_dir` to the name `new` in `new_dir`, in place of `target`.
fn move_entry(
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
            let loc = dir::add(new_dir, &slots.list, after)?;
            touch(new_dir, now);
            (loc, Undo::Remove)
        }
    };
    node::attach(inode, new_loc);
    inode.mark_dirty();
    let together = old_dir.ino() == new_dir.ino() && dir::share_block(old_dir, &old_loc, &new_loc);
    let result = (|| {
        if moves_dir {
            dir::set_parent(inode, parent_start(new_dir))?;
        }
        if !together {
            vol.commit(false)?;
        }
        dir::remove(old_dir, &old_loc)
    })();
    if let Err(e) = result {
        node::attach(inode, old_loc);
        undo.run(new_dir, &new_loc);
        if moves_dir && dir::set_parent(inode, parent_start(old_dir)).is_err() {
            vol.warn(fmt!("\"..\" of a directory could not be set back"));
        }
        return Err(e);
    }
    touch_less(old_dir, now);
    settle_links(inode, old_dir, new_dir, target);
    finish(&[old_dir, new_dir, inode])
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

/// Swaps the entries of two inodes; both names stay where they are.
fn exchange(dir_a: &Inode<Fat>, a: &Inode<Fat>, dir_b: &Inode<Fat>, b: &Inode<Fat>) -> Result {
    let now = dir_a.current_time();
    let (loc_a, loc_b) = (location(a)?, location(b)?);
    let (raw_a, raw_b) = (dir::read(dir_a, &loc_a)?, dir::read(dir_b, &loc_b)?);
    let after = a.node().chain.lock().seq;
    let after = after.max(b.node().chain.lock().seq);
    // From here on nobody writes attributes into the entries.
    node::detach(a);
    node::detach(b);
    let result = replace_content(dir_b, &loc_b, &raw_a, after)
        .and_then(|()| replace_content(dir_a, &loc_a, &raw_b, after));
    let (new_a, new_b) = match result {
        Ok(()) => (loc_b, loc_a),
        Err(_) => (loc_a, loc_b),
    };
    node::attach(a, new_a);
    node::attach(b, new_b);
    a.mark_dirty();
    b.mark_dirty();
    // After a failure the inodes' own attributes go back to their entries.
    result?;
    if dir_a.ino() != dir_b.ino() {
        for (inode, from, to) in [(a, dir_a, dir_b), (b, dir_b, dir_a)] {
            if inode.is_dir() {
                dir::set_parent(inode, parent_start(to))?;
                drop_subdir(from);
                to.inc_nlink();
            }
        }
        touch(dir_b, now);
    }
    touch(dir_a, now);
    finish(&[dir_a, dir_b, a, b])
}
