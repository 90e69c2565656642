/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is a frame surely a segment in the middle of a connection?  Where nothing else matters, this
 * spares the parser: it looks at the usual headers only.
 */
#ifndef _TCON_PLAIN_H
#define _TCON_PLAIN_H

#include <linux/if_ether.h>
#include <linux/in.h>
#include <tcon/compat.h>

#include "wire/packet.h"

#define TCON_PLAIN_ENDS		(TCON_TCP_SYN | TCON_TCP_FIN | TCON_TCP_RST)

/* Is @ip an IPv4 header without options, of a whole TCP segment without a mark (CE)? */
static inline bool tcon_plain_ipv4(const u8 *ip)
{
	/* Fragment offset and more fragments; time to live; protocol. */
	return ip[0] == 0x45 && (ip[1] & 3) != 3 &&
	       (get_unaligned_be32(ip + 6) & 0x3fff00ff) == IPPROTO_TCP;
}

/* Is @ip an IPv6 header with TCP behind it, without a mark? */
static inline bool tcon_plain_ipv6(const u8 *ip)
{
	return ip[0] >> 4 == 6 && (ip[1] >> 4 & 3) != 3 && ip[6] == IPPROTO_TCP;
}

/**
 * tcon_is_plain() - is a frame surely a segment in the middle of a connection?
 * @frame: the frame
 * @linear_bytes: length of its linear part
 *
 * That is: it has neither SYN, FIN nor RST, and no mark of ECN, and is no fragment.
 *
 * Return: true if it is; false: the parser has to find out.
 */
static inline bool tcon_is_plain(const u8 *frame, u32 linear_bytes)
{
	const u8 *ip = frame + ETH_HLEN;
	u16 type;

	if (linear_bytes < ETH_HLEN + 20 + 20)
		return false;
	type = get_unaligned_be16(frame + ETH_HLEN - 2);
	if (likely(type == ETH_P_IP))
		return tcon_plain_ipv4(ip) && !(ip[20 + 13] & TCON_PLAIN_ENDS);
	return type == ETH_P_IPV6 && linear_bytes >= ETH_HLEN + 40 + 20 &&
	       tcon_plain_ipv6(ip) && !(ip[40 + 13] & TCON_PLAIN_ENDS);
}

#endif /* _TCON_PLAIN_H */
