/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CCs, dumped with their parameters.
 */
#ifndef _TCON_NETLINK_CC_H
#define _TCON_NETLINK_CC_H

#include <linux/netlink.h>

int tcon_nl_dump_ccs(struct sk_buff *skb, struct netlink_callback *cb);

#endif /* _TCON_NETLINK_CC_H */
