// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/buffer_head.h>. */
#include "helpers.h"

struct buffer_head *rvfat_helper_sb_bread(struct super_block *sb, sector_t block)
{
	return sb_bread(sb, block);
}

struct buffer_head *rvfat_helper_sb_getblk(struct super_block *sb, sector_t block)
{
	return sb_getblk(sb, block);
}

struct buffer_head *rvfat_helper_sb_find_get_block(struct super_block *sb, sector_t block)
{
	return sb_find_get_block_nonatomic(sb, block);
}

void rvfat_helper_get_bh(struct buffer_head *bh)
{
	get_bh(bh);
}

void rvfat_helper_lock_buffer(struct buffer_head *bh)
{
	lock_buffer(bh);
}

void rvfat_helper_wait_on_buffer(struct buffer_head *bh)
{
	wait_on_buffer(bh);
}

bool rvfat_helper_buffer_uptodate(struct buffer_head *bh)
{
	return buffer_uptodate(bh);
}

bool rvfat_helper_buffer_write_io_error(struct buffer_head *bh)
{
	return buffer_write_io_error(bh);
}

void rvfat_helper_set_buffer_uptodate(struct buffer_head *bh)
{
	set_buffer_uptodate(bh);
}

void rvfat_helper_clear_buffer_write_io_error(struct buffer_head *bh)
{
	clear_buffer_write_io_error(bh);
}

bool rvfat_helper_bio_add_bh(struct bio *bio, struct buffer_head *bh)
{
	return bio_add_folio(bio, bh->b_folio, bh->b_size, bh_offset(bh));
}
