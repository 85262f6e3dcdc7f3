// SPDX-License-Identifier: GPL-2.0
/* Shims of <linux/workqueue.h>. */
#include "helpers.h"

void rvfat_helper_init_delayed_work(struct delayed_work *work, void (*fn)(struct work_struct *))
{
	INIT_DELAYED_WORK(work, fn);
}

void rvfat_helper_init_work(struct work_struct *work, void (*fn)(struct work_struct *))
{
	INIT_WORK(work, fn);
}

bool rvfat_helper_queue_work(struct workqueue_struct *queue, struct work_struct *work)
{
	return queue_work(queue, work);
}

struct workqueue_struct *rvfat_helper_alloc_reclaim_workqueue(const char *name)
{
	return alloc_workqueue("%s", WQ_MEM_RECLAIM | WQ_UNBOUND, 0, name);
}

bool rvfat_helper_queue_delayed_work_seconds(struct delayed_work *work, unsigned int seconds)
{
	return queue_delayed_work(system_long_wq, work, seconds * HZ);
}
