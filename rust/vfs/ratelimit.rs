// SPDX-License-Identifier: GPL-2.0

//! Limits for log messages.
//!
//! C header: [`include/linux/ratelimit.h`](srctree/include/linux/ratelimit.h)

use super::bindings;
use kernel::prelude::*;
use kernel::types::Opaque;

/// Lets the kernel's usual number of messages through in the kernel's usual interval, and then says
/// how many were left out.
///
/// # Invariants
///
/// The state is initialised.
#[repr(transparent)]
#[pin_data]
pub(super) struct RateLimit {
    #[pin]
    state: Opaque<bindings::ratelimit_state>,
}

// SAFETY: The state has a lock of its own.
unsafe impl Send for RateLimit {}
// SAFETY: As above.
unsafe impl Sync for RateLimit {}

impl RateLimit {
    /// Nothing has been said yet.
    pub(super) fn new() -> impl PinInit<Self> {
        // INVARIANT: The state gets initialised.
        pin_init!(Self {
            state <- Opaque::ffi_init(|state| {
                // SAFETY: `state` is the place of the state.
                unsafe { bindings::ratelimit_init(state) }
            }),
        })
    }

    /// Whether a message may be printed now. To be asked once for each.
    pub(super) fn allows(&self) -> bool {
        // SAFETY: By the type invariant the state is initialised; the name is static.
        unsafe { bindings::___ratelimit(self.state.get(), c"rvfat".as_char_ptr()) != 0 }
    }
}
