/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Holding a guest's packets: when each of them may leave.
 */
#ifndef _TCON_HOLD_H
#define _TCON_HOLD_H

#include <linux/types.h>

struct sk_buff;
struct tcon_due;
struct tcon_flow;
struct tcon_packet;

bool tcon_hold_admit(struct tcon_flow *flow, struct sk_buff *skb,
		     const struct tcon_packet *pkt, u64 now_ns);
void tcon_hold_appoint(struct tcon_flow *flow, u64 when);
u64 tcon_hold_release(struct tcon_due *due, u64 now_ns);

#endif /* _TCON_HOLD_H */
