// SPDX-License-Identifier: GPL-2.0-only
/*
 * FAST: Wei, Jin, Low and Hegde, "FAST TCP: Motivation, Architecture, Algorithms,
 * Performance", IEEE/ACM Transactions on Networking 14(6), 2006.
 *
 * The model.  As in Vegas (vegas.c) a flow keeps a number of its segments, alpha, in queues.
 * But Vegas moves by one segment per round trip, however far it is from there.  FAST goes a
 * share gamma of the way:
 *
 *	w = min(2 w, (1 - gamma) w + gamma (baseRTT / RTT w + alpha))
 *
 * baseRTT is the smallest RTT of all, RTT a moving average, in which a sample has the weight
 * min(3 / w, 1 / 4), w in segments.  In equilibrium w - baseRTT / RTT w, which is what waits in
 * queues, is alpha.
 *
 * The window changes in one round trip and stays in the next, whose RTT then belongs to the
 * new window.  It grows by no more than what is acknowledged, so that it does not
 * send a burst.
 *
 * The states.
 *
 *	slow start -- alpha waits, or cwnd = ssthresh --> equation
 *	   ^                                               |   ^
 *	   | time-out, cwnd = 2 MSS              loss, ECE |   | una passes what
 *	   |                                               v   | was in flight
 *	   +-------------------------------------------- reduced
 *
 * A loss halves the window, as in Reno (the paper's section on loss recovery).
 *
 * Where the constants come from:
 *	gamma 1/2	the paper
 *	alpha 20	ours.  The paper sets it by hand to what the path's rate calls for, and all
 *			flows of a path alike: alpha segments of each wait in its queue
 *	slow start	the paper leaves it open when it ends.  Here it does when alpha segments
 *			wait, which is where the equation has its equilibrium
 *
 * Differences that a hypervisor makes:
 * - The window grows only while it limits the flow.
 * - baseRTT starts from the tracker's minimum, and after an idle time is that again, as in
 *   vegas.c.
 * - The smallest window is two segments (%TCON_MIN_CWND_SEGS).
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <tcon/cc.h>

#include "reno.h"

/*
 * Fraction bits of the average RTT.  Its step is 3 / w of a difference, which must not be lost in a
 * window of 2^24 segments.
 */
#define RTT_BITS	20

enum {
	PARAM_ALPHA,
	PARAM_GAMMA,
};

static const struct tcon_cc_param fast_params[] = {
	[PARAM_ALPHA] = { "alpha", TCON_PARAM_UINT, 20, 1, 10000, "segments",
			  "segments of its own that it keeps in queues" },
	[PARAM_GAMMA] = { "gamma", TCON_PARAM_MILLI, 500, 10, 1000, "",
			  "share of the way there in two round trips" },
};

/**
 * struct fast - private area
 * @reno: the last reduction, and what Reno counts
 * @rtt: moving average of the RTT, in 1 / 2^%RTT_BITS us; 0: no sample yet
 * @base_rtt_us: smallest RTT; %TCON_RTT_NONE_US: none yet
 * @round_end: nxt when the round began
 * @aim_bytes: where the window grows to in this round; 0: it stays
 * @frozen: the window stays in this round, and at its end it is decided
 */
struct fast {
	struct tcon_reno reno;
	s64 rtt;
	u32 base_rtt_us;
	u32 round_end;
	u32 aim_bytes;
	bool frozen;
};

static void begin_round(const struct tcon_cc *cc, bool frozen)
{
	struct fast *fast = tcon_cc_priv(cc);

	fast->round_end = cc->nxt;
	fast->frozen = frozen;
	if (frozen)
		fast->aim_bytes = 0;
}

static void take_rtt(const struct tcon_cc *cc, s64 sample_us)
{
	struct fast *fast = tcon_cc_priv(cc);
	u32 rtt_us, segs = max(cc->cwnd_bytes / cc->mss_bytes, 1U);
	s64 rtt;

	if (sample_us < 0)
		return;
	rtt_us = clamp_t(s64, sample_us, 1, TCON_RTT_NONE_US - 1);
	rtt = (s64)rtt_us << RTT_BITS;
	fast->base_rtt_us = min(fast->base_rtt_us, rtt_us);
	if (!fast->rtt)
		fast->rtt = rtt;
	else if (segs <= 12)	/* 3 / w is 1 / 4 and more */
		fast->rtt += (rtt - fast->rtt) / 4;
	else
		fast->rtt += div_s64((rtt - fast->rtt) * 3, segs);
}

/* baseRTT / RTT w; the average is not below the smallest sample. */
static u32 empty_bytes(const struct tcon_cc *cc)
{
	const struct fast *fast = tcon_cc_priv(cc);
	s64 base = (s64)fast->base_rtt_us << RTT_BITS;

	if (fast->rtt <= base)
		return cc->cwnd_bytes;
	return mul_u64_u64_div_u64(cc->cwnd_bytes, base, fast->rtt);
}

static u32 alpha_bytes(const struct tcon_cc *cc)
{
	return (u32)cc->params[PARAM_ALPHA] * cc->mss_bytes;
}

/* The equation. */
static u32 window_bytes(const struct tcon_cc *cc)
{
	u64 w = cc->cwnd_bytes, gamma = cc->params[PARAM_GAMMA], next;

	next = (1000 - gamma) * w +
	       gamma * ((u64)empty_bytes(cc) + alpha_bytes(cc));
	next = min(div_u64(next, 1000), 2 * w);
	return clamp_t(u64, next, tcon_reno_min_cwnd_bytes(cc),
		       TCON_CWND_MAX_BYTES);
}

/* The end of a round in which the window stayed.  @limited: it limited the flow. */
static void decide(struct tcon_cc *cc, bool limited)
{
	struct fast *fast = tcon_cc_priv(cc);
	u32 next = window_bytes(cc);

	if (next > cc->cwnd_bytes)
		fast->aim_bytes = limited ? next : 0;
	else
		cc->cwnd_bytes = next;
	cc->ssthresh_bytes = min(cc->ssthresh_bytes, cc->cwnd_bytes);
}

/* An ACK without loss or reduction.  @acked_bytes is 0 if the window did not limit the flow. */
static void lead(struct tcon_cc *cc, u32 acked_bytes)
{
	struct fast *fast = tcon_cc_priv(cc);
	bool over = tcon_reno_before(fast->round_end, cc->una);

	if (tcon_reno_in_slow_start(cc)) {
		if (fast->rtt && cc->cwnd_bytes - empty_bytes(cc) >= alpha_bytes(cc))
			cc->ssthresh_bytes = cc->cwnd_bytes;
		else
			tcon_reno_slow_start(cc, acked_bytes);
		if (over)
			begin_round(cc, false);
		return;
	}
	if (cc->cwnd_bytes < fast->aim_bytes)
		cc->cwnd_bytes += min(acked_bytes, fast->aim_bytes - cc->cwnd_bytes);
	if (!over)
		return;
	if (fast->frozen && fast->rtt)
		decide(cc, acked_bytes);
	begin_round(cc, !fast->frozen);
}

static void tcon_fast_cong_control(struct tcon_cc *cc,
				   const struct tcon_rate_sample *rs)
{
	struct fast *fast = tcon_cc_priv(cc);
	struct tcon_reno *reno = &fast->reno;
	u32 acked_bytes = 0;

	if (tcon_reno_acked(cc, reno))
		begin_round(cc, true);
	take_rtt(cc, rs->rtt_us);
	if (tcon_reno_may_grow(cc, reno, rs))
		acked_bytes = rs->acked_sacked_bytes;
	if (cc->ca_state == TCON_CA_OPEN && !reno->reduced)
		lead(cc, acked_bytes);
	else if (acked_bytes)
		tcon_reno_grow(cc, reno, acked_bytes);
}

static void tcon_fast_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				u64 now_us)
{
	struct fast *fast = tcon_cc_priv(cc);

	tcon_reno_on_state(cc, &fast->reno, state);
	if (state == TCON_CA_OPEN)
		begin_round(cc, true);
}

static void tcon_fast_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				 u64 now_us)
{
	struct fast *fast = tcon_cc_priv(cc);

	switch (event) {
	case TCON_CA_EVENT_TX_START:
		if (!tcon_cc_was_idle(cc))
			break;
		fast->base_rtt_us = cc->min_rtt_us;
		begin_round(cc, true);
		break;
	case TCON_CA_EVENT_ECE:
		tcon_reno_ece(cc, &fast->reno);
		break;
	}
}

static void tcon_fast_undo_cwnd(struct tcon_cc *cc)
{
	struct fast *fast = tcon_cc_priv(cc);

	tcon_reno_undo(cc, &fast->reno);
}

static void tcon_fast_init(struct tcon_cc *cc, u64 now_us)
{
	struct fast *fast = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(struct fast) > TCON_CC_PRIV_BYTES);
	fast->base_rtt_us = cc->min_rtt_us;
	begin_round(cc, true);
}

static int tcon_fast_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct fast *fast = tcon_cc_priv(cc);
	u32 base_rtt_us = fast->base_rtt_us;

	if (base_rtt_us == TCON_RTT_NONE_US)
		base_rtt_us = 0;
	return scnprintf(buf, size, "mode=%s base_rtt_us=%u rtt_us=%lld",
			 tcon_reno_mode_name(cc, &fast->reno), base_rtt_us,
			 fast->rtt >> RTT_BITS);
}

static struct tcon_cc_ops fast_ops = {
	.name		= "fast",
	.category	= "delay",
	.source		= "Wei et al., IEEE/ACM ToN 14(6), 2006",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct fast),
	.params		= fast_params,
	.n_params	= ARRAY_SIZE(fast_params),
	.init		= tcon_fast_init,
	.cong_control	= tcon_fast_cong_control,
	.set_state	= tcon_fast_set_state,
	.cwnd_event	= tcon_fast_cwnd_event,
	.undo_cwnd	= tcon_fast_undo_cwnd,
	.get_info	= tcon_fast_get_info,
};

static int __init tcon_fast_module_init(void)
{
	return tcon_cc_register(&fast_ops);
}

static void __exit tcon_fast_module_exit(void)
{
	tcon_cc_unregister(&fast_ops);
}

module_init(tcon_fast_module_init);
module_exit(tcon_fast_module_exit);

MODULE_DESCRIPTION("TCon: FAST congestion control (Wei et al., 2006)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-fast");
