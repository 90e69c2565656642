/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCP segments that TCon keeps, edits or makes.
 */
#ifndef _TCON_SEGMENT_H
#define _TCON_SEGMENT_H

#include <linux/skbuff.h>
#include <linux/tcp.h>

#include "wire/packet.h"

/* The most words of a TCP header: its length has four bits. */
#define TCON_SEGMENT_TCP_WORDS	15

/**
 * struct tcon_segment - what a packet that TCon keeps has in skb->cb
 * @seq: first sequence number
 * @start: of what waits: the first one that has not left
 * @end_seq: the sequence number after the last; FIN counts
 * @payload_bytes: length of the payload
 * @charged_bytes: memory that was charged for it
 * @entered_us: low word of the time when it came from the guest
 * @tsval: its TSval, if @has_ts
 * @serial: tcon_flow.said.serial when it came
 * @l3_offset: offset of the IP header from the start of the frame
 * @l4_offset: offset of the TCP header
 * @payload_offset: offset of the payload
 * @fragment: it is a fragment, in which nothing can be written
 * @fixed: its header stays as it is: a fragment, signed, of MPTCP, or with SYN or RST
 * @apart: it takes no room in flight, and counts for tcon_excess_repeats()
 * @probe: the guest sent it to find out whether the path takes larger segments
 * @has_ts: it has a time stamp
 * @has_ack: it acknowledges
 */
struct tcon_segment {
	u32 seq;
	u32 start;
	u32 end_seq;
	u32 payload_bytes;
	u32 charged_bytes;
	u32 entered_us;
	u32 tsval;
	u32 serial;
	u16 l3_offset;
	u16 l4_offset;
	u16 payload_offset;
	bool fragment;
	bool fixed;
	bool apart;
	bool probe;
	bool has_ts;
	bool has_ack;
};

static inline struct tcon_segment *tcon_segment(const struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct tcon_segment) >
		     sizeof_field(struct sk_buff, cb));
	return (struct tcon_segment *)skb->cb;
}

/* Payload of each packet on the wire that @skb stands for. */
static inline u32 tcon_segment_wire_bytes(const struct sk_buff *skb)
{
	return skb_is_gso(skb) ? skb_shinfo(skb)->gso_size :
				 tcon_segment(skb)->payload_bytes;
}

/* Payload of @seg from where it has not left, up to @end. */
static inline u32 tcon_segment_left_bytes(const struct tcon_segment *seg, u32 end)
{
	return end == seg->end_seq ? seg->payload_bytes - (seg->start - seg->seq) :
				     end - seg->start;
}

/* Has a device checked the sum, or is it not filled in yet? */
static inline bool tcon_segment_is_checked(const struct sk_buff *skb)
{
	return skb->ip_summed == CHECKSUM_UNNECESSARY || skb->ip_summed == CHECKSUM_PARTIAL;
}

/*
 * Is it TCP's checksum that is left to the device?  One that is not may be wrong, and a new one
 * would hide that.  A guest may leave any other sum to the device, from any place.  In segments of
 * a super-packet that may be beyond the head, which the kernel does not expect.
 */
static inline bool tcon_segment_sum_is_left(const struct sk_buff *skb)
{
	return skb->ip_summed == CHECKSUM_PARTIAL &&
	       skb_checksum_start_offset(skb) == tcon_segment(skb)->l4_offset &&
	       skb->csum_offset == offsetof(struct tcphdr, check);
}

/* The same of a packet that has just been parsed. */
static inline u32 tcon_segment_parsed_bytes(const struct sk_buff *skb,
					    const struct tcon_packet *pkt)
{
	return skb_is_gso(skb) ? skb_shinfo(skb)->gso_size : pkt->payload_bytes;
}

/*
 * TCP header and payload of each, at most %U16_MAX bytes.  Options take room of the payload, and
 * come and go: SACK blocks, AccECN's counters.  So only both together say what the path takes.
 */
static inline u32 tcon_segment_tcp_bytes(const struct sk_buff *skb, const struct tcon_packet *pkt)
{
	return min_t(u32, pkt->payload_offset - pkt->l4_offset +
			  tcon_segment_parsed_bytes(skb, pkt), U16_MAX);
}

/*
 * Packets in a row are let go in that order, so a page that they share is charged to the last of
 * them.  @before: the one kept before it, or NULL.  @shared_bytes: as tcon_segment_pinned() says.
 * Returns how much less @before is charged.
 */
static inline u32 tcon_segment_take_share(struct sk_buff *before, u32 shared_bytes)
{
	if (!shared_bytes || tcon_segment(before)->charged_bytes <= shared_bytes)
		return 0;
	tcon_segment(before)->charged_bytes -= shared_bytes;
	return shared_bytes;
}

u32 tcon_segment_drop_jumbo(struct sk_buff *skb, u32 l3_offset);
u32 tcon_segment_pinned(const struct sk_buff *skb, const struct sk_buff *before,
			u32 *shared_bytes);
void tcon_segment_finish(struct sk_buff *skb, u8 family, bool left);
bool tcon_segment_intact(const struct sk_buff *skb, u8 family);
bool tcon_segment_sound(const struct sk_buff *skb,
			const struct tcon_packet *pkt);
u8 *tcon_segment_option(struct tcphdr *th, u8 kind);
u8 tcon_segment_ace(const struct tcphdr *th);
void tcon_segment_write_ace(struct tcphdr *th, u8 ace);
void tcon_segment_sum_header(struct sk_buff *skb, struct tcphdr *th, const __be32 *old,
			     u32 words);
bool tcon_segment_make_ack(struct sk_buff *skb, const struct tcon_packet *pkt, u32 seq,
			   u32 tsval, bool accurate);
bool tcon_segment_strip_sack(struct sk_buff *skb,
			     const struct tcon_packet *pkt);
bool tcon_segment_strip_own(struct sk_buff *skb,
			    const struct tcon_packet *pkt);
bool tcon_segment_add_option(struct sk_buff *skb, struct tcon_packet *pkt,
			     const __be32 *option, u32 bytes);
bool tcon_segment_set_flags(struct sk_buff *skb, const struct tcon_packet *pkt,
			    u8 set, u8 clear, bool clear_ae);
bool tcon_segment_set_ecn(struct sk_buff *skb, const struct tcon_packet *pkt,
			  u8 ecn);
bool tcon_segment_set_ack(struct sk_buff *skb, const struct tcon_packet *pkt, u32 ack);
bool tcon_segment_set_window(struct sk_buff *skb,
			     const struct tcon_packet *pkt, u16 field);

#endif /* _TCON_SEGMENT_H */
