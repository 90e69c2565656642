/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A receiver: reassembles, and acknowledges as Linux does: every second segment,
 * at once while there is a hole; the SACK blocks that changed last first (RFC
 * 2018); DSACK (RFC 2883).
 */
#ifndef _TESTS_RECEIVER_H
#define _TESTS_RECEIVER_H

#include <string.h>

#include "datapath/wire/packet.h"
#include "datapath/base/seq.h"

#define RECEIVER_BLOCKS		512	/* what it has no room for is dropped */
#define RECEIVER_SACKS		3	/* beside time stamps */

/**
 * struct receiver_block - a range beyond a hole
 * @start: first sequence number
 * @end: the one after the last
 * @stamp: when it last changed
 */
struct receiver_block {
	u32 start;
	u32 end;
	u32 stamp;
};

/**
 * struct receiver - the peer
 * @nxt: next sequence number expected
 * @seq: its own, in all its ACKs
 * @block: @n of them, sorted, apart
 * @n: their number; 0 makes it forget what it has SACKed
 * @stamp: counts changes
 * @unacked: segments in order since the last ACK
 * @twice: segments that brought nothing new
 * @sack: it speaks SACK
 * @no_dsack: but not DSACK
 */
struct receiver {
	u32 nxt;
	u32 seq;
	struct receiver_block block[RECEIVER_BLOCKS];
	u32 n;
	u32 stamp;
	u32 unacked;
	u32 twice;
	bool sack;
	bool no_dsack;
};

/* Blocks as far as there is room, the one that changed last first. */
static inline void receiver_add_blocks(const struct receiver *rx,
				       struct tcon_packet *ack)
{
	u32 below = U32_MAX, i, best;

	while (ack->n_sacks < RECEIVER_SACKS) {
		best = rx->n;
		for (i = 0; i < rx->n; i++)
			if (rx->block[i].stamp < below &&
			    (best == rx->n ||
			     rx->block[i].stamp > rx->block[best].stamp))
				best = i;
		if (best == rx->n)
			return;
		below = rx->block[best].stamp;
		ack->sacks[ack->n_sacks++] = (struct tcon_sack) {
			rx->block[best].start, rx->block[best].end
		};
	}
}

/* The ACK that it would send now; @lo .. @hi came twice, if they differ. */
static inline struct tcon_packet receiver_ack(struct receiver *rx, u32 lo,
					      u32 hi)
{
	struct tcon_packet ack = {
		.flags = TCON_TCP_ACK,
		.seq = rx->seq,
		.end_seq = rx->seq,
		.ack = rx->nxt,
		.window = 500,
	};

	rx->unacked = 0;
	if (!rx->sack)
		return ack;
	if (lo != hi && !rx->no_dsack)
		ack.sacks[ack.n_sacks++] = (struct tcon_sack) { lo, hi };
	receiver_add_blocks(rx, &ack);
	return ack;
}

/* @start .. @end lies beyond a hole. */
static inline void receiver_keep(struct receiver *rx, u32 start, u32 end)
{
	u32 i = 0, j;

	while (i < rx->n && seq_before(rx->block[i].end, start))
		i++;
	for (j = i; j < rx->n && !seq_after(rx->block[j].start, end); j++) {
		start = seq_min(start, rx->block[j].start);
		end = seq_max(end, rx->block[j].end);
	}
	if (i == j && rx->n == RECEIVER_BLOCKS)
		return;
	memmove(&rx->block[i + 1], &rx->block[j],
		(rx->n - j) * sizeof(rx->block[0]));
	rx->n = rx->n - j + i + 1;
	rx->block[i] = (struct receiver_block) { start, end, ++rx->stamp };
}

/* Does it have all of @start .. @end? */
static inline bool receiver_has(struct receiver *rx, u32 start, u32 end)
{
	u32 i;

	if (!seq_after(end, rx->nxt))
		return true;
	for (i = 0; i < rx->n; i++) {
		if (seq_before(start, rx->block[i].start) ||
		    seq_after(end, rx->block[i].end))
			continue;
		rx->block[i].stamp = ++rx->stamp;
		return true;
	}
	return false;
}

/* A segment arrives.  Returns whether @ack is due at once. */
static inline bool receiver_data(struct receiver *rx, u32 start, u32 end,
				 struct tcon_packet *ack)
{
	u32 i, had_hole = rx->n;

	if (receiver_has(rx, start, end)) {
		rx->twice++;
		*ack = receiver_ack(rx, start, end);
		return true;
	}
	if (seq_after(start, rx->nxt)) {
		receiver_keep(rx, start, end);
		*ack = receiver_ack(rx, 0, 0);
		return true;
	}
	rx->nxt = end;
	for (i = 0; i < rx->n && !seq_after(rx->block[i].start, rx->nxt); i++)
		rx->nxt = seq_max(rx->nxt, rx->block[i].end);
	memmove(rx->block, rx->block + i, (rx->n - i) * sizeof(rx->block[0]));
	rx->n -= i;
	if (++rx->unacked < 2 && !had_hole)
		return false;
	*ack = receiver_ack(rx, 0, 0);
	return true;
}

#endif /* _TESTS_RECEIVER_H */
