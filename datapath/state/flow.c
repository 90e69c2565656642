// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of a half-flow: its state, and what it has.
 *
 * Each flow has a spinlock.  Lock order: flow->lock, then port->lock; or flow->lock, then a
 * pacer's.
 */
#include <linux/slab.h>

#include "base/contract.h"
#include "sender/sent.h"
#include "state/flow.h"
#include "wire/segment.h"

#ifndef __CHECKER__	/* for which a bit of type bool takes a byte */
/* Nine to 16 KiB of slab.  Where kernels are debugged, locks take more. */
static_assert(sizeof(spinlock_t) > sizeof(u32) || sizeof(struct tcon_flow) <= 1792);
#endif

/**
 * tcon_flow_remove_embryo() - a flow is confirmed, or ends
 * @flow: its port's lock is held
 */
void tcon_flow_remove_embryo(struct tcon_flow *flow)
{
	struct tcon_port *port = flow->port;

	lockdep_assert_held(&port->lock);
	if (list_empty(&flow->embryo_node))
		return;
	list_del_init(&flow->embryo_node);
	tcon_budget_charge(&port->shares[TCON_SHARE_EMBRYOS], -1);
}

/**
 * tcon_flow_evades() - is it the guest that keeps a flow from being enforced?
 * @reason: why it is not
 *
 * Return: whether it is.
 */
bool tcon_flow_evades(enum tcon_reason reason)
{
	switch (reason) {
	case TCON_REASON_SCALE:
	case TCON_REASON_MD5_AO:
	case TCON_REASON_MPTCP:
	case TCON_REASON_HIDDEN:
	case TCON_REASON_UNANSWERED:
		return true;
	default:
		return false;
	}
}

static void count_evading(struct tcon_port *port, enum tcon_reason before, enum tcon_reason now)
{
	bool evaded = tcon_flow_evades(before), evades = tcon_flow_evades(now);

	if (likely(evaded == evades))
		return;
	if (evades) {
		atomic_inc(&port->evading);
		atomic_long_add(1, &port->evaded);
	} else {
		atomic_dec(&port->evading);
	}
}

/**
 * tcon_flow_set_state() - a flow has another state or reason
 * @flow: its lock is held
 * @state: what is done to it
 * @reason: why not more
 */
void tcon_flow_set_state(struct tcon_flow *flow, enum tcon_state state, enum tcon_reason reason)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	u8 state_before = flow->state, reason_before = flow->reason;

	if (state_before == state && reason_before == reason)
		return;
	if (reason_before != reason) {
		tcon_count_flow(stats, reason_before, -1);
		tcon_count_flow(stats, reason, 1);
		count_evading(flow->port, reason_before, reason);
	}
	if (state_before == TCON_STATE_REPAIRED) {
		tcon_sent_repairs_end(&flow->track);
		tcon_flow_forget_needless(flow);	/* from now on repeats are needed */
	}
	flow->state = state;
	flow->reason = reason;
	trace_tcon_state(flow, state_before, reason_before);
}

static void leave_rule(struct tcon_flow *flow)
{
	if (!flow->rule)
		return;
	atomic_dec(&flow->rule->flows);
	tcon_rule_put(flow->rule);
	flow->rule = NULL;
}

/**
 * tcon_flow_keep_syn() - keep a SYN that may have to be sent again
 * @flow: its lock is held
 * @skb: the SYN, with its &struct tcon_segment; the flow's from now on
 *
 * Its memory counts as part of the flow's records, so the port is charged for it.
 */
void tcon_flow_keep_syn(struct tcon_flow *flow, struct sk_buff *skb)
{
	lockdep_assert_held(&flow->lock);
	consume_skb(tcon_flow_take_syn(flow));
	tcon_segment(skb)->charged_bytes = skb->truesize;
	tcon_budget_charge(&flow->port->shares[TCON_SHARE_RECORDS], skb->truesize);
	flow->syn = skb;
}

/**
 * tcon_flow_take_syn() - the kept SYN is no longer needed
 * @flow: its lock is held
 *
 * Return: the SYN, which is the caller's; NULL: there is none.
 */
struct sk_buff *tcon_flow_take_syn(struct tcon_flow *flow)
{
	struct sk_buff *skb = flow->syn;

	lockdep_assert_held(&flow->lock);
	if (skb)
		tcon_budget_charge(&flow->port->shares[TCON_SHARE_RECORDS],
				   -(long)tcon_segment(skb)->charged_bytes);
	flow->syn = NULL;
	return skb;
}

/**
 * tcon_flow_tell_outcome() - the connection has ended: rules that compare hear of it, once
 * @flow: its lock is held
 */
void tcon_flow_tell_outcome(struct tcon_flow *flow)
{
	struct tcon_outcome_of of;

	if (likely(!READ_ONCE(flow->port->tnet->n_shares)) || flow->outcome == TCON_OUTCOME_DONE)
		return;
	flow->outcome = TCON_OUTCOME_DONE;
	if (tcon_outcome_of(&flow->track, &of))
		tcon_policy_outcome(flow->port, &flow->key, &flow->traits, flow->rule,
				    flow->created_us, &of);
}

/**
 * tcon_flow_put_copy() - give a copy back; a &typedef tcon_put_copy_fn
 * @q: the queue of the half-flow that it belongs to, whose lock is held
 * @copy: the copy
 *
 * Context: bottom halves disabled.
 */
void tcon_flow_put_copy(struct tcon_sendq *q, struct sk_buff *copy)
{
	struct tcon_flow *flow = container_of(q, struct tcon_flow, track.sendq);

	lockdep_assert_held(&flow->lock);
	tcon_buffer_put(&flow->buffer, flow->port, copy);
}

/* Frees what a connection has: packets, appointments, the CC and all records. */
static void let_go(struct tcon_flow *flow)
{
	tcon_pacer_cancel(&flow->due);
	tcon_buffer_purge(&flow->buffer, flow->port, &flow->track.sendq);
	consume_skb(tcon_flow_take_syn(flow));
	kfree(flow->saved);
	flow->saved = NULL;
	tcon_ca_stop(&flow->track);
	tcon_track_release(&flow->track);
}

/**
 * tcon_flow_end() - free all that a flow has
 * @flow: its lock is held; it is in the table no longer
 *
 * The caller frees the flow after a grace period.
 */
void tcon_flow_end(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	flow->dead = true;
	let_go(flow);
	flow->state = TCON_STATE_OBSERVED;	/* a dump may still come by */
	count_evading(flow->port, flow->reason, TCON_REASON_NONE);
	if (flow->rest.attended)
		atomic_dec(&flow->port->attended);
	leave_rule(flow);
}

/**
 * tcon_flow_setup() - a half-flow begins
 * @flow: memory for it
 * @port: the guest's port
 * @key: its key
 * @traits: its traits
 */
void tcon_flow_setup(struct tcon_flow *flow, struct tcon_port *port, const struct tcon_key *key,
		     const struct tcon_traits *traits)
{
	u64 now_us = tcon_us(tcon_now_ns());

	memset(flow, 0, sizeof(*flow));
	flow->key = *key;
	flow->traits = *traits;
	flow->port = port;
	spin_lock_init(&flow->lock);
	tcon_track_init(&flow->track, &port->shares[TCON_SHARE_RECORDS]);
	__skb_queue_head_init(&flow->buffer.unsent);
	timerqueue_init(&flow->due.node);
	INIT_LIST_HEAD(&flow->closed_node);
	INIT_LIST_HEAD(&flow->embryo_node);
	flow->generation = READ_ONCE(port->generation) - 1;
	flow->state = TCON_STATE_OBSERVED;
	flow->reason = TCON_REASON_HANDSHAKE;
	flow->created_us = now_us;
	flow->seen_us = now_us;
	flow->wakes = READ_ONCE(port->wakes);
}

/* Forgets the connection, and what was done to it. */
static void forget(struct tcon_flow *flow)
{
	flow->outcome = min_t(u8, flow->outcome, TCON_OUTCOME_DUE);
	flow->again.syn_seen = false;
	flow->heard_us = 0;
	flow->known = tcon_known_after(flow->known, TCON_KNOWN_BEGINS);
	flow->unseen = false;
	flow->watchdog = false;
	flow->hold.flush = TCON_FLUSH_NONE;
	flow->clock.release_ns = 0;
	flow->clock.burst_bytes = 0;
	flow->buffer.left_tsval = 0;
	if (flow->hold.run)
		flow->hold.run = TCON_RUN_KICKED;	/* the old one may look much later */
	flow->bare.reason = TCON_REASON_NONE;
	flow->said.sends_parts = false;
	flow->said.last_bytes = 0;
	flow->said.wire_bytes = 0;
	tcon_flow_forget_needless(flow);
	memset(&flow->repair, 0, sizeof(flow->repair));
	flow->wakes = READ_ONCE(flow->port->wakes);
	flow->rest.heard = false;
	flow->rest.unheard = 0;
	flow->rest.believe_us = 0;
	memset(&flow->window, 0, sizeof(flow->window));
	memset(&flow->limits, 0, sizeof(flow->limits));
	memset(&flow->answer, 0, sizeof(flow->answer));
	memset(&flow->told, 0, sizeof(flow->told));
}

/**
 * tcon_flow_restart() - start over, for a new connection with the same key
 * @flow: its lock is held
 * @now_us: the time
 */
void tcon_flow_restart(struct tcon_flow *flow, u64 now_us)
{
	lockdep_assert_held(&flow->lock);
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_FLOWS_RESET);
	tcon_flow_tell_outcome(flow);
	let_go(flow);
	tcon_track_init(&flow->track, &flow->port->shares[TCON_SHARE_RECORDS]);
	tcon_flow_set_state(flow, TCON_STATE_OBSERVED, TCON_REASON_HANDSHAKE);
	tcon_flow_reopen(flow);
	forget(flow);
	flow->created_us = now_us;
}

/**
 * tcon_flow_opens_anew() - does a SYN open in place of a live connection?
 * @flow: its lock is held
 * @pkt: a SYN of the guest
 *
 * While the peer has the connection, it does not take such a SYN (RFC 5961, 4), and the connection
 * goes on.  So the SYN counts only when the peer answers it.  An opening that the guest answers
 * is its own decision.
 *
 * Return: the SYN is to be noted, and nothing else.
 */
bool tcon_flow_opens_anew(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;
	bool taken;		/* the peer has taken data, or the handshake's last ACK came */

	lockdep_assert_held(&flow->lock);
	taken = tcon_flow_is_middle(flow) ? t->acked_bytes : tcon_track_established(t);
	return taken && !flow->closed_us && t->guest.isn != pkt->seq &&
	       !(pkt->flags & TCON_TCP_ACK);
}

/**
 * tcon_flow_grown() - take note that the connection is confirmed
 * @flow: its lock is held
 */
void tcon_flow_grown(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	/* If another CPU takes it out just now, tcon_flow_remove_embryo() sees that. */
	if (list_empty(&flow->embryo_node))
		return;
	spin_lock(&flow->port->lock);
	tcon_flow_remove_embryo(flow);
	spin_unlock(&flow->port->lock);
}

/**
 * tcon_flow_close() - the connection has ended
 * @flow: its lock is held, not dead
 * @now_us: the time
 */
void tcon_flow_close(struct tcon_flow *flow, u64 now_us)
{
	lockdep_assert_held(&flow->lock);
	tcon_flow_tell_outcome(flow);
	flow->closed_us = now_us;
	spin_lock(&flow->port->lock);
	list_move_tail(&flow->closed_node, &flow->port->closed_list);
	spin_unlock(&flow->port->lock);
}

/**
 * tcon_flow_reopen() - the connection goes on after all, or another takes its place
 * @flow: its lock is held
 */
void tcon_flow_reopen(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	if (!flow->closed_us)
		return;
	flow->closed_us = 0;
	spin_lock(&flow->port->lock);
	list_del_init(&flow->closed_node);
	spin_unlock(&flow->port->lock);
}

/**
 * tcon_flow_kick() - look at a flow soon, if anything waits
 * @flow: its lock is held
 *
 * Context: bottom halves disabled; also from inside a hook.
 */
void tcon_flow_kick(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	if (flow->dead || !tcon_flow_waits(flow))
		return;
	if (flow->hold.run)
		flow->hold.run = TCON_RUN_KICKED;
	else
		tcon_pacer_at(&flow->due, ktime_get_ns());
}

