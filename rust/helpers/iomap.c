// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/iomap.h> and <linux/uio.h>. */
#include "helpers.h"

void rvfat_helper_iomap_bio_read_folio(struct folio *folio, const struct iomap_ops *ops)
{
	iomap_bio_read_folio(folio, ops);
}

void rvfat_helper_iomap_bio_readahead(struct readahead_control *rac, const struct iomap_ops *ops)
{
	iomap_bio_readahead(rac, ops);
}

struct iomap_ioend *rvfat_helper_iomap_ioend_from_bio(struct bio *bio)
{
	return iomap_ioend_from_bio(bio);
}

size_t rvfat_helper_iov_iter_count(const struct iov_iter *iter)
{
	return iov_iter_count(iter);
}
