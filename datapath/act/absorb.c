// SPDX-License-Identifier: GPL-2.0-only
/*
 * Absorbs repeats of data that TCon has, and drops waiting packets that the guest has given up.
 */
#include <linux/skbuff.h>
#include <tcon/compat.h>

#include "act/absorb.h"
#include "act/header.h"
#include "act/repair.h"
#include "act/tell.h"
#include "base/seq.h"
#include "sender/ca.h"
#include "state/flow.h"
#include "wire/segment.h"

/*
 * Does a segment of the guest wait here already?  A segment in a gap does not: others overtook
 * it on its way from the guest.
 */
static bool is_held(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;

	return pkt->seq != pkt->end_seq && !seq_before(pkt->seq, t->cc.nxt) &&
	       !seq_after(pkt->end_seq, t->nxt_guest) &&
	       !(seq_before(pkt->seq, flow->gap.end) &&
		 seq_after(pkt->end_seq, flow->gap.start));
}

/*
 * Has the guest's own timer gone off, so that it sends everything again (RFC 6298, 5.4)?  It
 * repeats what is missing first, long after anything was acknowledged.
 */
static bool starts_anew(const struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	const struct tcon_track *t = &flow->track;

	return pkt->payload_bytes && pkt->seq == t->cc.una &&
	       now_us - t->progress_us >= tcon_track_rto_us(t);
}

static void drop_held(struct tcon_flow *flow)
{
	while (tcon_buffer_waits(&flow->buffer)) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_HOLD_ANEW);
		consume_skb(tcon_buffer_take(&flow->buffer, flow->port, &flow->track.sendq));
	}
}

/**
 * tcon_absorb_adopted() - drop waiting packets if the guest seems to go on elsewhere
 * @flow: its lock is held
 *
 * Segments of another connection, or of none, would look like repeats and leave at once.
 */
void tcon_absorb_adopted(struct tcon_flow *flow)
{
	const struct sk_buff *skb;

	lockdep_assert_held(&flow->lock);
	skb_queue_walk(&flow->buffer.unsent, skb) {
		if (tcon_segment(skb)->seq - flow->track.cc.una <= TCON_CWND_MAX_BYTES)
			continue;
		drop_held(flow);
		return;
	}
}

/**
 * tcon_absorb_forget() - the guest repeats something
 * @flow: its lock is held
 * @pkt: the segment
 * @now_us: the time
 *
 * If the guest's own timer has gone off, the CC of a paced flow has timed out, too.  The packets
 * that still wait would leave a few in each RTO, and the repeat would wait behind them.
 */
void tcon_absorb_forget(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	if (flow->state != TCON_STATE_PACED || !starts_anew(flow, pkt, now_us))
		return;
	drop_held(flow);
	flow->track.nxt_guest = flow->track.cc.nxt;	/* as if not sent: see is_held() */
}

/**
 * tcon_absorb_due() - does TCon have a segment already?
 * @flow: its lock is held
 * @skb: the segment
 * @pkt: the same, parsed
 * @repeats: it repeats something, and TCon repairs
 * @waiting: others wait
 * @now_us: the time
 *
 * Return: whether its data is not needed; then it has to be given to tcon_absorb_data().
 */
bool tcon_absorb_due(struct tcon_flow *flow, struct sk_buff *skb, const struct tcon_packet *pkt,
		     bool repeats, bool waiting, u64 now_us)
{
	if (repeats && tcon_repair_absorbs(flow, skb, pkt, now_us))
		return true;
	/* Repairs may wait for ACKs that only this repeat brings.  The TSvals of what
	 * it overtakes are raised when that leaves or is repaired.
	 */
	if (repeats)
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_REPEAT_PASSED);
	if (!waiting || !is_held(flow, pkt))
		return false;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_REPEAT_ABSORBED);
	return true;
}

/*
 * The guest takes another way.  Repairs that left the old way without an answer leave once more,
 * as if a sender's timer went off only now.
 */
static void turn(struct tcon_flow *flow, u64 now_us)
{
	if (!tcon_flow_repaired(flow) || !flow->track.timer.tries)
		return;
	tcon_ca_turned(&flow->track, now_us);
	tcon_flow_kick(flow);
}

/**
 * tcon_absorb_data() - the data of a segment is not needed
 * @flow: its lock is held
 * @skb: the segment
 * @pkt: the same, parsed
 * @now_us: the time
 *
 * Return: whether it goes on as an ACK; else it is gone.
 */
bool tcon_absorb_data(struct tcon_flow *flow, struct sk_buff *skb, const struct tcon_packet *pkt,
		      u64 now_us)
{
	const struct tcon_way before = flow->said.way;

	trace_tcon_absorb(flow, skb, pkt->seq, pkt->end_seq, 0);
	tcon_header_heard(flow, skb, pkt);
	if (unlikely(tcon_way_differs(&before, &flow->said.way)))
		turn(flow, now_us);
	if (tcon_flow_enforced(flow) && !pkt->fragment && tcon_tell_due(flow) &&
	    tcon_tell_make(flow, skb, pkt, now_us))
		return true;
	consume_skb(skb);
	return false;
}
