// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half-flows, dumped.
 */
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <tcon/compat.h>

#include "act/mark.h"
#include "netlink/flow.h"
#include "netlink/match.h"
#include "netlink/message.h"
#include "state/flow.h"
#include "state/policy.h"
#include "state/port.h"
#include "state/table.h"

/* The filter of a dump of flows. */
struct flow_filter {
	char bridge[TCON_BRIDGE_NAME_MAX];
	struct tcon_match match;
	bool rounds;		/* wanted, too */
};

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

static int put_flow_counts(struct sk_buff *skb, const struct tcon_track *t)
{
	const struct tcon_cc *cc = &t->cc;

	return nla_put_u64_64bit(skb, TCON_FLOW_A_SENT_BYTES, t->sent_bytes,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_REPEATED_BYTES, t->repeated_bytes,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_ACKED_BYTES, t->acked_bytes,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_DELIVERED_BYTES, cc->delivered_bytes,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_LOST_BYTES, cc->lost_bytes,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_CE_ACKS, t->ece_acks,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_CE_BYTES, cc->delivered_ce_bytes,
				 TCON_FLOW_A_PAD);
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
	       nla_put_u64_64bit(skb, TCON_FLOW_A_RATE_BPS, cc->last_rate_bps,
				 TCON_FLOW_A_PAD) ||
	       (cc->app_limited_until &&
		nla_put_flag(skb, TCON_FLOW_A_RATE_APP_LIMITED)) ||
	       put_flow_counts(skb, t);
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
	       nla_put_u64_64bit(skb, TCON_FLOW_A_PACING_BPS, cc->pacing_rate_bps,
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
	       nla_put_u32(skb, TCON_FLOW_A_HELD_BYTES, flow->buffer.unsent_bytes) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_AGE_MS,
				 div_u64(now_us - flow->created_us, 1000),
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_IDLE_MS,
				 div_u64(now_us - flow->seen_us, 1000),
				 TCON_FLOW_A_PAD) ||
	       (flow->rule && nla_put_u32(skb, TCON_FLOW_A_PRIORITY,
					  flow->rule->priority));
}

static int put_flow_repair(struct sk_buff *skb, const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return nla_put_u32(skb, TCON_FLOW_A_BUFFER_BYTES, flow->buffer.charged_bytes) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_REPAIRS, t->repairs, TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_REPAIRED_BYTES, t->repaired_bytes,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_SPURIOUS, t->spurious_repairs,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_PROBES, flow->repair.probes,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_TIMEOUTS, flow->repair.timeouts,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_ABSORBED, flow->repair.absorbed,
				 TCON_FLOW_A_PAD) ||
	       nla_put_u64_64bit(skb, TCON_FLOW_A_HIDDEN_ACKS, flow->repair.hidden_acks,
				 TCON_FLOW_A_PAD) ||
	       nla_put_64bit(skb, TCON_FLOW_A_LIMITED_US,
			     sizeof(flow->limits.us), flow->limits.us,
			     TCON_FLOW_A_PAD);
}

/* User space names the guest's own CC from these. */
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

	hdr = tcon_nl_open(skb, cb, TCON_CMD_GET_FLOW, TCON_A_FLOW, &nest);
	if (!hdr)
		return -EMSGSIZE;
	spin_lock_bh(&flow->lock);
	err = put_flow_key(skb, flow) || put_flow_track(skb, &flow->track) ||
	      put_flow_cc(skb, flow) || put_flow_state(skb, flow) ||
	      put_flow_repair(skb, flow) || put_flow_guest(skb, flow, filter->rounds);
	spin_unlock_bh(&flow->lock);
	nla_nest_end(skb, nest);
	return tcon_nl_close(skb, hdr, err);
}

/* Not in a .start callback, because that has no extended ACK to explain an error. */
static int read_filter(struct netlink_callback *cb)
{
	struct nlattr **attrs = tcon_genl_dump_attrs(cb);
	const struct nlattr *bridge = attrs[TCON_A_BRIDGE];
	const struct nlattr *match = attrs[TCON_A_RULE_MATCH];
	struct flow_filter *filter;
	int err = tcon_nl_check_version(cb->nlh, cb->extack);

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
		err = tcon_nl_get_match(match, &filter->match, cb->extack);
	if (err) {
		kfree(filter);
		return err;
	}
	cb->args[2] = (long)filter;
	return 0;
}

/**
 * tcon_nl_flows_done() - a dump of half-flows ends, or is given up
 * @cb: the dump
 *
 * Return: 0.
 */
int tcon_nl_flows_done(struct netlink_callback *cb)
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

/**
 * tcon_nl_look_at() - dump a half-flow, if it is selected
 * @skb: what is dumped into
 * @cb: the dump
 * @stub: the half-flow; one that sleeps is left out where there is no memory to wake it
 * @m: which are selected; NULL: all
 * @fill: dumps it; returns 0 or -EMSGSIZE
 *
 * Context: under RCU.
 * Return: what @fill returns, or 0.
 */
int tcon_nl_look_at(struct sk_buff *skb, struct netlink_callback *cb, struct tcon_stub *stub,
		    const struct tcon_match *m,
		    int (*fill)(struct sk_buff *skb, struct netlink_callback *cb,
				struct tcon_flow *flow))
{
	struct tcon_flow *flow;
	int err = 0;

	if (m && !tcon_match_key(m, &stub->key))
		return 0;
	flow = tcon_table_open(stub);
	if (!flow)
		return 0;
	if (!m || flow_selected(flow, m))
		err = fill(skb, cb, flow);
	tcon_table_shut(stub, flow);
	return err;
}

/*
 * Dumps some flows of a port, as tcon_nl_dump_flows() has it.  Returns 1 if there are more, 0 if
 * not, or -EMSGSIZE if the next does not fit.
 */
static int dump_port_flows(struct sk_buff *skb, struct netlink_callback *cb,
			   struct tcon_port *port, const struct flow_filter *filter)
{
	struct tcon_stub *stub;
	unsigned int n;

	for (n = 0; n < TCON_NL_BATCH; n++) {
		stub = tcon_table_below(port, cb->args[1]);
		if (!stub)
			return 0;
		if (tcon_nl_look_at(skb, cb, stub, &filter->match, fill_flow))
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

/**
 * tcon_nl_dump_flows() - TCON_CMD_GET_FLOW: tell a namespace's half-flows, all or by a match
 * @skb: what is dumped into
 * @cb: the dump; args: 0 the port's id, 1 the serial of its flow that was looked at last, 2 the
 *	filter
 *
 * Ports are in the order of ids, and flows in the order of serials, newest first.  So if flows come
 * or go during the dump, no other flow is shown twice or left out.
 *
 * Return: bytes, 0 at the end, or a negative error.
 */
int tcon_nl_dump_flows(struct sk_buff *skb, struct netlink_callback *cb)
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
