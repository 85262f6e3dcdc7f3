// SPDX-License-Identifier: GPL-2.0

//! Character sets.
//!
//! C header: [`include/linux/nls.h`](srctree/include/linux/nls.h)

use super::bindings;
use core::ptr::NonNull;
use kernel::prelude::*;

/// A loaded character set table.
///
/// # Invariants
///
/// The pointer is a table returned by `load_nls()` that has not been unloaded.
pub(crate) struct Nls(NonNull<bindings::nls_table>);

// SAFETY: Tables are immutable and shared by all users.
unsafe impl Send for Nls {}
// SAFETY: As above.
unsafe impl Sync for Nls {}

impl Nls {
    /// Loads the table called `name` (`cp437`, `utf8`, ...), its module too if need be.
    pub(crate) fn load(name: &CStr) -> Option<Self> {
        // SAFETY: `name` is a NUL-terminated string; `load_nls()` does not write to it.
        let table = unsafe { bindings::load_nls(name.as_char_ptr().cast_mut()) };
        // INVARIANT: A non-null result is a loaded table.
        NonNull::new(table).map(Self)
    }

    /// Converts one unit of UCS-2; returns the length of the result in bytes.
    pub(crate) fn uni2char(&self, unit: u16, out: &mut [u8; 6]) -> Option<usize> {
        let table = self.0.as_ptr();
        // SAFETY: By the type invariant the table is loaded; `uni2char` is always set and writes
        // at most `out.len()` bytes.
        let len = unsafe { ((*table).uni2char?)(unit, out.as_mut_ptr(), out.len() as i32) };
        usize::try_from(len)
            .ok()
            .filter(|&n| n > 0 && n <= out.len())
    }

    /// Converts the first character of `bytes`; returns it and the bytes it took.
    pub(crate) fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        let table = self.0.as_ptr();
        let mut unit: bindings::wchar_t = 0;
        // Tables of one byte per character read that byte without a look at the length.
        let avail = i32::try_from(bytes.len()).ok().filter(|&n| n > 0)?;
        // SAFETY: By the type invariant the table is loaded; `char2uni` is always set and reads
        // one byte, which is there, or as many as it needs of `avail`.
        let len = unsafe { ((*table).char2uni?)(bytes.as_ptr(), avail, &mut unit) };
        let len = usize::try_from(len).ok()?;
        (len > 0 && len <= bytes.len()).then_some((unit, len))
    }

    /// The lower case of a byte.
    pub(crate) fn to_lower(&self, byte: u8) -> u8 {
        // SAFETY: By the type invariant the table is loaded.
        unsafe { bindings::nls_tolower(self.0.as_ptr(), byte) }
    }

    /// The upper case of a byte.
    pub(crate) fn to_upper(&self, byte: u8) -> u8 {
        // SAFETY: By the type invariant the table is loaded.
        unsafe { bindings::nls_toupper(self.0.as_ptr(), byte) }
    }

    /// The table's name.
    pub(crate) fn name(&self) -> &CStr {
        // SAFETY: By the type invariant the table is loaded, and its name is a static string.
        unsafe { CStr::from_char_ptr((*self.0.as_ptr()).charset) }
    }
}

impl Drop for Nls {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the table is loaded and this is its only unload.
        unsafe { bindings::unload_nls(self.0.as_ptr()) };
    }
}
