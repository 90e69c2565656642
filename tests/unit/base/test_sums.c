// SPDX-License-Identifier: GPL-2.0-only
/* Sums of logarithms (datapath/base/sums.h). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kernel.h>

#include "prng.h"
#include "base/sums.h"

static void as_libm(void **state)
{
	u64 rnd = 1, x;
	double exact;
	u32 i, log;

	for (i = 0; i < 200000; i++) {
		x = prng_u64(&rnd) >> prng_below(&rnd, 64);
		if (!x)
			continue;
		exact = log2l(x) * (1 << TCON_LOG_BITS);
		log = tcon_log2(x);
		assert_true(log <= exact + 1e-3 && log > exact - 1.01);
	}
}

static void powers_are_exact(void **state)
{
	u32 i;

	for (i = 0; i < 64; i++)
		assert_int_equal(tcon_log2(1ULL << i), i << TCON_LOG_BITS);
	assert_int_equal(tcon_log2(~0ULL), (64 << TCON_LOG_BITS) - 1);
}

static void squares(void **state)
{
	u64 sums[2] = {};

	tcon_sum_add(sums, 3);
	tcon_sum_add(sums, U32_MAX);
	assert_int_equal(sums[0], 3ULL + U32_MAX);
	assert_int_equal(sums[1], 9 + (u64)U32_MAX * U32_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_libm),
		cmocka_unit_test(powers_are_exact),
		cmocka_unit_test(squares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
