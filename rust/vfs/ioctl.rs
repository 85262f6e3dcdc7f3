// SPDX-License-Identifier: GPL-2.0

//! Numbers of the ioctls that a FAT file system answers.
//!
//! C headers: [`include/uapi/linux/msdos_fs.h`](srctree/include/uapi/linux/msdos_fs.h),
//! [`include/uapi/linux/fs.h`](srctree/include/uapi/linux/fs.h)

pub(crate) use super::bindings::{
    FAT_IOCTL_GET_ATTRIBUTES, //
    FAT_IOCTL_GET_VOLUME_ID,
    FAT_IOCTL_SET_ATTRIBUTES,
    FITRIM,
    VFAT_IOCTL_READDIR_BOTH,
    VFAT_IOCTL_READDIR_SHORT,
};
