/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random rules and half-flows, and the plainest way to find which selects which: for tests of
 * datapath/state/classifier.c, which the test includes.
 */
#ifndef _TESTS_RULES_H
#define _TESTS_RULES_H

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "prng.h"

#define BRIDGES		2
#define PORTS		4

static const char *const bridge_names[BRIDGES] = { "br0", "br-long-name-of-a-bridge" };
static const char *const port_names[PORTS] = { "vnet0", "vnet1", "tap0", "p" };
static const char *const iface_ids[PORTS] = { "a", "b", "a", "" };

/* The rules that there are; each has @priority in its rank as well. */
struct rule {
	struct tcon_entry entry;
	u32 priority;
	u32 age;		/* of those with equal priority the youngest is obeyed */
	bool in_force;
};

u32 get_random_u32(void)
{
	return 0x5eed;
}

/* Traits of a flow before anything is known. */
static struct tcon_traits no_traits;

static struct tcon_place place_of(u32 bridge, u32 port)
{
	return (struct tcon_place) {
		.bridge = bridge_names[bridge], .bridge_hash = tcon_name_hash(bridge_names[bridge]),
		.ifname = port_names[port], .ofport = port + 1,
		.traits = &no_traits, .iface_id = iface_ids[port], .iface_id_hash = tcon_name_hash(iface_ids[port]),
	};
}

/* Few values, so that rules and flows often meet. */
static void random_addr(u64 *rnd, union tcon_addr *addr, bool ip6)
{
	static const u8 octets[] = { 0, 1, 10, 128, 255 };
	unsigned int i;

	memset(addr, 0, sizeof(*addr));
	for (i = 0; i < (ip6 ? 16 : 4); i++)
		addr->ip6[i] = octets[prng_below(rnd, i < 4 ? ARRAY_SIZE(octets) : 2)];
}

static void cut(union tcon_addr *addr, unsigned int bits)
{
	unsigned int i;

	for (i = bits; i < 128; i++)
		addr->ip6[i / 8] &= ~(0x80 >> i % 8);
}

static void random_prefix(u64 *rnd, union tcon_addr *addr, u8 *plen, bool ip6)
{
	*plen = prng_below(rnd, 3) ? prng_below(rnd, (ip6 ? 128 : 32) + 1) : 0;
	random_addr(rnd, addr, ip6);
	cut(addr, *plen);
}

static void random_ports(u64 *rnd, __be16 *port, __be16 *mask)
{
	static const u16 masks[] = { 0, 0, 0, 0, 0, 1, 2, 0xfffe, 0xffff, 0xffff };

	*mask = htons(masks[prng_below(rnd, ARRAY_SIZE(masks))]);
	*port = htons(prng_below(rnd, 4)) & *mask;
}

/* Few values again: bits of the first and of the last byte. */
static void random_mac(u64 *rnd, u8 mac[ETH_ALEN])
{
	memset(mac, 0, ETH_ALEN);
	mac[0] = prng_below(rnd, 3);
	mac[5] = prng_below(rnd, 3);
}

static void random_traits(u64 *rnd, struct tcon_traits *traits)
{
	memset(traits, 0, sizeof(*traits));
	random_mac(rnd, traits->mac);
	traits->mark = prng_below(rnd, 4);
}

static void random_match_of_traits(u64 *rnd, struct tcon_match *m)
{
	static const u32 masks[] = { 0, 0, 0, 1, 2, U32_MAX };
	u32 i;

	m->mark_mask = masks[prng_below(rnd, ARRAY_SIZE(masks))];
	m->mark = prng_below(rnd, 4) & m->mark_mask;
	if (!prng_below(rnd, 3)) {
		random_mac(rnd, m->mac);
		random_mac(rnd, m->mac_mask);
		for (i = 0; i < ETH_ALEN; i++)
			m->mac[i] &= m->mac_mask[i];
	}
}

static void random_match(u64 *rnd, struct tcon_match *m)
{
	memset(m, 0, sizeof(*m));
	m->ofport = prng_below(rnd, 4) ? TCON_OFPORT_ANY : prng_below(rnd, PORTS) + 1;
	if (!prng_below(rnd, 4))
		strscpy(m->ifname, port_names[prng_below(rnd, PORTS)], sizeof(m->ifname));
	if (!prng_below(rnd, 4))
		strscpy(m->iface_id, iface_ids[prng_below(rnd, PORTS)], sizeof(m->iface_id));
	m->vlan = prng_below(rnd, 4) ? TCON_VLAN_ANY : prng_below(rnd, 3);
	random_match_of_traits(rnd, m);
	random_ports(rnd, &m->sport, &m->sport_mask);
	random_ports(rnd, &m->dport, &m->dport_mask);
	m->family = prng_below(rnd, 4) ? (prng_below(rnd, 2) ? AF_INET : AF_INET6) : AF_UNSPEC;
	if (m->family) {
		random_prefix(rnd, &m->src, &m->src_plen, m->family == AF_INET6);
		random_prefix(rnd, &m->dst, &m->dst_plen, m->family == AF_INET6);
	}
}

/* Mostly none; else of any size. */
static u16 random_share(u64 *rnd)
{
	return prng_below(rnd, 3) ? 0 : 1 + prng_below(rnd, TCON_SHARE_ALL - 1);
}

static void random_key(u64 *rnd, struct tcon_key *key)
{
	bool ip6 = prng_below(rnd, 2);

	memset(key, 0, sizeof(*key));
	key->family = ip6 ? AF_INET6 : AF_INET;
	random_addr(rnd, &key->guest, ip6);
	random_addr(rnd, &key->peer, ip6);
	key->gport = htons(prng_below(rnd, 4));
	key->pport = htons(prng_below(rnd, 4));
	key->vlans[0] = prng_below(rnd, 4);
}

static bool selects(const struct rule *rule, const struct tcon_place *place,
		    const struct tcon_key *key)
{
	return rule->in_force && !strcmp(rule->entry.bridge, place->bridge) &&
	       tcon_match_place(&rule->entry.match, place) &&
	       tcon_match_traits(&rule->entry.match, place->traits) &&
	       tcon_match_key(&rule->entry.match, key) && in_share(&rule->entry, key);
}

/* All rules, one after the other. */
static const struct rule *find_plainly(const struct rule *rules, u32 n,
				       const struct tcon_place *place, const struct tcon_key *key)
{
	const struct rule *best = NULL;
	u32 i;

	for (i = 0; i < n; i++)
		if (selects(&rules[i], place, key) &&
		    (!best || rules[i].priority > best->priority ||
		     (rules[i].priority == best->priority && rules[i].age > best->age)))
			best = &rules[i];
	return best;
}

static const struct rule *find(const struct tcon_classifier *c, const struct tcon_place *place,
			       const struct tcon_key *key)
{
	struct tcon_entry *e;

	rcu_read_lock();
	e = tcon_classifier_find(c, place, key);
	rcu_read_unlock();
	return e ? container_of(e, struct rule, entry) : NULL;
}

static int put(struct tcon_classifier *c, struct rule *rule, u32 age)
{
	int err = tcon_classifier_add(c, &rule->entry, rule->priority);

	rule->in_force = !err;
	rule->age = age;
	return err;
}

static void take(struct tcon_classifier *c, struct rule *rule)
{
	tcon_classifier_del(c, &rule->entry);
	rule->in_force = false;
}

#endif /* _TESTS_RULES_H */
