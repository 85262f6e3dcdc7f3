// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/dcache.h> and <linux/stringhash.h>. */
#include "helpers.h"
#include <linux/dcache.h>
#include <linux/stringhash.h>

bool rvfat_helper_d_really_is_positive(const struct dentry *dentry)
{
	return d_really_is_positive(dentry);
}

struct inode *rvfat_helper_d_inode(const struct dentry *dentry)
{
	return d_inode(dentry);
}

unsigned long rvfat_helper_init_name_hash(const void *salt)
{
	return init_name_hash(salt);
}

unsigned long rvfat_helper_partial_name_hash(unsigned long c, unsigned long hash)
{
	return partial_name_hash(c, hash);
}

unsigned int rvfat_helper_end_name_hash(unsigned long hash)
{
	return end_name_hash(hash);
}
