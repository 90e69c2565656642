/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers for tests: the same sequence everywhere. */
#ifndef _TESTS_PRNG_H
#define _TESTS_PRNG_H

#include <linux/types.h>

/* xorshift64 (Marsaglia 2003).  @state must not be zero. */
static inline u64 prng_u64(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 0 .. @n - 1 */
static inline u32 prng_below(u64 *state, u32 n)
{
	return (prng_u64(state) >> 32) * n >> 32;
}

#endif /* _TESTS_PRNG_H */
