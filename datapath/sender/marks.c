// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an ACK says of ECN marks.
 */
#include "base/seq.h"
#include "sender/ack.h"
#include "sender/marks.h"

/* A mark is answered within one round trip, or with a CWR that is lost in three. */
#define ECE_ROUNDS	4

/* An ACK comes as soon as marks begin or end (ecn.c).  So it covers one such change at the
 * most, and the data before the change is marked or not as the last data was.  For an ACK of
 * more than the two segments that a receiver waits for (RFC 5681, 4.2) this is not known.
 */
static void find_change(struct tcon_track *t, struct tcon_ack *ack, u32 marked)
{
	u32 acked = ack->rs.acked_bytes;

	if (!acked || acked != ack->rs.acked_sacked_bytes)
		return;
	if (!marked || marked >= acked) {
		t->ce_last = marked;
		return;
	}
	if (acked > 2 * t->cc.mss_bytes)
		return;
	ack->early_marked = t->ce_last;
	ack->early_bytes = t->ce_last ? marked : acked - marked;
	t->ce_last = !t->ce_last;
}

/* By how much has the peer's count grown?  If the count was missing for a while, it restarts: ECE
 * has reported the marks of that time.
 */
static u32 take_count(struct tcon_track *t, const struct tcon_packet *pkt)
{
	u32 marked = 0;

	if (!t->ce_lapsed && seq_after(pkt->ce_bytes, t->ce_total))
		marked = pkt->ce_bytes - t->ce_total;
	if (t->ce_lapsed || marked)
		t->ce_total = pkt->ce_bytes;
	t->ce_lapsed = false;
	t->ce_exact = true;
	t->ece_rounds = ECE_ROUNDS;
	t->ece_round_end = t->cc.nxt;
	return marked;
}

/*
 * Has the peer's TCon ceased to count?  It may have been unloaded, or the peer may have been
 * moved to another host.  ECE begins with a mark, so one of the next ACKs should have a count.
 * ECE goes on until CWR has arrived, and CWR may be lost once.
 */
static bool has_lapsed(struct tcon_track *t, bool ece)
{
	if (ece && !t->ece_last) {
		t->ece_rounds = 1;
		t->ece_round_end = t->cc.nxt;
	}
	if (!t->ece_rounds || seq_before(t->cc.una, t->ece_round_end))
		return false;
	if (!ece && t->ece_rounds > 1) {
		t->ece_rounds = 0;
		return false;
	}
	t->ece_round_end = t->cc.nxt;
	return !--t->ece_rounds;
}

/**
 * tcon_marks_take() - how much of what an ACK covers was marked?
 * @t: the tracker
 * @pkt: the ACK
 * @delivered: bytes that have arrived by it
 * @ack: what it did, to be completed
 *
 * As much as the peer's TCon says, or all that an ACK with ECE covers (RFC 8257, 3.3).
 */
void tcon_marks_take(struct tcon_track *t, const struct tcon_packet *pkt, u32 delivered,
		     struct tcon_ack *ack)
{
	bool ece = pkt->flags & TCON_TCP_ECE && !(pkt->flags & TCON_TCP_SYN);
	struct tcon_rate_sample *rs = &ack->rs;
	u32 marked = 0;

	if (pkt->option_bytes == TCON_OPTION_COUNT_BYTES) {
		marked = take_count(t, pkt);
	} else if (t->ce_exact && has_lapsed(t, ece)) {
		t->ce_exact = false;
		t->ce_lapsed = true;
	}
	t->ece_last = ece;
	rs->is_ece = marked || (ece && !t->ce_exact);
	if (rs->is_ece && !t->ce_exact)
		marked = delivered;
	t->cc.delivered_ce_bytes += marked;
	if (rs->is_ece)
		t->ece_acks++;
	if (t->ce_exact)
		find_change(t, ack, marked);
}
