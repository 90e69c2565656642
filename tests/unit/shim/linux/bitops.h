/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: positions of bits. */
#ifndef _SHIM_LINUX_BITOPS_H
#define _SHIM_LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/types.h>

static inline unsigned int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

#endif /* _SHIM_LINUX_BITOPS_H */
