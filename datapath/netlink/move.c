// SPDX-License-Identifier: GPL-2.0-only
/*
 * States of half-flows that move with their guest.
 */
#include <linux/slab.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>
#include <tcon/compat.h>

#include "netlink/flow.h"
#include "netlink/message.h"
#include "netlink/move.h"
#include "netlink/port.h"
#include "state/flow.h"
#include "state/move.h"
#include "state/port.h"
#include "state/table.h"

/* The guest's port with this ifindex; NULL: it is none, and extack says why. */
static struct tcon_port *guest_port(struct tcon_net *tnet, int ifindex,
				    struct netlink_ext_ack *extack)
{
	struct tcon_port *port = tcon_port_find(tnet, ifindex);

	if (!port)
		tcon_nl_refuse(extack, 0, "no kernel datapath has a port with this ifindex");
	else if (READ_ONCE(port->role) != TCON_ROLE_GUEST)
		tcon_nl_refuse(extack, 0, "the port is not a guest's");
	else
		return port;
	return NULL;
}

/**
 * tcon_nl_set_state() - TCON_CMD_SET_STATE: take in a half-flow that comes with its guest
 * @skb: the request
 * @info: the request, parsed; with TCON_A_CHECK nothing changes
 *
 * Return: 0 or a negative error; then nothing has changed.
 */
int tcon_nl_set_state(struct sk_buff *skb, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	const struct nlattr *state = info->attrs[TCON_A_STATE];
	struct tcon_saved *saved;
	struct tcon_port *port;
	const char *why;
	int ifindex, err;

	err = tcon_nl_get_ifindex(info->attrs, info->extack, &ifindex);
	if (err)
		return err;
	if (!state)
		return tcon_nl_refuse(info->extack, -EINVAL, "a state must be given");
	saved = kmalloc(sizeof(*saved), GFP_KERNEL);
	if (!saved)
		return -ENOMEM;
	why = tcon_saved_read(saved, nla_data(state), nla_len(state));
	if (why)
		err = tcon_nl_refuse(info->extack, -EINVAL, why);
	local_bh_disable();
	rcu_read_lock();
	port = err ? NULL : guest_port(tnet, ifindex, info->extack);
	if (!err && !port)
		err = -ENODEV;
	if (err || info->attrs[TCON_A_CHECK])
		kfree(saved);
	else
		err = tcon_move_in(port, saved);
	rcu_read_unlock();
	local_bh_enable();
	if (err == -ENOSPC)
		tcon_nl_refuse(info->extack, err, "there is no room for its half-flows");
	return err;
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
	return tcon_nl_close(skb, hdr, nla_put(skb, TCON_A_STATE, sizeof(record), &record));
}

/*
 * Dumps the states of some flows, as tcon_nl_dump_states() has it.  Returns 1 if there are more,
 * 0 if not, -EMSGSIZE if the next does not fit, or -ENODEV.
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
	for (n = 0; ret > 0 && n < TCON_NL_BATCH; n++) {
		stub = tcon_table_below(port, cb->args[1]);
		if (!stub)
			ret = 0;
		else if (tcon_nl_look_at(skb, cb, stub, NULL, fill_state))
			ret = -EMSGSIZE;
		else
			cb->args[1] = stub->serial;
	}
	rcu_read_unlock();
	return ret;
}

/**
 * tcon_nl_dump_states() - TCON_CMD_GET_STATE: tell the states of a guest port's half-flows
 * @skb: what is dumped into
 * @cb: the dump; args: 0 the port's ifindex, 1 the serial of its flow that was looked at last
 *
 * Return: bytes, 0 at the end, or a negative error.
 */
int tcon_nl_dump_states(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tcon_net *tnet = tcon_net(sock_net(skb->sk));
	int ifindex, ret;

	if (!cb->args[0]) {
		ret = tcon_nl_check_version(cb->nlh, cb->extack);
		if (!ret)
			ret = tcon_nl_get_ifindex(tcon_genl_dump_attrs(cb), cb->extack, &ifindex);
		if (ret)
			return ret;
		cb->args[0] = ifindex;
		cb->args[1] = LONG_MAX;
	}
	while ((ret = dump_some_states(skb, cb, tnet)) > 0)
		cond_resched();
	return ret == -ENODEV ? ret : skb->len;
}
