// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/workqueue.h>. */
#include "helpers.h"

void rvfat_helper_init_delayed_work(struct delayed_work *work, void (*fn)(struct work_struct *))
{
	INIT_DELAYED_WORK(work, fn);
}

bool rvfat_helper_queue_delayed_work_seconds(struct delayed_work *work, unsigned int seconds)
{
	return queue_delayed_work(system_long_wq, work, seconds * HZ);
}
