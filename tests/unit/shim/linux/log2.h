/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_LINUX_LOG2_H
#define _SHIM_LINUX_LOG2_H

#include <linux/types.h>

/* The least power of two that is not below @n has this exponent. */
static inline unsigned int order_base_2(unsigned long n)
{
	unsigned int order = 0;

	while (1UL << order < n)
		order++;
	return order;
}

/* @n is not 0. */
static inline int ilog2(u64 n)
{
	return 63 - __builtin_clzll(n);
}

#endif /* _SHIM_LINUX_LOG2_H */
