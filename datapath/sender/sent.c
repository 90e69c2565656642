// SPDX-License-Identifier: GPL-2.0-only
/*
 * What leaves towards the peer: a record for each segment of what the world was like
 * then, for RTT, rate (draft-cheng-iccrg-delivery-rate-estimation) and loss.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>

#include "base/seq.h"
#include "sender/loss.h"
#include "sender/sent.h"

/* Something leaves: what the world was like then. */
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
	t->timer.sent_us = now_us;
}

static void record_new(struct tcon_track *t, u32 start, u32 end, u64 now_us)
{
	struct tcon_send *s;

	if (t->cc.una == t->cc.nxt || !t->cc.inflight_bytes) {
		t->first_tx_us = now_us;
		t->delivered_us = now_us;
		if (t->cc.una == t->cc.nxt)
			t->progress_us = now_us;
	}
	s = tcon_sendq_append(&t->sendq, start, end);
	t->cc.nxt = end;
	t->timer.sent_us = now_us;
	t->timer.probed = false;
	tcon_track_count_inflight(t);
	t->max_inflight_bytes = max(t->max_inflight_bytes,
				    t->cc.inflight_bytes);
	t->recorded = s;
	if (s)
		fill_record(t, s, now_us);
}

/* @start .. @end was sent again: it is in flight once more.  Without memory it
 * is so all the same, but only a time-out can find it lost again.
 */
static void record_repeat(struct tcon_track *t, u32 start, u32 end, u64 now_us)
{
	struct tcon_resend *r = tcon_resent_add(&t->resent, start, end);

	tcon_ranges_remove(&t->lost, start, end);
	tcon_track_count_inflight(t);
	if (r)
		fill_record(t, &r->tx, now_us);
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
	tcon_ranges_remove(&t->lost, start, end);
	tcon_track_count_inflight(t);
	fill_record(t, &r->tx, now_us);
	t->sent_bytes += payload_bytes;
	t->repaired_bytes += payload_bytes;
	t->repairs++;
	return true;
}

/*
 * A repeat of the head after an RTO without progress is the guest's time-out, once in an
 * RTO: looking at all that is in flight takes long.  A tail probe (RFC 8985, 7) looks the
 * same where it repeats all that is in flight, and is only counted as one.
 */
static bool is_timeout(const struct tcon_track *t, u32 start, u32 end,
		       u64 now_us)
{
	return start == t->cc.una && end != t->cc.nxt &&
	       tcon_track_is_silent(t, t->timeout_us, now_us);
}

/**
 * tcon_sent_segment() - a segment of the guest leaves TCon
 * @t: the tracker, synced
 * @start: first sequence number
 * @end: the one after the last; after @start
 * @payload_bytes: of the segment
 * @now_us: the time
 *
 * Return: what it was.  After %TCON_SENT_TIMEOUT everything that is not SACKed
 * counts as lost, but for the segment itself.  A segment that lies further ahead
 * than any window reaches is no part of the connection, and not recorded.  Where nxt
 * moves see tcon_track.recorded.
 */
enum tcon_sent tcon_sent_segment(struct tcon_track *t, u32 start, u32 end,
				 u32 payload_bytes, u64 now_us)
{
	enum tcon_sent what = TCON_SENT_NEW;
	u32 old_end = seq_min(end, t->cc.nxt);

	if (seq_after(end, t->cc.una + TCON_CWND_MAX_BYTES))
		return what;
	t->sent_bytes += payload_bytes;
	if (seq_after(end, t->nxt_guest))
		t->nxt_guest = end;
	if (seq_before(start, old_end)) {
		t->repeated_bytes += min(payload_bytes, old_end - start);
		start = seq_max(start, t->cc.una);
		if (seq_before(start, old_end)) {
			what = TCON_SENT_REPEAT;
			if (is_timeout(t, start, end, now_us)) {
				what = TCON_SENT_TIMEOUT;
				t->timeout_us = now_us;
				tcon_loss_mark_all(t);
			}
			record_repeat(t, start, old_end, now_us);
		}
	}
	/* A gap is a packet that passed elsewhere: it is in flight all the same. */
	if (seq_after(end, t->cc.nxt))
		record_new(t, t->cc.nxt, end, now_us);
	return what;
}
