// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of the parser (datapath/wire/packet.c).
 *
 * Any frame must give the same whichever part of it is linear as when all of it
 * is: step by step, as the parser asks for more.  The bytes that it may read lie
 * in memory of just that length, so that ASan sees every byte too many.
 *
 * An input is: kind of frame, linear bytes (2; the first bit: a super-packet), number of
 * bytes of TCP options, those, and then pairs of offset and value to be written into the
 * frame.  With kind 0 the frame is the rest of the input as it stands.
 */
#include "datapath/wire/packet.c"

#include "datapath/wire/plain.h"
#include "tests/unit/frame.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void build(struct frame *f, u8 kind, const u8 *options, u32 bytes)
{
	frame_ethernet(f, kind / 2 % 3, kind % 2 ? ETH_P_IP : ETH_P_IPV6);
	if (kind % 2) {
		frame_ipv4(f, kind / 8 % 4 * 4);
	} else {
		frame_ipv6(f, kind & 8 ? EXT_HOP_BY_HOP : IPPROTO_TCP);
		if (kind & 8) {
			frame_extension(f, EXT_ROUTING, 0);
			frame_extension(f, EXT_DESTINATION, 2);
			frame_extension(f, IPPROTO_TCP, 1);
		}
	}
	frame_tcp(f, kind & 16 ? TCON_TCP_SYN : TCON_TCP_ACK, options, bytes);
	frame_put(f, kind & 32 ? 100 : 0);
	frame_finish(f);
	frame_put(f, kind & 64 ? 6 : 0);
}

/* A packet that is taken for the middle of a connection without the parser is nothing else. */
static void check_plain(const struct tcon_packet *pkt, enum tcon_parse parsed)
{
	WARN_ON(parsed == TCON_PARSE_LATER);
	WARN_ON(parsed == TCON_PARSE_OK &&
		(tcon_packet_is_end(pkt) || pkt->fragment || (pkt->tos & 3) == 3));
}

static enum tcon_parse parse_linear(struct tcon_packet *pkt,
				    const struct frame *f, u32 linear, bool super)
{
	u8 *copy = malloc(linear ? linear : 1);
	enum tcon_parse ret;

	WARN_ON(!copy);
	memcpy(copy, f->data, linear);
	memset(pkt, 0, sizeof(*pkt));
	ret = tcon_packet_parse(pkt, copy, linear, f->bytes, super);
	if (tcon_is_plain(copy, linear))
		check_plain(pkt, ret);
	free(copy);
	return ret;
}

static void check_ok(const struct tcon_packet *pkt, u32 frame_bytes, bool super)
{
	WARN_ON(pkt->l3_offset < ETH_HLEN);
	WARN_ON(pkt->l4_offset < pkt->l3_offset + IPV4_MIN_BYTES);
	WARN_ON(pkt->payload_offset < pkt->l4_offset + TCP_MIN_BYTES);
	WARN_ON(pkt->payload_offset + pkt->payload_bytes > frame_bytes);
	WARN_ON(super && pkt->payload_offset + pkt->payload_bytes != frame_bytes);
	WARN_ON(pkt->end_seq - pkt->seq < pkt->payload_bytes);
	WARN_ON(pkt->end_seq - pkt->seq > pkt->payload_bytes + 2);
	WARN_ON(pkt->wscale > TCON_WSCALE_MAX && pkt->wscale != TCON_WSCALE_NONE);
	WARN_ON(pkt->n_sacks > TCON_MAX_SACKS);
	WARN_ON(pkt->n_vlans > TCON_MAX_VLANS);
	WARN_ON(pkt->family != AF_INET && pkt->family != AF_INET6);
}

static void check_later(const struct tcon_packet *pkt, u32 frame_bytes)
{
	WARN_ON(pkt->fragment != TCON_FRAGMENT_LATER || !pkt->fragment_bytes);
	WARN_ON(pkt->fragment_bytes % 8);
	WARN_ON(pkt->payload_offset < pkt->l3_offset + IPV4_MIN_BYTES);
	WARN_ON(!pkt->payload_bytes || pkt->payload_offset + pkt->payload_bytes > frame_bytes);
	WARN_ON(pkt->family != AF_INET && pkt->family != AF_INET6);
}

static void check_frame(const struct frame *f, u32 linear, bool super)
{
	struct tcon_packet whole, pkt;
	enum tcon_parse want, ret;

	want = parse_linear(&whole, f, f->bytes, super);
	WARN_ON(want == TCON_PARSE_PULL);
	while ((ret = parse_linear(&pkt, f, linear, super)) == TCON_PARSE_PULL) {
		WARN_ON(pkt.pull_bytes <= linear || pkt.pull_bytes > f->bytes);
		linear = pkt.pull_bytes;
	}
	WARN_ON(ret != want);
	if (ret == TCON_PARSE_SKIP) {
		WARN_ON(pkt.skip != whole.skip);
		WARN_ON(pkt.skip >= __TCON_COUNTER_MAX);
		return;
	}
	if (ret == TCON_PARSE_LATER)
		check_later(&pkt, f->bytes);
	else
		check_ok(&pkt, f->bytes, super);
	WARN_ON(memcmp(&pkt, &whole, sizeof(pkt)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct frame f;
	u32 linear, n_options, at;

	if (size < 4)
		return 0;
	linear = get_unaligned_be16(data + 1);
	if (!data[0]) {
		f.bytes = min_t(u32, size - 3, FRAME_MAX);
		memcpy(f.data, data + 3, f.bytes);
	} else {
		n_options = min_t(u32, data[3] % 41, size - 4);
		build(&f, data[0], data + 4, n_options);
		for (at = 4 + n_options; at + 1 < size; at += 2)
			if (data[at] < f.bytes)
				f.data[data[at]] = data[at + 1];
	}
	check_frame(&f, linear % (f.bytes + 1), data[1] & 0x80);
	return 0;
}
