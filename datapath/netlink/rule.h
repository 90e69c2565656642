/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rules: set, deleted, told.
 */
#ifndef _TCON_NETLINK_RULE_H
#define _TCON_NETLINK_RULE_H

#include <net/genetlink.h>
#include <linux/tcon.h>

extern const struct nla_policy tcon_nl_rule_policy[TCON_RULE_A_MAX + 1];

int tcon_nl_set_rule(struct sk_buff *skb, struct genl_info *info);
int tcon_nl_del_rule(struct sk_buff *skb, struct genl_info *info);
int tcon_nl_get_rule(struct sk_buff *skb, struct genl_info *info);
int tcon_nl_dump_rules(struct sk_buff *skb, struct netlink_callback *cb);
int tcon_nl_rules_done(struct netlink_callback *cb);

#endif /* _TCON_NETLINK_RULE_H */
