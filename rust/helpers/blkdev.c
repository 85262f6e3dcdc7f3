// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/blkdev.h>. */
#include "helpers.h"

loff_t rvfat_helper_bdev_nr_bytes(struct block_device *bdev)
{
	return bdev_nr_bytes(bdev);
}

bool rvfat_helper_bdev_write_cache(struct block_device *bdev)
{
	return bdev_write_cache(bdev);
}

unsigned int rvfat_helper_bdev_max_discard_sectors(struct block_device *bdev)
{
	return bdev_max_discard_sectors(bdev);
}

unsigned int rvfat_helper_bdev_discard_granularity(struct block_device *bdev)
{
	return bdev_discard_granularity(bdev);
}

unsigned int rvfat_helper_bdev_logical_block_size(struct block_device *bdev)
{
	return bdev_logical_block_size(bdev);
}

struct address_space *rvfat_helper_sb_device_mapping(struct super_block *sb)
{
	return sb->s_bdev->bd_mapping;
}

dev_t rvfat_helper_sb_device_number(struct super_block *sb)
{
	return sb->s_bdev->bd_dev;
}
