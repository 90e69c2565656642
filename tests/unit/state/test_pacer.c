// SPDX-License-Identifier: GPL-2.0-only
/* Appointments, and how long a run of them takes (datapath/state/pacer.c). */
#include "datapath/state/pacer.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define FLOWS	2000

static struct tcon_due dues[FLOWS];
static u64 look_ns;
static u32 looked;

/* A look takes @look_ns; the clock is not read if that is nothing. */
static u64 look_at(struct tcon_due *due, u64 now_ns)
{
	looked++;
	shim_now_ns += look_ns ? : 1;
	return look_ns ? shim_now_ns : now_ns;
}

static int setup(void **unused)
{
	u32 i;

	shim_now_ns = NSEC_PER_SEC;
	looked = 0;
	assert_int_equal(tcon_pacer_init(look_at), 0);
	shim_bh++;
	for (i = 0; i < FLOWS; i++) {
		timerqueue_init(&dues[i].node);
		dues[i].pacer = NULL;
		tcon_pacer_at(&dues[i], shim_now_ns);
	}
	return 0;
}

static int teardown(void **unused)
{
	u32 i;

	for (i = 0; i < FLOWS; i++)
		tcon_pacer_cancel(&dues[i]);
	shim_bh--;
	tcon_pacer_exit();
	return 0;
}

/* Lets the timer go off; says how long that takes. */
static u64 run_ns(void)
{
	u64 start_ns = shim_now_ns = max_t(u64, shim_now_ns, shim_timer->expires);

	assert_true(shim_timer->armed);
	shim_timer->armed = false;
	shim_timer->function(shim_timer);
	return shim_now_ns - start_ns;
}

/* However many are due, and whatever each takes. */
static void has_a_budget(void **unused)
{
	static const u64 takes_ns[] = { 300, 20000, 900000 };
	u64 start_ns;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(takes_ns); i++) {
		if (i) {
			teardown(NULL);
			setup(NULL);
		}
		look_ns = takes_ns[i];
		while (looked < FLOWS) {
			start_ns = shim_now_ns;
			assert_true(run_ns() <= NSEC_PER_MSEC + look_ns);
			assert_true(shim_now_ns > start_ns);
			/* Else it would go off in the same softirq. */
			assert_true(!shim_timer->armed || shim_timer->expires >= shim_now_ns);
		}
		assert_int_equal(looked, FLOWS);
	}
}

/* Where there is nothing to do nobody reads the clock. */
static void counts_what_takes_no_time(void **unused)
{
	u32 before = 0;

	look_ns = 0;
	while (looked < FLOWS) {
		run_ns();
		assert_true(looked - before <= 512);
		before = looked;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(has_a_budget, setup, teardown),
		cmocka_unit_test_setup_teardown(counts_what_takes_no_time, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
