// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets from the peer of a guest, each of a flow that is known.
 */
#include <linux/skbuff.h>
#include <tcon/compat.h>

#include "act/ack.h"
#include "act/hold.h"
#include "act/mark.h"
#include "base/seq.h"
#include "ends/app_limit.h"
#include "ends/begin.h"
#include "ends/close.h"
#include "ends/peer.h"
#include "sender/acked.h"
#include "sender/ca.h"
#include "sender/handshake.h"
#include "sender/saved.h"
#include "state/astray.h"
#include "state/judge.h"
#include "state/move.h"
#include "state/rest.h"

#define SPURIOUS_MANY	32	/* needless repairs, before they count against a path */

/*
 * A guest can acknowledge data that was not sent, or offer an impossible window.  Then each segment
 * of its peer would look like somebody else's.  Does one go on where the peer's last one ended,
 * within a window?
 */
static bool goes_on(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;
	u32 bytes = (u32)flow->said.window << tcon_track_guest_wscale(t);

	if (!seq_after(flow->said.ack, t->peer_nxt) &&
	    flow->said.edge - t->peer_nxt <= TCON_CWND_MAX_BYTES)
		return false;
	return pkt->seq - t->peer_nxt <= max_t(u32, bytes, U16_MAX);
}

/*
 * Would the guest take a segment of the peer's for one of the connection (RFC 9293,
 * 3.10.7.4)?  It honours each window that it has offered (RFC 7323, 2.4).  Anybody who knows
 * addresses and ports can send a segment that the guest throws away.  TCon must neither
 * count its ACK as delivery, nor believe its ECN mark, nor repeat its acknowledgment number in
 * a window update.
 */
static inline bool is_heard(const struct tcon_flow *flow,
			    const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;

	if (unlikely(pkt->flags & TCON_TCP_SYN || tcon_flow_is_middle(flow) ||
		     !tcon_track_established(t) || !tcon_track_scale_is_known(t)))
		return true;
	return (!seq_before(pkt->end_seq, flow->said.ack) &&
		!seq_after(pkt->seq, flow->said.edge)) || goes_on(flow, pkt);
}

/* More repairs were needless than not: TCon cannot repair on this path. */
static bool reorders_too_much(const struct tcon_track *t)
{
	return t->spurious_repairs > SPURIOUS_MANY &&
	       t->spurious_repairs > t->repairs / 2;
}

static void count_ack(const struct tcon_flow *flow, const struct tcon_ack *ack)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	u32 i;

	if (ack->spurious)
		tcon_count(stats, TCON_COUNTER_SPURIOUS_UNDO);
	for (i = 0; i < ack->spurious_repairs; i++)
		tcon_count(stats, TCON_COUNTER_REPAIR_SPURIOUS);
}

/* May something leave that waits?  A duplicate ACK of a peer without SACK makes room, too. */
static bool makes_room(const struct tcon_flow *flow, const struct tcon_ack *ack)
{
	return ack->delivered_any || ack->una_advanced || ack->spurious ||
	       flow->track.cc.inflight_bytes < ack->rs.prior_inflight_bytes;
}

/* Tells the CC and repair what an ACK did. */
static void ack_enforced(struct tcon_flow *flow, const struct tcon_ack *ack,
			 u64 now_us)
{
	count_ack(flow, ack);
	if (unlikely(flow->ecn.agreed) && ack->rs.acked_sacked_bytes)
		tcon_mark_arrived(flow, ack->original);
	trace_tcon_loss(flow, ack->rs.losses_bytes);
	tcon_ca_ack(&flow->track, ack);
	if (trace_tcon_mark_enabled() && ack->rs.is_ece)
		trace_tcon_mark(flow, flow->track.cc.delivered_ce_bytes);
	tcon_judge_cc(flow, now_us);
	if (!tcon_flow_runs_cc(flow))
		return;
	if (!tcon_flow_enforced(flow)) {
		tcon_flow_kick(flow);
		return;
	}
	if (ack->spurious_repairs && reorders_too_much(&flow->track))
		tcon_judge_give_up(flow, TCON_REASON_REORDERING);
	else if (!tcon_flow_repaired(flow))
		tcon_judge_level(flow);
	if (makes_room(flow, ack))
		tcon_flow_kick(flow);
	if (tcon_flow_repaired(flow) && flow->track.cc.una != flow->track.cc.nxt)
		tcon_hold_appoint(flow, 0);
}

/*
 * The peer acknowledges data that TCon still holds.  Either that data came to it by another way,
 * or the ACK is false.  In both cases it acknowledges all that has left.
 */
static void ack_of_held(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_ack ack tcon_uninitialized;
	struct tcon_packet left = *pkt;

	left.ack = flow->track.cc.nxt;
	tcon_acked(&flow->track, &left, now_us, &ack);
	if (ack.valid && tcon_flow_runs_cc(flow))
		ack_enforced(flow, &ack, now_us);
}

/* Takes an ACK in.  Returns whether it was valid. */
static bool ack_to_guest(struct tcon_flow *flow, const struct tcon_packet *pkt,
			 u64 now_us)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	struct tcon_ack ack tcon_uninitialized;

	tcon_app_limit_ack(flow, now_us);
	tcon_acked(&flow->track, pkt, now_us, &ack);
	if (!ack.valid) {
		tcon_count(stats, TCON_COUNTER_BAD_ACK);
		if (!seq_after(pkt->ack, flow->track.nxt_guest)) {
			if (seq_after(pkt->ack, flow->track.cc.nxt))
				ack_of_held(flow, pkt, now_us);
			return false;
		}
		if (now_us < flow->rest.believe_us) {
			tcon_handshake_resync(&flow->track, pkt->ack, now_us);
			return false;
		}
		flow->unseen = true;
		flow->unseen_ack = pkt->ack;
		tcon_astray_unseen(flow, now_us);
		return false;
	}
	if (unlikely(flow->known) && ack.una_advanced)
		tcon_astray_advanced(flow, now_us);
	tcon_count(stats, TCON_COUNTER_ACK_IN);
	if (ack.sack_overflow)
		tcon_count(stats, TCON_COUNTER_SACK_OVERFLOW);
	tcon_begin_note(flow, now_us);
	if (tcon_flow_runs_cc(flow))
		ack_enforced(flow, &ack, now_us);
	else
		tcon_acked_observed(&flow->track, flow->window.peer_bytes, now_us);
	return true;
}

/* As judge_ack(): a valid one, where the flow is enforced. */
static struct tcon_shown judge_enforced(struct tcon_flow *flow, const struct sk_buff *skb,
					const struct tcon_packet *pkt, u64 now_us,
					struct sk_buff **extra)
{
	struct tcon_shown shown;

	tcon_ack_remember(flow, skb, pkt);
	shown = tcon_ack_enforce(flow, skb, pkt, now_us);
	if (shown.field == TCON_ACK_HIDDEN)	/* but the window may have grown */
		*extra = tcon_ack_update(flow, now_us);
	else if (unlikely(tcon_flow_owes_needless(flow)) && tcon_flow_repaired(flow))
		*extra = tcon_ack_needless(flow, pkt);
	return shown;
}

/*
 * What does the guest see of an ACK?  One that has to be sent before goes to @extra.
 */
static struct tcon_shown judge_ack(struct tcon_flow *flow, const struct sk_buff *skb,
				   const struct tcon_packet *pkt, bool heard, u64 now_us,
				   struct sk_buff **extra)
{
	struct tcon_track *t = &flow->track;
	bool syn = pkt->flags & TCON_TCP_SYN, valid;

	valid = heard && ack_to_guest(flow, pkt, now_us);
	/* Only a valid ACK counts: anybody could send another. */
	if (valid && seq_after(pkt->end_seq, t->peer_nxt))
		t->peer_nxt = pkt->end_seq;
	if (!syn && tcon_flow_enforced(flow)) {
		if (valid)
			return judge_enforced(flow, skb, pkt, now_us, extra);
		if (!seq_after(pkt->ack, t->nxt_guest))
			return tcon_ack_late(flow, pkt, heard, now_us);
	} else if (valid && !tcon_flow_enforced(flow) &&
		   (syn || tcon_track_established(t))) {
		tcon_window_observe(&flow->window, pkt->ack, pkt->window,
				    syn ? 0 : tcon_track_peer_wscale(t),
				    now_us);
		flow->thin.told_ack = pkt->ack;
	}
	return (struct tcon_shown){ .field = TCON_ACK_AS_IT_IS };
}

/* The peer sends where packets pass unseen. */
static void peer_unseen(struct tcon_flow *flow, struct sk_buff *skb,
			struct tcon_packet *pkt, u64 now_us)
{
	if (flow->saved)
		tcon_move_unseen(flow, now_us);
	tcon_rest_heard(flow, pkt);
	if (tcon_ecn_is_marked(pkt) && !flow->ecn.answered) {
		tcon_mark_to_guest(flow, skb, pkt, true);
		tcon_rest_attend(flow);
	}
	tcon_close_unseen(flow, pkt, false, now_us);
}

/* Takes note that a packet comes.  Returns whether the guest will look at it. */
static bool note_heard(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	bool heard = is_heard(flow, pkt);

	if (unlikely(flow->saved) && !(pkt->flags & TCON_TCP_SYN))
		tcon_saved_heard(flow->saved, pkt);
	if (unlikely(!heard))
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_OUT_OF_WINDOW);
	else if (likely(pkt->flags & TCON_TCP_ACK))
		flow->heard_us = now_us;
	return heard;
}

/* Applies a packet to the connection.  Returns what the guest sees of it, as judge_ack(). */
static struct tcon_shown judge(struct tcon_flow *flow, const struct sk_buff *skb,
			       const struct tcon_packet *pkt, bool heard, u64 now_us,
			       struct sk_buff **extra)
{
	struct tcon_track *t = &flow->track;
	bool syn = pkt->flags & TCON_TCP_SYN;
	struct tcon_shown shown = { .field = TCON_ACK_AS_IT_IS };

	if (syn)
		tcon_begin_peer_syn(flow, pkt, now_us);
	if (pkt->flags & TCON_TCP_FIN && heard)
		t->fin_peer = true;
	if (t->synced && pkt->flags & TCON_TCP_ACK &&
	    !(pkt->flags & TCON_TCP_RST))
		shown = judge_ack(flow, skb, pkt, heard, now_us, extra);
	if (syn)
		tcon_begin_unseen(flow);
	return shown;
}

/**
 * tcon_peer_sends() - a packet comes from the peer
 * @flow: its lock is held
 * @skb: the packet
 * @pkt: the same, parsed
 * @now_us: the time
 * @extra: what has to go to the guest before it, for tcon_ack_send()
 *
 * Context: bottom halves disabled, RCU read lock held.
 * Return: whether it may pass; the caller frees it if not.
 */
bool tcon_peer_sends(struct tcon_flow *flow, struct sk_buff *skb, struct tcon_packet *pkt,
		     u64 now_us, struct sk_buff **extra)
{
	struct tcon_track *t = &flow->track;
	bool syn = pkt->flags & TCON_TCP_SYN, heard;
	struct tcon_shown shown;

	WRITE_ONCE(flow->seen_us, now_us);	/* least_used() looks without the lock */
	if (unlikely(!t->synced) && !syn && !t->guest.syn_seen && !t->peer.syn_seen &&
	    !flow->saved)
		tcon_begin_mid_stream(flow, now_us);	/* see may_create() */
	tcon_judge_mark(flow, skb->mark, now_us);
	tcon_judge_refresh(flow, now_us);
	if (unlikely(flow->syn) && tcon_mark_retries(flow, pkt))
		return false;
	if (unlikely(tcon_rest_is_unseen(flow)) && !syn) {
		peer_unseen(flow, skb, pkt, now_us);
		return true;
	}
	heard = note_heard(flow, pkt, now_us);
	if (unlikely(tcon_mark_concerns(flow, pkt))) {
		tcon_mark_to_guest(flow, skb, pkt, heard);
		tcon_rest_attend(flow);
	}
	tcon_mark_forget_ece(flow, pkt);
	shown = judge(flow, skb, pkt, heard, now_us, extra);
	if (shown.field >= 0)
		tcon_ack_write(flow, skb, pkt, shown);
	if (shown.field != TCON_ACK_HIDDEN && heard && pkt->has_ts)
		tcon_answer_given(&flow->answer, pkt->tsval, now_us);
	tcon_close_note(flow, pkt, false, now_us);
	return shown.field != TCON_ACK_HIDDEN;
}
