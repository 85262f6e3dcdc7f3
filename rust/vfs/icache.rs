// SPDX-License-Identifier: GPL-2.0

//! The inodes in memory: the slab they are made from, and the hash in which they are found.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::bindings;
use super::{FileSystem, Inode, SuperBlock};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use kernel::prelude::*;
use kernel::sync::aref::ARef;
use kernel::types::Opaque;

/// The slab object of an inode: the VFS part, the hash key and the file system's part.
#[repr(C)]
pub(super) struct InodeObject<T: FileSystem> {
    vfs: Opaque<bindings::inode>,
    key: AtomicU64,
    /// Set by who moves the inode to another key.
    moving: AtomicBool,
    node: MaybeUninit<T::Node>,
}

impl<T: FileSystem> InodeObject<T> {
    /// The file system's part; initialised as long as the inode is alive.
    pub(super) fn node(&self) -> &MaybeUninit<T::Node> {
        &self.node
    }
}

/// The slab cache of all inodes of the module's file system type.
static INODE_CACHE: AtomicPtr<bindings::kmem_cache> = AtomicPtr::new(core::ptr::null_mut());

/// Whether an [`InodeCache`] exists.
static HAS_INODE_CACHE: AtomicBool = AtomicBool::new(false);

/// Creates the inode cache. The result destroys it.
///
/// # Invariants
///
/// At most one exists, of whatever type: [`INODE_CACHE`] has objects of the size that `T` needs.
pub(super) struct InodeCache<T>(PhantomData<fn() -> T>);

impl<T: FileSystem> InodeCache<T> {
    /// `EBUSY` if there is one.
    pub(super) fn new() -> Result<Self> {
        if HAS_INODE_CACHE.swap(true, Ordering::AcqRel) {
            return Err(EBUSY);
        }
        // INVARIANT: The flag was clear; dropping the value clears it again.
        let this = Self(PhantomData);
        // SAFETY: The constructor fits objects of the given size and alignment; the name is
        // static.
        let cache = unsafe {
            bindings::kmem_cache_create(
                c"rvfat_inode_cache".as_char_ptr(),
                size_of::<InodeObject<T>>() as u32,
                align_of::<InodeObject<T>>() as u32,
                bindings::SLAB_FLAGS,
                Some(Self::init_once),
            )
        };
        if cache.is_null() {
            return Err(ENOMEM);
        }
        INODE_CACHE.store(cache, Ordering::Release);
        Ok(this)
    }

    /// Slab constructor: runs once per object, not once per inode.
    ///
    /// # Safety
    ///
    /// Called by the slab allocator with memory for one object of the cache.
    unsafe extern "C" fn init_once(object: *mut kernel::ffi::c_void) {
        // SAFETY: The slab allocator passes memory of one `InodeObject`, whose first field is the
        // VFS inode.
        unsafe { bindings::inode_init_once(object.cast()) };
    }
}

impl<T> Drop for InodeCache<T> {
    fn drop(&mut self) {
        // SAFETY: No inode is in use when the file system type is gone; those waiting for an RCU
        // grace period are freed by the barrier. Nothing is done for a null pointer.
        unsafe {
            bindings::rcu_barrier();
            let cache = INODE_CACHE.swap(core::ptr::null_mut(), Ordering::AcqRel);
            bindings::kmem_cache_destroy(cache);
        }
        HAS_INODE_CACHE.store(false, Ordering::Release);
    }
}

/// `super_operations.alloc_inode`.
///
/// # Safety
///
/// Called by the VFS with a live superblock of type `T`.
pub(super) unsafe extern "C" fn alloc_inode<T: FileSystem>(
    sb: *mut bindings::super_block,
) -> *mut bindings::inode {
    // SAFETY: The cache exists while a superblock of the type does; its objects are `InodeObject`s.
    let object = unsafe { bindings::alloc_inode_sb(sb, INODE_CACHE.load(Ordering::Acquire)) }
        .cast::<InodeObject<T>>();
    if object.is_null() {
        return core::ptr::null_mut();
    }
    // SAFETY: The object is ours alone until it is returned; each field is written before use and
    // the object never moves.
    unsafe {
        (&raw mut (*object).key).write(AtomicU64::new(0));
        (&raw mut (*object).moving).write(AtomicBool::new(false));
        let node = (&raw mut (*object).node).cast::<T::Node>();
        match T::new_node().__init(node) {
            Ok(()) => object.cast(),
            Err(e) => match e {},
        }
    }
}

/// `super_operations.destroy_inode`: drops what an RCU walk can't reach.
///
/// # Safety
///
/// Called by the VFS when nothing but RCU readers of the VFS part can reach the inode.
pub(super) unsafe extern "C" fn destroy_inode<T: FileSystem>(inode: *mut bindings::inode) {
    let object = inode.cast::<InodeObject<T>>();
    // SAFETY: `alloc_inode` initialised the node; it is dropped once, here.
    unsafe { core::ptr::drop_in_place((&raw mut (*object).node).cast::<T::Node>()) };
}

/// `super_operations.free_inode`, called after an RCU grace period.
///
/// # Safety
///
/// Called by the VFS as the last thing that happens to an inode.
pub(super) unsafe extern "C" fn free_inode(inode: *mut bindings::inode) {
    // SAFETY: The object came from this cache and has no users left.
    unsafe {
        bindings::kmem_cache_free(INODE_CACHE.load(Ordering::Acquire), inode.cast());
    }
}

impl<T: FileSystem> Inode<T> {
    /// The key under which [`SuperBlock::iget`] finds the inode.
    pub(crate) fn key(&self) -> u64 {
        self.object().key.load(Ordering::Acquire)
    }

    /// Moves the inode to another key. The caller makes sure that no other inode has it, and that
    /// nobody else moves this one at the same time: who does finds it where the first one puts it.
    pub(crate) fn rehash(&self, key: u64) {
        if self.object().moving.swap(true, Ordering::Acquire) {
            pr_err!("an inode is moved twice at a time\n");
            return;
        }
        // SAFETY: The inode is alive. The VFS allows a hashed inode to be removed and inserted
        // again; the key is only compared under the hash lock. By `moving` nobody else inserts the
        // inode in between, which would break the hash chain.
        unsafe {
            bindings::remove_inode_hash(self.as_ptr());
            self.object().key.store(key, Ordering::Release);
            bindings::__insert_inode_hash(self.as_ptr(), key);
        }
        self.object().moving.store(false, Ordering::Release);
        self.requeue();
    }

    /// Queues the inode for writeback if it was marked dirty while it was not in the hash, when
    /// the VFS notes that it is dirty but does not queue it.
    fn requeue(&self) {
        let inode = self.as_ptr();
        // SAFETY: The inode is alive. Its state is only changed under its spinlock.
        let dirty = unsafe {
            bindings::inode_spin_lock(inode);
            let queued = !bindings::inode_io_list_empty(inode);
            let state = &raw mut (*inode).i_state.__state;
            // Others read the state without the lock.
            let old = state.read_volatile();
            let dirty = if queued { 0 } else { old & bindings::I_DIRTY };
            state.write_volatile(old & !dirty);
            bindings::inode_spin_unlock(inode);
            dirty
        };
        if dirty != 0 {
            // SAFETY: The inode is alive and hashed again.
            unsafe { bindings::__mark_inode_dirty(inode, dirty as i32) };
        }
    }
}

/// What [`SuperBlock::iget`] found.
pub(crate) enum FoundInode<T: FileSystem> {
    /// An inode that was in memory.
    Cached(ARef<Inode<T>>),
    /// A new one that has to be filled.
    New(NewInode<T>),
}

/// An inode that is hashed but not yet visible: lookups of its key wait for it.
///
/// # Invariants
///
/// `I_NEW` is set and this value owns a reference.
pub(crate) struct NewInode<T: FileSystem>(NonNull<bindings::inode>, PhantomData<T>);

impl<T: FileSystem> Deref for NewInode<T> {
    type Target = Inode<T>;

    fn deref(&self) -> &Inode<T> {
        // SAFETY: The value owns a reference.
        unsafe { Inode::from_raw(self.0.as_ptr()) }
    }
}

impl<T: FileSystem> NewInode<T> {
    /// Sets the inode number.
    pub(crate) fn set_ino(&self, ino: u64) {
        // SAFETY: Nobody else sees a new inode.
        unsafe { (*self.as_ptr()).i_ino = ino };
    }

    /// Sets the owner, in the initial user namespace's numbers.
    pub(crate) fn set_owner(&self, uid: u32, gid: u32) {
        // SAFETY: Nobody else sees a new inode. In the initial user namespace a kuid is the uid.
        unsafe {
            (*self.as_ptr()).i_uid.val = uid;
            (*self.as_ptr()).i_gid.val = gid;
        }
    }

    /// Publishes the inode.
    pub(crate) fn finish(self) -> ARef<Inode<T>> {
        let ptr = self.0;
        core::mem::forget(self);
        // SAFETY: By the type invariant `I_NEW` is set.
        unsafe { bindings::unlock_new_inode(ptr.as_ptr()) };
        // SAFETY: The reference passes to the result.
        unsafe { ARef::from_raw(ptr.cast()) }
    }
}

impl<T: FileSystem> Drop for NewInode<T> {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the inode is new and the reference ours.
        unsafe { bindings::iget_failed(self.0.as_ptr()) };
    }
}

/// Compares keys, for the inode hash.
///
/// # Safety
///
/// Called by the inode hash for inodes of a superblock of type `T`, with what `iget` passed.
unsafe extern "C" fn key_matches<T: FileSystem>(
    inode: *mut bindings::inode,
    data: *mut kernel::ffi::c_void,
) -> i32 {
    // SAFETY: By the function's contract; `data` is a `u64`. The hash lock is held, so the inode,
    // which is hashed, is initialised and not yet destroyed.
    unsafe { (Inode::<T>::from_raw(inode).key() == *data.cast::<u64>()).into() }
}

/// Sets the key of a new inode, for the inode hash.
///
/// # Safety
///
/// As that of [`key_matches`].
unsafe extern "C" fn key_set<T: FileSystem>(
    inode: *mut bindings::inode,
    data: *mut kernel::ffi::c_void,
) -> i32 {
    // SAFETY: As in `key_matches`.
    unsafe {
        Inode::<T>::from_raw(inode)
            .object()
            .key
            .store(*data.cast::<u64>(), Ordering::Release);
    }
    0
}

impl<T: FileSystem> SuperBlock<T> {
    /// Finds the inode with `key`, or makes a new one with it. `ENOMEM`.
    pub(crate) fn iget(&self, mut key: u64) -> Result<FoundInode<T>> {
        // SAFETY: The superblock is alive; the callbacks fit its inodes; `key` outlives the call.
        let inode = unsafe {
            bindings::iget5_locked(
                self.as_ptr(),
                key,
                Some(key_matches::<T>),
                Some(key_set::<T>),
                (&raw mut key).cast(),
            )
        };
        let inode = NonNull::new(inode).ok_or(ENOMEM)?;
        // SAFETY: The result is referenced; `I_NEW` tells whether it is new, in which case only
        // this task sees it.
        unsafe {
            let state = (&raw const (*inode.as_ptr()).i_state.__state).read_volatile();
            if state & bindings::inode_state_flags_enum_I_NEW != 0 {
                Ok(FoundInode::New(NewInode(inode, PhantomData)))
            } else {
                Ok(FoundInode::Cached(ARef::from_raw(inode.cast())))
            }
        }
    }

    /// Finds the inode with `key` if it is in memory.
    pub(crate) fn ilookup(&self, mut key: u64) -> Option<ARef<Inode<T>>> {
        // SAFETY: As in `iget`.
        let inode = unsafe {
            bindings::ilookup5(
                self.as_ptr(),
                key,
                Some(key_matches::<T>),
                (&raw mut key).cast(),
            )
        };
        // SAFETY: The result carries a reference.
        NonNull::new(inode).map(|inode| unsafe { ARef::from_raw(inode.cast()) })
    }
}
