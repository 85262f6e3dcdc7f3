// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/uaccess.h>, <linux/rcupdate.h>, <linux/time.h> and the like. */
#include "helpers.h"
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/time.h>
#include <linux/uaccess.h>

int rvfat_helper_local_minuteswest(void)
{
	return sys_tz.tz_minuteswest;
}

unsigned long rvfat_helper_copy_to_user(unsigned long to, const void *from, unsigned long n)
{
	return copy_to_user((void __user *)to, from, n);
}

unsigned long rvfat_helper_copy_from_user(void *to, unsigned long from, unsigned long n)
{
	return copy_from_user(to, (const void __user *)from, n);
}

void rvfat_helper_rcu_barrier(void)
{
	rcu_barrier();
}

void rvfat_helper_synchronize_rcu(void)
{
	synchronize_rcu();
}

void rvfat_helper_ratelimit_init(struct ratelimit_state *state)
{
	ratelimit_state_init(state, DEFAULT_RATELIMIT_INTERVAL, DEFAULT_RATELIMIT_BURST);
}

u32 rvfat_helper_get_random_u32(void)
{
	return get_random_u32();
}

void rvfat_helper_panic(const char *msg)
{
	panic("%s", msg);
}
