/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the test lets shim_timer go off when it is due. */
#ifndef _SHIM_LINUX_HRTIMER_H
#define _SHIM_LINUX_HRTIMER_H

#include <time.h>
#include <linux/ktime.h>

enum hrtimer_restart {
	HRTIMER_NORESTART,
};

enum hrtimer_mode {
	HRTIMER_MODE_ABS_PINNED_SOFT,
};

struct hrtimer {
	enum hrtimer_restart (*function)(struct hrtimer *timer);
	ktime_t expires;
	bool armed;
};

extern struct hrtimer *shim_timer;
__attribute__((__weak__)) struct hrtimer *shim_timer;

static inline void hrtimer_init(struct hrtimer *timer, int clock,
				enum hrtimer_mode mode)
{
	timer->armed = false;
	shim_timer = timer;
}

static inline void hrtimer_start(struct hrtimer *timer, ktime_t expires,
				 enum hrtimer_mode mode)
{
	timer->expires = expires;
	timer->armed = true;
}

static inline bool hrtimer_is_queued(const struct hrtimer *timer)
{
	return timer->armed;
}

static inline ktime_t hrtimer_get_expires(const struct hrtimer *timer)
{
	return timer->expires;
}

static inline void hrtimer_cancel(struct hrtimer *timer)
{
	timer->armed = false;
}

#endif /* _SHIM_LINUX_HRTIMER_H */
