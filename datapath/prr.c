// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may leave in a recovery: Proportional Rate Reduction (RFC 6937).
 *
 * A CC says how large cwnd is to be after a loss.  With cwnd as the limit a sender
 * would fall silent until so little is in flight; and where much was lost, and little
 * is in flight, fill cwnd at once, with repairs, while the queue that dropped them is
 * still full.  Here what leaves follows what arrives: in proportion, as long as more
 * than cwnd is in flight; after that as much as has arrived and not left yet, and one
 * segment more with each ACK that advances una and shows no new loss.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>
#include <linux/math64.h>

#include "prr.h"

/**
 * tcon_prr_begin() - a recovery begins
 * @p: the reduction; what it was before is forgotten
 * @cc: inflight and MSS
 * @prior_bytes: cwnd before
 * @sent_bytes: what has left so far, with repeats
 *
 * Until the next tcon_prr_update() a segment may leave, the first repair.
 */
void tcon_prr_begin(struct tcon_prr *p, const struct tcon_cc *cc,
		    u32 prior_bytes, u64 sent_bytes)
{
	p->active = true;
	p->prior_bytes = max(prior_bytes, 1U);	/* a CC may err */
	p->delivered_bytes = 0;
	p->sent_before = sent_bytes;
	p->sent_then = sent_bytes;
	p->may_bytes = 0;
	p->limit_bytes = cc->inflight_bytes + cc->mss_bytes;
}

/* Of what might be sent, what was not: a sender that has all data at hand leaves
 * nothing, but a guest gathers a super-packet before it sends.
 */
static u32 unused(const struct tcon_prr *p, u64 sent_bytes)
{
	u64 sent = sent_bytes - p->sent_then;

	return p->may_bytes - min_t(u64, p->may_bytes, sent);
}

/* With at most cwnd in flight.  As in Linux, which counts packets, what was a part of a
 * segment makes room for a whole one.
 */
static s64 conserved(const struct tcon_prr *p, const struct tcon_cc *cc,
		     u64 sent_bytes, u32 delivered_bytes, bool safe)
{
	s64 sent = sent_bytes - p->sent_before;
	s64 may = (s64)roundup(delivered_bytes, cc->mss_bytes) +
		  unused(p, sent_bytes);

	may = max_t(s64, may, (s64)p->delivered_bytes - sent);
	if (safe)
		may += cc->mss_bytes;
	return min_t(s64, may, cc->cwnd_bytes - cc->inflight_bytes);
}

/* With more: cwnd for each prior cwnd that is delivered, in whole segments. */
static s64 proportional(const struct tcon_prr *p, const struct tcon_cc *cc,
			u64 sent_bytes)
{
	u64 share = (u64)p->delivered_bytes * cc->cwnd_bytes;
	u64 each = (u64)p->prior_bytes * cc->mss_bytes;
	s64 sent = sent_bytes - p->sent_before;

	return (s64)(div64_u64(share + each - 1, each) * cc->mss_bytes) - sent;
}

/**
 * tcon_prr_update() - how much may be in flight from now on?
 * @p: an active reduction
 * @cc: inflight, and cwnd as it shall be after the recovery
 * @sent_bytes: what has left so far, with repeats
 * @delivered_bytes: newly delivered
 * @safe: una advanced, and nothing more was judged lost (RFC 9937, "safeACK")
 *
 * The first repair leaves at once.  With nothing in flight a segment may always leave.
 */
void tcon_prr_update(struct tcon_prr *p, const struct tcon_cc *cc,
		     u64 sent_bytes, u32 delivered_bytes, bool safe)
{
	u32 least = sent_bytes == p->sent_before ? cc->mss_bytes : 0;
	s64 may;

	p->delivered_bytes += delivered_bytes;
	if (cc->inflight_bytes > cc->cwnd_bytes)
		may = proportional(p, cc, sent_bytes);
	else
		may = conserved(p, cc, sent_bytes, delivered_bytes, safe);
	p->may_bytes = clamp_t(s64, may, least, TCON_CWND_MAX_BYTES);
	p->sent_then = sent_bytes;
	p->limit_bytes = clamp_t(u64, (u64)cc->inflight_bytes + p->may_bytes,
				 cc->mss_bytes, TCON_CWND_MAX_BYTES);
}
