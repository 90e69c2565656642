/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules: which half-flows get which CC.
 */
#ifndef _TCON_POLICY_H
#define _TCON_POLICY_H

#include <linux/if.h>
#include <linux/refcount.h>
#include <tcon/cc.h>

#include "state/net.h"
#include "wire/key.h"

struct tcon_port;

#define TCON_OFPORT_ANY		(~0U)
#define TCON_VLAN_ANY		0xffff

/**
 * struct tcon_match - what a rule selects; zero, or ANY, in every field: everything
 * @ifname: device of the guest's port; "": any
 * @ofport: OpenFlow number of the guest's port; %TCON_OFPORT_ANY
 * @family: AF_INET, AF_INET6 or AF_UNSPEC
 * @src_plen: prefix length of @src
 * @dst_plen: prefix length of @dst
 * @src: the guest's address
 * @dst: the peer's address
 * @sport: the guest's TCP port, network order; 0: any
 * @dport: the peer's TCP port, network order; 0: any
 * @vlan: outermost VLAN id; %TCON_VLAN_ANY
 */
struct tcon_match {
	char ifname[IFNAMSIZ];
	u32 ofport;
	u8 family;
	u8 src_plen;
	u8 dst_plen;
	union tcon_addr src;
	union tcon_addr dst;
	__be16 sport;
	__be16 dport;
	u16 vlan;
};

/**
 * struct tcon_given - a parameter that a rule gives
 * @name: its name
 * @value: its value, which is not the CC's default
 * @type: how to write the value; kept here to show it while the CC is gone
 */
struct tcon_given {
	char name[TCON_PARAM_NAME_MAX];
	s64 value;
	u8 type;
};

/**
 * struct tcon_rule - a rule
 * @node: in tcon_net.rules; RCU
 * @rcu: for freeing it
 * @refs: references: one of the list, one of each flow that obeys it
 * @priority: higher is tried first; among equals, the newer
 * @bridge: name of the bridge whose guests it is for
 * @match: what it selects
 * @ecn: enum tcon_rule_ecn
 * @cc_name: the CC, or %TCON_CC_OBSERVE
 * @ops: the CC; NULL for %TCON_CC_OBSERVE, and while its module is gone
 * @params: the CC's parameters, defaults where the user gave none
 * @given: the parameters that differ from the defaults, by name, because a CC's module
 *	may come back with other parameters
 * @n_given: their number
 * @flows: number of flows that obey it
 */
struct tcon_rule {
	struct list_head node;
	struct rcu_head rcu;
	refcount_t refs;
	u32 priority;
	char bridge[TCON_BRIDGE_NAME_MAX];
	struct tcon_match match;
	u8 ecn;
	char cc_name[TCON_CC_NAME_MAX];
	const struct tcon_cc_ops __rcu *ops;
	s64 params[TCON_MAX_PARAMS];
	struct tcon_given given[TCON_MAX_PARAMS];
	unsigned int n_given;
	atomic_t flows;
};

struct tcon_rule *tcon_policy_lookup(const struct tcon_port *port,
				     const struct tcon_key *key);
int tcon_policy_set(struct tcon_net *tnet, struct tcon_rule *rule);
int tcon_policy_del(struct tcon_net *tnet, const char *bridge,
		    const struct tcon_match *match, u32 priority);
unsigned int tcon_policy_del_bridge(struct tcon_net *tnet, const char *bridge);
int tcon_policy_register(void);
void tcon_policy_unregister(void);
void tcon_policy_cc_gone(const struct tcon_cc_ops *ops);
void tcon_policy_cc_come(const struct tcon_cc_ops *ops);
bool tcon_match_key(const struct tcon_match *m, const struct tcon_key *key);
void tcon_rule_put(struct tcon_rule *rule);
void tcon_rule_note_given(struct tcon_rule *rule,
			  const struct tcon_cc_ops *ops);

static inline bool tcon_rule_observes(const struct tcon_rule *rule)
{
	return !strcmp(rule->cc_name, TCON_CC_OBSERVE);
}

#endif /* _TCON_POLICY_H */
