/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * States of half-flows that move with their guest.
 */
#ifndef _TCON_NETLINK_MOVE_H
#define _TCON_NETLINK_MOVE_H

#include <net/genetlink.h>

int tcon_nl_set_state(struct sk_buff *skb, struct genl_info *info);
int tcon_nl_dump_states(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* _TCON_NETLINK_MOVE_H */
