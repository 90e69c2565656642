/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _SHIM_LINUX_LOG2_H
#define _SHIM_LINUX_LOG2_H

/* The least power of two that is not below @n has this exponent. */
static inline unsigned int order_base_2(unsigned long n)
{
	unsigned int order = 0;

	while (1UL << order < n)
		order++;
	return order;
}

#endif /* _SHIM_LINUX_LOG2_H */
