// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser: from a frame to a &struct tcon_packet.
 *
 * It reads Ethernet with VLANs, IPv4, IPv6 with the extension headers that
 * may precede TCP (RFC 8200), and TCP with its options.  It never reads beyond the linear
 * part of the packet.  If headers are longer, it asks the caller for more.  The caller
 * passes everything else untouched, and counts it.
 */
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/socket.h>
#include <tcon/compat.h>

#include "wire/packet.h"

#define IPV4_MIN_BYTES		20
#define IPV6_BYTES		40
#define TCP_MIN_BYTES		20
#define VLAN_TAG_BYTES		4
#define IPV6_MAX_EXT_HEADERS	8
#define TAGS_MAX		16

#define IPV4_OFFSET_OR_MF	0x3fff	/* fragment offset, more fragments */
#define IPV4_OFFSET		0x1fff	/* in units of 8 bytes */
#define IPV6_OFFSET_OR_MF	0xfff9
#define IPV6_OFFSET		0xfff8
#define IPV6_EXT_BYTES		8	/* of an extension header, at least */

/* Protocol numbers of IPv6 extension headers (IANA) that the parser skips. */
#define EXT_HOP_BY_HOP		0
#define EXT_ROUTING		43
#define EXT_FRAGMENT		44
#define EXT_DESTINATION		60

/* Kinds of TCP options (IANA). */
#define OPT_END			0
#define OPT_NOP			1
#define OPT_MSS			2
#define OPT_WSCALE		3
#define OPT_SACK_PERMITTED	4
#define OPT_SACK		5
#define OPT_TS			8
#define OPT_MD5			19
#define OPT_AO			29
#define OPT_MPTCP		30

#define TS_BYTES		10
#define MD5_BYTES		18	/* RFC 2385, 3.0 */
#define AO_MIN_BYTES		4	/* RFC 5925, 2.2 */
#define MPTCP_MIN_BYTES		3	/* RFC 8684, 3: a subtype */
/* Two NOPs and the time stamps' kind and length: RFC 7323, appendix A. */
#define ALIGNED_TS		(OPT_NOP << 24 | OPT_NOP << 16 | \
				 OPT_TS << 8 | TS_BYTES)

/* Where the parser is. */
struct cursor {
	const u8 *frame;
	u32 linear_bytes;	/* readable at @frame */
	u32 frame_bytes;	/* of the whole frame, the paged part included */
	u32 offset;
	u32 fragmented;		/* where what is in fragments begins; 0: no fragment header */
	bool super;		/* a super-packet, which has no length of its own */
};

static enum tcon_parse skip(struct tcon_packet *pkt, enum tcon_counter why)
{
	pkt->skip = why;
	return TCON_PARSE_SKIP;
}

/* Are @bytes readable at the cursor?  If not, returns what to do. */
static enum tcon_parse need(struct tcon_packet *pkt, const struct cursor *at,
			    u32 bytes)
{
	u32 end = at->offset + bytes;

	if (likely(end <= at->linear_bytes))
		return TCON_PARSE_OK;
	if (end > at->frame_bytes)
		return skip(pkt, TCON_COUNTER_MALFORMED);
	pkt->pull_bytes = end;
	return TCON_PARSE_PULL;
}

static bool is_vlan(u16 ethertype)
{
	return ethertype == ETH_P_8021Q || ethertype == ETH_P_8021AD;
}

/* A tag of identifier 0 only has a priority.  Receivers take off any number of these. */
static void note_tag(struct tcon_packet *pkt, u16 id)
{
	u16 *last = &pkt->vlan_ids[TCON_MAX_VLANS - 1];

	if (!id)
		return;
	if (pkt->n_vlans < TCON_MAX_VLANS)
		pkt->vlan_ids[pkt->n_vlans++] = id;
	else
		*last = tcon_packet_fold_vlans(*last, id);
}

/* Leaves the cursor at the network header. */
static enum tcon_parse parse_ethernet(struct tcon_packet *pkt,
				      struct cursor *at, u16 *ethertype)
{
	enum tcon_parse ret;
	unsigned int n;

	ret = need(pkt, at, ETH_HLEN);
	if (ret)
		return ret;
	*ethertype = get_unaligned_be16(at->frame + ETH_HLEN - 2);
	at->offset = ETH_HLEN;
	pkt->n_vlans = 0;
	for (n = 0; is_vlan(*ethertype); n++) {
		if (n == TAGS_MAX) {
			skip(pkt, TCON_COUNTER_ENCAP_DEPTH);
			return TCON_PARSE_TAGS;
		}
		ret = need(pkt, at, VLAN_TAG_BYTES);
		if (ret)
			return ret;
		note_tag(pkt, get_unaligned_be16(at->frame + at->offset) & TCON_VLAN_ID_MASK);
		*ethertype = get_unaligned_be16(at->frame + at->offset + 2);
		at->offset += VLAN_TAG_BYTES;
	}
	return TCON_PARSE_OK;
}

/*
 * The length in the IP header counts only if the packet is on the wire as it is.  A super-packet
 * is cut into segments that get lengths of their own.  Its own length may be beyond 16 bits (BIG
 * TCP), and nobody looks at it: a guest could write any.
 *
 * Returns the end of the packet in the frame; 0: none that fits.
 */
static u32 end_of(const struct cursor *at, u32 length)
{
	u32 end = at->offset + length;

	if (at->super)
		return at->frame_bytes;
	return end > at->frame_bytes ? 0 : end;
}

static void set_fragment(struct tcon_packet *pkt, u32 offset_bytes, u32 ident)
{
	pkt->fragment = offset_bytes ? TCON_FRAGMENT_LATER : TCON_FRAGMENT_FIRST;
	pkt->fragment_bytes = offset_bytes;
	pkt->ident = ident;
}

/* Leaves the cursor at the TCP header, with the length of header and payload. */
static enum tcon_parse parse_ipv4(struct tcon_packet *pkt, struct cursor *at,
				  u32 *segment_bytes)
{
	u32 header_bytes, total_bytes, end;
	enum tcon_parse ret;
	const u8 *ip;
	u16 offset;

	ret = need(pkt, at, IPV4_MIN_BYTES);
	if (ret)
		return ret;
	ip = at->frame + at->offset;
	if (ip[9] != IPPROTO_TCP)
		return skip(pkt, TCON_COUNTER_NOT_TCP);
	header_bytes = (ip[0] & 0xf) * 4;
	total_bytes = get_unaligned_be16(ip + 2);
	end = end_of(at, total_bytes);
	if (ip[0] >> 4 != 4 || header_bytes < IPV4_MIN_BYTES ||
	    end < at->offset + header_bytes)
		return skip(pkt, TCON_COUNTER_MALFORMED);
	offset = get_unaligned_be16(ip + 6) & IPV4_OFFSET_OR_MF;
	if (unlikely(offset))
		set_fragment(pkt, (offset & IPV4_OFFSET) * 8, get_unaligned_be16(ip + 4));
	pkt->foreign = false;

	pkt->family = AF_INET;
	pkt->tos = ip[1];
	at->offset += header_bytes;
	*segment_bytes = end - at->offset;
	return TCON_PARSE_OK;
}

/* May what is in fragments begin with TCP, or with an extension header before it? */
static bool may_begin_tcp(u8 next)
{
	return next == IPPROTO_TCP || next == EXT_DESTINATION || next == EXT_ROUTING ||
	       next == EXT_HOP_BY_HOP;
}

/*
 * The fragment header of IPv6 (RFC 8200, 4.5).  An atomic fragment (RFC 6946) is a whole packet.
 * Receivers take no packet with two such headers.
 */
static enum tcon_parse parse_fragment_header(struct tcon_packet *pkt, struct cursor *at,
					     const u8 *header)
{
	u16 offset = get_unaligned_be16(header + 2);

	if (at->fragmented)
		return skip(pkt, TCON_COUNTER_FRAGMENT);
	if (offset & IPV6_OFFSET_OR_MF)
		set_fragment(pkt, offset & IPV6_OFFSET, get_unaligned_be32(header + 4));
	pkt->foreign = !may_begin_tcp(header[0]);
	at->offset += IPV6_EXT_BYTES;
	at->fragmented = at->offset;
	return TCON_PARSE_OK;
}

/* Not all of the headers are here.  Others can complete a first fragment's. */
static enum tcon_parse cut_off(struct tcon_packet *pkt)
{
	return skip(pkt, pkt->fragment ? TCON_COUNTER_FRAGMENT : TCON_COUNTER_MALFORMED);
}

/*
 * Walks from the end of the fixed IPv6 header to the TCP header, or to what a later fragment has
 * of the segment.
 */
static enum tcon_parse skip_extensions(struct tcon_packet *pkt,
				       struct cursor *at, u8 next, u32 end)
{
	enum tcon_parse ret;
	const u8 *header;
	int n;

	for (n = 0; next != IPPROTO_TCP; n++) {
		if (!may_begin_tcp(next) && next != EXT_FRAGMENT)
			return skip(pkt, TCON_COUNTER_NOT_TCP);
		if (n == IPV6_MAX_EXT_HEADERS)
			return skip(pkt, TCON_COUNTER_EXT_HEADER);
		if (at->offset + IPV6_EXT_BYTES > end)
			return cut_off(pkt);
		ret = need(pkt, at, IPV6_EXT_BYTES);
		if (ret)
			return ret;
		header = at->frame + at->offset;
		if (unlikely(next == EXT_FRAGMENT)) {
			ret = parse_fragment_header(pkt, at, header);
			if (ret || pkt->fragment == TCON_FRAGMENT_LATER)
				return ret;
		} else {
			at->offset += (header[1] + 1) * IPV6_EXT_BYTES;
		}
		next = header[0];
		if (at->offset > end)
			return cut_off(pkt);
	}
	if (unlikely(pkt->fragment))
		pkt->fragment_bytes = at->offset - at->fragmented;
	return TCON_PARSE_OK;
}

static enum tcon_parse parse_ipv6(struct tcon_packet *pkt, struct cursor *at,
				  u32 *segment_bytes)
{
	enum tcon_parse ret;
	u32 payload_bytes, end;
	const u8 *ip;

	ret = need(pkt, at, IPV6_BYTES);
	if (ret)
		return ret;
	ip = at->frame + at->offset;
	payload_bytes = get_unaligned_be16(ip + 4);
	if (ip[0] >> 4 != 6)
		return skip(pkt, TCON_COUNTER_MALFORMED);
	pkt->family = AF_INET6;
	if (!payload_bytes && !at->super)
		return skip(pkt, TCON_COUNTER_JUMBOGRAM);
	end = end_of(at, IPV6_BYTES + payload_bytes);
	if (!end)
		return skip(pkt, TCON_COUNTER_MALFORMED);

	pkt->tos = get_unaligned_be16(ip) >> 4 & 0xff;
	pkt->foreign = false;
	at->offset += IPV6_BYTES;
	ret = skip_extensions(pkt, at, ip[6], end);
	if (ret)
		return ret;
	*segment_bytes = end - at->offset;
	return TCON_PARSE_OK;
}

static void parse_sack(struct tcon_packet *pkt, const u8 *opt, u8 bytes)
{
	struct tcon_sack *sack;
	int i;

	/* A header should have one SACK option.  If there are two, the last one counts. */
	pkt->n_sacks = 0;
	if ((bytes - 2) % 8)
		return;
	for (i = 2; i < bytes && pkt->n_sacks < TCON_MAX_SACKS; i += 8) {
		sack = &pkt->sacks[pkt->n_sacks++];
		sack->start = get_unaligned_be32(opt + i);
		sack->end = get_unaligned_be32(opt + i + 4);
	}
}

static void parse_timestamps(struct tcon_packet *pkt, const u8 *opt)
{
	pkt->has_ts = true;
	pkt->tsval = get_unaligned_be32(opt + 2);
	pkt->tsecr = get_unaligned_be32(opt + 6);
}

/*
 * TCon's own option, if its length is right for this kind of segment.  On a SYN-ACK one length is
 * an answer, the other an echo of the option on the SYN.
 */
static void parse_own(struct tcon_packet *pkt, const u8 *opt, u8 bytes)
{
	bool syn = pkt->flags & TCON_TCP_SYN, ack = pkt->flags & TCON_TCP_ACK;

	if (!((syn && bytes == TCON_OPTION_OFFER_BYTES) ||
	      ((!syn || ack) && bytes == TCON_OPTION_COUNT_BYTES)) ||
	    get_unaligned_be16(opt + 2) != TCON_OPTION_EXID)
		return;
	pkt->option_bytes = bytes;
	if (bytes == TCON_OPTION_COUNT_BYTES)
		pkt->ce_bytes = get_unaligned_be32(opt + 4);
}

/* An option that restricts what may be done to the segment. */
static void parse_bond(struct tcon_packet *pkt, u8 kind, u8 bytes)
{
	switch (kind) {
	case OPT_MD5:
		pkt->signed_options |= bytes == MD5_BYTES;
		break;
	case OPT_AO:
		pkt->signed_options |= bytes >= AO_MIN_BYTES;
		break;
	case OPT_MPTCP:
		pkt->mptcp |= bytes >= MPTCP_MIN_BYTES;
		break;
	}
}

/* One option that has a length; @opt points to its kind. */
static void parse_option(struct tcon_packet *pkt, const u8 *opt, u8 bytes)
{
	bool syn = pkt->flags & TCON_TCP_SYN;

	switch (opt[0]) {
	case OPT_MSS:
		if (syn && bytes == 4)
			pkt->mss = get_unaligned_be16(opt + 2);
		break;
	case OPT_WSCALE:
		if (syn && bytes == 3)
			pkt->wscale = min_t(u8, opt[2], TCON_WSCALE_MAX);
		break;
	case OPT_SACK_PERMITTED:
		if (syn && bytes == 2)
			pkt->sack_permitted = true;
		break;
	case OPT_SACK:
		parse_sack(pkt, opt, bytes);
		break;
	case OPT_TS:
		if (bytes == TS_BYTES)
			parse_timestamps(pkt, opt);
		break;
	case TCON_OPTION_KIND:
		parse_own(pkt, opt, bytes);
		break;
	default:
		parse_bond(pkt, opt[0], bytes);
	}
}

/* Stops at the first option that does not fit, as receivers do. */
static void parse_options(struct tcon_packet *pkt, const u8 *opt, u32 bytes)
{
	u32 i = 0;

	/* Nearly every segment has exactly these options. */
	if (likely(bytes == 2 + TS_BYTES &&
		   get_unaligned_be32(opt) == ALIGNED_TS)) {
		parse_timestamps(pkt, opt + 2);
		return;
	}
	while (i < bytes && opt[i] != OPT_END) {
		if (opt[i] == OPT_NOP) {
			i++;
			continue;
		}
		if (i + 1 >= bytes || opt[i + 1] < 2 || opt[i + 1] > bytes - i)
			return;
		parse_option(pkt, opt + i, opt[i + 1]);
		i += opt[i + 1];
	}
}

static enum tcon_parse parse_tcp(struct tcon_packet *pkt, struct cursor *at,
				 u32 segment_bytes)
{
	enum tcon_parse ret;
	u32 header_bytes;
	const u8 *tcp;

	if (segment_bytes < TCP_MIN_BYTES)
		return skip(pkt, TCON_COUNTER_MALFORMED);
	ret = need(pkt, at, TCP_MIN_BYTES);
	if (ret)
		return ret;
	tcp = at->frame + at->offset;
	header_bytes = (tcp[12] >> 4) * 4;
	if (header_bytes < TCP_MIN_BYTES || header_bytes > segment_bytes)
		return skip(pkt, TCON_COUNTER_MALFORMED);
	ret = need(pkt, at, header_bytes);
	if (ret)
		return ret;

	pkt->seq = get_unaligned_be32(tcp + 4);
	pkt->ack = get_unaligned_be32(tcp + 8);
	pkt->flags = tcp[13];
	pkt->ae = tcp[12] & 1;
	pkt->window = get_unaligned_be16(tcp + 14);
	pkt->l4_offset = at->offset;
	pkt->payload_offset = at->offset + header_bytes;
	pkt->payload_bytes = segment_bytes - header_bytes;
	pkt->end_seq = pkt->seq + pkt->payload_bytes +
		       !!(pkt->flags & TCON_TCP_SYN) +
		       !!(pkt->flags & TCON_TCP_FIN);
	pkt->mss = 0;
	pkt->wscale = TCON_WSCALE_NONE;
	pkt->sack_permitted = false;
	pkt->signed_options = false;
	pkt->mptcp = false;
	pkt->option_bytes = 0;
	pkt->n_sacks = 0;
	pkt->has_ts = false;
	parse_options(pkt, tcp + TCP_MIN_BYTES, header_bytes - TCP_MIN_BYTES);
	return TCON_PARSE_OK;
}

/* A first fragment that has not all of the TCP header is no use to anybody (RFC 8200, 4.5). */
static enum tcon_parse parse_fragment(struct tcon_packet *pkt, struct cursor *at,
				      u32 segment_bytes)
{
	enum tcon_parse ret;

	if (pkt->fragment == TCON_FRAGMENT_LATER) {
		pkt->payload_offset = at->offset;
		pkt->payload_bytes = segment_bytes;
		return segment_bytes ? TCON_PARSE_LATER : skip(pkt, TCON_COUNTER_FRAGMENT);
	}
	ret = parse_tcp(pkt, at, segment_bytes);
	if (ret == TCON_PARSE_SKIP)
		return skip(pkt, TCON_COUNTER_FRAGMENT);
	pkt->flags &= ~TCON_TCP_FIN;
	pkt->end_seq = pkt->seq + pkt->payload_bytes + !!(pkt->flags & TCON_TCP_SYN);
	return ret;
}

/**
 * tcon_packet_parse() - find the TCP segment in a frame
 * @pkt: the result
 * @frame: starts with the Ethernet header
 * @linear_bytes: how many bytes may be read at @frame
 * @frame_bytes: length of the whole frame; at least @linear_bytes
 * @super: it is a super-packet of TCP (GSO): what is in the frame counts, not its length fields
 *
 * An accelerated VLAN tag is not in the frame, so it is not seen here.
 *
 * Return: see &enum tcon_parse.
 */
enum tcon_parse tcon_packet_parse(struct tcon_packet *pkt, const u8 *frame,
				  u32 linear_bytes, u32 frame_bytes, bool super)
{
	struct cursor at = {
		.frame = frame,
		.linear_bytes = linear_bytes,
		.frame_bytes = frame_bytes,
		.super = super,
	};
	enum tcon_parse ret;
	u32 segment_bytes;
	u16 ethertype;

	ret = parse_ethernet(pkt, &at, &ethertype);
	if (ret)
		return ret;
	pkt->l3_offset = at.offset;
	pkt->fragment = TCON_WHOLE;
	if (ethertype == ETH_P_IP)
		ret = parse_ipv4(pkt, &at, &segment_bytes);
	else if (ethertype == ETH_P_IPV6)
		ret = parse_ipv6(pkt, &at, &segment_bytes);
	else
		return skip(pkt, TCON_COUNTER_NOT_TCP);
	if (ret)
		return ret;
	if (unlikely(pkt->fragment))
		return parse_fragment(pkt, &at, segment_bytes);
	return parse_tcp(pkt, &at, segment_bytes);
}
