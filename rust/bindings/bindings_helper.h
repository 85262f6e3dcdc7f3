/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel headers that rvfat's Rust bindings are generated from. What of
 * them is generated is listed in bindgen_parameters.
 */
#ifndef RVFAT_BINDINGS_HELPER_H
#define RVFAT_BINDINGS_HELPER_H

#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include <linux/dcache.h>
#include <linux/exportfs.h>
#include <linux/fadvise.h>
#include <linux/falloc.h>
#include <linux/fiemap.h>
#include <linux/fileattr.h>
#include <linux/filelock.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/iomap.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/msdos_fs.h>
#include <linux/namei.h>
#include <linux/nls.h>
#include <linux/pagemap.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/statfs.h>
#include <linux/stringhash.h>
#include <linux/time.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#include <linux/writeback.h>

#include "../helpers/helpers.h"

/* Macros that bindgen cannot evaluate by itself. */
static const unsigned int RVFAT_CONST_GFP_NOFS = GFP_NOFS;
static const unsigned int RVFAT_CONST_GFP_KERNEL = GFP_KERNEL;
static const unsigned int RVFAT_CONST_GFP_MOVABLE = __GFP_MOVABLE;
static const unsigned int RVFAT_CONST_GFP_NOFAIL = __GFP_NOFAIL;
static const unsigned int RVFAT_CONST_REQ_SYNC = REQ_SYNC;
static const unsigned int RVFAT_CONST_REQ_OP_WRITE = REQ_OP_WRITE;
static const unsigned int RVFAT_CONST_SLAB_FLAGS =
	SLAB_RECLAIM_ACCOUNT | SLAB_ACCOUNT;
static const unsigned int RVFAT_CONST_I_DIRTY = I_DIRTY;
static const unsigned int RVFAT_CONST_I_DIRTY_SYNC = I_DIRTY_SYNC;
static const unsigned int RVFAT_CONST_I_DIRTY_DATASYNC = I_DIRTY_DATASYNC;
static const unsigned int RVFAT_CONST_I_DIRTY_PAGES = I_DIRTY_PAGES;
static const unsigned int RVFAT_CONST_I_DIRTY_TIME = I_DIRTY_TIME;
static const unsigned int RVFAT_CONST_FMODE_CAN_ODIRECT = FMODE_CAN_ODIRECT;
static const unsigned int RVFAT_CONST_FMODE_WRITE = FMODE_WRITE;
static const unsigned int RVFAT_CONST_FMODE_NOWAIT = FMODE_NOWAIT;
static const unsigned int RVFAT_CONST_FMODE_32BITHASH = FMODE_32BITHASH;
static const unsigned long RVFAT_CONST_PAGE_SIZE = PAGE_SIZE;
static const unsigned long RVFAT_CONST_SB_RDONLY = SB_RDONLY;
static const unsigned long RVFAT_CONST_SB_SYNCHRONOUS = SB_SYNCHRONOUS;
static const unsigned long RVFAT_CONST_SB_DIRSYNC = SB_DIRSYNC;
static const unsigned long RVFAT_CONST_SB_NODIRATIME = SB_NODIRATIME;
static const unsigned long RVFAT_CONST_SB_SILENT = SB_SILENT;
static const unsigned int RVFAT_CONST_FAT_IOCTL_GET_ATTRIBUTES = FAT_IOCTL_GET_ATTRIBUTES;
static const unsigned int RVFAT_CONST_FAT_IOCTL_SET_ATTRIBUTES = FAT_IOCTL_SET_ATTRIBUTES;
static const unsigned int RVFAT_CONST_FAT_IOCTL_GET_VOLUME_ID = FAT_IOCTL_GET_VOLUME_ID;
static const unsigned int RVFAT_CONST_VFAT_IOCTL_READDIR_BOTH = VFAT_IOCTL_READDIR_BOTH;
static const unsigned int RVFAT_CONST_VFAT_IOCTL_READDIR_SHORT = VFAT_IOCTL_READDIR_SHORT;
static const unsigned int RVFAT_CONST_LOOKUP_CREATE = LOOKUP_CREATE;
static const unsigned int RVFAT_CONST_LOOKUP_RENAME_TARGET = LOOKUP_RENAME_TARGET;
static const unsigned int RVFAT_CONST_LOOKUP_RCU = LOOKUP_RCU;
static const unsigned int RVFAT_CONST_IOCB_NOWAIT = IOCB_NOWAIT;
static const unsigned int RVFAT_CONST_SECTOR_SHIFT = SECTOR_SHIFT;
static const unsigned int RVFAT_CONST_FITRIM = FITRIM;
static const int RVFAT_CONST_FAT_DEFAULT_CODEPAGE = CONFIG_FAT_DEFAULT_CODEPAGE;
static const char RVFAT_CONST_FAT_DEFAULT_IOCHARSET[] = CONFIG_FAT_DEFAULT_IOCHARSET;
static const bool RVFAT_CONST_FAT_DEFAULT_UTF8 = IS_ENABLED(CONFIG_FAT_DEFAULT_UTF8);

#endif /* RVFAT_BINDINGS_HELPER_H */
