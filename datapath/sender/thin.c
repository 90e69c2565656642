// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which of the peer's ACKs a guest in slow start should not get.
 *
 * A guest's HyStart (Linux's CUBIC; RFC 9406) may end its slow start too early.  The guest
 * then needs seconds until its cwnd no longer limits it.  HyStart ends slow start when
 *
 *   - ACKs have come less than 2 ms apart for half of the least round trip.  Under
 *     TCon's pacing, or where a queue begins, they do.  One gap in that time restarts
 *     HyStart's count.
 *   - more than eight ACKs of a round trip have come, and all of them late by more
 *     than an eighth of the least round trip, at least 4 ms.  The cause may be a queue
 *     that the CC wants, the pacer, or a repair for which una stood still.  Then the
 *     guest is given fewer ACKs.
 *
 * The guest's clock decides what is late: its data may have waited for the pacer, and data
 * behind a hole is acknowledged only when the hole has been repaired.
 *
 * If the peer sends, too, the queue of its data makes ACKs late, and they come with data.  Then
 * the acknowledgment number is held back.
 *
 * Only an ACK that others will follow is held back, and no more than needed.  A guest
 * with a CC of its own measures by ACKs what the path delivers.  And delivered data takes
 * room in its cwnd until it is told so.  After a time-out no ACK is held back: for a guest
 * whose own timer is about to go off each one counts.
 */
#include <linux/kernel.h>
#include <linux/math64.h>

#include "sender/thin.h"

/* If all ACKs come late, the guest gets no more than this per round trip of its own. */
#define LATE_ACKS		5
/* Just beyond HyStart's notion of close. */
#define GAP_US			2200U
/* With fewer segments than this in flight the next ACK may be long in coming. */
#define FEW_SEGS		4
/* HyStart sees no train in a shorter RTT: since Linux 5.6 it allows a pacer 1 ms. */
#define SHORT_US		500U
/* Half of what HyStart allows a round trip to be longer than the least. */
#define LATE_US_MIN		2000U
#define LATE_US_MAX		8000U
#define LATE_SHARE		16

static bool is_late(const struct tcon_cc *cc, u64 rtt_us)
{
	return rtt_us > cc->min_rtt_us + clamp(cc->min_rtt_us / LATE_SHARE,
					       LATE_US_MIN, LATE_US_MAX);
}

/**
 * tcon_thin_holds_back() - would an ACK end the guest's slow start?
 * @thin: what the guest was given
 * @t: the tracker, which has taken the ACK in
 * @ack: acknowledgment number of the ACK
 * @now_us: the time
 *
 * Context: any.
 * Return: true: it should not be given to the guest.
 */
bool tcon_thin_holds_back(const struct tcon_thin *thin,
			  const struct tcon_track *t, u32 ack, u64 now_us)
{
	const struct tcon_cc *cc = &t->cc;
	u64 rtt_us = now_us - t->acked_entered_us;	/* the guest's */
	u32 flight = cc->nxt - ack;
	u64 since_us = now_us - thin->told_us;

	if (flight <= FEW_SEGS * cc->mss_bytes || flight < ack - thin->told_ack ||
	    cc->min_rtt_us < SHORT_US || cc->ca_state == TCON_CA_LOSS)
		return false;
	if (since_us < GAP_US)
		return since_us + thin->train_us > 3 * (cc->min_rtt_us / 8) ||
		       is_late(cc, rtt_us);
	return since_us < div_u64(rtt_us, LATE_ACKS) && is_late(cc, rtt_us);
}

/**
 * tcon_thin_told() - an ACK is given to the guest
 * @thin: what it was given before
 * @ack: acknowledgment number
 * @now_us: the time
 *
 * Context: any.
 */
void tcon_thin_told(struct tcon_thin *thin, u32 ack, u64 now_us)
{
	u64 since_us = now_us - thin->told_us;

	thin->train_us = since_us < GAP_US ? min_t(u64, thin->train_us + since_us, U32_MAX) : 0;
	thin->run_bytes -= min(thin->run_bytes, ack - thin->told_ack);
	thin->told_ack = ack;
	thin->told_us = now_us;
	thin->unheard = false;
	thin->owed = false;
	thin->passed_by = false;
}
