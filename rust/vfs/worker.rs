// SPDX-License-Identifier: GPL-2.0

//! Work that a volume does some time later, in a kernel worker.
//!
//! C header: [`include/linux/workqueue.h`](srctree/include/linux/workqueue.h)

use super::bindings;
use super::{MountOps, SuperBlock};
use core::marker::PhantomData;
use core::ptr::NonNull;
use kernel::prelude::*;
use kernel::types::Opaque;

/// How long work is put off while the volume is frozen.
const FROZEN_SECONDS: u32 = 1;

/// Runs [`MountOps::background`] some time after it was asked to.
///
/// # Invariants
///
/// The work is initialised and the superblock alive. `kill_sb` stops the worker before it takes the
/// superblock down, after which it never runs again. Only [`super::Mounted`] has one: it can't be
/// scheduled before `s_fs_info` is set.
#[repr(C)]
#[pin_data]
pub(super) struct Worker<T> {
    #[pin]
    work: Opaque<bindings::delayed_work>,
    sb: NonNull<bindings::super_block>,
    _fs: PhantomData<fn() -> T>,
}

// SAFETY: Work items may be queued and disabled from any task.
unsafe impl<T> Send for Worker<T> {}
// SAFETY: As above.
unsafe impl<T> Sync for Worker<T> {}

impl<T: MountOps> Worker<T> {
    /// A worker of the superblock.
    ///
    /// # Safety
    ///
    /// The worker must be part of the superblock's volume, and be stopped before the superblock is
    /// taken down.
    pub(super) unsafe fn new(sb: NonNull<bindings::super_block>) -> impl PinInit<Self> {
        pin_init!(Self {
            work <- Opaque::ffi_init(|work| {
                // SAFETY: `work` is the pinned place of the work item.
                unsafe { bindings::init_delayed_work(work, Some(Self::run)) }
            }),
            sb,
            _fs: PhantomData,
        })
    }

    /// Has the work done in `seconds`, unless it is due earlier or the worker was stopped.
    pub(super) fn schedule(&self, seconds: u32) {
        // SAFETY: By the type invariant the work is initialised.
        unsafe { bindings::queue_delayed_work_seconds(self.work.get(), seconds) };
    }

    /// Stops the worker for good and waits until it is idle.
    pub(super) fn stop(&self) {
        // SAFETY: By the type invariant the work is initialised; the caller may sleep.
        unsafe { bindings::disable_delayed_work_sync(self.work.get()) };
    }

    /// # Safety
    ///
    /// Called by the workqueue with the `work` member of a `Worker<T>`.
    unsafe extern "C" fn run(work: *mut bindings::work_struct) {
        // SAFETY: The work item is the first field of both `delayed_work` and `Worker`; by the type
        // invariant the superblock is alive, and its volume, which owns the worker, set.
        unsafe {
            let worker = &*work.cast::<Self>();
            let sb = SuperBlock::<T>::from_raw(worker.sb.as_ptr());
            if sb.is_frozen() {
                worker.schedule(FROZEN_SECONDS);
            } else {
                T::background(sb);
            }
        }
    }
}
