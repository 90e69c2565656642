// SPDX-License-Identifier: GPL-2.0-only
/*
 * CCs, dumped with their parameters.
 */
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "netlink/cc.h"
#include "netlink/message.h"
#include "state/policy.h"
#include "state/registry.h"

static int put_cc_param(struct sk_buff *skb, const struct tcon_cc_param *p)
{
	struct nlattr *nest = nla_nest_start(skb, TCON_CC_A_PARAM);

	if (!nest || nla_put_string(skb, TCON_PARAM_A_NAME, p->name) ||
	    nla_put_s64(skb, TCON_PARAM_A_VALUE, p->def, TCON_PARAM_A_PAD) ||
	    nla_put_u8(skb, TCON_PARAM_A_TYPE, p->type) ||
	    nla_put_s64(skb, TCON_PARAM_A_MIN, p->min, TCON_PARAM_A_PAD) ||
	    nla_put_s64(skb, TCON_PARAM_A_MAX_VALUE, p->max,
			TCON_PARAM_A_PAD) ||
	    nla_put_string(skb, TCON_PARAM_A_UNIT, p->unit) ||
	    nla_put_string(skb, TCON_PARAM_A_HELP, p->help))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static u32 flows_of_cc(struct tcon_net *tnet, const struct tcon_cc_ops *ops)
{
	struct tcon_rule *rule;
	u32 n = 0;

	mutex_lock(&tnet->lock);
	list_for_each_entry(rule, &tnet->rules, node)
		if (rcu_access_pointer(rule->ops) == ops)
			n += atomic_read(&rule->flows);
	mutex_unlock(&tnet->lock);
	return n;
}

static int fill_cc(struct sk_buff *skb, struct netlink_callback *cb,
		   const struct tcon_cc_ops *ops)
{
	struct tcon_net *tnet = tcon_net(sock_net(skb->sk));
	struct nlattr *nest;
	unsigned int i;
	void *hdr;
	int err;

	hdr = tcon_nl_open(skb, cb, TCON_CMD_GET_CC, TCON_A_CC, &nest);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_string(skb, TCON_CC_A_NAME, ops->name) ||
	      nla_put_string(skb, TCON_CC_A_CATEGORY, ops->category) ||
	      nla_put_string(skb, TCON_CC_A_SOURCE, ops->source) ||
	      (ops->paced && nla_put_flag(skb, TCON_CC_A_PACED)) ||
	      nla_put_u32(skb, TCON_CC_A_FLOWS, flows_of_cc(tnet, ops));
	for (i = 0; !err && i < ops->n_params; i++)
		err = put_cc_param(skb, &ops->params[i]);
	nla_nest_end(skb, nest);
	return tcon_nl_close(skb, hdr, err);
}

/**
 * tcon_nl_dump_ccs() - TCON_CMD_GET_CC: tell the CCs that are registered, and their flows here
 * @skb: what is dumped into
 * @cb: the dump; args[0] is how many were told
 *
 * Return: bytes, 0 at the end, or a negative error.
 */
int tcon_nl_dump_ccs(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct tcon_cc_ops *ops;
	long i = 0;
	int err = tcon_nl_check_version(cb->nlh, cb->extack);

	if (err)
		return err;
	if (!cb->args[0])
		tcon_cc_scan();
	mutex_lock(&tcon_cc_lock);
	cb->seq = tcon_nl_seq(tcon_cc_changes);
	list_for_each_entry(ops, &tcon_cc_list, list) {
		if (i >= cb->args[0] && fill_cc(skb, cb, ops))
			break;
		i++;
	}
	mutex_unlock(&tcon_cc_lock);
	cb->args[0] = i;
	return skb->len;
}
