// SPDX-License-Identifier: GPL-2.0-only
/* Segments sent again (datapath/sender/resent.c). */
#include "datapath/sender/resent.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "prng.h"

#define BASE	0xffffffe0U	/* all tests cross 2^32 */
#define BYTES	100U

/* The @i-th entry in flight, from the oldest transmission on. */
static struct tcon_resend *nth(const struct tcon_resent *set, u32 i)
{
	struct tcon_resend *r;

	assert_true(i < set->n);
	list_for_each_entry(r, &set->sent, node)
		if (!i--)
			return r;
	fail_msg("not so many in flight");
	return NULL;
}

static void assert_entry(const struct tcon_resent *set, u32 i, u32 start,
			 u32 end, u32 order, u32 count)
{
	struct tcon_resend *r = nth(set, i);

	assert_int_equal(r->tx.start - BASE, start);
	assert_int_equal(r->tx.end - BASE, end);
	assert_int_equal(r->tx.order, order);
	assert_int_equal(r->count, count);
}

static struct tcon_resend *add(struct tcon_resent *set, u32 start, u32 end,
			       u32 order)
{
	struct tcon_resend *r = tcon_resent_add(set, BASE + start, BASE + end);

	if (r)
		r->tx.order = order;
	return r;
}

static struct tcon_resend *find(struct tcon_resent *set, u32 start, u32 end)
{
	return tcon_resent_find(set, BASE + start, BASE + end);
}

static void found_by_overlap(void **state)
{
	struct tcon_resent set;

	tcon_resent_init(&set);
	assert_null(find(&set, 0, BYTES));
	add(&set, 40, 60, 1);
	add(&set, 10, 20, 2);
	assert_null(find(&set, 0, 10));
	assert_null(find(&set, 20, 40));
	assert_null(find(&set, 60, 61));
	assert_ptr_equal(find(&set, 0, 11), nth(&set, 1));
	assert_ptr_equal(find(&set, 59, 60), nth(&set, 0));
	assert_ptr_equal(find(&set, 19, 41), nth(&set, 1));	/* the lower */
	assert_ptr_equal(tcon_resent_next(nth(&set, 1), BASE + 41),
			 nth(&set, 0));
	assert_null(tcon_resent_next(nth(&set, 1), BASE + 40));
	assert_null(tcon_resent_next(nth(&set, 0), BASE + BYTES));
	tcon_resent_clear(&set);
	assert_int_equal(set.n, 0);
	assert_null(find(&set, 0, BYTES));
}

/* A range that is sent once more becomes the newest, and is counted. */
static void again_and_again(void **state)
{
	struct tcon_resent set;

	tcon_resent_init(&set);
	tcon_resent_judge_lost(&set, add(&set, 0, 10, 1));
	add(&set, 10, 20, 2);
	assert_ptr_equal(nth(&set, 0), find(&set, 10, 20));
	assert_true(find(&set, 0, 10)->lost);
	add(&set, 0, 10, 3);
	assert_int_equal(set.n, 2);
	assert_entry(&set, 0, 10, 20, 2, 1);
	assert_entry(&set, 1, 0, 10, 3, 2);
	assert_false(nth(&set, 1)->lost);
	add(&set, 0, 20, 4);			/* of both, the higher count */
	assert_int_equal(set.n, 1);
	assert_entry(&set, 0, 0, 20, 4, 3);
	nth(&set, 0)->count = U8_MAX;
	add(&set, 5, 6, 5);
	assert_int_equal(nth(&set, 2)->count, U8_MAX);
	tcon_resent_clear(&set);
}

/* Both parts of a cut entry keep its transmission, and its place among the others. */
static void cut_in_two(void **state)
{
	struct tcon_resent set;

	tcon_resent_init(&set);
	add(&set, 0, 60, 1);
	add(&set, 80, 90, 2);
	assert_int_equal(tcon_resent_cut(&set, nth(&set, 0), BASE + 20,
					 BASE + 30), 10);
	assert_int_equal(set.n, 3);
	assert_entry(&set, 0, 0, 20, 1, 1);
	assert_entry(&set, 1, 30, 60, 1, 1);
	assert_entry(&set, 2, 80, 90, 2, 1);
	assert_int_equal(tcon_resent_cut(&set, nth(&set, 0), BASE - 5,
					 BASE + 5), 5);
	assert_entry(&set, 0, 5, 20, 1, 1);
	assert_int_equal(tcon_resent_cut(&set, nth(&set, 0), BASE + 15,
					 BASE + 70), 5);
	assert_entry(&set, 0, 5, 15, 1, 1);
	assert_int_equal(tcon_resent_cut(&set, nth(&set, 0), BASE,
					 BASE + BYTES), 10);
	assert_int_equal(set.n, 2);
	assert_entry(&set, 0, 30, 60, 1, 1);
	tcon_resent_clear(&set);
}

static void acknowledged(void **state)
{
	struct tcon_resent set;

	tcon_resent_init(&set);
	tcon_resent_ack(&set, BASE, BASE + 10);		/* empty */
	add(&set, 40, 60, 1);
	add(&set, 10, 20, 2);
	add(&set, 20, 30, 3);
	tcon_resent_ack(&set, BASE, BASE + 25);
	assert_int_equal(set.n, 2);
	assert_entry(&set, 1, 25, 30, 3, 1);
	assert_null(find(&set, 0, 25));
	tcon_resent_ack(&set, BASE + 25, BASE + 60);
	assert_int_equal(set.n, 0);
	add(&set, 70, 80, 4);
	assert_non_null(find(&set, 79, 90));
	tcon_resent_clear(&set);
}

static void no_memory(void **state)
{
	struct tcon_resent set;

	tcon_resent_init(&set);
	add(&set, 0, 30, 1);
	shim_alloc_failures = 1;
	assert_null(add(&set, 0, 10, 2));
	assert_entry(&set, 0, 0, 30, 1, 1);	/* nothing has changed */
	shim_alloc_failures = 1;
	assert_int_equal(tcon_resent_cut(&set, nth(&set, 0), BASE + 10,
					 BASE + 20), 10);
	assert_int_equal(set.n, 1);		/* the rear is forgotten */
	assert_entry(&set, 0, 0, 10, 1, 1);
	tcon_resent_clear(&set);
}

/* A full list forgets its oldest: there is always room for the next repair. */
static void full(void **state)
{
	struct tcon_resent set;
	u32 i;

	tcon_resent_init(&set);
	for (i = 0; i < TCON_RESENT_MAX; i++)
		assert_non_null(add(&set, 10 * i, 10 * i + 10, i));
	assert_non_null(add(&set, 10 * i, 10 * i + 10, i));
	assert_int_equal(set.n, TCON_RESENT_MAX);
	assert_null(find(&set, 0, 10));
	assert_non_null(find(&set, 10, 20));
	assert_non_null(add(&set, 10, 20, ++i));	/* takes its own place */
	assert_int_equal(set.n, TCON_RESENT_MAX);
	assert_non_null(find(&set, 20, 30));
	assert_non_null(add(&set, 42, 45, ++i));	/* cuts one in two */
	assert_int_equal(set.n, TCON_RESENT_MAX);
	tcon_resent_judge_lost(&set, find(&set, 100, 110));
	assert_non_null(add(&set, 10 * i, 10 * i + 10, i));
	assert_int_equal(set.n, TCON_RESENT_MAX);
	assert_null(find(&set, 100, 110));		/* lost ones first */
	tcon_resent_clear(&set);
}

/* Against a table that says of each byte which transmission was its last. */
static void random_operations(void **state)
{
	u32 order_of[BYTES] = {}, step, order = 0, lo, hi, i, n;
	struct tcon_resent set;
	struct tcon_resend *r;
	u64 rng = 11;

	tcon_resent_init(&set);
	for (step = 0; step < 50000; step++) {
		lo = prng_below(&rng, BYTES);
		hi = lo + 1 + prng_below(&rng, min(BYTES - lo, 20U));
		if (prng_below(&rng, 2)) {
			add(&set, lo, hi, ++order);
			for (i = lo; i < hi; i++)
				order_of[i] = order;
		} else {
			while ((r = find(&set, lo, hi)))
				tcon_resent_cut(&set, r, BASE + lo, BASE + hi);
			memset(order_of + lo, 0, (hi - lo) * sizeof(u32));
		}
		for (i = 0, n = 0; i < BYTES; i++) {
			r = find(&set, i, i + 1);
			assert_int_equal(r ? r->tx.order : 0, order_of[i]);
			n += r && r->tx.start == BASE + i;
		}
		assert_int_equal(n, set.n);
		for (i = 1; i < set.n; i++)
			assert_true(nth(&set, i - 1)->tx.order <=
				    nth(&set, i)->tx.order);
	}
	tcon_resent_clear(&set);
}

/* Where the budget allows no more a set keeps the newest, and is never refused one. */
static void budget(void **state)
{
	const unsigned int most = 3 * sizeof(struct tcon_resend);
	struct tcon_pool host = { 0 };
	struct tcon_budget b = { .pool = &host };
	struct tcon_resent set, other;
	u32 i;

	tcon_pool_divide(&host, most, most, 1);
	tcon_resent_init(&set);
	tcon_resent_init(&other);
	set.budget = &b;
	other.budget = &b;
	for (i = 0; i < 5; i++)
		assert_non_null(add(&set, 10 * i, 10 * i + 5, i));
	assert_int_equal(set.n, 3);
	assert_entry(&set, 0, 20, 25, 2, 1);
	assert_non_null(add(&other, 0, 5, 1));
	assert_int_equal(other.n, 1);
	assert_int_equal(tcon_resent_cut(&set, nth(&set, 0), BASE + 21,
					 BASE + 22), 1);	/* no room for the rest */
	assert_int_equal(set.n, 3);
	tcon_resent_clear(&set);
	tcon_resent_clear(&other);
	assert_int_equal(atomic_long_read(&b.used), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(found_by_overlap),
		cmocka_unit_test(again_and_again),
		cmocka_unit_test(cut_in_two),
		cmocka_unit_test(acknowledged),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(full),
		cmocka_unit_test(budget),
		cmocka_unit_test(random_operations),
	};

	return cmocka_run_group_tests_name("resent", tests, NULL, NULL);
}
