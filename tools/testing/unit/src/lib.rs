// SPDX-License-Identifier: GPL-2.0

//! The on-disk format layer of rvfat, built for the host so that its tests can run there.

#![no_std]

#[forbid(unsafe_code)]
#[path = "../../../../rust/ondisk/mod.rs"]
pub mod ondisk;
