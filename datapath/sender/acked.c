// SPDX-License-Identifier: GPL-2.0-only
/*
 * What TCon learns from an ACK of the peer.
 *
 *   una	RFC 9293
 *   SACKed	RFC 2018, lost: RFC 6675 (three segments' worth SACKed beyond),
 *		RFC 6582's duplicate ACKs where the peer has no SACK
 *   RTT	RFC 6298 from transmissions that were not repeated (Karn)
 *   rate	draft-cheng-iccrg-delivery-rate-estimation
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>
#include <linux/math64.h>

#include "base/seq.h"
#include "sender/acked.h"
#include "sender/loss.h"
#include "sender/marks.h"
#include "sender/timer.h"

/* State while one ACK is processed. */
struct ack_work {
	struct tcon_ack *out;
	u64 now_us;
	bool repeated;		/* some of it had been sent again */
	bool filled;		/* and that may be why it has arrived */
	bool unclear;		/* or the transmission before that was */
	u64 again_us;		/* newest such repeat */
	bool has_tx;		/* the next two are valid */
	u64 first_tx_us;	/* oldest unambiguous packet newly covered */
	u64 last_tx_us;		/* newest such */
	bool sampled;		/* the next two are valid */
	struct tcon_send sample;
	u32 sample_end;
	const struct tcon_sack *dsack;	/* NULL: none */
};

/* Nothing is known yet.  Fields not set here are valid only if a flag set here says so. */
static void begin(struct ack_work *w, struct tcon_ack *ack, u64 now_us)
{
	memset(ack, 0, sizeof(*ack));
	w->out = ack;
	w->now_us = now_us;
	w->has_tx = false;
	w->repeated = false;
	w->filled = false;
	w->unclear = false;
	w->again_us = 0;
	w->sampled = false;
	w->dsack = NULL;
}

/* Keep @s as the source of the rate sample if it left later than the others. */
static void consider(struct tcon_track *t, struct ack_work *w,
		     const struct tcon_send *s, u32 end,
		     const struct tcon_send *first)
{
	tcon_loss_delivered(t, s, end, first, w->now_us);
	if (s == first) {
		if (!w->has_tx || s->tx_us < w->first_tx_us)
			w->first_tx_us = s->tx_us;
		if (!w->has_tx || s->tx_us > w->last_tx_us)
			w->last_tx_us = s->tx_us;
		w->has_tx = true;
	}
	if (w->sampled && (seq_before(s->order, w->sample.order) ||
			   (s->order == w->sample.order &&
			    !seq_after(end, w->sample_end))))
		return;
	w->sampled = true;
	w->sample = *s;
	w->sample_end = end;
}

/* @bytes that were judged lost were not lost. */
static void not_lost(struct tcon_track *t, u32 bytes)
{
	t->unproven_bytes -= min(bytes, t->unproven_bytes);
}

/*
 * Can an ACK answer data that left at @tx_us?  The guest has repeated data that was not
 * acknowledged for several time-outs, perhaps by another way, past TCon.  If round trips really
 * become longer, doubled time-outs cover that (timer.c).
 */
static bool can_answer(const struct tcon_track *t, u64 tx_us, u64 now_us)
{
	return now_us - tx_us <= (u64)tcon_track_rto_us(t) << TCON_DOUBLED_KEPT_MAX;
}

/*
 * The parts of @start .. @end that had been sent again are delivered.  Returns their bytes.  An
 * ACK that comes faster than the path allows answers the first transmission, which had not been
 * lost.  With SACK the peer's DSACK will say so.
 */
static u32 deliver_resent(struct tcon_track *t, struct ack_work *w, u32 start,
			  u32 end, const struct tcon_send *first)
{
	struct tcon_resend *r;
	u32 bytes = 0, part;
	bool fast;

	while ((r = tcon_resent_find(&t->resent, start, end))) {
		consider(t, w, &r->tx, seq_min(end, r->tx.end), first);
		fast = tcon_loss_is_too_fast(t, w->now_us - r->tx.tx_us);
		w->unclear |= fast || can_answer(t, r->before_us, w->now_us);
		w->again_us = max(w->again_us, r->tx.tx_us);
		part = tcon_resent_cut(&t->resent, r, start, end);
		if (fast && !tcon_track_sack(t))
			not_lost(t, part);
		bytes += part;
		w->repeated = true;
		w->filled |= !fast;
	}
	return bytes;
}

/*
 * @start .. @end is newly delivered: by which transmissions?  If the original transmissions
 * left in order of sequence, it is enough to look at the first and the last of them.
 */
static void deliver(struct tcon_track *t, struct ack_work *w, u32 start,
		    u32 end)
{
	struct tcon_sendq *q = &t->sendq;
	struct tcon_send *s;
	u32 first = tcon_sendq_find(q, start), i, lo, hi, bytes, again = 0;
	bool ordered = !t->resent.n && !seq_before(start, t->filled_edge);

	for (i = first; i != q->tail; i++) {
		s = tcon_sendq_at(q, i);
		if (!seq_before(s->start, end))
			break;
		if (s->unseen || (ordered && i != first && i + 1 != q->tail &&
				  seq_before(s->end, end)))
			continue;
		lo = seq_max(start, s->start);
		hi = seq_min(end, s->end);
		bytes = t->resent.n ? deliver_resent(t, w, lo, hi, s) : 0;
		again += bytes;
		if (bytes != hi - lo)
			consider(t, w, s, hi, s);
	}
	if (t->resent.n)
		again += deliver_resent(t, w, start, end, NULL);	/* no record */
	if (t->lost.n || unlikely(t->unnoted_bytes))
		not_lost(t, tcon_loss_unmark(t, start, end, again));
}

/* How many of @bytes that have arrived were counted as delivered before? */
static u32 counted(struct tcon_track *t, u32 bytes)
{
	u32 before = min(bytes, t->dup_credit_bytes);

	t->dup_credit_bytes -= before;
	t->dup_bytes -= min(before, t->dup_bytes);
	return before;
}

/*
 * @bytes arrive with an ACK up to @ack of a peer without SACK.  Duplicate ACKs have counted the
 * data behind the hole.  The hole itself, one segment, has arrived only now.  If no repeat has
 * filled it, something was only late: then, as in Linux's tcp_reset_reno_sack(), the earlier
 * duplicates say nothing of what is still in flight.
 */
static void arrived_up_to(struct tcon_track *t, struct ack_work *w, u32 ack, u32 bytes)
{
	u32 most = bytes + (t->cc.nxt - ack), hole = min(bytes, t->cc.mss_bytes);

	if (!w->filled) {
		w->out->rs.acked_sacked_bytes += bytes - counted(t, bytes);
		t->dup_bytes = 0;
		return;
	}
	/* Some duplicate ACKs were not for data behind the hole. */
	hole = min(hole, most - min(most, t->dup_credit_bytes));
	w->out->rs.acked_sacked_bytes += bytes - counted(t, bytes - hole);
}

/* One SACK block above una: add what is new in it, range by range. */
static void take_sack(struct tcon_track *t, struct ack_work *w, u32 start,
		      u32 end)
{
	struct tcon_ranges *set = &t->sacked;
	u32 before = set->bytes, at = start, stop;
	unsigned int i;

	while (seq_before(at, end)) {
		i = tcon_ranges_find(set, at);
		if (i < set->n && !seq_after(set->range[i].start, at)) {
			at = set->range[i].end;
			continue;
		}
		stop = i < set->n ? seq_min(set->range[i].start, end) : end;
		if (tcon_ranges_add(set, at, stop)) {
			w->out->sack_overflow++;
			break;
		}
		deliver(t, w, at, stop);
		at = stop;
	}
	w->out->rs.acked_sacked_bytes += set->bytes - before;
}

/* The guest's SYN is in flight: it takes a sequence number, but is no payload. */
static bool syn_in_flight(const struct tcon_track *t)
{
	return t->guest.syn_seen && !t->guest.acked &&
	       t->cc.una == t->guest.isn;
}

/* RFC 2883, 4: the first block is below the ACK, or within the second. */
static bool is_dsack(const struct tcon_packet *pkt)
{
	const struct tcon_sack *first = &pkt->sacks[0], *second = first + 1;

	return !seq_after(first->end, pkt->ack) ||
	       (pkt->n_sacks > 1 && !seq_before(first->start, second->start) &&
		!seq_after(first->end, second->end));
}

/* How much of @dsack can be true?  Data sent again can be reported only once. */
static u32 believe(struct tcon_track *t, const struct tcon_sack *dsack)
{
	u64 again = t->repaired_bytes + t->repeated_bytes - t->dsacked_bytes;
	u32 bytes = min_t(u64, dsack->end - dsack->start, again);

	t->dsacked_bytes += bytes;
	return bytes;
}

/*
 * Can it be of data that was sent again?  Such data was acknowledged with all behind it, at most a
 * few windows ago.  A firewall that shifts sequence numbers may not shift them in SACK blocks.
 */
static bool is_possible(const struct tcon_track *t, const struct tcon_sack *dsack)
{
	u64 most = 4ULL * max(t->max_inflight_bytes, t->prev_max_inflight_bytes) + U16_MAX;

	return !seq_after(dsack->end, t->cc.nxt) &&
	       !seq_before(dsack->start, t->cc.una - (u32)min_t(u64, most, TCON_CWND_MAX_BYTES));
}

/* The peer got @dsack twice.  A probe's second copy was no mistake. */
static void take_dsack(struct tcon_track *t, struct ack_work *w,
		       const struct tcon_sack *dsack)
{
	u32 bytes;
	bool own;

	if (!is_possible(t, dsack))
		return;
	w->dsack = dsack;
	bytes = believe(t, dsack);
	if (t->timer.probe_bytes && dsack->end == t->timer.probe_end) {
		tcon_timer_needless(t);
		return;
	}
	own = t->spurious_repairs < t->repairs;
	if (own)
		tcon_timer_late(t, w->now_us);
	w->out->spurious_repairs += own;
	not_lost(t, bytes);
	tcon_loss_dsack(t, own);
}

static void take_sacks(struct tcon_track *t, const struct tcon_packet *pkt,
		       struct ack_work *w)
{
	u32 start, end;
	int i;

	/* A peer that did not agree to SACK is counted by its duplicate ACKs. */
	if (!tcon_track_sack(t) || syn_in_flight(t))
		return;
	for (i = 0; i < pkt->n_sacks; i++) {
		start = pkt->sacks[i].start;
		end = pkt->sacks[i].end;
		if (!seq_before(start, end))
			continue;
		if (!i && is_dsack(pkt)) {
			take_dsack(t, w, &pkt->sacks[0]);
			continue;
		}
		start = seq_max(start, t->cc.una);
		if (seq_before(start, end) && !seq_after(end, t->cc.nxt))
			take_sack(t, w, start, end);
	}
}

/*
 * una advances, of a peer without SACK.  If nothing was missing there, and its ACK still came
 * several times, each ACK does: the peer or the path doubles them.  That must be seen twice in a
 * row, since segments that overtake others look the same once.
 */
static void learn_copies(struct tcon_track *t, const struct ack_work *w)
{
	if (!w->filled) {
		t->dup_copies = min_t(u32, t->dup_acks, t->dup_acks_before);
		t->dup_acks_before = min_t(u32, t->dup_acks, U8_MAX);
	}
	t->dup_acks = 0;
}

/* una moves to @ack. */
static void take_cumulative(struct tcon_track *t, u32 ack, u64 now_us,
			    struct ack_work *w)
{
	struct tcon_rate_sample *rs = &w->out->rs;
	u32 una = t->cc.una, acked = ack - una, fresh;
	unsigned int i;
	u32 at = una;

	fresh = acked;
	if (t->sacked.n)
		fresh -= tcon_ranges_covered(&t->sacked, una, ack);
	for (i = 0; seq_before(at, ack); i++) {
		bool more = i < t->sacked.n;
		u32 stop = more ? seq_min(t->sacked.range[i].start, ack) : ack;

		if (seq_before(at, stop))
			deliver(t, w, at, stop);
		at = more ? t->sacked.range[i].end : ack;
	}
	if (syn_in_flight(t)) {
		t->guest.acked = true;
		acked--;
		fresh--;
	}
	rs->acked_bytes = acked;
	if (tcon_track_sack(t)) {
		rs->acked_sacked_bytes += fresh;
	} else {
		arrived_up_to(t, w, ack, fresh);
		learn_copies(t, w);
	}
	t->acked_bytes += acked;
	if (acked)
		t->busy_us += now_us - t->progress_us;
	t->cc.una = ack;
	tcon_timer_advanced(t, now_us);
	tcon_ranges_trim(&t->sacked, ack);
	t->acked_entered_us = tcon_sendq_ack(&t->sendq, ack) ? : now_us;
	t->guest_rtt_us = max(tcon_track_age_us(t->acked_entered_us, now_us),
			      t->guest_rtt_us - t->guest_rtt_us / 8);
	if (t->resent.n)
		tcon_resent_ack(&t->resent, una, ack);
	t->lost_edge = seq_max(t->lost_edge, ack);
	t->judged_edge = seq_max(t->judged_edge, ack);
	t->filled_edge = seq_max(t->filled_edge, ack);
	if (!seq_before(ack, t->tsval_floor_end))
		t->has_tsval_floor = false;
	w->out->una_advanced = true;
}

/* How much can lie behind the hole at una?  Neither the hole, of a segment, nor what is lost. */
static u32 behind_hole(const struct tcon_track *t)
{
	u32 span = t->cc.nxt - t->cc.una, gone = t->lost.bytes;

	if (t->lost.n && t->lost.range[0].start == t->cc.una)
		gone = max(gone, t->cc.mss_bytes);
	else
		gone += t->cc.mss_bytes;
	return span - min(span, gone + t->sacked.bytes);
}

/* Are there enough segments behind the hole for duplicate ACKs to signal a loss?  With fewer, the
 * ACKs are copies (Linux's tcp_check_reno_reordering()).
 */
static bool has_enough_behind(const struct tcon_track *t)
{
	u32 records = t->sendq.tail - t->sendq.head;

	return records + behind_hole(t) / t->cc.mss_bytes > TCON_DUP_THRESH;
}

/*
 * RFC 6582: each duplicate ACK means that a segment has arrived, unless each ACK comes several
 * times.  No more can have arrived than is behind the hole (Linux's tcp_limit_reno_sacked()).
 * Duplicate ACKs of the point where a recovery ended may come from needless repeats (3.2, step 1),
 * so they are no sign of a loss.
 */
static void count_duplicate(struct tcon_track *t, struct ack_work *w)
{
	u32 span = t->cc.nxt - t->cc.una, mss = t->cc.mss_bytes, each = 1 + t->dup_copies;
	u32 known = t->sacked.bytes + t->dup_credit_bytes + mss, behind, bytes;

	t->dup_acks += t->dup_acks < U16_MAX;
	if (!span || t->dup_acks % each)
		return;
	if (t->dup_acks >= TCON_DUP_THRESH * each && has_enough_behind(t) &&
	    t->cc.una != t->recovery_point && !seq_after(t->lost_edge, t->cc.una))
		tcon_loss_mark_head(t);
	behind = behind_hole(t);
	t->dup_bytes += min(mss, behind - min(behind, t->dup_bytes));
	bytes = min(mss, span - min(span, known));
	t->dup_credit_bytes += bytes;
	w->out->rs.acked_sacked_bytes += bytes;
}

/* A partial ACK shows the next hole of a peer without SACK (RFC 6582, 3.2). */
static void judge(struct tcon_track *t, const struct tcon_ack *ack, u64 now_us)
{
	tcon_loss_detect(t, now_us);
	if (!tcon_track_sack(t) && ack->una_advanced &&
	    t->cc.ca_state != TCON_CA_OPEN &&
	    seq_before(t->cc.una, t->recovery_point) &&
	    !seq_after(t->lost_edge, t->cc.una))
		tcon_loss_mark_head(t);
}

/* RFC 5681, 2.  As in Linux the window of a duplicate may be smaller, but not larger.  An ACK
 * with a zero window answers a window probe.  Window fields are compared as they are: both have
 * the same shift, which is not known where the handshake passed unseen.
 */
static bool is_duplicate(const struct tcon_track *t,
			 const struct tcon_packet *pkt)
{
	return pkt->ack == t->cc.una && pkt->window &&
	       pkt->window <= t->peer_window &&
	       tcon_packet_is_pure_ack(pkt) && !syn_in_flight(t);
}

/* Data that waited behind a closed window was late for that reason, so timers restart. */
static void take_window(struct tcon_track *t, const struct tcon_packet *pkt,
			u64 now_us)
{
	if (t->zero_window && pkt->window)
		t->timer.restart_us = now_us;
	if (!t->zero_window && !pkt->window)
		t->closed_nxt = t->cc.nxt;
	t->peer_window = pkt->window;
	t->zero_window = !pkt->window;
}

/* Keeps the newest time stamps, for the ACKs that TCon makes.  The latest ACK may have been
 * overtaken, and the guest discards an ACK with a stamp older than it remembers (RFC 7323, 5).
 */
static void take_stamps(struct tcon_track *t, const struct tcon_packet *pkt,
			u64 now_us)
{
	if (!pkt->has_ts ||
	    (seq_before(pkt->tsval, t->peer_tsval) && t->peer_tsval_us &&
	     now_us - t->peer_tsval_us < TCON_TSVAL_AGE_US))
		return;
	t->peer_tsval = pkt->tsval;
	t->peer_tsecr = pkt->tsecr;
	t->peer_tsval_us = now_us;
}

static void update_min_rtt(struct tcon_track *t, u32 rtt_us, u64 now_us)
{
	u64 age_us = now_us - t->min_rtt_bucket_us;

	if (age_us >= TCON_MIN_RTT_BUCKET_US) {
		t->min_rtt_us[1] = age_us < 2 * TCON_MIN_RTT_BUCKET_US ?
				   t->min_rtt_us[0] : TCON_RTT_NONE_US;
		t->min_rtt_us[0] = rtt_us;
		t->min_rtt_bucket_us = now_us;
	}
	t->min_rtt_us[0] = min(t->min_rtt_us[0], rtt_us);
	t->cc.min_rtt_us = min(t->min_rtt_us[0], t->min_rtt_us[1]);
}

/* RFC 6298, 2.2 and 2.3. */
static void update_srtt(struct tcon_track *t, u32 rtt_us)
{
	s32 err;

	rtt_us = clamp_t(u32, rtt_us, 1, TCON_RTO_MAX_US);
	if (!t->srtt_x8_us) {
		t->srtt_x8_us = rtt_us * 8;
		t->rttvar_x4_us = rtt_us * 2;
	} else {
		err = rtt_us - t->srtt_x8_us / 8;
		t->srtt_x8_us += err;
		t->rttvar_x4_us += abs(err) - t->rttvar_x4_us / 4;
	}
	t->cc.srtt_us = t->srtt_x8_us / 8;
}

#define SYN_REPEATED_US		(3 * TCON_RTO_INIT_US)

/*
 * When did the data that this ACK answers leave?  Sets the times of the oldest and the newest;
 * false if that is unclear (Karn; as Linux does).  Data behind a hole that was not SACKed is
 * acknowledged with the hole, however long that stood.  So if there was a repeat, only it counts.
 */
static bool find_answered(const struct tcon_track *t, struct ack_work *w)
{
	if (w->repeated) {
		w->first_tx_us = w->again_us;
		w->last_tx_us = w->again_us;
		return !w->unclear && can_answer(t, w->again_us, w->now_us);
	}
	/* The first one is of a SYN, which is repeated after 3 s by any stack (RFC 6298, 5.7). */
	if (!w->has_tx || (!t->srtt_x8_us && w->now_us - w->first_tx_us > SYN_REPEATED_US))
		return false;
	return can_answer(t, w->first_tx_us, w->now_us);
}

static void take_rtt(struct tcon_track *t, struct ack_work *w, u64 now_us)
{
	struct tcon_rate_sample *rs = &w->out->rs;

	rs->rtt_us = -1;
	if (!find_answered(t, w)) {
		if (w->out->una_advanced && w->repeated)
			tcon_timer_answered(t, now_us - w->again_us);
		return;
	}
	rs->rtt_us = clamp_t(s64, now_us - w->last_tx_us, 1, TCON_RTO_MAX_US);
	t->rtt_sum_us += rs->rtt_us;
	t->rtt_samples++;
	update_min_rtt(t, rs->rtt_us, now_us);
	update_srtt(t, min_t(u64, now_us - w->first_tx_us, U32_MAX));
	tcon_timer_sampled(t, now_us);
}

/* draft-cheng-iccrg-delivery-rate-estimation, 3.3. */
static void take_rate(struct tcon_track *t, struct ack_work *w, u64 now_us)
{
	struct tcon_rate_sample *rs = &w->out->rs;
	const struct tcon_send *s = &w->sample;

	rs->delivered_bytes = -1;
	rs->interval_us = -1;
	if (!w->sampled)
		return;
	t->first_tx_us = s->tx_us;
	rs->prior_delivered = s->delivered;
	rs->tx_in_flight_bytes = s->in_flight_bytes;
	rs->is_app_limited = s->app_limited;
	rs->lost_bytes = (u32)t->cc.lost_bytes - s->lost;
	rs->prior_lost = t->cc.lost_bytes - rs->lost_bytes;
	rs->delivered_ce_bytes = (u32)t->cc.delivered_ce_bytes -
				 s->delivered_ce;
	rs->prior_delivered_ce = t->cc.delivered_ce_bytes -
				 rs->delivered_ce_bytes;
	rs->snd_interval_us = s->flight_age_us;
	rs->rcv_interval_us = tcon_track_age_us(s->tx_us - s->delivered_age_us, now_us);
	rs->interval_us = max(rs->snd_interval_us, rs->rcv_interval_us);
	/* An interval shorter than the least RTT comes from compressed ACKs. */
	if (!rs->interval_us ||
	    (t->cc.min_rtt_us != TCON_RTT_NONE_US &&
	     rs->interval_us < t->cc.min_rtt_us)) {
		rs->interval_us = -1;
		return;
	}
	rs->delivered_bytes = t->cc.delivered_bytes - rs->prior_delivered;
	t->cc.last_rate_bps = tcon_acked_sample_bps(rs);
}

/**
 * tcon_acked_sample_bps() - delivery rate of a sample
 * @rs: with a valid interval
 *
 * Return: bits/s.
 */
u64 tcon_acked_sample_bps(const struct tcon_rate_sample *rs)
{
	return div64_u64((u64)rs->delivered_bytes * 8 * 1000000,
			 rs->interval_us);
}

/*
 * Did TCon's cwnd bind in this round or the last?  As tcp_is_cwnd_limited().
 *
 * This is what draft-ietf-ccwg-ratelimited-increase asks: whatever keeps a sender from using
 * its cwnd, cwnd must not grow beyond what one window of the largest FlightSize would yield.
 * That is twice this size in slow start, and a segment more in avoidance.  A guest that TCon's
 * window holds back is the plain case, since that window follows from cwnd, and what is in flight
 * reaches cwnd.  If the guest's own cwnd, its application, the peer's window or the room for
 * copies binds, less is in flight, and cwnd stands.  For a CC that goes by rates, samples are
 * marked as app-limited.
 *
 * Three things differ.  The largest FlightSize is taken over two rounds, not since the last
 * reduction, so a flow may grow less.  The bound is checked before an ACK is counted, so cwnd may
 * exceed it by what one ACK acknowledges.  And in avoidance a guest may lack up to a
 * super-packet, which it gathers before it sends although it would be allowed to send.
 */
static bool cwnd_limited(const struct tcon_track *t)
{
	u32 most = max(t->max_inflight_bytes, t->prev_max_inflight_bytes);
	u32 cwnd = t->cc.cwnd_bytes;

	if (cwnd < t->cc.ssthresh_bytes)
		return cwnd < 2 * most;
	/* A guest gathers up to a super-packet before it sends. */
	return most + max(2 * t->cc.mss_bytes, min(cwnd / 8, 65536U)) >= cwnd;
}

static void end_round(struct tcon_track *t)
{
	if (seq_before(t->cc.una, t->round_end))
		return;
	t->round_end = t->cc.nxt;
	t->prev_max_inflight_bytes = t->max_inflight_bytes;
	t->max_inflight_bytes = t->cc.inflight_bytes;
}

/* As Linux's FLAG_ACK_MAYBE_DELAYED: a receiver delays the ACK of a single part of a
 * segment, unless it has a mark to report.
 */
static bool ack_delayed(const struct tcon_track *t,
			const struct tcon_rate_sample *rs)
{
	return rs->tx_in_flight_bytes &&
	       rs->tx_in_flight_bytes < t->cc.mss_bytes && !rs->is_ece;
}

/**
 * tcon_acked() - an ACK of the peer passes on its way to the guest
 * @t: the tracker, synced
 * @pkt: the segment, with %TCON_TCP_ACK
 * @now_us: the time
 * @ack: what it did
 */
void tcon_acked(struct tcon_track *t, const struct tcon_packet *pkt, u64 now_us,
		struct tcon_ack *ack)
{
	struct tcon_rate_sample *rs = &ack->rs;
	struct ack_work w tcon_uninitialized;
	u64 lost_before = t->cc.lost_bytes;
	u32 unproven = t->unproven_bytes;
	bool duplicate;

	begin(&w, ack, now_us);
	if (!seq_between(pkt->ack, t->cc.una, t->cc.nxt))
		return;
	ack->valid = true;
	rs->now_us = now_us;
	rs->prior_inflight_bytes = t->cc.inflight_bytes;
	rs->has_ts = pkt->has_ts;
	rs->peer_tsval = pkt->tsval;

	take_sacks(t, pkt, &w);
	duplicate = is_duplicate(t, pkt);
	if (pkt->ack != t->cc.una)
		take_cumulative(t, pkt->ack, now_us, &w);
	else if (duplicate && !tcon_track_sack(t))
		count_duplicate(t, &w);
	take_window(t, pkt, now_us);
	take_stamps(t, pkt, now_us);
	tcon_timer_acked(t, w.dsack, duplicate && !pkt->n_sacks);
	judge(t, ack, now_us);
	if (unlikely(ack->spurious_repairs))
		t->spurious_repairs += ack->spurious_repairs;

	tcon_marks_take(t, pkt, rs->acked_sacked_bytes, ack);
	if (rs->acked_sacked_bytes) {
		t->cc.delivered_bytes += rs->acked_sacked_bytes;
		t->delivered_us = now_us;
	}
	if (t->cc.app_limited_until &&
	    t->cc.delivered_bytes > t->cc.app_limited_until)
		t->cc.app_limited_until = 0;
	tcon_track_count_inflight(t);
	take_rtt(t, &w, now_us);
	take_rate(t, &w, now_us);
	rs->losses_bytes = t->cc.lost_bytes - lost_before;
	rs->is_cwnd_limited = cwnd_limited(t);
	rs->is_ack_delayed = ack_delayed(t, rs);
	ack->original = w.has_tx && rs->acked_sacked_bytes;
	ack->delivered_any = rs->acked_sacked_bytes || rs->losses_bytes;
	ack->spurious = unproven && !t->unproven_bytes;
	end_round(t);
}

/**
 * tcon_acked_observed() - record the round that an ACK has ended, if it did
 * @t: the tracker, of a flow without a CC; tcon_acked() has processed the ACK
 * @peer_bytes: the window that the peer offered before
 * @now_us: the time
 */
void tcon_acked_observed(struct tcon_track *t, u32 peer_bytes, u64 now_us)
{
	u32 most = t->prev_max_inflight_bytes, mss = t->cc.mss_bytes;
	const struct tcon_sums sums = {
		.now_us = now_us,
		.busy_us = t->busy_us,
		.lost_bytes = t->cc.lost_bytes,
		.ece_acks = t->ece_acks,
		.rtt_sum_us = t->rtt_sum_us,
		.rtt_samples = t->rtt_samples,
		.timeout_us = t->timeout_us,
	};

	if (likely(t->round_end == t->rounds.round_end))
		return;
	t->rounds.round_end = t->round_end;
	tcon_rounds_end(&t->rounds, t->sendq.budget, &sums,
			min_t(u32, DIV_ROUND_CLOSEST(most, mss), U16_MAX),
			(u64)most + 2 * mss > peer_bytes);
}
