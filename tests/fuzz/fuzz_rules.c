// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules come and go, and half-flows are looked up: the classifier must find what one rule after
 * the other would.  An input is a row of such events, of four bytes each.
 */
#include <stdint.h>

#include "datapath/state/classifier.c"
#include "tests/unit/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RULES	64

static struct tcon_classifier c;
static struct rule rules[RULES];

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void change(struct rule *rule, u32 priority, u64 *rnd, u32 age)
{
	const char *bridge = bridge_names[prng_below(rnd, BRIDGES)];
	struct tcon_entry *e;

	if (rule->in_force) {
		take(&c, rule);
		if (prng_below(rnd, 2))
			tcon_classifier_trim(&c);
		return;
	}
	memset(rule, 0, sizeof(*rule));
	random_match(rnd, &rule->entry.match);
	rule->entry.share = random_share(rnd);
	strscpy(rule->entry.bridge, bridge, sizeof(rule->entry.bridge));
	rule->priority = priority;
	shim_alloc_failures = !prng_below(rnd, 8);
	put(&c, rule, age);
	shim_alloc_failures = 0;
	e = tcon_classifier_get(&c, bridge, &rule->entry.match, priority);
	must(!rule->in_force || (e && !memcmp(&e->match, &rule->entry.match, sizeof(e->match))));
}

static void look_up(u64 *rnd)
{
	struct tcon_place place = place_of(prng_below(rnd, BRIDGES), prng_below(rnd, PORTS));
	struct tcon_traits traits;
	struct tcon_key key;

	random_key(rnd, &key);
	random_traits(rnd, &traits);
	place.traits = &traits;
	must(find(&c, &place, &key) == find_plainly(rules, RULES, &place, &key));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	u64 rnd;
	u32 i;

	memset(rules, 0, sizeof(rules));
	tcon_classifier_init(&c);
	for (i = 0; i + 4 <= size; i += 4) {
		rnd = 1 + (data[i + 2] | data[i + 3] << 8);
		change(&rules[data[i] % RULES], data[i + 1] % 4, &rnd, i);
		look_up(&rnd);
		look_up(&rnd);
	}
	for (i = 0; i < RULES; i++)
		if (rules[i].in_force)
			take(&c, &rules[i]);
	must(!c.n_tuples && list_empty(&c.list));
	tcon_classifier_exit(&c);
	return 0;
}
