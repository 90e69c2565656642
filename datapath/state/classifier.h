/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which of many rules selects a half-flow?
 */
#ifndef _TCON_CLASSIFIER_H
#define _TCON_CLASSIFIER_H

#include <linux/if.h>
#include <linux/if_ether.h>
#include <linux/jhash.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/string.h>
#include <uapi/linux/tcon.h>

#include "wire/key.h"

#define TCON_OFPORT_ANY		(~0U)
#define TCON_VLAN_ANY		0xffff

/**
 * struct tcon_traits - properties of a half-flow that rules may look at beside its key
 * @mac: the guest's Ethernet address; zero: not known
 * @mark: packet mark (skb->mark) of the last packet to the guest; 0 until there was one
 */
struct tcon_traits {
	u8 mac[ETH_ALEN];
	u32 mark;
};

/**
 * struct tcon_match - what a rule selects; zero, or ANY, in every field: everything
 * @ifname: device of the guest's port; "": any
 * @iface_id: what the guest's port has as external_ids:iface-id; "": any
 * @ofport: OpenFlow number of the guest's port; %TCON_OFPORT_ANY
 * @family: AF_INET, AF_INET6 or AF_UNSPEC; not AF_UNSPEC if there is a prefix
 * @src_plen: prefix length of @src
 * @dst_plen: prefix length of @dst
 * @src: the guest's address
 * @dst: the peer's address
 * @sport: the guest's TCP port, network order; bits outside of @sport_mask are zero
 * @dport: the peer's TCP port, network order; bits outside of @dport_mask are zero
 * @sport_mask: which bits of @sport count; 0: any port
 * @dport_mask: which bits of @dport count; 0: any port
 * @vlan: outermost VLAN id; %TCON_VLAN_ANY
 * @mac: the guest's Ethernet address; bits outside of @mac_mask are zero
 * @mac_mask: which bits of @mac count
 * @mark: packet mark of packets to the guest; bits outside of @mark_mask are zero
 * @mark_mask: which bits of @mark count
 */
struct tcon_match {
	char ifname[IFNAMSIZ];
	char iface_id[TCON_IFACE_ID_MAX];
	u32 ofport;
	u8 family;
	u8 src_plen;
	u8 dst_plen;
	union tcon_addr src;
	union tcon_addr dst;
	__be16 sport;
	__be16 dport;
	__be16 sport_mask;
	__be16 dport_mask;
	u16 vlan;
	u8 mac[ETH_ALEN];
	u8 mac_mask[ETH_ALEN];
	u32 mark;
	u32 mark_mask;
};

/**
 * struct tcon_place - where a half-flow's guest is attached, and what its packets carry
 * @bridge: name of the bridge
 * @ifname: name of the port's device
 * @ofport: OpenFlow number of the port
 * @iface_id: external_ids:iface-id of the port; "": it has none
 * @bridge_hash: tcon_name_hash() of @bridge
 * @iface_id_hash: tcon_name_hash() of @iface_id
 * @traits: the half-flow's
 */
struct tcon_place {
	const char *bridge;
	const char *ifname;
	const char *iface_id;
	u32 ofport;
	u32 bridge_hash;
	u32 iface_id_hash;
	const struct tcon_traits *traits;
};

/**
 * struct tcon_entry - a rule's part in a classifier
 * @node: in its bucket, the highest rank first; RCU
 * @peer: in tcon_tuple.entries
 * @tuple: which of the key it looks at
 * @rank: of two rules that select a flow, the one with the higher rank is obeyed: the one with the
 *	higher priority, and among equals the newer
 * @hash: of what it looks at
 * @bridge: name of the bridge whose guests it is for
 * @match: what it selects
 * @share: part of these half-flows, of %TCON_SHARE_ALL; 0: all
 */
struct tcon_entry {
	struct hlist_node node;
	struct list_head peer;
	struct tcon_tuple *tuple;
	u64 rank;
	u32 hash;
	char bridge[TCON_BRIDGE_NAME_MAX];
	struct tcon_match match;
	u16 share;
};

/**
 * struct tcon_classifier - rules of a namespace; all zero: none
 * @buckets: entries by hash; NULL until there is one
 * @tuples: what a look-up tries, in this order; NULL until there is something
 * @list: tuples, in the order of their highest ranks
 * @n_tuples: their number
 * @serial: of the newest entry
 * @seed: of the hash
 */
struct tcon_classifier {
	struct tcon_buckets *buckets;
	struct tcon_tuples __rcu *tuples;
	struct list_head list;
	unsigned int n_tuples;
	u64 serial;
	u32 seed;
};

void tcon_classifier_init(struct tcon_classifier *c);
void tcon_classifier_exit(struct tcon_classifier *c);
int tcon_classifier_add(struct tcon_classifier *c, struct tcon_entry *e, u16 priority);
void tcon_classifier_del(struct tcon_classifier *c, struct tcon_entry *e);
void tcon_classifier_trim(struct tcon_classifier *c);
struct tcon_entry *tcon_classifier_find(const struct tcon_classifier *c,
					const struct tcon_place *place,
					const struct tcon_key *key);
void tcon_classifier_each_share(const struct tcon_classifier *c, const struct tcon_place *place,
				const struct tcon_key *key,
				void (*fn)(struct tcon_entry *e, void *arg), void *arg);
u64 tcon_classifier_best_with_ports(const struct tcon_classifier *c, u8 family);
struct tcon_entry *tcon_classifier_get(const struct tcon_classifier *c, const char *bridge,
				       const struct tcon_match *match, u16 priority);
bool tcon_match_key(const struct tcon_match *m, const struct tcon_key *key);
bool tcon_match_place(const struct tcon_match *m, const struct tcon_place *place);
bool tcon_match_traits(const struct tcon_match *m, const struct tcon_traits *traits);
void tcon_match_example(const struct tcon_match *m, struct tcon_key *key,
			struct tcon_traits *traits);

static inline u32 tcon_name_hash(const char *name)
{
	return jhash(name, strlen(name), 0);
}

#endif /* _TCON_CLASSIFIER_H */
