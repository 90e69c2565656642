// SPDX-License-Identifier: GPL-2.0-only
/*
 * Drops the excess of a guest: needless repeats, and data beyond its window that no buffer has room
 * for.
 */
#include "act/excess.h"
#include "act/gate.h"
#include "base/seq.h"
#include "state/flow.h"
#include "wire/segment.h"

/* Is a guest to be bound?  Where a connection begins or has ended no CC runs, but it is. */
static bool is_bound(const struct tcon_flow *flow)
{
	if (flow->reason == TCON_REASON_HANDSHAKE || flow->reason == TCON_REASON_CLOSED)
		return flow->rule && !tcon_rule_observes(flow->rule);
	return tcon_flow_runs_cc(flow);
}

/**
 * tcon_excess_repeats() - does a guest send too much that no cwnd bounds?
 * @flow: its lock is held
 * @payload_bytes: of a guest's segment that takes no room in flight
 * @now_us: the time
 *
 * The bound is a window in a round trip, or, without ACKs, in an RTO, but at least a segment.
 * Where ACKs pass TCon by, the clock alone bounds all that leaves.
 * No sender needs to repeat more, or to send more before its connection has begun.  But a guest
 * could send something far ahead, which the peer does not take.  New data would then look like a
 * repeat.
 *
 * Return: whether it does: the segment is to be dropped.
 */
bool tcon_excess_repeats(struct tcon_flow *flow, u32 payload_bytes, u64 now_us)
{
	const struct tcon_cc *cc = &flow->track.cc;
	u32 most = max(tcon_flow_runs_cc(flow) ? cc->cwnd_bytes : 0,
		       TCON_INIT_CWND_SEGS * cc->mss_bytes);
	u64 past_us;

	lockdep_assert_held(&flow->lock);
	if (!payload_bytes || !is_bound(flow) || unlikely(flow->track.unheard))
		return false;
	past_us = now_us - flow->repeats.us;
	if (past_us > tcon_track_rto_us(&flow->track) ||
	    (past_us > cc->srtt_us && (u32)cc->delivered_bytes != flow->repeats.delivered)) {
		flow->repeats.us = now_us;
		flow->repeats.delivered = (u32)cc->delivered_bytes;
		flow->repeats.bytes = 0;
	}
	if (flow->repeats.bytes + payload_bytes > most &&
	    (flow->repeats.bytes || payload_bytes > cc->mss_bytes)) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_REPEAT_EXCESS);
		return true;
	}
	flow->repeats.bytes += payload_bytes;
	return false;
}

/**
 * tcon_excess_vain() - is a segment too much that takes no room in flight?
 * @flow: its lock is held
 * @seg: the segment; a part of it may have left
 * @end: up to where it leaves
 * @now_us: the time
 *
 * Return: as tcon_excess_repeats().
 */
bool tcon_excess_vain(struct tcon_flow *flow, const struct tcon_segment *seg, u32 end, u64 now_us)
{
	u32 bytes = tcon_segment_left_bytes(seg, end);

	if (!seg->apart)
		bytes -= tcon_gate_room_bytes(&flow->track, seg->start, end, bytes);
	return tcon_excess_repeats(flow, bytes, now_us);
}

/* Do all bytes wait already that the guest has sent and the peer has not acknowledged? */
static bool all_waits(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	const struct tcon_track *t = &flow->track;

	return flow->buffer.unsent_bytes + pkt->payload_bytes > t->nxt_guest - t->cc.una;
}

/**
 * tcon_excess_must_leave() - may a segment not wait, for lack of room?
 * @flow: its lock is held; nothing waits
 * @pkt: the segment
 *
 * Return: whether it leaves: the guest was allowed to send it.
 */
bool tcon_excess_must_leave(const struct tcon_flow *flow, const struct tcon_packet *pkt)
{
	return tcon_gate_allows(flow, pkt->end_seq) &&
	       unlikely(tcon_buffer_exceeds(&flow->buffer, flow->port, TCON_BUFFER_HARD));
}

/* Must a segment not wait, for lack of room?  If the guest was allowed to send it, all that waits
 * leaves.
 */
static bool is_beyond(struct tcon_flow *flow, const struct tcon_packet *pkt, bool data)
{
	bool allowed = data && tcon_gate_allows(flow, pkt->end_seq);

	if (data && !allowed)
		return tcon_buffer_full(&flow->buffer, flow->port);
	if (likely(!tcon_buffer_exceeds(&flow->buffer, flow->port, TCON_BUFFER_HARD)))
		return false;
	if (!allowed || tcon_buffer_exceeds(&flow->buffer, flow->port,
					    2 * TCON_BUFFER_HARD))
		return true;
	tcon_gate_flush(flow);
	tcon_flow_kick(flow);
	return false;
}

/**
 * tcon_excess_refused() - is a segment too much?
 * @flow: its lock is held
 * @pkt: the segment
 * @seg: the same
 * @waits: it would wait; else it leaves now
 * @now_us: the time
 *
 * Return: whether it is to be dropped, which is counted.
 */
bool tcon_excess_refused(struct tcon_flow *flow, const struct tcon_packet *pkt,
			 const struct tcon_segment *seg, bool waits, u64 now_us)
{
	bool old = !seq_after(pkt->end_seq, flow->track.cc.nxt);

	if (seg->apart || !waits)
		return tcon_excess_vain(flow, seg, seg->end_seq, now_us);
	if (old && pkt->payload_bytes && all_waits(flow, pkt)) {
		tcon_count(tcon_flow_stats(flow), TCON_COUNTER_REPEAT_EXCESS);
		return true;
	}
	if (likely(!tcon_flow_runs_cc(flow) || !is_beyond(flow, pkt, !old && pkt->payload_bytes)))
		return false;
	tcon_count(tcon_flow_stats(flow), TCON_COUNTER_HOLD_EXCESS);
	return true;
}
