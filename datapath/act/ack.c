// SPDX-License-Identifier: GPL-2.0-only
/*
 * ACKs as the guest hears them: windows in the peer's ACKs, and window updates.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/tcp.h>

#include "act/ack.h"
#include "base/contract.h"
#include "base/seq.h"
#include "state/flow.h"
#include "wire/segment.h"

/* Round trips after which a guest's start is over. */
#define START_ROUNDS		32
/* A flow that is not paced is clocked by ACKs.  It gets all ACKs up to this many segments in
 * flight, so that a short request does not wait.  It also gets all ACKs after its own start:
 * after a hidden ACK the guest would send a burst that a short queue cannot take.
 */
#define UNPACED_SEGS		40

#define TS_OPTION_BYTES		(2 + 10)	/* two NOPs before it */
#define DSACK_OPTION_BYTES	(2 + 10)	/* so here */

/*
 * Bytes that a guest needs beyond cwnd.  In a recovery it gathers data, so that some is at hand for
 * each ACK, and a guest that has waited does not send a burst.
 */
static u32 ahead_bytes(struct tcon_flow *flow)
{
	u32 bytes = tcon_answer_bytes(&flow->answer, &flow->track.cc);
	u32 gathers = tcon_flow_gathers_bytes(flow);

	flow->clock.gathers_segs = min_t(u32, DIV_ROUND_UP(gathers, flow->track.cc.mss_bytes),
					 U16_MAX);
	return min(bytes + gathers, tcon_buffer_flow_max() / 8);
}

static u32 wanted_edge(struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;
	const struct tcon_cc *cc = &t->cc;
	u32 edge;

	edge = tcon_window_wanted(cc, t->nxt_guest, tcon_track_cwnd_bytes(t),
				  cc->pacing_rate_bps ? tcon_flow_allowance_bytes(flow) : 0);
	return seq_min(edge + ahead_bytes(flow),
		       t->nxt_guest + tcon_buffer_room(&flow->buffer, flow->port));
}

/*
 * Would it tell the guest only that something is missing?  With nothing in flight it may answer a
 * keep-alive, but where each ACK comes several times.
 */
static bool is_bare_duplicate(const struct tcon_flow *flow,
			      const struct tcon_packet *pkt, u32 given_before)
{
	const struct tcon_track *t = &flow->track;

	return tcon_packet_is_pure_ack(pkt) && pkt->window &&
	       pkt->ack == flow->thin.told_ack && !flow->thin.unheard &&
	       (t->cc.una != t->cc.nxt || tcon_track_is_copy(t)) &&
	       flow->window.given_bytes <= given_before;
}

/* The guest can do without it: window updates go on. */
static bool is_superfluous(const struct tcon_flow *flow,
			   const struct tcon_packet *pkt, u64 now_us)
{
	const struct tcon_cc *cc = &flow->track.cc;

	return (cc->pacing_rate_bps ||
		(cc->cwnd_bytes < cc->ssthresh_bytes &&
		 cc->inflight_bytes > UNPACED_SEGS * cc->mss_bytes)) &&
	       now_us - flow->created_us < (u64)START_ROUNDS * cc->srtt_us &&
	       tcon_thin_holds_back(&flow->thin, &flow->track, pkt->ack,
				    now_us);
}

/*
 * Should the guest not get it?  @before: the windows before this ACK.  If the guest opens another
 * connection, this may be a challenge ACK (RFC 5961, 4), which it needs to end the old one.
 */
static bool must_hide(struct tcon_flow *flow, const struct sk_buff *skb,
		      const struct tcon_packet *pkt, const struct tcon_window *before,
		      u64 now_us)
{
	bool bare = is_bare_duplicate(flow, pkt, before->given_bytes);
	bool thin = tcon_packet_is_pure_ack(pkt) && is_superfluous(flow, pkt, now_us);

	if (likely(!bare && !thin) || flow->again.syn_seen)
		return false;
	if (bare) {
		flow->repair.hidden_acks++;
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_ACK_HIDDEN);
		trace_tcon_hide(flow, skb, pkt->ack, before->given_bytes);
		return true;
	}
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_ACK_THINNED);
	trace_tcon_thin(flow, skb, pkt->ack, before->given_bytes);
	return true;
}

/*
 * Must the guest be kept from filling its window with a small part of a segment?  It would
 * send that as a packet, except while another part is in flight (Nagle's algorithm in
 * Minshall's variant).  A queue that marks counts packets.  A CC that knows only losses does
 * better with the bytes.
 */
static bool must_round_down(const struct tcon_flow *flow, u32 ack)
{
	const struct tcon_track *t = &flow->track;

	return t->cc.ops->ecn != TCON_CC_ECN_NONE && flow->said.sends_parts &&
	       !(seq_after(flow->said.part_end, ack) &&
		 !seq_after(flow->said.part_end, t->nxt_guest));
}

/*
 * If an ACK with data is one that the guest can do without, it repeats the number that the guest
 * was told last.
 */
static bool repeats_told(const struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	return pkt->payload_bytes && pkt->window && tcon_flow_repaired(flow) &&
	       !tcon_flow_owes_needless(flow) && is_superfluous(flow, pkt, now_us);
}

/**
 * tcon_ack_enforce() - decide what the guest sees of an ACK
 * @flow: its lock is held, enforced
 * @skb: an ACK on its way to the guest, data at the link-layer header
 * @pkt: the same, parsed and valid; neither SYN nor RST
 * @now_us: the time
 *
 * The guest gets the window that the CC wants.  Under repair it does not see that
 * something is missing: SACK blocks are taken out, and a duplicate ACK passes only
 * as a window update.
 *
 * Context: bottom halves disabled, in the egress hook.
 * Return: for tcon_ack_write().
 */
struct tcon_shown tcon_ack_enforce(struct tcon_flow *flow, const struct sk_buff *skb,
				   const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_shown shown = { .ack = pkt->ack, .field = pkt->window };
	u8 wscale = tcon_track_peer_wscale(&flow->track);
	struct tcon_window before = flow->window;
	u32 wanted = wanted_edge(flow);

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (repeats_told(flow, pkt, now_us)) {
		shown.ack = flow->thin.told_ack;
		shown.field = min_t(u32, pkt->window + ((pkt->ack - shown.ack) >> wscale), U16_MAX);
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_ACK_THINNED);
		trace_tcon_thin(flow, skb, pkt->ack, before.given_bytes);
	}
	if (must_round_down(flow, shown.ack))
		wanted = tcon_window_round_down(wanted, shown.ack, wscale,
						flow->track.cc.mss_bytes);
	shown.field = tcon_window_write(&flow->window, shown.ack, shown.field, wscale, wanted,
					flow->track.cc.mss_bytes, now_us);
	if (tcon_flow_repaired(flow) && must_hide(flow, skb, pkt, &before, now_us)) {
		tcon_window_untold(&flow->window, &before);
		shown.field = TCON_ACK_HIDDEN;
	} else if (shown.ack == pkt->ack) {
		tcon_thin_told(&flow->thin, pkt->ack, now_us);
	}
	return shown;
}

/**
 * tcon_ack_late() - an ACK comes that newer ones have overtaken
 * @flow: its lock is held, enforced
 * @pkt: the ACK, parsed, not valid
 * @heard: the guest will look at it
 * @now_us: the time
 *
 * Its SACK blocks would tell the guest that something is missing.  Its window is the
 * peer's.  A guest that has not been given the newer ACKs would take that window.  So
 * would any guest, if the ACK is for data that it has sent and the pacer holds.
 *
 * Context: bottom halves disabled, in the egress hook.
 * Return: as tcon_ack_enforce().
 */
struct tcon_shown tcon_ack_late(struct tcon_flow *flow, const struct tcon_packet *pkt, bool heard,
				u64 now_us)
{
	struct tcon_shown shown = { .ack = pkt->ack };

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	/* Otherwise window updates would repeat an older ACK than the guest's last. */
	if (heard && seq_after(pkt->ack, flow->thin.told_ack))
		tcon_thin_told(&flow->thin, pkt->ack, now_us);
	shown.field = tcon_window_late(&flow->window, pkt->ack, pkt->window,
				       tcon_track_peer_wscale(&flow->track),
				       flow->track.cc.mss_bytes);
	return shown;
}

/**
 * tcon_ack_write() - write into an ACK what the guest may see of it
 * @flow: its lock is held, enforced
 * @skb: the ACK, data at the link-layer header
 * @pkt: the same, parsed
 * @shown: what the guest may see, with a window
 *
 * Context: bottom halves disabled, in the egress hook.
 */
void tcon_ack_write(const struct tcon_flow *flow, struct sk_buff *skb,
		    const struct tcon_packet *pkt, struct tcon_shown shown)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);

	lockdep_assert_held(&flow->lock);
	/* TCon has copies of all that is missing. */
	if (tcon_flow_repaired(flow) && pkt->n_sacks)
		tcon_count(stats, tcon_segment_strip_sack(skb, pkt) ?
				  TCON_COUNTER_SACK_STRIPPED : TCON_COUNTER_WRITE_FAILED);
	if (shown.ack != pkt->ack && !tcon_segment_set_ack(skb, pkt, shown.ack)) {
		tcon_count(stats, TCON_COUNTER_WRITE_FAILED);
	} else if (shown.field == pkt->window) {
		tcon_count(stats, TCON_COUNTER_WINDOW_KEPT);
	} else if (tcon_segment_set_window(skb, pkt, shown.field)) {
		tcon_count(stats, TCON_COUNTER_WINDOW_WRITTEN);
		trace_tcon_window(flow, skb, shown.ack,
				  (u32)shown.field << tcon_track_peer_wscale(&flow->track));
	} else {
		tcon_count(stats, TCON_COUNTER_WRITE_FAILED);
	}
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

	lockdep_assert_held(&flow->lock);
	if (pkt->l4_offset > sizeof(tpl->header)) {
		tpl->bytes = 0;
		return;
	}
	tpl->bytes = pkt->l4_offset;
	tpl->l3_offset = pkt->l3_offset;
	/* Not as @pkt has it, which forgets what is no ECE. */
	tpl->ace = tcon_segment_ace((struct tcphdr *)(skb->data + pkt->l4_offset));
	tpl->vlan_present = skb_vlan_tag_present(skb);
	tpl->vlan_proto = skb->vlan_proto;
	tpl->vlan_tci = skb->vlan_tci;
	memcpy(tpl->header, skb->data, pkt->l4_offset);
}

static __be32 *put_timestamps(__be32 *opt, u32 tsval, u32 tsecr)
{
	*opt++ = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 |
		       TCPOPT_TIMESTAMP << 8 | TCPOLEN_TIMESTAMP);
	*opt++ = htonl(tsval);
	*opt++ = htonl(tsecr);
	return opt;
}

static void put_dsack(__be32 *opt, const struct tcon_range *range)
{
	*opt++ = htonl(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 | TCPOPT_SACK << 8 |
		       (TCPOLEN_SACK_BASE + TCPOLEN_SACK_PERBLOCK));
	*opt++ = htonl(range->start);
	*opt++ = htonl(range->end);
}

static void put_tcp(struct sk_buff *skb, const struct tcon_flow *flow,
		    u32 tcp_bytes, u32 ack, u16 field,
		    const struct tcon_range *dsack)
{
	struct tcphdr *th = skb_put_zero(skb, tcp_bytes);
	const struct tcon_track *t = &flow->track;
	__be32 *opt = (__be32 *)(th + 1);

	th->source = flow->key.pport;
	th->dest = flow->key.gport;
	th->seq = htonl(t->peer_nxt);
	th->ack_seq = htonl(ack);
	th->doff = tcp_bytes / 4;
	th->ack = 1;
	th->window = htons(field);
	/* As a counter it says what it said last (RFC 9768); ECE is kept from the guest. */
	if (flow->ecn.accurate)
		tcon_segment_write_ace(th, flow->template.ace);
	if (t->has_ts)
		opt = put_timestamps(opt, t->peer_tsval, t->peer_tsecr);
	if (dsack)
		put_dsack(opt, dsack);
}

/*
 * An ACK as the peer would send it: with the highest sequence number that the peer
 * has used, and the newest time stamps (PAWS).  It has no SACK block but @dsack.
 */
static struct sk_buff *build(struct tcon_flow *flow, u32 ack, u16 field,
			     const struct tcon_range *dsack)
{
	const struct tcon_template *tpl = &flow->template;
	u32 tcp_bytes = sizeof(struct tcphdr);
	struct sk_buff *skb;

	tcp_bytes += (flow->track.has_ts ? TS_OPTION_BYTES : 0) +
		     (dsack ? DSACK_OPTION_BYTES : 0);
	skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + tpl->bytes + tcp_bytes,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(skb, tpl->header, tpl->bytes);
	put_tcp(skb, flow, tcp_bytes, ack, field, dsack);
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, tpl->l3_offset);
	skb_set_transport_header(skb, tpl->bytes);
	skb->mac_len = tpl->l3_offset;
	/* The peer's last ACK may have had a mark, which the guest has seen. */
	if (flow->key.family == AF_INET) {
		ip_hdr(skb)->tos &= ~INET_ECN_MASK;
		ip_hdr(skb)->id = 0;
		ip_hdr(skb)->frag_off = htons(IP_DF);
	} else {
		ipv6_change_dsfield(ipv6_hdr(skb), (u8)~INET_ECN_MASK, 0);
	}
	tcon_segment_finish(skb, flow->key.family, false);
	/* If tags are in the frame, it is theirs; sock_raw() and taps look at it. */
	skb->protocol = eth_hdr(skb)->h_proto;
	if (tpl->vlan_present)
		__vlan_hwaccel_put_tag(skb, tpl->vlan_proto, tpl->vlan_tci);
	return skb;
}

/**
 * tcon_ack_needless() - tell the guest that its repeat was needless
 * @flow: its lock is held, under repair, with a repeat absorbed
 * @pkt: an ACK that is about to pass
 *
 * The guest repeated its tail, or its timer went off, and TCon absorbed the repeat.
 * At the first ACK that covers the range, the guest would think that it has repaired a
 * loss (RFC 8985, 7.4), unless a DSACK (RFC 2883) says that the peer had it already.
 *
 * Context: bottom halves disabled, in the egress hook.
 * Return: the packet, for tcon_ack_send() before @pkt; NULL.
 */
struct sk_buff *tcon_ack_needless(struct tcon_flow *flow,
				  const struct tcon_packet *pkt)
{
	struct tcon_range range = { flow->absorbed.start, flow->absorbed.end };
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	struct sk_buff *skb;
	u8 wscale;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (seq_before(pkt->ack, range.end))
		return NULL;
	tcon_flow_forget_needless(flow);
	if (!flow->template.bytes || !tcon_track_sack(&flow->track))
		return NULL;
	wscale = tcon_track_peer_wscale(&flow->track);
	skb = build(flow, pkt->ack, flow->window.given_bytes >> wscale, &range);
	tcon_count(stats, skb ? TCON_COUNTER_DSACK_SENT :
				TCON_COUNTER_UPDATE_FAILED);
	return skb;
}

/* Makes an ACK with the window that the guest was given by it. */
static struct sk_buff *make_update(struct tcon_flow *flow, u32 ack, u16 field)
{
	struct sk_buff *skb = build(flow, ack, field, NULL);

	if (skb)
		trace_tcon_window(flow, skb, ack, flow->window.given_bytes);
	tcon_count(tcon_flow_stats(flow), skb ? TCON_COUNTER_UPDATE_SENT :
						TCON_COUNTER_UPDATE_FAILED);
	return skb;
}

/**
 * tcon_ack_owed() - tell the guest of ACKs that it was not given
 * @flow: its lock is held, enforced, with what these were for repeated
 * @now_us: the time
 *
 * More ACKs were to follow the ones that TCon kept back, but the guest's timer has gone off before
 * any did.  The ACK echoes the original, so the guest learns that the time-out was needless
 * (RFC 3522).
 *
 * Context: bottom halves disabled.
 * Return: the packet, for tcon_ack_send() without the lock; NULL.
 */
struct sk_buff *tcon_ack_owed(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_track *t = &flow->track;
	u16 field;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (!flow->template.bytes || !tcon_flow_enforced(flow))
		return NULL;
	field = tcon_window_write(&flow->window, t->cc.una, t->peer_window,
				  tcon_track_peer_wscale(t), wanted_edge(flow), t->cc.mss_bytes,
				  now_us);
	tcon_thin_told(&flow->thin, t->cc.una, now_us);
	return make_update(flow, t->cc.una, field);
}

/**
 * tcon_ack_try_update() - as tcon_ack_update(), where the guest is at its edge
 * @flow: its lock is held, enforced
 * @now_us: the time
 *
 * Context: bottom halves disabled.
 * Return: the packet, for tcon_ack_send() without the lock; NULL.
 */
struct sk_buff *tcon_ack_try_update(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_track *t = &flow->track;
	u16 field;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (!flow->template.bytes)
		return NULL;
	field = tcon_window_update(&flow->window, flow->thin.told_ack,
				   tcon_track_peer_wscale(t), wanted_edge(flow),
				   t->nxt_guest, t->cc.mss_bytes,
				   flow->clock.burst_bytes, now_us);
	if (!field)
		return NULL;
	flow->limits.acked_us = now_us;
	return make_update(flow, flow->thin.told_ack, field);
}

/**
 * tcon_ack_send() - send an ACK that TCon made to the guest
 * @flow: its lock is not held
 * @skb: from tcon_ack_update() or tcon_ack_needless(); consumed
 *
 * Context: bottom halves disabled, RCU read lock held.  Also in the hooks: the
 * packet that is being sent in the egress hook leaves right behind.
 */
void tcon_ack_send(struct tcon_flow *flow, struct sk_buff *skb)
{
	lockdep_assert_not_held(&flow->lock);
	lockdep_assert_in_softirq();
	tcon_assert_rcu();

	if (READ_ONCE(flow->port->dead))
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
	else
		flow->port->attach->send(flow->port, skb);
}
