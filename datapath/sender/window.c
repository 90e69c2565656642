// SPDX-License-Identifier: GPL-2.0-only
/*
 * From cwnd to the window field that the guest gets.
 *
 *  - Never more than the peer offered.  A zero of the peer's stays zero.
 *  - The right edge never moves left (RFC 9293, 3.8.6).  A smaller cwnd takes effect
 *    as ACKs advance.  Until then TCon holds what the guest sends beyond it.
 *  - Never less than two segments, or a receiver that delays its ACKs stalls
 *    the guest.  TCon holds the excess then as well.
 *  - Rounded up to the quantum of the window scale (RFC 7323).  Not where the guest
 *    would send what that adds in a small packet, and the path's marks count packets.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>

#include "base/seq.h"
#include "sender/window.h"

#define WINDOW_FIELD_MAX		0xffffU

/**
 * tcon_window_wanted() - right edge that the CC wants the guest to have
 * @cc: una, nxt, inflight, MSS and pacing rate
 * @nxt_guest: what the guest would send next
 * @cwnd_bytes: how much may be in flight
 * @hold_bytes: how much a paced flow may have waiting in TCon
 *
 * cwnd bounds what is in flight, which has left TCon and lies before nxt.  A paced flow
 * needs no more than keeps its pacer busy.  With all of cwnd, which in BBR is twice the
 * path's BDP, a whole BDP would wait in TCon.  Other flows get the nearest number of
 * whole segments, as Linux counts cwnd.  The guest would send a part of one in a packet
 * once a round trip (Nagle's algorithm in Minshall's variant), which may be lost as well
 * as a full one.  Otherwise the guest would leave that part unused.
 *
 * Return: sequence number.
 */
u32 tcon_window_wanted(const struct tcon_cc *cc, u32 nxt_guest, u32 cwnd_bytes,
		       u32 hold_bytes)
{
	u32 room = 0, edge;

	if (cwnd_bytes > cc->inflight_bytes)
		room = cwnd_bytes - cc->inflight_bytes;
	if (cc->pacing_rate_bps)
		return cc->nxt + min(room, hold_bytes);
	edge = cc->nxt + room;
	if (!seq_after(edge, nxt_guest))
		return edge;
	return nxt_guest + DIV_ROUND_CLOSEST(edge - nxt_guest, cc->mss_bytes) *
			   cc->mss_bytes;
}

/**
 * tcon_window_round_down() - an edge that a window field can name
 * @edge: right edge
 * @ack: acknowledgment number that the field comes with
 * @wscale: shift count of the peer
 * @mss_bytes: payload of a full segment
 *
 * For a guest that fills its window with a part of a segment.  If the edge were rounded up,
 * the guest would send a small packet once a round trip, besides as many full ones as cwnd
 * has segments.  If it is rounded down, the last of these is not quite full.
 *
 * Return: the last edge that is not after @edge; @edge itself where fields are coarser than
 *	segments.
 */
u32 tcon_window_round_down(u32 edge, u32 ack, u8 wscale, u32 mss_bytes)
{
	u32 quantum = 1U << wscale;

	if (quantum > mss_bytes || !seq_after(edge, ack))
		return edge;
	return ack + round_down(edge - ack, quantum);
}

static u32 answer_us(const struct tcon_window *w)
{
	return w->answer_us ? : TCON_EDGE_ANSWER_US;
}

/* Has the guest had time to answer even the last edge?  If a later one had been given after the
 * time of one answer, it would have been marked.
 */
static bool is_answered(const struct tcon_window *w, u64 now_us)
{
	return now_us - w->mark_us >= 2ULL * answer_us(w);
}

/* Remembers an edge, and which one the guest has had time to answer. */
static void give_edge(struct tcon_window *w, u32 edge, u64 now_us)
{
	if (!w->valid) {
		w->valid = true;
		w->edge = edge;
		w->marked_edge = edge;
		w->next_mark = edge;
		w->mark_us = now_us;
		return;
	}
	if (now_us - w->mark_us >= answer_us(w)) {
		w->marked_edge = is_answered(w, now_us) ? w->edge : w->next_mark;
		w->next_mark = w->edge;
		w->mark_us = now_us;
	}
	w->edge = seq_max(w->edge, edge);
}

/*
 * The peer may take back a window that it offered (RFC 9293, 3.8.6).  Then TCon must not give
 * that window to the guest.  An ACK that acknowledges nothing new may have been overtaken.  So,
 * as in Linux, it can only move the edge to the right.
 */
static void note_peer(struct tcon_window *w, u32 ack, u16 field, u8 wscale)
{
	u32 edge = ack + ((u32)field << wscale);

	w->peer_bytes = edge - ack;
	if (!w->valid || seq_after(ack, w->peer_ack)) {
		w->peer_ack = ack;
		w->peer_edge = edge;
	}
	w->peer_edge = seq_max(w->peer_edge, edge);
}

/**
 * tcon_window_observe() - a window passes to the guest as it is
 * @w: the windows
 * @ack: acknowledgment number that it came with
 * @field: window field
 * @wscale: shift count of the peer; 0 for a SYN's
 * @now_us: the time
 */
void tcon_window_observe(struct tcon_window *w, u32 ack, u16 field, u8 wscale,
			 u64 now_us)
{
	note_peer(w, ack, field, wscale);
	w->given_bytes = w->peer_bytes;
	give_edge(w, ack + w->given_bytes, now_us);
}

/**
 * tcon_window_restore() - go on from windows that another host gave the guest
 * @w: the windows, fresh
 * @una: first sequence number that is not acknowledged
 * @edge: highest right edge that the guest was given
 * @peer_edge: right edge that the peer offered
 * @now_us: the time
 */
void tcon_window_restore(struct tcon_window *w, u32 una, u32 edge, u32 peer_edge,
			 u64 now_us)
{
	w->peer_ack = una;
	w->peer_edge = seq_max(peer_edge, una);
	w->peer_bytes = w->peer_edge - una;
	w->given_bytes = seq_max(edge, una) - una;
	give_edge(w, seq_max(edge, una), now_us);
}

/* Field that offers @bytes, rounded up, at least two segments. */
static u32 field_for(u32 bytes, u8 wscale, u32 mss_bytes)
{
	u32 quantum = 1U << wscale;

	bytes = max(bytes, TCON_MIN_CWND_SEGS * mss_bytes);
	return min(DIV_ROUND_UP(bytes, quantum), WINDOW_FIELD_MAX);
}

/**
 * tcon_window_write() - the window field for an ACK to the guest
 * @w: the windows
 * @ack: acknowledgment number
 * @field: window field as the peer sent it
 * @wscale: shift count of the peer
 * @wanted: right edge that the CC wants
 * @mss_bytes: payload of a full segment
 * @now_us: the time
 *
 * Return: the field to write, at most @field.
 */
u16 tcon_window_write(struct tcon_window *w, u32 ack, u16 field, u8 wscale,
		      u32 wanted, u32 mss_bytes, u64 now_us)
{
	u32 bytes = 0, edge = wanted, ours;

	note_peer(w, ack, field, wscale);
	if (w->valid)
		edge = seq_max(edge, w->edge);
	if (seq_after(edge, ack))
		bytes = edge - ack;
	ours = min_t(u32, field, field_for(bytes, wscale, mss_bytes));
	w->given_bytes = ours << wscale;
	give_edge(w, ack + w->given_bytes, now_us);
	return ours;
}

/**
 * tcon_window_untold() - an ACK is not given to the guest after all
 * @w: the windows, after tcon_window_write()
 * @before: the same before it
 *
 * The guest has not been given that ACK's edge.  But the peer has offered it, so a window
 * update may go up to there.
 */
void tcon_window_untold(struct tcon_window *w, const struct tcon_window *before)
{
	struct tcon_window after = *w;

	*w = *before;
	w->peer_edge = after.peer_edge;
	w->peer_ack = after.peer_ack;
	w->peer_bytes = after.peer_bytes;
}

/**
 * tcon_window_late() - the window field for an ACK that newer ones have overtaken
 * @w: the windows, which it does not change
 * @ack: acknowledgment number
 * @field: window field as the peer sent it
 * @wscale: shift count of the peer
 * @mss_bytes: payload of a full segment
 *
 * Return: the field to write, at most @field.  It offers no more than the newer
 * ACKs did: the guest would see its window shrink at the next.
 */
u16 tcon_window_late(const struct tcon_window *w, u32 ack, u16 field, u8 wscale,
		     u32 mss_bytes)
{
	u32 bytes = 0;

	if (!w->valid)
		return field;
	if (seq_after(w->edge, ack))
		bytes = w->edge - ack;
	return min_t(u32, field, field_for(bytes, wscale, mss_bytes));
}

/**
 * tcon_window_update() - is a window update due, and which?
 * @w: the windows
 * @ack: acknowledgment number that the update would repeat
 * @wscale: shift count of the peer
 * @wanted: right edge that the CC wants
 * @nxt_guest: what the guest would send next
 * @mss_bytes: payload of a full segment
 * @burst_bytes: what the guest may gather before it sends
 * @now_us: the time
 *
 * It is due if the edge keeps the guest from sending a segment, or a burst that the new
 * edge has room for.  The new edge must be two segments further.  The peer must have offered
 * it, and not have taken it back by a zero.  And the field must grow, or the guest would see
 * a duplicate ACK.  (While Linux waits for an ACK that is overdue, as behind a hole, it sends
 * no less than a burst.)
 *
 * Return: the field of the update, which counts as given; 0: none is due.
 */
u16 tcon_window_update(struct tcon_window *w, u32 ack, u8 wscale, u32 wanted,
		       u32 nxt_guest, u32 mss_bytes, u32 burst_bytes,
		       u64 now_us)
{
	u32 edge, field, old;

	if (!w->valid || !w->peer_bytes)
		return 0;
	edge = seq_min(wanted, w->peer_edge);
	if (seq_before(nxt_guest + mss_bytes, w->edge) &&
	    (seq_before(nxt_guest + burst_bytes, w->edge) ||
	     seq_before(edge, nxt_guest + burst_bytes)))
		return 0;
	if (!seq_after(edge, w->edge + 2 * mss_bytes - 1))
		return 0;
	field = min(DIV_ROUND_UP(edge - ack, 1U << wscale), WINDOW_FIELD_MAX);
	if (seq_after(ack + (field << wscale), w->peer_edge))
		field--;
	old = (w->edge - ack) >> wscale;
	if (field <= old)
		return 0;
	w->given_bytes = field << wscale;
	give_edge(w, ack + w->given_bytes, now_us);
	return field;
}

/**
 * tcon_window_covers() - may a guest that keeps to its windows have sent this?
 * @w: the windows
 * @end_seq: sequence number after the segment
 * @wscale: shift count of the peer
 * @mss_bytes: payload of a full segment
 *
 * It may send a FIN, or a byte to probe a closed window (RFC 9293, 3.8.6.1), beyond the edge.  And
 * an ACK that was overtaken may have told it a little more (tcon_window_late()).
 *
 * Return: whether it may; true if no edge is known.
 */
bool tcon_window_covers(const struct tcon_window *w, u32 end_seq, u8 wscale,
			u32 mss_bytes)
{
	u32 slack_bytes = TCON_MIN_CWND_SEGS * mss_bytes + (1U << wscale);

	return !w->valid || !seq_after(end_seq, w->edge + slack_bytes);
}

/**
 * tcon_window_unused() - what the guest was given and did not use
 * @w: the windows
 * @nxt_guest: what the guest would send next
 * @now_us: the time
 *
 * Return: bytes, of an edge that the guest has had time to answer.
 */
u32 tcon_window_unused(const struct tcon_window *w, u32 nxt_guest, u64 now_us)
{
	u32 edge = is_answered(w, now_us) ? w->edge : w->marked_edge;

	return w->valid && seq_after(edge, nxt_guest) ? edge - nxt_guest : 0;
}
