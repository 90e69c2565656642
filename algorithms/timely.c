// SPDX-License-Identifier: GPL-2.0-only
/*
 * TIMELY: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM
 * 2015.
 *
 * The model.  A queue that grows shows in the RTT before it is long: it is the gradient of the
 * RTT that tells whether more is sent than the path carries.  So the flow is paced, and its rate
 * follows the gradient, between two bounds of the RTT beyond which that alone decides:
 *
 *	diff = (1 - alpha) diff + alpha (RTT - RTT before)
 *	gradient = diff / minRTT
 *
 *	RTT < T_low	rate += delta
 *	RTT > T_high	rate -= rate beta (1 - T_high / RTT)
 *	gradient <= 0	rate += N delta		N is 5 from the fifth such event in a row, else 1
 *	else		rate -= rate beta gradient
 *
 * An event is an RTT.  The paper has one for each segment of 16 to 64 KB that is completed, which
 * at its 10 Gbit/s takes about the 20 us of its RTT.
 *
 * Where the constants come from:
 *	alpha 0.875, beta 0.8, delta 10 Mbit/s, T_low 50 us, T_high 500 us, N 5	the paper
 *
 * Differences that a hypervisor makes:
 * - Paths are longer than within one data centre.  So T_low and T_high are counted from
 *   minRTT, which in the paper is less than half of T_low.
 * - A gradient above 1 counts as 1.  (The rate would be negative.)
 * - The paper's network drops nothing, and its flows have no window.  Here a loss or ECE halves the
 *   rate, once per window, and each time-out does.  No more is in flight than the rate sends in two
 *   round trips; two, since the RTT may rise faster than srtt.
 * - A rate is not raised while the guest sends less.
 * - A new flow begins with its window per RTT; the paper with a part of the line's rate, which is
 *   not known here.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <tcon/cc.h>

#include "bw.h"
#include "reno.h"

#define HAI_EVENTS	5	/* events in a row before the hyperactive increase */
#define HAI_FACTOR	5	/* the paper's N */
#define CWND_RTTS	2

enum {
	PARAM_ALPHA,
	PARAM_BETA,
	PARAM_DELTA,
	PARAM_T_LOW,
	PARAM_T_HIGH,
};

static const struct tcon_cc_param timely_params[] = {
	[PARAM_ALPHA] = { "alpha", TCON_PARAM_MILLI, 875, 1, 1000, "",
			  "weight of the newest difference of RTTs" },
	[PARAM_BETA] = { "beta", TCON_PARAM_MILLI, 800, 1, 1000, "",
			 "how much of the rate a gradient of 1 takes" },
	[PARAM_DELTA] = { "delta", TCON_PARAM_UINT, 10000, 1, 100000000, "kbit/s",
			  "by so much the rate rises in a round trip" },
	[PARAM_T_LOW] = { "t_low", TCON_PARAM_UINT, 50, 0, 10000000, "us",
			  "with less delay in queues the rate rises" },
	[PARAM_T_HIGH] = { "t_high", TCON_PARAM_UINT, 500, 1, 10000000, "us",
			   "with more delay in queues the rate falls" },
};

/**
 * struct timely - private area
 * @reno: the last reduction for a loss
 * @rate_bps: the rate
 * @saved_bps: the rate before that reduction, and what else is undone with it
 * @event_us: time of the last event
 * @diff_ns: moving average of the difference of RTTs
 * @rtt_us: RTT at the last event; 0: there was none
 * @falling: events in a row with a gradient of 0 or less
 */
struct timely {
	struct tcon_reno reno;
	u64 rate_bps;
	u64 saved_bps;
	u64 event_us;
	s64 diff_ns;
	u32 rtt_us;
	u8 falling;
};

static void set_rate(struct tcon_cc *cc, u64 bps)
{
	struct timely *timely = tcon_cc_priv(cc);
	u32 rtt_us = cc->srtt_us ?: TCON_BW_NOMINAL_RTT_US;
	u64 least = max(tcon_bw_of(cc->mss_bytes, rtt_us),
			tcon_cc_slowest_bps(cc));
	u64 cwnd;

	timely->rate_bps = clamp(bps, least, TCON_BW_MAX_BPS);
	cc->pacing_rate_bps = timely->rate_bps;
	cwnd = CWND_RTTS * (u64)tcon_bw_bytes(timely->rate_bps, rtt_us) +
	       tcon_cc_quantum_bytes(cc);
	cc->cwnd_bytes = clamp_t(u64, cwnd, tcon_reno_min_cwnd_bytes(cc),
				 TCON_CWND_MAX_BYTES);
}

/* The rate less beta of @num / @den of it, which is at most all. */
static u64 less(const struct tcon_cc *cc, u64 num, u64 den)
{
	const struct timely *timely = tcon_cc_priv(cc);
	u64 rate = timely->rate_bps, beta = cc->params[PARAM_BETA];

	return rate - mul_u64_u64_div_u64(rate * beta, num, den * 1000);
}

/* The paper's algorithm 1.  @may_rise: the guest sends as much as it may. */
static void take_event(struct tcon_cc *cc, u32 rtt_us, bool may_rise)
{
	struct timely *timely = tcon_cc_priv(cc);
	u64 min_us = max(cc->min_rtt_us, 1U), rate = timely->rate_bps, gradient_ns;
	u64 high_us = min_us + cc->params[PARAM_T_HIGH];
	u64 delta_bps = may_rise ? cc->params[PARAM_DELTA] * 1000 : 0;
	s64 diff_ns = ((s64)rtt_us - timely->rtt_us) * (s64)NSEC_PER_USEC;

	timely->diff_ns += div_s64((diff_ns - timely->diff_ns) *
				   cc->params[PARAM_ALPHA], 1000);
	timely->falling = timely->diff_ns > 0 ? 0 :
			  min(timely->falling + 1, HAI_EVENTS);
	gradient_ns = max_t(s64, timely->diff_ns, 0);
	if (rtt_us < min_us + cc->params[PARAM_T_LOW])
		rate += delta_bps;
	else if (rtt_us > high_us)
		rate = less(cc, rtt_us - high_us, rtt_us);
	else if (!gradient_ns)
		rate += timely->falling < HAI_EVENTS ? delta_bps :
						       HAI_FACTOR * delta_bps;
	else
		rate = less(cc, min(gradient_ns, min_us * NSEC_PER_USEC),
			    min_us * NSEC_PER_USEC);
	set_rate(cc, rate);
}

static void tcon_timely_cong_control(struct tcon_cc *cc,
				     const struct tcon_rate_sample *rs)
{
	struct timely *timely = tcon_cc_priv(cc);
	u32 rtt_us;

	tcon_reno_acked(cc, &timely->reno);
	if (rs->rtt_us < 0 || rs->now_us < timely->event_us + cc->min_rtt_us)
		return;
	rtt_us = clamp_t(s64, rs->rtt_us, 1, TCON_RTT_NONE_US - 1);
	if (timely->rtt_us)
		take_event(cc, rtt_us, !rs->is_app_limited);
	timely->rtt_us = rtt_us;
	timely->event_us = rs->now_us;
}

static void halve(struct tcon_cc *cc, bool by_ece)
{
	struct timely *timely = tcon_cc_priv(cc);

	tcon_reno_reduce(cc, &timely->reno, cc->cwnd_bytes / 2, by_ece);
	timely->saved_bps = timely->rate_bps;
	set_rate(cc, timely->rate_bps / 2);
}

static void tcon_timely_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				  u64 now_us)
{
	struct timely *timely = tcon_cc_priv(cc);

	if (tcon_reno_note_loss(cc, &timely->reno, state)) {
		halve(cc, false);
		return;
	}
	if (cc->ca_state == TCON_CA_OPEN)	/* a mark has halved it */
		timely->saved_bps = timely->rate_bps;
	if (state == TCON_CA_LOSS)
		set_rate(cc, timely->rate_bps / 2);
}

static void tcon_timely_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				   u64 now_us)
{
	struct timely *timely = tcon_cc_priv(cc);

	switch (event) {
	case TCON_CA_EVENT_TX_START:
		if (tcon_cc_was_idle(cc))
			timely->rtt_us = 0;	/* the next RTT has none to differ from */
		break;
	case TCON_CA_EVENT_ECE:
		if (tcon_reno_note_ece(cc, &timely->reno))
			halve(cc, true);
		break;
	}
}

static void tcon_timely_undo_cwnd(struct tcon_cc *cc)
{
	struct timely *timely = tcon_cc_priv(cc);

	if (tcon_reno_undo(cc, &timely->reno) ||
	    (cc->ca_state == TCON_CA_LOSS && timely->reno.reduced_by_ece))
		set_rate(cc, max(timely->rate_bps, timely->saved_bps));
}

static void tcon_timely_init(struct tcon_cc *cc, u64 now_us)
{
	struct timely *timely = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(struct timely) > TCON_CC_PRIV_BYTES);
	timely->event_us = now_us;
	set_rate(cc, max(tcon_bw_start(cc), tcon_bw_of_cwnd(cc)));
}

static int tcon_timely_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct timely *timely = tcon_cc_priv(cc);

	return scnprintf(buf, size, "rate_bps=%llu diff_ns=%lld rtt_us=%u",
			 timely->rate_bps, timely->diff_ns, timely->rtt_us);
}

static const char *tcon_timely_complaint(const s64 *values)
{
	return values[PARAM_T_LOW] > values[PARAM_T_HIGH] ? "t_low is more than t_high" : NULL;
}

static struct tcon_cc_ops timely_ops = {
	.name		= "timely",
	.category	= "delay",
	.source		= "Mittal et al., SIGCOMM 2015",
	.owner		= THIS_MODULE,
	.paced		= true,
	.own_recovery	= true,
	.priv_bytes	= sizeof(struct timely),
	.params		= timely_params,
	.n_params	= ARRAY_SIZE(timely_params),
	.complaint	= tcon_timely_complaint,
	.init		= tcon_timely_init,
	.cong_control	= tcon_timely_cong_control,
	.set_state	= tcon_timely_set_state,
	.cwnd_event	= tcon_timely_cwnd_event,
	.undo_cwnd	= tcon_timely_undo_cwnd,
	.get_info	= tcon_timely_get_info,
};

static int __init tcon_timely_module_init(void)
{
	return tcon_cc_register(&timely_ops);
}

static void __exit tcon_timely_module_exit(void)
{
	tcon_cc_unregister(&timely_ops);
}

module_init(tcon_timely_module_init);
module_exit(tcon_timely_module_exit);

MODULE_DESCRIPTION("TCon: TIMELY congestion control (Mittal et al., 2015)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-timely");
