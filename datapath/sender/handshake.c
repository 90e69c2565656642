// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a connection begins: what the SYNs agree on (RFC 9293, RFC 7323), with data on them
 * or without (RFC 7413), and where its beginning, or something since, was not seen.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>

#include "base/seq.h"
#include "sender/ca.h"
#include "sender/ecn.h"
#include "sender/handshake.h"
#include "sender/sent.h"

/**
 * tcon_handshake_note() - what an end says in its SYN
 * @side: the end
 * @pkt: its SYN or SYN-ACK
 */
void tcon_handshake_note(struct tcon_side *side,
			 const struct tcon_packet *pkt)
{
	bool again = side->syn_seen && side->isn == pkt->seq;

	side->ambiguous = again && (side->ambiguous ||
				    side->wscale != pkt->wscale);
	side->acked = again && side->acked;
	side->data_bytes = max(again ? side->data_bytes : 0, pkt->payload_bytes);
	side->syn_seen = true;
	side->isn = pkt->seq;
	side->mss = pkt->mss;
	side->wscale = pkt->wscale;
	side->sack_permitted = pkt->sack_permitted;
	side->signed_options = pkt->signed_options;
	side->mptcp = pkt->mptcp;
	side->has_ts = pkt->has_ts;
	side->ect = pkt->tos & TCON_ECN_MASK;
}

/**
 * tcon_handshake_agree() - what both SYNs together mean
 * @t: the tracker
 *
 * A full segment's payload is what both MSS options allow, less the options that every
 * segment carries.
 */
void tcon_handshake_agree(struct tcon_track *t)
{
	u32 mss = t->peer.mss ? t->peer.mss : TCON_MSS_DEFAULT;

	t->has_ts = t->guest.has_ts && t->peer.has_ts;
	if (t->guest.mss)
		mss = min_t(u32, mss, t->guest.mss);
	if (t->has_ts)
		mss -= min_t(u32, mss, 12);	/* RFC 7323, appendix A */
	tcon_ca_segment(t, max_t(u32, mss, TCON_MSS_MIN));
}

/* A late copy of a SYN changes nothing that both ends have agreed on. */
static bool is_settled(const struct tcon_track *t, const struct tcon_side *side,
		       const struct tcon_packet *pkt)
{
	return tcon_track_established(t) && side->isn == pkt->seq;
}

/**
 * tcon_handshake_guest() - the guest sent a SYN or SYN-ACK
 * @t: the tracker, fresh or with the same connection's earlier SYNs
 * @pkt: the segment
 * @now_us: when it leaves
 */
void tcon_handshake_guest(struct tcon_track *t, const struct tcon_packet *pkt,
			  u64 now_us)
{
	if (!is_settled(t, &t->guest, pkt))
		tcon_handshake_note(&t->guest, pkt);
	if (!t->synced) {
		t->cc.una = pkt->seq;
		t->cc.nxt = pkt->seq;
		t->nxt_guest = pkt->seq + 1;
		t->lost_edge = pkt->seq;
		t->judged_edge = pkt->seq;
		t->filled_edge = pkt->seq;
		t->round_end = pkt->seq + 1;
		t->synced = true;
	}
	if (pkt->flags & TCON_TCP_ACK && tcon_track_answers_peer(t, pkt->ack))
		t->peer.acked = true;
	tcon_handshake_agree(t);
	tcon_sent_segment(t, pkt->seq, pkt->end_seq, pkt->payload_bytes, now_us);
}

/*
 * Data on the SYN that the peer did not take counts as never sent.  It was refused, not lost,
 * and the guest sends it again (RFC 7413, 4.2.2).
 */
static void take_back(struct tcon_track *t, u32 ack)
{
	u32 end = t->cc.nxt;
	struct tcon_resend *r;

	if (t->guest.acked || t->cc.una != t->guest.isn ||
	    end != t->guest.isn + 1 + t->guest.data_bytes ||
	    !tcon_side_answered(&t->guest, ack) || ack == end)
		return;
	tcon_sendq_cut(&t->sendq, ack);
	while ((r = tcon_resent_find(&t->resent, ack, end)))
		tcon_resent_cut(&t->resent, r, ack, end);
	tcon_ranges_remove(&t->lost, ack, end);
	t->lost_edge = seq_min(t->lost_edge, ack);
	t->judged_edge = seq_min(t->judged_edge, ack);
	t->filled_edge = seq_min(t->filled_edge, ack);
	t->cc.nxt = ack;
	t->nxt_guest = ack;
	tcon_track_count_inflight(t);
}

/**
 * tcon_handshake_peer() - the peer sent a SYN or SYN-ACK
 * @t: the tracker
 * @pkt: the segment; a SYN-ACK answers the guest's SYN
 *
 * A SYN-ACK's acknowledgment is for tcon_acked().
 */
void tcon_handshake_peer(struct tcon_track *t, const struct tcon_packet *pkt)
{
	if (is_settled(t, &t->peer, pkt))
		return;
	tcon_handshake_note(&t->peer, pkt);
	t->peer_answers = pkt->flags & TCON_TCP_ACK;
	t->peer_nxt = pkt->seq + 1 + t->peer.data_bytes;
	tcon_handshake_agree(t);
	if (pkt->flags & TCON_TCP_ACK)
		take_back(t, pkt->ack);
}

/**
 * tcon_handshake_adopt() - start in the middle of a connection
 * @t: the tracker, fresh
 * @pkt: a segment of the guest with data
 * @wire_bytes: payload of each segment that it becomes
 * @now_us: when it leaves
 */
void tcon_handshake_adopt(struct tcon_track *t, const struct tcon_packet *pkt,
			  u32 wire_bytes, u64 now_us)
{
	tcon_ca_segment(t, clamp(wire_bytes, t->cc.mss_bytes, TCON_MSS_ADOPTED_MAX));
	t->cc.una = pkt->seq;
	t->cc.nxt = pkt->seq;
	t->nxt_guest = pkt->seq;
	t->lost_edge = pkt->seq;
	t->judged_edge = pkt->seq;
	t->filled_edge = pkt->seq;
	t->round_end = pkt->seq;
	t->has_ts = pkt->has_ts;
	t->guest.sack_permitted = true;	/* a block will show whether it was */
	t->peer.sack_permitted = true;
	t->progress_us = now_us;
	t->synced = true;
	tcon_track_count_inflight(t);
}

/**
 * tcon_handshake_again() - the peer has answered a SYN that was only noted
 * @t: the tracker, fresh
 * @side: what the SYN said
 * @sent_us: when it left
 */
void tcon_handshake_again(struct tcon_track *t, const struct tcon_side *side, u64 sent_us)
{
	struct tcon_packet pkt = {
		.flags = TCON_TCP_SYN,
		.seq = side->isn,
		.end_seq = side->isn + 1 + side->data_bytes,
		.payload_bytes = side->data_bytes,
		.mss = side->mss,
		.wscale = side->wscale,
		.sack_permitted = side->sack_permitted,
		.signed_options = side->signed_options,
		.mptcp = side->mptcp,
		.has_ts = side->has_ts,
	};

	tcon_handshake_guest(t, &pkt, sent_us);
	t->guest.ambiguous = side->ambiguous;
}

/**
 * tcon_handshake_resync() - the peer acknowledges data that was never seen
 * @t: the tracker, synced
 * @ack: acknowledgment number
 * @now_us: the time
 *
 * Packets have passed elsewhere.  Everything up to @ack counts as done.
 */
void tcon_handshake_resync(struct tcon_track *t, u32 ack, u64 now_us)
{
	tcon_track_release(t);
	t->cc.una = ack;
	t->cc.nxt = ack;
	t->nxt_guest = seq_max(t->nxt_guest, ack);
	t->lost_edge = ack;
	t->judged_edge = ack;
	t->filled_edge = ack;
	t->round_end = ack;
	t->unproven_bytes = 0;
	t->dup_acks = 0;
	t->dup_copies = 0;
	t->dup_acks_before = 0;
	t->dup_bytes = 0;
	t->unnoted_bytes = 0;
	t->dup_credit_bytes = 0;
	t->rack.deadline_us = 0;
	t->timer.probe_bytes = 0;
	t->timer.backoff = 0;
	t->timer.tries = 0;
	t->has_tsval_floor = false;
	t->progress_us = now_us;
	tcon_track_count_inflight(t);
}
