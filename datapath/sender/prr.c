// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may leave in a recovery and right after it, and after an ECN mark: Proportional Rate
 * Reduction (RFC 9937).  And after a time-out: slow start from one segment (RFC 5681, 3.1).
 *
 * A CC says how large cwnd is to be after a loss or a mark.  If cwnd were the limit, a
 * sender would be silent until less than cwnd is in flight.  After many losses it would send
 * a burst of repairs while the queue is still full.  So here sending follows delivery.  While
 * more than cwnd is in flight, it does so in proportion.  After that as much may leave as has
 * arrived and not left yet (CRB, the RFC's conservative reduction bound).  A SafeACK adds one
 * segment (SSRB, its slow start reduction bound): an ACK that advances una and shows no new
 * loss.  The RFC's ssthresh is cwnd here, since the CC has lowered it before.
 *
 * A guest often cannot send what it may.  It does not see SACK blocks, so delivered data still
 * fills its own cwnd, and it has to wait until una advances.  Then much has arrived and not left,
 * and the RFC would let it leave in one burst, which a short queue drops.  The same is true of
 * the room in cwnd when the recovery ends (RFC 6582, 3.2, asks to avoid that).  So no more
 * leaves at once than an initial window and twice what an ACK delivers, in the recovery and
 * until cwnd is full after it.
 *
 * After a time-out one segment leaves, and then twice what an ACK delivers, up to cwnd.  A CC's
 * cwnd is two segments or more, because the ACK of a single one is delayed.  Where most is lost,
 * a time-out is all that slows a sender down, and two segments for each would be twice what the
 * RFC asks for.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>
#include <linux/math64.h>

#include "sender/prr.h"

/* Is it for marks, without a loss? */
static bool is_for_marks(const struct tcon_prr *p, const struct tcon_cc *cc)
{
	return cc->ca_state == TCON_CA_OPEN && !p->after;
}

/**
 * tcon_prr_begin() - a reduction begins
 * @p: the reduction
 * @cc: inflight, cwnd and MSS
 * @flight_bytes: in flight, or lost, before the ACK that showed it (RecoverFS); for marks,
 *	as in Linux, cwnd before
 * @sent_bytes: what has left so far, with repeats
 *
 * A recovery that begins during the reduction for a mark continues it, unless the caller has
 * ended that.  Until the next tcon_prr_update() one segment may leave: the first repair.  After
 * a mark cwnd is the limit until then, or what it was after a recovery: an ACK that delivers
 * nothing takes nothing away.
 */
void tcon_prr_begin(struct tcon_prr *p, const struct tcon_cc *cc,
		    u32 flight_bytes, u64 sent_bytes)
{
	bool after = p->active && p->after;

	if (!p->active || after) {
		p->active = true;
		p->after = false;
		p->flight_bytes = max(flight_bytes, 1U);	/* a CC may err */
		p->delivered_bytes = 0;
		p->sent_before = sent_bytes;
	}
	p->first_after = sent_bytes;
	p->sent_then = sent_bytes;
	p->may_bytes = 0;
	if (!is_for_marks(p, cc))
		p->limit_bytes = cc->inflight_bytes + cc->mss_bytes;
	else
		p->limit_bytes = after ? min(p->limit_bytes, cc->cwnd_bytes) : cc->cwnd_bytes;
}

/* No more than this leaves at once: in slow start it would be as much. */
static u64 burst_bytes(const struct tcon_cc *cc, u32 delivered_bytes)
{
	return 2 * (u64)delivered_bytes + TCON_INIT_CWND_SEGS * cc->mss_bytes;
}

/* Bytes that might have been sent and were not.  A sender that has all data at hand leaves none
 * unused, but a guest gathers a super-packet before it sends.  After a mark no repair waits, so
 * nothing is carried over, as Linux never does.
 */
static u32 unused(const struct tcon_prr *p, const struct tcon_cc *cc,
		  u64 sent_bytes)
{
	u64 sent = sent_bytes - p->sent_then;

	if (is_for_marks(p, cc))
		return 0;
	return p->may_bytes - min_t(u64, p->may_bytes, sent);
}

/* With at most cwnd in flight: CRB, or SSRB.  A part of a segment that is delivered makes room
 * for a whole one, as in Linux, which counts packets.
 */
static s64 conserved(const struct tcon_prr *p, const struct tcon_cc *cc,
		     u64 sent_bytes, u32 delivered_bytes, bool safe)
{
	s64 sent = sent_bytes - p->sent_before;
	s64 may = (s64)roundup(delivered_bytes, cc->mss_bytes) +
		  unused(p, cc, sent_bytes);

	may = max_t(s64, may, (s64)p->delivered_bytes - sent);
	if (p->after)
		may = max_t(s64, may, 2 * (s64)delivered_bytes);
	else if (safe)
		may += cc->mss_bytes;
	return min_t(s64, may, cc->cwnd_bytes - cc->inflight_bytes);
}

/* With more than cwnd in flight: cwnd for each RecoverFS that is delivered, in whole segments.
 * After a mark for which a CC takes nothing away, the rounding must not add up.
 */
static s64 proportional(const struct tcon_prr *p, const struct tcon_cc *cc,
			u64 sent_bytes)
{
	u64 share = (u64)p->delivered_bytes * cc->cwnd_bytes;
	u64 each = (u64)p->flight_bytes * cc->mss_bytes;
	u64 bytes = div64_u64(share + each - 1, each) * cc->mss_bytes;
	s64 sent = sent_bytes - p->sent_before;

	if (is_for_marks(p, cc))
		bytes = min_t(u64, bytes, p->delivered_bytes);
	return (s64)bytes - sent;
}

/* Cwnd is filled as in slow start, beginning with @may_bytes. */
static void begin_filling(struct tcon_prr *p, const struct tcon_cc *cc, u64 sent_bytes,
			  u32 may_bytes)
{
	p->active = true;
	p->after = true;
	p->sent_then = sent_bytes;
	p->may_bytes = may_bytes;
	p->limit_bytes = min_t(u64, (u64)cc->inflight_bytes + may_bytes, cc->cwnd_bytes);
}

/**
 * tcon_prr_end() - the recovery is over
 * @p: the reduction
 * @cc: inflight, cwnd and MSS
 * @sent_bytes: what has left so far, with repeats
 *
 * The room in cwnd is filled as in slow start, by a burst and then twice what arrives.  The
 * caller ends that when it no longer limits the flow.
 */
void tcon_prr_end(struct tcon_prr *p, const struct tcon_cc *cc, u64 sent_bytes)
{
	begin_filling(p, cc, sent_bytes, burst_bytes(cc, 0));
}

/**
 * tcon_prr_timeout() - a time-out: all that was in flight counts as lost
 * @p: the reduction
 * @cc: inflight, cwnd and MSS
 * @sent_bytes: what has left so far, with repeats
 *
 * The loss window of RFC 5681, 3.1, is one segment, which may have left already, if the guest sent
 * it again.  Until an ACK delivers it no other leaves.
 */
void tcon_prr_timeout(struct tcon_prr *p, const struct tcon_cc *cc, u64 sent_bytes)
{
	p->delivered_bytes = 0;
	p->sent_before = sent_bytes;
	begin_filling(p, cc, sent_bytes,
		      cc->mss_bytes - min(cc->inflight_bytes, cc->mss_bytes));
}

/**
 * tcon_prr_update() - how much may be in flight from now on?
 * @p: an active reduction
 * @cc: inflight, and cwnd as it shall be after it
 * @sent_bytes: what has left so far, with repeats
 * @delivered_bytes: newly delivered, also by the ACK that began it (DeliveredData)
 * @safe: una advanced, and nothing more was judged lost (SafeACK)
 *
 * The first repair leaves at once.  With nothing in flight a segment may always leave.
 */
void tcon_prr_update(struct tcon_prr *p, const struct tcon_cc *cc,
		     u64 sent_bytes, u32 delivered_bytes, bool safe)
{
	u32 least = sent_bytes == p->first_after ? cc->mss_bytes : 0;
	s64 may;

	p->delivered_bytes += delivered_bytes;
	if (cc->inflight_bytes > cc->cwnd_bytes)
		may = p->after ? 0 : proportional(p, cc, sent_bytes);
	else
		may = conserved(p, cc, sent_bytes, delivered_bytes, safe);
	may = min_t(s64, may, burst_bytes(cc, delivered_bytes));
	p->may_bytes = clamp_t(s64, may, least, TCON_CWND_MAX_BYTES);
	p->sent_then = sent_bytes;
	p->limit_bytes = clamp_t(u64, (u64)cc->inflight_bytes + p->may_bytes,
				 cc->mss_bytes, TCON_CWND_MAX_BYTES);
}
