/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: single bits and masks. */
#ifndef _SHIM_LINUX_BITS_H
#define _SHIM_LINUX_BITS_H

#define BITS_PER_LONG	(8 * __SIZEOF_LONG__)
#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define GENMASK(h, l)	((~0UL << (l)) & (~0UL >> (63 - (h))))

#endif /* _SHIM_LINUX_BITS_H */
