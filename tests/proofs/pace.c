// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pacing rates in time and bytes (sender/pace.h), but for what divides by the rate.
 */
#include "proof.h"
#include "datapath/sender/pace.c"

void prove_pace_charge(void)
{
	u32 payload = any_u32(), header = any_u32(), got = tcon_pace_charge_bytes(payload, header);

	given(payload <= 1U << 20 && header <= 1U << 20);
	/* Never less than the payload, nor less than half of all; headers of a full segment are free. */
	prove(got >= payload && 2 * got + 1 >= payload + header);
	prove(got <= payload + header);
	prove(implies(header <= payload, got == payload));
}

void prove_pace_unpaced(void)
{
	struct tcon_track t;
	u32 left;

	given(t.cc.mss_bytes <= 65535);
	left = tcon_pace_unpaced_bytes(&t);
	prove(left <= TCON_UNPACED_SEGS * t.cc.mss_bytes);
	prove(left == 0 || left + t.sent_bytes == TCON_UNPACED_SEGS * t.cc.mss_bytes);
	prove(implies(!t.sent_bytes, left == TCON_UNPACED_SEGS * t.cc.mss_bytes));
}

void prove_pace_burst(void)
{
	struct tcon_cc a, b;

	given(a.min_rtt_us <= b.min_rtt_us);
	given(a.cwnd_bytes == b.cwnd_bytes && a.mss_bytes == b.mss_bytes);
	prove(tcon_pace_burst_bytes(&a) <= TCON_BURST_BYTES);
	prove(tcon_pace_burst_bytes(&a) >= tcon_pace_burst_bytes(&b));
	prove(implies(a.min_rtt_us < TCON_BURST_HALVED_US && a.cwnd_bytes / 3 >= TCON_BURST_BYTES,
		      tcon_pace_burst_bytes(&a) == TCON_BURST_BYTES));
}
