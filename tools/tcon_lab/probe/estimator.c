// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <string.h>

#include "estimator.h"

/* An ACK so far beyond what was sent is not of this connection. */
#define BEYOND_MAX	(1U << 30)

static bool before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static bool after(uint32_t a, uint32_t b)
{
	return before(b, a);
}

static struct tx_range *range_at(struct estimator *e, uint32_t i)
{
	return &e->ranges[(e->head + i) & (e->capacity - 1)];
}

/* Index of the first range that ends after seq. */
static uint32_t range_find(struct estimator *e, uint32_t seq)
{
	uint32_t low = 0, high = e->n_ranges;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (after(range_at(e, middle)->end, seq))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static bool ring_grow(struct estimator *e)
{
	uint32_t capacity = e->capacity ? 2 * e->capacity : 64;
	struct tx_range *ranges;
	uint32_t i;

	if (capacity > ESTIMATOR_MAX_RANGES)
		return false;
	ranges = malloc(capacity * sizeof(*ranges));
	if (!ranges)
		return false;
	for (i = 0; i < e->n_ranges; i++)
		ranges[i] = *range_at(e, i);
	free(e->ranges);
	e->ranges = ranges;
	e->capacity = capacity;
	e->head = 0;
	return true;
}

static void range_push(struct estimator *e, uint32_t start, uint32_t end,
		       uint64_t now_ns)
{
	if (e->n_ranges == e->capacity && !ring_grow(e)) {
		e->counts.untimed_packets++;
		return;
	}
	*range_at(e, e->n_ranges++) = (struct tx_range) {
		.sent_ns = now_ns, .start = start, .end = end,
	};
}

static void sample(struct estimator *e, struct tx_range *r, uint64_t now_ns)
{
	uint64_t rtt_us = (now_ns - r->sent_ns + 500) / 1000;

	if (r->resent || r->sampled || now_ns < r->sent_ns)
		return;
	r->sampled = true;
	if (rtt_us > UINT32_MAX)
		rtt_us = UINT32_MAX;
	histogram_add(&e->life_us, (uint32_t)rtt_us);
	histogram_add(&e->interval_us, (uint32_t)rtt_us);
}

/**
 * estimator_start() - the connection begins
 * @e: the estimator
 * @seq: of the first byte of data: one past the SYN
 *
 * Called for every SYN: a repeated one changes nothing, since nothing can have
 * been sent between them.
 */
void estimator_start(struct estimator *e, uint32_t seq)
{
	e->started = true;
	e->una = seq;
	e->nxt = seq;
}

static void resent(struct estimator *e, uint32_t start, uint32_t end)
{
	uint32_t i;

	e->counts.resent_bytes += end - start;
	for (i = range_find(e, start); i < e->n_ranges; i++) {
		struct tx_range *r = range_at(e, i);

		if (!before(r->start, end))
			break;
		r->resent = true;
	}
}

/**
 * estimator_sent() - a packet of the sender passed
 * @e: the estimator; a first packet without a SYN before it starts it
 * @seq: of the first byte
 * @len: bytes of payload
 * @fin: the packet carries a FIN
 * @now_ns: any clock, but always the same
 */
void estimator_sent(struct estimator *e, uint32_t seq, uint32_t len, bool fin,
		    uint64_t now_ns)
{
	uint32_t end = seq + len;

	if (!e->started)
		estimator_start(e, seq);
	if (fin) {
		e->fin_sent = true;
		e->fin = end;
	}
	/* Without data, or a keep-alive (RFC 9293, 3.8.4). */
	if (!len || (len == 1 && seq == e->una - 1))
		return;
	e->counts.sent_bytes += len;
	if (before(seq, e->nxt))
		resent(e, seq, before(end, e->nxt) ? end : e->nxt);
	if (after(end, e->nxt)) {
		range_push(e, after(seq, e->nxt) ? seq : e->nxt, end, now_ns);
		e->nxt = end;
	}
}

/* Take samples of ranges inside block that overlap from .. to - 1. */
static void sack_part(struct estimator *e, const struct sack_block *block,
		      uint32_t from, uint32_t to, uint64_t now_ns)
{
	uint32_t i;

	for (i = range_find(e, from); i < e->n_ranges; i++) {
		struct tx_range *r = range_at(e, i);

		if (!before(r->start, to) || after(r->end, block->end))
			break;
		if (!before(r->start, block->start))
			sample(e, r, now_ns);
	}
}

/* A receiver repeats its blocks in every ACK: look only at what is new. */
static void sack_block(struct estimator *e, const struct sack_block *block,
		       uint64_t now_ns)
{
	unsigned int i;

	for (i = 0; i < e->n_sacked; i++) {
		struct sack_block *known = &e->sacked[i];

		if (after(known->start, block->end) ||
		    before(known->end, block->start))
			continue;
		if (before(block->start, known->start)) {
			sack_part(e, block, block->start, known->start, now_ns);
			known->start = block->start;
		}
		if (after(block->end, known->end)) {
			sack_part(e, block, known->end, block->end, now_ns);
			known->end = block->end;
		}
		return;
	}
	sack_part(e, block, block->start, block->end, now_ns);
	if (e->n_sacked == ESTIMATOR_SACK_CACHE)
		memmove(e->sacked, e->sacked + 1,
			--e->n_sacked * sizeof(e->sacked[0]));
	e->sacked[e->n_sacked++] = *block;
}

static void sack_forget(struct estimator *e)
{
	unsigned int i, kept = 0;

	for (i = 0; i < e->n_sacked; i++)
		if (after(e->sacked[i].end, e->una))
			e->sacked[kept++] = e->sacked[i];
	e->n_sacked = kept;
}

static void cumulative(struct estimator *e, uint32_t ack, uint64_t now_ns)
{
	bool ambiguous = false;
	uint32_t i, n;

	for (n = 0; n < e->n_ranges; n++) {
		struct tx_range *r = range_at(e, n);

		if (after(r->end, ack))
			break;
		ambiguous |= r->resent;
	}
	for (i = 0; i < n && !ambiguous; i++)
		sample(e, range_at(e, i), now_ns);
	e->head = (e->head + n) & (e->capacity - 1);
	e->n_ranges -= n;
	e->counts.acked_bytes += ack - e->una;
	e->una = ack;
	sack_forget(e);
}

/**
 * estimator_acked() - an ACK of the peer passed
 * @e: the estimator
 * @ack: the acknowledgment number
 * @blocks: SACK blocks, with a D-SACK if there is one
 * @n_blocks: their number
 * @now_ns: as in estimator_sent()
 */
void estimator_acked(struct estimator *e, uint32_t ack,
		     const struct sack_block *blocks, unsigned int n_blocks,
		     uint64_t now_ns)
{
	unsigned int i;

	if (!e->started)
		return;
	if (e->fin_sent && ack == e->fin + 1)
		ack = e->fin;
	if (after(ack, e->nxt)) {
		/* Sent, but never seen here: the capture lost packets. */
		if (ack - e->nxt > BEYOND_MAX)
			return;
		e->nxt = ack;
	}
	if (after(ack, e->una))
		cumulative(e, ack, now_ns);
	for (i = 0; i < n_blocks; i++) {
		const struct sack_block *b = &blocks[i];

		if (before(b->start, b->end) && !before(b->start, e->una) &&
		    !after(b->end, e->nxt))
			sack_block(e, b, now_ns);
	}
}

/**
 * estimator_free() - forget everything
 * @e: the estimator, afterwards as new
 */
void estimator_free(struct estimator *e)
{
	free(e->ranges);
	memset(e, 0, sizeof(*e));
}
