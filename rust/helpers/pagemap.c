// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/pagemap.h>, <linux/highmem.h> and <linux/sched/mm.h>. */
#include "helpers.h"
#include <linux/highmem.h>
#include <linux/sched/mm.h>

bool rvfat_helper_mapping_tagged_dirty(struct address_space *mapping)
{
	return mapping_tagged(mapping, PAGECACHE_TAG_DIRTY);
}

bool rvfat_helper_mapping_tagged_writeback(struct address_space *mapping)
{
	return mapping_tagged(mapping, PAGECACHE_TAG_WRITEBACK);
}

void rvfat_helper_mapping_set_large_folios(struct address_space *mapping)
{
	mapping_set_large_folios(mapping);
}

void rvfat_helper_filemap_invalidate_lock(struct address_space *mapping)
{
	filemap_invalidate_lock(mapping);
}

void rvfat_helper_filemap_invalidate_unlock(struct address_space *mapping)
{
	filemap_invalidate_unlock(mapping);
}

void rvfat_helper_filemap_invalidate_lock_shared(struct address_space *mapping)
{
	filemap_invalidate_lock_shared(mapping);
}

void rvfat_helper_filemap_invalidate_unlock_shared(struct address_space *mapping)
{
	filemap_invalidate_unlock_shared(mapping);
}

struct folio *rvfat_helper_read_mapping_folio(struct address_space *mapping, pgoff_t index)
{
	return read_mapping_folio(mapping, index, NULL);
}

void rvfat_helper_folio_put(struct folio *folio)
{
	folio_put(folio);
}

loff_t rvfat_helper_folio_pos(struct folio *folio)
{
	return folio_pos(folio);
}

size_t rvfat_helper_folio_size(struct folio *folio)
{
	return folio_size(folio);
}

void rvfat_helper_memcpy_from_folio(char *to, struct folio *folio, size_t offset, size_t len)
{
	memcpy_from_folio(to, folio, offset, len);
}

void rvfat_helper_read_ahead(struct address_space *mapping, pgoff_t index, unsigned long pages)
{
	DEFINE_READAHEAD(ractl, NULL, NULL, mapping, index);

	page_cache_ra_unbounded(&ractl, pages, 0);
}

unsigned int rvfat_helper_memalloc_nofs_save(void)
{
	return memalloc_nofs_save();
}

void rvfat_helper_memalloc_nofs_restore(unsigned int flags)
{
	memalloc_nofs_restore(flags);
}
