// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCC Vivace: Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018.
 *
 * The model.  There is none of the path.  The flow tries two rates near its own, each for a
 * monitor interval of a round trip, and sees which serves it better by
 *
 *	u(x) = x^t - b x dRTT/dT - c x L
 *
 * x being what was sent, in Mbit/s, dRTT/dT how fast the RTT grew, and L the share that was lost.
 * Then its rate r moves in that direction, by as much as u rises:
 *
 *	gamma = (u(r (1 + epsilon)) - u(r (1 - epsilon))) / (2 epsilon r)
 *	r += theta m gamma
 *
 * The amplifier m rises with the number n of moves in one direction: 1, 2, 3, then 2 n - 3.  A move
 * is at most omega r.  omega is 0.05, and 0.1 more with each move that it cuts, until one would
 * have fitted into less; when the direction changes it is 0.05 again.
 *
 * The states.
 *
 *	STARTING: the rate doubles with each interval
 *	   |				^
 *	   | u falls: half the rate	| time-out
 *	   v				|
 *	PROBING: two intervals and a move, again and again
 *
 * Where the constants come from: the paper, as t 0.9, b 900, c 11.35 (at 100 Mbit/s the rate still
 * rises with 5 % lost), epsilon 0.05, theta 1; a gradient of the RTT below 0.01 counts as noise.
 *
 * Differences that a hypervisor makes:
 * - An interval is what was sent in it, found by what had been delivered when it was sent.  The
 *   answers come a round trip later; until then the flow sends at r.  An interval lasts at least as
 *   long as ten segments at its rate, since of fewer 5 % is nothing.
 * - dRTT/dT is the slope between the means of the interval's two halves.  The paper's linear
 *   regression of all its RTTs needs sums of more than 64 bits.
 * - An interval in which the guest limited the rate tells nothing, and is tried again.
 * - A mark (ECN) is a loss of what it was reported for.
 * - No more is in flight than r sends in two round trips, and the rate is at least two segments per
 *   round trip.  After a time-out the flow restarts with half the rate.  The paper has no window
 *   and no time-outs.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <tcon/cc.h>

#include "bw.h"
#include "power.h"

#define EPSILON_PERCENT		5
#define STEP_PERCENT		5	/* omega at first */
#define STEP_MORE_PERCENT	10
#define STEPS_MAX		9	/* omega stays below 1 */
#define STREAK_LINEAR		3
#define STREAK_MAX		1000
#define SLOPE_NOISE_PPM		10000
#define SLOPE_MAX_PPM		1000000
#define INTERVAL_SEGS		10U
#define FLOOR_SEGS		2
#define CWND_RTTS		2
#define RATE_MAX_BPS		1000000000000ULL

enum {
	PARAM_EXPONENT,
	PARAM_LATENCY,
	PARAM_LOSS,
};

static const struct tcon_cc_param vivace_params[] = {
	[PARAM_EXPONENT] = { "exponent", TCON_PARAM_MILLI, 900, 100, 990, "",
			     "a rate of x is worth x^exponent" },
	[PARAM_LATENCY] = { "latency", TCON_PARAM_UINT, 900, 0, 10000, "",
			    "price of a growing round-trip time" },
	[PARAM_LOSS] = { "loss", TCON_PARAM_MILLI, 11350, 0, 100000, "",
			 "price of losses" },
};

/**
 * struct vivace_half - RTTs of the packets of half an interval
 * @rtt_us: their sum
 * @sent_us: sum of the times when they were sent, since the interval began
 * @count: their number
 */
struct vivace_half {
	u64 rtt_us;
	u64 sent_us;
	u32 count;
};

/**
 * struct vivace_interval - a monitor interval
 * @begin_us: when it began
 * @begin_delivered: cc.delivered_bytes then
 * @half: RTTs of its two halves
 * @delivered_bytes: of what was sent in it
 * @lost_bytes: the same
 * @length_us: how long it lasts, at least
 */
struct vivace_interval {
	u64 begin_us;
	u64 begin_delivered;
	struct vivace_half half[2];
	u64 delivered_bytes;
	u64 lost_bytes;
	u32 length_us;
};

/**
 * struct vivace - private area
 * @trial: the intervals that are compared: one in STARTING, else two
 * @rate_bps: r
 * @before_bps: r before the last time-out
 * @end_us: when the last interval ended
 * @end_delivered: cc.delivered_bytes then
 * @utility: in STARTING the last interval's
 * @ce_bytes: cc.delivered_ce_bytes as of the last ACK
 * @lost_bytes: low half of cc.lost_bytes, the same
 * @sending: the interval that is being sent; the number of them: none
 * @streak: n; negative: downwards
 * @steps: how often omega was raised
 * @starting: the state
 * @started: before the last time-out it was another
 * @measured: @utility is valid
 * @up_first: the first interval has the higher rate
 * @limited: the guest limited the rate
 */
struct vivace {
	struct vivace_interval trial[2];
	u64 rate_bps;
	u64 before_bps;
	u64 end_us;
	u64 end_delivered;
	s64 utility;
	u32 ce_bytes;
	u32 lost_bytes;
	s16 streak;
	u8 sending;
	u8 steps;
	bool starting;
	bool started;
	bool measured;
	bool up_first;
	bool limited;
};

static unsigned int intervals(const struct vivace *v)
{
	return v->starting ? 1 : ARRAY_SIZE(v->trial);
}

static u32 rtt_us(const struct tcon_cc *cc)
{
	return cc->srtt_us ?: TCON_BW_NOMINAL_RTT_US;
}

/* The rate at which an interval is sent, or what follows the last. */
static u64 sending_bps(const struct vivace *v, unsigned int i)
{
	u64 change = div_u64(v->rate_bps * EPSILON_PERCENT, 100);

	if (v->starting || i >= ARRAY_SIZE(v->trial))
		return v->rate_bps;
	return (i == 0) == v->up_first ? v->rate_bps + change :
					 v->rate_bps - change;
}

static void set_rate(struct tcon_cc *cc)
{
	const struct vivace *v = tcon_cc_priv(cc);
	u64 cwnd;

	cc->pacing_rate_bps = max(sending_bps(v, v->sending),
				  tcon_cc_slowest_bps(cc));
	cwnd = CWND_RTTS * (u64)tcon_bw_bytes(cc->pacing_rate_bps, rtt_us(cc)) +
	       tcon_cc_quantum_bytes(cc);
	cc->cwnd_bytes = clamp_t(u64, cwnd,
				 2 * TCON_MIN_CWND_SEGS * cc->mss_bytes,
				 TCON_CWND_MAX_BYTES);
}

static void choose(struct tcon_cc *cc, u64 bps)
{
	struct vivace *v = tcon_cc_priv(cc);
	u64 least = max(tcon_bw_of(FLOOR_SEGS * cc->mss_bytes, rtt_us(cc)),
			2 * tcon_cc_slowest_bps(cc));

	v->rate_bps = clamp(bps, min(least, RATE_MAX_BPS), RATE_MAX_BPS);
}

static void begin_interval(struct tcon_cc *cc, u64 now_us)
{
	struct vivace *v = tcon_cc_priv(cc);
	struct vivace_interval *interval = &v->trial[v->sending];
	u64 needs_us = div64_u64(INTERVAL_SEGS * cc->mss_bytes * 8ULL *
				 USEC_PER_SEC, sending_bps(v, v->sending));

	memset(interval, 0, sizeof(*interval));
	interval->begin_us = now_us;
	interval->begin_delivered = cc->delivered_bytes;
	interval->length_us = clamp_t(u64, needs_us, rtt_us(cc), S32_MAX);
}

static void begin_trial(struct tcon_cc *cc, u64 now_us)
{
	struct vivace *v = tcon_cc_priv(cc);

	v->sending = 0;
	v->limited = false;
	v->up_first = get_random_u32() & 1;
	begin_interval(cc, now_us);
}

/* Has the interval that is being sent lasted long enough? */
static void check_end(struct tcon_cc *cc, u64 now_us)
{
	struct vivace *v = tcon_cc_priv(cc);
	const struct vivace_interval *interval = &v->trial[v->sending];

	if (v->sending == intervals(v) ||
	    now_us - interval->begin_us < interval->length_us)
		return;
	v->end_us = now_us;
	v->end_delivered = cc->delivered_bytes;
	if (++v->sending < intervals(v))
		begin_interval(cc, now_us);
}

/* The interval of what was sent when @delivered had been; NULL: none. */
static struct vivace_interval *interval_of(struct vivace *v, u64 delivered)
{
	int i;

	if (v->sending == intervals(v) && delivered >= v->end_delivered)
		return NULL;
	for (i = min_t(int, v->sending, intervals(v) - 1); i >= 0; i--)
		if (delivered >= v->trial[i].begin_delivered)
			return &v->trial[i];
	return NULL;
}

static void take_rtt(struct vivace_interval *interval,
		     const struct tcon_rate_sample *rs)
{
	u64 rtt = clamp_t(s64, rs->rtt_us, 1, TCON_RTT_NONE_US - 1);
	u64 since_us = rs->now_us - interval->begin_us;
	struct vivace_half *half;

	since_us -= min(since_us, rtt);
	half = &interval->half[since_us >= interval->length_us / 2];
	half->rtt_us += rtt;
	half->sent_us += since_us;
	half->count++;
}

/* A timer may have found losses between two ACKs (RFC 8985). */
static void take_ack(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct vivace *v = tcon_cc_priv(cc);
	struct vivace_interval *interval = interval_of(v, rs->prior_delivered);
	u32 marked = (u32)cc->delivered_ce_bytes - v->ce_bytes;
	u32 lost = (u32)cc->lost_bytes - v->lost_bytes;

	v->ce_bytes = cc->delivered_ce_bytes;
	v->lost_bytes = cc->lost_bytes;
	if (!interval)
		return;
	marked = min(marked, rs->acked_sacked_bytes);
	interval->delivered_bytes += rs->acked_sacked_bytes - marked;
	interval->lost_bytes += (u64)lost + marked;
	v->limited |= rs->is_app_limited;
	if (rs->rtt_us >= 0)
		take_rtt(interval, rs);
}

/* In ns, since 1 us is too coarse in a data centre. */
static s64 mean_ns(u64 sum_us, u32 count)
{
	return div_u64(sum_us * NSEC_PER_USEC, count);
}

/* dRTT/dT in millionths. */
static s64 slope_ppm(const struct vivace_interval *interval)
{
	const struct vivace_half *a = &interval->half[0], *b = a + 1;
	s64 rise_ns, run_ns, ppm;

	if (!a->count || !b->count)
		return 0;
	rise_ns = mean_ns(b->rtt_us, b->count) - mean_ns(a->rtt_us, a->count);
	run_ns = mean_ns(b->sent_us, b->count) - mean_ns(a->sent_us, a->count);
	if (run_ns <= 0)
		return 0;
	ppm = div64_s64(rise_ns * SLOPE_MAX_PPM, run_ns);
	if (ppm > -SLOPE_NOISE_PPM && ppm < SLOPE_NOISE_PPM)
		return 0;
	return clamp_t(s64, ppm, -SLOPE_MAX_PPM, SLOPE_MAX_PPM);
}

/* u of an interval that lasted @us, in millionths. */
static s64 utility(const struct tcon_cc *cc,
		   const struct vivace_interval *interval, u64 us)
{
	u64 sent = interval->delivered_bytes + interval->lost_bytes;
	u64 bps = min(tcon_bw_of(sent, us), RATE_MAX_BPS);
	u64 lost_ppm = div64_u64(interval->lost_bytes * 1000000,
				 max(sent, 1ULL));
	s64 worth = tcon_power_micro(bps, cc->params[PARAM_EXPONENT]);
	s64 slope, lost;

	/* at most 40 bits by 20; then 40 by 17 */
	slope = div_s64((s64)bps * slope_ppm(interval), 1000000) *
		cc->params[PARAM_LATENCY];
	lost = div_u64(bps * lost_ppm, 1000000) * cc->params[PARAM_LOSS];
	return worth - slope - div_s64(lost, 1000);
}

/* STARTING: did it pay to double the rate? */
static void decide_start(struct tcon_cc *cc, s64 now)
{
	struct vivace *v = tcon_cc_priv(cc);

	if (!v->measured || now > v->utility) {
		v->measured = true;
		v->utility = now;
		choose(cc, 2 * v->rate_bps);
		return;
	}
	v->starting = false;
	choose(cc, v->rate_bps / 2);
}

static u64 percent_of(u64 bps, u32 percent)
{
	return div_u64(bps * percent, 100);
}

/* @bps is how far to go, cut to omega r. */
static u64 within_step(struct vivace *v, u64 bps)
{
	u64 most = percent_of(v->rate_bps, STEP_PERCENT +
			      v->steps * STEP_MORE_PERCENT);

	if (bps > most) {
		v->steps = min(v->steps + 1, STEPS_MAX);
		return most;
	}
	while (v->steps && bps <= percent_of(v->rate_bps, STEP_PERCENT +
					     (v->steps - 1) * STEP_MORE_PERCENT))
		v->steps--;
	return bps;
}

/* PROBING: @gain is u(r (1 + epsilon)) - u(r (1 - epsilon)). */
static void decide_move(struct tcon_cc *cc, s64 gain)
{
	struct vivace *v = tcon_cc_priv(cc);
	bool up = gain > 0;
	u64 bps;
	u32 n;

	if (up ? v->streak <= 0 : v->streak >= 0) {
		v->streak = 0;
		v->steps = 0;
	}
	v->streak = clamp(v->streak + (up ? 1 : -1), -STREAK_MAX, STREAK_MAX);
	n = abs(v->streak);
	if (n > STREAK_LINEAR)
		n = 2 * n - STREAK_LINEAR;
	/* in bit/s: 10^6 (gain / 10^6) / (2 epsilon r / 10^6); at most RATE_MAX_BPS */
	bps = min_t(u64, up ? gain : -gain, v->rate_bps * 100000);
	bps = mul_u64_u64_div_u64(bps, 1000000 * 100 / (2 * EPSILON_PERCENT),
				  v->rate_bps);
	bps = within_step(v, bps * n);
	choose(cc, up ? v->rate_bps + bps : v->rate_bps - bps);
}

/* All answers are there. */
static void decide(struct tcon_cc *cc)
{
	struct vivace *v = tcon_cc_priv(cc);
	const struct vivace_interval *a = &v->trial[0], *b = a + 1;
	s64 first, second;

	if (v->limited)
		return;
	if (v->starting) {
		decide_start(cc, utility(cc, a, v->end_us - a->begin_us));
		return;
	}
	first = utility(cc, a, b->begin_us - a->begin_us);
	second = utility(cc, b, v->end_us - b->begin_us);
	decide_move(cc, v->up_first ? first - second : second - first);
}

static void tcon_vivace_cong_control(struct tcon_cc *cc,
				     const struct tcon_rate_sample *rs)
{
	struct vivace *v = tcon_cc_priv(cc);

	if (rs->delivered_bytes >= 0) {
		take_ack(cc, rs);
		if (v->sending == intervals(v) &&
		    rs->prior_delivered >= v->end_delivered) {
			decide(cc);
			begin_trial(cc, rs->now_us);
		}
	}
	check_end(cc, rs->now_us);
	set_rate(cc);
}

static void restart(struct tcon_cc *cc, u64 bps, u64 now_us)
{
	struct vivace *v = tcon_cc_priv(cc);

	choose(cc, bps);
	v->lost_bytes = cc->lost_bytes;
	v->starting = true;
	v->measured = false;
	v->streak = 0;
	v->steps = 0;
	begin_trial(cc, now_us);
	set_rate(cc);
}

static void tcon_vivace_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				  u64 now_us)
{
	struct vivace *v = tcon_cc_priv(cc);

	if (state != TCON_CA_LOSS)
		return;
	if (cc->ca_state != TCON_CA_LOSS) {
		v->before_bps = v->rate_bps;
		v->started = !v->starting;
	}
	restart(cc, v->rate_bps / 2, now_us);
}

/* Data from before the silence says nothing of the path now. */
static void tcon_vivace_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				   u64 now_us)
{
	if (event == TCON_CA_EVENT_TX_START && tcon_cc_was_idle(cc))
		begin_trial(cc, now_us);
}

/* Data that was sent since tells nothing, so the next trial begins with the next answer. */
static void probe_again(struct tcon_cc *cc)
{
	struct vivace *v = tcon_cc_priv(cc);

	v->starting = false;
	v->sending = intervals(v);
	v->limited = true;
	v->end_delivered = cc->delivered_bytes;
}

static void tcon_vivace_undo_cwnd(struct tcon_cc *cc)
{
	struct vivace *v = tcon_cc_priv(cc);

	if (cc->ca_state == TCON_CA_LOSS) {
		choose(cc, max(v->rate_bps, v->before_bps));
		if (v->started)
			probe_again(cc);
	}
	set_rate(cc);
}

static void tcon_vivace_init(struct tcon_cc *cc, u64 now_us)
{
	struct vivace *v = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(struct vivace) > TCON_CC_PRIV_BYTES);
	v->ce_bytes = cc->delivered_ce_bytes;
	if (!cc->last_rate_bps) {
		restart(cc, tcon_bw_of_cwnd(cc), now_us);
		return;
	}
	restart(cc, tcon_bw_start(cc), now_us);
	v->starting = !tcon_bw_fills_pipe(cc);
	set_rate(cc);
}

static int tcon_vivace_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct vivace *v = tcon_cc_priv(cc);

	return scnprintf(buf, size, "mode=%s rate_bps=%llu streak=%d step_percent=%d",
			 v->starting ? "STARTING" : "PROBING", v->rate_bps,
			 v->streak, STEP_PERCENT + v->steps * STEP_MORE_PERCENT);
}

static struct tcon_cc_ops vivace_ops = {
	.name		= "vivace",
	.category	= "hybrid",
	.source		= "Dong et al., NSDI 2018",
	.owner		= THIS_MODULE,
	.paced		= true,
	.own_recovery	= true,
	.priv_bytes	= sizeof(struct vivace),
	.params		= vivace_params,
	.n_params	= ARRAY_SIZE(vivace_params),
	.init		= tcon_vivace_init,
	.cong_control	= tcon_vivace_cong_control,
	.set_state	= tcon_vivace_set_state,
	.cwnd_event	= tcon_vivace_cwnd_event,
	.undo_cwnd	= tcon_vivace_undo_cwnd,
	.get_info	= tcon_vivace_get_info,
};

static int __init tcon_vivace_module_init(void)
{
	return tcon_cc_register(&vivace_ops);
}

static void __exit tcon_vivace_module_exit(void)
{
	tcon_cc_unregister(&vivace_ops);
}

module_init(tcon_vivace_module_init);
module_exit(tcon_vivace_module_exit);

MODULE_DESCRIPTION("TCon: PCC Vivace congestion control (Dong et al., 2018)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-vivace");
