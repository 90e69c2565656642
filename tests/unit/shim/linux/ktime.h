/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the test says what time it is. */
#ifndef _SHIM_LINUX_KTIME_H
#define _SHIM_LINUX_KTIME_H

#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/types.h>

typedef s64 ktime_t;

extern u64 shim_now_ns;
__attribute__((__weak__)) u64 shim_now_ns;

#define ktime_get_ns()		shim_now_ns
#define ktime_get()		((ktime_t)shim_now_ns)
#define ns_to_ktime(ns)		((ktime_t)(ns))
#define ktime_to_us(t)		((t) / NSEC_PER_USEC)

#endif /* _SHIM_LINUX_KTIME_H */
