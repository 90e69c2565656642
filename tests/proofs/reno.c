// SPDX-License-Identifier: GPL-2.0-only
/*
 * Slow start and undo of Reno (algorithms/reno.h), which other CCs share: cwnd stays within what the
 * watchdog accepts.  What holds before a call holds after it.
 */
#include "proof.h"
#include "datapath/include/tcon/cc.h"
#include "algorithms/reno.c"

static bool is_within(const struct tcon_cc *cc, const struct tcon_reno *r)
{
	return cc->cwnd_bytes >= TCON_MIN_CWND_SEGS * MSS && cc->cwnd_bytes <= TCON_CWND_MAX_BYTES &&
	       cc->ssthresh_bytes >= TCON_MIN_CWND_SEGS * MSS &&
	       r->saved_cwnd_bytes <= TCON_CWND_MAX_BYTES &&
	       (!r->saved_cwnd_bytes || r->saved_ssthresh_bytes >= TCON_MIN_CWND_SEGS * MSS);
}

static void any_flow(struct tcon_cc *cc, struct reno *ca)
{
	struct reno any;

	*ca = any;
	ca->reno.reduced = any_bool();
	ca->reno.reduced_by_ece = any_bool();
	cc->mss_bytes = MSS;
	cc->ca_state = any_u8();
	given(cc->ca_state <= TCON_CA_LOSS && is_within(cc, &ca->reno));
}

void prove_reno_undo(void)
{
	struct tcon_cc cc;
	struct reno *ca = tcon_cc_priv(&cc);
	u32 cwnd, ssthresh;

	any_flow(&cc, ca);
	cwnd = cc.cwnd_bytes;
	ssthresh = cc.ssthresh_bytes;
	/* The window after a reduction for ECE is ssthresh, which cwnd had exceeded. */
	given(!ca->reno.reduced_by_ece || cc.ssthresh_bytes <= TCON_CWND_MAX_BYTES);
	tcon_reno_undo_cwnd(&cc);
	prove(is_within(&cc, &ca->reno));
	prove(cc.cwnd_bytes >= cwnd && cc.ssthresh_bytes >= ssthresh);
	cwnd = cc.cwnd_bytes;
	tcon_reno_undo_cwnd(&cc);
	prove(cc.cwnd_bytes == cwnd);
}

void prove_reno_slow_start(void)
{
	struct tcon_cc cc;
	struct reno *ca = tcon_cc_priv(&cc);
	u32 acked = any_u32(), cwnd, left;

	any_flow(&cc, ca);
	cwnd = cc.cwnd_bytes;
	left = tcon_reno_slow_start(&cc, acked);
	prove(is_within(&cc, &ca->reno));
	prove(left <= acked && cc.cwnd_bytes == cwnd + (acked - left));
	prove(implies(cwnd < cc.ssthresh_bytes, cc.cwnd_bytes <= cc.ssthresh_bytes));
	prove(implies(cwnd >= cc.ssthresh_bytes, left == acked));
}
