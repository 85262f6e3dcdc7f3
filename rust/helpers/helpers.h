/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Prototypes of the shims: functions that are static inline (or macros) in the
 * kernel's headers, so that Rust cannot call them by their own name. One .c
 * file per kernel header; no logic in any of them.
 */
#ifndef RVFAT_HELPERS_H
#define RVFAT_HELPERS_H

#include <linux/backing-dev.h>
#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/iomap.h>
#include <linux/nls.h>
#include <linux/pagemap.h>
#include <linux/ratelimit.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/workqueue.h>

/* blkdev.h, backing-dev.h */
loff_t rvfat_helper_bdev_nr_bytes(struct block_device *bdev);
bool rvfat_helper_bdev_write_cache(struct block_device *bdev);
unsigned int rvfat_helper_bdev_max_discard_sectors(struct block_device *bdev);
unsigned int rvfat_helper_bdev_discard_granularity(struct block_device *bdev);
unsigned int rvfat_helper_bdev_logical_block_size(struct block_device *bdev);
struct address_space *rvfat_helper_sb_device_mapping(struct super_block *sb);
dev_t rvfat_helper_sb_device_number(struct super_block *sb);

/* buffer_head.h */
struct buffer_head *rvfat_helper_sb_bread(struct super_block *sb, sector_t block);
struct buffer_head *rvfat_helper_sb_getblk(struct super_block *sb, sector_t block);
struct buffer_head *rvfat_helper_sb_find_get_block(struct super_block *sb, sector_t block);
void rvfat_helper_get_bh(struct buffer_head *bh);
bool rvfat_helper_bio_add_bh(struct bio *bio, struct buffer_head *bh);
void rvfat_helper_lock_buffer(struct buffer_head *bh);
void rvfat_helper_wait_on_buffer(struct buffer_head *bh);
bool rvfat_helper_buffer_uptodate(struct buffer_head *bh);
bool rvfat_helper_buffer_write_io_error(struct buffer_head *bh);
void rvfat_helper_set_buffer_uptodate(struct buffer_head *bh);
void rvfat_helper_clear_buffer_write_io_error(struct buffer_head *bh);

/* dcache.h, stringhash.h */
bool rvfat_helper_d_really_is_positive(const struct dentry *dentry);
struct inode *rvfat_helper_d_inode(const struct dentry *dentry);
unsigned long rvfat_helper_init_name_hash(const void *salt);
unsigned long rvfat_helper_partial_name_hash(unsigned long c, unsigned long hash);
unsigned int rvfat_helper_end_name_hash(unsigned long hash);

/* fs.h */
struct inode *rvfat_helper_alloc_inode_sb(struct super_block *sb, struct kmem_cache *cache);
void rvfat_helper_register_lock_keys(struct file_system_type *type);
void rvfat_helper_unregister_lock_keys(struct file_system_type *type);
void rvfat_helper_inode_lock(struct inode *inode);
void rvfat_helper_inode_unlock(struct inode *inode);
void rvfat_helper_inode_lock_shared(struct inode *inode);
void rvfat_helper_inode_unlock_shared(struct inode *inode);
loff_t rvfat_helper_i_size_read(const struct inode *inode);
void rvfat_helper_i_size_write(struct inode *inode, loff_t size);
void rvfat_helper_remove_inode_hash(struct inode *inode);
void rvfat_helper_inode_spin_lock(struct inode *inode);
void rvfat_helper_inode_spin_unlock(struct inode *inode);
bool rvfat_helper_inode_is_dirty(struct inode *inode);
bool rvfat_helper_inode_io_list_empty(struct inode *inode);
bool rvfat_helper_sb_rdonly(const struct super_block *sb);
void rvfat_helper_set_sb_rdonly(struct super_block *sb);
bool rvfat_helper_is_sync(struct inode *inode);
bool rvfat_helper_is_dirsync(struct inode *inode);
u64 rvfat_helper_inode_query_iversion(struct inode *inode);
void rvfat_helper_inode_inc_iversion(struct inode *inode);
bool rvfat_helper_inode_eq_iversion(struct inode *inode, u64 old);
void rvfat_helper_inode_set_mtime(struct inode *inode, time64_t sec, long nsec);
void rvfat_helper_inode_set_atime(struct inode *inode, time64_t sec, long nsec);
void rvfat_helper_inode_set_ctime(struct inode *inode, time64_t sec, long nsec);
int rvfat_helper_mnt_want_write_file(struct file *file);
void rvfat_helper_fsnotify_attrs_changed(struct file *file);
u64 rvfat_helper_file_parent_ino(struct file *file);
int rvfat_helper_file_may_set_mode(struct file *file, umode_t mode);
struct inode *rvfat_helper_file_inode(const struct file *file);
bool rvfat_helper_dir_emit(struct dir_context *ctx, const char *name, int len, u64 ino, unsigned int type);
bool rvfat_helper_dir_emit_dots(struct file *file, struct dir_context *ctx);
void rvfat_helper_sb_start_pagefault(struct super_block *sb);
void rvfat_helper_sb_end_pagefault(struct super_block *sb);
ssize_t rvfat_helper_generic_write_sync(struct kiocb *iocb, ssize_t count);
void rvfat_helper_file_accessed(struct file *file);
bool rvfat_helper_capable(int cap);
uid_t rvfat_helper_from_kuid(kuid_t uid);
gid_t rvfat_helper_from_kgid(kgid_t gid);
kuid_t rvfat_helper_current_uid(void);
kgid_t rvfat_helper_current_gid(void);
umode_t rvfat_helper_current_umask(void);
bool rvfat_helper_inode_owned_by_current(struct mnt_idmap *idmap, struct inode *inode);
bool rvfat_helper_inode_group_of_current(struct mnt_idmap *idmap, struct inode *inode);
bool rvfat_helper_iattr_changes_owner(struct mnt_idmap *idmap, struct inode *inode, const struct iattr *attr, uid_t uid, gid_t gid);
int rvfat_helper_local_minuteswest(void);
unsigned long rvfat_helper_copy_to_user(unsigned long to, const void *from, unsigned long n);
unsigned long rvfat_helper_copy_from_user(void *to, unsigned long from, unsigned long n);
void rvfat_helper_rcu_barrier(void);
void rvfat_helper_synchronize_rcu(void);
void rvfat_helper_ratelimit_init(struct ratelimit_state *state);
u32 rvfat_helper_get_random_u32(void);
void rvfat_helper_panic(const char *msg);

/* iomap.h */
void rvfat_helper_iomap_bio_read_folio(struct folio *folio, const struct iomap_ops *ops);
void rvfat_helper_iomap_bio_readahead(struct readahead_control *rac, const struct iomap_ops *ops);

/* nls.h */
unsigned char rvfat_helper_nls_tolower(struct nls_table *t, unsigned char c);
unsigned char rvfat_helper_nls_toupper(struct nls_table *t, unsigned char c);

/* workqueue.h */
void rvfat_helper_init_delayed_work(struct delayed_work *work, void (*fn)(struct work_struct *));
void rvfat_helper_init_work(struct work_struct *work, void (*fn)(struct work_struct *));
bool rvfat_helper_queue_work(struct workqueue_struct *queue, struct work_struct *work);
struct workqueue_struct *rvfat_helper_alloc_reclaim_workqueue(const char *name);
bool rvfat_helper_queue_delayed_work_seconds(struct delayed_work *work, unsigned int seconds);

/* slab.h */
struct kmem_cache *rvfat_helper_kmem_cache_create(const char *name, unsigned int size,
						  unsigned int align, slab_flags_t flags,
						  void (*ctor)(void *));

/* pagemap.h, sched/mm.h */
bool rvfat_helper_mapping_tagged_dirty(struct address_space *mapping);
bool rvfat_helper_mapping_tagged_writeback(struct address_space *mapping);
void rvfat_helper_mapping_set_large_folios(struct address_space *mapping);
void rvfat_helper_filemap_invalidate_lock(struct address_space *mapping);
void rvfat_helper_filemap_invalidate_unlock(struct address_space *mapping);
void rvfat_helper_filemap_invalidate_lock_shared(struct address_space *mapping);
void rvfat_helper_filemap_invalidate_unlock_shared(struct address_space *mapping);
struct folio *rvfat_helper_read_mapping_folio(struct address_space *mapping, pgoff_t index);
void rvfat_helper_folio_put(struct folio *folio);
loff_t rvfat_helper_folio_pos(struct folio *folio);
size_t rvfat_helper_folio_size(struct folio *folio);
void rvfat_helper_memcpy_from_folio(char *to, struct folio *folio, size_t offset, size_t len);
void rvfat_helper_read_ahead(struct address_space *mapping, pgoff_t index, unsigned long pages);
unsigned int rvfat_helper_memalloc_nofs_save(void);
void rvfat_helper_memalloc_nofs_restore(unsigned int flags);
struct iomap_ioend *rvfat_helper_iomap_ioend_from_bio(struct bio *bio);
size_t rvfat_helper_iov_iter_count(const struct iov_iter *iter);

#endif /* RVFAT_HELPERS_H */
