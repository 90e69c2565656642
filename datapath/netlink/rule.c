// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rules: set, deleted, told.
 */
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "base/contract.h"
#include "netlink/match.h"
#include "netlink/message.h"
#include "netlink/port.h"
#include "netlink/rule.h"
#include "state/policy.h"
#include "state/port.h"
#include "state/registry.h"
#include "state/walk.h"

static struct netlink_range_validation priority_range = { .max = 65535 };
static struct netlink_range_validation rto_range = {
	.min = TCON_RTO_LEAST_US,
	.max = TCON_RTO_MOST_US,
};

static const struct nla_policy param_policy[TCON_PARAM_A_MAX + 1] = {
	[TCON_PARAM_A_NAME] = { .type = NLA_NUL_STRING,
				.len = TCON_PARAM_NAME_MAX - 1 },
	[TCON_PARAM_A_VALUE] = { .type = NLA_S64 },
};

const struct nla_policy tcon_nl_rule_policy[TCON_RULE_A_MAX + 1] = {
	[TCON_RULE_A_PRIORITY] = NLA_POLICY_FULL_RANGE(NLA_U32, &priority_range),
	[TCON_RULE_A_CC] = { .type = NLA_NUL_STRING,
			     .len = TCON_CC_NAME_MAX - 1 },
	[TCON_RULE_A_PARAM] = NLA_POLICY_NESTED(param_policy),
	[TCON_RULE_A_ECN] = NLA_POLICY_MAX(NLA_U8, __TCON_RULE_ECN_MAX - 1),
	[TCON_RULE_A_FALLBACK] = NLA_POLICY_MAX(NLA_U8, __TCON_RULE_FALLBACK_MAX - 1),
	[TCON_RULE_A_SHARE] = NLA_POLICY_RANGE(NLA_U16, 1, TCON_SHARE_ALL - 1),
	[TCON_RULE_A_RTO_MIN_US] = NLA_POLICY_FULL_RANGE(NLA_U32, &rto_range),
};

static int get_param(const struct nlattr *nest, const struct tcon_cc_ops *ops,
		     s64 *params, struct netlink_ext_ack *extack)
{
	struct nlattr *a[TCON_PARAM_A_MAX + 1];
	int err, i;
	s64 value;

	err = nla_parse_nested(a, TCON_PARAM_A_MAX, nest, param_policy, extack);
	if (err)
		return err;
	if (!a[TCON_PARAM_A_NAME] || !a[TCON_PARAM_A_VALUE])
		return tcon_nl_refuse(extack, -EINVAL, "parameter without name or value");
	i = tcon_cc_param_index(ops, nla_data(a[TCON_PARAM_A_NAME]));
	if (i < 0)
		return tcon_nl_refuse(extack, -EINVAL, "the CC has no such parameter");
	value = nla_get_s64(a[TCON_PARAM_A_VALUE]);
	if (value < ops->params[i].min || value > ops->params[i].max)
		return tcon_nl_refuse(extack, -ERANGE, "parameter value is out of range");
	params[i] = value;
	return 0;
}

/* Reads what a rule says of ECN, of flows that cannot be enforced, and of time-outs. */
static void get_wishes(struct nlattr **a, struct tcon_rule *rule)
{
	if (a[TCON_RULE_A_ECN])
		rule->ecn = nla_get_u8(a[TCON_RULE_A_ECN]);
	if (a[TCON_RULE_A_FALLBACK])
		rule->fallback = nla_get_u8(a[TCON_RULE_A_FALLBACK]);
	if (a[TCON_RULE_A_RTO_MIN_US])
		rule->rto_min_us = nla_get_u32(a[TCON_RULE_A_RTO_MIN_US]);
}

static int get_params(const struct nlattr *nest, const struct tcon_cc_ops *ops,
		      struct tcon_rule *rule, struct netlink_ext_ack *extack)
{
	struct nlattr *param;
	int err, rem;

	tcon_cc_defaults(ops, rule->params);
	nla_for_each_nested(param, nest, rem) {
		if (nla_type(param) != TCON_RULE_A_PARAM)
			continue;
		err = get_param(param, ops, rule->params, extack);
		if (err)
			return err;
	}
	return 0;
}

/* Reads the CC and the parameters of a rule. */
static int get_decision(const struct nlattr *nest, struct tcon_rule *rule,
			struct netlink_ext_ack *extack)
{
	struct nlattr *a[TCON_RULE_A_MAX + 1];
	const struct tcon_cc_ops *ops;
	int err;

	lockdep_assert_held(&tcon_cc_lock);
	err = nla_parse_nested(a, TCON_RULE_A_MAX, nest, tcon_nl_rule_policy, extack);
	if (err)
		return err;
	if (!a[TCON_RULE_A_CC])
		return tcon_nl_refuse(extack, -EINVAL, "rule without a CC");
	nla_strscpy(rule->cc_name, a[TCON_RULE_A_CC], sizeof(rule->cc_name));
	rule->priority = a[TCON_RULE_A_PRIORITY] ?
			 nla_get_u32(a[TCON_RULE_A_PRIORITY]) :
			 TCON_DEFAULT_PRIORITY;
	if (a[TCON_RULE_A_SHARE])
		rule->entry.share = nla_get_u16(a[TCON_RULE_A_SHARE]);
	if (tcon_rule_observes(rule))
		return a[TCON_RULE_A_PARAM] || a[TCON_RULE_A_ECN] ||
		       a[TCON_RULE_A_FALLBACK] || a[TCON_RULE_A_RTO_MIN_US] ?
		       tcon_nl_refuse(extack, -EINVAL, "none takes no parameters") : 0;
	ops = tcon_cc_find(rule->cc_name);
	if (!ops)
		return tcon_nl_refuse(extack, -ENOPKG, "no such CC is loaded");
	RCU_INIT_POINTER(rule->ops, ops);
	get_wishes(a, rule);
	if (rule->ecn == TCON_RULE_ECN_ON && !ops->cwnd_event)
		return tcon_nl_refuse(extack, -EINVAL,
				      "this CC does not hear of ECN marks");
	err = get_params(nest, ops, rule, extack);
	if (err)
		return err;
	tcon_rule_note_given(rule, ops);
	return 0;
}

/* Do the rule's parameters go together? */
static int check_params(const struct tcon_rule *rule, struct netlink_ext_ack *extack)
{
	const struct tcon_cc_ops *ops;
	const char *why;

	ops = rcu_dereference_protected(rule->ops, lockdep_is_held(&tcon_cc_lock));
	why = ops ? tcon_cc_complaint(ops, rule->params) : NULL;
	return why ? tcon_nl_refuse(extack, -EINVAL, why) : 0;
}

static int read_rule(struct genl_info *info, struct tcon_rule *rule)
{
	int err;

	refcount_set(&rule->refs, 1);
	rule->rto_min_us = TCON_RTO_DEFAULT_US;
	spin_lock_init(&rule->outcomes.lock);
	err = tcon_nl_get_bridge(info, rule->entry.bridge);
	if (err)
		return err;
	if (!info->attrs[TCON_A_RULE] || !info->attrs[TCON_A_RULE_MATCH])
		return tcon_nl_refuse(info->extack, -EINVAL,
				      "a rule needs a match and a decision");
	err = tcon_nl_get_match(info->attrs[TCON_A_RULE_MATCH], &rule->entry.match,
				info->extack);
	if (err)
		return err;
	err = get_decision(info->attrs[TCON_A_RULE], rule, info->extack);
	return err ? : check_params(rule, info->extack);
}

/* Loads the module of the CC that a request names, if the CC is not registered. */
static int autoload(struct genl_info *info)
{
	struct nlattr *a[TCON_RULE_A_MAX + 1];
	const char *why = NULL;

	if (info->attrs[TCON_A_RULE] &&
	    !nla_parse_nested(a, TCON_RULE_A_MAX, info->attrs[TCON_A_RULE],
			      tcon_nl_rule_policy, NULL) && a[TCON_RULE_A_CC])
		why = tcon_cc_autoload(nla_data(a[TCON_RULE_A_CC]));
	return why ? tcon_nl_refuse(info->extack, -ENOPKG, why) : 0;
}

/**
 * tcon_nl_set_rule() - TCON_CMD_SET_RULE: add a rule, or replace its like
 * @skb: the request
 * @info: the request, parsed
 *
 * It replaces the rule of the same bridge, match and priority.  May load the module of the
 * rule's CC.
 *
 * Return: 0 or a negative error; then nothing has changed.
 */
int tcon_nl_set_rule(struct sk_buff *skb, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	struct tcon_rule *rule;
	int err;

	err = autoload(info);
	if (err)
		return err;
	rule = kzalloc(sizeof(*rule), GFP_KERNEL_ACCOUNT);
	if (!rule)
		return -ENOMEM;
	mutex_lock(&tcon_cc_lock);
	err = read_rule(info, rule);
	if (!err) {
		mutex_lock(&tnet->lock);
		err = tcon_policy_set(tnet, rule);
		mutex_unlock(&tnet->lock);
		if (err == -ENOSPC)
			tcon_nl_refuse(info->extack, err, "too many rules");
	}
	mutex_unlock(&tcon_cc_lock);
	if (err)
		kfree(rule);
	else
		tcon_walk_spread(tnet);
	return err;
}

/**
 * struct place - what tells rules apart
 * @bridge: of the rule
 * @match: zero if the request has none
 * @priority: of the rule
 */
struct place {
	char bridge[TCON_BRIDGE_NAME_MAX];
	struct tcon_match match;
	u32 priority;
};

static int get_place(struct genl_info *info, struct place *place)
{
	struct nlattr *a[TCON_RULE_A_MAX + 1] = {};
	int err;

	memset(place, 0, sizeof(*place));
	err = tcon_nl_get_bridge(info, place->bridge);
	if (!err && info->attrs[TCON_A_RULE_MATCH])
		err = tcon_nl_get_match(info->attrs[TCON_A_RULE_MATCH], &place->match,
					info->extack);
	if (!err && info->attrs[TCON_A_RULE])
		err = nla_parse_nested(a, TCON_RULE_A_MAX, info->attrs[TCON_A_RULE],
				       tcon_nl_rule_policy, info->extack);
	place->priority = a[TCON_RULE_A_PRIORITY] ? nla_get_u32(a[TCON_RULE_A_PRIORITY]) :
						    TCON_DEFAULT_PRIORITY;
	return err;
}

/**
 * tcon_nl_del_rule() - TCON_CMD_DEL_RULE: delete a rule, or all of a bridge
 * @skb: the request
 * @info: the request, parsed
 *
 * Return: 0 or a negative error; then nothing has changed.
 */
int tcon_nl_del_rule(struct sk_buff *skb, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	struct place place;
	int err = get_place(info, &place);

	if (err)
		return err;
	mutex_lock(&tnet->lock);
	if (info->attrs[TCON_A_RULE_MATCH])
		err = tcon_policy_del(tnet, place.bridge, &place.match, place.priority);
	else
		tcon_policy_del_bridge(tnet, place.bridge);
	mutex_unlock(&tnet->lock);
	if (err)
		return tcon_nl_refuse(info->extack, err, "there is no such rule");
	tcon_walk_spread(tnet);
	return 0;
}

/* Parameters that differ from the CC's defaults, also while the CC is gone. */
static int put_rule_params(struct sk_buff *skb, const struct tcon_rule *rule)
{
	struct nlattr *nest;
	unsigned int i;

	for (i = 0; i < rule->n_given; i++) {
		nest = nla_nest_start(skb, TCON_RULE_A_PARAM);
		if (!nest ||
		    nla_put_string(skb, TCON_PARAM_A_NAME,
				   rule->given[i].name) ||
		    nla_put_s64(skb, TCON_PARAM_A_VALUE, rule->given[i].value,
				TCON_PARAM_A_PAD) ||
		    nla_put_u8(skb, TCON_PARAM_A_TYPE, rule->given[i].type))
			return -EMSGSIZE;
		nla_nest_end(skb, nest);
	}
	return 0;
}

static int put_share(struct sk_buff *skb, struct tcon_rule *rule)
{
	u64 taken[__TCON_OUTCOME_MAX], left[__TCON_OUTCOME_MAX];

	if (!rule->entry.share)
		return 0;
	tcon_outcomes_read(&rule->outcomes, taken, left);
	return nla_put_u16(skb, TCON_RULE_A_SHARE, rule->entry.share) ||
	       nla_put_64bit(skb, TCON_RULE_A_TAKEN, sizeof(taken), taken, TCON_RULE_A_PAD) ||
	       nla_put_64bit(skb, TCON_RULE_A_LEFT, sizeof(left), left, TCON_RULE_A_PAD);
}

/* Puts what is in the nest %TCON_A_RULE, which @nest is. */
static int put_decision(struct sk_buff *skb, struct nlattr *nest, struct tcon_rule *rule)
{
	int err;

	err = nla_put_u32(skb, TCON_RULE_A_PRIORITY, rule->priority) ||
	      nla_put_string(skb, TCON_RULE_A_CC, rule->cc_name) ||
	      nla_put_u32(skb, TCON_RULE_A_FLOWS, atomic_read(&rule->flows)) ||
	      (rule->ecn && nla_put_u8(skb, TCON_RULE_A_ECN, rule->ecn)) ||
	      (rule->fallback &&
	       nla_put_u8(skb, TCON_RULE_A_FALLBACK, rule->fallback)) ||
	      (rule->rto_min_us != TCON_RTO_DEFAULT_US &&
	       nla_put_u32(skb, TCON_RULE_A_RTO_MIN_US, rule->rto_min_us)) ||
	      nla_put_u64_64bit(skb, TCON_RULE_A_AGE_MS, tcon_nl_age_ms(rule->since_us),
				TCON_RULE_A_PAD) ||
	      put_share(skb, rule) ||
	      put_rule_params(skb, rule);
	nla_nest_end(skb, nest);
	return err;
}

static int put_rule(struct sk_buff *skb, struct nlattr *nest, struct tcon_rule *rule)
{
	return put_decision(skb, nest, rule) ||
	       nla_put_string(skb, TCON_A_BRIDGE, rule->entry.bridge) ||
	       tcon_nl_put_match(skb, &rule->entry.match);
}

static int fill_rule(struct sk_buff *skb, struct netlink_callback *cb,
		     struct tcon_rule *rule)
{
	struct nlattr *nest;
	void *hdr;

	hdr = tcon_nl_open(skb, cb, TCON_CMD_GET_RULE, TCON_A_RULE, &nest);
	if (!hdr)
		return -EMSGSIZE;
	return tcon_nl_close(skb, hdr, put_rule(skb, nest, rule));
}

/* Finds the rule at a place, and takes a reference.  0 or a negative error. */
static int find_by_place(struct tcon_net *tnet, struct genl_info *info, struct tcon_rule **rule)
{
	struct place place;
	int err = get_place(info, &place);

	if (err)
		return err;
	mutex_lock(&tnet->lock);
	*rule = tcon_policy_get(tnet, place.bridge, &place.match, place.priority);
	if (*rule)
		refcount_inc(&(*rule)->refs);
	mutex_unlock(&tnet->lock);
	return *rule ? 0 : tcon_nl_refuse(info->extack, -ENOENT, "there is no such rule");
}

/* Likewise the rule that a half-flow of a port would obey. */
static int find_by_flow(struct tcon_net *tnet, struct genl_info *info, struct tcon_rule **rule)
{
	const struct tcon_port *port;
	struct tcon_traits traits;
	struct tcon_match m;
	struct tcon_key key;
	int err, ifindex;

	err = tcon_nl_get_ifindex(info->attrs, info->extack, &ifindex);
	if (!err)
		err = tcon_nl_get_match(info->attrs[TCON_A_RULE_MATCH], &m, info->extack);
	if (err)
		return err;
	tcon_match_example(&m, &key, &traits);
	rcu_read_lock();
	port = tcon_port_find(tnet, ifindex);
	*rule = port ? tcon_policy_lookup(port, &key, &traits) : NULL;
	rcu_read_unlock();
	if (!port)
		return tcon_nl_refuse(info->extack, -ENODEV,
				      "no kernel datapath has a port with this ifindex");
	return *rule ? 0 : tcon_nl_refuse(info->extack, -ENOENT, "no rule selects the flow");
}

/**
 * tcon_nl_get_rule() - TCON_CMD_GET_RULE: tell one rule
 * @request: the request
 * @info: the request, parsed
 *
 * Return: 0 or a negative error.
 */
int tcon_nl_get_rule(struct sk_buff *request, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	struct tcon_rule *rule;
	struct nlattr *nest;
	struct sk_buff *skb;
	void *hdr;
	int err;

	if (!info->attrs[TCON_A_RULE_MATCH])
		return tcon_nl_refuse(info->extack, -EINVAL, "a match must be given");
	err = info->attrs[TCON_A_PORT] ? find_by_flow(tnet, info, &rule) :
					 find_by_place(tnet, info, &rule);
	if (err)
		return err;
	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	hdr = skb ? genlmsg_put_reply(skb, info, &tcon_family, 0, TCON_CMD_GET_RULE) : NULL;
	nest = hdr ? nla_nest_start(skb, TCON_A_RULE) : NULL;
	mutex_lock(&tnet->lock);
	err = !nest || put_rule(skb, nest, rule);
	mutex_unlock(&tnet->lock);
	tcon_rule_put(rule);
	if (err) {
		err = skb ? -EMSGSIZE : -ENOMEM;
		nlmsg_free(skb);
		return err;
	}
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

/* The first rule that is still to be dumped; NULL: none.  @last: the one told last, or NULL. */
static struct tcon_rule *resume_rules(struct tcon_net *tnet, struct tcon_rule *last)
{
	struct tcon_rule *rule;

	if (last && !last->gone) {
		rule = list_next_entry(last, node);
		return list_entry_is_head(rule, &tnet->rules, node) ? NULL : rule;
	}
	list_for_each_entry(rule, &tnet->rules, node)
		if (!last || rule->entry.rank < last->entry.rank)
			return rule;
	return NULL;
}

/* Takes note that @rule was told, which stays in memory until the dump goes on. */
static void told_rule(struct netlink_callback *cb, struct tcon_rule *rule)
{
	struct tcon_rule *last = (void *)cb->args[0];

	refcount_inc(&rule->refs);
	if (last)
		tcon_rule_put(last);
	cb->args[0] = (long)rule;
}

/**
 * tcon_nl_rules_done() - a dump of rules ends, or is given up
 * @cb: the dump
 *
 * Return: 0.
 */
int tcon_nl_rules_done(struct netlink_callback *cb)
{
	struct tcon_rule *last = (void *)cb->args[0];

	if (last)
		tcon_rule_put(last);
	return 0;
}

/**
 * tcon_nl_dump_rules() - TCON_CMD_GET_RULE: tell a namespace's rules, the first to match first
 * @skb: what is dumped into
 * @cb: the dump; args[0] is the rule that was told last, with a reference
 *
 * Return: bytes, 0 at the end, or a negative error.
 */
int tcon_nl_dump_rules(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tcon_net *tnet = tcon_net(sock_net(skb->sk));
	struct tcon_rule *rule;
	int err = tcon_nl_check_version(cb->nlh, cb->extack);

	if (err)
		return err;
	mutex_lock(&tnet->lock);
	cb->seq = tcon_nl_seq(tnet->rule_changes);
	while ((rule = resume_rules(tnet, (void *)cb->args[0]))) {
		if (fill_rule(skb, cb, rule))
			break;
		told_rule(cb, rule);
	}
	mutex_unlock(&tnet->lock);
	return skb->len;
}
