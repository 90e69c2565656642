/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ports: configured, dumped.
 */
#ifndef _TCON_NETLINK_PORT_H
#define _TCON_NETLINK_PORT_H

#include <net/genetlink.h>
#include <linux/tcon.h>

extern const struct nla_policy tcon_nl_port_policy[TCON_PORT_A_MAX + 1];

int tcon_nl_get_ifindex(struct nlattr **attrs, struct netlink_ext_ack *extack, int *ifindex);
int tcon_nl_set_port(struct sk_buff *skb, struct genl_info *info);
int tcon_nl_dump_ports(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* _TCON_NETLINK_PORT_H */
