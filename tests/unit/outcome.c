// SPDX-License-Identifier: GPL-2.0-only
/*
 * In each unit test: CMOCKA_TEST_FILTER in the environment chooses tests by name.  An assertion
 * that fails leaves its test by longjmp(), and so leaves what the test has allocated: only where
 * all have passed is that a leak.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

int __lsan_is_turned_off(void);

static int failed;

/* LeakSanitizer, which looks when the program ends, asks first. */
int __lsan_is_turned_off(void)
{
	return failed;
}

static void note_status(int status, void *unused)
{
	failed = status;
}

__attribute__((constructor)) static void begin(void)
{
	const char *filter = getenv("CMOCKA_TEST_FILTER");

	if (filter)
		cmocka_set_test_filter(filter);
	on_exit(note_status, NULL);
}
