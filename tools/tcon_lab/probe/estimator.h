/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The passive path estimator: what one sender's data and its peer's ACKs, seen
 * at one place, tell about the path beyond that place.
 *
 * An RTT sample is the time from a packet with data to the first ACK that
 * covers all of it, cumulatively or by SACK.  A packet may be a GSO
 * super-packet: its sample is its last segment's.  Data that was sent
 * more than once gives no sample (Karn's rule), and neither does what an ACK
 * covers together with such data, unless a SACK had told of it before.
 */
#ifndef PROBE_ESTIMATOR_H
#define PROBE_ESTIMATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "histogram.h"

#define ESTIMATOR_MAX_RANGES	(1U << 17)	/* 3 MiB a flow at most */
#define ESTIMATOR_SACK_CACHE	8

/* A packet that is in flight: bytes start .. end - 1. */
struct tx_range {
	uint64_t sent_ns;
	uint32_t start;
	uint32_t end;
	bool resent;
	bool sampled;
};

struct sack_block {
	uint32_t start;
	uint32_t end;
};

struct estimator_counts {
	uint64_t sent_bytes;		/* payload, with repeats */
	uint64_t resent_bytes;		/* of those: repeats */
	uint64_t acked_bytes;		/* cumulatively */
	uint64_t untimed_packets;	/* there was no room to remember them */
};

/* All zero is an estimator that has seen nothing. */
struct estimator {
	struct tx_range *ranges;	/* a ring, in sequence order */
	uint32_t capacity;		/* 0 or a power of two */
	uint32_t head;
	uint32_t n_ranges;
	bool started;
	bool fin_sent;
	uint32_t una;
	uint32_t nxt;
	uint32_t fin;			/* sequence number of the FIN */
	struct sack_block sacked[ESTIMATOR_SACK_CACHE];
	unsigned int n_sacked;
	struct estimator_counts counts;
	struct histogram life_us;
	struct histogram interval_us;
};

void estimator_start(struct estimator *e, uint32_t seq);
void estimator_sent(struct estimator *e, uint32_t seq, uint32_t len, bool fin,
		    uint64_t now_ns);
void estimator_acked(struct estimator *e, uint32_t ack,
		     const struct sack_block *blocks, unsigned int n_blocks,
		     uint64_t now_ns);
void estimator_free(struct estimator *e);

#endif
