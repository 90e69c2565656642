/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic on TCP sequence numbers (RFC 9293, 3.4): modulo 2^32, right as
 * long as the two are less than 2^31 apart.
 */
#ifndef _TCON_SEQ_H
#define _TCON_SEQ_H

#include <linux/types.h>

/* Is @a before @b? */
static inline bool seq_before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* Is @a after @b? */
static inline bool seq_after(u32 a, u32 b)
{
	return seq_before(b, a);
}

/* The later of the two. */
static inline u32 seq_max(u32 a, u32 b)
{
	return seq_before(a, b) ? b : a;
}

/* The earlier of the two. */
static inline u32 seq_min(u32 a, u32 b)
{
	return seq_before(a, b) ? a : b;
}

/* Does @seq lie in the half-open range from @lo to @hi, or at @hi? */
static inline bool seq_between(u32 seq, u32 lo, u32 hi)
{
	return seq - lo <= hi - lo;
}

#endif /* _TCON_SEQ_H */
