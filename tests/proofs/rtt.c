// SPDX-License-Identifier: GPL-2.0-only
/*
 * Round trips and time-outs (sender/acked.c, sender/track.c): no number overflows, and all stay
 * within the longest time-out, for any time stamps and any sequence of samples: what holds before a
 * sample holds after it.
 */
#include "proof.h"
#include "datapath/sender/track.c"
#include "datapath/sender/acked.c"
#include "datapath/sender/timer.c"

static bool is_sane(const struct tcon_track *t)
{
	return t->srtt_x8_us <= 8 * TCON_RTO_MAX_US && t->cc.srtt_us == t->srtt_x8_us / 8 &&
	       t->rttvar_x4_us <= 4 * TCON_RTO_MAX_US + 3;
}

/* Any answer: what it says does not matter here. */
bool tcon_loss_is_too_fast(const struct tcon_track *t, u64 rtt_us)
{
	bool any;

	return any;
}

void prove_rto(void)
{
	struct tcon_track a, b;

	given(is_sane(&a) && is_sane(&b));
	given(a.timer.rto_min_us <= TCON_RTO_MAX_US && a.timer.rto_min_us == b.timer.rto_min_us);
	prove(tcon_track_rto_us(&a) <= TCON_RTO_MAX_US && tcon_track_own_rto_us(&a) <= TCON_RTO_MAX_US);
	prove(tcon_track_rto_us(&a) >= TCON_RTO_MIN_US);
	prove(tcon_track_own_rto_us(&a) >= min(a.timer.rto_min_us, TCON_RTO_INIT_US));
	prove(tcon_track_rto_us(&a) > a.cc.srtt_us || a.cc.srtt_us == TCON_RTO_MAX_US);
	prove(implies(!a.srtt_x8_us, tcon_track_rto_us(&a) == TCON_RTO_INIT_US));
	/* A longer round trip, or one that varies more, has no shorter time-out. */
	prove(implies(a.srtt_x8_us && a.srtt_x8_us <= b.srtt_x8_us && a.rttvar_x4_us <= b.rttvar_x4_us,
		      tcon_track_rto_us(&a) <= tcon_track_rto_us(&b) &&
		      tcon_track_own_rto_us(&a) <= tcon_track_own_rto_us(&b)));
	prove(tcon_track_rttvar_us(&a) <= TCON_RTO_MAX_US);
}

void prove_srtt(void)
{
	struct tcon_track t, before;
	u32 rtt = any_u32();

	given(is_sane(&t));
	before = t;
	update_srtt(&t, rtt);
	rtt = clamp(rtt, 1U, TCON_RTO_MAX_US);
	prove(is_sane(&t));
	/* It moves towards the sample, and not past it. */
	prove(implies(!before.srtt_x8_us, t.cc.srtt_us == rtt));
	prove(implies(before.srtt_x8_us && rtt >= before.cc.srtt_us,
		      t.cc.srtt_us >= before.cc.srtt_us && t.cc.srtt_us <= rtt));
	prove(implies(before.srtt_x8_us && rtt <= before.cc.srtt_us,
		      t.cc.srtt_us <= before.cc.srtt_us && t.cc.srtt_us >= rtt));
}

/* Whatever times an ACK finds in the records. */
void prove_rtt(void)
{
	struct tcon_track t;
	struct tcon_ack ack;
	struct ack_work w = { .out = &ack, .has_tx = any_bool(), .repeated = any_bool(),
			      .unclear = any_bool(), .first_tx_us = any_u64(),
			      .last_tx_us = any_u64(), .again_us = any_u64() };
	u64 now = any_u64(), samples = t.rtt_samples;

	w.now_us = now;
	given(is_sane(&t));
	given(w.first_tx_us <= w.last_tx_us && w.last_tx_us <= now && w.again_us <= now);
	take_rtt(&t, &w, now);
	prove(is_sane(&t));
	prove(ack.rs.rtt_us == -1 || (ack.rs.rtt_us >= 1 && ack.rs.rtt_us <= TCON_RTO_MAX_US));
	prove((ack.rs.rtt_us == -1) == (t.rtt_samples == samples));
	/* Karn: no sample where it is not clear what was answered. */
	prove(implies(w.repeated && w.unclear, ack.rs.rtt_us == -1));
	prove(implies(!w.repeated && !w.has_tx, ack.rs.rtt_us == -1));
}
