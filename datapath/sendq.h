/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What left TCon and is not acknowledged: one record per packet, in sequence
 * order and without gaps.
 */
#ifndef _TCON_SENDQ_H
#define _TCON_SENDQ_H

#include <linux/types.h>

#define TCON_SENDQ_PER_PAGE	64
#define TCON_SENDQ_PAGES	64	/* 4096 records a flow, 256 KiB at most */

/**
 * struct tcon_send - a transmission, as the kernel's TCP_SKB_CB()->tx has it
 * @start: first sequence number
 * @tx_us: when it last left TCon
 * @first_tx_us: when the flight that it belongs to began to leave
 * @delivered: bytes delivered when it left
 * @delivered_us: when those had been delivered
 * @lost: bytes judged lost when it left
 * @delivered_ce: low word of the CE-marked bytes delivered when it left
 * @in_flight_bytes: in flight when it had left, itself included
 * @repeated: the guest sent it more than once: no RTT from it (Karn)
 * @app_limited: it left while the guest had nothing more to send
 *
 * A record ends where the next one starts.
 */
struct tcon_send {
	u32 start;
	u32 in_flight_bytes;
	u64 tx_us;
	u64 first_tx_us;
	u64 delivered;
	u64 delivered_us;
	u64 lost;
	u32 delivered_ce;
	bool repeated;
	bool app_limited;
};

/**
 * struct tcon_sendq - the queue, a ring of pages
 * @page: pages of %TCON_SENDQ_PER_PAGE records; NULL where not in use
 * @spare: an empty page kept for the next need, or NULL
 * @head: index of the oldest record, free-running
 * @tail: index after the newest
 * @end: sequence number after the newest record
 */
struct tcon_sendq {
	struct tcon_send *page[TCON_SENDQ_PAGES];
	struct tcon_send *spare;
	u32 head;
	u32 tail;
	u32 end;
};

/* Record @i, which lies between head and tail. */
static inline struct tcon_send *tcon_sendq_at(const struct tcon_sendq *q, u32 i)
{
	return &q->page[i / TCON_SENDQ_PER_PAGE % TCON_SENDQ_PAGES]
		       [i % TCON_SENDQ_PER_PAGE];
}

/* Sequence number after record @i. */
static inline u32 tcon_sendq_end(const struct tcon_sendq *q, u32 i)
{
	return i + 1 == q->tail ? q->end : tcon_sendq_at(q, i + 1)->start;
}

struct tcon_send *tcon_sendq_append(struct tcon_sendq *q, u32 start, u32 end);
u32 tcon_sendq_find(const struct tcon_sendq *q, u32 seq);
void tcon_sendq_ack(struct tcon_sendq *q, u32 seq);
void tcon_sendq_clear(struct tcon_sendq *q);

#endif /* _TCON_SENDQ_H */
