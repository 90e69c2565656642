// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECN in packets: what datapath/sender/ecn.c decides is written into them, and counted.
 */
#include <linux/moduleparam.h>
#include <linux/skbuff.h>
#include <net/dst.h>
#include <tcon/compat.h>

#include "act/mark.h"
#include "base/contract.h"
#include "sender/ecn.h"
#include "state/flow.h"
#include "state/nogo.h"
#include "wire/segment.h"

static bool ecn_count = true;
module_param(ecn_count, bool, 0644);
MODULE_PARM_DESC(ecn_count, "count marked bytes for the peer's TCon, by a TCP option");

static unsigned int ecn_avoid_s = 600;
module_param(ecn_avoid_s, uint, 0644);
MODULE_PARM_DESC(ecn_avoid_s, "seconds without ECN towards a network that did not bear it");

/* On which packets a rule and its CC want ECT. */
static enum tcon_cc_ecn asked_by(const struct tcon_rule *rule,
				 const struct tcon_cc_ops *ops)
{
	switch (rule->ecn) {
	case TCON_RULE_ECN_OFF:
		return TCON_CC_ECN_NONE;
	case TCON_RULE_ECN_ON:
		/* What RFC 3168 has: new data. */
		return ops->ecn != TCON_CC_ECN_NONE ? ops->ecn :
						      TCON_CC_ECN_DATA;
	default:
		return ops->ecn;
	}
}

/* How the flow's rule wants ECN handled. */
static enum tcon_ecn_wish wish_of(const struct tcon_flow *flow)
{
	const struct tcon_cc_ops *ops = NULL;

	if (flow->rule)
		ops = rcu_dereference(flow->rule->ops);
	if (!ops || !ops->cwnd_event)	/* it would not hear of a mark */
		return TCON_ECN_LEAVE;
	return asked_by(flow->rule, ops) != TCON_CC_ECN_NONE ? TCON_ECN_ASK :
							       TCON_ECN_HEAR;
}

/* Does a CC run that hears of marks?  If not, the guest must see them. */
static bool is_governed(const struct tcon_flow *flow)
{
	return tcon_flow_enforced(flow) && flow->track.cc.ops->cwnd_event;
}

/**
 * tcon_mark_running() - on which packets the rule, or the CC that runs, wants ECT
 * @flow: its lock is held
 *
 * Return: enum tcon_cc_ecn.
 */
enum tcon_cc_ecn tcon_mark_running(const struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	return is_governed(flow) ?
	       asked_by(flow->rule, flow->track.cc.ops) : TCON_CC_ECN_NONE;
}

/**
 * tcon_mark_mode() - how a flow's CC learns of marks, or why not at all
 * @flow: its lock is held
 *
 * Context: RCU read lock held.
 * Return: for users.
 */
enum tcon_ecn_mode tcon_mark_mode(const struct tcon_flow *flow)
{
	enum tcon_ecn_mode mode;

	lockdep_assert_held(&flow->lock);
	mode = tcon_ecn_mode(&flow->ecn, is_governed(flow), wish_of(flow));
	/* The peer's TCon may have ceased to count. */
	return mode == TCON_ECN_EXACT && flow->track.ce_lapsed ? TCON_ECN_COARSE : mode;
}

/* Is it known that ECN does not work with this peer? */
static bool is_avoided(const struct tcon_flow *flow)
{
	struct tcon_port *port = flow->port;
	bool has;

	if (likely(!READ_ONCE(port->nogo.any)))
		return false;
	spin_lock(&port->lock);
	has = tcon_nogo_has(&port->nogo, &flow->key, flow->seen_us);
	spin_unlock(&port->lock);
	return has;
}

/* A sign that ECN does not work with this peer.  @certain: nothing else explains it. */
static void avoid(struct tcon_flow *flow, bool certain)
{
	u64 until_us = flow->seen_us + (u64)ecn_avoid_s * USEC_PER_SEC;
	struct tcon_port *port = flow->port;

	spin_lock(&port->lock);
	tcon_nogo_add(&port->nogo, &flow->key, certain, flow->seen_us, until_us);
	spin_unlock(&port->lock);
}

/* ECN works with this peer. */
static void trust(struct tcon_flow *flow)
{
	struct tcon_port *port = flow->port;

	if (likely(!READ_ONCE(port->nogo.any)))
		return;
	spin_lock(&port->lock);
	tcon_nogo_remove(&port->nogo, &flow->key);
	spin_unlock(&port->lock);
}

/*
 * Would an edit break a signature?  If the SYNs had none, the connection has none.  A guest
 * may write something like one, to get a forged count past its own TCon.
 */
static bool is_signed(const struct tcon_flow *flow,
		      const struct tcon_packet *pkt)
{
	return pkt->signed_options &&
	       (pkt->flags & TCON_TCP_SYN || tcon_flow_is_middle(flow) ||
		tcon_track_signed(&flow->track));
}

static bool add_option(struct sk_buff *skb, struct tcon_packet *pkt,
		       const struct tcon_ecn_edit *edit)
{
	__be32 option[TCON_OPTION_COUNT_BYTES / 4] = {
		htonl((u32)TCON_OPTION_KIND << 24 | edit->add_bytes << 16 |
		      TCON_OPTION_EXID),
		htonl(edit->ce_bytes),
	};

	return tcon_segment_add_option(skb, pkt, option, edit->add_bytes);
}

/* Write what differs; counted is what has been written. */
static void apply(const struct tcon_flow *flow, struct sk_buff *skb,
		  struct tcon_packet *pkt, const struct tcon_ecn_edit *edit)
{
	u8 set = edit->set & ~pkt->flags, clear = edit->clear & pkt->flags;
	bool ok = true;

	if (edit->strip)
		ok = tcon_segment_strip_own(skb, pkt);
	if (set || clear || edit->clear_ae)
		ok &= tcon_segment_set_flags(skb, pkt, set, clear,
					     edit->clear_ae);
	if (edit->ecn != (pkt->tos & TCON_ECN_MASK))
		ok &= tcon_segment_set_ecn(skb, pkt, edit->ecn);
	if (edit->add_bytes)
		ok &= add_option(skb, pkt, edit);
	if (!ok)
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_ECN_FAILED);
}

static void count_from_guest(struct tcon_stats __percpu *stats,
			     const struct tcon_packet *pkt,
			     const struct tcon_ecn_edit *edit)
{
	u8 set = edit->set & ~pkt->flags;

	if (edit->strip)
		tcon_count(stats, TCON_COUNTER_OPTION_FORGED);
	if (edit->ecn == TCON_ECN_ECT0 &&
	    edit->ecn != (pkt->tos & TCON_ECN_MASK))
		tcon_count(stats, TCON_COUNTER_ECT_SET);
	if (set & TCON_TCP_CWR)
		tcon_count(stats, TCON_COUNTER_CWR_SET);
	if (set & TCON_TCP_ECE)
		tcon_count(stats, TCON_COUNTER_ECE_SET);
	if (edit->add_bytes)
		tcon_count(stats, TCON_COUNTER_COUNT_SENT);
	if (edit->no_room)
		tcon_count(stats, TCON_COUNTER_COUNT_NO_ROOM);
}

/* Keeps a guest's SYN as it is, in case the path drops it because of TCon's changes. */
static void keep_syn(struct tcon_flow *flow, struct sk_buff *skb,
		     const struct tcon_packet *pkt)
{
	struct sk_buff *copy = NULL;

	if (tcon_budget_allows(&flow->port->shares[TCON_SHARE_RECORDS]) &&
	    !skb_orphan_frags_rx(skb, GFP_ATOMIC))
		copy = skb_clone(skb, GFP_ATOMIC | __GFP_NOWARN);
	if (!copy) {
		consume_skb(tcon_flow_take_syn(flow));
		return;
	}
	skb_dst_drop(copy);
	nf_reset_ct(copy);
	*tcon_segment(copy) = (struct tcon_segment) {
		.seq = pkt->seq,
		.start = pkt->seq,
		.end_seq = pkt->end_seq,
		.payload_bytes = pkt->payload_bytes,
		.l3_offset = pkt->l3_offset,
		.l4_offset = pkt->l4_offset,
		.payload_offset = pkt->payload_offset,
		.entered_us = flow->seen_us,
		.fixed = true,
	};
	tcon_flow_keep_syn(flow, copy);
}

/* Counts parts of a guest's SYN that must not reach the peer. */
static void count_cleaned(struct tcon_stats __percpu *stats, const struct tcon_ecn_edit *edit)
{
	if (edit->strip)
		tcon_count(stats, TCON_COUNTER_OPTION_FORGED);
	if (edit->clear_ae)
		tcon_count(stats, TCON_COUNTER_ECN_DOWNGRADED);
}

/* A SYN in place of a live connection, which the peer may not take. */
static void guest_anew(struct tcon_flow *flow, const struct tcon_packet *pkt,
		       struct tcon_ecn_edit *edit)
{
	tcon_ecn_guest_anew(&flow->ecn, pkt, wish_of(flow), edit);
	count_cleaned(tcon_flow_stats(flow), edit);
}

static void guest_syn(struct tcon_flow *flow, const struct tcon_packet *pkt,
		      struct tcon_ecn_edit *edit)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	const struct tcon_track *t = &flow->track;
	bool again = t->guest.syn_seen && t->guest.isn == pkt->seq, avoided;
	enum tcon_ecn_wish wish = wish_of(flow);
	struct tcon_ecn *e = &flow->ecn;

	avoided = wish == TCON_ECN_ASK &&
		  (again ? e->avoided : is_avoided(flow));
	if (avoided)
		wish = TCON_ECN_HEAR;
	if (pkt->flags & TCON_TCP_ACK) {
		if (!again)
			tcon_ecn_restart(e);
		tcon_ecn_guest_answer(e, pkt, wish, ecn_count, edit);
	} else {
		tcon_ecn_guest_syn(e, pkt, wish, again, ecn_count, edit);
		if (again && e->fell_back)
			tcon_count(stats, TCON_COUNTER_ECN_FALLBACK);
	}
	e->avoided = avoided;
	if (avoided && !e->speaks)
		tcon_count(stats, TCON_COUNTER_ECN_AVOIDED);
	if (edit->set)
		tcon_count(stats, pkt->flags & TCON_TCP_ACK ?
				  TCON_COUNTER_ECN_ANSWERED :
				  TCON_COUNTER_ECN_ASKED);
	count_cleaned(stats, edit);
}

/*
 * The guest acknowledges a SYN-ACK that has not passed here: ACKs, and the peer's data, go
 * another way (DSR, asymmetric paths), and TCon cannot keep what it has promised.  It will not
 * promise it again.
 */
static void answered_elsewhere(struct tcon_flow *flow)
{
	consume_skb(tcon_flow_take_syn(flow));
	flow->ecn.fell_back = true;
	avoid(flow, true);
}

/* Somebody has promised for the guest what TCon keeps from now on. */
static void adopt(struct tcon_flow *flow)
{
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_ECN_ADOPTED);
	tcon_flow_grown(flow);
}

/**
 * tcon_mark_from_guest() - ECN of a guest's segment
 * @flow: its lock is held; the tracker does not know the segment yet
 * @skb: the segment, which concerns it; data at the link-layer header
 * @pkt: the same, parsed; follows what is written
 *
 * Context: bottom halves disabled, RCU read lock held; in the ingress hook.
 */
void tcon_mark_from_guest(struct tcon_flow *flow, struct sk_buff *skb,
			  struct tcon_packet *pkt)
{
	bool anew = pkt->flags & TCON_TCP_SYN && tcon_flow_opens_anew(flow, pkt);
	struct tcon_ecn_edit edit = tcon_ecn_no_edit(pkt);
	struct tcon_ecn_sent sent;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	tcon_assert_rcu();
	if (is_signed(flow, pkt)) {
		if (pkt->flags & TCON_TCP_SYN && !anew)
			tcon_ecn_restart(&flow->ecn);
		return;
	}
	if (pkt->flags & TCON_TCP_SYN) {
		if (anew)
			guest_anew(flow, pkt, &edit);
		else
			guest_syn(flow, pkt, &edit);
		if (edit.set && !(pkt->flags & TCON_TCP_ACK))
			keep_syn(flow, skb, pkt);
		apply(flow, skb, pkt, &edit);
		return;
	}
	if (unlikely(flow->syn) &&
	    (pkt->flags & (TCON_TCP_ACK | TCON_TCP_RST)) == TCON_TCP_ACK)
		answered_elsewhere(flow);
	if (unlikely(flow->ecn.watched) && tcon_ecn_adopts(&flow->ecn, pkt))
		adopt(flow);
	sent = (struct tcon_ecn_sent) {
		.governed = is_governed(flow),
		.cc_ecn = tcon_mark_running(flow),
		.nxt_guest = flow->track.nxt_guest,
		.mss_bytes = flow->track.cc.mss_bytes,
		.gso = skb_is_gso(skb),
	};
	tcon_ecn_from_guest(&flow->ecn, pkt, &sent, &edit);
	count_from_guest(tcon_flow_stats(flow), pkt, &edit);
	apply(flow, skb, pkt, &edit);
	pkt->tos = (pkt->tos & ~TCON_ECN_MASK) | edit.ecn;
}

/* The peer answers the guest's SYN, with a SYN-ACK that fits. */
static void peer_answer(struct tcon_flow *flow, const struct tcon_packet *pkt,
			bool opens, struct tcon_ecn_edit *edit)
{
	struct tcon_ecn *e = &flow->ecn;
	bool first = !e->answered;

	tcon_ecn_peer_answer(e, pkt, opens, edit);
	consume_skb(tcon_flow_take_syn(flow));
	/* This SYN is without ECN.  One with ECN was not answered, or was reset. */
	if (first && e->asked && e->fell_back && !e->agreed)
		avoid(flow, e->reset);
}

static void peer_syn(struct tcon_flow *flow, const struct tcon_packet *pkt,
		     struct tcon_ecn_edit *edit)
{
	const struct tcon_track *t = &flow->track;
	bool again = tcon_side_answered(&flow->again, pkt->ack);

	if (!(pkt->flags & TCON_TCP_ACK)) {
		tcon_ecn_peer_syn(&flow->ecn, pkt, wish_of(flow), edit);
		if (edit->clear_ae)
			tcon_count(tcon_flow_stats(flow),
				   TCON_COUNTER_ECN_DOWNGRADED);
	} else if (again || (t->synced && tcon_side_answered(&t->guest, pkt->ack))) {
		if (again)
			tcon_ecn_replace(&flow->ecn);
		peer_answer(flow, pkt, again || !t->guest.acked, edit);
	}
}

/* The path probably drops what is ECN-capable. */
static void falls_back(struct tcon_flow *flow)
{
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_ECN_EATEN);
	avoid(flow, false);
}

static void count_edit(struct tcon_stats __percpu *stats, const struct tcon_packet *pkt,
		       const struct tcon_ecn_edit *edit)
{
	if (edit->clear & pkt->flags & TCON_TCP_ECE)
		tcon_count(stats, TCON_COUNTER_ECE_HIDDEN);
	if (edit->ecn != (pkt->tos & TCON_ECN_MASK) &&
	    (pkt->tos & TCON_ECN_MASK) == TCON_ECN_CE)
		tcon_count(stats, TCON_COUNTER_CE_HIDDEN);
	if (edit->set & ~pkt->flags)
		tcon_count(stats, TCON_COUNTER_PUSH_SET);
}

/**
 * tcon_mark_to_guest() - ECN of a segment to the guest
 * @flow: its lock is held; the tracker does not know the segment yet
 * @skb: the segment, which concerns it; data at the link-layer header
 * @pkt: the same, parsed; a count that was not agreed on is forgotten
 * @heard: the guest will look at it
 *
 * Context: bottom halves disabled, RCU read lock held; in the egress hook.
 */
void tcon_mark_to_guest(struct tcon_flow *flow, struct sk_buff *skb,
			struct tcon_packet *pkt, bool heard)
{
	struct tcon_ecn_edit edit = tcon_ecn_no_edit(pkt);
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	bool syn = pkt->flags & TCON_TCP_SYN;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	tcon_assert_rcu();
	if (is_signed(flow, pkt)) {
		pkt->option_bytes = 0;
		return;
	}
	if (!syn && !flow->ecn.agreed) {
		if (heard && tcon_ecn_is_marked(pkt) && !flow->ecn.answered)
			tcon_ecn_watch(&flow->ecn, pkt);
		if (!pkt->option_bytes)
			return;
	}
	if (syn) {
		peer_syn(flow, pkt, &edit);
	} else {
		if (tcon_ecn_peer_repeats(&flow->ecn, pkt, flow->said.ack,
					  tcon_mark_running(flow)))
			falls_back(flow);
		tcon_ecn_to_guest(&flow->ecn, pkt, heard, is_governed(flow), &edit);
	}
	count_edit(stats, pkt, &edit);
	apply(flow, skb, pkt, &edit);
	if (!flow->ecn.exact || !heard || syn)
		pkt->option_bytes = 0;	/* no count to believe */
	else if (pkt->option_bytes == TCON_OPTION_COUNT_BYTES)
		tcon_count(stats, TCON_COUNTER_COUNT_TAKEN);
}

/**
 * tcon_mark_retries() - does TCon try the guest's SYN without ECN after a RST?
 * @flow: its lock is held
 * @pkt: a RST that is about to pass to the guest
 *
 * The RST may be for what TCon put on the SYN.  If the peer also resets the SYN without that,
 * the guest sees the second RST.
 *
 * Context: bottom halves disabled; in the egress hook.
 * Return: true: the guest's own SYN will leave, and it must not see the RST.
 */
bool tcon_mark_retries(struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	struct sk_buff *syn;

	lockdep_assert_held(&flow->lock);
	/* RFC 9293, 3.10.7.3: a RST that acknowledges no SYN says nothing. */
	if (!(pkt->flags & TCON_TCP_RST) || !(pkt->flags & TCON_TCP_ACK) ||
	    !tcon_side_answered(&flow->track.guest, pkt->ack))
		return false;
	syn = tcon_flow_take_syn(flow);
	if (!syn)
		return false;
	flow->ecn.fell_back = true;
	flow->ecn.reset = true;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_ECN_RESET);
	tcon_buffer_add(&flow->buffer, flow->port, &flow->track.sendq, syn);
	flow->hold.flush = TCON_FLUSH_ALL;
	tcon_flow_kick(flow);
	return true;
}

/**
 * tcon_mark_timeout() - a retransmission timer has gone off, the guest's or TCon's
 * @flow: its lock is held, enforced
 *
 * Repeats from now on may be without ECT.
 */
void tcon_mark_timeout(struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	if (tcon_ecn_timeout(&flow->ecn, tcon_mark_running(flow)))
		falls_back(flow);
}

/**
 * tcon_mark_arrived() - the peer has got payload
 * @flow: its lock is held, enforced
 * @original: some of it was sent once only
 *
 * Repeats of TCon and the guest are ECN-capable only if the CC wants it so.
 */
void tcon_mark_arrived(struct tcon_flow *flow, bool original)
{
	enum tcon_cc_ecn cc_ecn = tcon_mark_running(flow);
	const struct tcon_cc *cc = &flow->track.cc;

	lockdep_assert_held(&flow->lock);
	if (original || cc_ecn == TCON_CC_ECN_ALL) {
		if (tcon_ecn_arrived(&flow->ecn, cc_ecn))
			trust(flow);
	} else if (tcon_ecn_repaired(&flow->ecn, cc_ecn, cc->una, cc->nxt)) {
		falls_back(flow);
	}
}

/**
 * tcon_mark_of_held() - the ECN field of a packet that has waited
 * @flow: its lock is held
 * @ecn: the field when it came
 *
 * It may have been made ECN-capable before it was found that the path drops such packets.
 *
 * Return: TCON_ECN_*.
 */
u8 tcon_mark_of_held(const struct tcon_flow *flow, u8 ecn)
{
	lockdep_assert_held(&flow->lock);
	if (flow->ecn.fell_back && flow->ecn.agreed && tcon_flow_enforced(flow))
		return TCON_ECN_NOT_ECT;
	return ecn;
}
