// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copa: Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
 * Internet", NSDI 2018.
 *
 * The model.  A rate of 1 / (delta d_q) segments/s, where d_q is the delay in queues, is best for
 * throughput and delay together, delta being the price of delay.  So the window moves in the
 * direction of that rate, for each segment that is acknowledged by v / (delta cwnd):
 *
 *	d_q	= RTTstanding - RTTmin
 *	target	= 1 / (delta d_q)
 *	current	= cwnd / RTTstanding
 *	current <= target	cwnd += v / (delta cwnd)
 *	else			cwnd -= v / (delta cwnd)
 *
 * which is v / delta segments per round trip.  RTTstanding is the smallest RTT of the last srtt /
 * 2, so that delayed and bunched ACKs do not count.  RTTmin is the minimum of the last 10 s.  The
 * velocity v is 1 in slow start, and until the window has moved in one direction for three round
 * trips.  From then on it doubles in each, until the direction changes or the window stays as it
 * is.  The flow is paced at 2 cwnd / RTTstanding.
 *
 * The states.
 *
 *	slow start -- current > target --> default <--- the queue was nearly empty --+
 *	   ^                                  |                                      |
 *	   | time-out                         +--- not for 5 round trips ---> competitive
 *
 * Flows of Copa empty their queue in every 5 round trips.  If it has not been nearly empty in
 * five (d_q below a tenth of RTTmax - RTTmin, RTTmax of the last 4 round trips), other traffic
 * fills it.  Then 1 / delta moves as Reno's window does: up by 1 in a round trip without a loss,
 * down to half at a loss, and not below the default mode's value.
 *
 * Where the constants come from: the paper; so does delta 1/2.
 *
 * Differences that a hypervisor makes:
 * - RTTmin starts from the tracker's minimum.
 * - The first ACK that asks for another direction ends v, not the end of its round trip.
 * - delta is decided at the end of a round trip.  A queue of no delay is nearly empty, also where
 *   the RTT has never been longer.
 * - The window at most doubles, or falls by half, in a round trip, whatever v is.  It grows only
 *   while it limits the flow.
 * - After a time-out the flow restarts with two segments, which the paper leaves to TCP.  Other
 *   losses, and ECE, count in competitive mode only.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <tcon/cc.h>

#include "bw.h"
#include "filter.h"
#include "reno.h"

#define SHORTEST_US		(10 * USEC_PER_SEC)
#define STEADY_ROUNDS		3	/* in one direction, before v doubles */
#define FULL_ROUNDS		5	/* with a queue: somebody else fills it */
#define LONGEST_ROUNDS		4
#define NEARLY_EMPTY_DIV	10
#define PACING_FACTOR		2
#define VELOCITY_MAX		BIT(20)
#define PRICE_INVERSE_MAX	BIT(20)	/* 1 / delta, in thousandths */

enum {
	PARAM_DELTA,
	PARAM_COMPETITIVE,
};

static const struct tcon_cc_param copa_params[] = {
	[PARAM_DELTA] = { "delta", TCON_PARAM_MILLI, 500, 4, 4000, "",
			  "price of delay: about 1 / delta segments wait in queues" },
	[PARAM_COMPETITIVE] = { "competitive", TCON_PARAM_BOOL, 1, 0, 1, "",
				"hold out against flows that fill the queue" },
};

/**
 * struct copa - private area
 * @reno: the last loss
 * @standing: RTTstanding
 * @shortest: RTTmin
 * @longest_us: largest RTT of each of the last rounds, the newest first
 * @rest: change of cwnd that was too small for a byte, times cwnd
 * @inverse_milli: 1 / delta in thousandths
 * @velocity: v
 * @round_end: nxt when the round began
 * @round_cwnd_bytes: cwnd then
 * @steady: rounds in which the window moved in the present direction, as far as they count
 * @full: rounds since the queue was nearly empty
 * @rose: the direction of the last round
 * @up: the direction of the last ACK
 * @lost: there was a loss in this round
 */
struct copa {
	struct tcon_reno reno;
	struct tcon_filter standing;
	struct tcon_filter shortest;
	u32 longest_us[LONGEST_ROUNDS];
	u64 rest;
	u32 inverse_milli;
	u32 velocity;
	u32 round_end;
	u32 round_cwnd_bytes;
	u8 steady;
	u8 full;
	bool rose;
	bool up;
	bool lost;
};

static u32 least_inverse_milli(const struct tcon_cc *cc)
{
	return div_u64(1000 * 1000, cc->params[PARAM_DELTA]);
}

/* d_q */
static u32 queue_us(const struct copa *copa)
{
	u32 standing = tcon_filter_get(&copa->standing);

	return standing - min_t(u32, standing, tcon_filter_get(&copa->shortest));
}

/* current <= target: cwnd d_q <= RTTstanding / delta, in segments. */
static bool is_below_target(const struct tcon_cc *cc)
{
	const struct copa *copa = tcon_cc_priv(cc);
	u64 allowed = (u64)copa->inverse_milli * cc->mss_bytes / 1000;

	/* 30 bits by 32, and at most 26 by 32 */
	return (u64)cc->cwnd_bytes * queue_us(copa) <=
	       allowed * tcon_filter_get(&copa->standing);
}

static void take_rtt(const struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	struct copa *copa = tcon_cc_priv(cc);
	u32 rtt_us = clamp_t(s64, rs->rtt_us, 1, TCON_RTT_NONE_US - 1);

	if (!copa->standing.best[0].value) {
		tcon_filter_reset(&copa->standing, rs->now_us, rtt_us);
		tcon_filter_reset(&copa->shortest, rs->now_us,
				  min(rtt_us, cc->min_rtt_us));
	}
	tcon_filter_min(&copa->standing, cc->srtt_us / 2, rs->now_us, rtt_us);
	tcon_filter_min(&copa->shortest, SHORTEST_US, rs->now_us, rtt_us);
	copa->longest_us[0] = max(copa->longest_us[0], rtt_us);
}

/* Is d_q below a tenth of RTTmax - RTTmin? */
static bool is_nearly_empty(const struct copa *copa)
{
	u32 longest = 0, shortest = tcon_filter_get(&copa->shortest);
	int i;

	for (i = 0; i < LONGEST_ROUNDS; i++)
		longest = max(longest, copa->longest_us[i]);
	return queue_us(copa) <=
	       (longest - min(longest, shortest)) / NEARLY_EMPTY_DIV;
}

/* The end of a round: delta of the mode. */
static void choose_price(struct tcon_cc *cc)
{
	struct copa *copa = tcon_cc_priv(cc);
	u32 least = least_inverse_milli(cc), inverse = copa->inverse_milli;

	copa->full = min(copa->full + 1, FULL_ROUNDS + 1);
	if (copa->full <= FULL_ROUNDS || !cc->params[PARAM_COMPETITIVE])
		inverse = least;
	else
		inverse = copa->lost ? inverse / 2 : inverse + 1000;
	copa->inverse_milli = clamp_t(u32, inverse, least, PRICE_INVERSE_MAX);
	copa->lost = false;
}

/* v is 1 until the window has moved in one direction for some rounds. */
static void slow_down(struct copa *copa)
{
	copa->velocity = 1;
	copa->steady = 0;
}

/* The end of a round: v.  A window that has not moved has no direction. */
static void choose_velocity(const struct tcon_cc *cc)
{
	struct copa *copa = tcon_cc_priv(cc);
	bool rose = cc->cwnd_bytes > copa->round_cwnd_bytes;

	if (cc->cwnd_bytes == copa->round_cwnd_bytes) {
		slow_down(copa);
		return;
	}
	if (copa->steady && rose == copa->rose)
		copa->steady = min(copa->steady + 1, STEADY_ROUNDS + 1);
	else
		copa->steady = 1;
	copa->rose = rose;
	if (copa->steady > STEADY_ROUNDS)
		copa->velocity = min_t(u32, 2 * copa->velocity, VELOCITY_MAX);
	else
		copa->velocity = 1;
}

static void begin_round(const struct tcon_cc *cc)
{
	struct copa *copa = tcon_cc_priv(cc);

	memmove(copa->longest_us + 1, copa->longest_us,
		(LONGEST_ROUNDS - 1) * sizeof(copa->longest_us[0]));
	copa->longest_us[0] = 0;
	copa->round_end = cc->nxt;
	copa->round_cwnd_bytes = cc->cwnd_bytes;
}

/* Move cwnd by v / delta segments for each cwnd of @acked_bytes. */
static void move(struct tcon_cc *cc, u32 acked_bytes, bool up, bool may_grow)
{
	struct copa *copa = tcon_cc_priv(cc);
	u32 cwnd = cc->cwnd_bytes, least = tcon_reno_min_cwnd_bytes(cc), step;
	u64 per_window;

	if (up != copa->up) {
		copa->up = up;
		copa->rest = 0;
		slow_down(copa);
	}
	if (up && !may_grow)
		return;
	per_window = div_u64((u64)copa->inverse_milli * cc->mss_bytes, 1000);
	per_window = min_t(u64, per_window * copa->velocity, up ? cwnd : cwnd / 2);
	copa->rest += min(acked_bytes, cwnd) * per_window;
	step = div64_u64_rem(copa->rest, cwnd, &copa->rest);
	cc->cwnd_bytes = up ? min(cwnd + step, TCON_CWND_MAX_BYTES) :
			      max(cwnd - step, least);
}

static void pace(struct tcon_cc *cc)
{
	const struct copa *copa = tcon_cc_priv(cc);
	u64 rtt_us = tcon_filter_get(&copa->standing) ? :
		     cc->srtt_us ? : TCON_BW_NOMINAL_RTT_US;

	cc->pacing_rate_bps = max(PACING_FACTOR * tcon_bw_of(cc->cwnd_bytes, rtt_us),
				  tcon_cc_slowest_bps(cc));
}

static void tcon_copa_cong_control(struct tcon_cc *cc,
				   const struct tcon_rate_sample *rs)
{
	struct copa *copa = tcon_cc_priv(cc);
	bool over = tcon_reno_before(copa->round_end, cc->una);
	bool starts = tcon_reno_in_slow_start(cc);

	tcon_reno_acked(cc, &copa->reno);
	if (rs->rtt_us >= 0)
		take_rtt(cc, rs);
	if (!tcon_filter_get(&copa->standing))
		return;
	if (is_nearly_empty(copa))
		copa->full = 0;
	if (!starts)
		move(cc, rs->acked_sacked_bytes, is_below_target(cc),
		     rs->is_cwnd_limited);
	else if (!is_below_target(cc))
		cc->ssthresh_bytes = cc->cwnd_bytes;
	else if (rs->is_cwnd_limited)
		tcon_reno_slow_start(cc, rs->acked_sacked_bytes);
	if (over) {
		choose_price(cc);
		if (starts)
			slow_down(copa);
		else
			choose_velocity(cc);
		begin_round(cc);
	}
	/* below ssthresh would be slow start */
	if (cc->ssthresh_bytes != TCON_SSTHRESH_INFINITE)
		cc->ssthresh_bytes = min(cc->ssthresh_bytes, cc->cwnd_bytes);
	pace(cc);
}

static void tcon_copa_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				u64 now_us)
{
	struct copa *copa = tcon_cc_priv(cc);

	if (tcon_reno_note_loss(cc, &copa->reno, state)) {
		tcon_reno_reduce(cc, &copa->reno, cc->ssthresh_bytes, false);
		copa->lost = true;
	}
	if (state != TCON_CA_LOSS)
		return;
	cc->cwnd_bytes = tcon_reno_min_cwnd_bytes(cc);
	cc->ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	copa->rest = 0;
	slow_down(copa);
	begin_round(cc);
	pace(cc);
}

static void tcon_copa_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				 u64 now_us)
{
	struct copa *copa = tcon_cc_priv(cc);

	if (event == TCON_CA_EVENT_ECE)
		copa->lost = true;
}

/* The slow start of a time-out that was none is over, too. */
static void tcon_copa_undo_cwnd(struct tcon_cc *cc)
{
	struct copa *copa = tcon_cc_priv(cc);

	if (!tcon_reno_undo(cc, &copa->reno))
		return;
	if (cc->ca_state == TCON_CA_LOSS)
		cc->ssthresh_bytes = copa->reno.saved_ssthresh_bytes;
	copa->lost = false;
	pace(cc);
}

static void tcon_copa_init(struct tcon_cc *cc, u64 now_us)
{
	struct copa *copa = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(struct copa) > TCON_CC_PRIV_BYTES);
	copa->inverse_milli = least_inverse_milli(cc);
	copa->velocity = 1;
	begin_round(cc);
	pace(cc);
}

static int tcon_copa_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct copa *copa = tcon_cc_priv(cc);
	const char *mode = copa->full > FULL_ROUNDS ? "COMPETITIVE" : "DEFAULT";

	if (tcon_reno_in_slow_start(cc))
		mode = "SLOW_START";
	return scnprintf(buf, size, "mode=%s queue_us=%u velocity=%u inverse_delta=%u",
			 mode, queue_us(copa), copa->velocity,
			 copa->inverse_milli / 1000);
}

static struct tcon_cc_ops copa_ops = {
	.name		= "copa",
	.category	= "delay",
	.source		= "Arun and Balakrishnan, NSDI 2018",
	.owner		= THIS_MODULE,
	.paced		= true,
	.own_recovery	= true,
	.priv_bytes	= sizeof(struct copa),
	.params		= copa_params,
	.n_params	= ARRAY_SIZE(copa_params),
	.init		= tcon_copa_init,
	.cong_control	= tcon_copa_cong_control,
	.set_state	= tcon_copa_set_state,
	.cwnd_event	= tcon_copa_cwnd_event,
	.undo_cwnd	= tcon_copa_undo_cwnd,
	.get_info	= tcon_copa_get_info,
};

static int __init tcon_copa_module_init(void)
{
	return tcon_cc_register(&copa_ops);
}

static void __exit tcon_copa_module_exit(void)
{
	tcon_cc_unregister(&copa_ops);
}

module_init(tcon_copa_module_init);
module_exit(tcon_copa_module_exit);

MODULE_DESCRIPTION("TCon: Copa congestion control (Arun and Balakrishnan, 2018)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-copa");
