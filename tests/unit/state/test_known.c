// SPDX-License-Identifier: GPL-2.0-only
/* Which packets of a connection TCon has seen: each state and each event (datapath/state/known.c). */
#include "datapath/state/known.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define for_each(x, max)	for ((x) = 0; (x) < (max); (x)++)

static void reasons_tell_the_states_apart(void **state)
{
	u32 a, b;

	assert_int_equal(tcon_known_reason(TCON_KNOWN_ALL), TCON_REASON_NONE);
	for_each(a, __TCON_KNOWN_MAX)
		for_each(b, a)
			assert_int_not_equal(tcon_known_reason(a), tcon_known_reason(b));
}

/* Whatever was known: with a new connection all is. */
static void connection_begins(void **state)
{
	u32 known;

	for_each(known, __TCON_KNOWN_MAX)
		assert_int_equal(tcon_known_after(known, TCON_KNOWN_BEGINS), TCON_KNOWN_ALL);
}

/* An agreement that passed unseen does not become known by what the ends send later. */
static void middle_stays(void **state)
{
	u32 known, event;

	for (known = TCON_KNOWN_MIDDLE; known < __TCON_KNOWN_MAX; known++)
		for_each(event, __TCON_KNOWN_EVENT_MAX)
			if (event != TCON_KNOWN_BEGINS)
				assert_int_equal(tcon_known_after(known, event), known);
}

static void what_passes_unseen_counts_in_any_state(void **state)
{
	u32 known;

	for_each(known, TCON_KNOWN_MIDDLE) {
		assert_int_equal(tcon_known_after(known, TCON_KNOWN_MISSED), TCON_KNOWN_MIDDLE);
		assert_int_equal(tcon_known_after(known, TCON_KNOWN_EVADED), TCON_KNOWN_HIDDEN);
	}
}

/* An ACK that comes here ends each doubt about the way of packets; the guest's data ends only the
 * doubt about data.
 */
static void astray_comes_back(void **state)
{
	u32 known;

	for_each(known, TCON_KNOWN_MIDDLE) {
		assert_int_equal(tcon_known_after(known, TCON_KNOWN_ADVANCED), TCON_KNOWN_ALL);
		assert_int_equal(tcon_known_after(known, TCON_KNOWN_DATA),
				 known == TCON_KNOWN_NOT_ACKS ? TCON_KNOWN_NOT_ACKS :
								TCON_KNOWN_ALL);
	}
	assert_int_equal(tcon_known_after(TCON_KNOWN_ALL, TCON_KNOWN_BEYOND),
			 TCON_KNOWN_NOT_ACKS);
	assert_int_equal(tcon_known_after(TCON_KNOWN_ALL, TCON_KNOWN_UNSENT),
			 TCON_KNOWN_NOT_DATA);
}

/* A second doubt of that kind does not take the first one's place. */
static void one_way_at_a_time(void **state)
{
	u32 known, event;

	for (known = TCON_KNOWN_NOT_ACKS; known <= TCON_KNOWN_NOT_DATA; known++)
		for (event = TCON_KNOWN_BEYOND; event <= TCON_KNOWN_UNSENT; event++)
			assert_int_equal(tcon_known_after(known, event), known);
}

static void kinds(void **state)
{
	u32 known;

	for_each(known, __TCON_KNOWN_MAX) {
		assert_false(tcon_known_is_astray(known) && tcon_known_is_middle(known));
		assert_int_equal(tcon_known_is_astray(known) || tcon_known_is_middle(known),
				 known != TCON_KNOWN_ALL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reasons_tell_the_states_apart),
		cmocka_unit_test(connection_begins),
		cmocka_unit_test(middle_stays),
		cmocka_unit_test(what_passes_unseen_counts_in_any_state),
		cmocka_unit_test(astray_comes_back),
		cmocka_unit_test(one_way_at_a_time),
		cmocka_unit_test(kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
