// SPDX-License-Identifier: GPL-2.0

//! Dentries and `dentry_operations`.
//!
//! C header: [`include/linux/dcache.h`](srctree/include/linux/dcache.h)

use super::super::bindings;
use super::{FileSystem, Inode, SuperBlock};
use core::marker::PhantomData;
use core::ptr;
use kernel::error::from_err_ptr;
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::types::Opaque;

/// A dentry of a file system of type `T`, referenced by the VFS for the length of the call.
#[repr(transparent)]
pub(crate) struct Dentry<T: FileSystem>(Opaque<bindings::dentry>, PhantomData<T>);

impl<T: FileSystem> Dentry<T> {
    /// # Safety
    ///
    /// `ptr` must be a dentry of type `T` that stays alive for `'a`, and whose name does not
    /// change meanwhile (the parent is locked, or the VFS guarantees it for the operation).
    pub(super) unsafe fn from_raw<'a>(ptr: *mut bindings::dentry) -> &'a Self {
        // SAFETY: Transparent over the C type; the rest is the caller's promise.
        unsafe { &*ptr.cast() }
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::dentry {
        self.0.get()
    }

    /// The name as given by user space, without NUL.
    pub(crate) fn name(&self) -> &[u8] {
        // SAFETY: By `from_raw`'s contract the name is stable.
        unsafe { name_of(&raw const (*self.as_ptr()).__bindgen_anon_1.d_name) }
    }

    /// The inode, if the dentry is positive.
    pub(crate) fn inode(&self) -> Option<&Inode<T>> {
        // SAFETY: The dentry is alive; a positive one stays so while it is referenced and its
        // parent locked.
        unsafe {
            let inode = bindings::d_inode(self.as_ptr());
            if inode.is_null() {
                None
            } else {
                Some(Inode::from_raw(inode))
            }
        }
    }

    /// The version of the directory at which the name was found not to exist.
    pub(crate) fn version(&self) -> u64 {
        // SAFETY: The dentry is alive; `d_fsdata` belongs to the file system.
        unsafe { (*self.as_ptr()).d_fsdata as u64 }
    }

    /// Remembers the directory's version.
    pub(crate) fn set_version(&self, version: u64) {
        // SAFETY: As in `version`.
        unsafe { (*self.as_ptr()).d_fsdata = ptr::without_provenance_mut(version as usize) };
    }

    /// Makes a negative dentry positive.
    pub(crate) fn instantiate(&self, inode: ARef<Inode<T>>) {
        // SAFETY: The dentry is alive, negative and its parent locked; `d_instantiate` consumes
        // the reference.
        unsafe { bindings::d_instantiate(self.as_ptr(), ARef::into_raw(inode).as_ptr().cast()) };
    }

    /// Ends a lookup: binds the dentry to `inode`, or leaves it negative. The result is another
    /// dentry that was already there, or null.
    pub(super) fn splice(&self, inode: Option<ARef<Inode<T>>>) -> Result<*mut bindings::dentry> {
        let raw = match inode {
            Some(inode) => Self::alias_of(self, &inode)
                .map_or_else(|| Ok(ARef::into_raw(inode).as_ptr().cast()), Err),
            None => Ok(ptr::null_mut()),
        };
        match raw {
            // SAFETY: The dentry is being looked up; the reference is consumed.
            Ok(inode) => from_err_ptr(unsafe { bindings::d_splice_alias(inode, self.as_ptr()) }),
            Err(alias) => Ok(alias),
        }
    }

    /// A dentry in the same directory by which the inode is known already: it was looked up by its
    /// other (long or short) name. The name used now wins.
    fn alias_of(&self, inode: &Inode<T>) -> Option<*mut bindings::dentry> {
        // SAFETY: All objects are alive; `d_find_alias` returns a reference or null. `d_move` of
        // an alias in the same, locked directory is what lookup may do.
        unsafe {
            let alias = bindings::d_find_alias(inode.as_ptr());
            if alias.is_null() {
                return None;
            }
            let same_parent = (*alias).d_parent == (*self.as_ptr()).d_parent;
            if !same_parent {
                bindings::dput(alias);
                return None;
            }
            if !inode.is_dir() {
                bindings::d_move(alias, self.as_ptr());
            }
            Some(alias)
        }
    }
}

/// # Safety
///
/// `qstr` must point to a name that stays valid and unchanged for `'a`.
unsafe fn name_of<'a>(qstr: *const bindings::qstr) -> &'a [u8] {
    // SAFETY: By the function's contract; `name` points to `len` bytes.
    unsafe {
        let len = (*qstr).__bindgen_anon_1.__bindgen_anon_1.len as usize;
        core::slice::from_raw_parts((*qstr).name.cast(), len)
    }
}

/// What a lookup is for.
#[derive(Clone, Copy)]
pub(crate) struct LookupFlags(u32);

impl LookupFlags {
    /// Nothing is known about the purpose.
    pub(crate) fn is_unknown(self) -> bool {
        self.0 == 0
    }

    /// The name is about to be created.
    pub(crate) fn is_create(self) -> bool {
        self.0 & (bindings::LOOKUP_CREATE | bindings::LOOKUP_RENAME_TARGET) != 0
    }
}

/// How names compare; the names of the functions are those of `dentry_operations`.
pub(crate) trait DentryOps: FileSystem {
    /// Whether a negative dentry of `dir` may still be used.
    fn d_revalidate_negative(dir: &Inode<Self>, dentry: &Dentry<Self>, flags: LookupFlags) -> bool;

    /// The bytes of `name` that count for comparing.
    fn significant(name: &[u8]) -> &[u8];

    /// The folded form of one byte of a name. Called under RCU.
    fn fold(volume: &Self::Volume, byte: u8) -> u8;
}

/// Sets the superblock's dentry operations.
pub(super) fn set_ops<T: DentryOps>(sb: &SuperBlock<T>, ignore_case: bool) {
    let ops = if ignore_case {
        &DentryTable::<T, true>::TABLE
    } else {
        &DentryTable::<T, false>::TABLE
    };
    // SAFETY: The superblock is not published; the table is a constant.
    unsafe { bindings::set_default_d_op(sb.as_ptr(), ops) };
}

struct DentryTable<T, const FOLD: bool>(PhantomData<T>);

impl<T: DentryOps, const FOLD: bool> DentryTable<T, FOLD> {
    const TABLE: bindings::dentry_operations = bindings::dentry_operations {
        d_revalidate: Some(Self::d_revalidate),
        d_hash: Some(Self::d_hash),
        d_compare: Some(Self::d_compare),
        // SAFETY: All fields are function pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    fn fold(volume: &T::Volume, byte: u8) -> u8 {
        if FOLD {
            T::fold(volume, byte)
        } else {
            byte
        }
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn d_revalidate(
        dir: *mut bindings::inode,
        _name: *const bindings::qstr,
        dentry: *mut bindings::dentry,
        flags: u32,
    ) -> i32 {
        if flags & bindings::LOOKUP_RCU != 0 {
            return ECHILD.to_errno();
        }
        // SAFETY: Outside RCU mode the VFS passes live, referenced objects.
        unsafe {
            if bindings::d_really_is_positive(dentry) {
                return 1;
            }
            T::d_revalidate_negative(
                Inode::from_raw(dir),
                Dentry::from_raw(dentry),
                LookupFlags(flags),
            )
            .into()
        }
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn d_hash(dentry: *const bindings::dentry, qstr: *mut bindings::qstr) -> i32 {
        // SAFETY: The VFS passes a live directory dentry (under RCU at least) and a name that is
        // private to the caller. The volume is freed an RCU grace period after the unmount.
        unsafe {
            let sb = SuperBlock::<T>::from_raw((*dentry).d_sb);
            let mut hash = bindings::init_name_hash(dentry.cast());
            for &byte in T::significant(name_of(qstr)) {
                hash = bindings::partial_name_hash(Self::fold(sb.volume(), byte).into(), hash);
            }
            (*qstr).__bindgen_anon_1.__bindgen_anon_1.hash = bindings::end_name_hash(hash);
        }
        0
    }

    /// # Safety
    ///
    /// Called by the kernel with live objects of type `T`, as the table says.
    unsafe extern "C" fn d_compare(
        dentry: *const bindings::dentry,
        len: u32,
        str_: *const kernel::ffi::c_char,
        name: *const bindings::qstr,
    ) -> i32 {
        // SAFETY: As in `d_hash`; `str_` has `len` readable bytes. The VFS checks for a concurrent
        // rename afterwards, so bytes that change meanwhile only cost a retry.
        unsafe {
            let sb = SuperBlock::<T>::from_raw((*dentry).d_sb);
            let a = T::significant(name_of(name));
            let b = T::significant(core::slice::from_raw_parts(str_.cast(), len as usize));
            let same = a.len() == b.len()
                && a.iter().zip(b).all(|(&x, &y)| {
                    x == y || Self::fold(sb.volume(), x) == Self::fold(sb.volume(), y)
                });
            (!same).into()
        }
    }
}

/// Turns a lookup's result into what the VFS wants.
pub(super) fn lookup_result<T: FileSystem>(
    dentry: &Dentry<T>,
    result: Result<Option<ARef<Inode<T>>>>,
) -> *mut bindings::dentry {
    match result.and_then(|inode| dentry.splice(inode)) {
        Ok(found) => found,
        Err(e) => e.to_ptr(),
    }
}
