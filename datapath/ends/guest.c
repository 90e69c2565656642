// SPDX-License-Identifier: GPL-2.0-only
/*
 * Packets from a guest, each of a flow that is known.
 */
#include <linux/etherdevice.h>
#include <linux/skbuff.h>
#include <tcon/compat.h>

#include "act/excess.h"
#include "act/header.h"
#include "act/hold.h"
#include "act/mark.h"
#include "act/tell.h"
#include "base/seq.h"
#include "ends/app_limit.h"
#include "ends/begin.h"
#include "ends/close.h"
#include "ends/guest.h"
#include "sender/saved.h"
#include "state/astray.h"
#include "state/judge.h"
#include "state/move.h"
#include "state/rest.h"

/* Data, FIN or RST. */
static enum tcon_fate judge_data(struct tcon_flow *flow, struct sk_buff *skb,
				 const struct tcon_packet *pkt, u64 now_ns, u64 *when)
{
	if (unlikely(flow->state == TCON_STATE_DROPPED) && pkt->payload_bytes) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_FALLBACK_DROPPED);
		return TCON_FATE_DROP;
	}
	if (tcon_flow_enforced(flow) && pkt->end_seq != pkt->seq &&
	    seq_after(pkt->end_seq, flow->track.nxt_guest)) {
		tcon_app_limit_data(flow, skb, pkt, tcon_us(now_ns));
		if (pkt->payload_bytes && unlikely(tcon_astray_is_beyond(flow, pkt->end_seq)))
			tcon_astray_beyond(flow, tcon_us(now_ns));
	}
	return tcon_hold_judge(flow, skb, pkt, now_ns, when);
}

/* The guest has echoed a time stamp that it was given, which shows how long it takes to answer. */
static void note_answer(struct tcon_flow *flow, u64 now_us)
{
	tcon_answer_heard(&flow->answer, now_us);
	flow->window.answer_us = tcon_answer_wait_us(&flow->answer);
}

/* The guest sends where its packets pass unseen.  Returns whether they do no more. */
static bool guest_resumes(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	if (flow->saved)	/* its port has come to rest since */
		tcon_move_unseen(flow, now_us);
	if (!READ_ONCE(flow->port->rests) && tcon_rest_resume(flow, pkt, now_us))
		return true;
	tcon_close_unseen(flow, pkt, true, now_us);
	return false;
}

/* A half-flow from another host lacks the guest's Ethernet address. */
static void note_mac(struct tcon_flow *flow, const struct sk_buff *skb, u64 now_us)
{
	if (!is_zero_ether_addr(flow->traits.mac))
		return;
	ether_addr_copy(flow->traits.mac, ((const struct ethhdr *)skb->data)->h_source);
	tcon_judge_rule(flow, now_us);
}

/* A segment has data.  Returns whether it may go on. */
static bool note_data(struct tcon_flow *flow, const struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us)
{
	if (unlikely(flow->closed_us))
		tcon_close_data_after(flow, pkt, now_us);
	if (unlikely(!tcon_track_established(&flow->track)) &&
	    !tcon_begin_check(flow, skb, pkt, now_us))
		return false;
	flow->said.data_us = now_us;
	/* A keep-alive starts one byte earlier (RFC 9293, 3.8.4). */
	if (unlikely(seq_before(pkt->seq + 1, flow->thin.told_ack)))
		flow->thin.unheard = true;
	if (unlikely(tcon_known_is_astray(flow->known)))
		tcon_astray_data(flow, pkt, now_us);
	return true;
}

/* Any segment of the guest except a SYN, of a flow that is synced. */
static enum tcon_fate judge_segment(struct tcon_flow *flow, struct sk_buff *skb,
				    const struct tcon_packet *pkt, u64 now_ns, u64 *when)
{
	struct tcon_track *t = &flow->track;
	u64 now_us = tcon_us(now_ns);

	if (pkt->flags & TCON_TCP_ACK && !t->peer.acked &&
	    tcon_track_answers_peer(t, pkt->ack)) {
		t->peer.acked = true;
		flow->said.edge = pkt->ack;
	}
	tcon_begin_note(flow, now_us);
	if (pkt->payload_bytes && !note_data(flow, skb, pkt, now_us))
		return TCON_FATE_DROP;
	if (unlikely(flow->unseen))
		tcon_begin_check_unseen(flow, pkt, now_us);
	if (unlikely(pkt->flags & TCON_TCP_FIN))
		tcon_close_guest_fin(t, pkt);
	if (!pkt->payload_bytes)
		tcon_close_note(flow, pkt, true, now_us);
	if (!tcon_packet_is_pure_ack(pkt))
		return judge_data(flow, skb, pkt, now_ns, when);
	tcon_header_passed(flow, skb, pkt);
	tcon_tell_passed(flow, pkt, now_us);
	return TCON_FATE_PASS;
}

/* Does a packet pass whose flow is unseen, or has come from another host and is not settled? */
static bool passes_by(struct tcon_flow *flow, const struct sk_buff *skb,
		      const struct tcon_packet *pkt, u64 now_us)
{
	if (unlikely(tcon_rest_is_unseen(flow)) && !(pkt->flags & TCON_TCP_SYN) &&
	    !guest_resumes(flow, pkt, now_us))
		return true;
	if (likely(!flow->saved))
		return false;
	note_mac(flow, skb, now_us);
	tcon_move_settle(flow, pkt, now_us);
	return flow->saved;
}

/* Decides the fate of a packet, and writes ECN into it before. */
static enum tcon_fate judge(struct tcon_flow *flow, struct sk_buff *skb, struct tcon_packet *pkt,
			    u64 now_ns, u64 *when)
{
	struct tcon_track *t = &flow->track;
	u64 now_us = tcon_us(now_ns);

	if (passes_by(flow, skb, pkt, now_us))
		return TCON_FATE_PASS;
	if (pkt->has_ts && tcon_answer_is_one(&flow->answer, pkt->tsecr))
		note_answer(flow, now_us);
	if (unlikely(pkt->flags & TCON_TCP_SYN && pkt->payload_bytes) &&
	    tcon_excess_repeats(flow, pkt->payload_bytes, now_us))
		return TCON_FATE_DROP;
	if (!pkt->fragment && unlikely(tcon_mark_concerns(flow, pkt))) {
		tcon_mark_from_guest(flow, skb, pkt);
		tcon_rest_attend(flow);
	}
	if (pkt->flags & TCON_TCP_SYN) {
		tcon_begin_guest_syn(flow, pkt, now_us);
		tcon_begin_unseen(flow);
		return TCON_FATE_PASS;
	}
	if (!t->synced && pkt->payload_bytes)
		tcon_begin_adopt(flow, skb, pkt, now_us);
	return t->synced ? judge_segment(flow, skb, pkt, now_ns, when) : TCON_FATE_PASS;
}

/**
 * tcon_guest_sends() - a packet comes from the guest
 * @flow: its lock is held
 * @skb: the packet
 * @pkt: the same, parsed
 * @now_ns: the time
 *
 * Context: bottom halves disabled, RCU read lock held.
 * Return: true if it may go on; false if it was taken.
 */
bool tcon_guest_sends(struct tcon_flow *flow, struct sk_buff *skb, struct tcon_packet *pkt,
		      u64 now_ns)
{
	enum tcon_fate fate;
	u64 when = 0;
	bool pass;

	WRITE_ONCE(flow->seen_us, tcon_us(now_ns));	/* least_used() looks without the lock */
	tcon_judge_refresh(flow, tcon_us(now_ns));
	fate = judge(flow, skb, pkt, now_ns, &when);
	pass = tcon_hold_carry_out(flow, skb, pkt, fate, when, now_ns);
	/* Data in a RST is data as any other, before the RST ends the connection. */
	if (pkt->payload_bytes && fate >= TCON_FATE_ABSORB)
		tcon_close_note(flow, pkt, true, tcon_us(now_ns));
	return pass;
}
