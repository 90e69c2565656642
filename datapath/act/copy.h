/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of what is in flight, for repairs.
 */
#ifndef _TCON_COPY_H
#define _TCON_COPY_H

#include <linux/types.h>
#include <uapi/linux/tcon.h>

struct sk_buff;
struct tcon_flow;
struct tcon_send;
struct tcon_sendq;

void tcon_copy_put(struct tcon_sendq *q, struct sk_buff *copy);
u64 tcon_copy_flow_max(void);
u32 tcon_copy_room(const struct tcon_flow *flow);
void tcon_copy_keep(struct tcon_flow *flow, struct tcon_send *sent,
		    struct sk_buff *skb);
void tcon_copy_missing(struct tcon_flow *flow, u32 end, enum tcon_reason why);
void tcon_copy_give_up(struct tcon_flow *flow, enum tcon_reason why);

#endif /* _TCON_COPY_H */
