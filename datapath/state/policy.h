/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules: which half-flows get which CC.
 */
#ifndef _TCON_POLICY_H
#define _TCON_POLICY_H

#include <linux/refcount.h>
#include <tcon/cc.h>

#include "state/classifier.h"
#include "state/net.h"
#include "state/outcome.h"
#include "wire/key.h"

struct tcon_port;

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
 * @node: in tcon_net.rules
 * @rcu: for freeing it
 * @refs: references: one of the list, one of each flow that obeys it, one of a dump
 * @priority: higher is tried first; among equals, the newer
 * @entry: whose guests it is for, and what it selects; in tcon_net.classifier
 * @ecn: enum tcon_rule_ecn
 * @fallback: enum tcon_rule_fallback
 * @rto_min_us: least retransmission time-out beyond the smoothed RTT
 * @cc_name: the CC, or %TCON_CC_OBSERVE
 * @ops: the CC; NULL for %TCON_CC_OBSERVE, and while its module is gone
 * @params: the CC's parameters, defaults where the user gave none
 * @given: the parameters that differ from the defaults, by name, because a CC's module
 *	may come back with other parameters
 * @n_given: their number
 * @since_us: when it came into force
 * @outcomes: of flows, if it has a share of them
 * @flows: number of flows that obey it
 * @gone: it is in force no longer; under tcon_net.lock
 */
struct tcon_rule {
	struct list_head node;
	struct rcu_head rcu;
	refcount_t refs;
	u32 priority;
	struct tcon_entry entry;
	u8 ecn;
	u8 fallback;
	u32 rto_min_us;
	char cc_name[TCON_CC_NAME_MAX];
	const struct tcon_cc_ops __rcu *ops;
	s64 params[TCON_MAX_PARAMS];
	struct tcon_given given[TCON_MAX_PARAMS];
	unsigned int n_given;
	u64 since_us;
	struct tcon_outcomes outcomes;
	atomic_t flows;
	bool gone;
};

struct tcon_rule *tcon_policy_lookup(const struct tcon_port *port,
				     const struct tcon_key *key,
				     const struct tcon_traits *traits);
struct tcon_rule *tcon_policy_get(struct tcon_net *tnet, const char *bridge,
				  const struct tcon_match *match, u32 priority);
bool tcon_policy_binds_any(const struct tcon_port *port);
bool tcon_policy_binds(const struct tcon_port *port, const struct tcon_key *key,
		       const struct tcon_traits *traits);
void tcon_policy_place(struct tcon_port *port);
void tcon_policy_outcome(const struct tcon_port *port, const struct tcon_key *key,
			 const struct tcon_traits *traits, const struct tcon_rule *obeyed,
			 u64 began_us, const struct tcon_outcome_of *of);
int tcon_policy_set(struct tcon_net *tnet, struct tcon_rule *rule);
int tcon_policy_del(struct tcon_net *tnet, const char *bridge,
		    const struct tcon_match *match, u32 priority);
unsigned int tcon_policy_del_bridge(struct tcon_net *tnet, const char *bridge);
int tcon_policy_register(void);
void tcon_policy_unregister(void);
void tcon_policy_cc_gone(struct tcon_cc_ops *ops);
void tcon_policy_cc_come(struct tcon_cc_ops *ops);
void tcon_rule_put(struct tcon_rule *rule);
void tcon_rule_note_given(struct tcon_rule *rule,
			  const struct tcon_cc_ops *ops);

static inline bool tcon_rule_observes(const struct tcon_rule *rule)
{
	return !strcmp(rule->cc_name, TCON_CC_OBSERVE);
}

#endif /* _TCON_POLICY_H */
