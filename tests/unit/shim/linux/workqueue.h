/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: work waits in shim_works until the test runs it. */
#ifndef _SHIM_LINUX_WORKQUEUE_H
#define _SHIM_LINUX_WORKQUEUE_H

#include <linux/kernel.h>
#include <linux/ktime.h>

#define HZ	250

struct work_struct {
	void (*func)(struct work_struct *work);
	bool pending;
	u64 due_ns;
	struct work_struct *next;
};

struct delayed_work {
	struct work_struct work;
};

struct workqueue_struct;

/* The pending works, and the last one that was made so. */
extern struct work_struct *shim_works, *shim_work;
__attribute__((__weak__)) struct work_struct *shim_works, *shim_work;

#define INIT_WORK(w, fn)		((w)->func = (fn))
#define INIT_DELAYED_WORK(w, fn)	INIT_WORK(&(w)->work, fn)
#define DECLARE_DELAYED_WORK(name, fn)	struct delayed_work name = { .work.func = fn }
#define to_delayed_work(w)		container_of(w, struct delayed_work, work)
#define system_unbound_wq		((struct workqueue_struct *)NULL)

static inline void shim_work_add(struct work_struct *work, u64 after_ns)
{
	shim_work = work;
	if (work->pending)
		return;
	work->pending = true;
	work->due_ns = shim_now_ns + after_ns;
	work->next = shim_works;
	shim_works = work;
}

static inline void shim_work_del(struct work_struct *work)
{
	struct work_struct **at = &shim_works;

	while (*at && *at != work)
		at = &(*at)->next;
	if (*at)
		*at = work->next;
	work->pending = false;
}

static inline void queue_work(struct workqueue_struct *queue, struct work_struct *work)
{
	shim_work_add(work, 0);
}

static inline void schedule_delayed_work(struct delayed_work *work,
					 unsigned long jiffies)
{
	shim_work_add(&work->work, (u64)jiffies * (NSEC_PER_SEC / HZ));
}

static inline void cancel_work_sync(struct work_struct *work)
{
	shim_work_del(work);
}

static inline void cancel_delayed_work_sync(struct delayed_work *work)
{
	shim_work_del(&work->work);
}

#endif /* _SHIM_LINUX_WORKQUEUE_H */
