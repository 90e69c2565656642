/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two flows of one CC at one bottleneck (sim.h): what each gets of it.
 *
 * They take turns of 0.1 ms at the queue, so one finds at most that much too long a queue.
 */
#ifndef _TESTS_SHARE_H
#define _TESTS_SHARE_H

#include "sim.h"

#define SHARE_TURN_NS	100000ULL

/**
 * struct share - the bottleneck
 * @ops: the CC
 * @rate_bps: its rate
 * @rtt_us: of one; the other has a hundredth more, or their packets would stay in step
 * @buffer_bytes: its queue
 * @mark_bytes: it marks what finds more; 0: nothing
 * @loss_ppm: losses before the queue, as an AQM's: as many for each packet
 */
struct share {
	const struct tcon_cc_ops *ops;
	u64 rate_bps;
	u32 rtt_us;
	u32 buffer_bytes;
	u32 mark_bytes;
	u32 loss_ppm;
};

static inline void share_run(struct sim *a, struct sim *b, u64 until_ns)
{
	u64 now_ns;

	for (now_ns = a->now_ns; now_ns < until_ns; now_ns += SHARE_TURN_NS) {
		sim_run(a, now_ns, NULL);
		b->free_ns = a->free_ns;
		sim_run(b, now_ns, NULL);
		a->free_ns = b->free_ns;
	}
}

static inline double share_goodput(const struct sim *s)
{
	return s->cc.delivered_bytes - s->since_delivered;
}

/* How many times as much does the flow with @more get, of what the one with @less gets?  Over
 * ten minutes, without the first.
 */
static inline double share_ratio(const struct share *share, const s64 *less,
				 const s64 *more)
{
	static struct sim a, b;
	double ratio;

	sim_start(&a, share->ops, less, share->rate_bps, share->rtt_us,
		  share->buffer_bytes, 1448);
	sim_start(&b, share->ops, more, share->rate_bps,
		  share->rtt_us + share->rtt_us / 100, share->buffer_bytes,
		  1448);
	a.mark_bytes = share->mark_bytes;
	b.mark_bytes = share->mark_bytes;
	a.loss_ppm = share->loss_ppm;
	b.loss_ppm = share->loss_ppm;
	b.loss_seed = 2;
	share_run(&a, &b, 60 * SIM_NS);
	sim_measure(&a);
	sim_measure(&b);
	share_run(&a, &b, 660 * SIM_NS);
	ratio = share_goodput(&b) / share_goodput(&a);
	sim_stop(&a);
	sim_stop(&b);
	return ratio;
}

#endif /* _TESTS_SHARE_H */
