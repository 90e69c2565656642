// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments that leave towards the peer.  Each gets a record of the state when it left: for the
 * RTT, the rate (draft-cheng-iccrg-delivery-rate-estimation), and to judge losses.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>

#include "base/seq.h"
#include "sender/loss.h"
#include "sender/sent.h"

/* Something leaves: records the state now. */
static void fill_record(struct tcon_track *t, struct tcon_send *s, u64 now_us)
{
	s->order = ++t->tx_order;
	s->tx_us = now_us;
	s->delivered = t->cc.delivered_bytes;
	s->flight_age_us = tcon_track_age_us(t->first_tx_us, now_us);
	s->delivered_age_us = tcon_track_age_us(t->delivered_us, now_us);
	s->lost = t->cc.lost_bytes;
	s->delivered_ce = t->cc.delivered_ce_bytes;
	s->in_flight_bytes = t->cc.inflight_bytes;
	s->app_limited = t->cc.app_limited_until != 0;
	t->sent_us = now_us;
}

/* nxt moves to @end. */
static struct tcon_send *append(struct tcon_track *t, u32 end, u64 now_us)
{
	struct tcon_send *s = tcon_sendq_append(&t->sendq, t->cc.nxt, end);

	t->cc.nxt = end;
	t->sent_us = now_us;
	tcon_track_count_inflight(t);
	if (s)
		fill_record(t, s, now_us);
	return s;
}

/*
 * New data.  A gap before it counts as in flight, too: that data takes another way, or was
 * overtaken on its way from the guest.  When it left is not known.
 */
static void record_new(struct tcon_track *t, u32 start, u32 end, u64 now_us)
{
	struct tcon_send *gap = NULL;

	if (t->cc.una == t->cc.nxt || !t->cc.inflight_bytes) {
		t->first_tx_us = now_us;
		t->delivered_us = now_us;
		if (t->cc.una == t->cc.nxt)
			t->progress_us = now_us;
	}
	if (seq_after(start, t->cc.nxt))
		gap = append(t, start, now_us);
	t->recorded = append(t, end, now_us);
	if (gap)	/* otherwise one record holds both */
		gap->unseen = t->recorded;
	t->probed = false;
	t->max_inflight_bytes = max(t->max_inflight_bytes,
				    t->cc.inflight_bytes);
}

/*
 * Later data has overtaken it, but it leaves for the first time.  So neither Karn's rule nor
 * an undo applies to it.  Without memory it stays a gap.
 */
static void record_late(struct tcon_track *t, u32 start, u32 end, u64 now_us)
{
	struct tcon_send *s = tcon_sendq_fill(&t->sendq, start, end);

	t->sent_us = now_us;
	t->recorded = s;
	if (!s)
		return;
	fill_record(t, s, now_us);
	t->filled_edge = seq_max(t->filled_edge, end);
}

/* @start .. @end leaves again, with or without a record @r: it is in flight once more. */
static void record_again(struct tcon_track *t, u32 start, u32 end, struct tcon_resend *r,
			 u64 now_us)
{
	struct tcon_sendq *q = &t->sendq;
	u32 i = tcon_sendq_find(q, end - 1);

	tcon_loss_unmark(t, start, end, 0);
	tcon_track_count_inflight(t);
	if (!r)
		return;
	r->before_us = max(r->before_us, i == q->tail ? now_us : tcon_sendq_at(q, i)->tx_us);
	fill_record(t, &r->tx, now_us);
}

/* The guest sends it again.  Without memory for a record only a time-out can find it lost again. */
static void record_repeat(struct tcon_track *t, u32 start, u32 end, u64 now_us)
{
	record_again(t, start, end, tcon_resent_add(&t->resent, start, end), now_us);
}

/**
 * tcon_sent_repair() - TCon sends a range again
 * @t: the tracker
 * @start: first sequence number, not before una
 * @end: the one after the last, not after nxt
 * @payload_bytes: of the segment
 * @now_us: the time
 *
 * Return: false without memory: then nothing has changed, and it must not leave.
 */
bool tcon_sent_repair(struct tcon_track *t, u32 start, u32 end,
		      u32 payload_bytes, u64 now_us)
{
	struct tcon_resend *r = tcon_resent_add(&t->resent, start, end);

	if (!r)
		return false;
	record_again(t, start, end, r, now_us);
	r->repair_us = now_us;
	t->sent_bytes += payload_bytes;
	t->repaired_bytes += payload_bytes;
	t->repairs++;
	return true;
}

/* Has TCon repeated the head within an RTO?  A guest's own repeats do not count, or it could avoid
 * time-outs by them.
 */
static bool sees_to_head(const struct tcon_track *t, u64 now_us)
{
	const struct tcon_resend *r = tcon_resent_find(&t->resent, t->cc.una, t->cc.una + 1);

	return r && r->repair_us && now_us - r->repair_us < tcon_track_rto_us(t);
}

/**
 * tcon_sent_repairs_end() - from now on the guest has to repeat lost data
 * @t: the tracker
 *
 * So its next time-out counts, however recent TCon's last repair of the head is.
 */
void tcon_sent_repairs_end(struct tcon_track *t)
{
	struct tcon_resend *r = tcon_resent_find(&t->resent, t->cc.una, t->cc.una + 1);

	/* Data behind it becomes the head with progress; an RTO later its repair is too old. */
	if (r)
		r->repair_us = 0;
}

/*
 * A repeat of the head after an RTO without progress is the guest's time-out.  It counts once in
 * an RTO, since looking at everything in flight takes long.  A tail probe (RFC 8985, 7) that
 * repeats everything in flight looks the same, and is no time-out.  But there is at most one until
 * there is progress.  A probe of a closed window is no time-out either.  Nor is a repeat where
 * TCon repeats the head: the guest does not see the SACKs that come then, and a sender restarts
 * its timer with each such repeat (timer.c).
 */
static bool is_timeout(struct tcon_track *t, u32 start, u32 end, u64 now_us)
{
	bool may_be_probe = end == t->cc.nxt && !t->probed;

	if (start != t->cc.una || tcon_track_persists(t) || sees_to_head(t, now_us))
		return false;
	t->probed |= may_be_probe;
	return !may_be_probe && tcon_track_is_silent(t, t->timeout_us, now_us);
}

/* @start .. @end lies before nxt: a repeat, unless it fills a gap. */
static enum tcon_sent sent_old(struct tcon_track *t, u32 start, u32 end,
			       u32 payload_bytes, u64 now_us)
{
	bool late = !seq_before(start, t->cc.una) &&
		    tcon_sendq_is_gap(&t->sendq, start, end);
	enum tcon_sent what = late ? TCON_SENT_NEW : TCON_SENT_REPEAT;

	if (!late)
		t->repeated_bytes += min(payload_bytes, end - start);
	start = seq_max(start, t->cc.una);
	if (!seq_before(start, end))
		return TCON_SENT_NEW;
	if (is_timeout(t, start, end, now_us)) {
		what = TCON_SENT_TIMEOUT;
		t->timeout_us = now_us;
		tcon_loss_mark_all(t);
	}
	/* Late data that had been judged lost is a repeat, too, so that it can be judged again. */
	if (!late || seq_before(start, t->lost_edge))
		record_repeat(t, start, end, now_us);
	if (late)
		record_late(t, start, end, now_us);
	return what;
}

/**
 * tcon_sent_segment() - a segment of the guest leaves TCon
 * @t: the tracker, synced
 * @start: first sequence number
 * @end: the one after the last; after @start
 * @payload_bytes: of the segment
 * @now_us: the time
 *
 * Return: what it was.  After %TCON_SENT_TIMEOUT everything counts as lost, except what is
 * SACKed and the segment itself.  A segment further ahead than any window reaches is no part
 * of the connection, and not recorded.  For data that leaves for the first time
 * tcon_track.recorded is its record.
 */
enum tcon_sent tcon_sent_segment(struct tcon_track *t, u32 start, u32 end,
				 u32 payload_bytes, u64 now_us)
{
	enum tcon_sent what = TCON_SENT_NEW;
	u32 old_end = seq_min(end, t->cc.nxt);

	t->recorded = NULL;
	if (seq_after(end, t->cc.una + TCON_CWND_MAX_BYTES))
		return what;
	t->sent_bytes += payload_bytes;
	if (seq_after(end, t->nxt_guest))
		t->nxt_guest = end;
	if (seq_before(start, old_end))
		what = sent_old(t, start, old_end, payload_bytes, now_us);
	if (seq_after(end, t->cc.nxt))
		record_new(t, seq_max(start, t->cc.nxt), end, now_us);
	return what;
}

/**
 * tcon_sent_elsewhere() - data has left on another host, and is in flight
 * @t: the tracker, synced, with nothing in flight
 * @end: the sequence number after it
 * @sent_us: when it left, as far as can be told
 *
 * Its rate sample says nothing of what the path can do.
 */
void tcon_sent_elsewhere(struct tcon_track *t, u32 end, u64 sent_us)
{
	struct tcon_send *s;

	t->first_tx_us = sent_us;
	t->delivered_us = sent_us;
	s = append(t, end, sent_us);
	if (s)
		s->app_limited = true;
	t->max_inflight_bytes = t->cc.inflight_bytes;
}

/**
 * tcon_sent_overtaking() - a segment passes that starts below what the guest has sent
 * @t: the tracker, synced
 * @tsval: its time stamp
 * @now_us: the time
 *
 * The peer may remember @tsval.  PAWS (RFC 7323, 5) then discards what arrives later with an
 * older TSval: repairs, and data that waits.  So @tsval is the floor for these, until all of
 * them are acknowledged: when una is at the present nxt.  The floor must not last longer, or the
 * guest's clock wraps and the floor seems newer than it.
 */
void tcon_sent_overtaking(struct tcon_track *t, u32 tsval, u64 now_us)
{
	if (t->cc.una == t->nxt_guest)
		return;
	if (!tcon_track_has_floor(t, now_us) ||
	    seq_after(tsval, t->tsval_floor)) {
		t->tsval_floor = tsval;
		t->tsval_floor_us = now_us;
	}
	t->tsval_floor_end = t->nxt_guest;
	t->has_tsval_floor = true;
}
