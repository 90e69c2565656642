// SPDX-License-Identifier: GPL-2.0-only
/* Which rule selects a half-flow, and at what cost (datapath/state/classifier.c). */
#include "datapath/state/classifier.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rules.h"

static struct tcon_classifier c;
static struct rule rules[TCON_MAX_RULES];
static u64 rnd;

static int setup(void **unused)
{
	tcon_classifier_init(&c);
	memset(rules, 0, sizeof(rules));
	rnd = 1;
	return 0;
}

static int teardown(void **unused)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rules); i++)
		if (rules[i].in_force)
			take(&c, &rules[i]);
	tcon_classifier_trim(&c);
	assert_int_equal(c.n_tuples, 0);
	tcon_classifier_exit(&c);
	return 0;
}

static void make_random(struct rule *rule, u32 priorities)
{
	random_match(&rnd, &rule->entry.match);
	rule->entry.share = random_share(&rnd);
	strscpy(rule->entry.bridge, bridge_names[prng_below(&rnd, BRIDGES)],
		sizeof(rule->entry.bridge));
	rule->priority = prng_below(&rnd, priorities);
}

static void agree(u32 n, u32 flows)
{
	struct tcon_traits traits;
	struct tcon_place place;
	struct tcon_key key;

	while (flows--) {
		place = place_of(prng_below(&rnd, BRIDGES), prng_below(&rnd, PORTS));
		random_key(&rnd, &key);
		random_traits(&rnd, &traits);
		place.traits = &traits;
		assert_ptr_equal(find(&c, &place, &key), find_plainly(rules, n, &place, &key));
	}
}

/* Random rules come and go; after each change random flows are looked up. */
static void as_one_by_one(void **unused)
{
	u32 n = 300, age, at;

	for (age = 1; age < 6000; age++) {
		at = prng_below(&rnd, n);
		if (rules[at].in_force) {
			take(&c, &rules[at]);
			if (prng_below(&rnd, 2))	/* a look-up may come before that */
				tcon_classifier_trim(&c);
		} else {
			make_random(&rules[at], age % 2 ? 3 : 65536);
			assert_int_equal(put(&c, &rules[at], age), 0);
		}
		agree(n, 20);
	}
}

static void many(void **unused)
{
	u32 i;

	for (i = 0; i < TCON_MAX_RULES; i++) {
		make_random(&rules[i], 100);
		assert_int_equal(put(&c, &rules[i], i), 0);
	}
	agree(TCON_MAX_RULES, 5000);
}

static void none(void **unused)
{
	struct tcon_place place = place_of(0, 0);
	struct tcon_key key;

	random_key(&rnd, &key);
	assert_null(find(&c, &place, &key));
	assert_null(tcon_classifier_get(&c, "br0", &rules[0].entry.match, 0));
	tcon_classifier_trim(&c);
	assert_null(find(&c, &place, &key));
}

/* The rule itself, not another that selects the same. */
static void the_same(void **unused)
{
	struct rule *a = &rules[0], *b = &rules[1];

	make_random(a, 10);
	*b = *a;
	b->priority = a->priority + 1;
	put(&c, a, 1);
	put(&c, b, 2);
	assert_ptr_equal(tcon_classifier_get(&c, a->entry.bridge, &a->entry.match, a->priority),
			 &a->entry);
	assert_ptr_equal(tcon_classifier_get(&c, b->entry.bridge, &b->entry.match, b->priority),
			 &b->entry);
	assert_null(tcon_classifier_get(&c, a->entry.bridge, &a->entry.match, b->priority + 1));
	assert_null(tcon_classifier_get(&c, "other", &a->entry.match, a->priority));
}

/* A rule that cannot be added changes nothing. */
static void no_memory(void **unused)
{
	int failures, err = -ENOMEM;

	make_random(&rules[0], 10);
	assert_int_equal(put(&c, &rules[0], 1), 0);
	make_random(&rules[1], 10);
	for (failures = 1; failures < 3; failures++) {
		shim_alloc_failures = failures;
		err = put(&c, &rules[1], 2);
		assert_int_equal(err, -ENOMEM);
		shim_alloc_failures = 0;
		agree(2, 500);
	}
	assert_int_equal(put(&c, &rules[1], 2), 0);
	take(&c, &rules[1]);
	shim_alloc_failures = 1;
	tcon_classifier_trim(&c);
	shim_alloc_failures = 0;
	agree(2, 500);
}

static void masks_of_ports(void **unused)
{
	const struct tcon_match m = {
		.ofport = TCON_OFPORT_ANY, .vlan = TCON_VLAN_ANY,
		.dport = htons(0x50), .dport_mask = htons(0xfff0),
	};
	struct tcon_key key = { .family = AF_INET, .gport = htons(7) };
	u32 port;

	for (port = 0; port < 65536; port++) {
		key.pport = htons(port);
		assert_int_equal(tcon_match_key(&m, &key), port >= 80 && port < 96);
	}
}

/* A rule for all flows of br0, but a share of them. */
static void put_share(struct rule *rule, u32 priority, u16 share)
{
	if (rule->in_force)
		take(&c, rule);
	memset(rule, 0, sizeof(*rule));
	snprintf(rule->entry.bridge, sizeof(rule->entry.bridge), "br0");
	rule->entry.match.ofport = TCON_OFPORT_ANY;
	rule->entry.match.vlan = TCON_VLAN_ANY;
	rule->entry.share = share;
	rule->priority = priority;
	assert_int_equal(put(&c, rule, 1), 0);
}

static struct tcon_key flow_number(u32 i)
{
	return (struct tcon_key) {
		.family = AF_INET, .guest.ip4 = htonl(0x0a000001 + i / 20000),
		.peer.ip4 = htonl(0x0a010001), .gport = htons(32768 + i % 20000),
		.pport = htons(443),
	};
}

/* As many as the share says, the same ones whenever they are asked for, and all of a smaller one. */
static void shares(void **unused)
{
	static const u16 some[] = { 1, 100, 1000, 5000, 9999 };
	struct tcon_place place = place_of(0, 0);
	static bool before[100000];
	u32 i, k, n;

	memset(before, 0, sizeof(before));
	for (k = 0; k < ARRAY_SIZE(some); k++) {
		put_share(&rules[0], 5, some[k]);
		for (i = n = 0; i < ARRAY_SIZE(before); i++) {
			struct tcon_key key = flow_number(i);
			bool now = find(&c, &place, &key);

			assert_true(now || !before[i]);
			before[i] = now;
			n += now;
		}
		/* Four standard deviations of a binomial distribution are 633 at most. */
		assert_true(abs((int)n - 10 * some[k]) < 640);
	}
}

/* A rule below has its share of what the one above has left. */
static void shares_are_independent(void **unused)
{
	struct tcon_place place = place_of(0, 0);
	u32 i, first = 0, second = 0;

	put_share(&rules[0], 6, 5000);
	put_share(&rules[1], 5, 5000);
	for (i = 0; i < 100000; i++) {
		struct tcon_key key = flow_number(i);
		const struct rule *found = find(&c, &place, &key);

		first += found == &rules[0];
		second += found == &rules[1];
	}
	assert_in_range(first, 49300, 50700);
	assert_in_range(second, 24300, 25700);
}

/* A fragment's ports are unknown, and so is its share; a rule for all is found. */
static void shares_need_ports(void **unused)
{
	struct tcon_place place = place_of(0, 0);
	struct tcon_key key = flow_number(0);

	key.gport = key.pport = 0;
	put_share(&rules[0], 5, 9999);
	assert_null(find(&c, &place, &key));
	rcu_read_lock();
	assert_int_equal(tcon_classifier_best_with_ports(&c, AF_INET), rules[0].entry.rank);
	rcu_read_unlock();
}

static void note(struct tcon_entry *e, void *found)
{
	((struct rule *)container_of(e, struct rule, entry))->age += 100;
	++*(u32 *)found;
}

/* Each that might take the flow is visited, once, and no other. */
static void each_share(void **unused)
{
	struct tcon_place place = place_of(0, 0);
	struct tcon_key key;
	u32 i, round, n, wanted;

	for (i = 0; i < 500; i++) {
		make_random(&rules[i], 3);
		assert_int_equal(put(&c, &rules[i], 1), 0);
	}
	for (round = 0; round < 500; round++) {
		random_key(&rnd, &key);
		for (i = wanted = 0; i < 500; i++) {
			const struct tcon_entry *e = &rules[i].entry;

			rules[i].age = e->share && !strcmp(e->bridge, place.bridge) &&
				       tcon_match_place(&e->match, &place) &&
				       tcon_match_traits(&e->match, place.traits) &&
				       tcon_match_key(&e->match, &key);
			wanted += rules[i].age;
		}
		n = 0;
		rcu_read_lock();
		tcon_classifier_each_share(&c, &place, &key, note, &n);
		rcu_read_unlock();
		assert_int_equal(n, wanted);
		for (i = 0; i < 500; i++)
			assert_true(!rules[i].age || rules[i].age == 101);
	}
}

/* The kinds of rules that a host has: by guest's network, by guest's port, by peer's TCP port, and
 * by two of them.  @i of many.
 */
static void make_usual(struct rule *rule, u32 i)
{
	struct tcon_match *m = &rule->entry.match;

	snprintf(rule->entry.bridge, sizeof(rule->entry.bridge), "br0");
	m->vlan = TCON_VLAN_ANY;
	m->ofport = TCON_OFPORT_ANY;
	rule->priority = 32768 + i % 7;
	if (i % 5 == 0 || i % 5 == 3) {
		m->family = AF_INET;
		m->src_plen = 24;
		m->src.ip4 = htonl(0x0a000000 | i << 8);
	}
	if (i % 5 == 1)
		m->ofport = i + 10;
	if (i % 5 == 2 || i % 5 == 3) {
		m->dport = htons(i + 1);
		m->dport_mask = htons(U16_MAX);
	}
	if (i % 5 == 4) {
		m->family = AF_INET6;
		m->dst_plen = 64;
		m->dst.words[1] = i;
	}
}

/* Steps of a look-up: how often it hashes, and how many entries of buckets it looks at. */
static u32 steps(const struct tcon_place *place, const struct tcon_key *key)
{
	const struct tcon_tuples *tuples = c.tuples;
	const struct rule *found = find(&c, place, key);
	struct tcon_entry *e;
	u32 i, n = 0, hash;

	for (i = 0; i < tuples->n; i++) {
		if (found && found->entry.rank > tuples->at[i].best)
			break;
		hash = hash_of(&c, &tuples->at[i].mask, place, key);
		n++;
		hlist_for_each_entry(e, bucket(tuples->buckets, hash), node)
			n++;
	}
	return n;
}

static u64 usual_steps(u32 n_rules)
{
	struct tcon_place place = place_of(0, 0);
	struct tcon_key key = { .family = AF_INET };
	u64 sum = 0;
	u32 i;

	setup(NULL);
	for (i = 0; i < n_rules; i++) {
		make_usual(&rules[i], i);
		assert_int_equal(put(&c, &rules[i], i), 0);
	}
	for (i = 0; i < 4096; i++) {	/* flows that no rule selects, too */
		key.guest.ip4 = htonl(0x0a000001 | prng_below(&rnd, 8192) << 8);
		key.pport = htons(prng_below(&rnd, 65536));
		assert_ptr_equal(find(&c, &place, &key),
				 find_plainly(rules, n_rules, &place, &key));
		sum += steps(&place, &key);
	}
	return sum;
}

static void as_cheap_as_few(void **unused)
{
	u64 few = usual_steps(10), all;

	teardown(NULL);
	all = usual_steps(TCON_MAX_RULES);
	print_message("steps of a look-up: %llu.%02llu with 10 rules, %llu.%02llu with %d\n",
		      few / 4096, few % 4096 * 100 / 4096, all / 4096, all % 4096 * 100 / 4096,
		      TCON_MAX_RULES);
	assert_true(all < 2 * few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(as_one_by_one, setup, teardown),
		cmocka_unit_test_setup_teardown(many, setup, teardown),
		cmocka_unit_test_setup_teardown(none, setup, teardown),
		cmocka_unit_test_setup_teardown(the_same, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory, setup, teardown),
		cmocka_unit_test(masks_of_ports),
		cmocka_unit_test_setup_teardown(shares, setup, teardown),
		cmocka_unit_test_setup_teardown(shares_are_independent, setup, teardown),
		cmocka_unit_test_setup_teardown(shares_need_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(each_share, setup, teardown),
		cmocka_unit_test_setup_teardown(as_cheap_as_few, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
