// SPDX-License-Identifier: GPL-2.0-only
/*
 * Repeats lost data, and absorbs the guest's own repeats.
 *
 * A repair is one segment, no larger than the guest's own.  It is built from the copy,
 * and has only the lost bytes.  Its header is written when it leaves (act/header.c).
 *
 * A repeat of the guest with a newer TSval would overtake repairs: PAWS (RFC 7323, 5)
 * would then discard the repairs behind it.  So repeats are absorbed if TCon has a copy
 * of their data.  If one has to pass, later repairs carry at least its
 * TSval.
 */
#include <linux/ip.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <tcon/compat.h>

#include "act/header.h"
#include "act/mark.h"
#include "act/repair.h"
#include "base/contract.h"
#include "base/seq.h"
#include "sender/ca.h"
#include "sender/sent.h"
#include "sender/timer.h"
#include "state/flow.h"
#include "state/judge.h"
#include "wire/part.h"
#include "wire/segment.h"

/* After this many lost repairs the guest's repeat passes: perhaps it arrives. */
#define FAILED_OFTEN	2

/* The copy that holds @seq; NULL if there is none. */
static struct sk_buff *copy_of(const struct tcon_flow *flow, u32 seq, u32 *end)
{
	const struct tcon_sendq *q = &flow->track.sendq;
	u32 i = tcon_sendq_find(q, seq);
	struct sk_buff *copy;

	if (i == q->tail)
		return NULL;
	copy = tcon_sendq_at(q, i)->copy;
	/* A guest that skips sequence numbers has records that begin before it. */
	if (!copy || seq_before(seq, tcon_segment(copy)->seq) ||
	    !seq_before(seq, tcon_segment(copy)->end_seq))
		return NULL;
	*end = seq_min(tcon_sendq_at(q, i)->end, tcon_segment(copy)->end_seq);
	return copy;
}

/* Send @start .. @end again, of @copy. */
static struct sk_buff *repeat(struct tcon_flow *flow,
			      const struct sk_buff *copy, u32 start, u32 end,
			      u64 now_us)
{
	struct tcon_stats __percpu *stats = tcon_flow_stats(flow);
	struct sk_buff *skb;
	u32 bytes;

	if (!tcon_segment_intact(copy, flow->key.family)) {
		tcon_judge_give_up(flow, TCON_REASON_BAD_COPY);
		return NULL;
	}
	skb = tcon_part(copy, flow->key.family, start, end);
	if (!skb || !tcon_header_repeat(flow, skb, now_us)) {
		tcon_count(stats, TCON_COUNTER_REPAIR_FAILED);
		consume_skb(skb);
		return NULL;
	}
	bytes = tcon_segment(skb)->payload_bytes;
	if (!tcon_sent_repair(&flow->track, start, end, bytes, now_us)) {
		tcon_count(stats, TCON_COUNTER_REPAIR_BLIND);
		kfree_skb_reason(skb, SKB_DROP_REASON_NOMEM);
		return NULL;
	}
	return skb;
}

/**
 * tcon_repair_next() - the next segment that has to be sent again
 * @flow: its lock is held, under repair, with something lost
 * @now_us: the time
 *
 * Context: bottom halves disabled.
 * Return: the packet, which counts as sent; its &struct tcon_segment says how
 *	much payload it has.  NULL: not now.
 */
struct sk_buff *tcon_repair_next(struct tcon_flow *flow, u64 now_us)
{
	const struct tcon_range *lost = &flow->track.lost.range[0];
	const struct tcon_segment *seg;
	u32 start = lost->start, end;
	struct sk_buff *copy, *skb;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	copy = copy_of(flow, start, &end);
	if (!copy) {
		tcon_judge_give_up(flow, TCON_REASON_BAD_COPY);
		return NULL;
	}
	end = seq_min(end, lost->end);
	if (end - start > max(tcon_segment_wire_bytes(copy), 1U))
		end = start + max(tcon_segment_wire_bytes(copy), 1U);
	/* A FIN goes with the last bytes before it. */
	seg = tcon_segment(copy);
	if (end == seg->seq + seg->payload_bytes && end + 1 == seg->end_seq &&
	    end + 1 == lost->end)
		end++;
	skb = repeat(flow, copy, start, end, now_us);
	if (!skb)
		return NULL;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_REPAIR_SENT);
	trace_tcon_repair(flow, skb, start, end, (u32)now_us - seg->entered_us);
	return skb;
}

/**
 * tcon_repair_probe() - the tail again (RFC 8985, 7.3)
 * @flow: its lock is held, under repair, with something in flight
 * @now_us: the time
 *
 * Context: bottom halves disabled.
 * Return: as tcon_repair_next().
 */
struct sk_buff *tcon_repair_probe(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_track *t = &flow->track;
	u32 end = t->cc.nxt, start, data_end, copy_end;
	const struct tcon_segment *seg;
	struct sk_buff *copy, *skb;

	lockdep_assert_held(&flow->lock);
	lockdep_assert_in_softirq();
	copy = copy_of(flow, end - 1, &copy_end);
	if (!copy)
		return NULL;
	seg = tcon_segment(copy);
	start = seq_max(t->cc.una, seg->seq);
	data_end = seq_min(end, seg->seq + seg->payload_bytes);
	if (seq_after(data_end, start + tcon_segment_wire_bytes(copy)))
		start = data_end - tcon_segment_wire_bytes(copy);
	skb = repeat(flow, copy, start, end, now_us);
	if (skb) {
		tcon_timer_probed(t, end - start, now_us);
		flow->repair.probes++;
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_PROBE_SENT);
		trace_tcon_probe(flow, skb, start, end, (u32)now_us - seg->entered_us);
	}
	return skb;
}

/*
 * Has the guest sent nothing in the last three quarters of a silence?  Its own timer doubles, too,
 * so it would have sent by now, once that has gone off.  The guest's round-trip time includes the
 * time that holes stood.  (RFC 6298: with a variation of half of that, three times as much.)  A
 * repair would teach the switch the port that a guest has left.
 */
static bool has_gone(const struct tcon_flow *flow, u64 now_us)
{
	const struct tcon_track *t = &flow->track;
	u64 silent_us = now_us - flow->said.data_us;

	return 4 * silent_us > 3 * (now_us - t->progress_us) &&
	       silent_us > 3ULL * t->guest_rtt_us + TCON_RTO_MIN_US;
}

/**
 * tcon_repair_expire() - look at the timers
 * @flow: its lock is held, under repair
 * @now_us: the time
 *
 * Return: what was due; the CC has been told.  %TCON_EXPIRY_PROBE: the caller sends one.
 */
enum tcon_expiry tcon_repair_expire(struct tcon_flow *flow, u64 now_us)
{
	struct tcon_track *t = &flow->track;
	u64 lost_before = t->cc.lost_bytes;
	enum tcon_expiry expiry = tcon_timer_expire(t, now_us);

	lockdep_assert_held(&flow->lock);
	trace_tcon_loss(flow, t->cc.lost_bytes - lost_before);
	switch (expiry) {
	case TCON_EXPIRY_NONE:
	case TCON_EXPIRY_PROBE:
		return expiry;
	case TCON_EXPIRY_REORDER:
		tcon_ca_lost(t, t->cc.lost_bytes - lost_before, now_us);
		break;
	case TCON_EXPIRY_GIVE_UP:
		if (has_gone(flow, now_us)) {
			tcon_ca_timeout(t, now_us);
			tcon_judge_give_up(flow, TCON_REASON_IN_FLIGHT);
			break;
		}
		fallthrough;
	case TCON_EXPIRY_TIMEOUT:
		flow->repair.timeouts++;
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_TIMEOUT);
		tcon_mark_timeout(flow);
		tcon_ca_timeout(t, now_us);
		break;
	}
	tcon_judge_cc(flow, now_us);
	return expiry;
}

/* Is the repeat @pkt cut into smaller segments than @copy was?  Then the path's
 * MTU has fallen, and repairs of the old size would not arrive.
 */
static bool cut_smaller(const struct sk_buff *copy, const struct sk_buff *skb,
			const struct tcon_packet *pkt)
{
	const struct tcon_segment *seg = tcon_segment(copy);
	u32 wire_bytes = seg->payload_offset - seg->l4_offset + tcon_segment_wire_bytes(copy);

	if (tcon_segment_tcp_bytes(skb, pkt) >= wire_bytes)
		return false;
	return skb_is_gso(skb) || (pkt->payload_bytes < tcon_segment_wire_bytes(copy) &&
				   pkt->end_seq != seg->end_seq);
}

/* Does TCon only wait for its timer, which has gone off, and is doubled? */
static bool only_waits(const struct tcon_track *t, u64 now_us)
{
	return t->timer.tries && now_us - t->sent_us >= tcon_track_rto_us(t);
}

/*
 * Does the guest repeat data that it had no reason to think lost?  TCon tells it of no hole, so it
 * repeats from the acknowledged number on, once or again, or the tail.  Otherwise it has heard ACKs
 * that took another way and restarted its timer.  Then it knows better than TCon what is missing.
 */
static bool jumps(struct tcon_flow *flow, const struct tcon_packet *pkt, u64 now_us)
{
	const struct tcon_track *t = &flow->track;
	bool waits = seq_after(pkt->seq, t->cc.una) && only_waits(t, now_us);
	bool tail = pkt->end_seq == t->nxt_guest;
	struct tcon_thin *thin = &flow->thin;
	u32 end = thin->told_ack + thin->run_bytes;

	if (!waits && !seq_after(pkt->seq, end)) {
		thin->run_bytes = seq_max(pkt->end_seq, end) - thin->told_ack;
		return false;
	}
	thin->passed_by |= !tail;
	return waits || !tail;
}

static bool absorbed(struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	flow->repair.absorbed++;
	flow->absorbed.start = pkt->seq;
	flow->absorbed.end = pkt->end_seq;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_COPY_ABSORBED);
	return true;
}

/**
 * tcon_repair_absorbs() - is a guest's segment a repeat that TCon takes care of?
 * @flow: its lock is held, under repair
 * @skb: the segment
 * @pkt: the same, parsed; with payload or FIN, begins before nxt
 * @now_us: the time
 *
 * Keep-alives and window probes pass.  So does data that TCon has repaired in vain, or has no time
 * for.  tcon_ack_owed() answers repeats of data whose ACK the guest was not given.
 *
 * Return: true: it is not needed; false: it has to pass.
 */
bool tcon_repair_absorbs(struct tcon_flow *flow, const struct sk_buff *skb,
			 const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_track *t = &flow->track;
	struct tcon_resend *again;
	struct sk_buff *copy;
	u32 start = seq_max(pkt->seq, t->cc.una), end;

	lockdep_assert_held(&flow->lock);
	if (seq_before(pkt->seq, seq_min(flow->thin.told_ack, t->cc.una)) ||
	    seq_after(pkt->end_seq, t->nxt_guest) || !flow->window.peer_bytes)
		return false;
	if (unlikely(start != pkt->seq)) {
		flow->thin.owed = true;
		if (!seq_after(pkt->end_seq, start))
			return absorbed(flow, pkt);
	}
	copy = copy_of(flow, start, &end);
	if (!copy)
		return false;
	if (cut_smaller(copy, skb, pkt)) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_MTU_FELL);
		tcon_judge_give_up(flow, TCON_REASON_PATH_MTU);
		flow->said.wire_bytes = tcon_segment_tcp_bytes(skb, pkt);
		flow->bare.end = t->nxt_guest;	/* what waits is as large */
		return false;
	}
	if (jumps(flow, pkt, now_us))
		return false;
	again = tcon_resent_find(&t->resent, start, pkt->end_seq);
	if (again && again->count >= FAILED_OFTEN + !again->lost)
		return false;	/* the last one may still be on its way */
	return absorbed(flow, pkt);
}
