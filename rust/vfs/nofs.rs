// SPDX-License-Identifier: GPL-2.0

//! Allocation scope that keeps reclaim from entering the file system.
//!
//! C header: [`include/linux/sched/mm.h`](srctree/include/linux/sched/mm.h)

use super::bindings;
use core::marker::PhantomData;

/// While one lives, allocations of this task behave as `GFP_NOFS`.
///
/// Held together with any lock that writeback or inode eviction takes.
#[must_use]
pub(crate) struct NofsScope {
    saved: u32,
    _not_send: PhantomData<*mut ()>,
}

impl NofsScope {
    /// Enters the scope; scopes nest.
    pub(crate) fn new() -> Self {
        // SAFETY: `memalloc_nofs_save()` may be called in any task context.
        let saved = unsafe { bindings::memalloc_nofs_save() };
        Self {
            saved,
            _not_send: PhantomData,
        }
    }
}

impl Drop for NofsScope {
    fn drop(&mut self) {
        // SAFETY: `saved` comes from `memalloc_nofs_save()` in the same task, since the type is not
        // `Send`; scopes are dropped in reverse order of creation or carry the same flag.
        unsafe { bindings::memalloc_nofs_restore(self.saved) };
    }
}
