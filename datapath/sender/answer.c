// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the guest takes to answer the segments that it is given.
 *
 * A guest beside TCon answers an ACK at once.  A guest behind a router, in another host, or
 * with a virtual CPU that waits for its turn takes longer.  The data it sends now uses the
 * window that it was given that long ago.  So its window must be larger by the data that leaves
 * in this time, or the path runs dry.  And a window that it has not used yet does not mean that
 * it has nothing to send.
 *
 * The time is measured as a passive observer measures RTTs: from when the guest is given a
 * TSval to when it first echoes that (RFC 7323, 4.1).  The guest may have had nothing to send
 * in between, so the shortest of several counts.  The handshake gives the first.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "sender/answer.h"

#define ANSWERS		16	/* the shortest of these counts */
/* A guest that takes longer does not wait for a window. */
#define LONGEST_US	(500 * USEC_PER_MSEC)

/**
 * tcon_answer_given() - the guest is given a segment of the peer's
 * @a: the account
 * @tsval: its TSval
 * @now_us: the time
 */
void tcon_answer_given(struct tcon_answer *a, u32 tsval, u64 now_us)
{
	if (a->given && !seq_after(tsval, a->newest))
		return;
	a->newest = tsval;
	a->given = true;
	if (a->asked_us)
		return;
	a->asked = tsval;
	a->asked_us = (u32)now_us ? : 1;
}

/**
 * tcon_answer_heard() - the guest has answered, see tcon_answer_is_one()
 * @a: the account
 * @now_us: the time
 */
void tcon_answer_heard(struct tcon_answer *a, u64 now_us)
{
	u32 us = (u32)now_us - a->asked_us;

	a->asked_us = 0;
	if (us > LONGEST_US)
		return;
	us = max(us, 1U);
	a->least_us = a->n ? min(a->least_us, us) : us;
	a->us = a->us ? min(a->us, a->least_us) : us;
	if (++a->n < ANSWERS)
		return;
	a->us = a->least_us;
	a->n = 0;
}

/**
 * tcon_answer_bytes() - window that a guest far away needs beyond what others get
 * @a: the account
 * @cc: the CC's rate
 *
 * Return: payload that leaves in the time of an answer; 0 for a guest that is near.
 */
u32 tcon_answer_bytes(const struct tcon_answer *a, const struct tcon_cc *cc)
{
	u64 bytes;

	if (likely(!tcon_answer_is_far(a)))
		return 0;
	if (cc->pacing_rate_bps)
		bytes = mul_u64_u64_div_u64(cc->pacing_rate_bps, a->us, 8ULL * USEC_PER_SEC);
	else
		bytes = div_u64((u64)cc->cwnd_bytes * a->us, max(cc->srtt_us, 1U));
	return min_t(u64, bytes, TCON_CWND_MAX_BYTES);
}
