// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBRv2 (algorithms/bbr2.c): what it does otherwise than version 3 (test_bbr3.c), with values
 * worked out by hand from its draft, and in a closed loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

#include "algorithms/bbr2.c"
#include "model_flow.h"
#include "sim.h"

#define BW_BPS		(80 * MBPS)	/* 100 segments per RTT */

static struct bbr3 *priv(const struct flow *f)
{
	return tcon_cc_priv(&f->cc);
}

static void assert_state(const struct flow *f, enum bbr3_state state)
{
	assert_string_equal(state_names[priv(f)->state], state_names[state]);
}

/* 8 Mbit/s times 739/256 and 0.99: 23093750 * 0.99 = 22862812. */
static void startup(void **unused)
{
	struct flow f;

	start(&f, &bbr2_ops);
	assert_state(&f, STARTUP);
	assert_in_range(f.cc.pacing_rate_bps, 22862812, 22862813);
}

/* Eight ACKs with losses of more than 2 % end STARTUP; longterm is the BDP, not what arrived. */
static void startup_losses(void **unused)
{
	struct flow f;
	int i;

	start(&f, &bbr2_ops);
	f.cc.inflight_bytes = SEGS(200);
	ack(&f, RTT_US, SEGS(100), BW_BPS, true);
	set_state(&f, TCON_CA_RECOVERY);
	f.rs.tx_in_flight_bytes = SEGS(200);
	f.rs.lost_bytes = SEGS(10);
	for (i = 0; i < 8; i++) {
		f.cc.lost_bytes += MSS;
		ack(&f, 1, MSS, BW_BPS, false);
		assert_state(&f, STARTUP);
	}
	priv(&f)->latest_bytes = SEGS(150);
	ack(&f, RTT_US, MSS, BW_BPS, true);
	assert_state(&f, DRAIN);
	assert_int_equal(priv(&f)->longterm_bytes, SEGS(100));
}

/* Until the BDP is in flight, however many rounds that takes: at 88/256. */
static void drain(void **unused)
{
	struct flow f;
	int i;

	start(&f, &bbr2_ops);
	f.cc.inflight_bytes = SEGS(200);
	f.rs.tx_in_flight_bytes = SEGS(200);
	for (i = 0; i < 4; i++)
		ack(&f, RTT_US, SEGS(100), BW_BPS, true);
	assert_state(&f, DRAIN);
	assert_int_equal(f.cc.pacing_rate_bps, 27225000);
	for (i = 0; i < 10; i++)
		ack(&f, RTT_US, SEGS(1), BW_BPS, true);
	assert_state(&f, DRAIN);
	f.cc.inflight_bytes = SEGS(100);
	ack(&f, 1, MSS, BW_BPS, false);
	assert_state(&f, CRUISE);
	enter_down(&f.cc, f.now_us);
	set_pacing_rate(&f.cc, BW_BPS, gains_of(priv(&f), DOWN)->pacing);
	assert_int_equal(f.cc.pacing_rate_bps, 59400000);	/* 0.75 */
}

/*
 * UP lasts more than min_rtt, 10 ms, and until 1.25 BDP and two segments are in flight: 127.  A
 * plateau does not end it.
 */
static void up(void **unused)
{
	struct flow f;
	int i;

	start(&f, &bbr2_ops);
	f.cc.inflight_bytes = SEGS(200);
	f.rs.tx_in_flight_bytes = SEGS(100);
	for (i = 0; i < 4; i++)
		ack(&f, RTT_US, SEGS(100), BW_BPS, true);
	f.cc.inflight_bytes = SEGS(100);
	ack(&f, 1, MSS, BW_BPS, false);
	ack(&f, RTT_US, MSS, BW_BPS, true);
	ack(&f, 3 * USEC_PER_SEC, MSS, BW_BPS, false);
	assert_state(&f, REFILL);
	ack(&f, RTT_US, MSS, BW_BPS, true);
	assert_state(&f, UP);
	f.cc.inflight_bytes = SEGS(127);
	ack(&f, RTT_US, MSS, BW_BPS, false);
	assert_state(&f, UP);
	f.cc.inflight_bytes = SEGS(127) - 1;
	for (i = 0; i < 5; i++)
		ack(&f, RTT_US, MSS, BW_BPS, true);
	assert_state(&f, UP);
	f.cc.inflight_bytes = SEGS(127);
	ack(&f, 1, MSS, BW_BPS, false);
	assert_state(&f, DOWN);
	assert_false(priv(&f)->prev_precautionary);
}

/* A lone flow fills the path, deep or shallow, and keeps the queue short. */
static void lone(void **unused)
{
	static const u32 buffer_bytes[] = { 500000, 50000 };
	static struct sim s;
	int i;

	for (i = 0; i < ARRAY_SIZE(buffer_bytes); i++) {
		reset(&bbr2_ops);
		random_seed = 1;
		sim_start(&s, &bbr2_ops, params, 100 * MBPS, 20000,
			  buffer_bytes[i], MSS);
		sim_run(&s, 10 * SIM_NS, NULL);
		sim_measure(&s);
		sim_run(&s, 40 * SIM_NS, NULL);
		print_message("buffer %u: use %.3f, queue %.0f us\n", buffer_bytes[i],
			      sim_utilisation(&s), sim_queue_us(&s));
		assert_true(sim_utilisation(&s) > 0.93);
		assert_true(sim_queue_us(&s) < 2000);
		sim_stop(&s);
	}
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_bbr2_module_init(), 0);
	shim_tcon_bbr2_module_exit();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(startup),
		cmocka_unit_test(startup_losses),
		cmocka_unit_test(drain),
		cmocka_unit_test(up),
		cmocka_unit_test(lone),
		cmocka_unit_test(module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
