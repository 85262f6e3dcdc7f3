// SPDX-License-Identifier: GPL-2.0

//! Dentries and `dentry_operations`.
//!
//! C header: [`include/linux/dcache.h`](srctree/include/linux/dcache.h)

use super::bindings;
use super::{FileSystem, Inode, SuperBlock};
use core::marker::PhantomData;
use core::ops::Range;
use core::ptr;
use kernel::error::from_err_ptr;
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::types::Opaque;

/// A dentry of a file system of type `T`, referenced by the VFS for the length of the call, whose
/// directory is locked.
///
/// # Invariants
///
/// While it is referenced neither its name nor, if it is positive, its inode changes.
#[repr(transparent)]
pub(crate) struct Dentry<T: FileSystem>(Opaque<bindings::dentry>, PhantomData<T>);

impl<T: FileSystem> Dentry<T> {
    /// # Safety
    ///
    /// `ptr` must be a dentry of type `T` that stays alive for `'a`, and the parent locked by the
    /// VFS for as long, at least shared, so that no rename changes the name. (A lookup may rename a
    /// positive dentry under a shared lock, but not the one that another lookup is working on.)
    pub(super) unsafe fn from_raw<'a>(ptr: *mut bindings::dentry) -> &'a Self {
        // SAFETY: Transparent over the C type; the rest is the caller's promise.
        unsafe { &*ptr.cast() }
    }

    pub(super) fn as_ptr(&self) -> *mut bindings::dentry {
        self.0.get()
    }

    /// The name as given by user space, without NUL.
    pub(crate) fn name(&self) -> &[u8] {
        // SAFETY: By the type invariant the name is stable.
        unsafe { name_of(&raw const (*self.as_ptr()).__bindgen_anon_1.d_name) }
    }

    /// The inode, if the dentry is positive.
    pub(crate) fn inode(&self) -> Option<&Inode<T>> {
        // SAFETY: The dentry is alive; by the type invariant a positive one stays so.
        unsafe {
            let inode = bindings::d_inode(self.as_ptr());
            if inode.is_null() {
                None
            } else {
                Some(Inode::from_raw(inode))
            }
        }
    }

    /// Remembers the directory's version, for [`DentryOps::d_revalidate_negative`].
    pub(crate) fn set_version(&self, version: u64) {
        let value = ptr::without_provenance_mut(version as usize);
        // SAFETY: The dentry is alive; `d_fsdata` belongs to the file system. It is read without
        // the directory's lock, hence the volatile write.
        unsafe { (&raw mut (*self.as_ptr()).d_fsdata).write_volatile(value) };
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
        // SAFETY: All objects are alive; `d_find_alias` returns a reference or null, which is given
        // back or passed on. The directory is locked shared, so nothing in it is renamed or
        // removed, except by other lookups that do the same: `d_move` excludes them by
        // `rename_lock`, and expects a target that is being looked up.
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

/// # Safety
///
/// `qstr` must point to a name that stays allocated while the result is used.
unsafe fn racy_name_of(qstr: *const bindings::qstr) -> RacyName {
    // SAFETY: By the function's contract; `name` points to `len` bytes.
    unsafe {
        let len = (*qstr).__bindgen_anon_1.__bindgen_anon_1.len as usize;
        RacyName::new((*qstr).name.cast(), len)
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
    /// A byte that does not count for comparing where names end with it, any number of times.
    const IGNORED_TAIL: u8;

    /// Whether a negative dentry of `dir` may still be used. `version` is what
    /// [`Dentry::set_version`] was given. The directory is not locked.
    fn d_revalidate_negative(dir: &Inode<Self>, version: u64, flags: LookupFlags) -> bool;

    /// The folded form of one byte of a name. Called under RCU: it must not sleep.
    fn fold(volume: &Self::Volume, byte: u8) -> u8;
}

/// The bytes of a name that may be changed while they are read: a rename writes short names in
/// place. There is never a Rust reference to them.
#[derive(Clone, Copy)]
struct RacyName {
    bytes: *const u8,
    len: usize,
}

impl RacyName {
    /// # Safety
    ///
    /// `bytes` must point to `len` bytes that stay allocated while the value is used.
    unsafe fn new(bytes: *const u8, len: usize) -> Self {
        Self { bytes, len }
    }

    fn get(&self, at: usize) -> u8 {
        if at >= self.len {
            return 0;
        }
        // SAFETY: `at` is within the bytes, which are there by `new`'s contract. A volatile read of
        // a byte gives its old or its new value.
        unsafe { self.bytes.add(at).read_volatile() }
    }

    fn indices(&self) -> Range<usize> {
        0..self.len
    }

    /// Without the bytes `tail` at its end.
    fn without_tail(mut self, tail: u8) -> Self {
        while self.len > 0 && self.get(self.len - 1) == tail {
            self.len -= 1;
        }
        self
    }
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
    /// Called by the VFS as `dentry_operations.d_revalidate`, with objects of type `T`: referenced
    /// ones, unless `LOOKUP_RCU` is set.
    unsafe extern "C" fn d_revalidate(
        dir: *mut bindings::inode,
        _name: *const bindings::qstr,
        dentry: *mut bindings::dentry,
        flags: u32,
    ) -> i32 {
        if flags & bindings::LOOKUP_RCU != 0 {
            return ECHILD.to_errno();
        }
        // SAFETY: Outside RCU mode the VFS passes live, referenced objects. The directory is not
        // locked, so there is no `Dentry`: only `d_fsdata` is looked at, which is the file
        // system's.
        unsafe {
            if bindings::d_really_is_positive(dentry) {
                return 1;
            }
            let version = (&raw const (*dentry).d_fsdata).read_volatile() as u64;
            T::d_revalidate_negative(Inode::from_raw(dir), version, LookupFlags(flags)).into()
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `dentry_operations.d_hash`, with objects of type `T` that RCU at least
    /// keeps alive.
    unsafe extern "C" fn d_hash(dentry: *const bindings::dentry, qstr: *mut bindings::qstr) -> i32 {
        // SAFETY: The VFS passes a live directory dentry (under RCU at least) and a name that is
        // private to the caller. The volume is freed an RCU grace period after the unmount.
        unsafe {
            let sb = SuperBlock::<T>::from_raw((*dentry).d_sb);
            let name = racy_name_of(qstr).without_tail(T::IGNORED_TAIL);
            let mut hash = bindings::init_name_hash(dentry.cast());
            for at in name.indices() {
                let byte = Self::fold(sb.volume(), name.get(at));
                hash = bindings::partial_name_hash(byte.into(), hash);
            }
            (*qstr).__bindgen_anon_1.__bindgen_anon_1.hash = bindings::end_name_hash(hash);
        }
        0
    }

    /// # Safety
    ///
    /// Called by the VFS as `dentry_operations.d_compare`, with objects of type `T` that RCU at
    /// least keeps alive.
    unsafe extern "C" fn d_compare(
        dentry: *const bindings::dentry,
        len: u32,
        str_: *const kernel::ffi::c_char,
        name: *const bindings::qstr,
    ) -> i32 {
        // SAFETY: As in `d_hash`; `str_` has `len` readable bytes, which stay allocated under RCU.
        // The VFS checks for a concurrent rename afterwards: bytes that change only cost a retry.
        let (sb, a, b) = unsafe {
            (
                SuperBlock::<T>::from_raw((*dentry).d_sb),
                racy_name_of(name).without_tail(T::IGNORED_TAIL),
                RacyName::new(str_.cast(), len as usize).without_tail(T::IGNORED_TAIL),
            )
        };
        let volume = sb.volume();
        let same = a.len == b.len
            && a.indices().all(|at| {
                let (x, y) = (a.get(at), b.get(at));
                x == y || Self::fold(volume, x) == Self::fold(volume, y)
            });
        (!same).into()
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
