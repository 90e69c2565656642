// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracker: what is known of a half-flow's sender.
 *
 * From the guest's segments as they leave TCon (sent.c) and the peer's ACKs as they come
 * back (acked.c) it rebuilds what a Linux sender would know of its own connection.
 * One advantage over an observer elsewhere: every transmission passes here, so
 * a range that was judged lost and is acknowledged without having been sent
 * again was not lost.
 *
 * Nothing here needs a kernel.  Callers hold the flow's lock.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "sender/track.h"

/**
 * tcon_track_init() - start with nothing known
 * @t: the tracker
 * @budget: what its memory is charged to; NULL: nothing
 */
void tcon_track_init(struct tcon_track *t, struct tcon_budget *budget)
{
	memset(t, 0, sizeof(*t));
	tcon_resent_init(&t->resent);
	t->sendq.budget = budget;
	t->sacked.budget = budget;
	t->lost.budget = budget;
	t->resent.budget = budget;
	t->cc.mss_bytes = TCON_MSS_DEFAULT;
	t->cc.min_rtt_us = TCON_RTT_NONE_US;
	t->timer.rto_min_us = TCON_RTO_MIN_US;
	t->min_rtt_us[0] = TCON_RTT_NONE_US;
	t->min_rtt_us[1] = TCON_RTT_NONE_US;
	t->guest.wscale = TCON_WSCALE_NONE;
	t->peer.wscale = TCON_WSCALE_NONE;
}

/**
 * tcon_track_release() - give memory back
 * @t: the tracker
 */
void tcon_track_release(struct tcon_track *t)
{
	tcon_sendq_clear(&t->sendq);
	t->recorded = NULL;
	tcon_ranges_clear(&t->sacked);
	tcon_ranges_clear(&t->lost);
	tcon_resent_clear(&t->resent);
	tcon_rounds_clear(&t->rounds);
}

/* RFC 6298; as in Linux the lower bound is on the variation. */
static u32 rto_us(const struct tcon_track *t, u32 least_us)
{
	if (!t->srtt_x8_us)
		return TCON_RTO_INIT_US;
	return min_t(u32, t->cc.srtt_us + max(t->rttvar_x4_us, least_us), TCON_RTO_MAX_US);
}

/**
 * tcon_track_rto_us() - retransmission time-out that the guest should have
 * @t: the tracker
 *
 * Return: microseconds, RFC 6298 with Linux's lower bound.
 */
u32 tcon_track_rto_us(const struct tcon_track *t)
{
	return rto_us(t, TCON_RTO_MIN_US);
}

/**
 * tcon_track_own_rto_us() - retransmission time-out of what TCon repairs
 * @t: the tracker
 *
 * Return: microseconds, RFC 6298 with the lower bound that the flow's rule has.
 */
u32 tcon_track_own_rto_us(const struct tcon_track *t)
{
	return rto_us(t, t->timer.rto_min_us);
}

/**
 * tcon_track_app_limited() - the guest offers less than TCon would let pass
 * @t: the tracker
 */
void tcon_track_app_limited(struct tcon_track *t)
{
	t->cc.app_limited_until = t->cc.delivered_bytes +
				  t->cc.inflight_bytes ? : 1;
}
