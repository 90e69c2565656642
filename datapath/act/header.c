// SPDX-License-Identifier: GPL-2.0-only
/*
 * Headers of packets that leave later than they came: packets that waited, and repairs.
 *
 * A sender writes the header of a segment when the segment leaves.  TCon does the same: the
 * header says what the guest said last, in whatever packet.  If the acknowledgment number is too
 * old, the peer discards the data (RFC 5961, 5.2).  An old window closes one that was opened since
 * (RFC 9293, 3.10.7.4).  And the old way may be dead (wire/way.c).
 *
 * The header keeps the TSval of the original: if the guest's timer has gone off, the echo shows the
 * guest that this was needless (RFC 3522).  But if a repeat of the guest passes with a newer TSval,
 * PAWS (RFC 7323, 5) would discard older ones behind it.  Later packets carry at least that TSval.
 *
 * SACK blocks and AccECN's counters are as old as the packet.  A block below the present
 * acknowledgment number would be a DSACK (RFC 2883), so they are left out.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/tcp.h>
#include <tcon/compat.h>

#include "act/header.h"
#include "act/mark.h"
#include "wire/segment.h"

/* AccECN's options (RFC 9768, 3.2.3). */
#define ACCECN0			172
#define ACCECN1			174

static void write_timestamps(struct tcphdr *th, const struct tcon_flow *flow, u64 now_us)
{
	u8 *opt = tcon_segment_option(th, TCPOPT_TIMESTAMP);
	const struct tcon_track *t = &flow->track;

	if (!opt || opt[1] != TCPOLEN_TIMESTAMP)
		return;
	if (unlikely(tcon_track_has_floor(t, now_us)) &&
	    seq_after(t->tsval_floor, get_unaligned_be32(opt + 2)))
		put_unaligned_be32(t->tsval_floor, opt + 2);
	put_unaligned_be32(flow->said.tsecr, opt + 6);
}

/* Overwrites with NOPs the options that reported what the guest had received. */
static void drop_reports(struct tcphdr *th)
{
	static const u8 kinds[] = { TCPOPT_SACK, ACCECN0, ACCECN1 };
	unsigned int i;
	u8 *opt;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		while ((opt = tcon_segment_option(th, kinds[i])))
			memset(opt, TCPOPT_NOP, opt[1]);
}

/*
 * All of the header but which bytes follow it.  @cwr: TCON_ACE_CWR if it says so already.  The
 * meaning of ECN's flags is known only where the handshake is.
 */
static void write_tcp(const struct tcon_flow *flow, struct sk_buff *skb, u8 cwr, u64 now_us)
{
	const struct tcon_segment *seg = tcon_segment(skb);
	struct tcphdr *th = (struct tcphdr *)(skb->data + seg->l4_offset);
	u8 ace = tcon_ecn_ace_of_repeat(&flow->ecn, flow->said.ace);
	u32 words = (seg->payload_offset - seg->l4_offset) / 4;
	__be32 old[TCON_SEGMENT_TCP_WORDS];

	memcpy(old, th, words * sizeof(*old));
	th->ack_seq = htonl(flow->said.ack);
	th->window = htons(flow->said.window);
	if (likely(tcon_flow_enforced(flow)))
		tcon_segment_write_ace(th, flow->ecn.accurate ? ace : ace | cwr);
	drop_reports(th);
	write_timestamps(th, flow, now_us);
	tcon_segment_sum_header(skb, th, old, words);
}

static u8 ecn_of(const struct sk_buff *skb)
{
	const void *l3 = skb->data + tcon_segment(skb)->l3_offset;
	const struct iphdr *ip = l3;

	return (ip->version == 4 ? ip->tos : ipv6_get_dsfield(l3)) & INET_ECN_MASK;
}

/**
 * tcon_header_refresh() - write what the guest says now into a packet that has waited
 * @flow: its lock is held
 * @skb: the packet, with its &struct tcon_segment
 * @now_us: the time
 *
 * Without memory it leaves with the header that it has.  The same holds if it is newer: the guest's
 * packets may have overtaken each other on their way here.
 *
 * Context: bottom halves disabled.
 */
void tcon_header_refresh(struct tcon_flow *flow, struct sk_buff *skb, u64 now_us)
{
	struct tcon_segment *seg = tcon_segment(skb);
	const struct tcphdr *th;
	u8 ecn;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (seg->fixed || (seg->serial == flow->said.serial && !flow->ecn.fell_back))
		return;
	ecn = tcon_mark_of_held(flow, ecn_of(skb));
	if (!tcon_way_write(skb, &flow->said.way, ecn)) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_WRITE_FAILED);
		return;
	}
	if (seg->serial == flow->said.serial)
		return;
	th = (const struct tcphdr *)(skb->data + seg->l4_offset);
	if (unlikely(seq_after(ntohl(th->ack_seq), flow->said.ack)))
		return;
	write_tcp(flow, skb, tcon_segment_ace(th) & TCON_ACE_CWR, now_us);
	seg->serial = flow->said.serial;
}

/**
 * tcon_header_repeat() - write the header of a repair
 * @flow: its lock is held
 * @skb: the repair, with its &struct tcon_segment, and with the header of the original
 * @now_us: the time
 *
 * A repair should not be ECN-capable (RFC 3168, 6.1.5), but a CC may want it so.
 *
 * Context: bottom halves disabled.
 * Return: false without memory.
 */
bool tcon_header_repeat(const struct tcon_flow *flow, struct sk_buff *skb, u64 now_us)
{
	u8 ecn = tcon_ecn_of_repeat(&flow->ecn, tcon_mark_running(flow));

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (!tcon_way_write(skb, &flow->said.way, ecn))
		return false;
	write_tcp(flow, skb, 0, now_us);
	return true;
}
