/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACKs to the guest: the window in those that pass, and those that TCon makes.
 */
#ifndef _TCON_ACK_H
#define _TCON_ACK_H

#include <linux/types.h>

struct sk_buff;
struct tcon_flow;
struct tcon_packet;

bool tcon_ack_enforce(struct tcon_flow *flow, struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us);
void tcon_ack_late(struct tcon_flow *flow, struct sk_buff *skb,
		   const struct tcon_packet *pkt, u64 now_us);
void tcon_ack_remember(struct tcon_flow *flow, const struct sk_buff *skb,
		       const struct tcon_packet *pkt);
struct sk_buff *tcon_ack_needless(struct tcon_flow *flow,
				  const struct tcon_packet *pkt);
struct sk_buff *tcon_ack_update(struct tcon_flow *flow, u64 now_us);
void tcon_ack_send(struct tcon_flow *flow, struct sk_buff *skb);

#endif /* _TCON_ACK_H */
