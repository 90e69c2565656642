/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernel versions, and nothing else.
 */
#ifndef _TCON_COMPAT_H
#define _TCON_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/skbuff.h>
#include <linux/version.h>

#if KERNEL_VERSION(6, 5, 0) <= LINUX_VERSION_CODE
#include <net/gso.h>
#endif

/* hrtimer_init() and the function pointer became one call in 6.13. */
static inline void
tcon_hrtimer_setup(struct hrtimer *timer,
		   enum hrtimer_restart (*fn)(struct hrtimer *),
		   enum hrtimer_mode mode)
{
#if KERNEL_VERSION(6, 13, 0) <= LINUX_VERSION_CODE
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, mode);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, mode);
	timer->function = fn;
#endif
}

#endif /* _TCON_COMPAT_H */
