/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * HyStart (Ha and Rhee, 2011) as Linux's CUBIC has it, and so most guests: slow start ends where ACKs
 * that come close to each other span half an RTT, or where the RTT grows.
 */
#ifndef _TESTS_GOODPUT_HYSTART_H
#define _TESTS_GOODPUT_HYSTART_H

#include "world.h"

#define HYSTART_LEAST_SEGS	16U	/* smaller windows go on */
#define HYSTART_CLOSE_NS	(2 * (u64)NSEC_PER_MSEC)	/* between ACKs of a train */
#define HYSTART_SAMPLES		8U	/* of an RTT, before it counts as grown */
#define HYSTART_SUPER_BYTES	65536U

/* For what super-packets and their ACKs take: at most 1 ms. */
static u64 hystart_slack_ns(const struct plain *s)
{
	return min(4ULL * HYSTART_SUPER_BYTES * s->srtt_us * NSEC_PER_USEC /
		   (2 * s->cwnd * SEG_MSS), (u64)NSEC_PER_MSEC);
}

static bool hystart_is_train(struct plain *s)
{
	struct hystart *h = &s->hystart;

	if (shim_now_ns - h->last_ns > HYSTART_CLOSE_NS)
		return false;
	h->last_ns = shim_now_ns;
	return shim_now_ns - h->round_ns >
	       ((u64)h->least_us * NSEC_PER_USEC + hystart_slack_ns(s)) / 2;
}

static bool hystart_is_delay(struct hystart *h, u32 rtt_us)
{
	h->round_us = min(h->round_us, rtt_us);
	if (h->samples < HYSTART_SAMPLES) {
		h->samples++;
		return false;
	}
	return h->round_us > h->least_us + clamp(h->least_us / 8, 4000U, 16000U);
}

/* A round trip was measured. */
static void hystart_acked(struct plain *s, u32 rtt_us)
{
	struct hystart *h = &s->hystart;
	bool ends;

	h->least_us = min_not_zero(h->least_us, rtt_us);
	if (s->cwnd >= s->ssthresh)
		return;
	if (s->una > h->round_end) {
		h->round_ns = shim_now_ns;
		h->last_ns = shim_now_ns;
		h->round_end = s->nxt;
		h->round_us = U32_MAX;
		h->samples = 0;
	}
	if (s->cwnd < HYSTART_LEAST_SEGS)
		return;
	ends = hystart_is_train(s);
	ends |= hystart_is_delay(h, rtt_us);
	if (ends)
		s->ssthresh = s->cwnd;
}

#endif /* _TESTS_GOODPUT_HYSTART_H */
