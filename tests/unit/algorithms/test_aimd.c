// SPDX-License-Identifier: GPL-2.0-only
/*
 * The example of algorithms/README.md (algorithms/example): its two rules, and the
 * mean window that they lead to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/example/tcon_aimd.c"
#include "flow.h"
#include "sim.h"

#define RTT_US	50000

static void flow_avoid(struct tcon_cc *cc, s64 increase, s64 decrease)
{
	params[PARAM_INCREASE] = increase;
	params[PARAM_DECREASE] = decrease;
	start(cc, &aimd_ops, MSS, SEGS(100), RTT_US);
	cc->ssthresh_bytes = SEGS(100);
}

/* A window acknowledged adds "increase" segments; one that does not bind, nothing. */
static void growth(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 1000, 500);
	ack(&cc, SEGS(100), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(101));
	flow_avoid(&cc, 2500, 500);
	ack(&cc, SEGS(100), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(102) + MSS / 2);
	ack_if(&cc, SEGS(100), RTT_US, false);
	assert_int_equal(cc.cwnd_bytes, SEGS(102) + MSS / 2);
	flow_avoid(&cc, 1, 500);	/* 1.448 bytes: the rest is kept */
	ack(&cc, SEGS(100), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(100) + 1);
	ack(&cc, SEGS(100), RTT_US);
	ack(&cc, SEGS(100), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(100) + 4);
	cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	ack(&cc, SEGS(100), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(200) + 4);
}

static void loss(void **unused)
{
	struct tcon_cc cc;

	flow_avoid(&cc, 1000, 700);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	ack(&cc, SEGS(100), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(70));
	state(&cc, TCON_CA_LOSS);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_int_equal(cc.ssthresh_bytes, SEGS(70));
	ack(&cc, SEGS(2), RTT_US);
	assert_int_equal(cc.cwnd_bytes, SEGS(4));
	aimd_ops.undo_cwnd(&cc);
	state(&cc, TCON_CA_OPEN);
	assert_int_equal(cc.cwnd_bytes, SEGS(100));
	assert_int_equal(cc.ssthresh_bytes, SEGS(100));
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_aimd_module_init(), 0);
	assert_ptr_equal(registered, &aimd_ops);
	shim_tcon_aimd_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	int i;

	default_params(&aimd_ops);
	extreme_paths(&aimd_ops);
	for (i = 0; i < ARRAY_SIZE(aimd_params); i++)
		params[i] = aimd_params[i].max;
	extreme_paths(&aimd_ops);
}

/*
 * Random loss p on a wide path.  In equilibrium a RTT adds a, and its p W losses take
 * (1 - b) W each: W = sqrt(a / (1 - b) / p), a little more with losses in one RTT
 * counting once.
 */
static void random_loss(void **unused)
{
	static struct sim s;
	double segs, want;

	default_params(&aimd_ops);
	params[PARAM_INCREASE] = 4000;
	params[PARAM_DECREASE] = 800;
	sim_start(&s, &aimd_ops, params, 1000000000, 50000, 1448000, MSS);
	s.loss_ppm = 1000;
	sim_run(&s, 20 * SIM_NS, NULL);
	sim_measure(&s);
	sim_run(&s, 420 * SIM_NS, NULL);
	segs = (s.cc.delivered_bytes - s.since_delivered) / (double)MSS /
	       (400 / 0.050);
	want = sqrt(4 / 0.2 / 0.001);
	print_message("%.1f segments per RTT, want %.1f\n", segs, want);
	assert_true(fabs(segs / want - 1) < 0.1);
	sim_stop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(growth),
		cmocka_unit_test(loss),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
		cmocka_unit_test(random_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
