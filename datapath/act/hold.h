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

/**
 * enum tcon_fate - what becomes of a guest's packet
 * @TCON_FATE_PASS: it goes on as it is
 * @TCON_FATE_DROP: rules or bounds do not let it go on
 * @TCON_FATE_ABSORB: TCon has its data already
 * @TCON_FATE_WAIT: its data waits
 * @TCON_FATE_GATHER: its data waits for what the guest sends in the same go
 * @TCON_FATE_LEAVE: its data leaves
 */
enum tcon_fate {
	TCON_FATE_PASS,
	TCON_FATE_DROP,
	TCON_FATE_ABSORB,
	TCON_FATE_WAIT,
	TCON_FATE_GATHER,
	TCON_FATE_LEAVE,
};

enum tcon_fate tcon_hold_judge(struct tcon_flow *flow, struct sk_buff *skb,
			       const struct tcon_packet *pkt, u64 now_ns, u64 *when);
bool tcon_hold_carry_out(struct tcon_flow *flow, struct sk_buff *skb,
			 const struct tcon_packet *pkt, enum tcon_fate fate, u64 when, u64 now_ns);
void tcon_hold_appoint(struct tcon_flow *flow, u64 when);
u64 tcon_hold_release(struct tcon_due *due, u64 now_ns);

#endif /* _TCON_HOLD_H */
