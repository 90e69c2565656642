/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACKs to the guest: the window in ACKs that pass, and ACKs that TCon makes.
 */
#ifndef _TCON_ACK_H
#define _TCON_ACK_H

#include "base/contract.h"
#include "base/seq.h"
#include "state/flow.h"

#define TCON_ACK_AS_IT_IS	(-1)
#define TCON_ACK_HIDDEN		(-2)

/**
 * struct tcon_shown - what a guest may see of an ACK
 * @field: the window field; %TCON_ACK_AS_IT_IS: the ACK passes unchanged; %TCON_ACK_HIDDEN: the
 *	guest must not get it
 * @ack: with a window field: the acknowledgment number
 */
struct tcon_shown {
	s32 field;
	u32 ack;
};

struct tcon_shown tcon_ack_enforce(struct tcon_flow *flow, const struct sk_buff *skb,
				   const struct tcon_packet *pkt, u64 now_us);
struct tcon_shown tcon_ack_late(struct tcon_flow *flow, const struct tcon_packet *pkt, bool heard,
				u64 now_us);
void tcon_ack_write(const struct tcon_flow *flow, struct sk_buff *skb,
		    const struct tcon_packet *pkt, struct tcon_shown shown);
void tcon_ack_remember(struct tcon_flow *flow, const struct sk_buff *skb,
		       const struct tcon_packet *pkt);
struct sk_buff *tcon_ack_needless(struct tcon_flow *flow,
				  const struct tcon_packet *pkt);
struct sk_buff *tcon_ack_owed(struct tcon_flow *flow, u64 now_us);
struct sk_buff *tcon_ack_try_update(struct tcon_flow *flow, u64 now_us);
void tcon_ack_send(struct tcon_flow *flow, struct sk_buff *skb);

/**
 * tcon_ack_update() - make a window update, if one is due
 * @flow: its lock is held
 * @now_us: the time
 *
 * The guest may have used all of its window before the next ACK comes.
 *
 * Context: bottom halves disabled.
 * Return: the packet, for tcon_ack_send() without the lock; NULL.
 */
static inline struct sk_buff *tcon_ack_update(struct tcon_flow *flow,
					      u64 now_us)
{
	u32 mss_bytes = flow->track.cc.mss_bytes;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (!tcon_flow_enforced(flow) || flow->buffer.unsent_bytes > mss_bytes ||
	    seq_before(flow->track.nxt_guest + max(mss_bytes, flow->clock.burst_bytes),
		       flow->window.edge))
		return NULL;
	return tcon_ack_try_update(flow, now_us);
}

#endif /* _TCON_ACK_H */
