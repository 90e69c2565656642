/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the test runs shim_work every HZ. */
#ifndef _SHIM_LINUX_WORKQUEUE_H
#define _SHIM_LINUX_WORKQUEUE_H

#include <linux/kernel.h>

#define HZ	250

struct work_struct {
	void (*func)(struct work_struct *work);
};

struct delayed_work {
	struct work_struct work;
};

extern struct work_struct *shim_work;
__attribute__((__weak__)) struct work_struct *shim_work;

#define INIT_DELAYED_WORK(w, fn)	((w)->work.func = (fn))

static inline void schedule_delayed_work(struct delayed_work *work,
					 unsigned long jiffies)
{
	BUG_ON(jiffies != HZ);
	shim_work = &work->work;
}

static inline void cancel_delayed_work_sync(struct delayed_work *work)
{
	shim_work = NULL;
}

#endif /* _SHIM_LINUX_WORKQUEUE_H */
