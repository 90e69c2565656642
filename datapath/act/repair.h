/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Repairs: repeats of lost data.
 */
#ifndef _TCON_REPAIR_H
#define _TCON_REPAIR_H

#include "sender/timer.h"
#include "state/flow.h"
#include "wire/packet.h"

struct sk_buff;

struct sk_buff *tcon_repair_next(struct tcon_flow *flow, u64 now_us);
struct sk_buff *tcon_repair_probe(struct tcon_flow *flow, u64 now_us);
enum tcon_expiry tcon_repair_expire(struct tcon_flow *flow, u64 now_us);
bool tcon_repair_absorbs(struct tcon_flow *flow, const struct sk_buff *skb,
			 const struct tcon_packet *pkt, u64 now_us);

#endif /* _TCON_REPAIR_H */
