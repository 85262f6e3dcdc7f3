// SPDX-License-Identifier: GPL-2.0

//! `inode_operations` of directories and files.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::bindings;
use super::{dentry, to_c, Dentry, FileSystem, Inode, NewInode, Timespec};
use core::marker::PhantomData;
use kernel::error::{from_result, to_result};
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::types::Opaque;

/// The ID mapping of the mount through which an operation came.
pub(crate) struct IdMap<'a>(&'a Opaque<bindings::mnt_idmap>);

/// `RENAME_*` flags that a file system may see.
#[derive(Clone, Copy)]
pub(crate) struct RenameFlags(u32);

impl RenameFlags {
    /// Swap the two names.
    pub(crate) fn is_exchange(self) -> bool {
        self.0 & bindings::RENAME_EXCHANGE != 0
    }
}

/// Attribute changes that user space asked for.
///
/// The dentry by which it did is only of use to the VFS: it may be renamed at any time.
pub(crate) struct Iattr<'a>(&'a mut bindings::iattr, *mut bindings::dentry);

impl Iattr<'_> {
    fn has(&self, flag: u32) -> bool {
        self.0.ia_valid & flag != 0
    }

    /// The new size in bytes.
    pub(crate) fn size(&self) -> Option<u64> {
        self.has(bindings::ATTR_SIZE)
            .then(|| u64::try_from(self.0.ia_size).unwrap_or(0))
    }

    /// Whether nothing but the size is to be changed.
    pub(crate) fn is_size_only(&self) -> bool {
        self.0.ia_valid == bindings::ATTR_SIZE
    }

    /// Takes the size out of what is left to do.
    pub(crate) fn clear_size(&mut self) {
        self.0.ia_valid &= !bindings::ATTR_SIZE;
    }

    /// The new mode.
    pub(crate) fn mode(&self) -> Option<u16> {
        self.has(bindings::ATTR_MODE).then_some(self.0.ia_mode)
    }

    /// Sets or removes the new mode.
    pub(crate) fn set_mode(&mut self, mode: Option<u16>) {
        match mode {
            Some(mode) => self.0.ia_mode = mode,
            None => self.0.ia_valid &= !bindings::ATTR_MODE,
        }
    }

    /// Whether the owner would become another than `uid`, or the group another than `gid`.
    pub(crate) fn changes_owner<T: FileSystem>(
        &self,
        idmap: &IdMap<'_>,
        inode: &Inode<T>,
        uid: u32,
        gid: u32,
    ) -> bool {
        // SAFETY: All objects are alive.
        unsafe {
            bindings::iattr_changes_owner(
                idmap.0.get(),
                inode.as_ptr(),
                &raw const *self.0,
                uid,
                gid,
            )
        }
    }

    /// Whether a time is set to a value of the caller's choice.
    pub(crate) fn sets_times(&self) -> bool {
        self.has(TIMES_SET)
    }

    /// The new access time.
    pub(crate) fn atime(&self) -> Option<Timespec> {
        self.has(bindings::ATTR_ATIME)
            .then(|| Timespec::from_c(self.0.ia_atime))
    }

    /// The new modification time.
    pub(crate) fn mtime(&self) -> Option<Timespec> {
        self.has(bindings::ATTR_MTIME)
            .then(|| Timespec::from_c(self.0.ia_mtime))
    }

    /// Takes the times out of what is left to do.
    pub(crate) fn clear_times(&mut self) {
        self.0.ia_valid &= !(bindings::ATTR_ATIME | bindings::ATTR_CTIME | bindings::ATTR_MTIME);
    }

    /// Checks permissions as the VFS does for every file system. With `any_time`, whoever may
    /// write may also set times.
    pub(crate) fn prepare(&mut self, idmap: &IdMap<'_>, any_time: bool) -> Result {
        let valid = self.0.ia_valid;
        if any_time {
            self.0.ia_valid &= !TIMES_SET;
        }
        // SAFETY: All objects are alive for the length of `setattr`, and the inode is locked by the
        // VFS.
        let result = to_result(unsafe {
            bindings::setattr_prepare(idmap.0.get(), self.1, &raw mut *self.0)
        });
        self.0.ia_valid = valid;
        result
    }

    /// Copies what is left to the inode.
    pub(crate) fn copy_to<T: FileSystem>(&self, idmap: &IdMap<'_>, inode: &Inode<T>) {
        // SAFETY: All objects are alive and the inode is locked by the VFS.
        unsafe { bindings::setattr_copy(idmap.0.get(), inode.as_ptr(), &raw const *self.0) };
    }
}

const TIMES_SET: u32 =
    bindings::ATTR_MTIME_SET | bindings::ATTR_ATIME_SET | bindings::ATTR_TIMES_SET;

/// What `stat` reports, filled in by the VFS from the inode.
pub(crate) struct Kstat<'a>(&'a mut bindings::kstat);

impl Kstat<'_> {
    /// Sets the preferred I/O size in bytes.
    pub(crate) fn set_block_size(&mut self, bytes: u32) {
        self.0.blksize = bytes;
    }

    /// Sets the number of links.
    pub(crate) fn set_nlink(&mut self, n: u32) {
        self.0.nlink = n;
    }

    /// Sets the time of creation.
    pub(crate) fn set_btime(&mut self, t: Timespec) {
        self.0.result_mask |= bindings::STATX_BTIME;
        self.0.btime = t.to_c();
    }
}

/// Which times an access updates.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateTime {
    /// The file was read.
    Access,
    /// The file was changed.
    Change,
}

/// Operations on the attributes of files and directories.
pub(crate) trait SetattrOps: FileSystem {
    /// Changes attributes; the inode is locked.
    fn setattr(idmap: &IdMap<'_>, inode: &Inode<Self>, attr: &mut Iattr<'_>) -> Result;
    /// Adds to what the VFS filled in.
    fn getattr(inode: &Inode<Self>, stat: &mut Kstat<'_>);
    /// Sets times to now.
    fn update_time(inode: &Inode<Self>, what: UpdateTime);
    /// Whether names in the directory ignore case.
    fn folds_case(inode: &Inode<Self>) -> bool;
}

/// Operations on a directory; the VFS holds its lock, shared for lookup and exclusive for others.
pub(crate) trait DirOps: SetattrOps {
    /// Finds a name.
    fn lookup(dir: &Inode<Self>, dentry: &Dentry<Self>) -> Result<Option<ARef<Inode<Self>>>>;
    /// Makes a regular file.
    fn create(dir: &Inode<Self>, dentry: &Dentry<Self>) -> Result;
    /// Makes a directory.
    fn mkdir(dir: &Inode<Self>, dentry: &Dentry<Self>) -> Result;
    /// Removes a file's name.
    fn unlink(dir: &Inode<Self>, dentry: &Dentry<Self>) -> Result;
    /// Removes an empty directory.
    fn rmdir(dir: &Inode<Self>, dentry: &Dentry<Self>) -> Result;
    /// Renames.
    fn rename(
        old_dir: &Inode<Self>,
        old: &Dentry<Self>,
        new_dir: &Inode<Self>,
        new: &Dentry<Self>,
        flags: RenameFlags,
    ) -> Result;
}

impl<T: DirOps + super::FileOps> NewInode<T> {
    /// Makes it a directory.
    pub(crate) fn set_dir_ops(&self) {
        // SAFETY: Nobody else sees a new inode; the tables are constants.
        unsafe {
            (*self.as_ptr()).i_op = &DirTable::<T>::INODE;
            (*self.as_ptr()).__bindgen_anon_3.i_fop = &super::file::FileTable::<T>::DIR;
        }
    }
}

impl<T: SetattrOps + super::FileOps + super::DataOps> NewInode<T> {
    /// Makes it a regular file with data.
    pub(crate) fn set_file_ops(&self) {
        // SAFETY: Nobody else sees a new inode; the tables are constants.
        unsafe {
            (*self.as_ptr()).i_op = &FileInodeTable::<T>::INODE;
            (*self.as_ptr()).__bindgen_anon_3.i_fop = &super::file::FileTable::<T>::FILE;
            (*(*self.as_ptr()).i_mapping).a_ops = &super::iomap::DataTable::<T>::AOPS;
            bindings::mapping_set_large_folios((*self.as_ptr()).i_mapping);
        }
    }
}

struct FileInodeTable<T>(PhantomData<T>);

// The same contract as for `AttrTable`.
impl<T: SetattrOps + super::DataOps> FileInodeTable<T> {
    const INODE: bindings::inode_operations = bindings::inode_operations {
        fiemap: Some(Self::fiemap),
        ..AttrTable::<T>::COMMON
    };

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.fiemap`, with live objects of type `T`.
    unsafe extern "C" fn fiemap(
        inode: *mut bindings::inode,
        info: *mut bindings::fiemap_extent_info,
        start: u64,
        len: u64,
    ) -> i32 {
        // SAFETY: See the impl's comment.
        to_c(unsafe { Inode::<T>::from_raw(inode).fiemap(info, start, len) })
    }
}

struct AttrTable<T>(PhantomData<T>);

// The callbacks below are called by the VFS with live objects of type `T`, locked as
// Documentation/filesystems/locking.rst says.
impl<T: SetattrOps> AttrTable<T> {
    const COMMON: bindings::inode_operations = bindings::inode_operations {
        setattr: Some(Self::setattr),
        getattr: Some(Self::getattr),
        update_time: Some(Self::update_time),
        fileattr_get: Some(Self::fileattr_get),
        // SAFETY: All fields are function pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.setattr`, with live objects of type `T`.
    unsafe extern "C" fn setattr(
        idmap: *mut bindings::mnt_idmap,
        dentry: *mut bindings::dentry,
        attr: *mut bindings::iattr,
    ) -> i32 {
        // SAFETY: See the impl's comment; the dentry is positive and `attr` private to the call.
        unsafe {
            to_c(T::setattr(
                &IdMap(&*idmap.cast()),
                Inode::from_raw(bindings::d_inode(dentry)),
                &mut Iattr(&mut *attr, dentry),
            ))
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.getattr`, with live objects of type `T`.
    unsafe extern "C" fn getattr(
        idmap: *mut bindings::mnt_idmap,
        path: *const bindings::path,
        stat: *mut bindings::kstat,
        mask: u32,
        _flags: u32,
    ) -> i32 {
        // SAFETY: See the impl's comment; `stat` is private to the call.
        unsafe {
            let inode = bindings::d_inode((*path).dentry);
            bindings::generic_fillattr(idmap, mask, inode, stat);
            T::getattr(Inode::from_raw(inode), &mut Kstat(&mut *stat));
        }
        0
    }

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.update_time`, with live objects of type `T`.
    unsafe extern "C" fn update_time(
        inode: *mut bindings::inode,
        what: bindings::fs_update_time,
        flags: u32,
    ) -> i32 {
        if flags & bindings::IOCB_NOWAIT != 0 {
            return EAGAIN.to_errno();
        }
        let what = if what == bindings::fs_update_time_FS_UPD_ATIME {
            UpdateTime::Access
        } else {
            UpdateTime::Change
        };
        // SAFETY: See the impl's comment.
        T::update_time(unsafe { Inode::from_raw(inode) }, what);
        0
    }

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.fileattr_get`, with live objects of type `T`.
    unsafe extern "C" fn fileattr_get(
        dentry: *mut bindings::dentry,
        fa: *mut bindings::file_kattr,
    ) -> i32 {
        // SAFETY: See the impl's comment; `fa` is private to the call.
        unsafe {
            let inode = Inode::<T>::from_raw(bindings::d_inode(dentry));
            if T::folds_case(inode) {
                (*fa).fsx_xflags |= bindings::FS_XFLAG_CASEFOLD;
                (*fa).flags |= bindings::FS_CASEFOLD_FL;
            }
            if inode.is_immutable() {
                (*fa).fsx_xflags |= bindings::FS_XFLAG_IMMUTABLE;
                (*fa).flags |= bindings::FS_IMMUTABLE_FL;
            }
        }
        0
    }
}

struct DirTable<T>(PhantomData<T>);

// The same contract as for `AttrTable`.
impl<T: DirOps> DirTable<T> {
    const INODE: bindings::inode_operations = bindings::inode_operations {
        lookup: Some(Self::lookup),
        create: Some(Self::create),
        mkdir: Some(Self::mkdir),
        unlink: Some(Self::unlink),
        rmdir: Some(Self::rmdir),
        rename: Some(Self::rename),
        ..AttrTable::<T>::COMMON
    };

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.lookup`, with live objects of type `T`.
    unsafe extern "C" fn lookup(
        dir: *mut bindings::inode,
        entry: *mut bindings::dentry,
        _flags: u32,
    ) -> *mut bindings::dentry {
        // SAFETY: See the impl's comment.
        let (dir, entry) = unsafe { (Inode::<T>::from_raw(dir), Dentry::from_raw(entry)) };
        dentry::lookup_result(entry, T::lookup(dir, entry))
    }

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.create`, with live objects of type `T`.
    unsafe extern "C" fn create(
        _idmap: *mut bindings::mnt_idmap,
        dir: *mut bindings::inode,
        entry: *mut bindings::dentry,
        _mode: bindings::umode_t,
    ) -> i32 {
        // SAFETY: See the impl's comment.
        to_c(unsafe { T::create(Inode::from_raw(dir), Dentry::from_raw(entry)) })
    }

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.mkdir`, with live objects of type `T`.
    unsafe extern "C" fn mkdir(
        _idmap: *mut bindings::mnt_idmap,
        dir: *mut bindings::inode,
        entry: *mut bindings::dentry,
        _mode: bindings::umode_t,
    ) -> *mut bindings::dentry {
        // SAFETY: See the impl's comment.
        match unsafe { T::mkdir(Inode::from_raw(dir), Dentry::from_raw(entry)) } {
            Ok(()) => core::ptr::null_mut(),
            Err(e) => e.to_ptr(),
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.unlink`, with live objects of type `T`.
    unsafe extern "C" fn unlink(dir: *mut bindings::inode, entry: *mut bindings::dentry) -> i32 {
        // SAFETY: See the impl's comment.
        to_c(unsafe { T::unlink(Inode::from_raw(dir), Dentry::from_raw(entry)) })
    }

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.rmdir`, with live objects of type `T`.
    unsafe extern "C" fn rmdir(dir: *mut bindings::inode, entry: *mut bindings::dentry) -> i32 {
        // SAFETY: See the impl's comment.
        to_c(unsafe { T::rmdir(Inode::from_raw(dir), Dentry::from_raw(entry)) })
    }

    /// # Safety
    ///
    /// Called by the VFS as `inode_operations.rename`, with live objects of type `T`.
    unsafe extern "C" fn rename(
        _idmap: *mut bindings::mnt_idmap,
        old_dir: *mut bindings::inode,
        old: *mut bindings::dentry,
        new_dir: *mut bindings::inode,
        new: *mut bindings::dentry,
        flags: u32,
    ) -> i32 {
        from_result(|| {
            if flags & !(bindings::RENAME_NOREPLACE | bindings::RENAME_EXCHANGE) != 0 {
                return Err(EINVAL);
            }
            // SAFETY: See the impl's comment.
            unsafe {
                T::rename(
                    Inode::from_raw(old_dir),
                    Dentry::from_raw(old),
                    Inode::from_raw(new_dir),
                    Dentry::from_raw(new),
                    RenameFlags(flags),
                )
            }?;
            Ok(0)
        })
    }
}

impl<T: FileSystem> Inode<T> {
    /// Whether the current task's file system user owns the inode.
    pub(crate) fn is_owned_by_current(&self, idmap: &IdMap<'_>) -> bool {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_owned_by_current(idmap.0.get(), self.as_ptr()) }
    }

    /// Whether the current task is in the inode's group.
    pub(crate) fn is_group_of_current(&self, idmap: &IdMap<'_>) -> bool {
        // SAFETY: The inode is alive.
        unsafe { bindings::inode_group_of_current(idmap.0.get(), self.as_ptr()) }
    }
}
