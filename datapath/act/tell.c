// SPDX-License-Identifier: GPL-2.0-only
/*
 * ACKs of guests' segments whose data does not go on.
 *
 * A segment of the guest may be absorbed, or wait for an ACK.  But it also acknowledges the
 * peer's data and offers the peer a window.  If the peer does not hear that, its timer goes
 * off, or it waits for a window that is open already.  A sender whose cwnd is full would send
 * an ACK without data (RFC 5681, 4.2).  TCon does the same: it takes the data out of the
 * segment that is absorbed, or out of a clone of the segment that waits.
 *
 * The ACK has the sequence number of the next new segment, and the TSval of the last one that
 * left, or of a later ACK of the guest with the same number.  So nothing that waits or is repaired
 * is older than what the peer remembers (RFC 7323, 5), nor is the ACK.
 */
#include <linux/skbuff.h>
#include <linux/time64.h>

#include "act/header.h"
#include "act/tell.h"
#include "base/contract.h"
#include "base/seq.h"
#include "wire/segment.h"

/* A receiver acknowledges every second segment, and each one after this time at the latest
 * (RFC 5681, 4.2, and Linux's shorter time).
 */
#define DELAYED_SEGS	2
#define DELAYED_US	(40 * USEC_PER_MSEC)

/**
 * tcon_tell_due() - has the guest said more than the peer has been told?
 * @flow: its lock is held
 *
 * Return: whether it acknowledges or offers more.
 */
bool tcon_tell_due(const struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	return flow->told.us &&
	       (seq_after(flow->said.ack, flow->told.ack) ||
		seq_after(tcon_header_edge(flow), flow->told.edge));
}

/**
 * tcon_tell_overdue() - must the peer hear that now, although the segment that says it waits?
 * @flow: its lock is held
 * @now_us: the time
 *
 * Return: whether a receiver would delay its ACK no longer.
 */
bool tcon_tell_overdue(const struct tcon_flow *flow, u64 now_us)
{
	u32 much = DELAYED_SEGS * flow->track.cc.mss_bytes;

	return tcon_tell_due(flow) &&
	       (!seq_before(flow->said.ack, flow->told.ack + much) ||
		seq_before(flow->told.edge, flow->told.ack + much) ||
		now_us - flow->told.us >= DELAYED_US);
}

/**
 * tcon_tell_when() - when does the peer have to hear it at the latest?
 * @flow: its lock is held; something waits
 *
 * Return: nanoseconds; 0: nothing is due.
 */
u64 tcon_tell_when(const struct tcon_flow *flow)
{
	if (!tcon_flow_enforced(flow) || !tcon_tell_due(flow))
		return 0;
	return (flow->told.us + DELAYED_US) * NSEC_PER_USEC;
}

/**
 * tcon_tell_make() - take the data out of a segment
 * @flow: its lock is held
 * @skb: a guest's segment, data at the link-layer header
 * @pkt: the same, parsed
 * @now_us: the time
 *
 * Context: bottom halves disabled; in the ingress hook.
 * Return: true: @skb may go on, and counts as told; false without memory.
 */
bool tcon_tell_make(struct tcon_flow *flow, struct sk_buff *skb,
		    const struct tcon_packet *pkt, u64 now_us)
{
	const struct tcon_track *t = &flow->track;
	u32 tsval = flow->buffer.left_tsval;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (tcon_track_has_floor(t, now_us))
		tsval = seq_max(tsval, t->tsval_floor);
	if (!tcon_segment_make_ack(skb, pkt, t->cc.nxt, tsval, flow->ecn.accurate)) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_NO_MEMORY);
		return false;
	}
	tcon_tell_noted(flow, now_us);
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_PURE_ACK);
	return true;
}

/**
 * tcon_tell_of_held() - make the ACK of waiting packets
 * @flow: its lock is held; something waits
 * @now_us: the time
 *
 * Context: bottom halves disabled.
 * Return: an ACK that is to leave; NULL: there can be none, and it is tried again later.
 */
struct sk_buff *tcon_tell_of_held(struct tcon_flow *flow, u64 now_us)
{
	struct sk_buff *held = skb_peek(&flow->buffer.unsent);
	const struct tcon_segment *seg = tcon_segment(held);
	struct tcon_packet pkt = { .family = flow->key.family };
	struct sk_buff *skb = NULL;

	flow->told.us = now_us;
	if (!seg->fixed)
		skb = skb_clone(held, GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	tcon_header_refresh(flow, skb, now_us);
	seg = tcon_segment(skb);
	pkt.l3_offset = seg->l3_offset;
	pkt.l4_offset = seg->l4_offset;
	pkt.payload_offset = seg->payload_offset;
	if (tcon_tell_make(flow, skb, &pkt, now_us))
		return skb;
	consume_skb(skb);
	return NULL;
}

/**
 * tcon_tell_noted() - note what the peer has been told
 * @flow: its lock is held
 * @now_us: the time
 *
 * The peer has been told the guest's last ACK and window.
 */
void tcon_tell_noted(struct tcon_flow *flow, u64 now_us)
{
	u32 ack = flow->said.ack, edge = tcon_header_edge(flow);

	lockdep_assert_held(&flow->lock);
	if (flow->told.us && !seq_after(ack, flow->told.ack)) {
		flow->told.edge = seq_max(flow->told.edge, edge);
		return;
	}
	flow->told.edge = flow->told.us ? seq_max(flow->told.edge, edge) : edge;
	flow->told.ack = ack;
	flow->told.us = now_us;
}

/**
 * tcon_tell_passed() - an ACK of the guest without data passes
 * @flow: its lock is held
 * @pkt: the ACK, parsed
 * @now_us: the time
 *
 * If it is behind all that has left, and nothing waits, the peer may remember its time stamp.
 */
void tcon_tell_passed(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	lockdep_assert_held(&flow->lock);
	if (!(pkt->flags & TCON_TCP_ACK))
		return;
	tcon_tell_noted(flow, now_us);
	if (pkt->has_ts && pkt->seq == flow->track.cc.nxt)
		flow->buffer.left_tsval = seq_max(flow->buffer.left_tsval, pkt->tsval);
}
