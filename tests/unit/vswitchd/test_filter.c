// SPDX-License-Identifier: GPL-2.0-only
/* The windowed extremum (algorithms/filter.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/kernel.h>

#include "algorithms/filter.h"

#define SAMPLES		4000

/* xorshift64 (Marsaglia 2003): the same sequence everywhere. */
static u64 random_u64(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void first_sample(void **state)
{
	struct tcon_filter f = {};

	assert_int_equal(tcon_filter_get(&f), 0);
	assert_int_equal(tcon_filter_max(&f, 10, 0, 7), 7);
	tcon_filter_reset(&f, 5, 3);
	assert_int_equal(tcon_filter_get(&f), 3);
	assert_int_equal(tcon_filter_min(&f, 10, 6, 9), 3);
	assert_int_equal(tcon_filter_max(&f, 10, 6, U64_MAX), U64_MAX);
}

/* One peak of 100 at round 0, then 50 in each round: it lasts 10 rounds. */
static void peak_expires(void **state)
{
	struct tcon_filter f = {};
	u32 round;

	tcon_filter_max(&f, 10, 0, 100);
	for (round = 1; round <= 10; round++)
		assert_int_equal(tcon_filter_max(&f, 10, round, 50), 100);
	assert_int_equal(tcon_filter_max(&f, 10, 11, 50), 50);
}

/*
 * Window 8.  100 at 0; 60 at 1 is too close to it; 80 at 3 is the runner-up, 70
 * at 5 the third.  At 9 the first is too old: 80; at 12 the second: 70 (it was
 * taken at 5, 7 ago); at 14 nothing but the tens is left.
 */
static void runners_up(void **state)
{
	static const struct {
		u32 when;
		u64 value, want;
	} step[] = {
		{ 0, 100, 100 }, { 1, 60, 100 }, { 3, 80, 100 }, { 5, 70, 100 },
		{ 8, 10, 100 }, { 9, 10, 80 }, { 11, 10, 80 }, { 12, 10, 70 },
		{ 13, 10, 70 }, { 14, 10, 10 },
	};
	struct tcon_filter f = {};
	int i;

	for (i = 0; i < ARRAY_SIZE(step); i++)
		assert_int_equal(tcon_filter_max(&f, 8, step[i].when,
						 step[i].value), step[i].want);
}

/* Both the first and the second are too old at once: the third, 8 old. */
static void two_expire(void **state)
{
	struct tcon_filter f = {};

	tcon_filter_max(&f, 8, 0, 100);
	tcon_filter_max(&f, 8, 3, 80);
	tcon_filter_max(&f, 8, 5, 70);
	assert_int_equal(tcon_filter_max(&f, 8, 13, 10), 70);
}

/* Silence for longer than the window leaves nothing but the new sample. */
static void silence(void **state)
{
	struct tcon_filter f = {};

	tcon_filter_max(&f, 10, 0, 100);
	assert_int_equal(tcon_filter_max(&f, 10, 5, 90), 100);
	assert_int_equal(tcon_filter_max(&f, 10, 16, 1), 1);
}

/* Time is modulo 2^32. */
static void wrap(void **state)
{
	u32 start = (u32)-5, i;
	struct tcon_filter f;

	tcon_filter_reset(&f, start, 100);
	for (i = 1; i <= 10; i++)
		assert_int_equal(tcon_filter_max(&f, 10, start + i, 50), 100);
	assert_int_equal(tcon_filter_max(&f, 10, start + 11, 50), 50);
}

/* The filter of a monotone sequence is exact: the newest, or the oldest. */
static void monotone(void **state)
{
	struct tcon_filter up = {}, down;
	u32 i;

	tcon_filter_reset(&down, 0, 0);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(tcon_filter_max(&up, 10, i, i * 3), i * 3);
		assert_int_equal(tcon_filter_min(&down, 10, i, 0), 0);
	}
	tcon_filter_reset(&down, 0, 5000);
	for (i = 0; i < 1000; i++)
		assert_int_equal(tcon_filter_min(&down, 10, i, 5000 - i),
				 5000 - i);
}

struct sample {
	u32 when;
	u64 value;
};

/* Extremum of the samples up to @n that are at most @age old. */
static u64 brute(const struct sample *s, int n, u32 age, bool want_max)
{
	u64 best = s[n].value;
	int i;

	for (i = n; i >= 0 && s[n].when - s[i].when <= age; i--)
		best = want_max ? max(best, s[i].value) : min(best, s[i].value);
	return best;
}

static bool in_window(const struct sample *s, int n, u32 window, u64 value)
{
	int i;

	for (i = n; i >= 0 && s[n].when - s[i].when <= window; i--)
		if (s[i].value == value)
			return true;
	return false;
}

/*
 * Invariants of every sequence: the result is a sample of the window, so not
 * beyond the true extremum.  And, with a sample in each unit of time, it is no
 * worse than the extremum of the last half of the window: when the first
 * expires, the runners-up are older than a quarter and than half.
 */
static u32 check_random(u64 seed, u32 window, u64 range, bool want_max)
{
	static struct sample s[SAMPLES];
	struct tcon_filter f = {};
	u32 exact = 0, when = (u32)seed;
	u64 got, outer, inner;
	int n;

	for (n = 0; n < SAMPLES; n++) {
		when += n ? random_u64(&seed) & 1 : 0;
		s[n].when = when;
		s[n].value = random_u64(&seed) % range;
		if (!n)
			tcon_filter_reset(&f, when, s[n].value);
		got = tcon_filter_update(&f, want_max, window, when,
					 s[n].value);
		outer = brute(s, n, window, want_max);
		inner = brute(s, n, window / 2, want_max);
		assert_true(in_window(s, n, window, got));
		if (want_max)
			assert_true(got <= outer && got >= inner);
		else
			assert_true(got >= outer && got <= inner);
		exact += got == outer;
	}
	return exact;
}

/* Noise: nearly always the truth. */
static void random_sequences(void **state)
{
	static const u32 windows[] = { 4, 10, 64, 1000 };
	static const u64 ranges[] = { 2, 100, 1ULL << 40, U64_MAX };
	u64 seed = 0x2545f4914f6cdd1dULL;
	u32 exact = 0, total = 0;
	int w, r, k;

	for (w = 0; w < ARRAY_SIZE(windows); w++)
		for (r = 0; r < ARRAY_SIZE(ranges); r++)
			for (k = 0; k < 4; k++) {
				exact += check_random(random_u64(&seed),
						      windows[w], ranges[r],
						      k & 1);
				total += SAMPLES;
			}
	print_message("exact in %u of %u\n", exact, total);
	assert_true(exact > total / 10 * 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_sample),
		cmocka_unit_test(peak_expires),
		cmocka_unit_test(runners_up),
		cmocka_unit_test(two_expire),
		cmocka_unit_test(silence),
		cmocka_unit_test(wrap),
		cmocka_unit_test(monotone),
		cmocka_unit_test(random_sequences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
