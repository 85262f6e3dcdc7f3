// SPDX-License-Identifier: GPL-2.0

//! System calls as the tests need them: every one returns its errno.
//!
//! This folder is the only place of the crate with `unsafe` code, apart from the fork in
//! `runner`.

mod aio;
mod dir;
mod dm;
mod errno;
mod file;
mod ioctl;
mod map;
mod mnt;
mod path;
mod stat;

pub use aio::*;
pub use dir::*;
pub use dm::*;
pub use errno::*;
pub use file::*;
pub use ioctl::*;
pub use map::*;
pub use mnt::*;
pub use path::*;
pub use stat::*;

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The path as a C string; test paths never hold a NUL.
pub fn cstr(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("path without NUL")
}
