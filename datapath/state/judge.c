// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decides what is done to a half-flow, and why not more: its state and its reason.
 */
#include <linux/moduleparam.h>

#include "base/contract.h"
#include "base/seq.h"
#include "state/judge.h"

static bool repair = true;
module_param(repair, bool, 0644);
MODULE_PARM_DESC(repair, "keep copies, repair and hide losses");

/* Why the handshake is not complete. */
static enum tcon_reason unfinished(const struct tcon_flow *flow)
{
	if (!tcon_flow_sends_early(flow))
		return TCON_REASON_HANDSHAKE;
	return flow->heard_us ? TCON_REASON_UNANSWERED : TCON_REASON_UNSEEN_ACKS;
}

/* Why TCon does not know what the guest and its peer have agreed on, or where they are. */
static enum tcon_reason why_unknown(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	if (tcon_flow_is_middle(flow))
		return tcon_known_reason(flow->known);
	if (flow->saved)
		return TCON_REASON_MOVED;
	if (tcon_flow_lags(flow))
		return TCON_REASON_RESUMING;
	if (!tcon_track_established(t))
		return unfinished(flow);
	if (!tcon_track_scale_is_known(t))
		return TCON_REASON_SCALE;
	return tcon_known_reason(flow->known);
}

/* The reason why the flow is not enforced.  @ops: the CC of its rule. */
static enum tcon_reason obstacle(const struct tcon_flow *flow,
				 const struct tcon_cc_ops *ops)
{
	const struct tcon_track *t = &flow->track;
	enum tcon_reason reason;

	if (!flow->rule)
		return TCON_REASON_NO_RULE;
	if (tcon_rule_observes(flow->rule))
		return TCON_REASON_RULE_NONE;
	/* The peer may not accept the RST.  It must not let waiting packets out. */
	if (flow->closed_us && !tcon_buffer_waits(&flow->buffer))
		return TCON_REASON_CLOSED;
	if (flow->watchdog)
		return TCON_REASON_WATCHDOG;
	if (tcon_track_signed(t))
		return TCON_REASON_MD5_AO;
	if (t->guest.mptcp && t->peer.mptcp)
		return TCON_REASON_MPTCP;
	reason = why_unknown(flow);
	if (reason != TCON_REASON_NONE)
		return reason;
	return ops ? TCON_REASON_NONE : TCON_REASON_CC_GONE;
}

/* Same CC, same parameters: nothing to restart. */
static bool runs_already(const struct tcon_flow *flow,
			 const struct tcon_cc_ops *ops)
{
	const struct tcon_cc *cc = &flow->track.cc;

	return cc->ops == ops && cc->params &&
	       !memcmp(cc->params, flow->rule->params,
		       sizeof(flow->rule->params));
}

/**
 * tcon_judge_may_repair() - does the administrator want losses repaired?
 *
 * Return: whether he does.
 */
bool tcon_judge_may_repair(void)
{
	return READ_ONCE(repair);
}

/* The reason why losses of an enforced flow are not repaired. */
static enum tcon_reason repair_obstacle(struct tcon_flow *flow)
{
	if (flow->bare.reason != TCON_REASON_REORDERING &&
	    !seq_before(flow->track.cc.una, flow->bare.end))
		flow->bare.reason = TCON_REASON_NONE;
	if (!tcon_judge_may_repair())
		return TCON_REASON_REPAIR_OFF;
	return flow->bare.reason;
}

/**
 * tcon_judge_level() - decide whether losses of an enforced flow are repaired
 * @flow: its lock is held, enforced
 */
void tcon_judge_level(struct tcon_flow *flow)
{
	enum tcon_reason reason;

	lockdep_assert_held(&flow->lock);
	reason = repair_obstacle(flow);
	tcon_flow_set_state(flow, reason ? TCON_STATE_ENFORCED : TCON_STATE_REPAIRED, reason);
}

/**
 * tcon_judge_give_up() - leave the data in flight to the guest
 * @flow: its lock is held, enforced
 * @why: the reason that is shown until all of it is acknowledged
 *
 * The guest hears of its losses from the next ACK on.
 */
void tcon_judge_give_up(struct tcon_flow *flow, enum tcon_reason why)
{
	struct tcon_track *t = &flow->track;

	lockdep_assert_held(&flow->lock);
	tcon_sendq_drop_copies(&t->sendq);
	/* Something that waits may be known to need the guest, too: see cut_smaller(). */
	if (!flow->bare.reason || seq_before(flow->bare.end, t->cc.nxt))
		flow->bare.end = t->cc.nxt;
	if (flow->bare.reason != TCON_REASON_REORDERING)
		flow->bare.reason = why;
	tcon_judge_level(flow);
}

/**
 * tcon_judge_missing() - let the guest hear of the loss of some data
 * @flow: its lock is held, enforced
 * @end: sequence number after it
 * @why: %TCON_REASON_GAP: it was lost before TCon, by a policer or a guest that routes, or
 *	comes late; %TCON_REASON_MTU_PROBE: its loss tells the guest that it is too large for
 *	the path (RFC 4821); %TCON_REASON_COPY_MEMORY: nothing of it is kept
 *
 * Until that data is acknowledged the guest sees the peer's ACKs as they are.  Copies of other
 * data stay, and are used after that.
 */
void tcon_judge_missing(struct tcon_flow *flow, u32 end, enum tcon_reason why)
{
	lockdep_assert_held(&flow->lock);
	if (flow->bare.reason == TCON_REASON_REORDERING ||
	    (flow->bare.reason && seq_before(end, flow->bare.end)))
		return;
	flow->bare.end = end;
	flow->bare.reason = why;
	tcon_judge_level(flow);
}

/* Is a rule that asks for a CC not followed? */
static bool is_failure(enum tcon_reason reason)
{
	switch (reason) {
	case TCON_REASON_MID_STREAM:
	case TCON_REASON_WATCHDOG:
	case TCON_REASON_CC_GONE:
	case TCON_REASON_CC_MEMORY:
	case TCON_REASON_UNSEEN_ACKS:
	case TCON_REASON_UNSEEN_DATA:
		return true;
	default:
		return tcon_flow_evades(reason);
	}
}

/* The state of a flow that cannot be enforced.  @ops: the CC of its rule. */
static enum tcon_state fallback(const struct tcon_flow *flow, enum tcon_reason reason,
				const struct tcon_cc_ops *ops)
{
	u8 fallback = flow->rule ? flow->rule->fallback : TCON_RULE_FALLBACK_PASS;

	if (!is_failure(reason))
		return TCON_STATE_OBSERVED;
	if (fallback == TCON_RULE_FALLBACK_AUTO)
		fallback = tcon_flow_evades(reason) || flow->known == TCON_KNOWN_NOT_ACKS ?
			   TCON_RULE_FALLBACK_PACE : TCON_RULE_FALLBACK_PASS;
	if (fallback == TCON_RULE_FALLBACK_DROP)
		return TCON_STATE_DROPPED;
	if (fallback == TCON_RULE_FALLBACK_PACE && ops && !flow->watchdog &&
	    reason != TCON_REASON_CC_MEMORY)
		return TCON_STATE_PACED;
	return TCON_STATE_OBSERVED;
}

/* No CC runs any more. */
static void fall(struct tcon_flow *flow, enum tcon_state state, enum tcon_reason reason)
{
	bool ran = tcon_flow_runs_cc(flow);

	tcon_flow_set_state(flow, state, reason);
	if (!ran)
		return;
	tcon_ca_stop(&flow->track);
	tcon_sendq_drop_copies(&flow->track.sendq);
	tcon_flow_kick(flow);
}

/* The CC runs, but nothing is written or repaired. */
static void pace(struct tcon_flow *flow, enum tcon_reason reason, u64 now_us)
{
	if (tcon_flow_enforced(flow))
		tcon_sendq_drop_copies(&flow->track.sendq);
	tcon_flow_set_state(flow, TCON_STATE_PACED, reason);
	if (flow->known == TCON_KNOWN_NOT_ACKS)
		tcon_ca_unheard(&flow->track, now_us);
	else
		tcon_ca_heard(&flow->track);
}

/* The data in flight has no copies. */
static void start_bare(struct tcon_flow *flow)
{
	flow->bare.end = flow->track.cc.nxt;
	flow->bare.reason = TCON_REASON_IN_FLIGHT;
}

/* Lets the flow's CC run, if it does not yet.  False without memory. */
static bool run_cc(struct tcon_flow *flow, const struct tcon_cc_ops *ops, u64 now_us)
{
	if (runs_already(flow, ops)) {
		flow->track.cc.params = flow->rule->params;
		return true;
	}
	tcon_ca_stop(&flow->track);
	if (!tcon_ca_start(&flow->track, ops, flow->rule->params, now_us))
		return true;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_NO_MEMORY);
	return false;
}

static void enforce(struct tcon_flow *flow)
{
	tcon_ca_heard(&flow->track);
	if (!tcon_flow_enforced(flow))
		start_bare(flow);
	tcon_judge_level(flow);
}

/**
 * tcon_judge() - decide the flow's state and reason
 * @flow: its lock is held
 * @now_us: the time
 *
 * Starts, changes or stops the CC if the decision has changed.
 *
 * Context: RCU read lock held.
 */
void tcon_judge(struct tcon_flow *flow, u64 now_us)
{
	const struct tcon_cc_ops *ops = NULL;
	enum tcon_reason reason;
	enum tcon_state state;

	lockdep_assert_held(&flow->lock);
	tcon_assert_rcu();
	if (flow->rule)
		ops = rcu_dereference(flow->rule->ops);
	flow->track.timer.rto_min_us = flow->rule ? flow->rule->rto_min_us : TCON_RTO_MIN_US;
	reason = obstacle(flow, ops);
	state = reason ? fallback(flow, reason, ops) : TCON_STATE_ENFORCED;
	if (state >= TCON_STATE_PACED && !run_cc(flow, ops, now_us)) {
		reason = TCON_REASON_CC_MEMORY;
		state = fallback(flow, reason, ops);
	}
	if (state >= TCON_STATE_ENFORCED)
		enforce(flow);
	else if (state == TCON_STATE_PACED)
		pace(flow, reason, now_us);
	else
		fall(flow, state, reason);
	if (!tcon_flow_runs_cc(flow))
		return;
	tcon_judge_cc(flow, now_us);
	tcon_flow_kick(flow);
}

/**
 * tcon_judge_distrust() - observe a flow whose CC misbehaves
 * @flow: its lock is held, enforced
 * @now_us: the time
 */
void tcon_judge_distrust(struct tcon_flow *flow, u64 now_us)
{
	lockdep_assert_held(&flow->lock);
	flow->watchdog = true;
	tcon_judge(flow, now_us);
}

/**
 * tcon_judge_rule() - look for the flow's rule again
 * @flow: its lock is held
 * @now_us: the time
 *
 * Context: RCU read lock held.
 */
void tcon_judge_rule(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_rule *rule, *old = flow->rule;

	lockdep_assert_held(&flow->lock);
	tcon_assert_rcu();
	/* Pairs with the smp_store_release() in tcon_ports_changed(). */
	flow->generation = smp_load_acquire(&flow->port->generation);
	rule = tcon_policy_lookup(flow->port, &flow->key, &flow->traits);
	if (rule == old) {
		if (rule)
			tcon_rule_put(rule);
	} else {
		if (rule)
			atomic_inc(&rule->flows);
		flow->rule = rule;
		if (flow->outcome == TCON_OUTCOME_DUE)
			flow->outcome = TCON_OUTCOME_DONE;
		flow->watchdog = false;
		if (old)
			tcon_count(tcon_flow_stats(flow),
				   TCON_COUNTER_RULE_MOVED);
	}
	flow->outcome = max_t(u8, flow->outcome, TCON_OUTCOME_DUE);
	tcon_judge(flow, now_us);
	if (rule != old && old) {	/* until now the CC used its parameters */
		atomic_dec(&old->flows);
		tcon_rule_put(old);
	}
}
