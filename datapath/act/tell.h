/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ACKs of guests' segments whose data does not go on.
 */
#ifndef _TCON_TELL_H
#define _TCON_TELL_H

#include <linux/types.h>

#include "state/flow.h"
#include "wire/packet.h"

struct sk_buff;

bool tcon_tell_due(const struct tcon_flow *flow);
bool tcon_tell_overdue(const struct tcon_flow *flow, u64 now_us);
u64 tcon_tell_when(const struct tcon_flow *flow);
bool tcon_tell_make(struct tcon_flow *flow, struct sk_buff *skb,
		    const struct tcon_packet *pkt, u64 now_us);
struct sk_buff *tcon_tell_of_held(struct tcon_flow *flow, u64 now_us);
void tcon_tell_noted(struct tcon_flow *flow, u64 now_us);
void tcon_tell_passed(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us);

#endif /* _TCON_TELL_H */
