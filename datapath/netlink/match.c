// SPDX-License-Identifier: GPL-2.0-only
/*
 * A match of a rule, or of flows that are asked for.
 */
#include <linux/etherdevice.h>
#include <net/genetlink.h>

#include "netlink/match.h"
#include "netlink/message.h"
#include "state/policy.h"

const struct nla_policy tcon_nl_match_policy[TCON_MATCH_A_MAX + 1] = {
	[TCON_MATCH_A_IFNAME] = { .type = NLA_NUL_STRING, .len = IFNAMSIZ - 1 },
	[TCON_MATCH_A_OFPORT] = { .type = NLA_U32 },
	[TCON_MATCH_A_FAMILY] = { .type = NLA_U8 },
	[TCON_MATCH_A_SRC] = NLA_POLICY_RANGE(NLA_BINARY, 4, 16),
	[TCON_MATCH_A_SRC_PLEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[TCON_MATCH_A_DST] = NLA_POLICY_RANGE(NLA_BINARY, 4, 16),
	[TCON_MATCH_A_DST_PLEN] = NLA_POLICY_MAX(NLA_U8, 128),
	[TCON_MATCH_A_SPORT] = { .type = NLA_U16 },
	[TCON_MATCH_A_DPORT] = { .type = NLA_U16 },
	[TCON_MATCH_A_VLAN] = NLA_POLICY_MAX(NLA_U16, 4095),
	[TCON_MATCH_A_SPORT_MASK] = NLA_POLICY_MIN(NLA_U16, 1),
	[TCON_MATCH_A_DPORT_MASK] = NLA_POLICY_MIN(NLA_U16, 1),
	[TCON_MATCH_A_MAC] = NLA_POLICY_EXACT_LEN(ETH_ALEN),
	[TCON_MATCH_A_MAC_MASK] = NLA_POLICY_EXACT_LEN(ETH_ALEN),
	[TCON_MATCH_A_MARK] = { .type = NLA_U32 },
	[TCON_MATCH_A_MARK_MASK] = NLA_POLICY_MIN(NLA_U32, 1),
	[TCON_MATCH_A_IFACE_ID] = { .type = NLA_NUL_STRING, .len = TCON_IFACE_ID_MAX - 1 },
};

/* An address with its prefix length. */
static int get_prefix(const struct nlattr *addr, const struct nlattr *plen,
		      struct tcon_match *m, union tcon_addr *out, u8 *bits,
		      struct netlink_ext_ack *extack)
{
	u8 family, max;

	if (!addr)
		return plen ? tcon_nl_refuse(extack, -EINVAL,
					     "prefix length without address") : 0;
	if (nla_len(addr) != 4 && nla_len(addr) != 16)
		return tcon_nl_refuse(extack, -EINVAL, "address has a wrong length");
	family = nla_len(addr) == 4 ? AF_INET : AF_INET6;
	if (m->family && m->family != family)
		return tcon_nl_refuse(extack, -EINVAL,
				      "addresses and family do not agree");
	m->family = family;
	max = nla_len(addr) * 8;
	*bits = plen ? nla_get_u8(plen) : max;
	if (*bits > max)
		return tcon_nl_refuse(extack, -EINVAL, "prefix length is too large");
	memcpy(out, nla_data(addr), nla_len(addr));
	return 0;
}

/* Clears host bits, so that equal prefixes are equal matches. */
static void clear_host_bits(union tcon_addr *addr, unsigned int bits)
{
	unsigned int i;

	for (i = bits; i < 128; i++)
		addr->ip6[i / 8] &= ~(0x80 >> i % 8);
}

/* Reads a TCP port.  Bits that do not count are cleared, so that equal sets are equal matches. */
static int get_port(const struct nlattr *port, const struct nlattr *mask, __be16 *out,
		    __be16 *out_mask, struct netlink_ext_ack *extack)
{
	if (!port)
		return mask ? tcon_nl_refuse(extack, -EINVAL, "mask without TCP port") : 0;
	*out_mask = htons(mask ? nla_get_u16(mask) : U16_MAX);
	*out = htons(nla_get_u16(port)) & *out_mask;
	if (!*out && *out_mask == htons(U16_MAX))
		return tcon_nl_refuse(extack, -ERANGE, "no connection has TCP port 0");
	return 0;
}

/* The same of the guest's Ethernet address. */
static int get_mac(const struct nlattr *mac, const struct nlattr *mask, struct tcon_match *m,
		   struct netlink_ext_ack *extack)
{
	unsigned int i;

	if (!mac)
		return mask ? tcon_nl_refuse(extack, -EINVAL, "mask without Ethernet address") : 0;
	eth_broadcast_addr(m->mac_mask);
	if (mask)
		ether_addr_copy(m->mac_mask, nla_data(mask));
	if (is_zero_ether_addr(m->mac_mask))
		return tcon_nl_refuse(extack, -ERANGE, "Ethernet address of which no bit counts");
	for (i = 0; i < ETH_ALEN; i++)
		m->mac[i] = ((const u8 *)nla_data(mac))[i] & m->mac_mask[i];
	return 0;
}

/* The same of the packet mark. */
static int get_mark(const struct nlattr *mark, const struct nlattr *mask, struct tcon_match *m,
		    struct netlink_ext_ack *extack)
{
	if (!mark)
		return mask ? tcon_nl_refuse(extack, -EINVAL, "mask without mark") : 0;
	m->mark_mask = mask ? nla_get_u32(mask) : U32_MAX;
	m->mark = nla_get_u32(mark) & m->mark_mask;
	return 0;
}

/* Reads what a port is called, and its VLAN. */
static void get_place(struct nlattr **a, struct tcon_match *m)
{
	if (a[TCON_MATCH_A_IFNAME])
		nla_strscpy(m->ifname, a[TCON_MATCH_A_IFNAME], IFNAMSIZ);
	if (a[TCON_MATCH_A_IFACE_ID])
		nla_strscpy(m->iface_id, a[TCON_MATCH_A_IFACE_ID], TCON_IFACE_ID_MAX);
	m->ofport = a[TCON_MATCH_A_OFPORT] ? nla_get_u32(a[TCON_MATCH_A_OFPORT]) :
					     TCON_OFPORT_ANY;
	m->vlan = a[TCON_MATCH_A_VLAN] ? nla_get_u16(a[TCON_MATCH_A_VLAN]) : TCON_VLAN_ANY;
}

/**
 * tcon_nl_get_match() - read a match
 * @nest: TCON_A_RULE_MATCH
 * @m: gets it; bits that do not count are 0, so that equal matches are equal bytes
 * @extack: of the request, or NULL
 *
 * Return: 0 or a negative error, with its reason.
 */
int tcon_nl_get_match(const struct nlattr *nest, struct tcon_match *m,
		      struct netlink_ext_ack *extack)
{
	struct nlattr *a[TCON_MATCH_A_MAX + 1];
	int err;

	memset(m, 0, sizeof(*m));
	err = nla_parse_nested(a, TCON_MATCH_A_MAX, nest, tcon_nl_match_policy, extack);
	if (err)
		return err;
	if (a[TCON_MATCH_A_FAMILY])
		m->family = nla_get_u8(a[TCON_MATCH_A_FAMILY]);
	if (m->family && m->family != AF_INET && m->family != AF_INET6)
		return tcon_nl_refuse(extack, -EAFNOSUPPORT, "unknown address family");
	err = get_prefix(a[TCON_MATCH_A_SRC], a[TCON_MATCH_A_SRC_PLEN], m,
			 &m->src, &m->src_plen, extack);
	if (!err)
		err = get_prefix(a[TCON_MATCH_A_DST], a[TCON_MATCH_A_DST_PLEN],
				 m, &m->dst, &m->dst_plen, extack);
	if (!err)
		err = get_port(a[TCON_MATCH_A_SPORT], a[TCON_MATCH_A_SPORT_MASK],
			       &m->sport, &m->sport_mask, extack);
	if (!err)
		err = get_port(a[TCON_MATCH_A_DPORT], a[TCON_MATCH_A_DPORT_MASK],
			       &m->dport, &m->dport_mask, extack);
	if (!err)
		err = get_mac(a[TCON_MATCH_A_MAC], a[TCON_MATCH_A_MAC_MASK], m, extack);
	if (!err)
		err = get_mark(a[TCON_MATCH_A_MARK], a[TCON_MATCH_A_MARK_MASK], m, extack);
	if (err)
		return err;
	clear_host_bits(&m->src, m->src_plen);
	clear_host_bits(&m->dst, m->dst_plen);
	get_place(a, m);
	return 0;
}

static int put_prefix(struct sk_buff *skb, const union tcon_addr *addr,
		      u8 family, u8 plen, int attr, int plen_attr)
{
	if (!plen)
		return 0;
	return nla_put(skb, attr, family == AF_INET ? 4 : 16, addr) ||
	       nla_put_u8(skb, plen_attr, plen);
}

static int put_port(struct sk_buff *skb, __be16 port, __be16 mask, int attr, int mask_attr)
{
	if (!mask)
		return 0;
	return nla_put_u16(skb, attr, ntohs(port)) ||
	       (mask != htons(U16_MAX) && nla_put_u16(skb, mask_attr, ntohs(mask)));
}

static int put_traits(struct sk_buff *skb, const struct tcon_match *m)
{
	return (!is_zero_ether_addr(m->mac_mask) &&
		(nla_put(skb, TCON_MATCH_A_MAC, ETH_ALEN, m->mac) ||
		 nla_put(skb, TCON_MATCH_A_MAC_MASK, ETH_ALEN, m->mac_mask))) ||
	       (m->mark_mask && (nla_put_u32(skb, TCON_MATCH_A_MARK, m->mark) ||
				 nla_put_u32(skb, TCON_MATCH_A_MARK_MASK, m->mark_mask)));
}

static int put_place(struct sk_buff *skb, const struct tcon_match *m)
{
	return (m->ifname[0] && nla_put_string(skb, TCON_MATCH_A_IFNAME, m->ifname)) ||
	       (m->iface_id[0] && nla_put_string(skb, TCON_MATCH_A_IFACE_ID, m->iface_id)) ||
	       (m->ofport != TCON_OFPORT_ANY &&
		nla_put_u32(skb, TCON_MATCH_A_OFPORT, m->ofport));
}

/**
 * tcon_nl_put_match() - tell a match
 * @skb: the message
 * @m: the match
 *
 * Return: 0 or -EMSGSIZE.
 */
int tcon_nl_put_match(struct sk_buff *skb, const struct tcon_match *m)
{
	struct nlattr *nest = nla_nest_start(skb, TCON_A_RULE_MATCH);

	if (!nest || put_place(skb, m) ||
	    (m->family && nla_put_u8(skb, TCON_MATCH_A_FAMILY, m->family)) ||
	    put_prefix(skb, &m->src, m->family, m->src_plen, TCON_MATCH_A_SRC,
		       TCON_MATCH_A_SRC_PLEN) ||
	    put_prefix(skb, &m->dst, m->family, m->dst_plen, TCON_MATCH_A_DST,
		       TCON_MATCH_A_DST_PLEN) ||
	    put_port(skb, m->sport, m->sport_mask, TCON_MATCH_A_SPORT,
		     TCON_MATCH_A_SPORT_MASK) ||
	    put_port(skb, m->dport, m->dport_mask, TCON_MATCH_A_DPORT,
		     TCON_MATCH_A_DPORT_MASK) ||
	    (m->vlan != TCON_VLAN_ANY &&
	     nla_put_u16(skb, TCON_MATCH_A_VLAN, m->vlan)) ||
	    put_traits(skb, m))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}
