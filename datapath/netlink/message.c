// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all messages of the family have in common.
 */
#include <net/genetlink.h>

#include "netlink/message.h"
#include "state/flow.h"

/**
 * tcon_nl_refuse() - give an error its reason
 * @extack: of the request, or NULL
 * @err: a negative error
 * @why: one sentence, in static memory
 *
 * Return: @err.
 */
int tcon_nl_refuse(struct netlink_ext_ack *extack, int err, const char *why)
{
	if (extack)
		extack->_msg = why;
	return err;
}

/**
 * tcon_nl_check_version() - does a request speak this version of the protocol?
 * @nlh: the request
 * @extack: of the request, or NULL
 *
 * Return: 0 or -EPROTONOSUPPORT.
 */
int tcon_nl_check_version(const struct nlmsghdr *nlh,
			  struct netlink_ext_ack *extack)
{
	const struct genlmsghdr *hdr = nlmsg_data(nlh);

	if (hdr->version == TCON_GENL_VERSION)
		return 0;
	return tcon_nl_refuse(extack, -EPROTONOSUPPORT,
			      "this tcon.ko speaks another version of the protocol");
}

/**
 * tcon_nl_get_bridge() - read the bridge that a request names
 * @info: the request
 * @bridge: of TCON_BRIDGE_NAME_MAX bytes, gets its name
 *
 * Return: 0 or -EINVAL.
 */
int tcon_nl_get_bridge(struct genl_info *info, char *bridge)
{
	const struct nlattr *a = info->attrs[TCON_A_BRIDGE];

	if (!a || !*(const char *)nla_data(a))
		return tcon_nl_refuse(info->extack, -EINVAL, "a bridge must be named");
	nla_strscpy(bridge, a, TCON_BRIDGE_NAME_MAX);
	return 0;
}

/**
 * tcon_nl_open() - start a message of a dump, with one nest
 * @skb: what is dumped into
 * @cb: the dump
 * @cmd: the message's
 * @type: the nest's
 * @nest: gets it, which the caller ends
 *
 * Marks the message if what is dumped has changed since the dump began: see
 * nl_dump_check_consistent().
 *
 * Return: the message's header, or NULL if it does not fit.
 */
void *tcon_nl_open(struct sk_buff *skb, struct netlink_callback *cb,
		   u8 cmd, int type, struct nlattr **nest)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
				cb->nlh->nlmsg_seq, &tcon_family, NLM_F_MULTI,
				cmd);

	if (!hdr)
		return NULL;
	if (cb->seq)
		genl_dump_check_consistent(cb, hdr);
	*nest = nla_nest_start(skb, type);
	if (*nest)
		return hdr;
	genlmsg_cancel(skb, hdr);
	return NULL;
}

/**
 * tcon_nl_close() - end a message, or take it back
 * @skb: what is dumped into
 * @hdr: of tcon_nl_open()
 * @err: not 0: something did not fit
 *
 * Return: 0 or -EMSGSIZE.
 */
int tcon_nl_close(struct sk_buff *skb, void *hdr, int err)
{
	if (err) {
		genlmsg_cancel(skb, hdr);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, hdr);
	return 0;
}

/**
 * tcon_nl_age_ms() - how long something lasts
 * @then_us: when it began
 *
 * Return: milliseconds.
 */
u64 tcon_nl_age_ms(u64 then_us)
{
	return div_u64(tcon_us(tcon_now_ns()) - then_us, USEC_PER_MSEC);
}
