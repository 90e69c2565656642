// SPDX-License-Identifier: GPL-2.0-only
/* The parser (datapath/wire/packet.c). */
#include "datapath/wire/packet.c"
#include "datapath/wire/key.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "frame.h"

#define ACK	TCON_TCP_ACK
#define SYN	TCON_TCP_SYN
#define FIN	TCON_TCP_FIN

#define PAYLOAD	100

static enum tcon_parse parse(struct tcon_packet *pkt, const struct frame *f)
{
	memset(pkt, 0xee, sizeof(*pkt));
	return tcon_packet_parse(pkt, f->data, f->bytes, f->bytes, false);
}

static void skips(const struct frame *f, enum tcon_counter why)
{
	struct tcon_packet pkt;

	assert_int_equal(parse(&pkt, f), TCON_PARSE_SKIP);
	assert_int_equal(pkt.skip, why);
}

/* A frame with TCP options, over IPv4. */
static void with_options(struct frame *f, u8 flags, const void *options,
			 u32 bytes)
{
	frame_ethernet(f, 0, ETH_P_IP);
	frame_ipv4(f, 0);
	frame_tcp(f, flags, options, bytes);
	frame_put(f, PAYLOAD);
	frame_finish(f);
}

static void check_tcp(const struct tcon_packet *pkt, const struct frame *f,
		      u32 tcp_bytes)
{
	assert_int_equal(pkt->l3_offset, f->l3);
	assert_int_equal(pkt->l4_offset, f->l4);
	assert_int_equal(pkt->payload_offset, f->l4 + tcp_bytes);
	assert_int_equal(pkt->payload_bytes, PAYLOAD);
	assert_int_equal(pkt->seq, 0xfffffff0);
	assert_int_equal(pkt->end_seq, 0xfffffff0 + PAYLOAD);
	assert_int_equal(pkt->ack, 0x12345678);
	assert_int_equal(pkt->window, 0xabcd);
	assert_int_equal(pkt->tos, 0xb9);
}

/* The packet's two ends, once for each direction. */
static void check_ends(const struct tcon_packet *pkt, const struct frame *f,
		       const union tcon_addr *src, const union tcon_addr *dst)
{
	struct tcon_key key;

	memset(&key, 0xee, sizeof(key));
	tcon_key_set_ends(&key, f->data, pkt, true);
	assert_memory_equal(&key.guest, src, sizeof(*src));
	assert_memory_equal(&key.peer, dst, sizeof(*dst));
	assert_int_equal(key.gport, cpu_to_be16(40001));
	assert_int_equal(key.pport, cpu_to_be16(5201));
	assert_int_equal(key.family, pkt->family);
	assert_int_equal(key.port_id | key.vlans[0] | key.vlans[1] |
			 key.pad[0] | key.pad[1] | key.pad[2], 0);
	tcon_key_set_ends(&key, f->data, pkt, false);
	assert_memory_equal(&key.guest, dst, sizeof(*dst));
	assert_memory_equal(&key.peer, src, sizeof(*src));
	assert_int_equal(key.gport, cpu_to_be16(5201));
	assert_int_equal(key.pport, cpu_to_be16(40001));
}

static void check_no_options(const struct tcon_packet *pkt)
{
	assert_int_equal(pkt->mss, 0);
	assert_int_equal(pkt->wscale, TCON_WSCALE_NONE);
	assert_false(pkt->sack_permitted);
	assert_false(pkt->has_ts);
	assert_false(pkt->signed_options);
	assert_false(pkt->mptcp);
	assert_int_equal(pkt->n_sacks, 0);
}

static void ipv4(void **state)
{
	const union tcon_addr src = { .words[0] = cpu_to_be32(0x0a000001) };
	const union tcon_addr dst = { .words[0] = cpu_to_be32(0x0a000002) };
	struct tcon_packet pkt;
	struct frame f;

	with_options(&f, ACK, NULL, 0);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	check_tcp(&pkt, &f, 20);
	check_no_options(&pkt);
	assert_int_equal(pkt.family, AF_INET);
	assert_int_equal(pkt.n_vlans, 0);
	check_ends(&pkt, &f, &src, &dst);
	assert_int_equal(pkt.flags, ACK);
	assert_false(tcon_packet_is_pure_ack(&pkt));
}

static void ipv4_options(void **state)
{
	struct tcon_packet pkt;
	struct frame f;
	u32 bytes;

	for (bytes = 0; bytes <= 40; bytes += 4) {
		frame_ethernet(&f, 0, ETH_P_IP);
		frame_ipv4(&f, bytes);
		frame_tcp(&f, ACK, NULL, 0);
		frame_put(&f, PAYLOAD);
		frame_finish(&f);
		assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
		assert_int_equal(pkt.l4_offset, 14 + 20 + bytes);
		check_tcp(&pkt, &f, 20);
	}
}

static void ipv6(void **state)
{
	union tcon_addr src, dst;
	struct tcon_packet pkt;
	struct frame f;
	int i;

	frame_ethernet(&f, 0, ETH_P_IPV6);
	frame_ipv6(&f, IPPROTO_TCP);
	frame_tcp(&f, ACK, NULL, 0);
	frame_put(&f, PAYLOAD);
	frame_finish(&f);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	assert_int_equal(pkt.family, AF_INET6);
	assert_int_equal(pkt.l4_offset, 14 + 40);
	check_tcp(&pkt, &f, 20);
	for (i = 0; i < 16; i++) {
		src.ip6[i] = 0x20 + i;
		dst.ip6[i] = 0x30 + i;
	}
	check_ends(&pkt, &f, &src, &dst);
}

static void vlans(void **state)
{
	struct tcon_packet pkt;
	struct frame f;
	int v6, n;

	for (v6 = 0; v6 < 2; v6++) {
		for (n = 0; n <= 4; n++) {
			frame_ethernet(&f, n, v6 ? ETH_P_IPV6 : ETH_P_IP);
			if (v6)
				frame_ipv6(&f, IPPROTO_TCP);
			else
				frame_ipv4(&f, 0);
			frame_tcp(&f, ACK, NULL, 0);
			frame_put(&f, PAYLOAD);
			frame_finish(&f);
			assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
			assert_int_equal(pkt.n_vlans, min(n, TCON_MAX_VLANS));
			assert_true(n < 1 || pkt.vlan_ids[0] == 101);
			assert_true(n != 2 || pkt.vlan_ids[1] == 102);
			assert_true(n != 3 || pkt.vlan_ids[1] ==
				    tcon_packet_fold_vlans(102, 103));
			assert_true(n != 4 || pkt.vlan_ids[1] ==
				    tcon_packet_fold_vlans(102, tcon_packet_fold_vlans(103, 104)));
			check_tcp(&pkt, &f, 20);
		}
	}
}

/* A tag of identifier 0 has a priority only, and receivers take off any number of these. */
static void priority_tags(void **state)
{
	static const u16 ids[18] = { 0, 0, 0, 101, 0, 102 };
	struct tcon_packet pkt;
	struct frame f;
	int n, vlans;

	for (n = 0; n <= 18; n++) {
		vlans = (n > 3) + (n > 5);
		frame_tagged(&f, ids, n, ETH_P_IP);
		frame_ipv4(&f, 0);
		frame_tcp(&f, ACK, NULL, 0);
		frame_put(&f, PAYLOAD);
		frame_finish(&f);
		if (n > 16) {
			assert_int_equal(parse(&pkt, &f), TCON_PARSE_TAGS);
			assert_int_equal(pkt.skip, TCON_COUNTER_ENCAP_DEPTH);
			continue;
		}
		assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
		assert_int_equal(pkt.n_vlans, vlans);
		assert_true(vlans < 1 || pkt.vlan_ids[0] == 101);
		assert_true(vlans < 2 || pkt.vlan_ids[1] == 102);
		check_tcp(&pkt, &f, 20);
	}
}

static void not_tcp(void **state)
{
	static const u16 ethertypes[] = { ETH_P_ARP, ETH_P_MPLS_UC, 0x88cc, 46 };
	struct frame f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ethertypes); i++) {
		frame_ethernet(&f, i % 3, ethertypes[i]);
		frame_put(&f, 60);
		skips(&f, TCON_COUNTER_NOT_TCP);
	}
	with_options(&f, ACK, NULL, 0);
	f.data[f.l3 + 9] = IPPROTO_UDP;
	skips(&f, TCON_COUNTER_NOT_TCP);

	frame_ethernet(&f, 0, ETH_P_IPV6);
	frame_ipv6(&f, IPPROTO_ICMPV6);
	frame_put(&f, 40);
	frame_finish(&f);
	skips(&f, TCON_COUNTER_NOT_TCP);
	f.data[f.l3 + 6] = 51;		/* AH: its TCP may not be edited */
	skips(&f, TCON_COUNTER_NOT_TCP);
}

/* @n extension headers of growing length, then TCP. */
static void with_extensions(struct frame *f, const u8 *kinds, int n)
{
	int i;

	frame_ethernet(f, 0, ETH_P_IPV6);
	frame_ipv6(f, n ? kinds[0] : IPPROTO_TCP);
	for (i = 0; i < n; i++)
		frame_extension(f, i + 1 < n ? kinds[i + 1] : IPPROTO_TCP, i);
	frame_tcp(f, ACK, NULL, 0);
	frame_put(f, PAYLOAD);
	frame_finish(f);
}

static void extensions(void **state)
{
	static const u8 some[] = { 0, 60, 43, 60 };
	static const u8 many[] = { 0, 60, 43, 60, 60, 60, 60, 60, 60 };
	struct tcon_packet pkt;
	struct frame f;

	with_extensions(&f, some, 4);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	assert_int_equal(pkt.l4_offset, 14 + 40 + 8 + 16 + 24 + 32);
	check_tcp(&pkt, &f, 20);
	with_extensions(&f, many, 8);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	check_tcp(&pkt, &f, 20);
	with_extensions(&f, many, 9);
	skips(&f, TCON_COUNTER_EXT_HEADER);

	/* One that reaches beyond the packet. */
	with_extensions(&f, some, 1);
	f.data[f.l3 + 40 + 1] = 255;
	skips(&f, TCON_COUNTER_MALFORMED);
	/* One that leaves less than a TCP header. */
	with_extensions(&f, some, 1);
	f.data[f.l3 + 40 + 1] = (20 + PAYLOAD) / 8;
	skips(&f, TCON_COUNTER_MALFORMED);
}

/* A fragment with ACK and FIN.  @offset_bytes and @ident: what the IP header says. */
static void check_fragment(const struct frame *f, u32 offset_bytes, u32 ident)
{
	u32 seq = get_unaligned_be32(f->data + f->l4 + 4);
	struct tcon_packet pkt;

	if (offset_bytes) {
		assert_int_equal(parse(&pkt, f), TCON_PARSE_LATER);
		assert_int_equal(pkt.fragment, TCON_FRAGMENT_LATER);
		assert_int_equal(pkt.payload_offset, f->l4);
		assert_int_equal(pkt.payload_bytes, f->bytes - f->l4);
	} else {
		assert_int_equal(parse(&pkt, f), TCON_PARSE_OK);
		assert_int_equal(pkt.fragment, TCON_FRAGMENT_FIRST);
		assert_int_equal(pkt.flags, ACK);	/* its FIN is behind what follows */
		assert_int_equal(pkt.end_seq, seq + PAYLOAD);
	}
	assert_int_equal(pkt.ident, ident);
	assert_int_equal(pkt.fragment_bytes, offset_bytes);
}

static void ipv4_fragments(void **state)
{
	static const u16 whole[] = { 0x0000, 0x4000, 0x8000 };
	static const u16 parts[] = { 0x2000, 0x6000, 0x0001, 0x1000, 0x1fff, 0x2001 };
	struct tcon_packet pkt;
	struct frame f;
	size_t i;

	with_options(&f, ACK | FIN, NULL, 0);
	put_unaligned_be16(4711, f.data + f.l3 + 4);
	for (i = 0; i < ARRAY_SIZE(whole); i++) {
		put_unaligned_be16(whole[i], f.data + f.l3 + 6);
		assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
		assert_int_equal(pkt.fragment, TCON_WHOLE);
		assert_int_equal(pkt.flags, ACK | FIN);
	}
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		put_unaligned_be16(parts[i], f.data + f.l3 + 6);
		check_fragment(&f, (parts[i] & 0x1fff) * 8, 4711);
	}
	/* Too little of TCP's header, which others can put together. */
	put_unaligned_be16(0x2000, f.data + f.l3 + 6);
	put_unaligned_be16(20 + 8, f.data + f.l3 + 2);
	skips(&f, TCON_COUNTER_FRAGMENT);
}

static void ipv6_fragments(void **state)
{
	static const u8 one[] = { 44 };
	struct tcon_packet pkt;
	struct frame f;

	with_extensions(&f, one, 1);
	memset(f.data + f.l3 + 40 + 1, 0, 7);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);	/* atomic */
	assert_int_equal(pkt.fragment, TCON_WHOLE);
	put_unaligned_be32(0x12345678, f.data + f.l3 + 40 + 4);
	f.data[f.l4 + 13] = ACK | FIN;
	put_unaligned_be16(1, f.data + f.l3 + 40 + 2);
	check_fragment(&f, 0, 0x12345678);
	put_unaligned_be16(1232 | 1, f.data + f.l3 + 40 + 2);
	check_fragment(&f, 1232, 0x12345678);
	put_unaligned_be16(1232, f.data + f.l3 + 40 + 2);
	check_fragment(&f, 1232, 0x12345678);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_LATER);
	assert_false(pkt.foreign);
	f.data[f.l3 + 40] = 17;		/* what the first one says counts */
	check_fragment(&f, 1232, 0x12345678);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_LATER);
	assert_true(pkt.foreign);
	put_unaligned_be16(1, f.data + f.l3 + 40 + 2);
	skips(&f, TCON_COUNTER_NOT_TCP);
}

/* Extension headers before TCP's are part of what is in fragments. */
static void ipv6_fragmented_extensions(void **state)
{
	static const u8 some[] = { 44, 60 }, two[] = { 44, 44 };
	struct tcon_packet pkt;
	struct frame f;

	with_extensions(&f, some, 2);
	put_unaligned_be16(1, f.data + f.l3 + 40 + 2);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	assert_int_equal(pkt.fragment, TCON_FRAGMENT_FIRST);
	assert_int_equal(pkt.fragment_bytes, f.l4 - (f.l3 + 48));
	/* One that ends in another fragment, or begins there: others can put that together. */
	f.data[f.l3 + 48 + 1] = 255;
	skips(&f, TCON_COUNTER_FRAGMENT);
	put_unaligned_be16(8, f.data + f.l3 + 4);
	skips(&f, TCON_COUNTER_FRAGMENT);
	/* As a whole packet it is no use to anybody. */
	put_unaligned_be16(0, f.data + f.l3 + 40 + 2);
	skips(&f, TCON_COUNTER_MALFORMED);
	with_extensions(&f, two, 2);
	put_unaligned_be16(0, f.data + f.l3 + 40 + 2);
	put_unaligned_be16(1, f.data + f.l3 + 48 + 2);
	skips(&f, TCON_COUNTER_FRAGMENT);
}

/* No length in the IP header, and no super-packet. */
static void no_length(void **state)
{
	struct frame f;

	with_options(&f, ACK, NULL, 0);
	put_unaligned_be16(0, f.data + f.l3 + 2);
	skips(&f, TCON_COUNTER_MALFORMED);
	with_extensions(&f, (const u8 *)"\0", 1);
	put_unaligned_be16(0, f.data + f.l3 + 4);
	skips(&f, TCON_COUNTER_JUMBOGRAM);
}

/*
 * The length field of a super-packet does not count.  It may be 0 (BIG TCP), or less
 * than there is, by which a guest would have most of its data uncounted.
 */
static void super_packets(void **state)
{
	static const u16 lengths[] = { 0, 1, 40, 1500, 0xffff };
	static const u32 sizes[] = { 1000, 65536, 180000 };
	struct tcon_packet pkt;
	struct frame f;
	int v6, i, n;

	for (v6 = 0; v6 < 2; v6++)
		for (i = 0; i < ARRAY_SIZE(lengths); i++)
			for (n = 0; n < ARRAY_SIZE(sizes); n++) {
				if (v6)
					with_extensions(&f, (const u8 *)"\0", 1);
				else
					with_options(&f, ACK, NULL, 0);
				put_unaligned_be16(lengths[i], f.data + f.l3 + (v6 ? 4 : 2));
				assert_int_equal(tcon_packet_parse(&pkt, f.data, f.bytes,
								   sizes[n], true),
						 TCON_PARSE_OK);
				assert_int_equal(pkt.l4_offset, f.l4);
				assert_int_equal(pkt.payload_offset, f.l4 + 20);
				assert_int_equal(pkt.payload_bytes, sizes[n] - f.l4 - 20);
				assert_int_equal(pkt.end_seq, pkt.seq + pkt.payload_bytes);
			}
	assert_int_equal(tcon_packet_parse(&pkt, f.data, f.l4 + 19, f.l4 + 19, true),
			 TCON_PARSE_SKIP);
	assert_int_equal(pkt.skip, TCON_COUNTER_MALFORMED);
}

/* One byte of a good frame is changed. */
static void malformed(void **state)
{
	static const struct {
		u32 offset;	/* from the IP header */
		u8 value;
		bool v6;
	} row[] = {
		{ 0, 0x65, false },	/* version 6 */
		{ 0, 0x44, false },	/* header shorter than 20 bytes */
		{ 3, 19, false },	/* total shorter than the header */
		{ 3, 39, false },	/* no room for TCP */
		{ 3, 141, false },	/* longer than the frame */
		{ 2, 0xff, false },
		{ 32, 0x40, false },	/* TCP header shorter than 20 bytes */
		{ 32, 0x00, false },
		{ 0, 0x4b, true },	/* version 4 */
		{ 5, 121, true },	/* longer than the frame */
		{ 4, 0xff, true },
		{ 5, 19, true },	/* no room for TCP */
		{ 52, 0x40, true },
	};
	struct frame f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		if (row[i].v6)
			with_extensions(&f, NULL, 0);
		else
			with_options(&f, ACK, NULL, 0);
		f.data[f.l3 + row[i].offset] = row[i].value;
		skips(&f, TCON_COUNTER_MALFORMED);
	}
	/* The TCP header is longer than the segment. */
	with_options(&f, ACK, NULL, 0);
	f.data[f.l4 + 12] = 0xf0;
	put_unaligned_be16(20 + 59, f.data + f.l3 + 2);
	skips(&f, TCON_COUNTER_MALFORMED);
}

/* Ethernet pads to 60 bytes: the IP header's length counts. */
static void padding(void **state)
{
	struct tcon_packet pkt;
	struct frame f;

	frame_ethernet(&f, 0, ETH_P_IP);
	frame_ipv4(&f, 0);
	frame_tcp(&f, ACK, NULL, 0);
	frame_finish(&f);
	memset(frame_put(&f, 6), 0xff, 6);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	assert_int_equal(pkt.payload_bytes, 0);
	assert_int_equal(pkt.end_seq, pkt.seq);
	assert_true(tcon_packet_is_pure_ack(&pkt));

	with_extensions(&f, (const u8 *)"\0\x3c", 2);
	memset(frame_put(&f, 100), 0xff, 100);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	check_tcp(&pkt, &f, 20);
}

static void flags(void **state)
{
	static const struct {
		u8 flags;
		u32 payload, length;
		bool pure;
	} row[] = {
		{ ACK, 0, 0, true },
		{ ACK, 7, 7, false },
		{ SYN, 0, 1, false },
		{ SYN | ACK, 0, 1, false },
		{ SYN, 7, 8, false },
		{ FIN | ACK, 0, 1, false },
		{ FIN | ACK, 7, 8, false },
		{ SYN | FIN, 0, 2, false },
		{ TCON_TCP_RST, 0, 0, false },
		{ ACK | TCON_TCP_ECE | TCON_TCP_CWR, 0, 0, true },
	};
	struct tcon_packet pkt;
	struct frame f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		frame_ethernet(&f, 0, ETH_P_IP);
		frame_ipv4(&f, 0);
		frame_tcp(&f, row[i].flags, NULL, 0);
		frame_put(&f, row[i].payload);
		frame_finish(&f);
		assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
		assert_int_equal(pkt.flags, row[i].flags);
		assert_int_equal(pkt.payload_bytes, row[i].payload);
		assert_int_equal(pkt.end_seq - pkt.seq, row[i].length);
		assert_int_equal(tcon_packet_is_pure_ack(&pkt), row[i].pure);
	}
}

static void syn_options(void **state)
{
	/* As Linux sends them. */
	static const u8 linux_syn[] = {
		2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 3, 3,
		7,
	};
	struct tcon_packet pkt;
	struct frame f;

	with_options(&f, SYN, linux_syn, sizeof(linux_syn));
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	assert_int_equal(pkt.mss, 1460);
	assert_true(pkt.sack_permitted);
	assert_true(pkt.has_ts);
	assert_int_equal(pkt.tsval, 0x01020304);
	assert_int_equal(pkt.tsecr, 0x05060708);
	assert_int_equal(pkt.wscale, 7);
	assert_int_equal(pkt.payload_offset, f.l4 + 40);

	/* Outside a SYN, what only a SYN may say does not count. */
	with_options(&f, ACK, linux_syn, sizeof(linux_syn));
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	assert_int_equal(pkt.mss, 0);
	assert_false(pkt.sack_permitted);
	assert_int_equal(pkt.wscale, TCON_WSCALE_NONE);
	assert_true(pkt.has_ts);
}

/* Meanings of options, besides MSS and window scale. */
enum says {
	NOTHING = 0,
	SACK_PERMITTED = 1,
	HAS_TS = 2,
	SIGNED = 4,
	MPTCP = 8,
};

static int says(const struct tcon_packet *pkt)
{
	return (pkt->sack_permitted ? SACK_PERMITTED : 0) |
	       (pkt->has_ts ? HAS_TS : 0) |
	       (pkt->signed_options ? SIGNED : 0) | (pkt->mptcp ? MPTCP : 0);
}

/* The meaning of a lone option, or two, of a SYN. */
static void option_table(void **state)
{
	static const struct {
		const char *what;
		u8 bytes[40];
		u8 n;
		u16 mss;
		u8 wscale;
		enum says says;
	} row[] = {
		{ "none", { 0 }, 0, 0, 255, NOTHING },
		{ "NOPs", { 1, 1, 1, 1 }, 4, 0, 255, NOTHING },
		{ "wscale 0", { 3, 3, 0 }, 3, 0, 0, NOTHING },
		{ "wscale 14", { 3, 3, 14 }, 3, 0, 14, NOTHING },
		{ "wscale 15", { 3, 3, 15 }, 3, 0, 14, NOTHING },
		{ "wscale 255", { 3, 3, 255 }, 3, 0, 14, NOTHING },
		{ "wscale, wrong length", { 3, 4, 7, 7 }, 4, 0, 255, NOTHING },
		{ "wscale, too short", { 3, 2, 1, 1 }, 4, 0, 255, NOTHING },
		{ "wscale twice: the last", { 3, 3, 2, 3, 3, 9 }, 6, 0, 9, NOTHING },
		{ "MSS", { 2, 4, 0x22, 0xb8 }, 4, 8888, 255, NOTHING },
		{ "MSS, wrong length", { 2, 3, 5, 1 }, 4, 0, 255, NOTHING },
		{ "SACK permitted, wrong length", { 4, 3, 0, 1 }, 4, 0, 255, NOTHING },
		{ "SACK permitted", { 4, 2 }, 2, 0, 255, SACK_PERMITTED },
		{ "time stamps, wrong length", { 8, 8, 1, 2, 3, 4, 5, 6 }, 8, 0,
		  255, NOTHING },
		{ "time stamps", { 8, 10, 1, 2, 3, 4, 5, 6, 7, 8 }, 10, 0, 255,
		  HAS_TS },
		{ "end before", { 0, 3, 3, 7 }, 4, 0, 255, NOTHING },
		{ "end behind", { 3, 3, 7, 0, 4, 2 }, 6, 0, 7, NOTHING },
		{ "MD5", { 19, 18 }, 18, 0, 255, SIGNED },
		{ "AO", { 29, 16 }, 16, 0, 255, SIGNED },
		{ "AO, as short as can be", { 29, 4, 1, 1 }, 4, 0, 255, SIGNED },
		{ "MD5, too short", { 19, 4, 1, 1 }, 4, 0, 255, NOTHING },
		{ "MD5, too long", { 19, 20 }, 20, 0, 255, NOTHING },
		{ "AO, too short", { 29, 3, 1, 1 }, 4, 0, 255, NOTHING },
		{ "MPTCP", { 30, 4, 0, 1 }, 4, 0, 255, MPTCP },
		{ "MPTCP without a subtype", { 30, 2, 1, 1 }, 4, 0, 255, NOTHING },
		{ "unknown is skipped", { 254, 6, 9, 9, 9, 9, 3, 3, 5 }, 9, 0,
		  5, NOTHING },
		{ "length 0 stops", { 253, 0, 3, 3, 5, 1, 1, 1 }, 8, 0, 255, NOTHING },
		{ "length 1 stops", { 253, 1, 3, 3, 5, 1, 1, 1 }, 8, 0, 255, NOTHING },
		{ "too long stops", { 253, 9, 3, 3, 5, 1, 1, 1 }, 8, 0, 255, NOTHING },
		{ "255 stops", { 3, 3, 5, 253, 255, 4, 2, 1 }, 8, 0, 5, NOTHING },
		{ "just long enough", { 3, 3, 5, 1, 253, 4, 4, 2 }, 8, 0, 5, NOTHING },
		{ "cut off by one", { 1, 1, 3, 3 }, 4, 0, 255, NOTHING },
		{ "no room for a length", { 3, 3, 5, 2 }, 4, 0, 5, NOTHING },
		{ "overlapping MSS", { 2, 4, 3, 3, 3, 3, 6, 1 }, 8, 0x0303, 6, NOTHING },
	};
	struct tcon_packet pkt;
	struct frame f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		with_options(&f, SYN, row[i].bytes, row[i].n);
		assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
		if (pkt.mss != row[i].mss || pkt.wscale != row[i].wscale ||
		    says(&pkt) != row[i].says || pkt.n_sacks)
			fail_msg("%s: mss %u, wscale %u, says %d", row[i].what,
				 pkt.mss, pkt.wscale, says(&pkt));
	}
}

/* TCon's own: on a SYN of one length, else of another, and with its identifier.  A SYN-ACK
 * has the other, or what a peer echoes.
 */
static void own_option(void **state)
{
	static const struct {
		u8 flags;
		u8 bytes[12];
		u8 n;
		u8 option_bytes;
		u32 ce_bytes;
	} row[] = {
		{ SYN, { 254, 4, 0x54, 0xce }, 4, 4, 0 },
		{ SYN, { 1, 254, 4, 0x54, 0xce }, 5, 4, 0 },
		{ SYN, { 254, 8, 0x54, 0xce, 1, 2, 3, 4 }, 8, 0, 0 },
		{ SYN | ACK, { 254, 8, 0x54, 0xce, 1, 2, 3, 4 }, 8, 8, 0x01020304 },
		{ SYN | ACK, { 254, 4, 0x54, 0xce }, 4, 4, 0 },
		{ SYN, { 254, 4, 0x54, 0xcf }, 4, 0, 0 },
		{ SYN, { 253, 4, 0x54, 0xce }, 4, 0, 0 },
		{ SYN, { 254, 2, 0x54, 0xce }, 4, 0, 0 },
		{ ACK, { 254, 8, 0x54, 0xce, 1, 2, 3, 4 }, 8, 8, 0x01020304 },
		{ ACK, { 254, 8, 0x54, 0xce, 255, 255, 255, 255 }, 8, 8, U32_MAX },
		{ ACK, { 254, 4, 0x54, 0xce }, 4, 0, 0 },
		{ ACK, { 254, 9, 0x54, 0xce, 1, 2, 3, 4, 5 }, 9, 0, 0 },
		{ ACK, { 1, 254, 8, 0x54, 0xce, 1, 2, 3 }, 8, 0, 0 },
	};
	struct tcon_packet pkt;
	struct frame f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		with_options(&f, row[i].flags, row[i].bytes, row[i].n);
		assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
		assert_int_equal(pkt.option_bytes, row[i].option_bytes);
		if (pkt.option_bytes == 8)
			assert_int_equal(pkt.ce_bytes, row[i].ce_bytes);
	}
}

/* AE stands before the other flags, in the byte of the header's length. */
static void accurate_ecn(void **state)
{
	struct tcon_packet pkt;
	struct frame f;

	with_options(&f, ACK, NULL, 0);
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	assert_false(pkt.ae);
	f.data[f.l4 + 12] |= 1;
	assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
	assert_true(pkt.ae);
	assert_int_equal(pkt.flags, ACK);
}

static void sack_blocks(void **state)
{
	u8 opt[40];
	struct tcon_packet pkt;
	struct frame f;
	int n, i;

	for (n = 0; n <= 4; n++) {
		memset(opt, 1, sizeof(opt));
		opt[2] = 5;
		opt[3] = 2 + 8 * n;
		for (i = 0; i < n; i++) {
			put_unaligned_be32(0xfffffff0 + 0x100 * i, opt + 4 + 8 * i);
			put_unaligned_be32(0x10 + 0x100 * i, opt + 8 + 8 * i);
		}
		with_options(&f, ACK, opt, 4 + 8 * n);
		assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
		assert_int_equal(pkt.n_sacks, n);
		for (i = 0; i < n; i++) {
			assert_int_equal(pkt.sacks[i].start,
					 0xfffffff0 + 0x100 * i);
			assert_int_equal(pkt.sacks[i].end, 0x10 + 0x100 * i);
		}
	}
	for (n = 3; n < 38; n++) {		/* not a number of blocks */
		if ((n - 2) % 8 == 0)
			continue;
		memset(opt, 1, sizeof(opt));
		opt[2] = 5;
		opt[3] = n;
		with_options(&f, ACK, opt, 40);
		assert_int_equal(parse(&pkt, &f), TCON_PARSE_OK);
		assert_int_equal(pkt.n_sacks, 0);
	}
}

/* Parses what lies in exactly @linear bytes of memory: ASan guards the end. */
static enum tcon_parse parse_linear(struct tcon_packet *pkt,
				    const struct frame *f, u32 linear,
				    u32 bytes)
{
	u8 *copy = malloc(linear ? linear : 1);
	enum tcon_parse ret;

	memcpy(copy, f->data, linear);
	memset(pkt, 0, sizeof(*pkt));
	ret = tcon_packet_parse(pkt, copy, linear, bytes, false);
	free(copy);
	return ret;
}

static int make_kind(struct frame *f, int kind)
{
	static const u8 kinds[] = { 0, 43, 60 };
	u8 opt[40];

	memset(opt, 1, sizeof(opt));
	memcpy(opt, "\x02\x04\x05\xb4\x01\x03\x03\x07", 8);
	switch (kind) {
	case 0:
		with_options(f, SYN, opt, 8);
		return 1;
	case 1:
		frame_ethernet(f, 2, ETH_P_IP);
		frame_ipv4(f, 40);
		frame_tcp(f, SYN, opt, 40);
		frame_put(f, PAYLOAD);
		frame_finish(f);
		return 1;
	case 2:
		with_extensions(f, kinds, 3);
		return 1;
	case 3:
		frame_ethernet(f, 1, ETH_P_IPV6);
		frame_ipv6(f, IPPROTO_TCP);
		frame_tcp(f, SYN | ACK, opt, 8);
		frame_finish(f);
		return 1;
	}
	return 0;
}

/*
 * With every linear part: PULL asks for more, but no more than the headers, and
 * leads to the same result.
 */
static void pulls(void **state)
{
	struct tcon_packet whole, pkt;
	enum tcon_parse ret;
	struct frame f;
	u32 linear, now;
	int kind;

	for (kind = 0; make_kind(&f, kind); kind++) {
		assert_int_equal(parse_linear(&whole, &f, f.bytes, f.bytes),
				 TCON_PARSE_OK);
		for (linear = 0; linear <= f.bytes; linear++) {
			now = linear;
			while ((ret = parse_linear(&pkt, &f, now, f.bytes)) ==
			       TCON_PARSE_PULL) {
				assert_true(pkt.pull_bytes > now);
				assert_true(pkt.pull_bytes <=
					    whole.payload_offset);
				now = pkt.pull_bytes;
			}
			assert_int_equal(ret, TCON_PARSE_OK);
			assert_true(linear < whole.payload_offset ||
				    now == linear);
			pkt.pull_bytes = 0;
			assert_memory_equal(&pkt, &whole, sizeof(pkt));
		}
	}
}

/* The frame itself ends early: never OK, never a request for more than it has. */
static void truncated(void **state)
{
	struct tcon_packet pkt;
	enum tcon_parse ret;
	struct frame f;
	u32 bytes, linear;
	int kind;

	for (kind = 0; make_kind(&f, kind); kind++) {
		for (bytes = 0; bytes < f.bytes; bytes++) {
			for (linear = 0; linear <= bytes; linear++) {
				ret = parse_linear(&pkt, &f, linear, bytes);
				if (ret == TCON_PARSE_PULL) {
					assert_true(pkt.pull_bytes <= bytes);
					assert_true(pkt.pull_bytes > linear);
				} else {
					assert_int_equal(ret, TCON_PARSE_SKIP);
					assert_int_equal(pkt.skip,
							 TCON_COUNTER_MALFORMED);
				}
				assert_true(linear < bytes ||
					    ret == TCON_PARSE_SKIP);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ipv4),
		cmocka_unit_test(ipv4_options),
		cmocka_unit_test(ipv6),
		cmocka_unit_test(vlans),
		cmocka_unit_test(priority_tags),
		cmocka_unit_test(not_tcp),
		cmocka_unit_test(extensions),
		cmocka_unit_test(ipv4_fragments),
		cmocka_unit_test(ipv6_fragments),
		cmocka_unit_test(ipv6_fragmented_extensions),
		cmocka_unit_test(no_length),
		cmocka_unit_test(super_packets),
		cmocka_unit_test(malformed),
		cmocka_unit_test(padding),
		cmocka_unit_test(flags),
		cmocka_unit_test(syn_options),
		cmocka_unit_test(option_table),
		cmocka_unit_test(own_option),
		cmocka_unit_test(accurate_ecn),
		cmocka_unit_test(sack_blocks),
		cmocka_unit_test(pulls),
		cmocka_unit_test(truncated),
	};

	return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
