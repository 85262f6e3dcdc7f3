// SPDX-License-Identifier: GPL-2.0

//! Names: lookup, create, mkdir, unlink, rmdir. Renaming is in [`super::rename`].

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
use core::sync::atomic::Ordering;
use kernel::prelude::*;
use kernel::sync::aref::ARef;

use super::chain::Chain;
use super::dir::{self, Location};
use super::names::{hash_short, Units};
use super::volume::{Volume, VolumeData};
use super::{expand, find, node, place, rename, Fat};

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
pub(super) struct Slots {
    pub(super) list: KVVec<[u8; DIRENT_SIZE]>,
    /// Hashes of the entry's names.
    pub(super) hashes: [u32; 2],
}

impl Slots {
    /// Builds them for `given`, a name from user space; `entry` is the rest of the 8.3 slot.
    pub(super) fn new(dir: &Inode<Fat>, given: &[u8], mut entry: RawDirent) -> Result<Self> {
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
        Ok(Self {
            list,
            hashes: [hash_short(&chosen.name), vol.names.hash(given)],
        })
    }
}

/// Notes a change of `dir`'s entries at time `now`.
pub(super) fn touch(dir: &Inode<Fat>, now: Timespec) {
    dir.inc_version();
    node::set_mtime(dir, now);
    dir.mark_dirty();
}

/// Notes a removal from `dir` at time `now`; as in the kernel's vfat, it counts as an access, too.
pub(super) fn touch_less(dir: &Inode<Fat>, now: Timespec) {
    node::set_atime(dir, now);
    touch(dir, now);
}

/// Notes that an inode lost its name at time `now`.
fn touch_removed(inode: &Inode<Fat>, now: Timespec) {
    node::set_mtime(inode, now);
    node::set_atime(inode, now);
}

/// The end of a change of `dirs`: on disk if they want it.
pub(super) fn finish(dirs: &[&Inode<Fat>]) -> Result {
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
pub(super) fn location(inode: &Inode<Fat>) -> Result<Location> {
    inode.node().entry.lock().loc.ok_or(ENOENT)
}

/// The start cluster by which a directory is known in a `..` entry: none for the root.
pub(super) fn parent_start(dir: &Inode<Fat>) -> Option<Cluster> {
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
        let blocks = place::zero_cluster(dir, first)?;
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
        finish(&[dir]).inspect_err(|_| undo_make(dir, &inode))?;
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
        touch(dir, now);
        inode.inc_version();
        finish(&[dir]).inspect_err(|_| undo_make(dir, &inode))?;
        dir.inc_nlink();
        inode.set_nlink(2);
        dentry.instantiate(inode);
        Ok(())
    }

    fn unlink(dir: &Inode<Fat>, dentry: &Dentry<Fat>) -> Result {
        remove_name(dir, dentry, dentry.inode().ok_or(ENOENT)?)
    }

    fn rmdir(dir: &Inode<Fat>, dentry: &Dentry<Fat>) -> Result {
        let inode = dentry.inode().ok_or(ENOENT)?;
        if !dir::is_empty(inode)? {
            return Err(ENOTEMPTY);
        }
        remove_name(dir, dentry, inode)?;
        drop_subdir(dir);
        Ok(())
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
            Some(other) if flags.is_exchange() => rename::exchange(old_dir, inode, new_dir, other),
            None if flags.is_exchange() => Err(ENOENT),
            target => rename::move_entry(old_dir, inode, new_dir, new, target),
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
    let loc = place::add(dir, &slots, after)?;
    let last = slots.list.last().ok_or(EIO)?;
    node::get(dir.sb(), &RawDirent::from_bytes(*last), loc).inspect_err(|_| undo_add(dir, &loc))
}

/// Takes back a file or directory that was just made, because it could not be made durable.
fn undo_make(dir: &Inode<Fat>, inode: &Inode<Fat>) {
    if let Ok(loc) = location(inode) {
        node::detach(inode);
        undo_add(dir, &loc);
        inode.clear_nlink();
    }
}

/// Removes the entry of `inode`, whose clusters are freed when nobody uses it any more. On failure
/// it is still there.
fn remove_name(dir: &Inode<Fat>, dentry: &Dentry<Fat>, inode: &Inode<Fat>) -> Result {
    let now = dir.current_time();
    let loc = location(inode)?;
    // From here on nobody writes attributes into the entry, and brings it back with that.
    node::detach(inode);
    let removed = dir::remove(dir, &loc).inspect_err(|_| node::attach(inode, loc))?;
    touch_less(dir, now);
    if let Err(e) = finish(&[dir]) {
        undo_remove(dir, &loc, &removed);
        node::attach(inode, loc);
        return Err(e);
    }
    inode.clear_nlink();
    touch_removed(inode, now);
    dentry.set_version(dir.query_version());
    Ok(())
}

/// Takes back a removal.
pub(super) fn undo_remove(dir: &Inode<Fat>, loc: &Location, removed: &dir::Removed) {
    if dir::put_back(dir, loc, removed).is_err() {
        dir.volume()
            .corrupt(fmt!("a removed entry could not be put back"));
    }
}

/// Takes back an entry that was just added. If that fails, too, the volume is treated as corrupt:
/// what the entry refers to must not be used for anything else.
pub(super) fn undo_add(dir: &Inode<Fat>, loc: &Location) {
    match dir::remove(dir, loc) {
        Ok(_) => place::undo_growth(dir),
        Err(_) => {
            dir.volume()
                .corrupt(fmt!("an entry could not be taken back"));
        }
    }
}

/// Takes a subdirectory's `..` off the link count.
pub(super) fn drop_subdir(dir: &Inode<Fat>) {
    if dir.nlink() >= 3 {
        dir.drop_nlink();
    } else if !dir.node().uncounted.load(Ordering::Relaxed) {
        dir.volume().corrupt(fmt!(
            "link count of a directory is {}, expected at least 3",
            dir.nlink()
        ));
    }
}
