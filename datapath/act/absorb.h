/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Absorbs repeats of data that TCon has.
 */
#ifndef _TCON_ABSORB_H
#define _TCON_ABSORB_H

#include <linux/types.h>

struct sk_buff;
struct tcon_flow;
struct tcon_packet;

void tcon_absorb_adopted(struct tcon_flow *flow);
void tcon_absorb_forget(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us);
bool tcon_absorb_due(struct tcon_flow *flow, struct sk_buff *skb, const struct tcon_packet *pkt,
		     bool repeats, bool waiting, u64 now_us);
bool tcon_absorb_data(struct tcon_flow *flow, struct sk_buff *skb, const struct tcon_packet *pkt,
		      u64 now_us);

#endif /* _TCON_ABSORB_H */
