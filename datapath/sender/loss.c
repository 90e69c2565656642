// SPDX-License-Identifier: GPL-2.0-only
/*
 * Judging what is lost.
 *
 * RACK (RFC 8985): a segment is lost when one that was sent later has been
 * delivered, and a round trip and a window for reordering have passed since it
 * was sent.  A counter that each packet takes when it leaves decides what is
 * "later", since time stamps are the same for a whole burst.
 *
 * Originals leave in sequence order.  So they are judged along an edge that only
 * moves right.  It stops at one that left late, until data sent after it is
 * delivered.  Data that was sent again is in a list of its own, in order of
 * transmission.  A peer without SACK is judged by its duplicate ACKs
 * (RFC 6582).
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>

#include "base/seq.h"
#include "sender/loss.h"
#include "sender/track.h"

#define REO_PERSIST	16	/* recoveries; RFC 8985, 6.2 */
#define REO_MORE_MAX	254
/* A path may be faster than it has ever been, by a share: NICs deliver in batches. */
#define RTT_SLACK	8
/* After this, judge again what could not be noted for lack of memory. */
#define RETRY_US	1000

/*
 * Takes a range out of what is lost; returns how many bytes of it were.  If that would split a lost
 * range, and there is no memory, all of that range from @start on goes, and @whole is false.
 */
static u32 take_out(struct tcon_track *t, u32 start, u32 end, bool *whole)
{
	u32 bytes = tcon_ranges_covered(&t->lost, start, end);

	*whole = tcon_ranges_remove(&t->lost, start, end) == bytes;
	return bytes;
}

/**
 * tcon_loss_unmark() - a range is not lost, or not any more
 * @t: the tracker
 * @start: first sequence number
 * @end: the one after the last
 * @known_bytes: bytes of it that had been in flight again, and so are not among the losses
 *
 * Return: bytes of it that were judged lost.
 */
u32 tcon_loss_unmark(struct tcon_track *t, u32 start, u32 end, u32 known_bytes)
{
	bool whole;
	u32 bytes = take_out(t, start, end, &whole), rest = end - start - bytes;

	if (unlikely(!whole))
		t->lost_edge = seq_min(t->lost_edge, end);
	t->unnoted_bytes -= min(rest - min(rest, known_bytes), t->unnoted_bytes);
	return bytes;
}

/*
 * The parts of @start .. @end that were sent again are in flight, and not lost yet.  Returns up to
 * where the rest is noted.
 */
static u32 spare_resent(struct tcon_track *t, u32 start, u32 end)
{
	struct tcon_resend *r = tcon_resent_find(&t->resent, start, end);
	u32 noted = end, stop;
	bool whole;

	for (; r; r = tcon_resent_next(r, end)) {
		if (r->lost)
			continue;
		stop = seq_min(end, r->tx.end);
		take_out(t, seq_max(start, r->tx.start), stop, &whole);
		if (unlikely(!whole))
			noted = seq_min(noted, stop);
	}
	return noted;
}

/**
 * tcon_loss_mark() - judge a range lost
 * @t: the tracker
 * @start: first sequence number
 * @end: the one after the last
 *
 * Data that is SACKed or lost already, or in flight once more, stays as it is.
 *
 * Return: @end; without memory the first sequence number that could not be noted.
 */
u32 tcon_loss_mark(struct tcon_track *t, u32 start, u32 end)
{
	const struct tcon_ranges *set = &t->sacked;
	u32 before = t->lost.bytes, at = start, stop;
	unsigned int i;

	for (i = tcon_ranges_find(set, start); seq_before(at, end); i++) {
		stop = i < set->n ? seq_min(set->range[i].start, end) : end;
		if (seq_before(at, stop)) {
			if (tcon_ranges_add(&t->lost, at, stop))
				break;
			t->judged_edge = seq_max(t->judged_edge, stop);
		}
		at = i < set->n ? set->range[i].end : stop;
	}
	t->cc.lost_bytes += t->lost.bytes - before;
	t->unproven_bytes += t->lost.bytes - before;
	return seq_min(at, spare_resent(t, start, end));
}

/**
 * tcon_loss_mark_all() - judge everything in flight lost
 * @t: the tracker
 *
 * If the segment at una is SACKed, the peer has thrown away what it had SACKed
 * (RFC 2018, 8), or una would have passed it.  Then all of that is lost, too.  As in Linux it is
 * delivered once more when it arrives again: otherwise a CC that measures rates would take a path
 * that delivers for a dead one.
 *
 * Without memory for it, it still is not in flight: otherwise nothing could leave.
 */
void tcon_loss_mark_all(struct tcon_track *t)
{
	struct tcon_resend *r, *next;

	if (t->cc.una == t->cc.nxt)
		return;
	if (tcon_ranges_covered(&t->sacked, t->cc.una, t->cc.una + 1))
		tcon_ranges_clear(&t->sacked);
	list_for_each_entry_safe(r, next, &t->resent.sent, node)
		tcon_resent_judge_lost(&t->resent, r);
	t->dup_bytes = 0;
	t->unnoted_bytes = 0;
	t->rack.deadline_us = 0;
	t->lost_edge = tcon_loss_mark(t, t->cc.una, t->cc.nxt);
	tcon_track_count_inflight(t);
	if (t->lost_edge == t->cc.nxt)
		return;
	t->unnoted_bytes = t->cc.inflight_bytes;
	t->cc.inflight_bytes = 0;
}

/**
 * tcon_loss_mark_head() - judge the first segment lost
 * @t: the tracker, with data in flight
 */
void tcon_loss_mark_head(struct tcon_track *t)
{
	u32 end = t->cc.una + min(t->cc.nxt - t->cc.una, t->cc.mss_bytes);

	end = tcon_loss_mark(t, t->cc.una, end);
	t->lost_edge = seq_max(t->lost_edge, end);
}

/**
 * tcon_loss_is_too_fast() - is an answer faster than the path allows?
 * @t: the tracker
 * @rtt_us: how long ago the transmission left
 *
 * Return: true if the answer cannot be one to that transmission.
 */
bool tcon_loss_is_too_fast(const struct tcon_track *t, u64 rtt_us)
{
	return t->cc.min_rtt_us != TCON_RTT_NONE_US &&
	       rtt_us + rtt_us / RTT_SLACK < t->cc.min_rtt_us;
}

/**
 * tcon_loss_delivered() - a transmission has arrived
 * @t: the tracker
 * @s: the transmission
 * @end: of the part that arrived
 * @first: the first of its range, perhaps the same; NULL: not known
 * @now_us: the time
 *
 * RFC 8985, 6.2, steps 2 and 3.  Reordering shows between ACKs, not within one, where the
 * SACK blocks are looked at first.  Data that reached TCon out of order is expected in the
 * order in which it left here.  An answer that comes faster than the path allows is taken
 * for one to the first transmission.  (Linux takes it for none.  So after a tail probe that
 * was answered so fast it waits for the time-out.)
 */
void tcon_loss_delivered(struct tcon_track *t, const struct tcon_send *s,
			 u32 end, const struct tcon_send *first, u64 now_us)
{
	struct tcon_rack *rack = &t->rack;

	if (s == first && rack->valid && seq_before(end, rack->fack) &&
	    seq_before(s->order, rack->order) && tcon_track_sack(t))
		rack->reordered = true;
	rack->fack_next = rack->valid ? seq_max(rack->fack_next, end) : end;
	if (s != first && tcon_loss_is_too_fast(t, now_us - s->tx_us))
		s = first;
	if (!s)
		return;
	if (rack->valid && (seq_before(s->order, rack->order) ||
			    (s->order == rack->order &&
			     !seq_after(end, rack->end))))
		return;
	rack->valid = true;
	rack->tx_us = s->tx_us;
	rack->order = s->order;
	rack->end = end;
	rack->rtt_us = min_t(u64, now_us - s->tx_us, U32_MAX);
}

/**
 * tcon_loss_dsack() - the peer got something twice
 * @t: the tracker
 * @own: it was a repair of TCon's
 *
 * RFC 8985, 6.2, step 4: be more patient, once a round trip.  A needless repair is a sign of
 * reordering: its data had been judged lost.  A guest may have repeated its tail, and does not
 * become more patient by that (Linux's tcp_dsack_seen()).
 */
void tcon_loss_dsack(struct tcon_track *t, bool own)
{
	struct tcon_rack *rack = &t->rack;

	rack->reordered |= own;
	if (!rack->reordered || rack->in_dsack_round)
		return;
	rack->in_dsack_round = true;
	rack->dsack_round = t->cc.nxt;
	rack->reo_more = min(rack->reo_more + 1, REO_MORE_MAX);
	rack->reo_persist = REO_PERSIST;
}

/**
 * tcon_loss_recovered() - a recovery has ended
 * @t: the tracker
 */
void tcon_loss_recovered(struct tcon_track *t)
{
	struct tcon_rack *rack = &t->rack;

	if (rack->reo_persist && !--rack->reo_persist)
		rack->reo_more = 0;
}

/* Three segments are SACKed, by the two tests of RFC 6675. */
static bool dup_thresh_met(const struct tcon_track *t)
{
	return t->sacked.n >= TCON_DUP_THRESH ||
	       t->sacked.bytes > (TCON_DUP_THRESH - 1) * t->cc.mss_bytes;
}

static u32 reo_wnd_us(const struct tcon_track *t)
{
	const struct tcon_rack *rack = &t->rack;

	if (!rack->reordered &&
	    (t->cc.ca_state != TCON_CA_OPEN || dup_thresh_met(t)))
		return 0;
	if (t->cc.min_rtt_us == TCON_RTT_NONE_US)
		return 0;
	return min_t(u64, (1ULL + rack->reo_more) * (t->cc.min_rtt_us / 4),
		     t->cc.srtt_us);
}

/* Originals, from the edge on.  Returns when to look again; 0: no need. */
static u64 judge_originals(struct tcon_track *t, u32 patience_us, u64 now_us)
{
	const struct tcon_rack *rack = &t->rack;
	struct tcon_sendq *q = &t->sendq;
	struct tcon_send *s;
	u32 i, at, end, noted;

	for (i = tcon_sendq_find(q, t->lost_edge); i != q->tail; i++) {
		s = tcon_sendq_at(q, i);
		end = s->end;
		if (seq_after(s->order, rack->order))
			break;
		if (s->order == rack->order)	/* a super-packet's front */
			end = seq_min(end, rack->end);
		at = seq_max(t->lost_edge, s->start);
		if (!seq_before(at, end))
			break;
		if (tcon_ranges_covered(&t->sacked, at, end) != end - at) {
			if (s->tx_us + patience_us > now_us)
				return s->tx_us + patience_us;
			noted = tcon_loss_mark(t, at, end);
			if (noted != end) {
				t->lost_edge = noted;
				return now_us + RETRY_US;
			}
		}
		t->lost_edge = end;
	}
	return 0;
}

/* Data that was sent again, as judge_originals(). */
static u64 judge_resent(struct tcon_track *t, u32 patience_us, u64 now_us)
{
	const struct tcon_rack *rack = &t->rack;
	struct tcon_resend *r, *next;
	u32 noted;

	list_for_each_entry_safe(r, next, &t->resent.sent, node) {
		if (seq_after(r->tx.order, rack->order))
			break;
		if (r->tx.order == rack->order && seq_after(r->tx.end, rack->end))
			continue;
		if (r->tx.tx_us + patience_us > now_us)
			return r->tx.tx_us + patience_us;
		r->lost = true;
		noted = tcon_loss_mark(t, r->tx.start, r->tx.end);
		if (noted != r->tx.end) {
			r->tx.start = noted;
			r->lost = false;
			return now_us + RETRY_US;
		}
		tcon_resent_judge_lost(&t->resent, r);
	}
	return 0;
}

/**
 * tcon_loss_detect() - judge by what has been delivered
 * @t: the tracker
 * @now_us: the time
 *
 * RFC 8985, 6.2, step 5.  Sets rack.deadline_us.
 */
void tcon_loss_detect(struct tcon_track *t, u64 now_us)
{
	struct tcon_sendq *q = &t->sendq;
	u64 originals_us, resent_us;
	u32 patience_us;

	t->rack.fack = t->rack.fack_next;
	if (!seq_before(t->cc.una, t->rack.dsack_round))
		t->rack.in_dsack_round = false;
	t->rack.deadline_us = 0;
	if (!t->rack.valid || q->head == q->tail || !tcon_track_sack(t))
		return;
	t->lost_edge = seq_max(t->lost_edge, t->cc.una);
	if (!t->resent.n &&
	    seq_after(tcon_sendq_at(q, q->head)->order, t->rack.order))
		return;
	patience_us = t->rack.rtt_us + reo_wnd_us(t);
	originals_us = judge_originals(t, patience_us, now_us);
	resent_us = judge_resent(t, patience_us, now_us);
	if (!originals_us || !resent_us)
		t->rack.deadline_us = max(originals_us, resent_us);
	else
		t->rack.deadline_us = min(originals_us, resent_us);
}
