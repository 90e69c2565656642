// SPDX-License-Identifier: GPL-2.0-only
/* Pacing rates in time and bytes (datapath/sender/pace.c). */
#include "datapath/sender/pace.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define HEADER_BYTES	66

/* An ordinary segment counts as it does for Linux's own sender; headers alone are not for free. */
static void charge(void **unused)
{
	static const u32 ordinary_bytes[] = { HEADER_BYTES, 100, 536, 1448, 8948 };
	u32 i, bytes;

	for (i = 0; i < ARRAY_SIZE(ordinary_bytes); i++)
		assert_int_equal(tcon_pace_charge_bytes(ordinary_bytes[i], HEADER_BYTES),
				 ordinary_bytes[i]);
	assert_int_equal(tcon_pace_charge_bytes(45 * 1448, 45 * HEADER_BYTES), 45 * 1448);
	for (bytes = 0; bytes < 2000; bytes++)
		assert_true(2 * tcon_pace_charge_bytes(bytes, HEADER_BYTES) + 1 >=
			    bytes + HEADER_BYTES);
	/* A super-packet of segments of 8 bytes. */
	assert_int_equal(tcon_pace_charge_bytes(65536, 8192 * HEADER_BYTES), 303104);
}

/* A long round trip has no bursts, a short one has them, as far as cwnd is large. */
static void burst(void **unused)
{
	struct tcon_cc cc = { .mss_bytes = 1448, .cwnd_bytes = 1000 * 1448, .min_rtt_us = 100 };

	assert_int_equal(tcon_pace_burst_bytes(&cc), 65536);
	cc.min_rtt_us = 1100;
	assert_int_equal(tcon_pace_burst_bytes(&cc), 16384);
	cc.cwnd_bytes = 21 * 1448;
	assert_int_equal(tcon_pace_burst_bytes(&cc), 7 * 1448);
	cc.min_rtt_us = 40000;
	assert_int_equal(tcon_pace_burst_bytes(&cc), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(charge),
		cmocka_unit_test(burst),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
