// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/slab.h>. */
#include "helpers.h"

struct kmem_cache *rvfat_helper_kmem_cache_create(const char *name, unsigned int size,
						  unsigned int align, slab_flags_t flags,
						  void (*ctor)(void *))
{
	return kmem_cache_create(name, size, align, flags, ctor);
}
