// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sender's timers.
 *
 *	reordering	RFC 8985, 6.3: what waits for a late segment no longer
 *	tail probe	RFC 8985, 7: no ACK for two round trips: the last segment
 *			again, so that a SACK may tell what is missing
 *	retransmission	RFC 6298, doubled with each time-out until a round trip is
 *			measured (Karn).  None can be if all in flight has just been sent again:
 *			then until an answer takes as long as usual, or una has advanced several
 *			times without a time-out
 *
 * Where nothing is in flight but the guest's probes of a closed window (RFC 9293, 3.8.6.1),
 * a byte in BSD and Windows, no timer runs.  A peer need not acknowledge those, so a missing
 * ACK says nothing about the path.
 *
 * There is no timer as such.  tcon_timer_next_us() says when to look, and the caller then
 * calls tcon_timer_expire().
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>

#include "base/seq.h"
#include "sender/loss.h"
#include "sender/timer.h"
#include "sender/track.h"

/* A receiver may delay its ACK of a single segment (RFC 8985, 7.2). */
#define ACK_DELAY_US	200000U
/* Two ticks of Linux at 250 Hz: a host that is busy is not a lost tail. */
#define PROBE_SLACK_US	8000U
/* On a path that has become much slower, una seldom advances between time-outs. */
#define ADVANCES	3

/*
 * When did the data at una last leave?  The guest's own repeats count only once, or it could avoid
 * time-outs by them.
 */
static u64 head_tx_us(const struct tcon_track *t)
{
	u64 own_us = max(t->progress_us, t->timer.restart_us);
	const struct tcon_sendq *q = &t->sendq;
	u32 una = t->cc.una;
	struct tcon_resend *r = tcon_resent_find(&t->resent, una, una + 1);

	if (!r)
		return q->head == q->tail ? own_us : max(own_us, tcon_sendq_at(q, q->head)->tx_us);
	own_us = max(own_us, r->repair_us);
	return clamp(r->tx.tx_us, own_us, own_us + tcon_track_own_rto_us(t));
}

static u64 timeout_us(const struct tcon_track *t)
{
	return head_tx_us(t) + min_t(u64, (u64)tcon_track_own_rto_us(t) <<
				     t->timer.backoff, TCON_RTO_MAX_US);
}

/* RFC 8985, 7.2: not while something is known to be missing. */
static bool may_probe(const struct tcon_track *t)
{
	return !t->timer.probe_bytes && !t->probed && !t->timer.backoff &&
	       !t->sacked.n && !t->lost.n && !t->resent.n &&
	       tcon_track_sack(t) && t->srtt_x8_us &&
	       t->cc.ca_state == TCON_CA_OPEN;
}

/* Never after the time-out: then the probe stands in for it. */
static u64 probe_us(const struct tcon_track *t)
{
	bool single = t->cc.nxt - t->cc.una <= t->cc.mss_bytes;
	u64 due_us = max(t->sent_us, t->progress_us) +
		     2ULL * t->cc.srtt_us +
		     (single ? ACK_DELAY_US : PROBE_SLACK_US);

	/* No time-out is as near as that. */
	if (due_us <= t->progress_us + t->timer.rto_min_us)
		return due_us;
	return min(due_us, timeout_us(t));
}

/* When the tail probe or the retransmission is due; 0: not now. */
static u64 silence_us(const struct tcon_track *t)
{
	if (tcon_track_persists(t))
		return 0;
	return may_probe(t) ? probe_us(t) : timeout_us(t);
}

/**
 * tcon_timer_next_us() - when to call tcon_timer_expire()
 * @t: the tracker
 *
 * Return: the time; 0: nothing is in flight, or an ACK comes first.
 */
u64 tcon_timer_next_us(const struct tcon_track *t)
{
	if (t->cc.una == t->cc.nxt)
		return 0;
	return min_not_zero(silence_us(t), t->rack.deadline_us);
}

/**
 * tcon_timer_soonest_us() - time before which no timer of the latest data is due
 * @t: the tracker
 *
 * For callers that only want to know when a look may be worth while.
 *
 * Return: the time; it may be in the past.
 */
u64 tcon_timer_soonest_us(const struct tcon_track *t)
{
	return t->sent_us + min(2ULL * t->cc.srtt_us + PROBE_SLACK_US,
				      (u64)t->timer.rto_min_us);
}

/**
 * tcon_timer_expire() - do what is due
 * @t: the tracker
 * @now_us: the time
 *
 * Return: see &enum tcon_expiry.  The caller tells the CC, and sends.  A probe
 * that cannot be sent is not asked for again: the time-out follows.
 */
enum tcon_expiry tcon_timer_expire(struct tcon_track *t, u64 now_us)
{
	u64 lost_before = t->cc.lost_bytes;

	if (t->cc.una == t->cc.nxt)
		return TCON_EXPIRY_NONE;
	if (t->rack.deadline_us && now_us >= t->rack.deadline_us) {
		tcon_loss_detect(t, now_us);
		tcon_track_count_inflight(t);
		if (t->cc.lost_bytes != lost_before)
			return TCON_EXPIRY_REORDER;
	}
	if (tcon_track_persists(t))
		return TCON_EXPIRY_NONE;
	if (may_probe(t) && now_us >= probe_us(t)) {
		t->timer.restart_us = now_us;
		t->probed = true;
		return TCON_EXPIRY_PROBE;
	}
	if (now_us >= timeout_us(t)) {
		t->timer.restart_us = now_us;
		t->timer.probe_bytes = 0;
		tcon_loss_mark_all(t);
		t->timer.advances = 0;
		t->timer.backoff = min(t->timer.backoff + 1, TCON_DOUBLED_MAX);
		t->timer.tries = min(t->timer.tries + 1, TCON_DOUBLED_MAX);
		return t->timer.tries > TCON_BACKOFF_MAX ? TCON_EXPIRY_GIVE_UP :
							   TCON_EXPIRY_TIMEOUT;
	}
	return TCON_EXPIRY_NONE;
}

/**
 * tcon_timer_probed() - the tail was sent again
 * @t: the tracker
 * @bytes: that the probe repeated
 * @now_us: the time
 */
void tcon_timer_probed(struct tcon_track *t, u32 bytes, u64 now_us)
{
	t->timer.probe_end = t->cc.nxt;
	t->timer.probe_bytes = bytes;
	t->timer.restart_us = now_us;
}

/**
 * tcon_timer_advanced() - una advances
 * @t: the tracker
 * @now_us: the time
 */
void tcon_timer_advanced(struct tcon_track *t, u64 now_us)
{
	t->progress_us = now_us;
	t->timer.tries = 0;
	t->timer.backoff = min(t->timer.backoff, TCON_DOUBLED_KEPT_MAX);
	if (t->timer.advances < ADVANCES)
		t->timer.advances++;
	else
		t->timer.backoff = 0;
	t->probed = false;
}

/**
 * tcon_timer_sampled() - a round trip has been measured (RFC 6298, 5.7; Karn)
 * @t: the tracker
 * @now_us: the time
 *
 * Time-outs without progress still count.
 */
void tcon_timer_sampled(struct tcon_track *t, u64 now_us)
{
	t->timer.backoff = t->timer.tries;
	t->timer.sampled_us = now_us;
	t->timer.late = false;
}

/*
 * Is that a usual round trip?  A shorter one answers an earlier transmission.  In a longer one
 * something waited.
 */
static bool is_usual(const struct tcon_track *t, u64 rtt_us)
{
	return !tcon_loss_is_too_fast(t, rtt_us) && rtt_us <= 2ULL * t->cc.srtt_us;
}

/**
 * tcon_timer_answered() - una has advanced by what had been sent again
 * @t: the tracker
 * @rtt_us: how long before the newest such repeat left
 *
 * Nobody can tell which transmission is answered, so it is no measured round trip (Karn).  But if
 * it is as long as usual, the time-out was not too short: the data, or its ACK, was just lost.
 * (A sender with time stamps sees it by the echo, RFC 7323.  Repairs have the original's time
 * stamp.)
 */
void tcon_timer_answered(struct tcon_track *t, u64 rtt_us)
{
	if (!t->timer.late && is_usual(t, rtt_us))
		t->timer.backoff = t->timer.tries;
}

/**
 * tcon_timer_late() - the peer got something twice that TCon has sent again
 * @t: the tracker
 * @now_us: the time
 *
 * If this is reported long after a time-out, the time-out was shorter than the path.
 */
void tcon_timer_late(struct tcon_track *t, u64 now_us)
{
	if (t->timer.restart_us && !is_usual(t, now_us - t->timer.restart_us))
		t->timer.late = true;
}

/**
 * tcon_timer_needless() - the peer got the probe of the tail twice
 * @t: the tracker
 *
 * If no round trip was measured since it left, the next probe would be needless, too.
 */
void tcon_timer_needless(struct tcon_track *t)
{
	if (t->timer.sampled_us < t->timer.restart_us)
		t->timer.backoff = max_t(u8, t->timer.backoff, 1);
}

/**
 * tcon_timer_acked() - una has been looked at
 * @t: the tracker, una up to date
 * @dsack: the DSACK that came with it, or NULL
 * @bare: the ACK is a duplicate without any SACK block
 *
 * RFC 8985, 7.4: if a probe filled a hole, and the peer does not say that it had the
 * segment already, the tail had been lost.  In a recovery nothing needs to be done for
 * that.
 */
void tcon_timer_acked(struct tcon_track *t, const struct tcon_sack *dsack,
		      bool bare)
{
	struct tcon_timer *timer = &t->timer;

	if (!timer->probe_bytes)
		return;
	if (dsack && dsack->end == timer->probe_end) {
		timer->probe_bytes = 0;
	} else if (!seq_before(t->cc.una, timer->probe_end) &&
		   (bare || t->cc.ca_state != TCON_CA_OPEN)) {
		timer->probe_bytes = 0;
	} else if (seq_after(t->cc.una, timer->probe_end)) {
		t->cc.lost_bytes += timer->probe_bytes;
		timer->probe_bytes = 0;
	}
}
