// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long the guest takes to answer (datapath/sender/answer.c).
 */
#include "datapath/sender/answer.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define FAR_US	100000U

/* The guest is given @tsval and echoes it @after_us later. */
static void answers(struct tcon_answer *a, u32 tsval, u64 *now_us, u32 after_us)
{
	tcon_answer_given(a, tsval, *now_us);
	*now_us += after_us;
	if (tcon_answer_is_one(a, tsval))
		tcon_answer_heard(a, *now_us);
}

static void first_answer_counts(void **state)
{
	struct tcon_answer a = {};
	u64 now_us = 5000;

	assert_int_equal(tcon_answer_wait_us(&a), TCON_ANSWER_NEAR_US);
	answers(&a, 100, &now_us, FAR_US);
	assert_int_equal(a.us, FAR_US);
	assert_true(tcon_answer_is_far(&a));
	assert_int_equal(tcon_answer_wait_us(&a), FAR_US + FAR_US / 4);
}

/* An echo of what it was given before is no answer; of something newer it is. */
static void only_an_echo_is_an_answer(void **state)
{
	struct tcon_answer a = {};

	assert_false(tcon_answer_is_one(&a, 100));
	tcon_answer_given(&a, 100, 1000);
	assert_false(tcon_answer_is_one(&a, 99));
	assert_true(tcon_answer_is_one(&a, 100));
	assert_true(tcon_answer_is_one(&a, 101));
	tcon_answer_heard(&a, 2000);
	assert_false(tcon_answer_is_one(&a, 101));
	/* The guest has had these two for who knows how long. */
	tcon_answer_given(&a, 100, 3000);
	tcon_answer_given(&a, 99, 3000);
	assert_int_equal(a.asked_us, 0);
	tcon_answer_given(&a, 101, 4000);
	tcon_answer_given(&a, 102, 5000);	/* one at a time */
	assert_int_equal(a.asked, 101);
	assert_int_equal(a.asked_us, 4000);
}

static void stamps_wrap(void **state)
{
	struct tcon_answer a = {};
	u64 now_us = 5000;

	answers(&a, U32_MAX, &now_us, 20);
	answers(&a, 3, &now_us, 10);
	assert_int_equal(a.us, 10);
}

/* A guest without data for a while does not seem far; one that moves away does in time. */
static void shortest_of_several_counts(void **state)
{
	struct tcon_answer a = {};
	u64 now_us = 5000;
	u32 i, tsval = 1;

	answers(&a, tsval++, &now_us, 50);
	for (i = 0; i < ANSWERS - 2; i++)
		answers(&a, tsval++, &now_us, 90000);
	answers(&a, tsval++, &now_us, 70);
	assert_int_equal(a.us, 50);
	for (i = 0; i < ANSWERS; i++) {
		assert_false(tcon_answer_is_far(&a));
		answers(&a, tsval++, &now_us, FAR_US + i);
	}
	assert_int_equal(a.us, FAR_US);
	answers(&a, tsval++, &now_us, 500);
	assert_int_equal(a.us, 500);
}

static void who_sleeps_does_not_count(void **state)
{
	struct tcon_answer a = {};
	u64 now_us = 5000;

	answers(&a, 1, &now_us, LONGEST_US + 1);
	assert_int_equal(a.us, 0);
	assert_int_equal(a.asked_us, 0);
	answers(&a, 2, &now_us, 0);
	assert_int_equal(a.us, 1);
}

static void bytes_cover_the_answer(void **state)
{
	struct tcon_cc cc = { .pacing_rate_bps = 80000000, .cwnd_bytes = 50000, .srtt_us = 20000 };
	struct tcon_answer a = { .us = TCON_ANSWER_NEAR_US };

	assert_int_equal(tcon_answer_bytes(&a, &cc), 0);
	a.us = FAR_US;
	assert_int_equal(tcon_answer_bytes(&a, &cc), 1000000);	/* 10 MB/s for 0.1 s */
	cc.pacing_rate_bps = 0;
	assert_int_equal(tcon_answer_bytes(&a, &cc), 250000);	/* five times cwnd */
	cc.srtt_us = 0;
	cc.cwnd_bytes = TCON_CWND_MAX_BYTES;
	assert_int_equal(tcon_answer_bytes(&a, &cc), TCON_CWND_MAX_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_answer_counts),
		cmocka_unit_test(only_an_echo_is_an_answer),
		cmocka_unit_test(stamps_wrap),
		cmocka_unit_test(shortest_of_several_counts),
		cmocka_unit_test(who_sleeps_does_not_count),
		cmocka_unit_test(bytes_cover_the_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
