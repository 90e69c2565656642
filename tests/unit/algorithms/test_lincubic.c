// SPDX-License-Identifier: GPL-2.0-only
/*
 * LinCubic (algorithms/lincubic.c): where it is linear, where it goes on from there, and in a
 * closed loop what its thesis says of a lone flow (5.6).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "algorithms/cubic.c"
#include "algorithms/lincubic.c"
#include "flow.h"
#include "sim.h"

#define RTT_US		500000

static struct cubic *priv(const struct tcon_cc *cc)
{
	return tcon_cc_priv(cc);
}

static void ack_at(struct tcon_cc *cc, u64 now_us, u32 bytes)
{
	struct tcon_rate_sample rs = {
		.now_us = now_us,
		.delivered_bytes = -1,
		.interval_us = -1,
		.rtt_us = RTT_US,
		.acked_bytes = bytes,
		.acked_sacked_bytes = bytes,
		.is_cwnd_limited = true,
	};

	cc->una += bytes;
	cc->nxt += bytes;
	cc->ops->cong_control(cc, &rs);
}

/* A window of @segs after a loss at 100 segments, in avoidance since @T0_US. */
static void flow_at(struct tcon_cc *cc, u32 segs)
{
	default_params(&lincubic_ops);
	params[PARAM_TCP_FRIENDLINESS] = 0;
	start(cc, &lincubic_ops, MSS, SEGS(100), RTT_US);
	state(cc, TCON_CA_RECOVERY);
	cc->una = cc->nxt;
	state(cc, TCON_CA_OPEN);
	ack_at(cc, T0_US, 1);
	cc->cwnd_bytes = SEGS(segs);
}

/* Acknowledge @segs in ACKs of a segment each, spread over a round trip. */
static void round_of(struct tcon_cc *cc, u64 *now_us, u32 segs)
{
	u32 i;

	for (i = 0; i < segs; i++)
		ack_at(cc, *now_us += RTT_US / segs, MSS);
}

/*
 * From W_max - 2 to W_max + 2 there is a segment for each window, at any time: 98, 99, ... 103
 * takes five round trips.  (K is cbrt(30 / 0.4) = 4.217 s; at 20 s W_cubic is far beyond.)
 */
static void linear(void **unused)
{
	u64 now_us = T0_US + 20000000;
	struct tcon_cc cc;
	u32 segs;

	flow_at(&cc, 98);
	for (segs = 98; segs < 103; segs++) {
		assert_int_equal(cc.cwnd_bytes, SEGS(segs));
		round_of(&cc, &now_us, segs);
		assert_in_range(cc.cwnd_bytes, SEGS(segs), SEGS(segs + 1));
		ack_at(&cc, now_us += 40000, MSS);
	}
	assert_int_equal(cc.cwnd_bytes, SEGS(103));
}

/* Below and above it is CUBIC: at 90 and at 103 segments W_cubic of 20 s calls for the fastest. */
static void cubic_elsewhere(void **unused)
{
	u64 now_us = T0_US + 20000000;
	struct tcon_cc cc;

	flow_at(&cc, 90);
	round_of(&cc, &now_us, 10);
	assert_true(cc.cwnd_bytes > SEGS(93));
	now_us = T0_US + 20000000;
	flow_at(&cc, 103);
	round_of(&cc, &now_us, 10);
	assert_true(cc.cwnd_bytes > SEGS(104));
}

/*
 * At W_max + 3 W_cubic is K + cbrt(3 / 0.4) = 4.217 + 1.957 s after the loss.  So there the
 * epoch began 6.175 s ago, whenever it really did.
 */
static void continues(void **unused)
{
	u64 now_us = T0_US + 20000000;
	struct tcon_cc cc;

	flow_at(&cc, 102);
	ack_at(&cc, now_us, MSS);
	assert_true(priv(&cc)->on_plateau);
	cc.cwnd_bytes = SEGS(103);
	ack_at(&cc, now_us += 40000, MSS);
	assert_false(priv(&cc)->on_plateau);
	assert_in_range(now_us - priv(&cc)->curve.epoch_us, 6168000, 6182000);
}

/* Without a W_max there is no plateau. */
static void blind(void **unused)
{
	struct tcon_cc cc;

	default_params(&lincubic_ops);
	start(&cc, &lincubic_ops, MSS, SEGS(100), RTT_US);
	cc.ssthresh_bytes = SEGS(100);
	ack_at(&cc, T0_US, SEGS(1));
	assert_false(priv(&cc)->on_plateau);
	assert_int_equal(priv(&cc)->pace_segs, BLIND_GROWTH_DIV);
}

/**
 * struct lone - what a lone flow loses
 * @losses: how often
 * @lost_segs: how much in all
 * @highest_segs: largest window at a loss
 */
struct lone {
	u32 losses;
	u64 lost_segs;
	u32 highest_segs;
};

/* The thesis's flow: 1 Mbit/s, 500 ms, one BDP of buffer, 41 packets of 1500 bytes. */
static struct lone lone_flow(const struct tcon_cc_ops *ops, bool fast_convergence)
{
	static struct sim s;
	struct lone got = {};
	u32 i;

	default_params(ops);
	params[PARAM_BETA] = 800;	/* as there */
	params[PARAM_FAST_CONVERGENCE] = fast_convergence;
	sim_start(&s, ops, params, 1000000, 500000, 41 * 1500, 1500);
	sim_run(&s, 200 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 1200 * SIM_NS, NULL);
	got.losses = s.cuts;
	got.lost_segs = (s.cc.lost_bytes - s.since_lost) / 1500;
	for (i = 0; i < s.cuts; i++)
		got.highest_segs = max(got.highest_segs, s.cut[i].cwnd_bytes / 1500);
	print_message("%s, fast convergence %d: %u losses, %llu packets, the window %u at most\n",
		      ops->name, fast_convergence, got.losses,
		      (unsigned long long)got.lost_segs, got.highest_segs);
	sim_stop(&s);
	return got;
}

/*
 * The path holds 82 packets, and three ACKs show a loss.  Without fast convergence both lose
 * there; LinCubic does so less often, since it takes longer from W_max - 2 on.  With it W_max
 * is below 82 by more than two, and the plateau is not where the losses are.
 */
static void thesis(void **unused)
{
	struct lone cubic = lone_flow(&cubic_ops, false);
	struct lone lin = lone_flow(&lincubic_ops, false);

	assert_int_equal(lin.highest_segs, 85);
	assert_true(lin.losses * 100 < cubic.losses * 95);
	assert_true(lin.lost_segs < cubic.lost_segs);
	assert_true(lone_flow(&lincubic_ops, true).highest_segs > 88);
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_lincubic_module_init(), 0);
	assert_ptr_equal(registered, &lincubic_ops);
	assert_int_equal(registered->n_params, PARAM_RFC9438);
	shim_tcon_lincubic_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i;

	default_params(&lincubic_ops);
	extreme_paths(&lincubic_ops);
	for (i = 0; i < PARAM_RFC9438; i++)
		params[i] = cubic_params[i].min;
	extreme_paths(&lincubic_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linear),
		cmocka_unit_test(cubic_elsewhere),
		cmocka_unit_test(continues),
		cmocka_unit_test(blind),
		cmocka_unit_test(thesis),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
