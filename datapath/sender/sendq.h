/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of data that left TCon and is not acknowledged: one per packet, in sequence order and
 * without gaps.
 */
#ifndef _TCON_SENDQ_H
#define _TCON_SENDQ_H

#include <linux/types.h>

#include "base/budget.h"

#define TCON_SENDQ_PER_PAGE	64
#define TCON_SENDQ_PAGES	512	/* 32768 records a flow, 2 MiB at most */

struct sk_buff;

/**
 * struct tcon_send - a transmission, like the kernel's TCP_SKB_CB()->tx
 * @start: first sequence number
 * @end: the sequence number after the last
 * @order: its number among the flow's transmissions
 * @tx_us: when it left TCon
 * @delivered: bytes delivered when it left
 * @copy: a clone for repair, or NULL; it may begin before @start
 * @in_flight_bytes: in flight when it left, this transmission included
 * @flight_age_us: how long before it the first packet of its flight had left
 * @delivered_age_us: how long before it @delivered had been reached
 * @lost: low word of the bytes judged lost when it left
 * @delivered_ce: low word of the CE-marked bytes delivered when it left
 * @waited_us: for how long TCon had held it
 * @app_limited: it left while the guest had nothing more to send
 * @unseen: TCon has not seen this data: it takes another way, or comes late
 */
struct tcon_send {
	u32 start;
	u32 end;
	u64 tx_us;
	u64 delivered;
	struct sk_buff *copy;
	u32 order;
	u32 in_flight_bytes;
	u32 flight_age_us;
	u32 delivered_age_us;
	u32 lost;
	u32 delivered_ce;
	u32 waited_us;
	bool app_limited;
	bool unseen;
};

/**
 * struct tcon_sendq - the queue, a ring of pages
 * @page: @pages slots for pages of %TCON_SENDQ_PER_PAGE records; NULL if not in use
 * @pages: a power of two up to %TCON_SENDQ_PAGES, or 0 before first use
 * @head: index of the oldest record; it counts up and wraps
 * @tail: index after the newest
 * @budget: what its pages are charged to, or NULL
 */
struct tcon_sendq {
	struct tcon_send **page;
	u32 pages;
	u32 head;
	u32 tail;
	struct tcon_budget *budget;
};

/* Record @i, which lies between head and tail. */
static inline struct tcon_send *tcon_sendq_at(const struct tcon_sendq *q, u32 i)
{
	return &q->page[i / TCON_SENDQ_PER_PAGE & (q->pages - 1)]
		       [i % TCON_SENDQ_PER_PAGE];
}

/**
 * typedef tcon_put_copy_fn - gives a copy back to the code that made it
 * @q: the queue that it was in
 * @copy: the copy
 *
 * Context: as the caller who drops the copy; the flow's lock is held.
 */
typedef void (*tcon_put_copy_fn)(struct tcon_sendq *q, struct sk_buff *copy);

void tcon_sendq_set_put(tcon_put_copy_fn fn);
struct tcon_send *tcon_sendq_append(struct tcon_sendq *q, u32 start, u32 end);
u32 tcon_sendq_find(const struct tcon_sendq *q, u32 seq);
bool tcon_sendq_is_gap(const struct tcon_sendq *q, u32 start, u32 end);
struct tcon_send *tcon_sendq_fill(struct tcon_sendq *q, u32 start, u32 end);
u64 tcon_sendq_ack(struct tcon_sendq *q, u32 seq);
void tcon_sendq_cut(struct tcon_sendq *q, u32 seq);
void tcon_sendq_drop_copies(struct tcon_sendq *q);
void tcon_sendq_clear(struct tcon_sendq *q);

#endif /* _TCON_SENDQ_H */
