// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tahoe (algorithms/tahoe.c): its rules by hand.  test_delay_equations.py has random flows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "algorithms/tahoe.c"
#include "flow.h"

/* Of 40 segments a loss leaves two, at once, and slow start up to 20. */
static void loss(void **unused)
{
	struct tcon_cc cc;

	start(&cc, &tahoe_ops, MSS, SEGS(40), 10000);
	cc.ssthresh_bytes = SEGS(40);
	state(&cc, TCON_CA_RECOVERY);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_int_equal(cc.ssthresh_bytes, SEGS(20));
	ack(&cc, SEGS(4), 10000);
	assert_int_equal(cc.cwnd_bytes, SEGS(6));
	state(&cc, TCON_CA_LOSS);	/* of the same data */
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	assert_int_equal(cc.ssthresh_bytes, SEGS(20));
	ack(&cc, SEGS(18), 10000);
	assert_int_equal(cc.cwnd_bytes, SEGS(20));
	ack(&cc, SEGS(20), 10000);	/* avoidance */
	assert_int_equal(cc.cwnd_bytes, SEGS(21));
}

/* A mark halves; there is no slow start after it. */
static void mark(void **unused)
{
	struct tcon_cc cc;

	start(&cc, &tahoe_ops, MSS, SEGS(40), 10000);
	event(&cc, TCON_CA_EVENT_ECE);
	event(&cc, TCON_CA_EVENT_ECE);
	assert_int_equal(cc.cwnd_bytes, SEGS(20));
	assert_false(tcon_reno_in_slow_start(&cc));
}

static void undo(void **unused)
{
	struct tcon_cc cc;

	start(&cc, &tahoe_ops, MSS, SEGS(40), 10000);
	state(&cc, TCON_CA_RECOVERY);
	tahoe_ops.undo_cwnd(&cc);
	assert_int_equal(cc.cwnd_bytes, SEGS(40));
	assert_int_equal(cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
}

/* A duplicate ACK shows that something has arrived, but acknowledges nothing: no growth. */
static void duplicates(void **unused)
{
	struct tcon_rate_sample rs = {
		.now_us = T0_US,
		.rtt_us = -1,
		.acked_sacked_bytes = MSS,
		.is_cwnd_limited = true,
	};
	struct tcon_cc cc;

	start(&cc, &tahoe_ops, MSS, SEGS(40), 10000);
	state(&cc, TCON_CA_RECOVERY);
	tahoe_ops.cong_control(&cc, &rs);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
	ack_if(&cc, MSS, -1, false);
	assert_int_equal(cc.cwnd_bytes, SEGS(2));
}

static void module(void **unused)
{
	assert_int_equal(shim_tcon_tahoe_module_init(), 0);
	assert_ptr_equal(registered, &tahoe_ops);
	shim_tcon_tahoe_module_exit();
	assert_null(registered);
}

static void extremes(void **unused)
{
	extreme_paths(&tahoe_ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loss),
		cmocka_unit_test(mark),
		cmocka_unit_test(undo),
		cmocka_unit_test(duplicates),
		cmocka_unit_test(module),
		cmocka_unit_test(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
