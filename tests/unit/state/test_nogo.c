// SPDX-License-Identifier: GPL-2.0-only
/* Destinations that stop ECN (datapath/state/nogo.c). */
#include "datapath/state/nogo.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct tcon_nogo nogo;

static struct tcon_key key4(u8 net, u8 host)
{
	struct tcon_key key = { .family = AF_INET };

	memcpy(key.peer.ip6, (u8[]) { 192, 0, net, host }, 4);
	return key;
}

static struct tcon_key key6(u8 net, u8 subnet)
{
	struct tcon_key key = { .family = AF_INET6 };

	memcpy(key.peer.ip6, (u8[]) { 0x20, 1, 0xd, 0xb8, 0, net, 0, subnet, 1 }, 9);
	return key;
}

static void add(struct tcon_key key, bool certain, u64 now_us)
{
	tcon_nogo_add(&nogo, &key, certain, now_us, now_us + 100);
	assert_true(nogo.any);
}

static bool has(struct tcon_key key, u64 now_us)
{
	return tcon_nogo_has(&nogo, &key, now_us);
}

static int setup(void **unused)
{
	memset(&nogo, 0, sizeof(nogo));
	return 0;
}

/* All hosts of a network, for a while. */
static void networks(void **unused)
{
	struct tcon_key zero4 = { .family = AF_INET }, zero6 = { .family = AF_INET6 };

	assert_false(has(key4(1, 1), 0));
	assert_false(has(zero4, 0));
	add(key4(1, 1), true, 1000);
	assert_true(has(key4(1, 1), 1000));
	assert_true(has(key4(1, 200), 1099));
	assert_false(has(key4(2, 1), 1000));
	assert_false(has(key4(1, 1), 1100));
	add(key6(1, 1), true, 1000);
	assert_true(has(key6(1, 7), 1000));
	assert_false(has(key6(2, 1), 1000));
	add(zero4, true, 1000);
	assert_true(has(zero4, 1000));
	assert_false(has(zero6, 1000));
}

/* The first sign is a doubt, the second in its time is proof, unless it was dispelled. */
static void doubts(void **unused)
{
	struct tcon_key key = key4(1, 9);

	add(key4(1, 1), false, 1000);
	assert_false(has(key4(1, 1), 1000));
	add(key4(1, 2), false, 1099);
	assert_true(has(key4(1, 1), 1198));
	assert_false(has(key4(1, 1), 1199));
	add(key4(1, 1), false, 1199);		/* too late to count with the others */
	assert_false(has(key4(1, 1), 1199));
	tcon_nogo_remove(&nogo, &key);
	add(key4(1, 1), false, 1200);
	assert_false(has(key4(1, 1), 1200));
	add(key4(1, 1), true, 1200);
	tcon_nogo_remove(&nogo, &key);
	assert_false(has(key4(1, 1), 1200));
	tcon_nogo_remove(&nogo, &key);		/* none */
}

/* More than there is room for: the oldest go. */
static void bounded(void **unused)
{
	int i;

	for (i = 0; i < TCON_NOGO_MAX + 3; i++)
		add(key4(i, 1), true, 1000 + i);
	for (i = 0; i < TCON_NOGO_MAX + 3; i++)
		assert_int_equal(has(key4(i, 1), 1050), i >= 3);
	add(key4(3, 1), true, 1050);		/* is known: takes no place */
	assert_true(has(key4(4, 1), 1050));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(networks, setup),
		cmocka_unit_test_setup(doubts, setup),
		cmocka_unit_test_setup(bounded, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
