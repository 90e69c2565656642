// SPDX-License-Identifier: GPL-2.0-only
/*
 * How connections begin: by a handshake, or in the middle.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>

#include "act/absorb.h"
#include "act/excess.h"
#include "base/seq.h"
#include "ends/begin.h"
#include "sender/ca.h"
#include "sender/handshake.h"
#include "state/judge.h"
#include "wire/segment.h"

/**
 * tcon_begin_grown() - the handshake may be complete
 * @flow: its lock is held
 * @now_us: the time
 */
void tcon_begin_grown(struct tcon_flow *flow, u64 now_us)
{
	const struct tcon_track *t = &flow->track;

	/* A guest that only sends data has no connection yet. */
	if (tcon_flow_is_middle(flow) ? !t->acked_bytes : !tcon_track_established(t))
		return;
	tcon_flow_grown(flow);
	tcon_judge(flow, now_us);
}

/*
 * cwnd is counted in the MSS that a guest announces.  No segment is larger than the guest's device
 * takes.  So a guest whose peer is on its side does not gain larger steps with a larger MSS.
 */
static void bound_mss(const struct tcon_port *port, struct tcon_packet *pkt)
{
	u32 ip_bytes = pkt->family == AF_INET ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	u32 header_bytes = ip_bytes + sizeof(struct tcphdr);
	u32 mtu = READ_ONCE(port->dev->mtu), mss = pkt->mss ? : U16_MAX;

	if (mtu > header_bytes)
		pkt->mss = min(mss, mtu - header_bytes);
}

/**
 * tcon_begin_guest_syn() - the guest opens, or answers an opening
 * @flow: its lock is held
 * @pkt: the SYN; its MSS may be lowered
 * @now_us: the time
 */
void tcon_begin_guest_syn(struct tcon_flow *flow, struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;

	bound_mss(flow->port, pkt);
	if (tcon_flow_opens_anew(flow, pkt)) {
		tcon_handshake_note(&flow->again, pkt);
		flow->again_us = now_us;
		return;
	}
	/* A stack may begin each connection with the same number, by design or on purpose. */
	if ((t->synced || tcon_flow_is_middle(flow)) &&
	    (!t->guest.syn_seen || t->guest.isn != pkt->seq || flow->closed_us))
		tcon_flow_restart(flow, now_us);
	if (pkt->flags & TCON_TCP_ACK) {
		flow->said.ack = pkt->ack;
		flow->said.edge = pkt->ack + pkt->window;
	}
	if (pkt->flags & TCON_TCP_ACK &&
	    tcon_side_answered(&flow->pending, pkt->ack)) {
		t->peer = flow->pending;
		t->peer_nxt = flow->pending.isn + 1 + flow->pending.data_bytes;
		flow->pending.syn_seen = false;
	}
	tcon_flow_reopen(flow);		/* a peer's opening that it had reset, unanswered */
	tcon_handshake_guest(t, pkt, now_us);
}

/* Is it an answer to the guest, although the peer's only SYN was an opening without an answer? */
static bool displaces(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;

	return pkt->flags & TCON_TCP_ACK && t->peer.syn_seen && t->peer.isn != pkt->seq &&
	       !t->peer.acked && !t->peer_answers && !t->guest.acked && !tcon_flow_is_middle(flow);
}

/**
 * tcon_begin_peer_syn() - the peer opens, or answers
 * @flow: its lock is held
 * @pkt: the SYN
 * @now_us: the time
 *
 * Anybody could have sent it.  An answer must fit the guest's SYN.  An opening in place of an
 * earlier one counts only when the guest answers it.
 */
void tcon_begin_peer_syn(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;
	bool answer = pkt->flags & TCON_TCP_ACK;

	if (answer && tcon_side_answered(&flow->again, pkt->ack)) {
		tcon_flow_restart(flow, now_us);
		tcon_handshake_again(t, &flow->again, flow->again_us);
	}
	if (answer && (!t->synced || !tcon_side_answered(&t->guest, pkt->ack)))
		return;
	if (unlikely(displaces(flow, pkt))) {
		flow->pending = t->peer;
		t->peer.syn_seen = false;
	}
	if (t->peer.syn_seen ? t->peer.isn == pkt->seq :
	    !tcon_flow_is_middle(flow) && !t->guest.acked)
		tcon_handshake_peer(t, pkt);
	else if (!answer)
		tcon_handshake_note(&flow->pending, pkt);
}

/**
 * tcon_begin_mid_stream() - some packets passed unseen
 * @flow: its lock is held
 * @now_us: the time
 *
 * At a port that TCon has seen for long, the guest made it so.
 */
void tcon_begin_mid_stream(struct tcon_flow *flow, u64 now_us)
{
	bool settled = tcon_port_is_settled(flow->port, now_us);

	flow->known = tcon_known_after(flow->known,
				       settled ? TCON_KNOWN_EVADED : TCON_KNOWN_MISSED);
}

/* The guest's data went another way: TCon's state of it is not reliable any more. */
static void lost_track(struct tcon_flow *flow, u32 ack, u64 now_us)
{
	tcon_handshake_resync(&flow->track, ack, now_us);
	if (tcon_flow_is_middle(flow))
		return;
	tcon_begin_mid_stream(flow, now_us);
	tcon_judge(flow, now_us);
}

/**
 * tcon_begin_adopt() - begin with a segment of the guest with data, in the middle of a connection
 * @flow: its lock is held
 * @skb: the segment
 * @pkt: the same, parsed
 * @now_us: the time
 */
void tcon_begin_adopt(struct tcon_flow *flow, const struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us)
{
	tcon_track_release(&flow->track);
	tcon_begin_mid_stream(flow, now_us);
	tcon_handshake_adopt(&flow->track, pkt, tcon_segment_parsed_bytes(skb, pkt), now_us);
	tcon_absorb_adopted(flow);
	tcon_judge(flow, now_us);
}

/*
 * Does a guest's data belong to the connection that TCon knows?  Before the handshake is complete
 * it follows the SYN within a window that is not scaled.  In an adopted connection without any ACK
 * it may begin before the first segment that was seen.  A segment that the peer will not take must
 * not make such data look like a repeat.
 */
static bool belongs(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;

	if (tcon_flow_is_middle(flow))
		return t->acked_bytes || (!seq_before(pkt->seq, t->cc.una) &&
					  !seq_after(pkt->end_seq,
						     t->cc.una + TCON_CWND_MAX_BYTES));
	return !seq_before(pkt->seq, t->guest.isn) &&
	       !seq_after(pkt->end_seq, t->guest.isn + 1 + t->guest.data_bytes + U16_MAX);
}

/**
 * tcon_begin_check() - data of a flow whose handshake is not complete
 * @flow: its lock is held
 * @skb: the segment
 * @pkt: the same, parsed
 * @now_us: the time
 *
 * Each adopted connection starts with nothing in flight.  To adopt one takes as much time for a
 * byte as for a segment, because it looks at all waiting packets.  So each counts as a segment.
 *
 * Return: whether it may go on.
 */
bool tcon_begin_check(struct tcon_flow *flow, const struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us)
{
	enum tcon_reason reason = flow->reason;
	struct tcon_track *t = &flow->track;

	if (tcon_flow_is_middle(flow))	/* no SYN has told it */
		tcon_ca_segment(t, clamp(tcon_segment_parsed_bytes(skb, pkt), t->cc.mss_bytes,
					 TCON_MSS_ADOPTED_MAX));
	if (belongs(flow, pkt)) {
		if (reason == TCON_REASON_HANDSHAKE && tcon_flow_sends_early(flow))
			tcon_judge(flow, now_us);
		return true;
	}
	if (tcon_excess_repeats(flow, max(pkt->payload_bytes, t->cc.mss_bytes), now_us))
		return false;
	tcon_begin_adopt(flow, skb, pkt, now_us);
	return true;
}

/**
 * tcon_begin_check_unseen() - did the guest send the unseen data that its peer has acknowledged?
 * @flow: its lock is held; flow->unseen is set
 * @pkt: the guest's segment
 * @now_us: the time
 *
 * Anybody can claim that, also a peer that wants more than its share.  It is true if the guest's
 * next data begins behind it.
 */
void tcon_begin_check_unseen(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	u32 nxt = flow->track.nxt_guest;

	if (seq_after(pkt->seq, nxt) && !seq_before(pkt->seq, flow->unseen_ack))
		lost_track(flow, flow->unseen_ack, now_us);
	else if (seq_after(flow->unseen_ack, nxt))
		return;
	flow->unseen = false;
}

/**
 * tcon_begin_unseen() - the third segment of a handshake may pass unseen
 * @flow: its lock is held; a SYN was noted
 *
 * Where a port rests, an answer has to do.
 */
void tcon_begin_unseen(struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	if (READ_ONCE(flow->port->rests) && (t->guest.acked || t->peer.acked))
		tcon_flow_grown(flow);
}
