// SPDX-License-Identifier: GPL-2.0-only
/* What ports share: each has its part, whatever the others take. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/budget.h"
#include "prng.h"

#define PORTS	5

static unsigned int host_most, port_most;
static struct tcon_pool pool;
static struct tcon_budget port[PORTS];

static void begin(unsigned int host, unsigned int each, unsigned int ports)
{
	unsigned int i;

	host_most = host;
	port_most = each;
	pool = (struct tcon_pool) { .most = &host_most, .ports = { ports } };
	for (i = 0; i < PORTS; i++)
		port[i] = (struct tcon_budget) { .pool = &pool, .most = &port_most };
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
	port_most = 20;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody),
		cmocka_unit_test(one_port),
		cmocka_unit_test(parts),
		cmocka_unit_test(random_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
