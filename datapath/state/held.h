/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Packets of a guest that TCon holds: their queue and their memory.
 */
#ifndef _TCON_HELD_H
#define _TCON_HELD_H

#include <linux/skbuff.h>

#include "state/port.h"

/**
 * struct tcon_held - the held packets of a half-flow; its lock protects them
 * @queue: packets, in order of sequence; each has a struct tcon_segment
 * @bytes: their payload
 * @charged_bytes: their memory
 */
struct tcon_held {
	struct sk_buff_head queue;
	u32 bytes;
	u32 charged_bytes;
};

u32 tcon_held_flow_max(void);
bool tcon_held_over_own(const struct tcon_held *held,
			const struct tcon_port *port, long times);
bool tcon_held_over(const struct tcon_held *held, const struct tcon_port *port);
void tcon_held_add(struct tcon_held *held, struct tcon_port *port,
		   struct sk_buff *skb);
bool tcon_held_merge(struct tcon_held *held, struct tcon_port *port,
		     struct sk_buff *skb, u32 most_bytes);
struct sk_buff *tcon_held_take(struct tcon_held *held, struct tcon_port *port);
void tcon_held_purge(struct tcon_held *held, struct tcon_port *port);

static inline bool tcon_held_empty(const struct tcon_held *held)
{
	return skb_queue_empty(&held->queue);
}

#endif /* _TCON_HELD_H */
