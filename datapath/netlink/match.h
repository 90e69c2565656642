/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A match of a rule, or of flows that are asked for.
 */
#ifndef _TCON_NETLINK_MATCH_H
#define _TCON_NETLINK_MATCH_H

#include <linux/netlink.h>
#include <net/netlink.h>
#include <linux/tcon.h>

struct tcon_match;

extern const struct nla_policy tcon_nl_match_policy[TCON_MATCH_A_MAX + 1];

int tcon_nl_get_match(const struct nlattr *nest, struct tcon_match *m,
		      struct netlink_ext_ack *extack);
int tcon_nl_put_match(struct sk_buff *skb, const struct tcon_match *m);

#endif /* _TCON_NETLINK_MATCH_H */
