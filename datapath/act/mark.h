/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ECN in packets: what datapath/sender/ecn.c decides is written into them.
 */
#ifndef _TCON_MARK_H
#define _TCON_MARK_H

#include "state/flow.h"

/* Is there anything to do with a segment?  Of most flows there is not. */
static inline bool tcon_mark_concerns(const struct tcon_flow *flow,
				      const struct tcon_packet *pkt)
{
	return flow->ecn.agreed || pkt->option_bytes || flow->syn ||
	       pkt->flags & TCON_TCP_SYN;
}

/*
 * ECE tells of a mark where ECN was agreed on as of RFC 3168.  Elsewhere it is a bit of
 * AccECN's counter, set half of the time, or nothing.
 */
static inline void tcon_mark_forget_ece(const struct tcon_flow *flow,
					struct tcon_packet *pkt)
{
	if (unlikely(pkt->flags & TCON_TCP_ECE) && !flow->ecn.agreed)
		pkt->flags &= ~TCON_TCP_ECE;
}

enum tcon_cc_ecn tcon_mark_running(const struct tcon_flow *flow);
enum tcon_ecn_mode tcon_mark_mode(const struct tcon_flow *flow);
void tcon_mark_from_guest(struct tcon_flow *flow, struct sk_buff *skb,
			  struct tcon_packet *pkt);
void tcon_mark_to_guest(struct tcon_flow *flow, struct sk_buff *skb,
			struct tcon_packet *pkt, bool heard);
bool tcon_mark_retries(struct tcon_flow *flow, const struct tcon_packet *pkt);
void tcon_mark_timeout(struct tcon_flow *flow);
void tcon_mark_arrived(struct tcon_flow *flow, bool original);
void tcon_mark_released(struct tcon_flow *flow, struct sk_buff *skb);

#endif /* _TCON_MARK_H */
