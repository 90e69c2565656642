// SPDX-License-Identifier: GPL-2.0-only
/*
 * ECN in packets: what datapath/sender/ecn.c decides is written into them, and counted.
 */
#include <linux/moduleparam.h>
#include <linux/skbuff.h>

#include "act/mark.h"
#include "base/contract.h"
#include "sender/ecn.h"
#include "state/flow.h"
#include "wire/segment.h"

static bool ecn_count = true;
module_param(ecn_count, bool, 0644);
MODULE_PARM_DESC(ecn_count, "count marked bytes for the peer's TCon, by a TCP option");

/* What does the flow's rule want? */
static enum tcon_ecn_wish wish_of(const struct tcon_flow *flow)
{
	const struct tcon_cc_ops *ops = NULL;

	if (flow->rule)
		ops = rcu_dereference(flow->rule->ops);
	if (!ops)
		return TCON_ECN_LEAVE;
	return ops->ecn != TCON_CC_ECN_NONE ? TCON_ECN_ASK : TCON_ECN_HEAR;
}

/**
 * tcon_mark_running() - on what the CC that runs wants ECT
 * @flow: its lock is held
 *
 * Return: enum tcon_cc_ecn.
 */
enum tcon_cc_ecn tcon_mark_running(const struct tcon_flow *flow)
{
	lockdep_assert_held(&flow->lock);
	return tcon_flow_enforced(flow) ? flow->track.cc.ops->ecn :
					  TCON_CC_ECN_NONE;
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
	mode = tcon_ecn_mode(&flow->ecn, tcon_flow_enforced(flow), wish_of(flow));
	/* The peer's TCon may have ceased to count. */
	return mode == TCON_ECN_EXACT && flow->track.ce_lapsed ? TCON_ECN_COARSE : mode;
}

/*
 * Would an edit break a signature?  A connection whose SYNs had none has none: what looks
 * like one is a guest's, to get a forged count past its own TCon.
 */
static bool is_signed(const struct tcon_flow *flow,
		      const struct tcon_packet *pkt)
{
	return pkt->signed_options &&
	       (pkt->flags & TCON_TCP_SYN || flow->mid_stream ||
		tcon_track_signed(&flow->track));
}

static bool add_option(struct sk_buff *skb, struct tcon_packet *pkt,
		       const struct tcon_ecn_edit *edit)
{
	__be32 option[TCON_OPTION_COUNT_BYTES / 4] = {
		htonl(TCON_OPTION_KIND << 24 | edit->add_bytes << 16 |
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
	if (edit->ecn != (pkt->tos & TCON_ECN_MASK))
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

static void guest_syn(struct tcon_flow *flow, const struct tcon_packet *pkt,
		      struct tcon_ecn_edit *edit)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	const struct tcon_track *t = &flow->track;
	bool again = t->guest.syn_seen && t->guest.isn == pkt->seq;
	struct tcon_ecn *e = &flow->ecn;

	if (pkt->flags & TCON_TCP_ACK) {
		if (!again)
			tcon_ecn_restart(e);
		tcon_ecn_guest_answer(e, pkt, wish_of(flow), ecn_count, edit);
	} else {
		tcon_ecn_guest_syn(e, pkt, wish_of(flow), again, ecn_count,
				   edit);
		if (again && e->fell_back)
			tcon_count(stats, TCON_COUNTER_ECN_FALLBACK);
	}
	if (edit->strip)
		tcon_count(stats, TCON_COUNTER_OPTION_FORGED);
	if (edit->set)
		tcon_count(stats, pkt->flags & TCON_TCP_ACK ?
				  TCON_COUNTER_ECN_ANSWERED :
				  TCON_COUNTER_ECN_ASKED);
	if (edit->clear_ae)
		tcon_count(stats, TCON_COUNTER_ECN_DOWNGRADED);
}

/**
 * tcon_mark_from_guest() - ECN of a guest's segment
 * @flow: its lock is held; the tracker does not know the segment yet
 * @skb: the segment, which concerns it; data at the link-layer header
 * @pkt: the same, parsed; offsets follow where an option is added
 *
 * Context: bottom halves disabled, RCU read lock held; in the ingress hook.
 */
void tcon_mark_from_guest(struct tcon_flow *flow, struct sk_buff *skb,
			  struct tcon_packet *pkt)
{
	struct tcon_ecn_edit edit = tcon_ecn_no_edit(pkt);
	struct tcon_ecn_sent sent;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	tcon_assert_rcu();
	if (is_signed(flow, pkt)) {
		if (pkt->flags & TCON_TCP_SYN)
			tcon_ecn_restart(&flow->ecn);
		return;
	}
	if (pkt->flags & TCON_TCP_SYN) {
		guest_syn(flow, pkt, &edit);
		apply(flow, skb, pkt, &edit);
		return;
	}
	sent = (struct tcon_ecn_sent) {
		.governed = tcon_flow_enforced(flow),
		.cc_ecn = tcon_mark_running(flow),
		.nxt_guest = flow->track.nxt_guest,
		.mss_bytes = flow->track.cc.mss_bytes,
		.gso = skb_is_gso(skb),
	};
	tcon_ecn_from_guest(&flow->ecn, pkt, &sent, &edit);
	count_from_guest(tcon_flow_stats(flow), pkt, &edit);
	apply(flow, skb, pkt, &edit);
}

static void peer_syn(struct tcon_flow *flow, const struct tcon_packet *pkt,
		     struct tcon_ecn_edit *edit)
{
	const struct tcon_track *t = &flow->track;

	if (!(pkt->flags & TCON_TCP_ACK)) {
		tcon_ecn_peer_syn(&flow->ecn, pkt, wish_of(flow), edit);
		if (edit->clear_ae)
			tcon_count(tcon_flow_stats(flow),
				   TCON_COUNTER_ECN_DOWNGRADED);
	} else if (t->synced && tcon_side_answered(&t->guest, pkt->ack)) {
		tcon_ecn_peer_answer(&flow->ecn, pkt, !t->guest.acked, edit);
	}
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

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	tcon_assert_rcu();
	if (is_signed(flow, pkt)) {
		pkt->option_bytes = 0;
		return;
	}
	if (!(pkt->flags & TCON_TCP_SYN) && !flow->ecn.agreed &&
	    !pkt->option_bytes)
		return;
	if (pkt->flags & TCON_TCP_SYN)
		peer_syn(flow, pkt, &edit);
	else
		tcon_ecn_to_guest(&flow->ecn, pkt, heard,
				  tcon_flow_enforced(flow), &edit);
	if (edit.clear & pkt->flags & TCON_TCP_ECE)
		tcon_count(stats, TCON_COUNTER_ECE_HIDDEN);
	if (edit.ecn != (pkt->tos & TCON_ECN_MASK) &&
	    (pkt->tos & TCON_ECN_MASK) == TCON_ECN_CE)
		tcon_count(stats, TCON_COUNTER_CE_HIDDEN);
	if (edit.set & ~pkt->flags)
		tcon_count(stats, TCON_COUNTER_PUSH_SET);
	apply(flow, skb, pkt, &edit);
	if (!flow->ecn.exact || !heard || pkt->flags & TCON_TCP_SYN)
		pkt->option_bytes = 0;	/* no count to believe */
	else if (pkt->option_bytes == TCON_OPTION_COUNT_BYTES)
		tcon_count(stats, TCON_COUNTER_COUNT_TAKEN);
}
