/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A flow for tests of one CC that models the path: it has a clock, and its ACKs have
 * delivery-rate samples.  Segments of 1000 bytes make the arithmetic readable.
 */
#ifndef _TESTS_MODEL_FLOW_H
#define _TESTS_MODEL_FLOW_H

#include <string.h>

#include <linux/kernel.h>
#include <tcon/cc.h>

#include "draw.h"
#include "registered.h"

#define MSS		1000U
#define SEGS(n)		((n) * MSS)
#define T0_US		1000000000ULL	/* some time after boot */
#define RTT_US		10000U
#define MBPS		1000000ULL

/* Values of a rule: defaults unless a test changes them. */
static s64 params[TCON_MAX_PARAMS];

/* A flow and its clock, driven ACK by ACK. */
struct flow {
	struct tcon_cc cc;
	u64 now_us;
	struct tcon_rate_sample rs;	/* what the next ACK says */
};

/* Defaults, and nothing random. */
static inline void reset(const struct tcon_cc_ops *ops)
{
	int i;

	for (i = 0; i < ops->n_params; i++)
		params[i] = ops->params[i].def;
	random_fixed = 0;
	random_seed = 0;
}

/* As the tracker hands on a flow to another CC. */
static inline void take_over(struct flow *f)
{
	memset(f->cc.priv, 0, sizeof(f->cc.priv));
	f->cc.pacing_rate_bps = 0;
	f->cc.ops->init(&f->cc, f->now_us);
}

/* A new flow in slow start, with defaults. */
static inline void start(struct flow *f, const struct tcon_cc_ops *ops)
{
	reset(ops);
	memset(f, 0, sizeof(*f));
	f->now_us = T0_US;
	f->cc.ops = ops;
	f->cc.params = params;
	f->cc.mss_bytes = MSS;
	f->cc.cwnd_bytes = SEGS(10);
	f->cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	f->cc.srtt_us = RTT_US;
	f->cc.min_rtt_us = RTT_US;
	take_over(f);
	f->rs.rtt_us = RTT_US;
}

/*
 * One ACK, @us after the last, for @bytes at a delivery rate of @bps.  With
 * @round it covers a packet sent after the round began.
 */
static inline void ack(struct flow *f, u64 us, u32 bytes, u64 bps, bool round)
{
	struct tcon_rate_sample *rs = &f->rs;

	f->now_us += us;
	rs->now_us = f->now_us;
	rs->prior_delivered = round ? f->cc.delivered_bytes : 0;
	f->cc.delivered_bytes += bytes;
	f->cc.lost_bytes += rs->losses_bytes;
	rs->acked_bytes = bytes;
	rs->acked_sacked_bytes = bytes;
	rs->interval_us = RTT_US;
	rs->delivered_bytes = bps * RTT_US / 8 / MBPS;
	rs->prior_inflight_bytes = f->cc.inflight_bytes + bytes;
	f->cc.ops->cong_control(&f->cc, rs);
}

static inline void set_state(struct flow *f, enum tcon_ca_state state)
{
	f->cc.ops->set_state(&f->cc, state, f->now_us);
	f->cc.ca_state = state;
}

#endif /* _TESTS_MODEL_FLOW_H */
