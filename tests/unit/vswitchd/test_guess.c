// SPDX-License-Identifier: GPL-2.0-only
/* Which CC a guest runs (userspace/vswitchd/tcon-guess.c), by rounds of the lab, and made ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <linux/kernel.h>

#include "userspace/vswitchd/tcon-guess.c"
#include "guests.h"

static struct tcon_round rounds[TCON_ROUNDS_MAX];

/* Reads "SEGMENTS/RTT", with "!" behind it if something was lost; the RTT in 0.1 ms. */
static struct tcon_seen read_rounds(const char *text, unsigned int min_rtt_us)
{
	struct tcon_seen seen = { .rounds = rounds, .min_rtt_us = min_rtt_us };
	struct tcon_round *round = rounds;
	char *end;

	for (; *text; text = end + (*end == ' '), round++) {
		assert_true(round < rounds + ARRAY_SIZE(rounds));
		*round = (struct tcon_round){ .segs = strtoul(text, &end, 10) };
		assert_int_equal(*end, '/');
		round->rtt_us = 100 * strtoul(end + 1, &end, 10);
		if (*end == '!') {
			round->flags = TCON_ROUND_LOST;
			end++;
		}
	}
	seen.n_rounds = round - rounds;
	return seen;
}

static void assert_unknown(const struct tcon_seen *seen, const char *why)
{
	struct tcon_guess guess;

	tcon_guess(seen, &guess);
	assert_null(guess.cc);
	assert_string_equal(guess.why, why);
}

/* Each of the kernel's, as a guest of the lab ran it. */
static void names_each(void **state)
{
	struct tcon_guess guess;

	for (size_t i = 0; i < ARRAY_SIZE(guests); i++) {
		struct tcon_seen seen = read_rounds(guests[i].rounds, guests[i].min_rtt_us);

		tcon_guess(&seen, &guess);
		if (!guess.cc || strcmp(guess.cc, guests[i].cc))
			print_message("%s: %s\n", guests[i].cc, guess.cc ? guess.cc : guess.why);
		assert_non_null(guess.cc);
		assert_string_equal(guess.cc, guests[i].cc);
		assert_in_range(1000 * guess.confidence, 500, 1000);
	}
}

/* DCTCP is known before it has sent: no other SYN is ECN-capable. */
static void names_dctcp(void **state)
{
	struct tcon_seen seen = { .rounds = rounds, .min_rtt_us = UINT32_MAX, .ect_syn = true };
	struct tcon_guess guess;

	tcon_guess(&seen, &guess);
	assert_string_equal(guess.cc, "dctcp");
}

static void wants_rounds(void **state)
{
	struct tcon_seen seen = read_rounds(guests[0].rounds, guests[0].min_rtt_us);

	seen.n_rounds = ROUNDS_MIN - 1;
	assert_unknown(&seen, "too few round trips were seen");
	seen.n_rounds = 0;
	assert_unknown(&seen, "too few round trips were seen");
}

/* A rate of an application's own, on a path without a queue, is no CC's doing. */
static void does_not_name_an_application(void **state)
{
	struct tcon_seen seen = { .rounds = rounds, .n_rounds = 200, .min_rtt_us = 40000 };
	size_t i;

	for (i = 0; i < seen.n_rounds; i++)
		rounds[i] = (struct tcon_round){ .segs = 20, .rtt_us = 40000 };
	assert_unknown(&seen, "no CC that is known explains what was seen");
	for (i = 0; i < seen.n_rounds; i++)
		rounds[i].segs = 20 + i * i * 7919 % 101 % 13;
	assert_unknown(&seen, "no CC that is known explains what was seen");
}

static void other_limits(void **state)
{
	struct tcon_seen seen = read_rounds(guests[0].rounds, guests[0].min_rtt_us);
	size_t i;

	for (i = 0; i <= seen.n_rounds / 4; i++)
		rounds[i].flags = TCON_ROUND_IDLE;
	assert_unknown(&seen, "the guest has too little to send");
	for (i = 0; i <= seen.n_rounds / 4; i++)
		rounds[i].flags = TCON_ROUND_RECEIVER;
	assert_unknown(&seen, "the peer's window limits it");
}

/* Growth of one segment without a loss is Reno's, and other CCs' as well. */
static void does_not_choose_between_equals(void **state)
{
	struct tcon_seen seen = { .rounds = rounds, .n_rounds = 60, .min_rtt_us = 20000 };
	size_t i;

	for (i = 0; i < seen.n_rounds; i++)
		rounds[i] = (struct tcon_round){ .segs = 40 + i, .rtt_us = 20000 };
	assert_unknown(&seen, "several CCs explain what was seen");
}

/* Anything may come from the kernel. */
static void bears_anything(void **state)
{
	struct tcon_seen seen = { .rounds = rounds };
	struct tcon_guess guess;
	size_t i, n;

	for (n = 0; n < 20000; n++) {
		seen.n_rounds = n % (TCON_ROUNDS_MAX + 1);
		seen.min_rtt_us = n % 3 ? rand() : n % 2 ? 0 : UINT32_MAX;
		for (i = 0; i < seen.n_rounds; i++)
			rounds[i] = (struct tcon_round){
				.segs = rand() % (n % 2 ? 4 : 65536),
				.rtt_us = n % 5 ? rand() : 0,
				.flags = rand() % (n % 4 ? 2 : 32),
			};
		tcon_guess(&seen, &guess);
		assert_true(!guess.cc != !guess.why);
		assert_true(guess.confidence >= 0 && guess.confidence <= 1);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_each),
		cmocka_unit_test(names_dctcp),
		cmocka_unit_test(wants_rounds),
		cmocka_unit_test(does_not_name_an_application),
		cmocka_unit_test(other_limits),
		cmocka_unit_test(does_not_choose_between_equals),
		cmocka_unit_test(bears_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
