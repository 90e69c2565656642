/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: waiting: time passes, and shim_wait runs what happens in that time. */
#ifndef _SHIM_LINUX_DELAY_H
#define _SHIM_LINUX_DELAY_H

#include <linux/ktime.h>

/* Lets what is due until then run; NULL: nothing is. */
extern void (*shim_wait)(u64 until_ns);
__attribute__((__weak__)) void (*shim_wait)(u64 until_ns);

static inline void usleep_range(unsigned long min_us, unsigned long max_us)
{
	u64 until_ns = shim_now_ns + max_us * NSEC_PER_USEC;

	if (shim_wait)
		shim_wait(until_ns);
	shim_now_ns = until_ns;
}

#endif /* _SHIM_LINUX_DELAY_H */
