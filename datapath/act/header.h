/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Headers of packets that leave later than they came.
 */
#ifndef _TCON_HEADER_H
#define _TCON_HEADER_H

#include "base/contract.h"
#include "base/seq.h"
#include "sender/sent.h"
#include "state/flow.h"
#include "wire/packet.h"
#include "wire/way.h"

struct sk_buff;

void tcon_header_refresh(struct tcon_flow *flow, struct sk_buff *skb, u64 now_us);
bool tcon_header_repeat(const struct tcon_flow *flow, struct sk_buff *skb, u64 now_us);

/* Right edge of the window that the guest offers. */
static inline u32 tcon_header_edge(const struct tcon_flow *flow)
{
	return flow->said.ack +
	       ((u32)flow->said.window << tcon_track_guest_wscale(&flow->track));
}

/**
 * tcon_header_heard() - take note of a guest's segment, whether it passes or not
 * @flow: its lock is held
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 *
 * Stores the fields that headers of later packets need.
 */
static inline void tcon_header_heard(struct tcon_flow *flow, const struct sk_buff *skb,
				     const struct tcon_packet *pkt)
{
	lockdep_assert_held(&flow->lock);
	flow->said.serial++;
	tcon_way_note(&flow->said.way, skb, pkt);
	if (pkt->flags & TCON_TCP_ACK) {
		flow->said.ack = pkt->ack;
		flow->said.window = pkt->window;
		flow->said.ace = tcon_ecn_ace(pkt);
		flow->said.edge = seq_max(flow->said.edge, tcon_header_edge(flow));
	}
	if (pkt->has_ts)
		flow->said.tsecr = pkt->tsecr;
}

/**
 * tcon_header_passed() - take note of a guest's segment that passes
 * @flow: its lock is held
 * @skb: the segment, data at the link-layer header
 * @pkt: the same, parsed
 *
 * Does what tcon_header_heard() does.  A segment that starts below what the guest has sent
 * also sets the smallest TSval of packets that leave later.  Otherwise it could arrive
 * first, and the receiver would drop these with an older TSval (PAWS, RFC 7323).  Data that waits
 * in TCon counts as sent: a guest whose window shrank sends ACKs with a sequence number at the
 * window's edge, below its nxt.
 */
static inline void tcon_header_passed(struct tcon_flow *flow, const struct sk_buff *skb,
				      const struct tcon_packet *pkt)
{
	tcon_header_heard(flow, skb, pkt);
	if (pkt->has_ts && seq_before(pkt->seq, flow->track.nxt_guest))
		tcon_sent_overtaking(&flow->track, pkt->tsval, flow->seen_us);
}

#endif /* _TCON_HEADER_H */
