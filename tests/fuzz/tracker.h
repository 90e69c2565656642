/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For fuzzers of the tracker: a CC, and the invariants.
 */
#ifndef _TESTS_TRACKER_H
#define _TESTS_TRACKER_H

#include "datapath/sender/ca.h"
#include "datapath/sender/sendq.c"	/* for RECORDS_OF() */

#include "input.h"

static void mock_init(struct tcon_cc *cc, u64 now_us)
{
}

static void mock_control(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	WARN_ON(!rs->acked_sacked_bytes && !rs->losses_bytes);
	cc->cwnd_bytes = max(2 * cc->mss_bytes,
			     cc->cwnd_bytes + rs->acked_sacked_bytes / 2 -
			     min(rs->losses_bytes, cc->cwnd_bytes / 2));
	cc->cwnd_bytes = min(cc->cwnd_bytes, TCON_CWND_MAX_BYTES);
}

static void mock_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
			   u64 now_us)
{
	WARN_ON(state == TCON_CA_OPEN && cc->ca_state == TCON_CA_OPEN);
	WARN_ON(state == TCON_CA_RECOVERY && cc->ca_state == TCON_CA_LOSS);
}

static void mock_undo(struct tcon_cc *cc)
{
	WARN_ON(cc->ca_state == TCON_CA_OPEN);
}

static const struct tcon_cc_ops mock = {
	.name = "mock",
	.init = mock_init,
	.cong_control = mock_control,
	.set_state = mock_set_state,
	.undo_cwnd = mock_undo,
};

/* Sorted, disjoint, apart, within una .. nxt, and the sum is right. */
static void check_ranges(const struct tcon_track *t,
			 const struct tcon_ranges *set)
{
	u32 una = t->cc.una, span = t->cc.nxt - una, at = 0, bytes = 0, i;

	WARN_ON(set->n > set->room || set->room > TCON_RANGES_MAX);
	for (i = 0; i < set->n; i++) {
		u32 lo = set->range[i].start - una;
		u32 hi = set->range[i].end - una;

		WARN_ON(i && lo <= at);
		WARN_ON(lo >= hi || hi > span);
		at = hi;
		bytes += hi - lo;
	}
	WARN_ON(bytes != set->bytes);
}

static void check_disjoint(const struct tcon_track *t)
{
	u32 i;

	for (i = 0; i < t->sacked.n; i++)
		WARN_ON(tcon_ranges_covered(&t->lost, t->sacked.range[i].start,
					    t->sacked.range[i].end));
}

/* Ascending without gaps, within una .. nxt, up to nxt.  Behind filled_edge all left in
 * that order; what the guest left out has no copy.
 */
static void check_sendq(const struct tcon_track *t)
{
	const struct tcon_sendq *q = &t->sendq;
	u32 span = t->cc.nxt - t->cc.una, i;

	WARN_ON(q->tail - q->head > RECORDS_OF(TCON_SENDQ_PAGES));
	WARN_ON(q->head != q->tail &&
		tcon_sendq_at(q, q->tail - 1)->end != t->cc.nxt);
	for (i = q->head; i != q->tail; i++) {
		u32 lo = tcon_sendq_at(q, i)->start - t->cc.una;
		u32 hi = tcon_sendq_at(q, i)->end - t->cc.una;

		WARN_ON(lo >= hi || hi > span);
		WARN_ON(i != q->head && tcon_sendq_at(q, i)->start !=
					tcon_sendq_at(q, i - 1)->end);
		WARN_ON(tcon_sendq_at(q, i)->unseen && tcon_sendq_at(q, i)->copy);
		WARN_ON(i != q->head && !tcon_sendq_at(q, i)->unseen &&
			!seq_before(tcon_sendq_at(q, i - 1)->start, t->filled_edge) &&
			seq_before(tcon_sendq_at(q, i)->order,
				   tcon_sendq_at(q, i - 1)->order));
	}
}

/* Disjoint, within una .. nxt; in flight, ordered by transmission, or lost. */
static void check_resent(const struct tcon_track *t)
{
	const struct tcon_resent *set = &t->resent;
	u32 span = t->cc.nxt - t->cc.una, n = 0, in_lists = 0, before = 0, at = 0;
	struct tcon_resend *r;

	WARN_ON(set->n > TCON_RESENT_MAX);
	r = tcon_resent_find(set, t->cc.una, t->cc.nxt);
	for (; r; r = tcon_resent_next(r, t->cc.nxt), n++) {
		u32 lo = r->tx.start - t->cc.una, hi = r->tx.end - t->cc.una;

		WARN_ON(lo < before || lo >= hi || hi > span);
		WARN_ON(seq_after(r->tx.order, t->tx_order));
		WARN_ON(!r->lost && tcon_ranges_covered(&t->lost, r->tx.start,
							r->tx.end));
		WARN_ON(tcon_resent_find(set, r->tx.start, r->tx.end) != r);
		WARN_ON(!r->count);
		before = hi;
	}
	WARN_ON(n != set->n);
	list_for_each_entry(r, &set->sent, node) {
		WARN_ON(r->lost || (in_lists++ && seq_before(r->tx.order, at)));
		at = r->tx.order;
	}
	list_for_each_entry(r, &set->lost, node)
		WARN_ON(!r->lost || ++in_lists > n);
	WARN_ON(in_lists != n);
}

static void check_tracker(const struct tcon_track *t)
{
	u32 span = t->cc.nxt - t->cc.una;
	u32 gone = t->sacked.bytes + t->lost.bytes + t->dup_bytes + t->unnoted_bytes;

	WARN_ON(span > TCON_CWND_MAX_BYTES);
	WARN_ON(t->cc.inflight_bytes != span - min(span, gone));
	WARN_ON(t->sacked.bytes + t->lost.bytes > span);
	WARN_ON(t->dup_bytes > t->dup_credit_bytes);
	WARN_ON(t->sacked.bytes + t->dup_credit_bytes > span);
	WARN_ON(t->cc.delivered_ce_bytes > t->cc.delivered_bytes);
	WARN_ON(t->cc.min_rtt_us == 0);
	WARN_ON(!t->srtt_x8_us != !t->cc.srtt_us);
	WARN_ON(t->timer.backoff > TCON_DOUBLED_MAX);
	WARN_ON(t->timer.tries > t->timer.backoff);
	check_ranges(t, &t->sacked);
	check_ranges(t, &t->lost);
	check_disjoint(t);
	check_sendq(t);
	check_resent(t);
}

/*
 * Bytes that were SACKed @before a step from @una, and that the peer has thrown away since
 * (RFC 2018, 8).  When they arrive again they are delivered again.
 */
static inline u32 reneged(const struct tcon_track *t, u32 una, u32 before)
{
	return t->cc.una == una && t->sacked.bytes < before ? before - t->sacked.bytes : 0;
}

#endif /* _TESTS_TRACKER_H */
