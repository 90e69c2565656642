/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: a hash. */
#ifndef _SHIM_LINUX_JHASH_H
#define _SHIM_LINUX_JHASH_H

#include <linux/types.h>

static inline u32 jhash2(const u32 *k, u32 n, u32 seed)
{
	while (n--) {
		seed = (seed ^ *k++) * 0x9e3779b1U;
		seed ^= seed >> 15;
	}
	return seed;
}

static inline u32 jhash(const void *key, u32 bytes, u32 seed)
{
	const u8 *k = key;

	while (bytes--)
		seed = (seed ^ *k++) * 0x01000193U;
	return seed;
}

static inline u32 jhash_1word(u32 a, u32 seed)
{
	return jhash2(&a, 1, seed);
}

static inline u32 jhash_3words(u32 a, u32 b, u32 c, u32 seed)
{
	return jhash_1word(a, jhash_1word(b, jhash_1word(c, seed)));
}

#endif /* _SHIM_LINUX_JHASH_H */
