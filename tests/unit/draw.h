/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CC's random draws: a fixed value, or a sequence (xorshift32).
 */
#ifndef _TESTS_DRAW_H
#define _TESTS_DRAW_H

#include <linux/random.h>

static u32 random_fixed;
static u32 random_seed;

u32 get_random_u32(void)
{
	if (!random_seed)
		return random_fixed;
	random_seed ^= random_seed << 13;
	random_seed ^= random_seed >> 17;
	random_seed ^= random_seed << 5;
	return random_seed;
}

#endif /* _TESTS_DRAW_H */
