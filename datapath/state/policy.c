// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules, tried in order: highest priority first, among equals the newest.
 *
 * A flow holds a reference to the rule that it obeys.  So a rule that is removed lives until
 * its last flow has looked for another.
 */
#include <linux/ktime.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include "base/contract.h"
#include "state/policy.h"
#include "state/port.h"
#include "state/registry.h"

/* Does it bind a flow that cannot be enforced? */
static bool is_strict(const struct tcon_rule *rule)
{
	return !tcon_rule_observes(rule) && rule->fallback != TCON_RULE_FALLBACK_PASS;
}

/* Does it, and only flows with some TCP port or mark, or some of them? */
static bool is_strict_with_ports(const struct tcon_rule *rule)
{
	const struct tcon_match *m = &rule->entry.match;

	return is_strict(rule) &&
	       (m->sport_mask || m->dport_mask || m->mark_mask || rule->entry.share);
}

static struct tcon_place place_of(const struct tcon_port *port, const struct tcon_port_conf *conf,
				  const struct tcon_traits *traits)
{
	return (struct tcon_place) {
		.bridge = conf->bridge, .bridge_hash = conf->bridge_hash,
		.ifname = port->dev->name, .ofport = conf->ofport,
		.iface_id = conf->iface_id, .iface_id_hash = conf->iface_id_hash,
		.traits = traits,
	};
}

/**
 * tcon_policy_binds() - does a rule bind a packet of an unknown half-flow between two addresses?
 * @port: the guest's port
 * @key: a half-flow's key without its TCP ports
 * @traits: its traits; the mark is not looked at
 *
 * The function does not search rules with TCP ports or marks.  Where such rules can match at the
 * port, the answer is yes, if no other rule is tried before.
 *
 * Context: RCU read lock held.
 * Return: whether a rule does not let it pass if it cannot be enforced.
 */
bool tcon_policy_binds(const struct tcon_port *port, const struct tcon_key *key,
		       const struct tcon_traits *traits)
{
	const struct tcon_port_conf *conf = rcu_dereference(port->conf);
	const struct tcon_net *tnet = port->tnet;
	struct tcon_place place;
	struct tcon_entry *e;

	tcon_assert_rcu();
	/* Rules of other ports are no reason. */
	if (!conf || READ_ONCE(port->role) != TCON_ROLE_GUEST || !READ_ONCE(port->ruled))
		return false;
	place = place_of(port, conf, traits);
	e = tcon_classifier_find(&tnet->classifier, &place, key);
	if (e && is_strict(container_of(e, struct tcon_rule, entry)))
		return true;
	return READ_ONCE(tnet->n_strict_with_ports) && READ_ONCE(port->bound_by_ports) &&
	       !(e && e->rank > tcon_classifier_best_with_ports(&tnet->classifier, key->family));
}

/**
 * tcon_policy_binds_any() - may a rule bind a half-flow without a known key?
 * @port: the guest's port
 *
 * Return: whether a rule can match at the port that binds flows which cannot be enforced.
 */
bool tcon_policy_binds_any(const struct tcon_port *port)
{
	return READ_ONCE(port->role) == TCON_ROLE_GUEST && READ_ONCE(port->ruled) &&
	       READ_ONCE(port->bound) && READ_ONCE(port->tnet->n_strict);
}

/**
 * tcon_policy_lookup() - the rule for a half-flow
 * @port: its port
 * @key: the half-flow
 * @traits: its traits
 *
 * Only a guest's port has rules: at a port that is no guest's any more hooks see no packets.
 *
 * Context: RCU read lock held.
 * Return: the rule with a reference for the caller, or NULL.
 */
struct tcon_rule *tcon_policy_lookup(const struct tcon_port *port,
				     const struct tcon_key *key,
				     const struct tcon_traits *traits)
{
	const struct tcon_port_conf *conf = rcu_dereference(port->conf);
	struct tcon_place place;
	struct tcon_entry *e;
	struct tcon_rule *rule;

	tcon_assert_rcu();
	if (!conf || READ_ONCE(port->role) != TCON_ROLE_GUEST)
		return NULL;
	place = place_of(port, conf, traits);
	while ((e = tcon_classifier_find(&port->tnet->classifier, &place, key))) {
		rule = container_of(e, struct tcon_rule, entry);
		if (refcount_inc_not_zero(&rule->refs))
			return rule;
		cpu_relax();	/* it has just been removed */
	}
	return NULL;
}

/**
 * struct ended - a half-flow that has ended
 * @obeyed: the rule that it obeyed, or NULL
 * @began_us: when it began
 * @of: its outcome
 */
struct ended {
	const struct tcon_rule *obeyed;
	u64 began_us;
	const struct tcon_outcome_of *of;
};

/*
 * Adds the half-flow to its side of the comparison: the rule's share, or the half-flows that the
 * rule left to rules without a share, or to none.  Half-flows that another rule with a share took
 * are on neither side.  So if several CCs have a share each, all are compared with the same rest.
 */
static void compare(struct tcon_entry *e, void *arg)
{
	struct tcon_rule *rule = container_of(e, struct tcon_rule, entry);
	const struct ended *ended = arg;
	const struct tcon_rule *obeyed = ended->obeyed;

	if (ended->began_us < rule->since_us)
		return;
	if (obeyed == rule)
		tcon_outcomes_add(&rule->outcomes, true, ended->of);
	else if (!obeyed || (!obeyed->entry.share && obeyed->entry.rank < e->rank))
		tcon_outcomes_add(&rule->outcomes, false, ended->of);
}

/**
 * tcon_policy_outcome() - add a half-flow that has ended to rules that compare
 * @port: its port
 * @key: the half-flow
 * @traits: its traits
 * @obeyed: the rule that it has obeyed from its beginning; NULL: none
 * @began_us: when it began
 * @of: its outcome
 *
 * Context: bottom halves disabled.
 */
void tcon_policy_outcome(const struct tcon_port *port, const struct tcon_key *key,
			 const struct tcon_traits *traits, const struct tcon_rule *obeyed,
			 u64 began_us, const struct tcon_outcome_of *of)
{
	struct ended ended = { .obeyed = obeyed, .began_us = began_us, .of = of };
	const struct tcon_port_conf *conf;
	struct tcon_place place;

	rcu_read_lock();
	conf = rcu_dereference(port->conf);
	if (conf) {
		place = place_of(port, conf, traits);
		tcon_classifier_each_share(&port->tnet->classifier, &place, key, compare, &ended);
	}
	rcu_read_unlock();
}

/**
 * tcon_rule_put() - give a reference back
 * @rule: the rule
 *
 * Context: any.
 */
void tcon_rule_put(struct tcon_rule *rule)
{
	if (refcount_dec_and_test(&rule->refs))
		kfree_rcu(rule, rcu);
}

/**
 * tcon_rule_note_given() - store by name the parameters that differ from the defaults
 * @rule: the rule; its params are complete
 * @ops: its CC
 *
 * Context: nobody else knows the rule, or its namespace's lock is held.
 */
void tcon_rule_note_given(struct tcon_rule *rule,
			  const struct tcon_cc_ops *ops)
{
	struct tcon_given *given;
	unsigned int i;

	rule->n_given = 0;
	for (i = 0; i < ops->n_params; i++) {
		if (rule->params[i] == ops->params[i].def)
			continue;
		given = &rule->given[rule->n_given++];
		strscpy(given->name, ops->params[i].name, sizeof(given->name));
		given->value = rule->params[i];
		given->type = ops->params[i].type;
	}
}

/*
 * A CC has come back, perhaps in another version with other parameters.  Given parameters
 * that it does not have, or whose value is out of its range, are dropped; all of them if they do
 * not go together any more.  No flow uses @rule->params.
 */
static void take_up(struct tcon_rule *rule, const struct tcon_cc_ops *ops)
{
	const struct tcon_given *given;
	unsigned int i;
	int param;

	memset(rule->params, 0, sizeof(rule->params));
	tcon_cc_defaults(ops, rule->params);
	for (i = 0; i < rule->n_given; i++) {
		given = &rule->given[i];
		param = tcon_cc_param_index(ops, given->name);
		if (param >= 0 && given->value >= ops->params[param].min &&
		    given->value <= ops->params[param].max)
			rule->params[param] = given->value;
		else
			pr_warn("tcon: CC %s does not take %s=%lld any more: a rule of bridge %s goes on without\n",
				ops->name, given->name, given->value,
				rule->entry.bridge);
	}
	if (tcon_cc_complaint(ops, rule->params)) {
		pr_warn("tcon: CC %s: %s: a rule of bridge %s goes on without its parameters\n",
			ops->name, tcon_cc_complaint(ops, rule->params), rule->entry.bridge);
		tcon_cc_defaults(ops, rule->params);
	}
	tcon_rule_note_given(rule, ops);
}

static bool same_decision(const struct tcon_rule *a, const struct tcon_rule *b)
{
	return !strcmp(a->cc_name, b->cc_name) && a->ecn == b->ecn &&
	       a->fallback == b->fallback && a->rto_min_us == b->rto_min_us &&
	       a->entry.share == b->entry.share &&
	       !memcmp(a->params, b->params, sizeof(a->params));
}

/**
 * tcon_policy_get() - a rule by its place
 * @tnet: the namespace
 * @bridge: its bridge
 * @match: its match
 * @priority: its priority
 *
 * Context: tnet->lock held.
 * Return: the rule or NULL.
 */
struct tcon_rule *tcon_policy_get(struct tcon_net *tnet, const char *bridge,
				  const struct tcon_match *match, u32 priority)
{
	struct tcon_entry *e = tcon_classifier_get(&tnet->classifier, bridge, match, priority);

	lockdep_assert_held(&tnet->lock);
	return e ? container_of(e, struct tcon_rule, entry) : NULL;
}

/* Can a rule match flows of a port? */
static bool concerns(const struct tcon_rule *rule, const struct tcon_port *port)
{
	const struct tcon_port_conf *conf;
	struct tcon_place place;

	conf = rcu_dereference_protected(port->conf, lockdep_is_held(&port->tnet->lock));
	if (!conf || strcmp(rule->entry.bridge, conf->bridge))
		return false;
	place = place_of(port, conf, NULL);	/* of no half-flow */
	return tcon_match_place(&rule->entry.match, &place);
}

/* Can no other rule of the namespace change the result? */
static bool is_known(const struct tcon_net *tnet, bool bound, bool bound_by_ports)
{
	return (bound || !tnet->n_strict) && (bound_by_ports || !tnet->n_strict_with_ports);
}

/**
 * tcon_policy_place() - find out whether rules can match flows of a port
 * @port: the port, which has changed
 *
 * Context: tnet->lock held.
 */
void tcon_policy_place(struct tcon_port *port)
{
	bool ruled = false, bound = false, bound_by_ports = false;
	struct tcon_rule *rule;

	port->less_ruled = false;
	list_for_each_entry(rule, &port->tnet->rules, node) {
		if (!concerns(rule, port))
			continue;
		ruled = true;
		bound |= is_strict(rule);
		bound_by_ports |= is_strict_with_ports(rule);
		if (is_known(port->tnet, bound, bound_by_ports))
			break;
	}
	WRITE_ONCE(port->bound, bound);
	WRITE_ONCE(port->bound_by_ports, bound_by_ports);
	tcon_port_rule(port, ruled);
}

static void add_concern(struct tcon_port *port, const struct tcon_rule *rule)
{
	if (is_strict(rule))
		WRITE_ONCE(port->bound, true);
	if (is_strict_with_ports(rule))
		WRITE_ONCE(port->bound_by_ports, true);
	tcon_port_rule(port, true);
}

/* A rule has come: ports that it concerns see all packets. */
static void wake_ports(struct tcon_net *tnet, const struct tcon_rule *rule)
{
	struct tcon_port *port;

	list_for_each_entry(port, &tnet->ports, node)
		if (concerns(rule, port))
			add_concern(port, rule);
}

/* A rule has gone: ports that it concerned may rest, if it was the last.  A later check finds that
 * out, once for all rules that go together.
 */
static void calm_ports(struct tcon_net *tnet, const struct tcon_rule *rule)
{
	struct tcon_port *port;

	list_for_each_entry(port, &tnet->ports, node)
		port->less_ruled |= concerns(rule, port);
}

static void link_rule(struct tcon_net *tnet, struct tcon_rule *rule)
{
	struct tcon_rule *at;

	list_for_each_entry(at, &tnet->rules, node)
		if (at->priority <= rule->priority)
			break;
	list_add_tail(&rule->node, &at->node);
	tnet->n_rules++;
	WRITE_ONCE(tnet->n_strict, tnet->n_strict + is_strict(rule));
	WRITE_ONCE(tnet->n_strict_with_ports,
		   tnet->n_strict_with_ports + is_strict_with_ports(rule));
	WRITE_ONCE(tnet->n_shares, tnet->n_shares + !!rule->entry.share);
	WRITE_ONCE(tnet->n_marks, tnet->n_marks + !!rule->entry.match.mark_mask);
	wake_ports(tnet, rule);
}

static void unlink_rule(struct tcon_net *tnet, struct tcon_rule *rule)
{
	tcon_classifier_del(&tnet->classifier, &rule->entry);
	list_del(&rule->node);
	rule->gone = true;
	tnet->n_rules--;
	WRITE_ONCE(tnet->n_strict, tnet->n_strict - is_strict(rule));
	WRITE_ONCE(tnet->n_strict_with_ports,
		   tnet->n_strict_with_ports - is_strict_with_ports(rule));
	WRITE_ONCE(tnet->n_shares, tnet->n_shares - !!rule->entry.share);
	WRITE_ONCE(tnet->n_marks, tnet->n_marks - !!rule->entry.match.mark_mask);
	calm_ports(tnet, rule);
	tcon_rule_put(rule);
}

/* Rules of a bridge have changed; NULL: of any. */
static void changed(struct tcon_net *tnet, const char *bridge)
{
	tnet->rule_changes++;
	tcon_ports_changed(tnet, bridge);
}

/**
 * tcon_policy_set() - put a rule into force
 * @tnet: the namespace
 * @rule: the rule, complete, with one reference, which goes to the list; memory that no
 *	field uses must be zero
 *
 * To set the same rule again changes nothing.  Another CC or other parameters for the same
 * bridge, match and priority replace the former rule.
 *
 * Context: tnet->lock held.
 * Return: 0; -ENOSPC if there are %TCON_MAX_RULES; -ENOMEM.  On error the caller keeps @rule.
 */
int tcon_policy_set(struct tcon_net *tnet, struct tcon_rule *rule)
{
	struct tcon_rule *old;
	int err;

	lockdep_assert_held(&tnet->lock);
	old = tcon_policy_get(tnet, rule->entry.bridge, &rule->entry.match, rule->priority);
	if (old && same_decision(old, rule)) {
		tcon_rule_put(rule);
		return 0;
	}
	if (!old && tnet->n_rules >= TCON_MAX_RULES)
		return -ENOSPC;
	rule->since_us = ktime_to_us(ktime_get());
	err = tcon_classifier_add(&tnet->classifier, &rule->entry, rule->priority);
	if (err)
		return err;
	link_rule(tnet, rule);
	if (old)
		unlink_rule(tnet, old);
	changed(tnet, rule->entry.bridge);
	return 0;
}

/**
 * tcon_policy_del() - remove a rule
 * @tnet: the namespace
 * @bridge: its bridge
 * @match: its match
 * @priority: its priority
 *
 * Context: tnet->lock held.
 * Return: 0, or -ENOENT if there is none.
 */
int tcon_policy_del(struct tcon_net *tnet, const char *bridge,
		    const struct tcon_match *match, u32 priority)
{
	struct tcon_rule *rule = tcon_policy_get(tnet, bridge, match, priority);

	if (!rule)
		return -ENOENT;
	unlink_rule(tnet, rule);
	tcon_classifier_trim(&tnet->classifier);
	changed(tnet, bridge);
	return 0;
}

/**
 * tcon_policy_del_bridge() - remove all rules of a bridge
 * @tnet: the namespace
 * @bridge: its name; NULL: all bridges
 *
 * Context: tnet->lock held.
 * Return: how many rules there were.
 */
unsigned int tcon_policy_del_bridge(struct tcon_net *tnet, const char *bridge)
{
	struct tcon_rule *rule, *next;
	unsigned int n = 0;

	lockdep_assert_held(&tnet->lock);
	list_for_each_entry_safe(rule, next, &tnet->rules, node) {
		if (bridge && strcmp(rule->entry.bridge, bridge))
			continue;
		unlink_rule(tnet, rule);
		n++;
	}
	if (!n)
		return 0;
	tcon_classifier_trim(&tnet->classifier);
	changed(tnet, bridge);
	return n;
}

static int __net_init policy_init_net(struct net *net)
{
	tcon_classifier_init(&tcon_net(net)->classifier);
	return 0;
}

/* The ports have gone with their datapaths, before the namespace. */
static void __net_exit policy_exit_net(struct net *net)
{
	struct tcon_net *tnet = tcon_net(net);

	mutex_lock(&tnet->lock);
	tcon_policy_del_bridge(tnet, NULL);
	mutex_unlock(&tnet->lock);
	tcon_classifier_exit(&tnet->classifier);
}

static struct pernet_operations policy_net_ops = {
	.init = policy_init_net,
	.exit = policy_exit_net,
};

/**
 * tcon_policy_register() - start to remove rules together with their namespace
 *
 * Return: 0 or a negative error.
 */
int tcon_policy_register(void)
{
	return register_pernet_subsys(&policy_net_ops);
}

/**
 * tcon_policy_unregister() - remove the rules of all namespaces
 */
void tcon_policy_unregister(void)
{
	unregister_pernet_subsys(&policy_net_ops);
}

static void cc_gone(struct tcon_net *tnet, void *ops)
{
	struct tcon_rule *rule;

	mutex_lock(&tnet->lock);
	list_for_each_entry(rule, &tnet->rules, node)
		if (rcu_access_pointer(rule->ops) == ops)
			RCU_INIT_POINTER(rule->ops, NULL);
	changed(tnet, NULL);
	mutex_unlock(&tnet->lock);
}

static void cc_come(struct tcon_net *tnet, void *arg)
{
	const struct tcon_cc_ops *ops = arg;
	struct tcon_rule *rule;

	mutex_lock(&tnet->lock);
	list_for_each_entry(rule, &tnet->rules, node) {
		if (strcmp(rule->cc_name, ops->name))
			continue;
		take_up(rule, ops);
		rcu_assign_pointer(rule->ops, ops);
	}
	changed(tnet, NULL);
	mutex_unlock(&tnet->lock);
}

/**
 * tcon_policy_cc_gone() - let no rule start a CC any more
 * @ops: the CC
 *
 * The caller stops the flows that run it, after a grace period.
 *
 * Context: process context.
 */
void tcon_policy_cc_gone(struct tcon_cc_ops *ops)
{
	tcon_net_for_each(cc_gone, ops);
}

/**
 * tcon_policy_cc_come() - let rules that name a CC start it
 * @ops: the CC
 *
 * Context: process context.
 */
void tcon_policy_cc_come(struct tcon_cc_ops *ops)
{
	tcon_net_for_each(cc_come, ops);
}
