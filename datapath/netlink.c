// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family; uapi/linux/tcon.h describes its messages.
 *
 * Policies are strict.  A request is checked completely before anything changes.  A set may
 * be sent twice.
 */
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <tcon/compat.h>

#include "act/copy.h"
#include "act/mark.h"
#include "base/contract.h"
#include "hooks.h"
#include "netlink.h"
#include "state/flow.h"
#include "state/move.h"
#include "state/policy.h"
#include "state/port.h"
#include "state/registry.h"
#include "state/walk.h"

#define DUMP_BATCH	64	/* flows; then let others run */

static struct genl_family tcon_family;

static struct netlink_range_validation priority_range = { .max = 65535 };

static const struct nla_policy match_policy[TCON_MATCH_A_MAX + 1] = {
	[TCON_MATCH_A_IFNAME] = { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
	[TCON_MATCH_A_OFPORT] = { .type = NLA_U32 },
	[TCON_MATCH_A_FAMILY] = { .type = NLA_U8 },
	[TCON_MATCH_A_SRC] = NLA_POLICY_RANGE(NLA_BINARY, 4, 16),
	[TCON_MATCH_A_SRC_PLEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[TCON_MATCH_A_DST] = NLA_POLICY_RANGE(NLA_BINARY, 4, 16),
	[TCON_MATCH_A_DST_PLEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[TCON_MATCH_A_SPORT] = { .type = NLA_U16 },
	[TCON_MATCH_A_DPORT] = { .type = NLA_U16 },
	[TCON_MATCH_A_VLAN] = NLA_POLICY_MAX(NLA_U16, 4095),
	[TCON_MATCH_A_SPORT_MASK] = NLA_POLICY_MIN(NLA_U16, 1),
	[TCON_MATCH_A_DPORT_MASK] = NLA_POLICY_MIN(NLA_U16, 1),
	[TCON_MATCH_A_MAC] = NLA_POLICY_EXACT_LEN(ETH_ALEN),
	[TCON_MATCH_A_MAC_MASK] = NLA_POLICY_EXACT_LEN(ETH_ALEN),
	[TCON_MATCH_A_MARK] = { .type = NLA_U32 },
	[TCON_MATCH_A_MARK_MASK] = NLA_POLICY_MIN(NLA_U32, 1),
	[TCON_MATCH_A_IFACE_ID] = { .type = NLA_NUL_STRING, .len = TCON_IFACE_ID_MAX - 1 },
};

static const struct nla_policy param_policy[TCON_PARAM_A_MAX + 1] = {
	[TCON_PARAM_A_NAME] = { .type = NLA_NUL_STRING,
				.len = TCON_PARAM_NAME_MAX - 1 },
	[TCON_PARAM_A_VALUE] = { .type = NLA_S64 },
};

static const struct nla_policy rule_policy[TCON_RULE_A_MAX + 1] = {
	[TCON_RULE_A_PRIORITY] = NLA_POLICY_FULL_RANGE(NLA_U32, &priority_range),
	[TCON_RULE_A_CC] = { .type = NLA_NUL_STRING,
			     .len = TCON_CC_NAME_MAX - 1 },
	[TCON_RULE_A_PARAM] = NLA_POLICY_NESTED(param_policy),
	[TCON_RULE_A_ECN] = NLA_POLICY_MAX(NLA_U8, __TCON_RULE_ECN_MAX - 1),
	[TCON_RULE_A_FALLBACK] = NLA_POLICY_MAX(NLA_U8, __TCON_RULE_FALLBACK_MAX - 1),
	[TCON_RULE_A_SHARE] = NLA_POLICY_RANGE(NLA_U16, 1, TCON_SHARE_ALL - 1),
};

static const struct nla_policy port_policy[TCON_PORT_A_MAX + 1] = {
	[TCON_PORT_A_IFINDEX] = NLA_POLICY_MIN(NLA_S32, 1),
	[TCON_PORT_A_OFPORT] = { .type = NLA_U32 },
	[TCON_PORT_A_ROLE] = NLA_POLICY_MAX(NLA_U8, TCON_ROLE_UPLINK),
	[TCON_PORT_A_IFACE_ID] = { .type = NLA_NUL_STRING, .len = TCON_IFACE_ID_MAX - 1 },
};

static const struct nla_policy tcon_policy[TCON_A_MAX + 1] = {
	[TCON_A_BRIDGE] = { .type = NLA_NUL_STRING,
			    .len = TCON_BRIDGE_NAME_MAX - 1 },
	[TCON_A_PORT] = NLA_POLICY_NESTED(port_policy),
	[TCON_A_RULE] = NLA_POLICY_NESTED(rule_policy),
	[TCON_A_RULE_MATCH] = NLA_POLICY_NESTED(match_policy),
	[TCON_A_STATE] = NLA_POLICY_MAX(NLA_BINARY, sizeof(struct tcon_state_record)),
	[TCON_A_CHECK] = { .type = NLA_FLAG },
	[TCON_A_ROUNDS] = { .type = NLA_FLAG },
};

static int refuse(struct netlink_ext_ack *extack, int err, const char *why)
{
	if (extack)
		extack->_msg = why;
	return err;
}

static int check_version(const struct nlmsghdr *nlh,
			 struct netlink_ext_ack *extack)
{
	const struct genlmsghdr *hdr = nlmsg_data(nlh);

	if (hdr->version == TCON_GENL_VERSION)
		return 0;
	return refuse(extack, -EPROTONOSUPPORT,
		      "this tcon.ko speaks another version of the protocol");
}

static int pre_doit(const struct tcon_genl_ops *ops, struct sk_buff *skb,
		    struct genl_info *info)
{
	return check_version(info->nlhdr, info->extack);
}

/* An address with its prefix length. */
static int get_prefix(const struct nlattr *addr, const struct nlattr *plen,
		      struct tcon_match *m, union tcon_addr *out, u8 *bits,
		      struct netlink_ext_ack *extack)
{
	u8 family, max;

	if (!addr)
		return plen ? refuse(extack, -EINVAL,
				     "prefix length without address") : 0;
	if (nla_len(addr) != 4 && nla_len(addr) != 16)
		return refuse(extack, -EINVAL, "address has a wrong length");
	family = nla_len(addr) == 4 ? AF_INET : AF_INET6;
	if (m->family && m->family != family)
		return refuse(extack, -EINVAL,
			      "addresses and family do not agree");
	m->family = family;
	max = nla_len(addr) * 8;
	*bits = plen ? nla_get_u8(plen) : max;
	if (*bits > max)
		return refuse(extack, -EINVAL, "prefix length is too large");
	memcpy(out, nla_data(addr), nla_len(addr));
	return 0;
}

/* Clears host bits, so that equal prefixes are equal matches. */
static void clear_host_bits(union tcon_addr *addr, unsigned int bits)
{
	unsigned int i;

	for (i = bits; i < 128; i++)
		addr->ip6[i / 8] &= ~(0x80 >> i % 8);
}

/* Reads a TCP port.  Bits that do not count are cleared, so that equal sets are equal matches. */
static int get_port(const struct nlattr *port, const struct nlattr *mask, __be16 *out,
		    __be16 *out_mask, struct netlink_ext_ack *extack)
{
	if (!port)
		return mask ? refuse(extack, -EINVAL, "mask without TCP port") : 0;
	*out_mask = htons(mask ? nla_get_u16(mask) : U16_MAX);
	*out = htons(nla_get_u16(port)) & *out_mask;
	if (!*out && *out_mask == htons(U16_MAX))
		return refuse(extack, -ERANGE, "no connection has TCP port 0");
	return 0;
}

/* The same of the guest's Ethernet address. */
static int get_mac(const struct nlattr *mac, const struct nlattr *mask, struct tcon_match *m,
		   struct netlink_ext_ack *extack)
{
	unsigned int i;

	if (!mac)
		return mask ? refuse(extack, -EINVAL, "mask without Ethernet address") : 0;
	eth_broadcast_addr(m->mac_mask);
	if (mask)
		ether_addr_copy(m->mac_mask, nla_data(mask));
	if (is_zero_ether_addr(m->mac_mask))
		return refuse(extack, -ERANGE, "Ethernet address of which no bit counts");
	for (i = 0; i < ETH_ALEN; i++)
		m->mac[i] = ((const u8 *)nla_data(mac))[i] & m->mac_mask[i];
	return 0;
}

/* The same of the packet mark. */
static int get_mark(const struct nlattr *mark, const struct nlattr *mask, struct tcon_match *m,
		    struct netlink_ext_ack *extack)
{
	if (!mark)
		return mask ? refuse(extack, -EINVAL, "mask without mark") : 0;
	m->mark_mask = mask ? nla_get_u32(mask) : U32_MAX;
	m->mark = nla_get_u32(mark) & m->mark_mask;
	return 0;
}

static int get_match(const struct nlattr *nest, struct tcon_match *m,
		     struct netlink_ext_ack *extack)
{
	struct nlattr *a[TCON_MATCH_A_MAX + 1];
	int err;

	memset(m, 0, sizeof(*m));
	m->ofport = TCON_OFPORT_ANY;
	m->vlan = TCON_VLAN_ANY;
	err = nla_parse_nested(a, TCON_MATCH_A_MAX, nest, match_policy, extack);
	if (err)
		return err;
	if (a[TCON_MATCH_A_FAMILY])
		m->family = nla_get_u8(a[TCON_MATCH_A_FAMILY]);
	if (m->family && m->family != AF_INET && m->family != AF_INET6)
		return refuse(extack, -EAFNOSUPPORT, "unknown address family");
	err = get_prefix(a[TCON_MATCH_A_SRC], a[TCON_MATCH_A_SRC_PLEN], m,
			 &m->src, &m->src_plen, extack);
	if (!err)
		err = get_prefix(a[TCON_MATCH_A_DST], a[TCON_MATCH_A_DST_PLEN],
				 m, &m->dst, &m->dst_plen, extack);
	if (!err)
		err = get_port(a[TCON_MATCH_A_SPORT], a[TCON_MATCH_A_SPORT_MASK],
			       &m->sport, &m->sport_mask, extack);
	if (!err)
		err = get_port(a[TCON_MATCH_A_DPORT], a[TCON_MATCH_A_DPORT_MASK],
			       &m->dport, &m->dport_mask, extack);
	if (!err)
		err = get_mac(a[TCON_MATCH_A_MAC], a[TCON_MATCH_A_MAC_MASK], m, extack);
	if (!err)
		err = get_mark(a[TCON_MATCH_A_MARK], a[TCON_MATCH_A_MARK_MASK], m, extack);
	if (err)
		return err;
	clear_host_bits(&m->src, m->src_plen);
	clear_host_bits(&m->dst, m->dst_plen);
	if (a[TCON_MATCH_A_IFNAME])
		nla_strscpy(m->ifname, a[TCON_MATCH_A_IFNAME], IFNAMSIZ);
	if (a[TCON_MATCH_A_IFACE_ID])
		nla_strscpy(m->iface_id, a[TCON_MATCH_A_IFACE_ID], TCON_IFACE_ID_MAX);
	if (a[TCON_MATCH_A_OFPORT])
		m->ofport = nla_get_u32(a[TCON_MATCH_A_OFPORT]);
	if (a[TCON_MATCH_A_VLAN])
		m->vlan = nla_get_u16(a[TCON_MATCH_A_VLAN]);
	return 0;
}

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
		return refuse(extack, -EINVAL, "parameter without name or value");
	i = tcon_cc_param_index(ops, nla_data(a[TCON_PARAM_A_NAME]));
	if (i < 0)
		return refuse(extack, -EINVAL, "the CC has no such parameter");
	value = nla_get_s64(a[TCON_PARAM_A_VALUE]);
	if (value < ops->params[i].min || value > ops->params[i].max)
		return refuse(extack, -ERANGE, "parameter value is out of range");
	params[i] = value;
	return 0;
}

/* Reads the CC and the parameters of a rule. */
static int get_decision(const struct nlattr *nest, struct tcon_rule *rule,
			struct netlink_ext_ack *extack)
{
	struct nlattr *a[TCON_RULE_A_MAX + 1], *param;
	const struct tcon_cc_ops *ops;
	int err, rem;

	lockdep_assert_held(&tcon_cc_lock);
	err = nla_parse_nested(a, TCON_RULE_A_MAX, nest, rule_policy, extack);
	if (err)
		return err;
	if (!a[TCON_RULE_A_CC])
		return refuse(extack, -EINVAL, "rule without a CC");
	nla_strscpy(rule->cc_name, a[TCON_RULE_A_CC], sizeof(rule->cc_name));
	rule->priority = a[TCON_RULE_A_PRIORITY] ?
			 nla_get_u32(a[TCON_RULE_A_PRIORITY]) :
			 TCON_DEFAULT_PRIORITY;
	if (a[TCON_RULE_A_SHARE])
		rule->entry.share = nla_get_u16(a[TCON_RULE_A_SHARE]);
	if (tcon_rule_observes(rule))
		return a[TCON_RULE_A_PARAM] || a[TCON_RULE_A_ECN] ||
		       a[TCON_RULE_A_FALLBACK] ?
		       refuse(extack, -EINVAL, "none takes no parameters") : 0;
	ops = tcon_cc_find(rule->cc_name);
	if (!ops)
		return refuse(extack, -ENOPKG, "no such CC is loaded");
	RCU_INIT_POINTER(rule->ops, ops);
	if (a[TCON_RULE_A_ECN])
		rule->ecn = nla_get_u8(a[TCON_RULE_A_ECN]);
	if (a[TCON_RULE_A_FALLBACK])
		rule->fallback = nla_get_u8(a[TCON_RULE_A_FALLBACK]);
	if (rule->ecn == TCON_RULE_ECN_ON && !ops->cwnd_event)
		return refuse(extack, -EINVAL,
			      "this CC does not hear of ECN marks");
	tcon_cc_defaults(ops, rule->params);
	nla_for_each_nested(param, nest, rem) {
		if (nla_type(param) != TCON_RULE_A_PARAM)
			continue;
		err = get_param(param, ops, rule->params, extack);
		if (err)
			return err;
	}
	tcon_rule_note_given(rule, ops);
	return 0;
}

static int get_bridge(struct genl_info *info, char *bridge)
{
	const struct nlattr *a = info->attrs[TCON_A_BRIDGE];

	if (!a || !*(const char *)nla_data(a))
		return refuse(info->extack, -EINVAL, "a bridge must be named");
	nla_strscpy(bridge, a, TCON_BRIDGE_NAME_MAX);
	return 0;
}

static int read_rule(struct genl_info *info, struct tcon_rule *rule)
{
	int err;

	refcount_set(&rule->refs, 1);
	spin_lock_init(&rule->outcomes.lock);
	err = get_bridge(info, rule->entry.bridge);
	if (err)
		return err;
	if (!info->attrs[TCON_A_RULE] || !info->attrs[TCON_A_RULE_MATCH])
		return refuse(info->extack, -EINVAL,
			      "a rule needs a match and a decision");
	err = get_match(info->attrs[TCON_A_RULE_MATCH], &rule->entry.match,
			info->extack);
	if (err)
		return err;
	return get_decision(info->attrs[TCON_A_RULE], rule, info->extack);
}

/* Loads the module of the CC that a request names, if the CC is not registered. */
static int autoload(struct genl_info *info)
{
	struct nlattr *a[TCON_RULE_A_MAX + 1];
	const char *why = NULL;

	if (info->attrs[TCON_A_RULE] &&
	    !nla_parse_nested(a, TCON_RULE_A_MAX, info->attrs[TCON_A_RULE],
			      rule_policy, NULL) && a[TCON_RULE_A_CC])
		why = tcon_cc_autoload(nla_data(a[TCON_RULE_A_CC]));
	return why ? refuse(info->extack, -ENOPKG, why) : 0;
}

static int set_rule(struct sk_buff *skb, struct genl_info *info)
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
			refuse(info->extack, err, "too many rules");
	}
	mutex_unlock(&tcon_cc_lock);
	if (err)
		kfree(rule);
	else
		tcon_walk_spread(tnet);
	return err;
}

static int del_rule(struct sk_buff *skb, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	const struct nlattr *match = info->attrs[TCON_A_RULE_MATCH];
	char bridge[TCON_BRIDGE_NAME_MAX];
	struct nlattr *a[TCON_RULE_A_MAX + 1] = {};
	u32 priority = TCON_DEFAULT_PRIORITY;
	struct tcon_match m;
	int err;

	err = get_bridge(info, bridge);
	if (!err && match)
		err = get_match(match, &m, info->extack);
	if (!err && info->attrs[TCON_A_RULE])
		err = nla_parse_nested(a, TCON_RULE_A_MAX,
				       info->attrs[TCON_A_RULE], rule_policy,
				       info->extack);
	if (err)
		return err;
	if (a[TCON_RULE_A_PRIORITY])
		priority = nla_get_u32(a[TCON_RULE_A_PRIORITY]);
	mutex_lock(&tnet->lock);
	if (match)
		err = tcon_policy_del(tnet, bridge, &m, priority);
	else
		tcon_policy_del_bridge(tnet, bridge);
	mutex_unlock(&tnet->lock);
	if (err)
		return refuse(info->extack, err, "there is no such rule");
	tcon_walk_spread(tnet);
	return 0;
}

static int set_port(struct sk_buff *skb, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	struct nlattr *a[TCON_PORT_A_MAX + 1];
	char bridge[TCON_BRIDGE_NAME_MAX];
	const char *iface_id = "";
	struct tcon_port *port;
	int err;

	err = get_bridge(info, bridge);
	if (err)
		return err;
	if (!info->attrs[TCON_A_PORT])
		return refuse(info->extack, -EINVAL, "a port must be named");
	err = nla_parse_nested(a, TCON_PORT_A_MAX, info->attrs[TCON_A_PORT],
			       port_policy, info->extack);
	if (err)
		return err;
	if (!a[TCON_PORT_A_IFINDEX] || !a[TCON_PORT_A_OFPORT] ||
	    !a[TCON_PORT_A_ROLE])
		return refuse(info->extack, -EINVAL,
			      "a port needs ifindex, number and role");
	if (a[TCON_PORT_A_IFACE_ID])
		iface_id = nla_data(a[TCON_PORT_A_IFACE_ID]);
	mutex_lock(&tnet->lock);
	port = tcon_port_find(tnet, nla_get_s32(a[TCON_PORT_A_IFINDEX]));
	if (port)
		err = tcon_port_configure(port, bridge,
					  nla_get_u32(a[TCON_PORT_A_OFPORT]), iface_id,
					  nla_get_u8(a[TCON_PORT_A_ROLE]));
	if (port && !err)
		tcon_policy_place(port);
	mutex_unlock(&tnet->lock);
	if (!port)
		return refuse(info->extack, -ENODEV,
			      "no kernel datapath has a port with this ifindex");
	tcon_walk_spread(tnet);
	return err;
}

/* Starts message @cmd with one nest @type.  The caller ends it, unless this fails.  Marks it if
 * what is dumped has changed since the dump began: see nl_dump_check_consistent().
 */
static void *open_message(struct sk_buff *skb, struct netlink_callback *cb,
			  u8 cmd, int type, struct nlattr **nest)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				cb->nlh->nlmsg_seq, &tcon_family, NLM_F_MULTI,
				cmd);

	if (!hdr)
		return NULL;
	if (cb->seq)
		genl_dump_check_consistent(cb, hdr);
	*nest = nla_nest_start(skb, type);
	if (*nest)
		return hdr;
	genlmsg_cancel(skb, hdr);
	return NULL;
}

static int close_message(struct sk_buff *skb, void *hdr, int err)
{
	if (err) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

static int put_u64(struct sk_buff *skb, int type, u64 value, int pad)
{
	return nla_put_u64_64bit(skb, type, value, pad);
}

static int fill_port(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct tcon_port *port)
{
	const struct tcon_port_conf *conf;
	struct nlattr *nest;
	void *hdr;
	int err;

	hdr = open_message(skb, cb, TCON_CMD_GET_PORT, TCON_A_PORT, &nest);
	if (!hdr)
		return -EMSGSIZE;
	conf = rcu_dereference_protected(port->conf,
					 lockdep_is_held(&port->tnet->lock));
	err = nla_put_u32(skb, TCON_PORT_A_IFINDEX, port->dev->ifindex) ||
	      nla_put_string(skb, TCON_PORT_A_IFNAME, port->dev->name) ||
	      nla_put_u8(skb, TCON_PORT_A_ROLE, port->role) ||
	      nla_put_u8(skb, TCON_PORT_A_WHY, port->why) ||
	      nla_put_u32(skb, TCON_PORT_A_FLOWS,
			  tcon_share_used(port->shares, TCON_SHARE_FLOWS)) ||
	      put_u64(skb, TCON_PORT_A_HELD_BYTES,
		      tcon_share_used(port->shares, TCON_SHARE_HELD), TCON_PORT_A_PAD) ||
	      put_u64(skb, TCON_PORT_A_COPY_BYTES,
		      tcon_share_used(port->shares, TCON_SHARE_COPIES), TCON_PORT_A_PAD) ||
	      nla_put_u32(skb, TCON_PORT_A_EVADING, atomic_read(&port->evading)) ||
	      put_u64(skb, TCON_PORT_A_EVADED, atomic_long_read(&port->evaded),
		      TCON_PORT_A_PAD);
	if (!err && conf)
		err = nla_put_u32(skb, TCON_PORT_A_OFPORT, conf->ofport) ||
		      (conf->iface_id[0] &&
		       nla_put_string(skb, TCON_PORT_A_IFACE_ID, conf->iface_id));
	nla_nest_end(skb, nest);
	if (!err && conf)
		err = nla_put_string(skb, TCON_A_BRIDGE, conf->bridge);
	return close_message(skb, hdr, err);
}

/* For netlink_callback.seq, where 0 means that nothing is checked. */
static u32 seq_of(u32 changes)
{
	return changes ? : 1;
}

/* args: 0 the id of the port that was told last. */
static int dump_ports(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tcon_net *tnet = tcon_net(sock_net(skb->sk));
	struct tcon_port *port;
	int err = check_version(cb->nlh, cb->extack);

	if (err)
		return err;
	mutex_lock(&tnet->lock);
	cb->seq = seq_of(tnet->port_changes);
	list_for_each_entry(port, &tnet->ports, node) {
		if (port->id <= cb->args[0] || port->dead)
			continue;
		if (fill_port(skb, cb, port))
			break;
		cb->args[0] = port->id;
	}
	mutex_unlock(&tnet->lock);
	return skb->len;
}

static int put_prefix(struct sk_buff *skb, const union tcon_addr *addr,
		      u8 family, u8 plen, int attr, int plen_attr)
{
	if (!plen)
		return 0;
	return nla_put(skb, attr, family == AF_INET ? 4 : 16, addr) ||
	       nla_put_u8(skb, plen_attr, plen);
}

static int put_port(struct sk_buff *skb, __be16 port, __be16 mask, int attr, int mask_attr)
{
	if (!mask)
		return 0;
	return nla_put_u16(skb, attr, ntohs(port)) ||
	       (mask != htons(U16_MAX) && nla_put_u16(skb, mask_attr, ntohs(mask)));
}

static int put_traits(struct sk_buff *skb, const struct tcon_match *m)
{
	return (!is_zero_ether_addr(m->mac_mask) &&
		(nla_put(skb, TCON_MATCH_A_MAC, ETH_ALEN, m->mac) ||
		 nla_put(skb, TCON_MATCH_A_MAC_MASK, ETH_ALEN, m->mac_mask))) ||
	       (m->mark_mask && (nla_put_u32(skb, TCON_MATCH_A_MARK, m->mark) ||
				 nla_put_u32(skb, TCON_MATCH_A_MARK_MASK, m->mark_mask)));
}

static int put_match(struct sk_buff *skb, const struct tcon_match *m)
{
	struct nlattr *nest = nla_nest_start(skb, TCON_A_RULE_MATCH);

	if (!nest ||
	    (m->ifname[0] &&
	     nla_put_string(skb, TCON_MATCH_A_IFNAME, m->ifname)) ||
	    (m->iface_id[0] &&
	     nla_put_string(skb, TCON_MATCH_A_IFACE_ID, m->iface_id)) ||
	    (m->ofport != TCON_OFPORT_ANY &&
	     nla_put_u32(skb, TCON_MATCH_A_OFPORT, m->ofport)) ||
	    (m->family && nla_put_u8(skb, TCON_MATCH_A_FAMILY, m->family)) ||
	    put_prefix(skb, &m->src, m->family, m->src_plen, TCON_MATCH_A_SRC,
		       TCON_MATCH_A_SRC_PLEN) ||
	    put_prefix(skb, &m->dst, m->family, m->dst_plen, TCON_MATCH_A_DST,
		       TCON_MATCH_A_DST_PLEN) ||
	    put_port(skb, m->sport, m->sport_mask, TCON_MATCH_A_SPORT,
		     TCON_MATCH_A_SPORT_MASK) ||
	    put_port(skb, m->dport, m->dport_mask, TCON_MATCH_A_DPORT,
		     TCON_MATCH_A_DPORT_MASK) ||
	    (m->vlan != TCON_VLAN_ANY &&
	     nla_put_u16(skb, TCON_MATCH_A_VLAN, m->vlan)) ||
	    put_traits(skb, m))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
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

/* How long something lasts that began at @then_us. */
static u64 age_ms(u64 then_us)
{
	return div_u64(tcon_us(tcon_now_ns()) - then_us, USEC_PER_MSEC);
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

static int fill_rule(struct sk_buff *skb, struct netlink_callback *cb,
		     struct tcon_rule *rule)
{
	struct nlattr *nest;
	void *hdr;
	int err;

	hdr = open_message(skb, cb, TCON_CMD_GET_RULE, TCON_A_RULE, &nest);
	if (!hdr)
		return -EMSGSIZE;
	err = nla_put_u32(skb, TCON_RULE_A_PRIORITY, rule->priority) ||
	      nla_put_string(skb, TCON_RULE_A_CC, rule->cc_name) ||
	      nla_put_u32(skb, TCON_RULE_A_FLOWS, atomic_read(&rule->flows)) ||
	      (rule->ecn && nla_put_u8(skb, TCON_RULE_A_ECN, rule->ecn)) ||
	      (rule->fallback &&
	       nla_put_u8(skb, TCON_RULE_A_FALLBACK, rule->fallback)) ||
	      put_u64(skb, TCON_RULE_A_AGE_MS, age_ms(rule->since_us), TCON_RULE_A_PAD) ||
	      put_share(skb, rule) ||
	      put_rule_params(skb, rule);
	nla_nest_end(skb, nest);
	if (!err)
		err = nla_put_string(skb, TCON_A_BRIDGE, rule->entry.bridge) ||
		      put_match(skb, &rule->entry.match);
	return close_message(skb, hdr, err);
}

/* The first rule that is still to be dumped; NULL: none.  @last: that was told last, or NULL. */
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

static int rules_done(struct netlink_callback *cb)
{
	struct tcon_rule *last = (void *)cb->args[0];

	if (last)
		tcon_rule_put(last);
	return 0;
}

/* args: 0 the rule that was told last, with a reference. */
static int dump_rules(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tcon_net *tnet = tcon_net(sock_net(skb->sk));
	struct tcon_rule *rule;
	int err = check_version(cb->nlh, cb->extack);

	if (err)
		return err;
	mutex_lock(&tnet->lock);
	cb->seq = seq_of(tnet->rule_changes);
	while ((rule = resume_rules(tnet, (void *)cb->args[0]))) {
		if (fill_rule(skb, cb, rule))
			break;
		told_rule(cb, rule);
	}
	mutex_unlock(&tnet->lock);
	return skb->len;
}

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

	hdr = open_message(skb, cb, TCON_CMD_GET_CC, TCON_A_CC, &nest);
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
	return close_message(skb, hdr, err);
}

static int dump_ccs(struct sk_buff *skb, struct netlink_callback *cb)
{
	const struct tcon_cc_ops *ops;
	long i = 0;
	int err = check_version(cb->nlh, cb->extack);

	if (err)
		return err;
	if (!cb->args[0])
		tcon_cc_scan();
	mutex_lock(&tcon_cc_lock);
	cb->seq = seq_of(tcon_cc_changes);
	list_for_each_entry(ops, &tcon_cc_list, list) {
		if (i >= cb->args[0] && fill_cc(skb, cb, ops))
			break;
		i++;
	}
	mutex_unlock(&tcon_cc_lock);
	cb->args[0] = i;
	return skb->len;
}

static int put_flow_key(struct sk_buff *skb, const struct tcon_flow *flow)
{
	const struct tcon_port_conf *conf = rcu_dereference(flow->port->conf);
	const struct tcon_key *key = &flow->key;
	int addr_bytes = key->family == AF_INET ? 4 : 16;

	return nla_put_u32(skb, TCON_FLOW_A_IFINDEX,
			   flow->port->dev->ifindex) ||
	       nla_put_string(skb, TCON_FLOW_A_IFNAME, flow->port->dev->name) ||
	       (conf && nla_put_string(skb, TCON_FLOW_A_BRIDGE,
				       conf->bridge)) ||
	       nla_put_u8(skb, TCON_FLOW_A_FAMILY, key->family) ||
	       nla_put(skb, TCON_FLOW_A_SRC, addr_bytes, &key->guest) ||
	       nla_put(skb, TCON_FLOW_A_DST, addr_bytes, &key->peer) ||
	       nla_put_u16(skb, TCON_FLOW_A_SPORT, ntohs(key->gport)) ||
	       nla_put_u16(skb, TCON_FLOW_A_DPORT, ntohs(key->pport)) ||
	       (key->vlans[0] &&
		nla_put_u16(skb, TCON_FLOW_A_VLAN, key->vlans[0] - 1));
}

static int put_flow_track(struct sk_buff *skb, const struct tcon_track *t)
{
	const struct tcon_cc *cc = &t->cc;

	return nla_put_u32(skb, TCON_FLOW_A_UNA, cc->una) ||
	       nla_put_u32(skb, TCON_FLOW_A_NXT, cc->nxt) ||
	       nla_put_u32(skb, TCON_FLOW_A_NXT_GUEST, t->nxt_guest) ||
	       nla_put_u32(skb, TCON_FLOW_A_INFLIGHT_BYTES,
			   cc->inflight_bytes) ||
	       nla_put_u32(skb, TCON_FLOW_A_SRTT_US, cc->srtt_us) ||
	       nla_put_u32(skb, TCON_FLOW_A_RTTVAR_US,
			   tcon_track_rttvar_us(t)) ||
	       nla_put_u32(skb, TCON_FLOW_A_MIN_RTT_US, cc->min_rtt_us) ||
	       nla_put_u32(skb, TCON_FLOW_A_MSS_BYTES, cc->mss_bytes) ||
	       put_u64(skb, TCON_FLOW_A_RATE_BPS, cc->last_rate_bps,
		       TCON_FLOW_A_PAD) ||
	       (cc->app_limited_until &&
		nla_put_flag(skb, TCON_FLOW_A_RATE_APP_LIMITED)) ||
	       put_u64(skb, TCON_FLOW_A_SENT_BYTES, t->sent_bytes,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_REPEATED_BYTES, t->repeated_bytes,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_ACKED_BYTES, t->acked_bytes,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_DELIVERED_BYTES, cc->delivered_bytes,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_LOST_BYTES, cc->lost_bytes,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_CE_ACKS, t->ece_acks,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_CE_BYTES, cc->delivered_ce_bytes,
		       TCON_FLOW_A_PAD);
}

static int put_flow_cc(struct sk_buff *skb, const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;
	const struct tcon_cc *cc = &t->cc;
	char info[160];

	if (nla_put_string(skb, TCON_FLOW_A_CC, cc->ops ? cc->ops->name :
							  TCON_CC_OBSERVE))
		return -EMSGSIZE;
	if (!cc->ops)
		return 0;
	if (cc->ops->get_info) {
		cc->ops->get_info(cc, info, sizeof(info));
		if (nla_put_string(skb, TCON_FLOW_A_CC_INFO, info))
			return -EMSGSIZE;
	}
	return nla_put_u32(skb, TCON_FLOW_A_CWND_BYTES,
			   tcon_track_cwnd_bytes(t)) ||
	       nla_put_u32(skb, TCON_FLOW_A_SSTHRESH_BYTES,
			   cc->ssthresh_bytes) ||
	       put_u64(skb, TCON_FLOW_A_PACING_BPS, cc->pacing_rate_bps,
		       TCON_FLOW_A_PAD);
}

static int put_flow_state(struct sk_buff *skb, const struct tcon_flow *flow)
{
	u64 now_us = tcon_us(tcon_now_ns());

	return nla_put_u8(skb, TCON_FLOW_A_STATE, flow->state) ||
	       nla_put_u8(skb, TCON_FLOW_A_REASON, flow->reason) ||
	       nla_put_u8(skb, TCON_FLOW_A_ECN,
			  tcon_mark_mode(flow)) ||
	       nla_put_u32(skb, TCON_FLOW_A_EDGE, flow->window.edge) ||
	       nla_put_u32(skb, TCON_FLOW_A_RWND_BYTES,
			   flow->window.given_bytes) ||
	       nla_put_u32(skb, TCON_FLOW_A_PEER_RWND_BYTES,
			   flow->window.peer_bytes) ||
	       nla_put_u32(skb, TCON_FLOW_A_HELD_BYTES, flow->held.bytes) ||
	       put_u64(skb, TCON_FLOW_A_AGE_MS,
		       div_u64(now_us - flow->created_us, 1000),
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_IDLE_MS,
		       div_u64(now_us - flow->seen_us, 1000),
		       TCON_FLOW_A_PAD) ||
	       (flow->rule && nla_put_u32(skb, TCON_FLOW_A_PRIORITY,
					  flow->rule->priority));
}

static int put_flow_repair(struct sk_buff *skb, const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return nla_put_u32(skb, TCON_FLOW_A_COPY_BYTES, flow->copies.charged_bytes) ||
	       put_u64(skb, TCON_FLOW_A_REPAIRS, t->repairs, TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_REPAIRED_BYTES, t->repaired_bytes,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_SPURIOUS, t->spurious_repairs,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_PROBES, flow->repair.probes,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_TIMEOUTS, flow->repair.timeouts,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_ABSORBED, flow->repair.absorbed,
		       TCON_FLOW_A_PAD) ||
	       put_u64(skb, TCON_FLOW_A_HIDDEN_ACKS, flow->repair.hidden_acks,
		       TCON_FLOW_A_PAD) ||
	       nla_put_64bit(skb, TCON_FLOW_A_LIMITED_US,
			     sizeof(flow->limits.us), flow->limits.us,
			     TCON_FLOW_A_PAD);
}

/* What a dump of flows was asked for. */
struct flow_filter {
	char bridge[TCON_BRIDGE_NAME_MAX];
	struct tcon_match match;
	bool rounds;		/* wanted, too */
};

/* What names the CC that the guest's own stack runs. */
static int put_flow_guest(struct sk_buff *skb, const struct tcon_flow *flow, bool rounds)
{
	const struct tcon_track *t = &flow->track;
	unsigned int n = rounds ? tcon_rounds_count(&t->rounds) : 0;
	struct nlattr *attr;

	if (t->guest.ect && nla_put_flag(skb, TCON_FLOW_A_ECT_SYN))
		return -EMSGSIZE;
	if (!n)
		return 0;
	attr = nla_reserve(skb, TCON_FLOW_A_ROUNDS, n * sizeof(struct tcon_round));
	if (!attr)
		return -EMSGSIZE;
	tcon_rounds_copy(&t->rounds, nla_data(attr));
	return 0;
}

static int fill_flow(struct sk_buff *skb, struct netlink_callback *cb,
		     struct tcon_flow *flow)
{
	const struct flow_filter *filter = (void *)cb->args[2];
	struct nlattr *nest;
	void *hdr;
	int err;

	hdr = open_message(skb, cb, TCON_CMD_GET_FLOW, TCON_A_FLOW, &nest);
	if (!hdr)
		return -EMSGSIZE;
	spin_lock_bh(&flow->lock);
	err = put_flow_key(skb, flow) || put_flow_track(skb, &flow->track) ||
	      put_flow_cc(skb, flow) || put_flow_state(skb, flow) ||
	      put_flow_repair(skb, flow) || put_flow_guest(skb, flow, filter->rounds);
	spin_unlock_bh(&flow->lock);
	nla_nest_end(skb, nest);
	return close_message(skb, hdr, err);
}

/* Not in a .start callback, because that has no extended ACK to explain an error. */
static int read_filter(struct netlink_callback *cb)
{
	struct nlattr **attrs = tcon_genl_dump_attrs(cb);
	const struct nlattr *bridge = attrs[TCON_A_BRIDGE];
	const struct nlattr *match = attrs[TCON_A_RULE_MATCH];
	struct flow_filter *filter;
	int err = check_version(cb->nlh, cb->extack);

	if (err)
		return err;
	filter = kzalloc(sizeof(*filter), GFP_KERNEL);
	if (!filter)
		return -ENOMEM;
	filter->match.ofport = TCON_OFPORT_ANY;
	filter->match.vlan = TCON_VLAN_ANY;
	filter->rounds = attrs[TCON_A_ROUNDS];
	if (bridge)
		nla_strscpy(filter->bridge, bridge, sizeof(filter->bridge));
	if (match)
		err = get_match(match, &filter->match, cb->extack);
	if (err) {
		kfree(filter);
		return err;
	}
	cb->args[2] = (long)filter;
	return 0;
}

static int flows_done(struct netlink_callback *cb)
{
	kfree((struct flow_filter *)cb->args[2]);
	return 0;
}

static bool port_selected(const struct tcon_port *port,
			  const struct flow_filter *filter)
{
	const struct tcon_port_conf *conf = rcu_dereference(port->conf);
	const struct tcon_place place = {
		.ifname = port->dev->name,
		.ofport = conf ? conf->ofport : TCON_OFPORT_ANY,
		.iface_id = conf ? conf->iface_id : "",
	};

	if (filter->bridge[0] && (!conf || strcmp(conf->bridge,
						  filter->bridge)))
		return false;
	return tcon_match_place(&filter->match, &place);
}

/* Traits change while packets pass. */
static bool flow_selected(struct tcon_flow *flow, const struct tcon_match *m)
{
	bool selected;

	spin_lock_bh(&flow->lock);
	selected = tcon_match_traits(m, &flow->traits);
	spin_unlock_bh(&flow->lock);
	return selected;
}

/*
 * Has @fill dump a half-flow, if @m selects it; NULL selects all.  One that sleeps is left out
 * where there is no memory to wake it.
 */
static int look_at(struct sk_buff *skb, struct netlink_callback *cb, struct tcon_stub *stub,
		   const struct tcon_match *m,
		   int (*fill)(struct sk_buff *skb, struct netlink_callback *cb,
			       struct tcon_flow *flow))
{
	struct tcon_flow *flow;
	int err = 0;

	if (m && !tcon_match_key(m, &stub->key))
		return 0;
	flow = tcon_flow_open(stub);
	if (!flow)
		return 0;
	if (!m || flow_selected(flow, m))
		err = fill(skb, cb, flow);
	tcon_flow_shut(stub, flow);
	return err;
}

/*
 * Dumps some flows of a port, as dump_flows() has it.  Returns 1 if there are more, 0 if not, or
 * -EMSGSIZE if the next does not fit.
 */
static int dump_port_flows(struct sk_buff *skb, struct netlink_callback *cb,
			   struct tcon_port *port, const struct flow_filter *filter)
{
	struct tcon_stub *stub;
	unsigned int n;

	for (n = 0; n < DUMP_BATCH; n++) {
		stub = tcon_flow_below(port, cb->args[1]);
		if (!stub)
			return 0;
		if (look_at(skb, cb, stub, &filter->match, fill_flow))
			return -EMSGSIZE;
		cb->args[1] = stub->serial;
	}
	return 1;
}

/* The same of a namespace. */
static int dump_some_flows(struct sk_buff *skb, struct netlink_callback *cb,
			   struct tcon_net *tnet, const struct flow_filter *filter)
{
	struct tcon_port *port;
	int ret = 0;

	rcu_read_lock();
	list_for_each_entry_rcu(port, &tnet->ports, node) {
		if (port->id < cb->args[0] || !port_selected(port, filter))
			continue;
		if (port->id > cb->args[0])
			cb->args[1] = LONG_MAX;
		cb->args[0] = port->id;
		ret = dump_port_flows(skb, cb, port, filter);
		if (ret)
			break;
	}
	rcu_read_unlock();
	return ret;
}

/*
 * args: 0 the port's id, 1 the serial of its flow that was looked at last, 2 the filter.  Ports
 * are in the order of ids, and flows in the order of serials, newest first.  So no other flow is
 * shown twice or left out when flows come or go meanwhile.
 */
static int dump_flows(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tcon_net *tnet = tcon_net(sock_net(skb->sk));
	int ret;

	if (!cb->args[2]) {
		ret = read_filter(cb);
		if (ret)
			return ret;
	}
	while ((ret = dump_some_flows(skb, cb, tnet, (void *)cb->args[2])) > 0)
		cond_resched();
	if (!ret)
		cb->args[0] = LONG_MAX;
	return skb->len;
}

/* The ifindex that a request names by %TCON_A_PORT; 0 or an error. */
static int get_ifindex(struct nlattr **attrs, struct netlink_ext_ack *extack, int *ifindex)
{
	struct nlattr *a[TCON_PORT_A_MAX + 1];
	int err;

	if (!attrs[TCON_A_PORT])
		return refuse(extack, -EINVAL, "a port must be named");
	err = nla_parse_nested(a, TCON_PORT_A_MAX, attrs[TCON_A_PORT], port_policy, extack);
	if (err)
		return err;
	if (!a[TCON_PORT_A_IFINDEX])
		return refuse(extack, -EINVAL, "a port must be named by its ifindex");
	*ifindex = nla_get_s32(a[TCON_PORT_A_IFINDEX]);
	return 0;
}

/* The guest's port with this ifindex; NULL: it is none, and extack says why. */
static struct tcon_port *guest_port(struct tcon_net *tnet, int ifindex,
				    struct netlink_ext_ack *extack)
{
	struct tcon_port *port = tcon_port_find(tnet, ifindex);

	if (!port)
		refuse(extack, 0, "no kernel datapath has a port with this ifindex");
	else if (READ_ONCE(port->role) != TCON_ROLE_GUEST)
		refuse(extack, 0, "the port is not a guest's");
	else
		return port;
	return NULL;
}

static int set_state(struct sk_buff *skb, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	const struct nlattr *state = info->attrs[TCON_A_STATE];
	struct tcon_saved *saved;
	struct tcon_port *port;
	const char *why;
	int ifindex, err;

	err = get_ifindex(info->attrs, info->extack, &ifindex);
	if (err)
		return err;
	if (!state)
		return refuse(info->extack, -EINVAL, "a state must be given");
	saved = kmalloc(sizeof(*saved), GFP_KERNEL);
	if (!saved)
		return -ENOMEM;
	why = tcon_saved_read(saved, nla_data(state), nla_len(state));
	if (why)
		err = refuse(info->extack, -EINVAL, why);
	local_bh_disable();
	rcu_read_lock();
	port = guest_port(tnet, ifindex, info->extack);
	if (!err && !port)
		err = -ENODEV;
	if (err || info->attrs[TCON_A_CHECK])
		kfree(saved);
	else
		err = tcon_move_in(port, saved);
	rcu_read_unlock();
	local_bh_enable();
	return err == -ENOSPC ? refuse(info->extack, err, "there is no room for its half-flows") :
				err;
}

static int fill_state(struct sk_buff *skb, struct netlink_callback *cb, struct tcon_flow *flow)
{
	struct tcon_state_record record;
	void *hdr;
	bool can;

	spin_lock_bh(&flow->lock);
	can = !flow->dead && tcon_move_out(flow, &record);
	spin_unlock_bh(&flow->lock);
	if (!can)
		return 0;
	hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
			  &tcon_family, NLM_F_MULTI, TCON_CMD_GET_STATE);
	if (!hdr)
		return -EMSGSIZE;
	return close_message(skb, hdr, nla_put(skb, TCON_A_STATE, sizeof(record), &record));
}

/*
 * Dumps the states of some flows, as dump_states() has it.  Returns 1 if there are more, 0 if
 * not, -EMSGSIZE if the next does not fit, or -ENODEV.
 */
static int dump_some_states(struct sk_buff *skb, struct netlink_callback *cb,
			    struct tcon_net *tnet)
{
	struct tcon_port *port;
	struct tcon_stub *stub;
	unsigned int n;
	int ret = 1;

	rcu_read_lock();
	port = guest_port(tnet, cb->args[0], cb->extack);
	if (!port)
		ret = -ENODEV;
	for (n = 0; ret > 0 && n < DUMP_BATCH; n++) {
		stub = tcon_flow_below(port, cb->args[1]);
		if (!stub)
			ret = 0;
		else if (look_at(skb, cb, stub, NULL, fill_state))
			ret = -EMSGSIZE;
		else
			cb->args[1] = stub->serial;
	}
	rcu_read_unlock();
	return ret;
}

/* args: 0 the port's ifindex, 1 the serial of its flow that was looked at last. */
static int dump_states(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tcon_net *tnet = tcon_net(sock_net(skb->sk));
	int ifindex, ret;

	if (!cb->args[0]) {
		ret = check_version(cb->nlh, cb->extack);
		if (!ret)
			ret = get_ifindex(tcon_genl_dump_attrs(cb), cb->extack, &ifindex);
		if (ret)
			return ret;
		cb->args[0] = ifindex;
		cb->args[1] = LONG_MAX;
	}
	while ((ret = dump_some_states(skb, cb, tnet)) > 0)
		cond_resched();
	return ret == -ENODEV ? ret : skb->len;
}

/* What the ports of the namespace use together. */
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
	       put_u64(skb, TCON_INFO_A_HELD_BYTES, used_by_ports(tnet, TCON_SHARE_HELD),
		       TCON_INFO_A_PAD) ||
	       put_u64(skb, TCON_INFO_A_COPY_BYTES, used_by_ports(tnet, TCON_SHARE_COPIES),
		       TCON_INFO_A_PAD) ||
	       put_u64(skb, TCON_INFO_A_COPY_MAX, tcon_shares_host_max(TCON_SHARE_COPIES),
		       TCON_INFO_A_PAD) ||
	       put_u64(skb, TCON_INFO_A_COPY_PORT_MAX, tcon_shares_port_max(TCON_SHARE_COPIES),
		       TCON_INFO_A_PAD) ||
	       put_u64(skb, TCON_INFO_A_COPY_FLOW_MAX, tcon_copy_flow_max(),
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
	    put_u64(skb, TCON_INFO_A_AGE_MS, age_ms(tnet->made_us), TCON_INFO_A_PAD) ||
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
	{ .cmd = TCON_CMD_SET_PORT, .doit = set_port,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_PORT, .dumpit = dump_ports,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_SET_RULE, .doit = set_rule,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_DEL_RULE, .doit = del_rule,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_RULE, .dumpit = dump_rules, .done = rules_done,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_CC, .dumpit = dump_ccs,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_FLOW, .dumpit = dump_flows, .done = flows_done,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_GET_STATE, .dumpit = dump_states,
	  .flags = GENL_UNS_ADMIN_PERM },
	{ .cmd = TCON_CMD_SET_STATE, .doit = set_state,
	  .flags = GENL_UNS_ADMIN_PERM },
};

static struct genl_family tcon_family __ro_after_init = {
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
