/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of many half-flows, summed up so that their mean and its error can be computed.
 */
#ifndef _TCON_SUMS_H
#define _TCON_SUMS_H

#include <linux/bitops.h>
#include <linux/types.h>

#define TCON_LOG_BITS	10	/* behind the point */

/**
 * tcon_log2() - binary logarithm
 * @x: a number, not 0
 *
 * The bits behind the point are found one by one: to square a number doubles its logarithm.
 *
 * Return: the logarithm times 2^%TCON_LOG_BITS, rounded down.
 */
static inline u32 tcon_log2(u64 x)
{
	u32 log = fls64(x) - 1, bit;
	u64 part = x << (63 - log) >> 32;	/* 1 to 2, times 2^31 */

	for (bit = 0; bit < TCON_LOG_BITS; bit++) {
		part = part * part >> 31;
		log = log << 1 | part >> 32;
		part >>= part >> 32;
	}
	return log;
}

/* Adds @x to a sum and to the sum of squares behind it. */
static inline void tcon_sum_add(u64 *sums, u64 x)
{
	sums[0] += x;
	sums[1] += x * x;
}

#endif /* _TCON_SUMS_H */
