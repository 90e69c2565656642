// SPDX-License-Identifier: GPL-2.0-only
/*
 * FAST (algorithms/fast.c): the equation by hand, and in a closed loop its equilibrium: alpha
 * segments wait in the queue.  test_delay_equations.py has random flows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/fast.c"
#include "flow.h"
#include "sim.h"

#define BASE_US		100000

static struct fast *priv(const struct tcon_cc *cc)
{
	return tcon_cc_priv(cc);
}

/* In avoidance, in a round in which the window stays. */
static void flow_at(struct tcon_cc *cc, u32 segs)
{
	default_params(&fast_ops);
	start(cc, &fast_ops, MSS, SEGS(segs), BASE_US);
	cc->ssthresh_bytes = SEGS(segs);
	priv(cc)->rtt = (s64)BASE_US << RTT_BITS;
}

/*
 * alpha is 20, gamma 1/2.  Without a queue 100 segments become 110.  With an RTT of 5/4 of the
 * base 20 of them wait: they stay.  With 2 the equation has 50 + 25 + 10.  5 become 10 at most.
 */
static void equation(void **unused)
{
	static const struct {
		u32 segs, rtt_us, wanted;
	} t[] = {
		{ 100, BASE_US, 110 }, { 100, 125000, 100 }, { 100, 2 * BASE_US, 85 },
		{ 5, BASE_US, 10 }, { 2, 100 * BASE_US, 4 },
	};
	struct tcon_cc cc;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		flow_at(&cc, t[i].segs);
		priv(&cc)->rtt = (s64)t[i].rtt_us << RTT_BITS;
		assert_in_range(window_bytes(&cc), SEGS(t[i].wanted) - 1,
				SEGS(t[i].wanted));
	}
}

/* It is decided at the end of a round; the window then grows by what is acknowledged, and in the
 * round after that it stays.
 */
static void rounds(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 100);
	ack(&cc, SEGS(100), BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	ack(&cc, SEGS(4), BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));	/* decided */
	ack(&cc, SEGS(4), BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(104));
	ack(&cc, SEGS(80), BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(110));
	ack(&cc, SEGS(30), BASE_US);			/* the next round */
	assert_true(priv(&cc)->frozen);
	ack(&cc, SEGS(50), BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(110));
}

/* A window that does not bind is not raised. */
static void unused_window(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 100);
	ack_if(&cc, SEGS(101), BASE_US, false);
	ack(&cc, SEGS(50), BASE_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
}

/* A whole window that is acknowledged once in each round trip is no silence; this is one. */
static void whole_windows(void **unused)
{
	struct tcon_cc cc;
	int i;

	flow_at(&cc, 2);
	for (i = 0; i < 20; i++)
		whole_round(&cc, 1, BASE_US);
	assert_true(cc.cwnd_bytes > SEGS(20));
	cc.min_rtt_us = 2 * BASE_US;
	cc.app_limited_until = 1;
	event(&cc, TCON_CA_EVENT_TX_START);
	assert_int_equal(priv(&cc)->base_rtt_us, 2 * BASE_US);
}

/* A sample has the weight 3 / w; a quarter below 12 segments. */
static void average(void **unused)
{
	struct tcon_cc cc;

	flow_at(&cc, 100);
	take_rtt(&cc, 200000);
	assert_int_equal(priv(&cc)->rtt >> RTT_BITS, 103000);
	flow_at(&cc, 10);
	take_rtt(&cc, 200000);
	assert_int_equal(priv(&cc)->rtt >> RTT_BITS, 125000);
}

/* A lone flow has alpha segments in the queue, whatever the path, and loses nothing. */
static void equilibrium(void **unused)
{
	static const struct {
		u64 rate_bps;
		u32 rtt_us, alpha;
	} t[] = {
		{ 10000000, 50000, 5 }, { 100000000, 20000, 20 }, { 1000000000, 50000, 200 },
	};
	static struct sim s;
	double segs;
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		default_params(&fast_ops);
		params[PARAM_ALPHA] = t[i].alpha;
		sim_start(&s, &fast_ops, params, t[i].rate_bps, t[i].rtt_us,
			  t[i].rate_bps / 8 / 2, MSS);
		sim_run(&s, 30 * SIM_NS, NULL);
		sim_measure(&s);
		sim_run(&s, 40 * SIM_NS, NULL);
		segs = sim_queue_us(&s) * t[i].rate_bps / 8e6 / MSS;
		print_message("%llu bit/s, alpha %u: %.1f wait, utilisation %.4f\n",
			      (unsigned long long)t[i].rate_bps, t[i].alpha, segs,
			      sim_utilisation(&s));
		assert_true(fabs(segs - t[i].alpha) < 1.5 + t[i].alpha * 0.02);
		assert_true(sim_utilisation(&s) > 0.999);
		assert_int_equal(s.cc.lost_bytes, 0);
		sim_stop(&s);
	}
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_fast_module_init(), 0);
	assert_ptr_equal(registered, &fast_ops);
	shim_tcon_fast_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i;

	default_params(&fast_ops);
	extreme_paths(&fast_ops);
	for (i = 0; i < ARRAY_SIZE(fast_params); i++)
		params[i] = fast_params[i].max;
	extreme_paths(&fast_ops);
	for (i = 0; i < ARRAY_SIZE(fast_params); i++)
		params[i] = fast_params[i].min;
	extreme_paths(&fast_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equation),
		cmocka_unit_test(rounds),
		cmocka_unit_test(unused_window),
		cmocka_unit_test(whole_windows),
		cmocka_unit_test(average),
		cmocka_unit_test(equilibrium),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
