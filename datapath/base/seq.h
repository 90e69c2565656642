/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arithmetic on TCP sequence numbers, modulo 2^32 (RFC 9293, 3.4).  It is right as long
 * as the two numbers are less than 2^31 apart.
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

/* Is @seq at or after @lo and at or before @hi? */
static inline bool seq_between(u32 seq, u32 lo, u32 hi)
{
	return seq - lo <= hi - lo;
}

#endif /* _TCON_SEQ_H */
