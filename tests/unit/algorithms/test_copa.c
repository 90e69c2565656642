// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copa (algorithms/copa.c): its rules by hand, and in a closed loop what its paper says of a lone
 * flow and of one beside a flow that fills the queue.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/copa.c"
#include "flow.h"
#include "sim.h"

#define BASE_US		100000

static struct copa *priv(const struct tcon_cc *cc)
{
	return tcon_cc_priv(cc);
}

/* After slow start, with RTTmin and RTTstanding; the queue was nearly empty just now. */
static void flow_at(struct tcon_cc *cc, u32 segs, u32 standing_us)
{
	default_params(&copa_ops);
	start(cc, &copa_ops, MSS, SEGS(segs), BASE_US);
	cc->ssthresh_bytes = SEGS(segs);
	tcon_filter_reset(&priv(cc)->standing, T0_US, standing_us);
	tcon_filter_reset(&priv(cc)->shortest, T0_US, BASE_US);
}

/*
 * delta is 1/2.  With d_q = 20 ms the target is 1 / (0.5 0.020) = 100 segments/s, and at an RTT of
 * 120 ms that is a window of 12.
 */
static void target(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 12, 120000);
	assert_true(is_below_target(&cc));
	cc.cwnd_bytes++;
	assert_false(is_below_target(&cc));
	flow_at(&cc, 10000, BASE_US);	/* no queue: any rate */
	assert_true(is_below_target(&cc));
}

/* v / delta, which is 2 segments, for a window of ACKs: up without a queue, down with one. */
static void steps(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_at(&cc, 100, BASE_US);
	for (i = 0; i < 100; i++)
		move(&cc, MSS, true, true);
	assert_in_range(cc.cwnd_bytes, SEGS(102) - MSS / 20, SEGS(102));
	flow_at(&cc, 100, BASE_US);
	priv(&cc)->velocity = 8;
	priv(&cc)->up = true;
	for (i = 0; i < 10; i++)
		move(&cc, MSS, true, true);
	assert_in_range(cc.cwnd_bytes, SEGS(101) + MSS / 2, SEGS(101) + MSS * 6 / 10);
	move(&cc, MSS, false, true);	/* another direction: v is 1 */
	assert_int_equal(priv(&cc)->velocity, 1);
	flow_at(&cc, 100, BASE_US);
	move(&cc, SEGS(100), true, false);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
}

/* Three rounds in one direction, then 2, 4, 8. */
static void velocity(void **unused)
{
	static const u32 wanted[] = { 1, 1, 1, 2, 4, 8 };
	struct tcon_cc cc;
	int i;

	flow_at(&cc, 100, BASE_US);
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		cc.cwnd_bytes += MSS;
		choose_velocity(&cc);
		begin_round(&cc);
		assert_int_equal(priv(&cc)->velocity, wanted[i]);
	}
	cc.cwnd_bytes -= MSS;
	choose_velocity(&cc);
	assert_int_equal(priv(&cc)->velocity, 1);
}

/* A window that stays as it is has no direction; the next three rounds are slow again. */
static void still(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_at(&cc, 100, BASE_US);
	priv(&cc)->up = true;
	for (i = 0; i < 20; i++) {
		move(&cc, SEGS(100), true, false);
		choose_velocity(&cc);
		begin_round(&cc);
		assert_int_equal(priv(&cc)->velocity, 1);
	}
	for (i = 0; i < 3; i++) {
		cc.cwnd_bytes += MSS;
		choose_velocity(&cc);
		begin_round(&cc);
		assert_int_equal(priv(&cc)->velocity, 1);
	}
}

/* Ten round trips of slow start: when a queue ends it, v is 1. */
static void slow_start(void **unused)
{
	struct tcon_rate_sample rs = { .rtt_us = BASE_US, .is_cwnd_limited = true };
	struct tcon_cc cc;
	int i;

	default_params(&copa_ops);
	start(&cc, &copa_ops, MSS, SEGS(2), BASE_US);
	for (i = 0; i < 10; i++) {
		rs.now_us = T0_US + (i + 1) * BASE_US;
		rs.acked_bytes = cc.cwnd_bytes;
		rs.acked_sacked_bytes = cc.cwnd_bytes;
		cc.nxt += cc.cwnd_bytes;
		cc.una = cc.nxt;
		tcon_copa_cong_control(&cc, &rs);
	}
	assert_true(tcon_reno_in_slow_start(&cc));
	rs.rtt_us = 3 * BASE_US;
	rs.now_us += 3 * BASE_US;
	tcon_copa_cong_control(&cc, &rs);
	assert_false(tcon_reno_in_slow_start(&cc));
	assert_int_equal(priv(&cc)->velocity, 1);
}

/*
 * d_q is 50 ms of the 60 that the RTT has risen at most: not nearly empty.  In the sixth such
 * round 1 / delta begins to rise from 2; a loss halves it, but not below 2.
 */
static void competitive(void **unused)
{
	static const u32 wanted[] = { 2, 2, 2, 2, 2, 3, 4, 5, 6 };
	struct tcon_cc cc;
	int i;

	flow_at(&cc, 100, 150000);
	priv(&cc)->longest_us[1] = 160000;
	assert_false(is_nearly_empty(priv(&cc)));
	for (i = 0; i < ARRAY_SIZE(wanted); i++) {
		choose_price(&cc);
		assert_int_equal(priv(&cc)->inverse_milli, wanted[i] * 1000);
	}
	state(&cc, TCON_CA_RECOVERY);
	choose_price(&cc);
	assert_int_equal(priv(&cc)->inverse_milli, 3000);
	event(&cc, TCON_CA_EVENT_ECE);
	choose_price(&cc);
	assert_int_equal(priv(&cc)->inverse_milli, 2000);
	params[PARAM_COMPETITIVE] = 0;
	choose_price(&cc);
	choose_price(&cc);
	assert_int_equal(priv(&cc)->inverse_milli, 2000);
	tcon_filter_reset(&priv(&cc)->standing, T0_US, 106000);
	assert_true(is_nearly_empty(priv(&cc)));
}

/* A loss leaves the window, a time-out does not. */
static void loss(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 100, BASE_US);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_true(tcon_reno_in_slow_start(&cc));
	copa_ops.undo_cwnd(&cc);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_false(tcon_reno_in_slow_start(&cc));
}

/*
 * A lone flow fills the path, with a queue of some 1 / delta segments: the paper's analysis has it
 * between 0 and 2.5 / delta.  It loses nothing, and stays in default mode.
 */
static void lone(void **unused)
{
	static const s64 deltas[] = { 500, 100, 50 };
	static struct sim s;
	double segs;
	int i;

	for (i = 0; i < ARRAY_SIZE(deltas); i++) {
		default_params(&copa_ops);
		params[PARAM_DELTA] = deltas[i];
		sim_start(&s, &copa_ops, params, 100000000, 20000, 500000, MSS);
		sim_run(&s, 10 * SIM_NS, NULL);
		sim_measure(&s);
		sim_run(&s, 30 * SIM_NS, NULL);
		segs = sim_queue_us(&s) * 100e6 / 8e6 / MSS;
		print_message("delta %.3f: %.1f segments wait, utilisation %.4f\n",
			      deltas[i] / 1000.0, segs, sim_utilisation(&s));
		assert_true(segs < 2.5 * 1000 / deltas[i]);
		assert_true(segs > 0.5 * 1000 / deltas[i]);
		assert_true(sim_utilisation(&s) > 0.97);
		assert_true(priv(&s.cc)->full <= FULL_ROUNDS);
		assert_int_equal(s.cc.lost_bytes - s.since_lost, 0);
		sim_stop(&s);
	}
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_copa_module_init(), 0);
	assert_ptr_equal(registered, &copa_ops);
	shim_tcon_copa_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i;

	default_params(&copa_ops);
	extreme_paths(&copa_ops);
	for (i = 0; i < ARRAY_SIZE(copa_params); i++)
		params[i] = copa_params[i].max;
	extreme_paths(&copa_ops);
	for (i = 0; i < ARRAY_SIZE(copa_params); i++)
		params[i] = copa_params[i].min;
	extreme_paths(&copa_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(target),
		cmocka_unit_test(steps),
		cmocka_unit_test(velocity),
		cmocka_unit_test(still),
		cmocka_unit_test(slow_start),
		cmocka_unit_test(competitive),
		cmocka_unit_test(loss),
		cmocka_unit_test(lone),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
