// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tuple space search (Srinivasan, Suri and Varghese, SIGCOMM 1999), as Open vSwitch's own
 * classifier has it.
 *
 * Rules that look at the same fields, and the same lengths of prefixes, are a tuple.  Within a
 * tuple a rule is found by one hash.  Tuples are tried in the order of their highest ranks, until
 * none can have a higher rank than the rule found.  So the cost of a look-up grows with the number
 * of tuples, not with the number of rules.
 *
 * A rule with a share takes only a part of the half-flows that its match selects.  For the others
 * the search goes on, as if the rule were not there.  Such rules have tuples of their own.
 *
 * All tuples share one hash table.  A look-up needs RCU only.  The caller serialises changes.
 */
#include <asm/byteorder.h>
#include <linux/bits.h>
#include <linux/etherdevice.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "base/contract.h"
#include "state/classifier.h"

#define BUCKETS		(2 * TCON_MAX_RULES)	/* few share one */
#define PRIORITY_SHIFT	48	/* in a rank: above the serial */
/* Bridge, port's number, name and iface-id, TCP ports, VLAN, MAC, mark, two addresses. */
#define KEY_WORDS	(9 + 2 * 4)

enum {
	BY_IFNAME	= BIT(0),
	BY_OFPORT	= BIT(1),
	BY_VLAN		= BIT(2),
	BY_SHARE	= BIT(3),	/* not hashed: it is not of the half-flow's fields */
	BY_IFACE_ID	= BIT(4),
	BY_MAC		= BIT(5),
	BY_MARK		= BIT(6),
};

/**
 * struct tcon_mask - what rules of a tuple look at, besides the bridge
 * @fields: BY_*
 * @family: AF_INET, AF_INET6 or AF_UNSPEC
 * @src_plen: this many bits of the guest's address
 * @dst_plen: this many bits of the peer's
 * @sport: these bits of the guest's TCP port, network order
 * @dport: these bits of the peer's
 * @mac: these bits of the guest's Ethernet address
 * @pad: zero; a mask is compared as memory
 * @mark: these bits of the mark
 */
struct tcon_mask {
	u8 fields;
	u8 family;
	u8 src_plen;
	u8 dst_plen;
	__be16 sport;
	__be16 dport;
	u8 mac[ETH_ALEN];
	u16 pad;
	u32 mark;
};

/**
 * struct tcon_tuple - rules that look at the same
 * @node: in tcon_classifier.list
 * @entries: those rules, in the order of rank
 * @mask: what they look at
 */
struct tcon_tuple {
	struct list_head node;
	struct list_head entries;
	struct tcon_mask mask;
};

/**
 * struct tcon_tuples - tuples as a look-up sees them
 * @rcu: for freeing it
 * @buckets: the classifier's
 * @n: number of them
 * @at: each, the one with the highest rank first
 * @at.mask: what it looks at
 * @at.best: no rule of it has a higher rank
 */
struct tcon_tuples {
	struct rcu_head rcu;
	struct tcon_buckets *buckets;
	unsigned int n;
	struct {
		struct tcon_mask mask;
		u64 best;
	} at[];
};

struct tcon_buckets {
	struct hlist_head heads[BUCKETS];
};

static bool prefix_equal(const union tcon_addr *a, const union tcon_addr *b, unsigned int bits)
{
	unsigned int bytes = bits / 8, rest = bits % 8;

	if (memcmp(a->ip6, b->ip6, bytes))
		return false;
	return !rest || !((a->ip6[bytes] ^ b->ip6[bytes]) >> (8 - rest));
}

/* A VLAN as it is in a key.  Identifier 0 is none, and so is %TCON_VLAN_ANY. */
static u16 tag_of(u16 vlan)
{
	return vlan ? vlan + 1 : 0;
}

/**
 * tcon_match_key() - does a match select a half-flow?
 * @m: the match; its port is not looked at
 * @key: key of the half-flow
 *
 * Return: true if it does.
 */
bool tcon_match_key(const struct tcon_match *m, const struct tcon_key *key)
{
	if (m->family && m->family != key->family)
		return false;
	if (m->sport != (key->gport & m->sport_mask) || m->dport != (key->pport & m->dport_mask))
		return false;
	if (m->vlan != TCON_VLAN_ANY && tag_of(m->vlan) != key->vlans[0])
		return false;
	return prefix_equal(&m->src, &key->guest, m->src_plen) &&
	       prefix_equal(&m->dst, &key->peer, m->dst_plen);
}

/**
 * tcon_match_place() - does a match select a port?
 * @m: the match
 * @place: the port; its bridge is not looked at
 *
 * Return: true if it does.
 */
bool tcon_match_place(const struct tcon_match *m, const struct tcon_place *place)
{
	if (m->ofport != TCON_OFPORT_ANY && m->ofport != place->ofport)
		return false;
	if (m->iface_id[0] && strcmp(m->iface_id, place->iface_id))
		return false;
	return !m->ifname[0] || !strcmp(m->ifname, place->ifname);
}

/**
 * tcon_match_traits() - does a match select a half-flow with these traits?
 * @m: the match
 * @traits: the traits
 *
 * Return: true if it does.
 */
bool tcon_match_traits(const struct tcon_match *m, const struct tcon_traits *traits)
{
	unsigned int i;

	for (i = 0; i < ETH_ALEN; i++)
		if ((traits->mac[i] & m->mac_mask[i]) != m->mac[i])
			return false;
	return (traits->mark & m->mark_mask) == m->mark;
}

/**
 * tcon_match_example() - a half-flow that a match selects
 * @m: the match; its port is not looked at
 * @key: gets the key: @m's fields, and zero elsewhere
 * @traits: gets its traits, likewise
 */
void tcon_match_example(const struct tcon_match *m, struct tcon_key *key,
			struct tcon_traits *traits)
{
	*key = (struct tcon_key) {
		.guest = m->src, .peer = m->dst, .gport = m->sport, .pport = m->dport,
		.vlans = { tag_of(m->vlan) }, .family = m->family,
	};
	*traits = (struct tcon_traits) { .mark = m->mark };
	ether_addr_copy(traits->mac, m->mac);
}

static struct tcon_mask mask_of(const struct tcon_match *m)
{
	struct tcon_mask mask = {
		.fields = (m->ifname[0] ? BY_IFNAME : 0) |
			  (m->iface_id[0] ? BY_IFACE_ID : 0) |
			  (m->ofport != TCON_OFPORT_ANY ? BY_OFPORT : 0) |
			  (m->vlan != TCON_VLAN_ANY ? BY_VLAN : 0) |
			  (!is_zero_ether_addr(m->mac_mask) ? BY_MAC : 0) |
			  (m->mark_mask ? BY_MARK : 0),
		.family = m->family,
		.src_plen = m->src_plen,
		.dst_plen = m->dst_plen,
		.sport = m->sport_mask,
		.dport = m->dport_mask,
		.mark = m->mark_mask,
	};

	ether_addr_copy(mask.mac, m->mac_mask);
	return mask;
}

static struct tcon_mask mask_of_entry(const struct tcon_entry *e)
{
	struct tcon_mask mask = mask_of(&e->match);

	mask.fields |= e->share ? BY_SHARE : 0;
	return mask;
}

static unsigned int put_prefix(u32 *words, const union tcon_addr *addr, unsigned int bits)
{
	unsigned int n;

	for (n = 0; bits >= 32; bits -= 32, n++)
		words[n] = addr->words[n];
	if (bits) {
		words[n] = addr->words[n] & (__force u32)htonl(~0U << (32 - bits));
		n++;
	}
	return n;
}

static unsigned int put_mac(u32 *words, const u8 *mac, const u8 *mask)
{
	words[0] = (u32)(mac[0] & mask[0]) << 24 | (mac[1] & mask[1]) << 16 |
		   (mac[2] & mask[2]) << 8 | (mac[3] & mask[3]);
	words[1] = (mac[4] & mask[4]) << 8 | (mac[5] & mask[5]);
	return 2;
}

/* Hash of the fields that @mask looks at. */
static u32 hash_of(const struct tcon_classifier *c, const struct tcon_mask *mask,
		   const struct tcon_place *place, const struct tcon_key *key)
{
	u32 words[KEY_WORDS];
	unsigned int n = 0;

	words[n++] = place->bridge_hash;
	if (mask->fields & BY_OFPORT)
		words[n++] = place->ofport;
	if (mask->fields & BY_IFNAME)
		words[n++] = tcon_name_hash(place->ifname);
	if (mask->fields & BY_IFACE_ID)
		words[n++] = place->iface_id_hash;
	if (mask->fields & BY_VLAN)
		words[n++] = key->vlans[0];
	if (mask->sport | mask->dport)
		words[n++] = (__force u32)(key->gport & mask->sport) << 16 |
			     (__force u32)(key->pport & mask->dport);
	if (mask->fields & BY_MAC)
		n += put_mac(words + n, place->traits->mac, mask->mac);
	if (mask->fields & BY_MARK)
		words[n++] = place->traits->mark & mask->mark;
	n += put_prefix(words + n, &key->guest, mask->src_plen);
	n += put_prefix(words + n, &key->peer, mask->dst_plen);
	return jhash2(words, n, c->seed ^ (mask->fields & ~BY_SHARE));
}

/* The same for a match. */
static u32 hash_of_match(const struct tcon_classifier *c, const char *bridge,
			 const struct tcon_match *m)
{
	struct tcon_traits traits;
	const struct tcon_place place = {
		.traits = &traits, .bridge_hash = tcon_name_hash(bridge),
		.ifname = m->ifname, .ofport = m->ofport,
		.iface_id = m->iface_id, .iface_id_hash = tcon_name_hash(m->iface_id),
	};
	const struct tcon_mask mask = mask_of(m);
	struct tcon_key key;

	tcon_match_example(m, &key, &traits);
	return hash_of(c, &mask, &place, &key);
}

static struct hlist_head *bucket(struct tcon_buckets *buckets, u32 hash)
{
	return &buckets->heads[hash % BUCKETS];
}

/* Does a match select the half-flow, whether the rule takes it or not? */
static bool entry_selects(const struct tcon_entry *e, u32 hash, const struct tcon_place *place,
			  const struct tcon_key *key)
{
	return e->hash == hash && !strcmp(e->bridge, place->bridge) &&
	       tcon_match_place(&e->match, place) &&
	       tcon_match_traits(&e->match, place->traits) && tcon_match_key(&e->match, key);
}

/*
 * Is the half-flow in a rule's share?  While the rule's match and priority stay, the answer does
 * too, and a larger share includes a smaller one.  The shares of two rules are independent.  A
 * guest cannot choose: the hash is keyed.  Without TCP ports nobody knows.
 */
static bool in_share(const struct tcon_entry *e, const struct tcon_key *key)
{
	u32 words[2 + 2 * 4], hash;

	if (!e->share)
		return true;
	if (!key->gport && !key->pport)
		return false;
	words[0] = e->rank >> PRIORITY_SHIFT;
	words[1] = (__force u32)key->gport << 16 | (__force u32)key->pport;
	memcpy(words + 2, &key->guest, sizeof(key->guest));
	memcpy(words + 6, &key->peer, sizeof(key->peer));
	hash = jhash2(words, ARRAY_SIZE(words), e->hash);
	return (u64)hash * TCON_SHARE_ALL >> 32 < e->share;
}

/* The first of a bucket that takes the half-flow: it has the highest rank. */
static struct tcon_entry *find_hashed(struct tcon_buckets *buckets, u32 hash,
				      const struct tcon_place *place, const struct tcon_key *key)
{
	struct tcon_entry *e;

	hlist_for_each_entry_rcu(e, bucket(buckets, hash), node)
		if (entry_selects(e, hash, place, key) && in_share(e, key))
			return e;
	return NULL;
}

/**
 * tcon_classifier_find() - the rule for a half-flow
 * @c: the classifier
 * @place: where its guest is attached
 * @key: the half-flow
 *
 * Context: RCU read lock held.
 * Return: the entry of the rule, or NULL.
 */
struct tcon_entry *tcon_classifier_find(const struct tcon_classifier *c,
					const struct tcon_place *place,
					const struct tcon_key *key)
{
	const struct tcon_tuples *tuples = rcu_dereference(c->tuples);
	struct tcon_entry *e, *found = NULL;
	const struct tcon_mask *mask;
	unsigned int i;

	tcon_assert_rcu();
	for (i = 0; tuples && i < tuples->n; i++) {
		if (found && found->rank > tuples->at[i].best)
			break;
		mask = &tuples->at[i].mask;
		if (mask->family && mask->family != key->family)
			continue;
		e = find_hashed(tuples->buckets, hash_of(c, mask, place, key), place, key);
		if (e && (!found || e->rank > found->rank))
			found = e;
	}
	return found;
}

static bool is_of(const struct tcon_entry *e, const struct tcon_mask *mask)
{
	const struct tcon_mask own = mask_of_entry(e);

	return !memcmp(&own, mask, sizeof(own));
}

/**
 * tcon_classifier_each_share() - visit the rules with a share that might take a half-flow
 * @c: the classifier
 * @place: where its guest is attached
 * @key: the half-flow, which the rule's match selects, whether it is in the share or not
 * @fn: the function
 * @arg: its last argument
 *
 * Context: RCU read lock held.
 */
void tcon_classifier_each_share(const struct tcon_classifier *c, const struct tcon_place *place,
				const struct tcon_key *key,
				void (*fn)(struct tcon_entry *e, void *arg), void *arg)
{
	const struct tcon_tuples *tuples = rcu_dereference(c->tuples);
	const struct tcon_mask *mask;
	struct tcon_entry *e;
	unsigned int i;
	u32 hash;

	tcon_assert_rcu();
	for (i = 0; tuples && i < tuples->n; i++) {
		mask = &tuples->at[i].mask;
		if (!(mask->fields & BY_SHARE) || (mask->family && mask->family != key->family))
			continue;
		hash = hash_of(c, mask, place, key);
		/* Another tuple may have the same hash of this half-flow. */
		hlist_for_each_entry_rcu(e, bucket(tuples->buckets, hash), node)
			if (is_of(e, mask) && entry_selects(e, hash, place, key))
				fn(e, arg);
	}
}

/**
 * tcon_classifier_best_with_ports() - the highest rank of rules that look at TCP ports, or a mark
 * @c: the classifier
 * @family: AF_INET or AF_INET6: of the half-flow
 *
 * Context: RCU read lock held.
 * Return: the rank; 0: there are none.
 */
u64 tcon_classifier_best_with_ports(const struct tcon_classifier *c, u8 family)
{
	const struct tcon_tuples *tuples = rcu_dereference(c->tuples);
	const struct tcon_mask *mask;
	unsigned int i;

	tcon_assert_rcu();
	for (i = 0; tuples && i < tuples->n; i++) {
		mask = &tuples->at[i].mask;
		if (((mask->sport | mask->dport) || mask->fields & (BY_SHARE | BY_MARK)) &&
		    (!mask->family || mask->family == family))
			return tuples->at[i].best;
	}
	return 0;
}

/**
 * tcon_classifier_get() - the entry of a rule
 * @c: the classifier
 * @bridge: the rule's bridge
 * @match: its match
 * @priority: its priority
 *
 * Context: changes are excluded.
 * Return: the entry or NULL.
 */
struct tcon_entry *tcon_classifier_get(const struct tcon_classifier *c, const char *bridge,
				       const struct tcon_match *match, u16 priority)
{
	u32 hash = hash_of_match(c, bridge, match);
	struct tcon_entry *e;

	if (!c->buckets)
		return NULL;
	hlist_for_each_entry(e, bucket(c->buckets, hash), node)
		if (e->hash == hash && e->rank >> PRIORITY_SHIFT == priority &&
		    !strcmp(e->bridge, bridge) && !memcmp(&e->match, match, sizeof(*match)))
			return e;
	return NULL;
}

static u64 best_rank(const struct tcon_tuple *tuple)
{
	return list_first_entry(&tuple->entries, struct tcon_entry, peer)->rank;
}

/* Puts a tuple, whose highest rank has changed, in its place. */
static void place_tuple(struct tcon_classifier *c, struct tcon_tuple *tuple)
{
	u64 best = best_rank(tuple);
	struct tcon_tuple *at;

	list_del(&tuple->node);
	list_for_each_entry(at, &c->list, node)
		if (best_rank(at) < best)
			break;
	list_add_tail(&tuple->node, &at->node);
}

static struct tcon_tuple *find_tuple(const struct tcon_classifier *c, const struct tcon_mask *mask)
{
	struct tcon_tuple *tuple;

	list_for_each_entry(tuple, &c->list, node)
		if (!memcmp(&tuple->mask, mask, sizeof(*mask)))
			return tuple;
	return NULL;
}

static struct tcon_tuples *alloc_tuples(unsigned int n)
{
	struct tcon_tuples *tuples;

	return kvzalloc(struct_size(tuples, at, n), GFP_KERNEL_ACCOUNT);
}

/* Shows look-ups the tuples as they are now, in @tuples, which has room for them. */
static void publish(struct tcon_classifier *c, struct tcon_tuples *tuples)
{
	struct tcon_tuples *old = rcu_dereference_protected(c->tuples, true);
	const struct tcon_tuple *tuple;

	tuples->buckets = c->buckets;
	list_for_each_entry(tuple, &c->list, node) {
		tuples->at[tuples->n].mask = tuple->mask;
		tuples->at[tuples->n++].best = best_rank(tuple);
	}
	rcu_assign_pointer(c->tuples, tuples);
	if (old)
		kvfree_rcu(old, rcu);
}

/* In the order of rank: the first that fits is the one. */
static void add_hashed(struct tcon_classifier *c, struct tcon_entry *e)
{
	struct hlist_head *head = bucket(c->buckets, e->hash);
	struct tcon_entry *at, *before = NULL;

	hlist_for_each_entry(at, head, node) {
		if (at->rank < e->rank)
			break;
		before = at;
	}
	if (before)
		hlist_add_behind_rcu(&e->node, &before->node);
	else
		hlist_add_head_rcu(&e->node, head);
}

static void add_to_tuple(struct tcon_tuple *tuple, struct tcon_entry *e)
{
	struct tcon_entry *at;

	list_for_each_entry(at, &tuple->entries, peer)
		if (at->rank < e->rank)
			break;
	list_add_tail(&e->peer, &at->peer);
	e->tuple = tuple;
}

static struct tcon_tuple *add_tuple(struct tcon_classifier *c, const struct tcon_mask *mask)
{
	struct tcon_tuple *tuple = kmalloc(sizeof(*tuple), GFP_KERNEL_ACCOUNT);

	if (!tuple)
		return NULL;
	tuple->mask = *mask;
	INIT_LIST_HEAD(&tuple->entries);
	list_add_tail(&tuple->node, &c->list);
	c->n_tuples++;
	return tuple;
}

/**
 * tcon_classifier_add() - add a rule
 * @c: the classifier
 * @e: the rule's entry; its bridge, match and share are complete, and unused memory in the match is
 *	zero
 * @priority: the rule's priority
 *
 * Context: process context; other changes are excluded.
 * Return: 0, or -ENOMEM, and nothing has changed.
 */
int tcon_classifier_add(struct tcon_classifier *c, struct tcon_entry *e, u16 priority)
{
	const struct tcon_mask mask = mask_of_entry(e);
	struct tcon_tuples *tuples;
	struct tcon_tuple *tuple;

	if (!c->buckets)
		c->buckets = kvzalloc(sizeof(*c->buckets), GFP_KERNEL_ACCOUNT);
	if (!c->buckets)
		return -ENOMEM;
	tuples = alloc_tuples(c->n_tuples + 1);
	if (!tuples)
		return -ENOMEM;
	tuple = find_tuple(c, &mask) ? : add_tuple(c, &mask);
	if (!tuple) {
		kvfree(tuples);
		return -ENOMEM;
	}
	e->rank = (u64)priority << PRIORITY_SHIFT | ++c->serial;
	e->hash = hash_of_match(c, e->bridge, &e->match);
	add_to_tuple(tuple, e);
	place_tuple(c, tuple);
	add_hashed(c, e);
	publish(c, tuples);
	return 0;
}

/**
 * tcon_classifier_del() - remove a rule
 * @c: the classifier
 * @e: the rule's entry; look-ups may find it until a grace period has passed
 *
 * After the last of several, call tcon_classifier_trim().
 *
 * Context: process context; other changes are excluded.
 */
void tcon_classifier_del(struct tcon_classifier *c, struct tcon_entry *e)
{
	struct tcon_tuple *tuple = e->tuple;

	hlist_del_rcu(&e->node);
	list_del(&e->peer);
	if (!list_empty(&tuple->entries)) {
		place_tuple(c, tuple);
		return;
	}
	list_del(&tuple->node);
	kfree(tuple);
	c->n_tuples--;
}

/**
 * tcon_classifier_trim() - remove tuples without rules from look-ups
 * @c: the classifier
 *
 * Without memory look-ups still try these, and find nothing there.
 *
 * Context: process context; changes are excluded.
 */
void tcon_classifier_trim(struct tcon_classifier *c)
{
	struct tcon_tuples *tuples = alloc_tuples(c->n_tuples);

	if (tuples)
		publish(c, tuples);
}

/**
 * tcon_classifier_init() - make a classifier without rules
 * @c: the classifier
 */
void tcon_classifier_init(struct tcon_classifier *c)
{
	memset(c, 0, sizeof(*c));
	INIT_LIST_HEAD(&c->list);
	c->seed = get_random_u32();
}

/**
 * tcon_classifier_exit() - free a classifier's memory
 * @c: the classifier, without rules and without look-ups
 */
void tcon_classifier_exit(struct tcon_classifier *c)
{
	kvfree(rcu_dereference_protected(c->tuples, true));
	kvfree(c->buckets);
}
