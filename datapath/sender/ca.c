// SPDX-License-Identifier: GPL-2.0-only
/*
 * The congestion-avoidance state of a half-flow, and the calls into its CC.
 *
 *	       loss judged		     time-out seen
 *	OPEN --------------> RECOVERY ------------------------> LOSS --+
 *	  ^			|	 OPEN ------------------> | ^--+ again
 *	  |  una reaches nxt of |				  |
 *	  +--- the entry -------+---------------------------------+
 *	  |  or: nothing was lost after all (undo)
 *
 * A CC hears of a loss when RECOVERY or LOSS begins, at most once per round trip.  As in
 * Linux it does not hear of lost repairs, which RFC 5681, 4.3, takes for a second indication.
 * That does no harm: in RECOVERY no more leaves than arrives (prr.c), so even a full path
 * drains.  The same is true in OPEN for a round trip after an ECN mark (note_mark()).
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "base/seq.h"
#include "sender/ca.h"
#include "sender/loss.h"

static void begin_prr(struct tcon_track *t, u32 flight_bytes)
{
	if (!t->cc.ops->own_recovery)
		tcon_prr_begin(&t->prr, &t->cc, flight_bytes, t->sent_bytes);
}

static void end_prr(struct tcon_track *t)
{
	tcon_prr_end(&t->prr, &t->cc, t->sent_bytes);
	t->cwr_point = t->cc.nxt;
}

/* Data in flight before the ACK that shows a loss.  Data that was SACKed earlier does not count,
 * since it is not delivered again (RFC 9937, 6.1).
 */
static u32 flight_bytes(const struct tcon_track *t)
{
	return t->cc.inflight_bytes + t->lost.bytes + t->newly_bytes;
}

static void set_state(struct tcon_track *t, enum tcon_ca_state state,
		      u64 now_us)
{
	u32 cwnd_bytes = t->cc.cwnd_bytes;

	t->cc.ops->set_state(&t->cc, state, now_us);
	t->cc.ca_state = state;
	/* The reduction for a mark goes on, if the CC has not reduced again. */
	if (state != TCON_CA_RECOVERY || t->cc.cwnd_bytes < cwnd_bytes)
		t->prr.active = false;
	if (state == TCON_CA_RECOVERY)
		begin_prr(t, flight_bytes(t));
}

/*
 * The CC has been called.  While it hears nothing, the rate stays at @rate_bps, the rate before
 * (tcon_ca_unheard()), or below: a CC that does not pace may set none.
 */
static void keep_rate(struct tcon_track *t, u64 rate_bps)
{
	if (unlikely(t->unheard))
		t->cc.pacing_rate_bps = min_not_zero(t->cc.pacing_rate_bps, rate_bps);
}

static void update_prr(struct tcon_track *t, u32 delivered_bytes, bool safe)
{
	if (t->prr.active)
		tcon_prr_update(&t->prr, &t->cc, t->sent_bytes,
				delivered_bytes, safe);
}

/**
 * tcon_ca_start() - let a CC decide for a half-flow
 * @t: the tracker, without a CC
 * @ops: the CC
 * @params: its parameters, which must outlive tcon_ca_stop()
 * @now_us: the time
 *
 * In a flow that runs already, cwnd begins at what is in flight, but at no less than RFC 6928
 * allows a new connection: the guest may just have nothing to send.  It also begins at no less
 * than the same CC had on the host that the guest came from.  A connection that seemed to have
 * ended gains no window by that.  A flow without a loss so far may still be in slow start.  From
 * now on the flow shows nothing of the guest's own CC, so its rounds are forgotten.
 *
 * Return: 0, or the CC's error; then the tracker stays without a CC.
 */
int tcon_ca_start(struct tcon_track *t, const struct tcon_cc_ops *ops,
		  const s64 *params, u64 now_us)
{
	struct tcon_cc *cc = &t->cc;
	u32 initial = TCON_INIT_CWND_SEGS * cc->mss_bytes;
	int err;

	memset(cc->priv, 0, sizeof(cc->priv));
	cc->ops = ops;
	cc->params = params;
	err = ops->prepare ? ops->prepare(cc) : 0;
	if (err) {
		cc->ops = NULL;
		cc->params = NULL;
		return err;
	}
	cc->cwnd_bytes = clamp(max(t->anew ? 0 : cc->inflight_bytes, t->resume_bytes), initial,
			       TCON_CWND_MAX_BYTES);
	t->resume_bytes = 0;
	if (!cc->ssthresh_bytes)
		cc->ssthresh_bytes = cc->lost_bytes ? cc->cwnd_bytes :
						      TCON_SSTHRESH_INFINITE;
	cc->pacing_rate_bps = 0;
	t->unheard = false;
	cc->ca_state = TCON_CA_OPEN;
	t->unproven_bytes = 0;
	t->prr.active = false;
	tcon_rounds_clear(&t->rounds);
	ops->init(cc, now_us);
	return 0;
}

/**
 * tcon_ca_stop() - take the CC away
 * @t: the tracker; without a CC nothing happens
 */
void tcon_ca_stop(struct tcon_track *t)
{
	struct tcon_cc *cc = &t->cc;

	if (!cc->ops)
		return;
	if (cc->ops->release)
		cc->ops->release(cc);
	cc->ops = NULL;
	cc->params = NULL;
	cc->cwnd_bytes = 0;
	cc->pacing_rate_bps = 0;
	t->prr.active = false;
}

static void note_loss(struct tcon_track *t, u32 bytes, u64 now_us)
{
	if (t->cc.ca_state != TCON_CA_OPEN)
		return;
	t->recovery_point = t->cc.nxt;
	t->unproven_bytes = bytes;
	set_state(t, TCON_CA_RECOVERY, now_us);
}

/**
 * tcon_ca_lost() - something was judged lost by a timer
 * @t: the tracker, with a CC
 * @bytes: how much
 * @now_us: the time
 */
void tcon_ca_lost(struct tcon_track *t, u32 bytes, u64 now_us)
{
	u64 rate_bps = t->cc.pacing_rate_bps;

	note_loss(t, bytes, now_us);
	update_prr(t, 0, false);
	keep_rate(t, rate_bps);
}

/*
 * The data that was missing when the recovery began has arrived.  If more is missing by now, the
 * next recovery begins at once, as in Linux.  A CC that looks at the state with each ACK sees one
 * long recovery.  A CC that reduces is told once a round trip.
 */
static void end_recovery(struct tcon_track *t, u64 now_us)
{
	bool reduces = t->prr.active && !t->cc.ops->own_recovery;

	set_state(t, TCON_CA_OPEN, now_us);
	t->unproven_bytes = 0;
	tcon_loss_recovered(t);
	if (reduces)
		end_prr(t);
	/* While repeats are in flight nobody can tell which were needless, so this recovery
	 * is not undone.  A repeat of data never judged lost (beyond judged_edge) is no
	 * sign of loss.
	 */
	if (t->resent.n && seq_before(t->cc.una, t->judged_edge))
		note_loss(t, TCON_CWND_MAX_BYTES, now_us);
	else if (t->lost.n)
		note_loss(t, t->lost.bytes, now_us);
}

/*
 * The path has marked something.  Until more is acknowledged than is in flight now, sending
 * follows delivery, as in a recovery, even if the CC takes nothing away.  This is Linux's
 * TCP_CA_CWR.  So a guest that has paused to gather a super-packet cannot catch up
 * at once.  With DCTCP, whose reductions are small, that decides how much is marked.
 */
static void note_mark(struct tcon_track *t, u64 now_us)
{
	u32 cwnd_bytes = t->cc.cwnd_bytes;

	t->cc.ops->cwnd_event(&t->cc, TCON_CA_EVENT_ECE, now_us);
	if (t->cc.ca_state != TCON_CA_OPEN || tcon_track_marked(t))
		return;
	t->cwr_point = t->cc.nxt;
	begin_prr(t, cwnd_bytes);
}

/*
 * A reduction outside a recovery ends after a round trip, by new data.  The one after a recovery
 * goes on while cwnd is larger than what may leave, and the sender has used the latter.
 */
static void end_cwr(struct tcon_track *t, const struct tcon_rate_sample *rs)
{
	const struct tcon_prr *p = &t->prr;

	if (t->cc.ca_state != TCON_CA_OPEN || !seq_after(t->cc.una, t->cwr_point))
		return;
	if (p->active && p->after && p->limit_bytes < t->cc.cwnd_bytes &&
	    rs->prior_inflight_bytes + t->cc.mss_bytes > p->limit_bytes)
		t->cwr_point = t->cc.nxt;
	else
		t->prr.active = false;
}

static void take_ack(struct tcon_track *t, const struct tcon_ack *ack)
{
	struct tcon_cc *cc = &t->cc;
	u64 now_us = ack->rs.now_us;

	t->newly_bytes = ack->rs.acked_sacked_bytes;
	if (cc->ops->pkts_acked && ack->delivered_any)
		cc->ops->pkts_acked(cc, &ack->rs);
	end_cwr(t, &ack->rs);
	if (ack->rs.is_ece && cc->ops->cwnd_event)
		note_mark(t, now_us);
	if (cc->ca_state != TCON_CA_OPEN) {
		if (ack->spurious) {
			cc->ops->undo_cwnd(cc);
			set_state(t, TCON_CA_OPEN, now_us);
		} else if (!seq_before(cc->una, t->recovery_point)) {
			end_recovery(t, now_us);
		}
	}
	if (ack->rs.losses_bytes) {
		note_loss(t, ack->rs.losses_bytes, now_us);
		/* A tail probe has repaired it already (RFC 8985, 7.4). */
		if (cc->ca_state == TCON_CA_RECOVERY && !t->lost.n &&
		    !t->resent.n)
			end_recovery(t, now_us);
	}
	t->newly_bytes = 0;
	if (!ack->delivered_any)
		return;
	cc->ops->cong_control(cc, &ack->rs);
	update_prr(t, ack->rs.acked_sacked_bytes,
		   ack->una_advanced && !ack->rs.losses_bytes);
}

/* As if @bytes, @marked_bytes of them marked, were not yet acknowledged. */
static void put_off(struct tcon_cc *cc, s32 bytes, s32 marked_bytes)
{
	cc->una -= bytes;
	cc->inflight_bytes += bytes;
	cc->delivered_bytes -= bytes;
	cc->delivered_ce_bytes -= marked_bytes;
}

/*
 * A DCTCP receiver sends two ACKs where marks begin or end: one for what came before, one
 * for what is different (RFC 8257, 3.2).  The guest behind the peer's TCon sends one ACK for
 * both.  In it the CC would see the mark before the growth that it ends.  Or it would take
 * the mark for one of the next round trip, whose data the ACK does not cover.
 */
static void take_in_two(struct tcon_track *t, const struct tcon_ack *ack)
{
	s32 late_bytes = ack->rs.acked_bytes - ack->early_bytes;
	s32 late_marked_bytes = ack->early_marked ? 0 : late_bytes;
	struct tcon_ack part = *ack;

	put_off(&t->cc, late_bytes, late_marked_bytes);
	part.rs.acked_bytes = ack->early_bytes;
	part.rs.acked_sacked_bytes = ack->early_bytes;
	part.rs.is_ece = ack->early_marked;
	take_ack(t, &part);
	put_off(&t->cc, -late_bytes, -late_marked_bytes);
	part.rs.acked_bytes = late_bytes;
	part.rs.acked_sacked_bytes = late_bytes;
	part.rs.is_ece = !ack->early_marked;
	take_ack(t, &part);
}

/**
 * tcon_ca_ack() - tell the CC what an ACK did
 * @t: the tracker, with a CC
 * @ack: from tcon_acked(), valid
 */
void tcon_ca_ack(struct tcon_track *t, const struct tcon_ack *ack)
{
	u64 rate_bps = t->cc.pacing_rate_bps;

	if (ack->early_bytes && t->cc.ops->ecn != TCON_CC_ECN_NONE &&
	    t->cc.ca_state == TCON_CA_OPEN && !ack->rs.losses_bytes)
		take_in_two(t, ack);
	else
		take_ack(t, ack);
	keep_rate(t, rate_bps);
}

/**
 * tcon_ca_timeout() - a retransmission timer went off, the guest's or TCon's
 * @t: the tracker, with a CC
 * @now_us: the time
 *
 * A CC hears of each, as in Linux.  When all is lost again, cwnd must not stay at what it has
 * grown to since the last one (RFC 5681, 3.1).  At first only one segment of cwnd is used, even
 * if the CC has own_recovery (prr.c).
 */
void tcon_ca_timeout(struct tcon_track *t, u64 now_us)
{
	u64 rate_bps = t->cc.pacing_rate_bps;

	t->recovery_point = t->cc.nxt;
	if (t->cc.ca_state != TCON_CA_LOSS)
		t->timeout_cwnd_bytes = t->cc.cwnd_bytes;
	set_state(t, TCON_CA_LOSS, now_us);
	tcon_prr_timeout(&t->prr, &t->cc, t->sent_bytes);
	keep_rate(t, rate_bps);
}

/**
 * tcon_ca_turned() - data sent since a time-out took a way that the guest has given up
 * @t: the tracker, with a CC, in %TCON_CA_LOSS
 * @now_us: the time
 *
 * The data is lost, and leaves again as after a time-out, but the CC is not told.
 */
void tcon_ca_turned(struct tcon_track *t, u64 now_us)
{
	t->timer.restart_us = now_us;
	tcon_loss_mark_all(t);
	tcon_prr_timeout(&t->prr, &t->cc, t->sent_bytes);
}

/**
 * tcon_ca_tx_start() - data leaves after everything was acknowledged
 * @t: the tracker, with a CC
 * @now_us: the time
 */
void tcon_ca_tx_start(struct tcon_track *t, u64 now_us)
{
	u64 rate_bps = t->cc.pacing_rate_bps;

	if (!t->cc.ops->cwnd_event)
		return;
	t->cc.ops->cwnd_event(&t->cc, TCON_CA_EVENT_TX_START, now_us);
	keep_rate(t, rate_bps);
}

/**
 * tcon_ca_unheard() - ACKs take another way, so the CC can learn nothing
 * @t: the tracker, with a CC
 * @now_us: the time
 *
 * Missing ACKs were no sign of loss.  Until tcon_ca_heard() the flow keeps its rate: a cwnd for
 * each round trip, or the CC's pacing rate, if that is less.
 */
void tcon_ca_unheard(struct tcon_track *t, u64 now_us)
{
	struct tcon_cc *cc = &t->cc;
	u32 cwnd_bytes = cc->cwnd_bytes;
	u64 rate_bps;

	if (t->unheard)
		return;
	if (cc->ca_state == TCON_CA_LOSS) {
		cwnd_bytes = max(cwnd_bytes, t->timeout_cwnd_bytes);
		cc->ops->undo_cwnd(cc);
		set_state(t, TCON_CA_OPEN, now_us);
	}
	rate_bps = div_u64(8ULL * USEC_PER_SEC * cwnd_bytes,
			   cc->srtt_us ? : TCON_RTO_INIT_US);
	t->unheard = true;
	t->heard_pacing_bps = cc->pacing_rate_bps;
	cc->pacing_rate_bps = min_not_zero(cc->pacing_rate_bps, rate_bps);
}

/**
 * tcon_ca_heard() - ACKs come by again
 * @t: the tracker, with a CC
 */
void tcon_ca_heard(struct tcon_track *t)
{
	if (!t->unheard)
		return;
	t->unheard = false;
	t->cc.pacing_rate_bps = t->heard_pacing_bps;
}
