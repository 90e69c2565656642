// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a pacing rate means in time and bytes.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>

#include "sender/pace.h"

/* A paced guest may have enough waiting until its next answer.  If segments take long, this
 * counts half segments.  With 8 the guest is the limit for 2 % of the time (10 Mbit/s, 8 ms).
 * More would lengthen the path's queue.
 */
#define ALLOWANCE_NS		(4 * NSEC_PER_MSEC)
#define ALLOWANCE_HALVES	9

static u64 bytes_in(const struct tcon_cc *cc, u64 ns)
{
	return mul_u64_u64_div_u64(cc->pacing_rate_bps, ns, 8ULL * NSEC_PER_SEC);
}

/**
 * tcon_pace_allowance_bytes() - how much a paced guest may have waiting
 * @t: its tracker, paced
 * @burst_bytes: size of its recent super-packets
 *
 * A guest sends in super-packets and waits until one fits into its window, so
 * two of those must fit, or the pacer would run dry between ACKs.
 *
 * Return: payload bytes.
 */
u32 tcon_pace_allowance_bytes(const struct tcon_track *t, u32 burst_bytes)
{
	const struct tcon_cc *cc = &t->cc;
	u64 bytes = bytes_in(cc, ALLOWANCE_NS);

	bytes = max_t(u64, bytes,
		      2 * max(burst_bytes, tcon_pace_burst_bytes(cc)));
	bytes = max_t(u64, bytes, ALLOWANCE_HALVES * cc->mss_bytes / 2);
	bytes += tcon_pace_unpaced_bytes(t);
	return min_t(u64, bytes, U32_MAX);
}
