// SPDX-License-Identifier: GPL-2.0-only
/* Ports share a budget: each has its part, whatever the others take. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

static unsigned int shim_cpu;

#define SHIM_CPUS	4U
#include "base/budget.h"
#include "prng.h"

#define PORTS	5
#define GIVEN	256	/* takings that are given back elsewhere */

static struct tcon_pool pool;
static struct tcon_budget port[PORTS];

static void begin(unsigned int host, unsigned int each, unsigned int ports)
{
	unsigned int i;

	pool = (struct tcon_pool) { 0 };
	tcon_pool_divide(&pool, host, each, ports);
	for (i = 0; i < PORTS; i++)
		port[i] = (struct tcon_budget) { .pool = &pool };
}

/* Takes all that it gets, one by one. */
static long take_all(struct tcon_budget *b)
{
	long n = 0;

	for (; tcon_budget_allows(b); n++)
		tcon_budget_charge(b, 1);
	return n;
}

static void nobody(void **state)
{
	assert_true(tcon_budget_allows(NULL));
	tcon_budget_charge(NULL, 1);
}

static void one_port(void **state)
{
	begin(100, 200, 1);
	assert_int_equal(take_all(&port[0]), 100);
	begin(100, 30, 1);
	assert_int_equal(take_all(&port[0]), 30);
	assert_int_equal(tcon_budget_room(&port[0]), 0);
	tcon_pool_divide(&pool, 100, 20, 1);
	assert_int_equal(tcon_budget_room(&port[0]), -10);
}

/* The first takes what is lent, and all others still have their parts. */
static void parts(void **state)
{
	unsigned int i;

	begin(1000, 1000, PORTS);
	assert_int_equal(take_all(&port[0]), 1000 - 4 * 100);
	for (i = 1; i < PORTS; i++)
		assert_int_equal(take_all(&port[i]), 100);
	assert_int_equal(atomic_long_read(&pool.used), 1000);
	tcon_budget_charge(&port[0], -300);
	/* The parts stay set aside, although they are used up. */
	assert_int_equal(take_all(&port[0]), 0);
	tcon_budget_charge(&port[0], -250);
	assert_int_equal(take_all(&port[0]), 150);
}

/* Whatever is taken and given back: no bound is passed, and a part is always there. */
static void random_ports(void **state)
{
	u64 rng = 7;
	unsigned int i, n;
	long used;

	begin(1000, 700, PORTS);
	for (n = 0; n < 100000; n++) {
		i = prng_below(&rng, PORTS);
		used = atomic_long_read(&port[i].used);
		if (prng_below(&rng, 3) && tcon_budget_allows(&port[i]))
			tcon_budget_charge(&port[i], 1);
		else if (used)
			tcon_budget_charge(&port[i], -(long)prng_below(&rng, used + 1));
		assert_true(atomic_long_read(&pool.used) <= 1000);
		assert_true(atomic_long_read(&port[i].used) <= 700);
		for (i = 0; i < PORTS; i++)
			assert_true(atomic_long_read(&port[i].used) >= 100 ||
				    tcon_budget_allows(&port[i]));
	}
}

/*
 * Where the account was taken from on one CPU, and is given back on another, the common accounts
 * are written seldom, are off by no more than a part of the bound, and end at nothing.
 */
static void cpus_apart(void **state)
{
	struct tcon_budget *b = &port[0];
	long taken[GIVEN] = { 0 }, in_use = 0, settled, writes = 0;
	unsigned int i, n;
	u64 rng = 11;

	begin(64 << 20, 16 << 20, 2);
	b->apart = alloc_percpu(long);
	for (n = 0; n < 100000; n++) {
		i = prng_below(&rng, GIVEN);
		settled = atomic_long_read(&b->used);
		shim_cpu = prng_below(&rng, SHIM_CPUS);
		tcon_budget_charge(b, -taken[i]);
		writes += atomic_long_read(&b->used) != settled;
		in_use -= taken[i];
		taken[i] = prng_below(&rng, 2300);
		settled = atomic_long_read(&b->used);
		tcon_budget_charge(b, taken[i]);
		writes += atomic_long_read(&b->used) != settled;
		in_use += taken[i];
		assert_int_equal(tcon_budget_used(b), in_use);
		settled = atomic_long_read(&b->used);
		assert_int_equal(atomic_long_read(&pool.used), settled);
		assert_true(labs(settled - in_use) <= (16 << 20) >> TCON_APART_SHIFT);
	}
	assert_true(writes < 2 * 100000 / 100);
	for (i = 0; i < GIVEN; i++)
		tcon_budget_charge(b, -taken[i]);
	assert_int_equal(tcon_budget_used(b), 0);
	free_percpu(b->apart);
}

/* A bound that was set low is kept as well as a high one. */
static void little_apart(void **state)
{
	struct tcon_budget *b = &port[0];
	long n;

	begin(100000, 64 << 20, 1);
	b->apart = alloc_percpu(long);
	for (n = 0; tcon_budget_allows(b); n++) {
		shim_cpu = n % SHIM_CPUS;
		tcon_budget_charge(b, 100);
	}
	assert_in_range(tcon_budget_used(b), 100000,
			100000 + 100 + (100000 >> TCON_APART_SHIFT));
	free_percpu(b->apart);
}

/* Where one CPU does all the work, what it has not settled counts, and a bound is kept exactly. */
static void check_alone(unsigned int host, unsigned int each)
{
	struct tcon_budget *b = &port[0];
	long most = min(host, each);

	begin(host, each, 1);
	b->apart = alloc_percpu(long);
	shim_cpu = 0;
	while (tcon_budget_room(b) >= 3000)
		tcon_budget_charge(b, 3000);
	assert_in_range(tcon_budget_used(b), most - 3000, most);
	free_percpu(b->apart);
}

static void alone_apart(void **state)
{
	check_alone(64 << 20, 1 << 20);
	check_alone(1 << 20, 64 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody),
		cmocka_unit_test(one_port),
		cmocka_unit_test(parts),
		cmocka_unit_test(random_ports),
		cmocka_unit_test(cpus_apart),
		cmocka_unit_test(little_apart),
		cmocka_unit_test(alone_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
