// SPDX-License-Identifier: GPL-2.0-only
/*
 * TIMELY (algorithms/timely.c): the branches of its algorithm 1 by hand, and in a closed loop a
 * full path with a short queue.  test_delay_equations.py has random flows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/timely.c"
#include "flow.h"
#include "sim.h"

#define MIN_US		1000
#define RATE		1000000000ULL

static struct timely *priv(const struct tcon_cc *cc)
{
	return tcon_cc_priv(cc);
}

/* At 1 Gbit/s, after an event with @rtt_us. */
static void flow_at(struct tcon_cc *cc, u32 rtt_us)
{
	default_params(&timely_ops);
	start(cc, &timely_ops, MSS, SEGS(100), MIN_US);
	set_rate(cc, RATE);
	priv(cc)->rtt_us = rtt_us;
}

/*
 * minRTT is 1 ms, T_low 1.05 and T_high 1.5 ms.
 *	1.04 ms			10 Mbit/s more, though the RTT has risen
 *	2 ms			0.8 (1 - 1.5 / 2) = 0.2 less
 *	1.1 after 1.2 ms	10 Mbit/s more
 *	1.3 after 1.2 ms	0.875 of 0.1 ms are 0.0875 of minRTT: 0.07 less
 */
static void branches(void **unused)
{
	static const struct {
		u32 before_us, rtt_us;
		u64 wanted_bps;
	} t[] = {
		{ 1000, 1040, RATE + 10000000 }, { 2000, 2000, RATE / 10 * 8 },
		{ 1200, 1100, RATE + 10000000 }, { 1200, 1300, RATE / 100 * 93 },
	};
	struct tcon_cc cc;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		flow_at(&cc, t[i].before_us);
		take_event(&cc, t[i].rtt_us, true);
		assert_int_equal(priv(&cc)->rate_bps, t[i].wanted_bps);
		assert_int_equal(cc.pacing_rate_bps, t[i].wanted_bps);
	}
}

/* From the fifth event in a row five times as much; not any more after one that rises. */
static void hyperactive(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_at(&cc, 1200);
	for (i = 0; i < 4; i++)
		take_event(&cc, 1200, true);
	assert_int_equal(priv(&cc)->rate_bps, RATE + 40000000);
	take_event(&cc, 1200, true);
	assert_int_equal(priv(&cc)->rate_bps, RATE + 90000000);
	take_event(&cc, 1210, true);
	assert_int_equal(priv(&cc)->falling, 0);
}

/* A guest that sends less does not raise the rate, and a gradient above 1 does not take all. */
static void limits(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 1200);
	take_event(&cc, 1100, false);
	assert_int_equal(priv(&cc)->rate_bps, RATE);
	flow_at(&cc, 1000);
	params[PARAM_T_HIGH] = 1000000;
	take_event(&cc, 100000, true);
	assert_int_equal(priv(&cc)->rate_bps, RATE / 10 * 2);
}

static void loss(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 1200);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(priv(&cc)->rate_bps, RATE / 2);
	timely_ops.undo_cwnd(&cc);
	assert_int_equal(priv(&cc)->rate_bps, RATE);
}

/* As long as nothing comes back, what is sent again must become less. */
static void silence(void **unused)
{
	struct tcon_cc cc;
	u32 cwnd_bytes;

	flow_at(&cc, 1200);
	cwnd_bytes = cc.cwnd_bytes;
	state(&cc, TCON_CA_RECOVERY);
	state(&cc, TCON_CA_LOSS);
	state(&cc, TCON_CA_LOSS);
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(priv(&cc)->rate_bps, RATE / 16);
	assert_true(cc.cwnd_bytes <= cwnd_bytes / 8);
	timely_ops.undo_cwnd(&cc);
	assert_int_equal(priv(&cc)->rate_bps, RATE);
	state(&cc, TCON_CA_OPEN);
	event(&cc, TCON_CA_EVENT_ECE);		/* what a mark takes is not undone */
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(priv(&cc)->rate_bps, RATE / 4);
	timely_ops.undo_cwnd(&cc);
	assert_int_equal(priv(&cc)->rate_bps, RATE / 2);
}

/* With a segment in flight nothing is in flight once in each round trip.  The rate rises all the
 * same; but an RTT from before a silence has no gradient.
 */
static void from_the_floor(void **unused)
{
	static struct sim s;
	struct tcon_cc cc;

	default_params(&timely_ops);
	sim_start(&s, &timely_ops, params, RATE, MIN_US, RATE / 8 / 100, MSS);
	s.cc.srtt_us = 50 * MIN_US;	/* once */
	set_rate(&s.cc, 0);
	sim_run(&s, SIM_NS, NULL);
	assert_true(priv(&s.cc)->rate_bps > RATE / 10);
	sim_stop(&s);
	flow_at(&cc, 1200);
	cc.app_limited_until = 1;
	event(&cc, TCON_CA_EVENT_TX_START);
	assert_int_equal(priv(&cc)->rtt_us, 0);
}

/* A lone flow fills the path, and its queue is below T_high. */
static void lone(void **unused)
{
	static const struct {
		u64 rate_bps;
		u32 rtt_us;
	} t[] = { { 1000000000, 1000 }, { 1000000000, 200 }, { 10000000000ULL, 100 } };
	static struct sim s;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		default_params(&timely_ops);
		sim_start(&s, &timely_ops, params, t[i].rate_bps, t[i].rtt_us,
			  t[i].rate_bps / 8 / 100, MSS);
		sim_run(&s, 2 * SIM_NS, NULL);
		sim_measure(&s);
		sim_run(&s, 3 * SIM_NS, NULL);
		print_message("%llu bit/s, %u us: %.0f us wait, at most %llu, utilisation %.3f\n",
			      (unsigned long long)t[i].rate_bps, t[i].rtt_us,
			      sim_queue_us(&s),
			      (unsigned long long)s.rtt_max_us - t[i].rtt_us,
			      sim_utilisation(&s));
		assert_true(sim_queue_us(&s) < 500);
		assert_true(sim_utilisation(&s) > 0.9);
		assert_int_equal(s.cc.lost_bytes, 0);
		sim_stop(&s);
	}
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_timely_module_init(), 0);
	assert_ptr_equal(registered, &timely_ops);
	shim_tcon_timely_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i;

	default_params(&timely_ops);
	extreme_paths(&timely_ops);
	for (i = 0; i < ARRAY_SIZE(timely_params); i++)
		params[i] = timely_params[i].max;
	extreme_paths(&timely_ops);
	for (i = 0; i < ARRAY_SIZE(timely_params); i++)
		params[i] = timely_params[i].min;
	extreme_paths(&timely_ops);
}

static void t_low_is_not_above_t_high(void **unused)
{
	s64 values[] = { [PARAM_T_LOW] = 500, [PARAM_T_HIGH] = 500 };

	assert_null(timely_ops.complaint(values));
	values[PARAM_T_LOW] = 501;
	assert_string_equal(timely_ops.complaint(values), "t_low is more than t_high");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches),
		cmocka_unit_test(t_low_is_not_above_t_high),
		cmocka_unit_test(hyperactive),
		cmocka_unit_test(limits),
		cmocka_unit_test(loss),
		cmocka_unit_test(silence),
		cmocka_unit_test(from_the_floor),
		cmocka_unit_test(lone),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
