// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half-flows that move with their guest.
 *
 *	host A				host B
 *	tcon_move_out(): a record --->	tcon_move_in(): observed, "moved"
 *					tcon_move_settle(): the guest's first segment fits:
 *					as after a handshake; or not: "mid-stream"
 *
 * Where a flow's packets pass unseen, on A or on B, there is nothing to compare a segment with.
 * Then the flow is on B as one whose port has rested (rest.c): "resuming".
 *
 * The flow of host A goes on until its port does, because the guest may stay after all.
 */
#include <linux/slab.h>

#include "base/contract.h"
#include "base/seq.h"
#include "state/judge.h"
#include "state/move.h"
#include "state/rest.h"
#include "state/table.h"

/* Do its packets pass unseen, so that its state may be out of date? */
static bool is_unseen(const struct tcon_flow *flow)
{
	return READ_ONCE(flow->port->rests) || tcon_flow_lags(flow);
}

/* Has its handshake been completed, as far as packets that pass unseen let that be known? */
static bool has_begun(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return tcon_track_established(t) ||
	       (is_unseen(flow) && t->guest.syn_seen && t->peer.syn_seen &&
		(t->guest.acked || t->peer.acked));
}

/* Can it go on elsewhere?  Not if it could not be enforced, nor if it is about to end. */
static bool can_move(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return has_begun(flow) && flow->known == TCON_KNOWN_ALL &&
	       !flow->closed_us && !t->fin_guest && tcon_track_scale_is_known(t) &&
	       !tcon_track_signed(t) &&
	       !(t->guest.mptcp && t->peer.mptcp);
}

/**
 * tcon_move_out() - fill the record that a half-flow would take along
 * @flow: its lock is held
 * @record: filled
 *
 * Return: false: the flow cannot go on elsewhere.
 */
bool tcon_move_out(const struct tcon_flow *flow, struct tcon_state_record *record)
{
	const struct tcon_cc_ops *ops = flow->track.cc.ops;
	struct tcon_saved s;

	lockdep_assert_held(&flow->lock);
	if (flow->saved) {	/* the guest moves on before it has sent */
		s = *flow->saved;
		s.unseen |= is_unseen(flow);
		tcon_saved_write(&s, record);
		return true;
	}
	if (!can_move(flow))
		return false;
	tcon_saved_take(&s, &flow->track, &flow->window, &flow->ecn);
	s.key = flow->key;
	s.guest_ack = flow->said.ack;
	s.guest_edge = seq_max(flow->said.edge, flow->said.ack);
	s.wire_bytes = flow->said.wire_bytes;
	s.peer_nxt = seq_max(s.peer_nxt, s.guest_ack);
	s.unseen = is_unseen(flow);
	if (s.unseen) {		/* older numbers, but consistent ones */
		s.guest_ack = s.peer_nxt;
		s.guest_edge = s.peer_nxt;
	}
	if (ops)
		strscpy(s.cc, ops->name, sizeof(s.cc));
	tcon_saved_write(&s, record);
	/* A peer that lies may have led to numbers that no host would take. */
	return !tcon_saved_read(&s, record, sizeof(*record));
}

/**
 * tcon_move_unseen() - use only the state that a flow has brought, until it resumes
 * @flow: its lock is held, with tcon_flow.saved
 * @now_us: the time
 *
 * Its packets have passed unseen since, or will.
 */
void tcon_move_unseen(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_saved *saved = flow->saved;

	lockdep_assert_held(&flow->lock);
	tcon_saved_restore_unseen(saved, now_us, &flow->track);
	flow->said.wire_bytes = saved->wire_bytes;
	flow->wakes = READ_ONCE(flow->port->wakes) - 1;
	flow->rest.heard = false;
	flow->rest.unheard = 0;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_MOVED_IN);
	flow->saved = NULL;
	kfree(saved);
}

/* Puts @saved into a flow that is not dead.  Returns whether the flow had use for it. */
static bool put_in(struct tcon_flow *flow, struct tcon_saved *saved)
{
	const struct tcon_track *t = &flow->track;
	u64 now_us = tcon_us(tcon_now_ns());

	lockdep_assert_held(&flow->lock);
	if (tcon_flow_is_middle(flow) || flow->saved)
		tcon_flow_restart(flow, now_us);
	else if (t->synced || t->guest.syn_seen || t->peer.syn_seen)
		return false;
	flow->saved = saved;
	flow->ecn = saved->ecn;
	tcon_rest_attend(flow);
	if (saved->unseen || READ_ONCE(flow->port->rests))
		tcon_move_unseen(flow, now_us);
	tcon_judge_rule(flow, now_us);
	return true;
}

/**
 * tcon_move_in() - a guest brings a half-flow
 * @port: its port
 * @saved: the half-flow; the flow's from now on, or freed
 *
 * A flow whose handshake was seen here stays as it is.
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: 0, or -ENOSPC: the table has no room.
 */
int tcon_move_in(struct tcon_port *port, struct tcon_saved *saved)
{
	static const struct tcon_traits unknown;
	struct tcon_flow *flow;
	bool used = false;

	lockdep_assert_in_softirq();
	tcon_assert_rcu();
	saved->key.port_id = port->id;
	flow = tcon_table_find(&saved->key);
	if (!flow)
		flow = tcon_table_create(port, &saved->key, &unknown);
	if (!flow) {
		kfree(saved);
		return -ENOSPC;
	}
	spin_lock(&flow->lock);
	if (!flow->dead)
		used = put_in(flow, saved);
	if (used)	/* another host has confirmed it */
		tcon_flow_grown(flow);
	spin_unlock(&flow->lock);
	if (!used)
		kfree(saved);
	return 0;
}

/* Will the CC run that ran on the other host? */
static bool is_same_cc(const struct tcon_flow *flow, const struct tcon_saved *saved)
{
	const struct tcon_cc_ops *ops = NULL;

	if (flow->rule)
		ops = rcu_dereference(flow->rule->ops);
	return ops && !strncmp(ops->name, saved->cc, sizeof(saved->cc));
}

static void restore(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	const struct tcon_saved *saved = flow->saved;

	tcon_saved_restore(saved, pkt, is_same_cc(flow, saved), now_us,
			   &flow->track, &flow->window);
	flow->said.ack = saved->guest_ack;
	flow->said.edge = saved->guest_edge;
	flow->said.wire_bytes = saved->wire_bytes;
	flow->said.data_us = now_us;
	flow->buffer.left_tsval = pkt->has_ts ? pkt->tsval : 0;
	flow->heard_us = now_us;
	flow->thin.told_ack = flow->track.cc.una;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_MOVED_IN);
}

/**
 * tcon_move_settle() - the guest sends, and shows whether it goes on where it was
 * @flow: its lock is held, with tcon_flow.saved
 * @pkt: the guest's segment
 * @now_us: the time
 *
 * If it does not, the flow is like one that begins in the middle.  A SYN begins another connection.
 * Segments that tell nothing (tcon_rest_tells()) decide nothing.  Only a little data passes in such
 * segments, since a peer might take it.
 *
 * Context: RCU read lock held, bottom halves disabled.
 */
void tcon_move_settle(struct tcon_flow *flow, const struct tcon_packet *pkt,
		      u64 now_us)
{
	struct tcon_saved *saved = flow->saved;
	bool tells = tcon_rest_tells(pkt);

	lockdep_assert_held(&flow->lock);
	if (pkt->flags & TCON_TCP_SYN && !(pkt->flags & TCON_TCP_RST)) {
		tcon_flow_restart(flow, now_us);
		return;
	}
	if (!tells && (!pkt->payload_bytes || tcon_rest_is_patient(flow)))
		return;
	if (tells && tcon_saved_goes_on(saved, pkt)) {
		restore(flow, pkt, now_us);
	} else {
		flow->known = tcon_known_after(flow->known, tells ? TCON_KNOWN_MISSED :
					       TCON_KNOWN_EVADED);	/* no honest guest */
		memset(&flow->ecn, 0, sizeof(flow->ecn));
		tcon_rest_attend(flow);
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_MOVED_UNLIKE);
	}
	flow->rest.unheard = 0;
	flow->saved = NULL;
	kfree(saved);
	tcon_judge(flow, now_us);
}
