/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ECN in packets: writes what datapath/sender/ecn.c decides.
 */
#ifndef _TCON_MARK_H
#define _TCON_MARK_H

#include "sender/ecn.h"
#include "state/flow.h"

/* Does a segment need any work for ECN?  In most flows it does not. */
static inline bool tcon_mark_concerns(const struct tcon_flow *flow,
				      const struct tcon_packet *pkt)
{
	return flow->ecn.agreed || pkt->option_bytes || flow->syn ||
	       pkt->flags & TCON_TCP_SYN || flow->ecn.watched ||
	       (tcon_ecn_is_marked(pkt) && !flow->ecn.answered);
}

/*
 * ECE reports a mark only if ECN of RFC 3168 was agreed on.  Otherwise it means nothing, or
 * is a bit of AccECN's counter, which is set half of the time.  So it is ignored.
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
u8 tcon_mark_of_held(const struct tcon_flow *flow, u8 ecn);

#endif /* _TCON_MARK_H */
