// SPDX-License-Identifier: GPL-2.0-only
/* Which CC is recommended for which path (userspace/vswitchd/tcon-advice.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <linux/kernel.h>

#include "userspace/vswitchd/tcon-advice.c"

#define MB 1000000ULL

static const struct {
	struct tcon_path path;	/* flows, delivered, sent, lost, marked, reordering; RTT, queue, idle */
	const char *kind, *cc;
} rows[] = {
	{ { 0 }, "unseen", NULL },
	{ { 1, MB - 1, MB, 9000, 0, 0, 20000, 3, 0 }, "unseen", NULL },
	{ { 0, 9 * MB, 9 * MB, 0, 0, 0, 0, 0, 0 }, "unseen", NULL },
	{ { 4, 9 * MB, 9 * MB, 0, 0, 0, 20000, 1.1, 0 }, "clean", NULL },
	/* Its losses and the length of its queue do not matter if it hardly sends. */
	{ { 4, 9 * MB, 9 * MB, MB, 0, 0, 20000, 3, 0.51 }, "idle", NULL },
	{ { 4, 9 * MB, 9 * MB, MB, 0, 3, 20000, 1.1, 0 }, "reordering", NULL },
	{ { 4, 9 * MB, 9 * MB, MB, 0, 2, 20000, 1.1, 0 }, "losing", "bbr" },
	{ { 4, 9 * MB, 9 * MB, 0, MB, 0, 1000, 1.1, 0 }, "marking", "dctcp" },
	/* Marks of the Internet are no reason for DCTCP. */
	{ { 4, 9 * MB, 9 * MB, 0, MB, 0, 20000, 1.1, 0 }, "clean", NULL },
	{ { 4, 9 * MB, 9 * MB, 4000, 0, 0, 20000, 1.1, 0 }, "clean", NULL },
	{ { 4, 9 * MB, 9 * MB, 5000, 0, 0, 20000, 1.1, 0 }, "losing", "bbr" },
	/* A queue that overflows loses, too. */
	{ { 4, 9 * MB, 9 * MB, 90000, 0, 0, 20000, 1.5, 0 }, "queueing", "bbr" },
	{ { 4, 9 * MB, 9 * MB, 0, 0, 0, 20000, 6, 0.5 }, "queueing", "bbr" },
};

static void each(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct tcon_advice *advice = tcon_advise(&rows[i].path);

		assert_string_equal(advice->kind, rows[i].kind);
		assert_true(!advice->cc == !rows[i].cc);
		if (advice->cc)
			assert_string_equal(advice->cc, rows[i].cc);
	}
}

/* For tests/lab/test_advice.py, which compares it with the files that it names. */
static void print(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(advices); i++)
		printf("%s\n", advices[i].evidence);
}

int main(int argc, char *argv[])
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each),
	};

	if (argc > 1 && !strcmp(argv[1], "--print")) {
		print();
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
