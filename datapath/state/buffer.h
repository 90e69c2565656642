/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Data that a guest has sent and its peer has not acknowledged: the packets and their memory.
 */
#ifndef _TCON_BUFFER_H
#define _TCON_BUFFER_H

#include <linux/skbuff.h>

#include "state/port.h"

struct tcon_sendq;

/* Data that a guest was allowed to send may wait, and is kept, up to this multiple of a bound. */
#define TCON_BUFFER_HARD	2

/**
 * struct tcon_buffer - the send buffer of a half-flow; its lock protects it
 * @charged_bytes: @unsent_charged_bytes, and the memory of copies in flight (tcon_send.copy)
 * @left_tsval: TSval of the new data that left last, or of an ACK behind it; until there is one,
 *	where packets have passed unseen or elsewhere, of the first segment that was seen
 * @unsent: packets that wait, in the order in which they came; each has a struct tcon_segment
 * @unsent_bytes: their payload that has not left
 * @unsent_charged_bytes: their memory
 */
struct tcon_buffer {
	u32 charged_bytes;
	u32 left_tsval;
	struct sk_buff_head unsent;
	u32 unsent_bytes;
	u32 unsent_charged_bytes;
};

u32 tcon_buffer_flow_max(void);
u32 tcon_buffer_room(const struct tcon_buffer *b, const struct tcon_port *port);
bool tcon_buffer_full(const struct tcon_buffer *b, const struct tcon_port *port);
bool tcon_buffer_exceeds(const struct tcon_buffer *b, const struct tcon_port *port, long times);
void tcon_buffer_add(struct tcon_buffer *b, struct tcon_port *port, const struct tcon_sendq *q,
		     struct sk_buff *skb);
bool tcon_buffer_merge(struct tcon_buffer *b, struct tcon_port *port, struct sk_buff *skb,
		       u32 most_bytes);
struct sk_buff *tcon_buffer_take(struct tcon_buffer *b, struct tcon_port *port,
				 const struct tcon_sendq *q);
void tcon_buffer_give_up(struct tcon_buffer *b, struct tcon_port *port,
			 const struct tcon_sendq *q, struct sk_buff *skb);
void tcon_buffer_skip(struct tcon_buffer *b, u32 seq);
bool tcon_buffer_left(struct tcon_buffer *b, struct tcon_port *port, u32 end,
		      struct sk_buff **copy);
struct sk_buff *tcon_buffer_copy(struct tcon_buffer *b, struct tcon_port *port,
				 const struct tcon_sendq *q, struct sk_buff *skb);
void tcon_buffer_put(struct tcon_buffer *b, struct tcon_port *port, struct sk_buff *copy);
void tcon_buffer_purge(struct tcon_buffer *b, struct tcon_port *port, const struct tcon_sendq *q);

static inline bool tcon_buffer_waits(const struct tcon_buffer *b)
{
	return !skb_queue_empty(&b->unsent);
}

#endif /* _TCON_BUFFER_H */
