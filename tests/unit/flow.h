/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A flow for tests of one CC: its module is registered here, and events are given
 * by hand.  Segments are MSS bytes; new data follows what is acknowledged, so the
 * flight stays as large as at the start.
 */
#ifndef _TESTS_FLOW_H
#define _TESTS_FLOW_H

#include <string.h>

#include <linux/kernel.h>
#include <tcon/cc.h>

#include "registered.h"

#define MSS		1448U
#define SEGS(n)		((n) * MSS)
#define T0_US		1000000000ULL	/* some time after boot */

/* Values of a rule: defaults unless a test changes them. */
static s64 params[TCON_MAX_PARAMS];

static inline void default_params(const struct tcon_cc_ops *ops)
{
	int i;

	for (i = 0; i < ops->n_params; i++)
		params[i] = ops->params[i].def;
}

/* A flow in slow start; @rtt_us may be %TCON_RTT_NONE_US. */
static inline void start(struct tcon_cc *cc, const struct tcon_cc_ops *ops,
			 u32 mss_bytes, u32 cwnd_bytes, u32 rtt_us)
{
	memset(cc, 0, sizeof(*cc));
	cc->ops = ops;
	cc->params = params;
	cc->mss_bytes = mss_bytes;
	cc->cwnd_bytes = cwnd_bytes;
	cc->ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	cc->srtt_us = rtt_us == TCON_RTT_NONE_US ? 0 : rtt_us;
	cc->min_rtt_us = rtt_us;
	cc->una = 0xfffff000U;
	cc->nxt = cc->una + cwnd_bytes;
	cc->inflight_bytes = cwnd_bytes;
	ops->init(cc, T0_US);
}

/* An ACK for @bytes; @limited: cwnd bound. */
static inline void ack_if(struct tcon_cc *cc, u32 bytes, s64 rtt_us,
			  bool limited)
{
	struct tcon_rate_sample rs = {
		.now_us = T0_US,
		.delivered_bytes = -1,
		.interval_us = -1,
		.rtt_us = rtt_us,
		.acked_bytes = bytes,
		.acked_sacked_bytes = bytes,
		.is_cwnd_limited = limited,
	};

	cc->una += bytes;
	cc->delivered_bytes += bytes;
	cc->ops->cong_control(cc, &rs);
	cc->nxt += bytes;
}

static inline void ack(struct tcon_cc *cc, u32 bytes, s64 rtt_us)
{
	ack_if(cc, bytes, rtt_us, true);
}

static inline void state(struct tcon_cc *cc, enum tcon_ca_state new_state)
{
	cc->ops->set_state(cc, new_state, T0_US);
	cc->ca_state = new_state;
}

static inline void event(struct tcon_cc *cc, enum tcon_ca_event what)
{
	if (cc->ops->cwnd_event)
		cc->ops->cwnd_event(cc, what, T0_US);
}

/* The window goes out at once, and after an RTT all of it is acknowledged, by @acks ACKs.  Nothing
 * is in flight then, though the guest has more to send.
 */
static inline void whole_round(struct tcon_cc *cc, u32 acks, s64 rtt_us)
{
	u32 bytes = cc->cwnd_bytes / acks, i;

	cc->una = cc->nxt;
	cc->nxt += bytes;
	event(cc, TCON_CA_EVENT_TX_START);
	cc->nxt += bytes * (acks - 1);
	cc->inflight_bytes = bytes * acks;
	for (i = 0; i < acks; i++) {
		cc->inflight_bytes -= bytes;
		ack(cc, bytes, rtt_us);
		cc->nxt -= bytes;
	}
}

/* Some RTT, window and MSS: events of all kinds; bounds always hold. */
static inline void extreme_flow(const struct tcon_cc_ops *ops, u32 mss_bytes,
				u32 rtt_us, u32 cwnd_bytes)
{
	struct tcon_cc cc;
	int i;

	start(&cc, ops, mss_bytes, cwnd_bytes, rtt_us);
	for (i = 0; i < 300; i++) {
		if (i % 60 == 30)
			state(&cc, TCON_CA_RECOVERY);
		if (i % 60 == 33) {
			cc.una = cc.nxt;
			state(&cc, TCON_CA_OPEN);
		}
		if (i % 100 == 80)
			state(&cc, TCON_CA_LOSS);
		if (i % 100 == 99)
			state(&cc, TCON_CA_OPEN);
		if (i % 90 == 31)
			ops->undo_cwnd(&cc);
		if (i % 70 == 50)
			event(&cc, TCON_CA_EVENT_ECE);
		if (i % 110 == 60)
			event(&cc, TCON_CA_EVENT_TX_START);
		ack(&cc, i % 7 ? mss_bytes : i & 1 ? cc.cwnd_bytes : U32_MAX,
		    i % 5 ? rtt_us : i & 1 ? rtt_us / 2 : 3LL * rtt_us);
		BUG_ON(cc.cwnd_bytes < TCON_MIN_CWND_SEGS * mss_bytes);
		BUG_ON(cc.cwnd_bytes > TCON_CWND_MAX_BYTES);
		BUG_ON(cc.ssthresh_bytes < TCON_MIN_CWND_SEGS * mss_bytes);
	}
}

/* 1 kbit/s to 400 Gbit/s by 10 us to 10 s, and beyond that, as far as TCon lets it. */
static inline void extreme_paths(const struct tcon_cc_ops *ops)
{
	static const u32 mss_bytes[] = { 88, 536, 1448, 8948, 65483 };
	static const u64 rate_bps[] = { 1000, 1000000, 1000000000,
					400000000000ULL, 1ULL << 50 };
	static const u32 rtt_us[] = { 0, 1, 10, 1000, 100000, 10000000,
				      TCON_RTT_NONE_US - 1, TCON_RTT_NONE_US };
	int m, b, r;
	u64 bytes;

	for (m = 0; m < ARRAY_SIZE(mss_bytes); m++)
		for (b = 0; b < ARRAY_SIZE(rate_bps); b++)
			for (r = 0; r < ARRAY_SIZE(rtt_us); r++) {
				bytes = rate_bps[b] / 1000 * rtt_us[r] / 8000;
				bytes = max_t(u64, bytes,
					      TCON_INIT_CWND_SEGS * mss_bytes[m]);
				extreme_flow(ops, mss_bytes[m], rtt_us[r],
					     min_t(u64, bytes, TCON_CWND_MAX_BYTES));
			}
}

#endif /* _TESTS_FLOW_H */
