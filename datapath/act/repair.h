/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Repairs: sending again what was lost.
 */
#ifndef _TCON_REPAIR_H
#define _TCON_REPAIR_H

#include "base/contract.h"
#include "base/seq.h"
#include "sender/sent.h"
#include "sender/timer.h"
#include "state/flow.h"
#include "wire/packet.h"

struct sk_buff;

struct sk_buff *tcon_repair_next(struct tcon_flow *flow, u64 now_us);
struct sk_buff *tcon_repair_probe(struct tcon_flow *flow, u64 now_us);
enum tcon_expiry tcon_repair_expire(struct tcon_flow *flow, u64 now_us);
void tcon_repair_raise_tsval(struct tcon_flow *flow, struct sk_buff *skb, u64 now_us);
bool tcon_repair_absorbs(struct tcon_flow *flow, const struct sk_buff *skb,
			 const struct tcon_packet *pkt, u64 now_us);

/**
 * tcon_repair_heard() - take note of a guest's segment, whether it passes or not
 * @flow: its lock is held
 * @pkt: the segment, parsed
 *
 * Stores what repairs copy from the guest's latest header.
 */
static inline void tcon_repair_heard(struct tcon_flow *flow,
				     const struct tcon_packet *pkt)
{
	lockdep_assert_held(&flow->lock);
	if (pkt->flags & TCON_TCP_ACK) {
		flow->said.ack = pkt->ack;
		flow->said.window = pkt->window;
		flow->said.ace = tcon_ecn_ace(pkt);
		flow->said.edge = seq_max(flow->said.edge, pkt->ack +
					   ((u32)pkt->window <<
					    tcon_track_guest_wscale(&flow->track)));
	}
	if (pkt->has_ts)
		flow->said.tsecr = pkt->tsecr;
}

/**
 * tcon_repair_passed() - take note of a guest's segment that passes
 * @flow: its lock is held
 * @pkt: the segment, parsed
 *
 * Does what tcon_repair_heard() does.  A segment that starts below what the guest has sent
 * also sets the smallest TSval for repairs and for what waits.  Otherwise it could arrive
 * first, and the receiver would drop these with an older TSval (PAWS, RFC 7323).  Data that waits
 * in TCon counts as sent: a guest whose window shrank sends ACKs with a sequence number at the
 * window's edge, below its nxt.
 */
static inline void tcon_repair_passed(struct tcon_flow *flow,
				      const struct tcon_packet *pkt)
{
	tcon_repair_heard(flow, pkt);
	if (pkt->has_ts && seq_before(pkt->seq, flow->track.nxt_guest))
		tcon_sent_overtaking(&flow->track, pkt->tsval, flow->seen_us);
}

#endif /* _TCON_REPAIR_H */
