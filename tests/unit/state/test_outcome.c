// SPDX-License-Identifier: GPL-2.0-only
/* The record of a half-flow that has ended (datapath/state/outcome.c). */
#include "datapath/state/outcome.c"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* 1 MB in 2 s, 10 % of it sent again; the mean of 4 RTTs is 20 ms. */
static struct tcon_track a_flow(void)
{
	return (struct tcon_track) {
		.guest.acked = true, .peer.acked = true,
		.acked_bytes = 900000, .repeated_bytes = 60000, .repaired_bytes = 40000,
		.busy_us = 2000000, .rtt_sum_us = 80000, .rtt_samples = 4,
	};
}

static void told(void **state)
{
	struct tcon_track t = a_flow();
	struct tcon_outcome_of of;

	assert_true(tcon_outcome_of(&t, &of));
	assert_true(fabs(of.goodput / 1024.0 - log2(3.6e6)) < 0.003);
	assert_true(fabs(of.rtt / 1024.0 - log2(20000)) < 0.001);
	assert_int_equal(of.again, TCON_OUTCOME_PART / 10);
}

static void says_nothing(void **state)
{
	struct tcon_outcome_of of;
	struct tcon_track t;

	t = a_flow();
	t.peer.acked = false;
	assert_false(tcon_outcome_of(&t, &of));
	t = a_flow();
	t.acked_bytes = 0;
	assert_false(tcon_outcome_of(&t, &of));
	t = a_flow();
	t.busy_us = 0;
	assert_false(tcon_outcome_of(&t, &of));
	t = a_flow();
	t.rtt_samples = 0;
	assert_false(tcon_outcome_of(&t, &of));
}

/* The slowest, the fastest, what is sent again without end: nothing overflows. */
static void extremes(void **state)
{
	struct tcon_outcome_of of;
	struct tcon_track t;

	t = a_flow();
	t.acked_bytes = 1;
	t.busy_us = ~0ULL;
	assert_true(tcon_outcome_of(&t, &of));
	assert_int_equal(of.goodput, 0);
	t = a_flow();
	t.acked_bytes = 1ULL << 47;
	t.repeated_bytes = 1ULL << 46;
	t.busy_us = 1;
	t.rtt_sum_us = 1;
	assert_true(tcon_outcome_of(&t, &of));
	assert_true(of.goodput < 1 << 17);
	assert_int_equal(of.rtt, 0);
	assert_true(of.again <= TCON_OUTCOME_PART);
}

static void sums(void **state)
{
	static struct tcon_outcomes o;
	static const struct tcon_outcome_of a = { 10, 20, 30 }, b = { 1, 2, 3 };
	static const u64 taken[] = { 2, 11, 101, 22, 404, 33, 909 };
	static const u64 left[] = { 1, 1, 1, 2, 4, 3, 9 };
	u64 got_taken[__TCON_OUTCOME_MAX], got_left[__TCON_OUTCOME_MAX];

	spin_lock_init(&o.lock);
	tcon_outcomes_add(&o, true, &a);
	tcon_outcomes_add(&o, true, &b);
	tcon_outcomes_add(&o, false, &b);
	tcon_outcomes_read(&o, got_taken, got_left);
	assert_memory_equal(got_taken, taken, sizeof(taken));
	assert_memory_equal(got_left, left, sizeof(left));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(told),
		cmocka_unit_test(says_nothing),
		cmocka_unit_test(extremes),
		cmocka_unit_test(sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
