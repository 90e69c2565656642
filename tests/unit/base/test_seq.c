// SPDX-License-Identifier: GPL-2.0-only
/* Arithmetic on sequence numbers (datapath/base/seq.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kernel.h>

#include "prng.h"
#include "base/seq.h"

#define ROUNDS	200000

static void before_and_after(void **state)
{
	static const struct {
		u32 a, b;
		bool before;
	} row[] = {
		{ 0, 0, false },
		{ 0, 1, true },
		{ 1, 0, false },
		{ U32_MAX, 0, true },
		{ 0, U32_MAX, false },
		{ 0xffffff00, 0x100, true },
		{ 0x100, 0xffffff00, false },
		{ 0, 0x7fffffff, true },	/* the furthest that is right */
		{ 0x7fffffff, 0, false },
		{ 0x80000001, 0, true },
		{ 0, 0x80000001, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		assert_int_equal(seq_before(row[i].a, row[i].b), row[i].before);
		assert_int_equal(seq_after(row[i].b, row[i].a), row[i].before);
	}
}

static void min_and_max(void **state)
{
	assert_int_equal(seq_max(5, 7), 7);
	assert_int_equal(seq_max(7, 5), 7);
	assert_int_equal(seq_max(7, 7), 7);
	assert_int_equal(seq_min(5, 7), 5);
	assert_int_equal(seq_min(7, 5), 5);
	assert_int_equal(seq_max(0xfffffff0, 0x10), 0x10);
	assert_int_equal(seq_min(0xfffffff0, 0x10), 0xfffffff0);
}

static void between(void **state)
{
	assert_true(seq_between(5, 5, 7));
	assert_true(seq_between(6, 5, 7));
	assert_true(seq_between(7, 5, 7));
	assert_false(seq_between(8, 5, 7));
	assert_false(seq_between(4, 5, 7));
	assert_true(seq_between(5, 5, 5));
	assert_false(seq_between(6, 5, 5));
	assert_true(seq_between(0, 0xfffffff0, 0x10));
	assert_false(seq_between(0x11, 0xfffffff0, 0x10));
	assert_false(seq_between(0xffffffef, 0xfffffff0, 0x10));
}

/* Against 64-bit numbers, at any place of the circle. */
static void against_wide_numbers(void **state)
{
	u64 rng = 1;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		u64 base = prng_u64(&rng) >> 1;
		u64 a = base + prng_below(&rng, 0x80000000);
		u64 b = base + prng_below(&rng, 0x80000000);
		u64 c = base + prng_below(&rng, 0x80000000);
		u64 lo = min(b, c), hi = max(b, c);

		assert_int_equal(seq_before(a, b), a < b);
		assert_int_equal(seq_after(a, b), a > b);
		assert_int_equal(seq_max(a, b), (u32)max(a, b));
		assert_int_equal(seq_min(a, b), (u32)min(a, b));
		assert_int_equal(seq_between(a, lo, hi), a >= lo && a <= hi);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(before_and_after),
		cmocka_unit_test(min_and_max),
		cmocka_unit_test(between),
		cmocka_unit_test(against_wide_numbers),
	};

	return cmocka_run_group_tests_name("seq", tests, NULL, NULL);
}
