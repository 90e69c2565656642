/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Repeating what was lost.
 */
#ifndef _TCON_REPAIR_H
#define _TCON_REPAIR_H

#include <linux/types.h>

struct sk_buff;
struct tcon_flow;
struct tcon_packet;

struct sk_buff *tcon_repair_next(struct tcon_flow *flow, u64 now_us);
struct sk_buff *tcon_repair_probe(struct tcon_flow *flow, u64 now_us);
bool tcon_repair_expire(struct tcon_flow *flow, u64 now_us);
bool tcon_repair_absorbs(struct tcon_flow *flow, const struct sk_buff *skb,
			 const struct tcon_packet *pkt);
void tcon_repair_passed(struct tcon_flow *flow, const struct tcon_packet *pkt);

#endif /* _TCON_REPAIR_H */
