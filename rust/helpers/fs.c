// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/fs.h> and <linux/iversion.h>. */
#include "helpers.h"
#include <linux/fsnotify.h>
#include <linux/iversion.h>
#include <linux/mount.h>
#include <linux/security.h>

struct inode *rvfat_helper_alloc_inode_sb(struct super_block *sb, struct kmem_cache *cache)
{
	return alloc_inode_sb(sb, cache, GFP_NOFS);
}

/* The keys in a type that was allocated: lockdep takes only static ones unasked. */
static void for_each_lock_key(struct file_system_type *type,
			      void (*call)(struct lock_class_key *key))
{
	int i;

	call(&type->s_lock_key);
	call(&type->s_umount_key);
	call(&type->s_vfs_rename_key);
	for (i = 0; i < SB_FREEZE_LEVELS; i++)
		call(&type->s_writers_key[i]);
	call(&type->i_lock_key);
	call(&type->i_mutex_key);
	call(&type->invalidate_lock_key);
	call(&type->i_mutex_dir_key);
}

void rvfat_helper_register_lock_keys(struct file_system_type *type)
{
	for_each_lock_key(type, lockdep_register_key);
}

void rvfat_helper_unregister_lock_keys(struct file_system_type *type)
{
	for_each_lock_key(type, lockdep_unregister_key);
}

void rvfat_helper_inode_lock(struct inode *inode)
{
	inode_lock(inode);
}

void rvfat_helper_inode_unlock(struct inode *inode)
{
	inode_unlock(inode);
}

void rvfat_helper_inode_lock_shared(struct inode *inode)
{
	inode_lock_shared(inode);
}

void rvfat_helper_inode_unlock_shared(struct inode *inode)
{
	inode_unlock_shared(inode);
}

loff_t rvfat_helper_i_size_read(const struct inode *inode)
{
	return i_size_read(inode);
}

void rvfat_helper_i_size_write(struct inode *inode, loff_t size)
{
	i_size_write(inode, size);
}

void rvfat_helper_remove_inode_hash(struct inode *inode)
{
	remove_inode_hash(inode);
}

void rvfat_helper_inode_spin_lock(struct inode *inode)
{
	spin_lock(&inode->i_lock);
}

void rvfat_helper_inode_spin_unlock(struct inode *inode)
{
	spin_unlock(&inode->i_lock);
}

bool rvfat_helper_inode_is_dirty(struct inode *inode)
{
	return inode_state_read_once(inode) & (I_DIRTY_SYNC | I_DIRTY_DATASYNC);
}

bool rvfat_helper_inode_io_list_empty(struct inode *inode)
{
	return list_empty(&inode->i_io_list);
}

bool rvfat_helper_sb_rdonly(const struct super_block *sb)
{
	return sb_rdonly(sb);
}

void rvfat_helper_set_sb_rdonly(struct super_block *sb)
{
	sb->s_flags |= SB_RDONLY;
}

bool rvfat_helper_is_sync(struct inode *inode)
{
	return IS_SYNC(inode);
}

bool rvfat_helper_is_dirsync(struct inode *inode)
{
	return IS_DIRSYNC(inode);
}

u64 rvfat_helper_inode_query_iversion(struct inode *inode)
{
	return inode_query_iversion(inode);
}

void rvfat_helper_inode_inc_iversion(struct inode *inode)
{
	inode_inc_iversion(inode);
}

bool rvfat_helper_inode_eq_iversion(struct inode *inode, u64 old)
{
	return inode_eq_iversion(inode, old);
}

void rvfat_helper_inode_set_mtime(struct inode *inode, time64_t sec, long nsec)
{
	inode_set_mtime(inode, sec, nsec);
}

void rvfat_helper_inode_set_atime(struct inode *inode, time64_t sec, long nsec)
{
	inode_set_atime(inode, sec, nsec);
}

void rvfat_helper_inode_set_ctime(struct inode *inode, time64_t sec, long nsec)
{
	inode_set_ctime(inode, sec, nsec);
}

int rvfat_helper_mnt_want_write_file(struct file *file)
{
	return mnt_want_write_file(file);
}

void rvfat_helper_fsnotify_attrs_changed(struct file *file)
{
	fsnotify_change(file->f_path.dentry, ATTR_MODE | ATTR_CTIME);
}

u64 rvfat_helper_file_parent_ino(struct file *file)
{
	return d_parent_ino(file->f_path.dentry);
}

int rvfat_helper_file_may_set_mode(struct file *file, umode_t mode)
{
	struct iattr ia = {
		.ia_valid = ATTR_MODE | ATTR_CTIME,
		.ia_mode = mode,
	};

	return setattr_prepare(file_mnt_idmap(file), file->f_path.dentry, &ia) ?:
	       security_inode_setattr(file_mnt_idmap(file), file->f_path.dentry, &ia);
}

struct inode *rvfat_helper_file_inode(const struct file *file)
{
	return file_inode(file);
}

bool rvfat_helper_dir_emit(struct dir_context *ctx, const char *name, int len, u64 ino,
			   unsigned int type)
{
	return dir_emit(ctx, name, len, ino, type);
}

bool rvfat_helper_dir_emit_dots(struct file *file, struct dir_context *ctx)
{
	return dir_emit_dots(file, ctx);
}

void rvfat_helper_sb_start_pagefault(struct super_block *sb)
{
	sb_start_pagefault(sb);
}

void rvfat_helper_sb_end_pagefault(struct super_block *sb)
{
	sb_end_pagefault(sb);
}

ssize_t rvfat_helper_generic_write_sync(struct kiocb *iocb, ssize_t count)
{
	return generic_write_sync(iocb, count);
}

void rvfat_helper_file_accessed(struct file *file)
{
	file_accessed(file);
}
