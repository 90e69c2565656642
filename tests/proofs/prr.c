// SPDX-License-Identifier: GPL-2.0-only
/*
 * What may leave in a recovery (sender/prr.c): for any state of the reduction and any ACK.
 *
 * Amounts are below 2^BITS, for what a division of numbers of 64 bits costs; MSS is a constant.
 */
#include "proof.h"
#include "datapath/sender/prr.c"

static u32 any_bytes(void)
{
	return any_u32() & ((1U << BITS) - 1);
}

static struct tcon_cc any_cc(void)
{
	struct tcon_cc cc;

	cc.mss_bytes = MSS;
	cc.cwnd_bytes = any_bytes();
	cc.inflight_bytes = any_bytes();
	given(cc.cwnd_bytes >= TCON_MIN_CWND_SEGS * MSS);
	cc.ca_state = any_u8();
	given(cc.ca_state <= TCON_CA_LOSS);
	return cc;
}

/* A reduction under way, in which @sent bytes have left so far. */
static struct tcon_prr any_prr(u64 sent)
{
	struct tcon_prr p;

	p.active = true;
	p.after = any_bool();
	p.flight_bytes = any_bytes();
	p.delivered_bytes = any_bytes();
	p.may_bytes = any_bytes();
	given(p.flight_bytes >= 1);
	given(p.sent_before <= p.first_after && p.first_after <= p.sent_then && p.sent_then <= sent);
	given(sent - p.sent_before < 1U << BITS);
	return p;
}

void prove_prr_update(void)
{
	u64 sent = any_u64(), burst;
	struct tcon_prr p = any_prr(sent);
	struct tcon_cc cc = any_cc();
	u32 delivered = any_bytes();
	bool safe = any_bool(), first = sent == p.first_after;

	tcon_prr_update(&p, &cc, sent, delivered, safe);
	burst = 2ULL * delivered + TCON_INIT_CWND_SEGS * MSS;
	prove(p.limit_bytes >= MSS && p.limit_bytes <= TCON_CWND_MAX_BYTES);
	prove(p.may_bytes <= burst);
	prove(p.limit_bytes == max(cc.inflight_bytes + p.may_bytes, MSS + 0U));
	prove(implies(first, p.may_bytes >= MSS));
	/* No more than cwnd is in flight for it, but for the first repair and a single segment. */
	prove(implies(cc.inflight_bytes <= cc.cwnd_bytes && !first,
		      p.limit_bytes <= max(cc.cwnd_bytes, MSS + 0U)));
	/* Where cwnd is exceeded after a recovery nothing leaves but the first repair. */
	prove(implies(cc.inflight_bytes > cc.cwnd_bytes && p.after && !first, !p.may_bytes));
	prove(p.sent_then == sent);
}

/* While more than cwnd is in flight, no more leaves than cwnd/RecoverFS of what arrives. */
void prove_prr_proportional(void)
{
	u64 sent = any_u64();
	struct tcon_prr p = any_prr(sent);
	struct tcon_cc cc = any_cc();
	s64 bytes;

	p.sent_before = 0;
	sent = any_bytes();
	given(cc.cwnd_bytes <= p.flight_bytes && p.delivered_bytes <= p.flight_bytes);
	bytes = proportional(&p, &cc, sent) + (s64)(sent - p.sent_before);
	prove(bytes >= 0 && bytes <= (s64)p.delivered_bytes + MSS);
	prove(bytes <= (s64)cc.cwnd_bytes + MSS);
	if (cc.ca_state == TCON_CA_OPEN && !p.after)
		prove(bytes <= p.delivered_bytes);
	else
		prove(!(bytes % MSS) && bytes * p.flight_bytes >= (u64)p.delivered_bytes * cc.cwnd_bytes);
}

/* After a time-out one segment leaves, and at the end of a recovery no more than a burst. */
void prove_prr_begins(void)
{
	u64 sent = any_u64();
	struct tcon_prr p = any_prr(sent), before = p;
	struct tcon_cc cc = any_cc();
	u32 flight = any_bytes();

	p.active = any_bool();
	switch (any_u8() % 3) {
	case 0:
		tcon_prr_timeout(&p, &cc, sent);
		prove(p.may_bytes <= MSS && p.after && !p.delivered_bytes && p.sent_before == sent);
		prove(p.limit_bytes <= max(cc.inflight_bytes, MSS + 0U));
		prove(implies(!cc.inflight_bytes, p.limit_bytes == MSS));
		break;
	case 1:
		tcon_prr_end(&p, &cc, sent);
		prove(p.may_bytes == TCON_INIT_CWND_SEGS * MSS && p.after);
		prove(p.limit_bytes <= cc.cwnd_bytes);
		break;
	case 2:
		before = p;
		tcon_prr_begin(&p, &cc, flight, sent);
		prove(!p.after && p.flight_bytes && !p.may_bytes && p.first_after == sent);
		prove(implies(!before.active || before.after,
			      !p.delivered_bytes && p.sent_before == sent));
		prove(implies(before.active && !before.after,
			      p.delivered_bytes == before.delivered_bytes &&
			      p.flight_bytes == before.flight_bytes));
		prove(implies(cc.ca_state != TCON_CA_OPEN, p.limit_bytes == cc.inflight_bytes + MSS));
		prove(implies(cc.ca_state == TCON_CA_OPEN, p.limit_bytes <= cc.cwnd_bytes));
		break;
	}
	prove(p.active && p.sent_then == sent);
}
