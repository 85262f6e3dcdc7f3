// SPDX-License-Identifier: GPL-2.0

//! Messages, and what happens when the volume is found to be corrupt.

use crate::ondisk::FormatError;
use core::fmt;
use kernel::prelude::*;

use super::options::OnError;
use super::volume::Volume;

impl Volume {
    /// Reports corruption: one log line (rate-limited), then what the mount option `errors` says.
    /// Returns the error to pass on.
    pub(crate) fn corrupt(&self, what: fmt::Arguments<'_>) -> Error {
        if self.may_log() {
            pr_err!("({}) error, {what}\n", self.disk.name());
        }
        match self.options.errors {
            OnError::Continue => {}
            OnError::Panic => crate::vfs::panic(c"rvfat: file system corrupted"),
            OnError::RemountRo => {
                if !self.disk.is_read_only() {
                    self.disk.set_read_only();
                    pr_err!(
                        "({}) file system has been set read-only\n",
                        self.disk.name()
                    );
                }
            }
        }
        EIO
    }

    /// Prints a warning (rate-limited).
    pub(crate) fn warn(&self, what: fmt::Arguments<'_>) {
        if self.may_log() {
            pr_warn!("({}) {what}\n", self.disk.name());
        }
    }
}

impl kernel::fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<FormatError> for Error {
    fn from(e: FormatError) -> Error {
        match e {
            FormatError::NameTooLong { .. } => ENAMETOOLONG,
            _ => EINVAL,
        }
    }
}
