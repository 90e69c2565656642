// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ports: configured, dumped.
 */
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "netlink/message.h"
#include "netlink/port.h"
#include "state/policy.h"
#include "state/port.h"
#include "state/walk.h"

const struct nla_policy tcon_nl_port_policy[TCON_PORT_A_MAX + 1] = {
	[TCON_PORT_A_IFINDEX] = NLA_POLICY_MIN(NLA_S32, 1),
	[TCON_PORT_A_OFPORT] = { .type = NLA_U32 },
	[TCON_PORT_A_ROLE] = NLA_POLICY_MAX(NLA_U8, TCON_ROLE_UPLINK),
	[TCON_PORT_A_IFACE_ID] = { .type = NLA_NUL_STRING, .len = TCON_IFACE_ID_MAX - 1 },
};

/**
 * tcon_nl_get_ifindex() - read the ifindex that a request names by TCON_A_PORT
 * @attrs: the request's
 * @extack: of the request, or NULL
 * @ifindex: gets it
 *
 * Return: 0 or a negative error, with its reason.
 */
int tcon_nl_get_ifindex(struct nlattr **attrs, struct netlink_ext_ack *extack, int *ifindex)
{
	struct nlattr *a[TCON_PORT_A_MAX + 1];
	int err;

	if (!attrs[TCON_A_PORT])
		return tcon_nl_refuse(extack, -EINVAL, "a port must be named");
	err = nla_parse_nested(a, TCON_PORT_A_MAX, attrs[TCON_A_PORT], tcon_nl_port_policy, extack);
	if (err)
		return err;
	if (!a[TCON_PORT_A_IFINDEX])
		return tcon_nl_refuse(extack, -EINVAL, "a port must be named by its ifindex");
	*ifindex = nla_get_s32(a[TCON_PORT_A_IFINDEX]);
	return 0;
}

/**
 * tcon_nl_set_port() - TCON_CMD_SET_PORT: a port's bridge, number, interface id and role
 * @skb: the request
 * @info: the request, parsed
 *
 * Return: 0 or a negative error.
 */
int tcon_nl_set_port(struct sk_buff *skb, struct genl_info *info)
{
	struct tcon_net *tnet = tcon_net(genl_info_net(info));
	struct nlattr *a[TCON_PORT_A_MAX + 1];
	char bridge[TCON_BRIDGE_NAME_MAX];
	const char *iface_id = "";
	struct tcon_port *port;
	int err;

	err = tcon_nl_get_bridge(info, bridge);
	if (err)
		return err;
	if (!info->attrs[TCON_A_PORT])
		return tcon_nl_refuse(info->extack, -EINVAL, "a port must be named");
	err = nla_parse_nested(a, TCON_PORT_A_MAX, info->attrs[TCON_A_PORT],
			       tcon_nl_port_policy, info->extack);
	if (err)
		return err;
	if (!a[TCON_PORT_A_IFINDEX] || !a[TCON_PORT_A_OFPORT] ||
	    !a[TCON_PORT_A_ROLE])
		return tcon_nl_refuse(info->extack, -EINVAL,
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
		return tcon_nl_refuse(info->extack, -ENODEV,
				      "no kernel datapath has a port with this ifindex");
	tcon_walk_spread(tnet);
	return err;
}

static int fill_port(struct sk_buff *skb, struct netlink_callback *cb,
		     const struct tcon_port *port)
{
	const struct tcon_port_conf *conf;
	struct nlattr *nest;
	void *hdr;
	int err;

	hdr = tcon_nl_open(skb, cb, TCON_CMD_GET_PORT, TCON_A_PORT, &nest);
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
	      nla_put_u64_64bit(skb, TCON_PORT_A_BUFFER_BYTES,
				tcon_share_used(port->shares, TCON_SHARE_BUFFER),
				TCON_PORT_A_PAD) ||
	      nla_put_u32(skb, TCON_PORT_A_EVADING, atomic_read(&port->evading)) ||
	      nla_put_u64_64bit(skb, TCON_PORT_A_EVADED, atomic_long_read(&port->evaded),
				TCON_PORT_A_PAD);
	if (!err && conf)
		err = nla_put_u32(skb, TCON_PORT_A_OFPORT, conf->ofport) ||
		      (conf->iface_id[0] &&
		       nla_put_string(skb, TCON_PORT_A_IFACE_ID, conf->iface_id));
	nla_nest_end(skb, nest);
	if (!err && conf)
		err = nla_put_string(skb, TCON_A_BRIDGE, conf->bridge);
	return tcon_nl_close(skb, hdr, err);
}

/**
 * tcon_nl_dump_ports() - TCON_CMD_GET_PORT: tell a namespace's ports
 * @skb: what is dumped into
 * @cb: the dump; args[0] is the id of the port that was told last
 *
 * Return: bytes, 0 at the end, or a negative error.
 */
int tcon_nl_dump_ports(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct tcon_net *tnet = tcon_net(sock_net(skb->sk));
	struct tcon_port *port;
	int err = tcon_nl_check_version(cb->nlh, cb->extack);

	if (err)
		return err;
	mutex_lock(&tnet->lock);
	cb->seq = tcon_nl_seq(tnet->port_changes);
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
