// SPDX-License-Identifier: GPL-2.0-only
/* Sets of sequence ranges (datapath/sender/ranges.c), against a bitmap. */
#include "datapath/sender/ranges.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "prng.h"

#define SPACE		4096	/* sequence numbers that the model knows */
#define ROUNDS		30000

/**
 * struct model - the same set as one byte per sequence number
 * @base: sequence number of @in[0]
 * @in: is it in the set?
 */
struct model {
	u32 base;
	bool in[SPACE];
};

/* Sorted, disjoint, not touching, and the sum of bytes is right. */
static void check_form(const struct tcon_ranges *set)
{
	u32 bytes = 0;
	int i;

	assert_true(set->n <= set->room);
	assert_true(set->room <= TCON_RANGES_MAX);
	for (i = 0; i < set->n; i++) {
		assert_true(seq_before(set->range[i].start, set->range[i].end));
		if (i)
			assert_true(seq_after(set->range[i].start,
					      set->range[i - 1].end));
		bytes += set->range[i].end - set->range[i].start;
	}
	assert_int_equal(bytes, set->bytes);
}

static void check(const struct tcon_ranges *set, const struct model *m)
{
	u32 bytes = 0, i, at = 0;

	check_form(set);
	for (i = 0; i < SPACE; i++)
		bytes += m->in[i];
	assert_int_equal(bytes, set->bytes);
	for (i = 0; i < set->n; i++) {
		for (; at < set->range[i].start - m->base; at++)
			assert_false(m->in[at]);
		for (; at < set->range[i].end - m->base; at++)
			assert_true(m->in[at]);
	}
	for (; at < SPACE; at++)
		assert_false(m->in[at]);
}

static u32 model_count(const struct model *m, u32 lo, u32 hi)
{
	u32 n = 0;

	for (; lo < hi; lo++)
		n += m->in[lo];
	return n;
}

static void check_queries(const struct tcon_ranges *set, const struct model *m,
			  u32 lo, u32 hi)
{
	unsigned int i = tcon_ranges_find(set, m->base + lo);

	assert_int_equal(tcon_ranges_covered(set, m->base + lo, m->base + hi),
			 model_count(m, lo, hi));
	assert_true(i <= set->n);
	if (i < set->n)
		assert_true(seq_after(set->range[i].end, m->base + lo));
	if (i)
		assert_false(seq_after(set->range[i - 1].end, m->base + lo));
}

/* One random operation, on the set and on the model. */
static void operate(struct tcon_ranges *set, struct model *m, u64 *rng,
		    u32 longest)
{
	u32 lo = prng_below(rng, SPACE - longest);
	u32 hi = lo + 1 + prng_below(rng, longest), before;

	check_queries(set, m, lo, hi);
	switch (prng_below(rng, 16)) {
	case 0:
		lo /= 8;
		tcon_ranges_trim(set, m->base + lo);
		memset(m->in, 0, lo);
		break;
	case 1 ... 6:
		before = model_count(m, lo, hi);
		assert_int_equal(tcon_ranges_remove(set, m->base + lo,
						    m->base + hi), before);
		memset(m->in + lo, 0, hi - lo);
		break;
	default:
		assert_int_equal(tcon_ranges_add(set, m->base + lo,
						 m->base + hi), 0);
		memset(m->in + lo, 1, hi - lo);
	}
}

static void random_operations(u32 base, u64 seed, u32 longest)
{
	struct tcon_ranges set = {};
	struct model m = { .base = base };
	u64 rng = seed;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		operate(&set, &m, &rng, longest);
		check(&set, &m);
	}
	assert_true(set.room > FIRST_ROOM);	/* it has grown */
	tcon_ranges_clear(&set);
	assert_int_equal(set.n, 0);
	assert_int_equal(set.bytes, 0);
	assert_null(set.range);
}

static void against_bitmap(void **state)
{
	random_operations(1000, 1, 40);
	random_operations(1000, 2, 400);
}

/* The space of the model lies across 2^32. */
static void across_wrap(void **state)
{
	random_operations(-SPACE / 2, 3, 40);
	random_operations(-SPACE / 2, 4, 400);
	random_operations(0x80000000 - SPACE / 2, 5, 40);
}

static void touching_ranges_merge(void **state)
{
	struct tcon_ranges set = {};

	assert_int_equal(tcon_ranges_add(&set, 10, 20), 0);
	assert_int_equal(tcon_ranges_add(&set, 30, 40), 0);
	assert_int_equal(set.n, 2);
	assert_int_equal(tcon_ranges_add(&set, 20, 30), 0);
	assert_int_equal(set.n, 1);
	assert_int_equal(set.bytes, 30);
	assert_int_equal(tcon_ranges_add(&set, 0, 10), 0);
	assert_int_equal(set.n, 1);
	assert_int_equal(set.range[0].start, 0);
	assert_int_equal(set.range[0].end, 40);
	tcon_ranges_clear(&set);
}

static void trim_cuts_the_first(void **state)
{
	struct tcon_ranges set = {};

	tcon_ranges_trim(&set, 5);
	assert_int_equal(tcon_ranges_add(&set, 10, 20), 0);
	tcon_ranges_trim(&set, 10);
	assert_int_equal(set.bytes, 10);
	tcon_ranges_trim(&set, 15);
	assert_int_equal(set.range[0].start, 15);
	assert_int_equal(set.bytes, 5);
	tcon_ranges_trim(&set, 20);
	assert_int_equal(set.n, 0);
	tcon_ranges_clear(&set);
}

/* TCON_RANGES_MAX ranges of 2 bytes with holes of 2 between them. */
static void fill(struct tcon_ranges *set, u32 base)
{
	u32 i;

	for (i = 0; i < TCON_RANGES_MAX; i++)
		assert_int_equal(tcon_ranges_add(set, base + 4 * i,
						 base + 4 * i + 2), 0);
	assert_int_equal(set->n, TCON_RANGES_MAX);
	check_form(set);
}

static void full_set_refuses(void **state)
{
	u32 base = -TCON_RANGES_MAX, far = base + 5 * TCON_RANGES_MAX;
	struct tcon_ranges set = {};

	fill(&set, base);
	assert_int_equal(tcon_ranges_add(&set, far, far + 2), -ENOSPC);
	assert_int_equal(tcon_ranges_add(&set, base - 9, base - 5), -ENOSPC);
	assert_int_equal(set.n, TCON_RANGES_MAX);
	assert_int_equal(set.bytes, 2 * TCON_RANGES_MAX);
	check_form(&set);

	/* An addition that needs no further range is taken. */
	assert_int_equal(tcon_ranges_add(&set, base + 2, base + 4), 0);
	assert_int_equal(set.n, TCON_RANGES_MAX - 1);
	assert_int_equal(tcon_ranges_add(&set, far, far + 2), 0);
	assert_int_equal(set.n, TCON_RANGES_MAX);
	check_form(&set);
	tcon_ranges_clear(&set);
}

/* In a full set a split is not possible: the tail of the range goes too. */
static void full_set_loses_tail(void **state)
{
	struct tcon_ranges set = {};
	u32 sum;

	fill(&set, 100);
	assert_int_equal(tcon_ranges_add(&set, 102, 104), 0);	/* 100 .. 106 */
	assert_int_equal(tcon_ranges_add(&set, 99000, 99010), 0);
	assert_int_equal(set.n, TCON_RANGES_MAX);
	sum = set.bytes;
	assert_int_equal(tcon_ranges_remove(&set, 101, 102), 5);
	assert_int_equal(set.bytes, sum - 5);
	assert_int_equal(set.range[0].end, 101);
	assert_int_equal(tcon_ranges_remove(&set, 99005, 99006), 5);
	assert_int_equal(set.range[set.n - 1].end, 99005);
	check_form(&set);
	tcon_ranges_clear(&set);
}

static void no_memory_at_first(void **state)
{
	struct tcon_ranges set = {};

	shim_alloc_failures = 1;
	assert_int_equal(tcon_ranges_add(&set, 1, 2), -ENOMEM);
	assert_int_equal(shim_alloc_failures, 0);
	assert_int_equal(set.n, 0);
	assert_int_equal(set.bytes, 0);
	assert_int_equal(tcon_ranges_remove(&set, 1, 2), 0);
	assert_int_equal(tcon_ranges_covered(&set, 1, 2), 0);
	assert_int_equal(tcon_ranges_add(&set, 1, 2), 0);
	assert_int_equal(set.bytes, 1);
	tcon_ranges_clear(&set);
}

static void no_memory_to_grow(void **state)
{
	struct tcon_ranges set = {};
	u32 i;

	for (i = 0; i < FIRST_ROOM; i++)
		assert_int_equal(tcon_ranges_add(&set, 10 * i, 10 * i + 5), 0);
	shim_alloc_failures = 1;
	assert_int_equal(tcon_ranges_add(&set, 1000, 1001), -ENOMEM);
	assert_int_equal(set.n, FIRST_ROOM);
	assert_int_equal(set.bytes, 5 * FIRST_ROOM);
	shim_alloc_failures = 1;
	assert_int_equal(tcon_ranges_remove(&set, 12, 13), 3);	/* 12 .. 15 */
	assert_int_equal(shim_alloc_failures, 0);
	assert_int_equal(set.bytes, 5 * FIRST_ROOM - 3);
	check_form(&set);
	assert_int_equal(tcon_ranges_remove(&set, 22, 23), 1);	/* memory is back */
	assert_int_equal(set.n, FIRST_ROOM + 1);
	check_form(&set);
	tcon_ranges_clear(&set);
}

/* Beyond its first room a set grows as its budget allows. */
static void budget(void **state)
{
	struct tcon_pool host = { 0 };
	struct tcon_budget b = { .pool = &host };
	struct tcon_ranges set = { .budget = &b };
	u32 i;

	tcon_pool_divide(&host, 1, 1, 1);
	for (i = 0; i < FIRST_ROOM; i++)
		assert_int_equal(tcon_ranges_add(&set, 10 * i, 10 * i + 5), 0);
	assert_int_equal(atomic_long_read(&b.used),
			 FIRST_ROOM * sizeof(struct tcon_range));
	assert_int_equal(tcon_ranges_add(&set, 1000, 1001), -ENOSPC);
	assert_int_equal(set.n, FIRST_ROOM);
	tcon_pool_divide(&host, 1000, 1000, 1);
	assert_int_equal(tcon_ranges_add(&set, 1000, 1001), 0);
	assert_int_equal(atomic_long_read(&b.used),
			 2 * FIRST_ROOM * sizeof(struct tcon_range));
	tcon_ranges_clear(&set);
	assert_int_equal(atomic_long_read(&b.used), 0);
	assert_ptr_equal(set.budget, &b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_bitmap),
		cmocka_unit_test(across_wrap),
		cmocka_unit_test(touching_ranges_merge),
		cmocka_unit_test(trim_cuts_the_first),
		cmocka_unit_test(full_set_refuses),
		cmocka_unit_test(full_set_loses_tail),
		cmocka_unit_test(no_memory_at_first),
		cmocka_unit_test(no_memory_to_grow),
		cmocka_unit_test(budget),
	};

	return cmocka_run_group_tests_name("ranges", tests, NULL, NULL);
}
