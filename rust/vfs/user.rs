// SPDX-License-Identifier: GPL-2.0

//! Fixed-size values in user memory, for ioctls.
//!
//! C header: [`include/linux/uaccess.h`](srctree/include/linux/uaccess.h)

use super::bindings;
use kernel::prelude::*;

/// An address that user space passed. May be anything; access fails with `EFAULT` where it must.
#[derive(Clone, Copy)]
pub(crate) struct UserPtr(usize);

impl UserPtr {
    pub(super) fn new(addr: usize) -> Self {
        Self(addr)
    }

    /// The address `bytes` further on.
    pub(crate) fn offset(self, bytes: usize) -> Result<Self> {
        self.0.checked_add(bytes).map(Self).ok_or(EFAULT)
    }

    /// Copies `bytes` out to user memory.
    pub(crate) fn write(self, bytes: &[u8]) -> Result {
        // SAFETY: `copy_to_user()` checks the user address; `bytes` is readable for its length.
        let left = unsafe { bindings::copy_to_user(self.0, bytes.as_ptr().cast(), bytes.len()) };
        if left == 0 {
            Ok(())
        } else {
            Err(EFAULT)
        }
    }

    /// Reads `N` bytes of user memory.
    pub(crate) fn read<const N: usize>(self) -> Result<[u8; N]> {
        let mut bytes = [0u8; N];
        // SAFETY: `copy_from_user()` checks the user address; `bytes` is writable for its length.
        let left = unsafe { bindings::copy_from_user(bytes.as_mut_ptr().cast(), self.0, N) };
        if left == 0 {
            Ok(bytes)
        } else {
            Err(EFAULT)
        }
    }
}
