/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space shim: 64-bit division.  A quotient that does not fit traps on
 * x86: here it aborts.
 */
#ifndef _SHIM_LINUX_MATH64_H
#define _SHIM_LINUX_MATH64_H

#include <linux/bug.h>
#include <linux/types.h>

#define DIV64_U64_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))

static inline u64 div_u64_rem(u64 n, u32 d, u32 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div64_u64_rem(u64 n, u64 d, u64 *rem)
{
	*rem = n % d;
	return n / d;
}

static inline u64 div_u64(u64 n, u32 d)
{
	return n / d;
}

static inline s64 div_s64(s64 n, s32 d)
{
	return n / d;
}

static inline u64 div64_u64(u64 n, u64 d)
{
	return n / d;
}

static inline s64 div64_s64(s64 n, s64 d)
{
	return n / d;
}

static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 d)
{
	unsigned __int128 q = (unsigned __int128)a * b / d;

	BUG_ON(q >> 64);
	return q;
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 d)
{
	return mul_u64_u64_div_u64(a, mul, d);
}

static inline u64 mul_u64_u32_shr(u64 a, u32 mul, unsigned int shift)
{
	return (unsigned __int128)a * mul >> shift;
}

#endif /* _SHIM_LINUX_MATH64_H */
