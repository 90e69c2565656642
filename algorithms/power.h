/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Powers with an exponent that is no whole number, for CCs that value a rate by one.
 *
 * x^e = 2^(e log2 x).  The logarithm comes bit by bit: to square a number of [1, 2) doubles its
 * logarithm, whose next bit is 1 if the square is 2 or more.  2^f, f of [0, 1), is the series of
 * e^(f ln 2).  Both have 31 bits behind the point; the result is right to a ten millionth.
 */
#ifndef _TCON_POWER_H
#define _TCON_POWER_H

#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/types.h>

#define TCON_POWER_SHIFT	31
#define TCON_POWER_LN2		1488522236ULL	/* ln 2, times 2^31 */
#define TCON_POWER_LOG2_MILLION	42802717582LL	/* log2 10^6, times 2^31 */
#define TCON_POWER_BITS		28		/* more would be noise */

/* log2 of @x, which is not 0, times 2^31. */
static inline s64 tcon_power_log2(u64 x)
{
	int whole = ilog2(x), i;
	u64 m = whole > TCON_POWER_SHIFT ? x >> (whole - TCON_POWER_SHIFT) :
					   x << (TCON_POWER_SHIFT - whole);
	s64 log2 = (s64)whole << TCON_POWER_SHIFT;

	for (i = 1; i <= TCON_POWER_BITS; i++) {
		m = m * m >> TCON_POWER_SHIFT;
		if (m >> (TCON_POWER_SHIFT + 1)) {
			m >>= 1;
			log2 += BIT_ULL(TCON_POWER_SHIFT - i);
		}
	}
	return log2;
}

/* 2^(@log2 / 2^31), rounded down; at most 2^62. */
static inline u64 tcon_power_exp2(s64 log2)
{
	s64 whole = log2 >> TCON_POWER_SHIFT;
	u64 f = log2 & (BIT_ULL(TCON_POWER_SHIFT) - 1);
	u64 z = f * TCON_POWER_LN2 >> TCON_POWER_SHIFT;
	u64 term = BIT_ULL(TCON_POWER_SHIFT), sum = term;
	int k;

	for (k = 1; term; k++) {
		term = div_u64(term * z >> TCON_POWER_SHIFT, k);
		sum += term;
	}
	if (whole >= 2 * TCON_POWER_SHIFT)
		return BIT_ULL(2 * TCON_POWER_SHIFT);
	if (whole >= TCON_POWER_SHIFT)
		return sum << (whole - TCON_POWER_SHIFT);
	return whole > -2 ? sum >> (TCON_POWER_SHIFT - whole) : 0;
}

/**
 * tcon_power_micro() - a power of a number of millionths
 * @micro: x, in millionths
 * @exponent_milli: e, in thousandths, 0 to 1000
 *
 * Return: x^e in millionths.
 */
static inline u64 tcon_power_micro(u64 micro, u32 exponent_milli)
{
	s64 log2;

	if (!micro)
		return 0;
	log2 = tcon_power_log2(micro) - TCON_POWER_LOG2_MILLION;
	log2 = div_s64(log2 * exponent_milli, 1000);
	return tcon_power_exp2(log2 + TCON_POWER_LOG2_MILLION);
}

#endif /* _TCON_POWER_H */
