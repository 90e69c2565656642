/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How connections begin.
 */
#ifndef _TCON_BEGIN_H
#define _TCON_BEGIN_H

#include "state/flow.h"

void tcon_begin_grown(struct tcon_flow *flow, u64 now_us);
void tcon_begin_guest_syn(struct tcon_flow *flow, struct tcon_packet *pkt, u64 now_us);
void tcon_begin_peer_syn(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us);
void tcon_begin_mid_stream(struct tcon_flow *flow, u64 now_us);
void tcon_begin_adopt(struct tcon_flow *flow, const struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us);
bool tcon_begin_check(struct tcon_flow *flow, const struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us);
void tcon_begin_check_unseen(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us);
void tcon_begin_unseen(struct tcon_flow *flow);

/* Something that enforcement waited for may have happened. */
static inline void tcon_begin_note(struct tcon_flow *flow, u64 now_us)
{
	if (unlikely(flow->reason == TCON_REASON_HANDSHAKE ||
		     !list_empty(&flow->embryo_node)))
		tcon_begin_grown(flow, now_us);
}

#endif /* _TCON_BEGIN_H */
