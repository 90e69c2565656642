// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parser of frames (wire/packet.c), layer by layer: it reads nothing beyond the linear part,
 * ends, and all that it says lies within the frame.
 *
 * The frame is an object of its linear length, so that CBMC sees any read outside.  A layer begins
 * with any cursor that the layer below it may leave.
 */
#include "proof.h"
#include "datapath/wire/packet.c"
#include "wire/plain.h"
#include "wire/key.h"

#define FRAME_MAX	300000	/* more than the largest super-packet, with its headers */

/* A frame of which @linear bytes may be read, and the cursor in it. */
static struct cursor any_cursor(u32 linear)
{
	struct cursor at = { .frame = malloc(linear), .linear_bytes = linear };

	at.frame_bytes = any_u32();
	at.offset = any_u32();
	at.super = any_bool();
	given(at.frame && at.frame_bytes >= linear && at.frame_bytes <= FRAME_MAX);
	return at;
}

/* What a layer may ask for: more than it has, and no more than there is. */
static void prove_pull(const struct tcon_packet *pkt, const struct cursor *at)
{
	prove(pkt->pull_bytes > at->linear_bytes && pkt->pull_bytes <= at->frame_bytes);
}

void prove_need(void)
{
	struct cursor at = any_cursor(64);
	u32 bytes = any_u32();
	struct tcon_packet pkt;
	enum tcon_parse ret;

	given(at.offset <= FRAME_MAX && bytes <= FRAME_MAX);
	ret = need(&pkt, &at, bytes);
	prove((ret == TCON_PARSE_OK) == (at.offset + bytes <= at.linear_bytes));
	prove((ret == TCON_PARSE_SKIP) == (at.offset + bytes > at.frame_bytes));
	if (ret == TCON_PARSE_PULL)
		prove_pull(&pkt, &at);
	prove(implies(ret == TCON_PARSE_SKIP, pkt.skip == TCON_COUNTER_MALFORMED));
}

void prove_ethernet(void)
{
	struct cursor at = any_cursor(LINEAR);
	struct tcon_packet pkt;
	enum tcon_parse ret;
	u16 type;

	at.offset = 0;
	ret = parse_ethernet(&pkt, &at, &type);
	prove(ret == TCON_PARSE_OK || ret == TCON_PARSE_PULL || ret == TCON_PARSE_SKIP ||
	      ret == TCON_PARSE_TAGS);
	if (ret == TCON_PARSE_PULL)
		prove_pull(&pkt, &at);
	prove(implies(ret == TCON_PARSE_TAGS, pkt.skip == TCON_COUNTER_ENCAP_DEPTH &&
					      at.offset == ETH_HLEN + TAGS_MAX * VLAN_TAG_BYTES));
	if (ret != TCON_PARSE_OK)
		return;
	prove(at.offset >= ETH_HLEN && at.offset <= LINEAR);
	prove(at.offset <= ETH_HLEN + TAGS_MAX * VLAN_TAG_BYTES);
	prove(!((at.offset - ETH_HLEN) % VLAN_TAG_BYTES));
	prove(type == (at.frame[at.offset - 2] << 8 | at.frame[at.offset - 1]));
	prove(type != ETH_P_8021Q && type != ETH_P_8021AD);
	prove(pkt.n_vlans <= TCON_MAX_VLANS &&
	      pkt.n_vlans <= (at.offset - ETH_HLEN) / VLAN_TAG_BYTES);
	prove(implies(pkt.n_vlans, pkt.vlan_ids[0] && pkt.vlan_ids[0] <= TCON_VLAN_ID_MASK));
	prove(implies(pkt.n_vlans == 2, pkt.vlan_ids[1] <= TCON_VLAN_ID_MASK ||
					pkt.vlan_ids[1] & TCON_VLANS_FOLDED));
}

/* More tags than there is room for: each counts, and their order does not matter to the number. */
void prove_fold_vlans(void)
{
	u16 outer = any_u16(), inner = any_u16(), got = tcon_packet_fold_vlans(outer, inner);

	prove(got & TCON_VLANS_FOLDED && !(got & ~(TCON_VLANS_FOLDED | TCON_VLAN_ID_MASK)));
	prove(((got ^ inner) & TCON_VLAN_ID_MASK) == (outer & TCON_VLAN_ID_MASK));
}

/* Network headers begin behind 14 bytes of Ethernet and any number of tags. */
static void given_network_header(const struct cursor *at)
{
	given(at->offset >= ETH_HLEN && at->offset <= ETH_HLEN + TAGS_MAX * VLAN_TAG_BYTES);
	given(!((at->offset - ETH_HLEN) % VLAN_TAG_BYTES) && at->offset <= at->linear_bytes);
}

/* What the network layer says of a segment: it lies behind its header, and in the frame. */
static void prove_segment(const struct tcon_packet *pkt, const struct cursor *at, u32 from, u32 bytes)
{
	prove(at->offset > from && at->offset <= at->frame_bytes);
	prove(bytes <= at->frame_bytes - at->offset);
	prove(pkt->fragment <= TCON_FRAGMENT_LATER);
	prove(implies(pkt->fragment == TCON_FRAGMENT_LATER, pkt->fragment_bytes));
	prove(implies(at->super && !pkt->fragment, bytes == at->frame_bytes - at->offset));
}

/* What a network layer's parser may say.  Returns whether it goes on to TCP. */
static bool proven_outcome(enum tcon_parse ret, const struct tcon_packet *pkt,
			   const struct cursor *at)
{
	prove(ret == TCON_PARSE_OK || ret == TCON_PARSE_PULL || ret == TCON_PARSE_SKIP);
	if (ret == TCON_PARSE_PULL)
		prove_pull(pkt, at);
	return ret == TCON_PARSE_OK;
}

void prove_ipv4(void)
{
	struct cursor at = any_cursor(LINEAR);
	struct tcon_packet pkt;
	u32 bytes, from;

	given_network_header(&at);
	pkt.fragment = TCON_WHOLE;
	from = at.offset;
	if (!proven_outcome(parse_ipv4(&pkt, &at, &bytes), &pkt, &at))
		return;
	prove_segment(&pkt, &at, from, bytes);
	prove(at.frame[from] >> 4 == 4 && at.frame[from + 9] == IPPROTO_TCP);
	prove(at.offset - from == (at.frame[from] & 0xf) * 4 && at.offset - from >= IPV4_MIN_BYTES);
	prove(implies(!at.super, at.offset + bytes ==
				 from + (at.frame[from + 2] << 8 | at.frame[from + 3])));
	prove(implies(!pkt.fragment, !(at.frame[from + 6] & 0x3f) && !at.frame[from + 7]));
	prove(pkt.family == AF_INET && !pkt.foreign && pkt.tos == at.frame[from + 1]);
}

void prove_ipv6(void)
{
	struct cursor at = any_cursor(LINEAR);
	struct tcon_packet pkt;
	u32 bytes, from;

	given_network_header(&at);
	at.fragmented = 0;
	pkt.fragment = TCON_WHOLE;
	from = at.offset;
	if (!proven_outcome(parse_ipv6(&pkt, &at, &bytes), &pkt, &at))
		return;
	prove_segment(&pkt, &at, from, bytes);
	prove(at.offset - from >= IPV6_BYTES && !((at.offset - from) % IPV6_EXT_BYTES));
	prove(at.frame[from] >> 4 == 6 && pkt.family == AF_INET6);
	prove(implies(!pkt.fragment && at.offset == from + IPV6_BYTES,
		      at.frame[from + 6] == IPPROTO_TCP));
	prove(implies(pkt.fragment == TCON_FRAGMENT_FIRST, pkt.fragment_bytes < at.offset - from));
	prove(pkt.tos == (u8)(at.frame[from] << 4 | at.frame[from + 1] >> 4));
}

/* A TCP header anywhere, of a segment that the network layer has found. */
void prove_tcp(void)
{
	struct cursor at = any_cursor(ETH_HLEN + IPV6_BYTES + LINEAR);
	u32 bytes = any_u32(), header, from = ETH_HLEN + IPV6_BYTES;
	struct tcon_packet pkt;
	enum tcon_parse ret;

	at.offset = from;
	given(bytes <= at.frame_bytes - from);
	given(at.frame[from + 12] >> 4 == DOFF);
	ret = parse_tcp(&pkt, &at, bytes);
	prove(ret == TCON_PARSE_OK || ret == TCON_PARSE_PULL || ret == TCON_PARSE_SKIP);
	if (ret == TCON_PARSE_PULL)
		prove_pull(&pkt, &at);
	prove(implies(ret == TCON_PARSE_SKIP, pkt.skip == TCON_COUNTER_MALFORMED));
	if (ret != TCON_PARSE_OK)
		return;
	header = pkt.payload_offset - pkt.l4_offset;
	prove(pkt.l4_offset == from && header >= TCP_MIN_BYTES && header == DOFF * 4);
	prove(pkt.payload_offset <= at.linear_bytes && header <= bytes &&
	      header + pkt.payload_bytes == bytes);
	prove(pkt.end_seq - pkt.seq == pkt.payload_bytes + !!(pkt.flags & TCON_TCP_SYN) +
				       !!(pkt.flags & TCON_TCP_FIN));
	prove(pkt.n_sacks <= TCON_MAX_SACKS && 2 + 8 * pkt.n_sacks <= max(2U, header - TCP_MIN_BYTES));
	prove(pkt.wscale == TCON_WSCALE_NONE || pkt.wscale <= TCON_WSCALE_MAX);
	prove(implies(!(pkt.flags & TCON_TCP_SYN),
		      !pkt.mss && pkt.wscale == TCON_WSCALE_NONE && !pkt.sack_permitted));
	prove(implies(DOFF == 5, !pkt.has_ts && !pkt.mptcp && !pkt.signed_options &&
				 !pkt.option_bytes && !pkt.n_sacks));
}

/* Options of any content: nothing outside of them is read, and no loop lasts. */
void prove_options(void)
{
	u8 *opt = malloc(OPTION_BYTES);
	struct tcon_packet pkt = { .flags = any_u8(), .wscale = TCON_WSCALE_NONE };
	bool syn = pkt.flags & TCON_TCP_SYN;

	given(opt);
	parse_options(&pkt, opt, OPTION_BYTES);
	prove(2 + 8 * pkt.n_sacks <= max(2, OPTION_BYTES) && pkt.n_sacks <= TCON_MAX_SACKS);
	prove(pkt.wscale == TCON_WSCALE_NONE || (syn && pkt.wscale <= TCON_WSCALE_MAX));
	prove(implies(!syn, !pkt.mss && !pkt.sack_permitted));
	prove(pkt.option_bytes == 0 || pkt.option_bytes == TCON_OPTION_OFFER_BYTES ||
	      pkt.option_bytes == TCON_OPTION_COUNT_BYTES);
	prove(implies(pkt.option_bytes == TCON_OPTION_OFFER_BYTES, syn));
	prove(implies(pkt.has_ts, OPTION_BYTES >= TS_BYTES));
	prove(implies(pkt.signed_options, OPTION_BYTES >= AO_MIN_BYTES));
	prove(implies(pkt.mptcp, OPTION_BYTES >= MPTCP_MIN_BYTES));
}

/* What a first fragment says of its part, and that it ends no connection. */
void prove_fragment(void)
{
	struct cursor at = any_cursor(ETH_HLEN + IPV6_BYTES + TCP_MIN_BYTES);
	u32 bytes = any_u32(), from = ETH_HLEN + IPV6_BYTES;
	struct tcon_packet pkt;
	enum tcon_parse ret;

	at.offset = from;
	given(bytes <= at.frame_bytes - from);
	given(at.frame[from + 12] >> 4 <= 5);	/* without options: of these prove_options() says all */
	given(pkt.fragment == TCON_FRAGMENT_FIRST || pkt.fragment == TCON_FRAGMENT_LATER);
	ret = parse_fragment(&pkt, &at, bytes);
	prove(ret == TCON_PARSE_OK || ret == TCON_PARSE_PULL || ret == TCON_PARSE_SKIP ||
	      ret == TCON_PARSE_LATER);
	if (ret == TCON_PARSE_PULL)
		prove_pull(&pkt, &at);
	prove(implies(ret == TCON_PARSE_SKIP, pkt.skip == TCON_COUNTER_FRAGMENT));
	prove((ret == TCON_PARSE_LATER) == (pkt.fragment == TCON_FRAGMENT_LATER && bytes));
	prove(implies(ret == TCON_PARSE_LATER,
		      pkt.payload_offset == from && pkt.payload_bytes == bytes));
	prove(implies(ret == TCON_PARSE_OK,
		      pkt.payload_offset + pkt.payload_bytes == from + bytes &&
		      !(pkt.flags & TCON_TCP_FIN) &&
		      pkt.end_seq - pkt.seq == pkt.payload_bytes + !!(pkt.flags & TCON_TCP_SYN)));
}

/*
 * The whole parser: frames of any content, of which LINEAR bytes may be read, with network headers
 * of a kind.  Options are left out: prove_options() has them.
 */
void prove_parse(void)
{
	struct cursor any = any_cursor(LINEAR);
	u8 *frame = (u8 *)any.frame;
	struct tcon_packet pkt;
	enum tcon_parse ret;

	if (FAMILY == 4) {
		frame[12] = 0x08;
		frame[13] = 0x00;
		frame[14] = 0x45;
	} else {
		frame[12] = 0x86;
		frame[13] = 0xdd;
		given(frame[20] == IPPROTO_TCP);
	}
	given(frame[FAMILY == 4 ? 34 + 12 : 54 + 12] >> 4 <= 5);
	ret = tcon_packet_parse(&pkt, frame, LINEAR, any.frame_bytes, any.super);
	if (ret == TCON_PARSE_PULL)
		prove_pull(&pkt, &any);
	prove(implies(FAMILY == 6, ret != TCON_PARSE_LATER));
	if (ret != TCON_PARSE_OK && ret != TCON_PARSE_LATER)
		return;
	prove(pkt.l3_offset == ETH_HLEN && pkt.payload_offset > pkt.l3_offset);
	prove(pkt.payload_offset + pkt.payload_bytes <= any.frame_bytes);
	prove((ret == TCON_PARSE_LATER) == (pkt.fragment == TCON_FRAGMENT_LATER));
	prove(implies(ret == TCON_PARSE_OK, pkt.l4_offset == ETH_HLEN + (FAMILY == 4 ? 20 : 40) &&
					    pkt.payload_offset == pkt.l4_offset + 20 &&
					    pkt.payload_offset <= LINEAR));
	prove(pkt.family == (FAMILY == 4 ? AF_INET : AF_INET6));
}

/* What ends or begins, and what is nothing but an ACK. */
void prove_kinds(void)
{
	struct tcon_packet pkt;
	u8 flags = pkt.flags & (TCON_TCP_SYN | TCON_TCP_FIN | TCON_TCP_RST);

	prove(tcon_packet_is_end(&pkt) == !!flags);
	pkt.end_seq = pkt.seq + pkt.payload_bytes + !!(flags & TCON_TCP_SYN) +
		      !!(flags & TCON_TCP_FIN);
	given(pkt.payload_bytes <= FRAME_MAX);
	prove(tcon_packet_is_pure_ack(&pkt) == (!flags && !pkt.payload_bytes));
}

/* The look that spares the parser reads no more than there is, and finds what the parser finds. */
void prove_plain(void)
{
	u32 tcp;
	u8 *frame = malloc(LINEAR);

	given(frame);
	if (!tcon_is_plain(frame, LINEAR))
		return;
	prove((frame[12] == 0x08 && frame[13] == 0x00) || (frame[12] == 0x86 && frame[13] == 0xdd));
	if (frame[12] == 0x08) {
		tcp = ETH_HLEN + IPV4_MIN_BYTES;
		prove(frame[14] == 0x45 && frame[23] == IPPROTO_TCP && (frame[15] & 3) != 3);
		prove(!(frame[20] & 0x3f) && !frame[21]);
	} else {
		tcp = ETH_HLEN + IPV6_BYTES;
		prove(frame[14] >> 4 == 6 && frame[20] == IPPROTO_TCP && (frame[15] & 0x30) != 0x30);
	}
	prove(tcp + TCP_MIN_BYTES <= LINEAR);
	prove(!(frame[tcp + 13] & (TCON_TCP_SYN | TCON_TCP_FIN | TCON_TCP_RST)));
}

/* A segment and its answer have the same key, seen from the two sides of the guest. */
void prove_key(void)
{
	u8 there[ETH_HLEN + IPV6_BYTES + TCP_MIN_BYTES], back[sizeof(there)];
	struct tcon_packet pkt = { .l3_offset = ETH_HLEN };
	u32 n, tcp, bytes = FAMILY == 4 ? 4 : 16, from = ETH_HLEN + (FAMILY == 4 ? 12 : 8);
	struct tcon_key a, b;
	bool guest = any_bool();

	pkt.family = FAMILY == 4 ? AF_INET : AF_INET6;
	tcp = pkt.l4_offset = ETH_HLEN + (FAMILY == 4 ? IPV4_MIN_BYTES : IPV6_BYTES);
	for (n = 0; n < bytes; n++) {
		back[from + n] = there[from + bytes + n];
		back[from + bytes + n] = there[from + n];
	}
	for (n = 0; n < 2; n++) {
		back[tcp + n] = there[tcp + 2 + n];
		back[tcp + 2 + n] = there[tcp + n];
	}
	tcon_key_set_ends(&a, there, &pkt, guest);
	tcon_key_set_ends(&b, back, &pkt, !guest);
	prove(tcon_key_equal(&a, &b) && tcon_key_equal(&b, &a));
	prove(a.family == pkt.family && !a.port_id && !a.vlans[0] && !a.vlans[1] && !a.pad[0]);
	prove(((u8 *)&a.gport)[0] == there[tcp + (guest ? 0 : 2)]);
	prove(a.guest.ip6[0] == there[from + (guest ? 0 : bytes)]);
	prove(a.peer.ip6[bytes - 1] == there[from + bytes - 1 + (guest ? bytes : 0)]);
	b = a;
	n = any_u8() % sizeof(b);
	((u8 *)&b)[n] ^= 1;
	prove(!tcon_key_equal(&a, &b));
}
