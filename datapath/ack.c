// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the guest hears: windows in the peer's ACKs, and window updates.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#include "ack.h"
#include "flow.h"
#include "hold.h"
#include "seq.h"

#define TS_OPTION_BYTES	(2 + 10)	/* two NOPs before it */

static u32 wanted_edge(const struct tcon_flow *flow)
{
	const struct tcon_cc *cc = &flow->track.cc;

	return tcon_window_wanted(cc, cc->pacing_rate_bps ?
					      tcon_hold_allowance(flow) : 0);
}

/* Write a window field.  The caller has judged that it is lower. */
static bool write_window(struct sk_buff *skb, const struct tcon_packet *pkt,
			 u16 field)
{
	struct tcphdr *th;
	__be16 old;

	if (skb_ensure_writable(skb, pkt->l4_offset + sizeof(*th)))
		return false;
	th = (struct tcphdr *)(skb->data + pkt->l4_offset);
	old = th->window;
	th->window = htons(field);
	inet_proto_csum_replace2(&th->check, skb, old, th->window, false);
	return true;
}

/**
 * tcon_ack_enforce() - give the guest the window that the CC wants
 * @flow: its lock is held, enforced
 * @skb: an ACK on its way to the guest, data at the link-layer header
 * @pkt: the same, parsed; neither SYN nor RST
 * @now_us: the time
 *
 * Context: bottom halves disabled, in the egress hook.
 */
void tcon_ack_enforce(struct tcon_flow *flow, struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	u16 field;

	field = tcon_window_write(&flow->window, pkt->ack, pkt->window,
				  tcon_track_peer_wscale(&flow->track),
				  wanted_edge(flow), flow->track.cc.mss_bytes,
				  now_us);
	if (field == pkt->window)
		tcon_count(stats, TCON_COUNTER_WINDOW_KEPT);
	else if (write_window(skb, pkt, field))
		tcon_count(stats, TCON_COUNTER_WINDOW_WRITTEN);
	else
		tcon_count(stats, TCON_COUNTER_WRITE_FAILED);
}

/**
 * tcon_ack_remember() - keep an ACK's headers for those that TCon will make
 * @flow: its lock is held
 * @skb: the ACK, data at the link-layer header
 * @pkt: the same, parsed
 */
void tcon_ack_remember(struct tcon_flow *flow, const struct sk_buff *skb,
		       const struct tcon_packet *pkt)
{
	struct tcon_template *tpl = &flow->template;

	if (pkt->has_ts) {
		flow->track.peer_tsval = pkt->tsval;
		flow->track.peer_tsecr = pkt->tsecr;
	}
	if (pkt->l4_offset > sizeof(tpl->header)) {
		tpl->bytes = 0;
		return;
	}
	tpl->bytes = pkt->l4_offset;
	tpl->l3_offset = pkt->l3_offset;
	tpl->vlan_present = skb_vlan_tag_present(skb);
	tpl->vlan_proto = skb->vlan_proto;
	tpl->vlan_tci = skb->vlan_tci;
	memcpy(tpl->header, skb->data, pkt->l4_offset);
}

/* The network header as the last ACK had it, with our length. */
static void finish_ip(struct sk_buff *skb, struct tcphdr *th, u32 tcp_bytes)
{
	__wsum sum;

	th->check = 0;
	sum = csum_partial(th, tcp_bytes, 0);
	if (skb->protocol == htons(ETH_P_IP)) {
		struct iphdr *ip = ip_hdr(skb);

		ip->tot_len = htons(ip->ihl * 4 + tcp_bytes);
		ip->id = 0;
		ip->frag_off = htons(IP_DF);
		ip_send_check(ip);
		th->check = csum_tcpudp_magic(ip->saddr, ip->daddr, tcp_bytes,
					      IPPROTO_TCP, sum);
	} else {
		struct ipv6hdr *ip6 = ipv6_hdr(skb);

		/* Extension headers, if any, lie before TCP's. */
		ip6->payload_len = htons(skb->len - skb_network_offset(skb) -
					 sizeof(*ip6));
		th->check = csum_ipv6_magic(&ip6->saddr, &ip6->daddr,
					    tcp_bytes, IPPROTO_TCP, sum);
	}
	skb->ip_summed = CHECKSUM_NONE;	/* complete */
}

static void put_timestamps(struct tcphdr *th, u32 tsval, u32 tsecr)
{
	__be32 *opt = (__be32 *)(th + 1);

	opt[0] = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 |
		       TCPOPT_TIMESTAMP << 8 | TCPOLEN_TIMESTAMP);
	opt[1] = htonl(tsval);
	opt[2] = htonl(tsecr);
}

/*
 * An ACK as the peer would send it: the highest sequence number that the peer
 * has used, the time stamps that passed last (PAWS), no SACK.
 */
static struct sk_buff *build(struct tcon_flow *flow, u16 field)
{
	const struct tcon_template *tpl = &flow->template;
	const struct tcon_track *t = &flow->track;
	u32 tcp_bytes = sizeof(struct tcphdr);
	struct tcphdr *th;
	struct sk_buff *skb;

	if (t->has_ts)
		tcp_bytes += TS_OPTION_BYTES;
	skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + tpl->bytes + tcp_bytes,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(skb, tpl->header, tpl->bytes);
	th = skb_put_zero(skb, tcp_bytes);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, tpl->l3_offset);
	skb_set_transport_header(skb, tpl->bytes);
	skb->mac_len = tpl->l3_offset;
	skb->protocol = flow->key.family == AF_INET ? htons(ETH_P_IP) :
						      htons(ETH_P_IPV6);

	th->source = flow->key.pport;
	th->dest = flow->key.gport;
	th->seq = htonl(t->peer_nxt);
	th->ack_seq = htonl(t->cc.una);
	th->doff = tcp_bytes / 4;
	th->ack = 1;
	th->window = htons(field);
	if (t->has_ts)
		put_timestamps(th, t->peer_tsval, t->peer_tsecr);
	finish_ip(skb, th, tcp_bytes);
	if (tpl->l3_offset > ETH_HLEN)	/* tags inside the frame */
		skb->protocol = eth_hdr(skb)->h_proto;
	if (tpl->vlan_present)
		__vlan_hwaccel_put_tag(skb, tpl->vlan_proto, tpl->vlan_tci);
	return skb;
}

/**
 * tcon_ack_update() - a window update, if one is due
 * @flow: its lock is held
 * @now_us: the time
 *
 * Between two ACKs the pacer may send all that the guest had given it.
 *
 * Context: bottom halves disabled.
 * Return: the packet, for tcon_ack_send() without the lock; NULL.
 */
struct sk_buff *tcon_ack_update(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	struct tcon_track *t = &flow->track;
	struct sk_buff *skb;
	u16 field;

	if (!tcon_flow_enforced(flow) || !flow->template.bytes ||
	    flow->held_bytes > t->cc.mss_bytes)
		return NULL;
	field = tcon_window_update(&flow->window, t->cc.una,
				   tcon_track_peer_wscale(t), wanted_edge(flow),
				   t->nxt_guest, t->cc.mss_bytes, now_us);
	if (!field)
		return NULL;
	skb = build(flow, field);
	tcon_count(stats, skb ? TCON_COUNTER_UPDATE_SENT :
				TCON_COUNTER_UPDATE_FAILED);
	return skb;
}

/**
 * tcon_ack_send() - send an ACK that TCon made to the guest
 * @flow: its lock is not held
 * @skb: from tcon_ack_update(); consumed
 *
 * Context: softirq, RCU read lock held, outside every hook.
 */
void tcon_ack_send(struct tcon_flow *flow, struct sk_buff *skb)
{
	if (READ_ONCE(flow->port->dead))
		kfree_skb(skb);
	else
		ovs_tcon_send(flow->port->vport, skb);
}
