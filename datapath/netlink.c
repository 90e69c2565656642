// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family; uapi/linux/tcon.h describes its messages.
 *
 * Policies are strict.  A request is checked completely before anything changes.  A set may
 * be sent twice.
 */
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <tcon/compat.h>

#include "hooks.h"
#include "netlink.h"
#include "netlink/cc.h"
#include "netlink/flow.h"
#include "netlink/match.h"
#include "netlink/message.h"
#include "netlink/move.h"
#include "netlink/port.h"
#include "netlink/rule.h"
#include "state/buffer.h"
#include "state/port.h"
#include "state/walk.h"

static const struct nla_policy tcon_policy[TCON_A_MAX + 1] = {
	[TCON_A_BRIDGE] = { .type = NLA_NUL_STRING,
			    .len = TCON_BRIDGE_NAME_MAX - 1 },
	[TCON_A_PORT] = NLA_POLICY_NESTED(tcon_nl_port_policy),
	[TCON_A_RULE] = NLA_POLICY_NESTED(tcon_nl_rule_policy),
	[TCON_A_RULE_MATCH] = NLA_POLICY_NESTED(tcon_nl_match_policy),
	[TCON_A_STATE] = NLA_POLICY_MAX(NLA_BINARY, sizeof(struct tcon_state_record)),
	[TCON_A_CHECK] = { .type = NLA_FLAG },
	[TCON_A_ROUNDS] = { .type = NLA_FLAG },
};

static int pre_doit(const struct tcon_genl_ops *ops, struct sk_buff *skb,
		    struct genl_info *info)
{
	return tcon_nl_check_version(info->nlhdr, info->extack);
}

/* Sum over the ports of the namespace. */
static long used_by_ports(const struct tcon_net *tnet, enum tcon_share what)
{
	struct tcon_port *port;
	long used = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &tnet->ports, node)
		used += tcon_share_used(port->shares, what);
	rcu_read_unlock();
	return used;
}

static int put_shares(struct sk_buff *skb, const struct tcon_net *tnet)
{
	return nla_put_u32(skb, TCON_INFO_A_FLOWS, used_by_ports(tnet, TCON_SHARE_FLOWS)) ||
	       nla_put_u32(skb, TCON_INFO_A_FLOWS_MAX,
			   tcon_shares_host_max(TCON_SHARE_FLOWS)) ||
	       nla_put_u32(skb, TCON_INFO_A_EMBRYOS,
			   used_by_ports(tnet, TCON_SHARE_EMBRYOS)) ||
	       nla_put_u32(skb, TCON_INFO_A_EMBRYOS_MAX,
			   tcon_shares_host_max(TCON_SHARE_EMBRYOS)) ||
	       nla_put_u64_64bit(skb, TCON_INFO_A_BUFFER_BYTES,
				 used_by_ports(tnet, TCON_SHARE_BUFFER), TCON_INFO_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_INFO_A_BUFFER_MAX,
				 tcon_shares_host_max(TCON_SHARE_BUFFER), TCON_INFO_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_INFO_A_BUFFER_PORT_MAX,
				 tcon_shares_port_max(TCON_SHARE_BUFFER), TCON_INFO_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_INFO_A_BUFFER_FLOW_MAX, tcon_buffer_flow_max(),
				 TCON_INFO_A_PAD);
}

static int put_counters(struct sk_buff *skb, struct tcon_net *tnet)
{
	u64 sum[__TCON_COUNTER_MAX];
	int i;

	for (i = 0; i < __TCON_COUNTER_MAX; i++)
		sum[i] = tcon_stats_sum(tnet->stats, i);
	return nla_put_64bit(skb, TCON_INFO_A_COUNTERS, sizeof(sum), sum,
			     TCON_INFO_A_PAD);
}

static int put_reasons(struct sk_buff *skb, struct tcon_net *tnet)
{
	u64 flows[__TCON_REASON_MAX];
	int i;

	for (i = 0; i < __TCON_REASON_MAX; i++)
		flows[i] = tcon_stats_flows(tnet->stats, i);
	return nla_put_64bit(skb, TCON_INFO_A_REASONS, sizeof(flows), flows,
			     TCON_INFO_A_PAD);
}

static int get_info(struct sk_buff *request, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	struct nlattr *nest;
	struct sk_buff *skb;
	void *hdr;

	skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!skb)
		return -ENOMEM;
	hdr = genlmsg_put_reply(skb, info, &tcon_family, 0, TCON_CMD_GET_INFO);
	nest = nla_nest_start(skb, TCON_A_INFO);
	if (!hdr || !nest ||
	    nla_put_string(skb, TCON_INFO_A_VERSION, TCON_VERSION) ||
	    nla_put_string(skb, TCON_INFO_A_ATTACH, tcon_hooks_name()) ||
	    (tcon_walk_spreading(tnet) && nla_put_flag(skb, TCON_INFO_A_SPREADING)) ||
	    nla_put_u64_64bit(skb, TCON_INFO_A_AGE_MS, tcon_nl_age_ms(tnet->made_us),
			      TCON_INFO_A_PAD) ||
	    put_shares(skb, tnet) || put_counters(skb, tnet) || put_reasons(skb, tnet)) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	genlmsg_end(skb, hdr);
	return genlmsg_reply(skb, info);
}

static const struct genl_ops tcon_genl_ops[] = {
	{ .cmd = TCON_CMD_GET_INFO, .doit = get_info,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_SET_PORT, .doit = tcon_nl_set_port,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_PORT, .dumpit = tcon_nl_dump_ports,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_SET_RULE, .doit = tcon_nl_set_rule,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_DEL_RULE, .doit = tcon_nl_del_rule,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_RULE, .doit = tcon_nl_get_rule,
	  .dumpit = tcon_nl_dump_rules, .done = tcon_nl_rules_done,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_CC, .dumpit = tcon_nl_dump_ccs,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_FLOW, .dumpit = tcon_nl_dump_flows, .done = tcon_nl_flows_done,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_STATE, .dumpit = tcon_nl_dump_states,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_SET_STATE, .doit = tcon_nl_set_state,
	  .flags = GENL_UNS_ADMIN_PERM },
};

struct genl_family tcon_family __ro_after_init = {
	.name = TCON_GENL_NAME,
	.version = TCON_GENL_VERSION,
	.maxattr = TCON_A_MAX,
	.policy = tcon_policy,
	.netnsok = true,
	.parallel_ops = true,
	.ops = tcon_genl_ops,
	.n_ops = ARRAY_SIZE(tcon_genl_ops),
	.resv_start_op = TCON_CMD_UNSPEC + 1,
	.pre_doit = pre_doit,
	.module = THIS_MODULE,
};

/**
 * tcon_netlink_register() - register the family
 *
 * Return: 0 or a negative error.
 */
int __init tcon_netlink_register(void)
{
	return genl_register_family(&tcon_family);
}

/**
 * tcon_netlink_unregister() - unregister the family
 */
void tcon_netlink_unregister(void)
{
	genl_unregister_family(&tcon_family);
}
