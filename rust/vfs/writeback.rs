// SPDX-License-Identifier: GPL-2.0

//! The end of writes whose data counts only once it is on the device.
//!
//! Writeback of a range that [`DataOps::map_writeback`] calls unwritten is over when
//! [`DataOps::written_back`] has run. That takes locks, and the device reports the end of a write
//! in an interrupt, so a worker does it. Only then are the folios no longer under writeback: who
//! waits for them finds everything noted.
//!
//! C headers: [`include/linux/bio.h`](srctree/include/linux/bio.h),
//! [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::bindings;
use super::{DataOps, Inode};
use core::marker::PhantomData;
use core::sync::atomic::{AtomicPtr, Ordering};
use kernel::error::to_result;
use kernel::prelude::*;
use kernel::types::Opaque;

/// The workqueue of all volumes. Reclaim may wait for what it does.
static QUEUE: AtomicPtr<bindings::workqueue_struct> = AtomicPtr::new(core::ptr::null_mut());

/// Creates the workqueue. The result destroys it.
pub(super) struct WriteEndQueue(());

impl WriteEndQueue {
    pub(super) fn new() -> Result<Self> {
        // SAFETY: The name is NUL-terminated and copied.
        let queue = unsafe { bindings::alloc_reclaim_workqueue(c"rvfat".as_char_ptr()) };
        if queue.is_null() {
            return Err(ENOMEM);
        }
        QUEUE.store(queue, Ordering::Release);
        Ok(Self(()))
    }
}

impl Drop for WriteEndQueue {
    fn drop(&mut self) {
        // SAFETY: Created in `new`; no volume, and so no work item, is left.
        unsafe { bindings::destroy_workqueue(QUEUE.load(Ordering::Acquire)) };
    }
}

/// The ended writes of a volume, on their way from the interrupt to the worker.
///
/// # Invariants
///
/// The work item is initialised. `done` is a list of bios linked by `bi_next`, owned by the value:
/// each is the bio of an `iomap_ioend` of the volume whose write has ended.
#[repr(C)]
#[pin_data(PinnedDrop)]
pub(super) struct WriteEnds<T> {
    #[pin]
    work: Opaque<bindings::work_struct>,
    done: AtomicPtr<bindings::bio>,
    _fs: PhantomData<fn() -> T>,
}

// SAFETY: Work items may be queued and cancelled from any task; the list is atomic.
unsafe impl<T> Send for WriteEnds<T> {}
// SAFETY: As for `Send`: all that is shared is the work item and the atomic list.
unsafe impl<T> Sync for WriteEnds<T> {}

impl<T: DataOps> WriteEnds<T> {
    /// Nothing has ended.
    pub(super) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            work <- Opaque::ffi_init(|work| {
                // SAFETY: `work` is the pinned place of the work item.
                unsafe { bindings::init_work(work, Some(Self::run)) }
            }),
            done: AtomicPtr::new(core::ptr::null_mut()),
            _fs: PhantomData,
        })
    }

    /// `bi_end_io` of the bio of an `iomap_ioend`.
    ///
    /// # Safety
    ///
    /// Called by the block layer, in any context, with such a bio, whose inode is of type `T`. The
    /// inode stays alive until its folios are no longer under writeback.
    pub(super) unsafe extern "C" fn end_io(bio: *mut bindings::bio) {
        // SAFETY: By the contract above ioend, inode and so the volume are alive.
        let ends = unsafe {
            let inode = (*bindings::iomap_ioend_from_bio(bio)).io_inode;
            &Inode::<T>::from_raw(inode).volume().write_ends
        };
        // INVARIANT: Its end passed the bio to us; it enters the list whole. As soon as it has, the
        // worker may finish it and the volume may go away; but not before an RCU grace period, and
        // an interrupt (or a task that keeps the inode busy) is in none.
        let mut head = ends.done.load(Ordering::Relaxed);
        loop {
            // SAFETY: Nobody else uses the bio until it is in the list.
            unsafe { (*bio).bi_next = head };
            match ends
                .done
                .compare_exchange_weak(head, bio, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        // SAFETY: By the type invariant the work is initialised; the queue exists as long as there
        // are volumes.
        unsafe { bindings::queue_work(QUEUE.load(Ordering::Acquire), ends.work.get()) };
    }

    /// # Safety
    ///
    /// Called by the workqueue with the `work` member of a `WriteEnds<T>`.
    unsafe extern "C" fn run(work: *mut bindings::work_struct) {
        // SAFETY: The work item is the first field. `drop` waits for this function.
        let ends = unsafe { &*work.cast::<Self>() };
        let mut bio = ends.done.swap(core::ptr::null_mut(), Ordering::Acquire);
        while !bio.is_null() {
            // SAFETY: By the type invariant the bios that were in the list are ours now.
            let next = unsafe { core::mem::replace(&mut (*bio).bi_next, core::ptr::null_mut()) };
            // SAFETY: As above: its write has ended and nobody else finishes it.
            unsafe { Self::finish(bio) };
            bio = next;
        }
    }

    /// # Safety
    ///
    /// The caller owns `bio`, which is that of an `iomap_ioend` whose write has ended.
    unsafe fn finish(bio: *mut bindings::bio) {
        // SAFETY: By the contract above the ioend is alive and private until `iomap_finish_ioends`
        // consumes it; this is a task that may sleep.
        unsafe {
            let ioend = bindings::iomap_ioend_from_bio(bio);
            let error = bindings::blk_status_to_errno((*bio).bi_status);
            let start = u64::try_from((*ioend).io_offset).unwrap_or(0);
            let len = u64::try_from((*ioend).io_size).unwrap_or(0);
            T::written_back(
                Inode::from_raw((*ioend).io_inode),
                start,
                len,
                to_result(error),
            );
            bindings::iomap_finish_ioends(ioend, error);
        }
    }
}

#[pinned_drop]
impl<T> PinnedDrop for WriteEnds<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariant the work is initialised. Its function may still be
        // returning from the last write it finished.
        unsafe { bindings::cancel_work_sync(self.work.get()) };
    }
}
