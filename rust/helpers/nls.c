// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/nls.h>. */
#include "helpers.h"

unsigned char rvfat_helper_nls_tolower(struct nls_table *t, unsigned char c)
{
	return nls_tolower(t, c);
}

unsigned char rvfat_helper_nls_toupper(struct nls_table *t, unsigned char c)
{
	return nls_toupper(t, c);
}
