/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Half-flows, dumped.
 */
#ifndef _TCON_NETLINK_FLOW_H
#define _TCON_NETLINK_FLOW_H

#include <linux/netlink.h>

struct tcon_flow;
struct tcon_match;
struct tcon_stub;

/* Half-flows that a dump looks at under RCU before it lets others run. */
#define TCON_NL_BATCH	64

int tcon_nl_look_at(struct sk_buff *skb, struct netlink_callback *cb, struct tcon_stub *stub,
		    const struct tcon_match *m,
		    int (*fill)(struct sk_buff *skb, struct netlink_callback *cb,
				struct tcon_flow *flow));
int tcon_nl_dump_flows(struct sk_buff *skb, struct netlink_callback *cb);
int tcon_nl_flows_done(struct netlink_callback *cb);

#endif /* _TCON_NETLINK_FLOW_H */
