/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all messages of the family have in common.
 */
#ifndef _TCON_NETLINK_MESSAGE_H
#define _TCON_NETLINK_MESSAGE_H

#include <net/genetlink.h>
#include <linux/tcon.h>

/* Defined with its operations, in netlink.c. */
extern struct genl_family tcon_family;

int tcon_nl_refuse(struct netlink_ext_ack *extack, int err, const char *why);
int tcon_nl_check_version(const struct nlmsghdr *nlh, struct netlink_ext_ack *extack);
int tcon_nl_get_bridge(struct genl_info *info, char *bridge);
void *tcon_nl_open(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd, int type,
		   struct nlattr **nest);
int tcon_nl_close(struct sk_buff *skb, void *hdr, int err);
u64 tcon_nl_age_ms(u64 then_us);

/* For netlink_callback.seq, where 0 means that nothing is checked. */
static inline u32 tcon_nl_seq(u32 changes)
{
	return changes ? : 1;
}

#endif /* _TCON_NETLINK_MESSAGE_H */
