// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP Vegas: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on
 * a Global Internet", IEEE JSAC 13(8), 1995.  Linux's tcp_vegas (6.1) for the
 * defaults and for what the paper leaves open.
 *
 * The model.  A flow's share of a queue shows before the queue overflows.  An empty
 * path would deliver a window in baseRTT, the smallest RTT of all.  It really takes
 * the RTT of the round.  The difference of these rates, times baseRTT, waits in
 * queues (the paper's "congestion avoidance mechanism"):
 *
 *	Expected = W / baseRTT
 *	Actual	 = W / RTT
 *	Diff	 = (Expected - Actual) baseRTT = W (RTT - baseRTT) / RTT
 *
 * W is cwnd at the beginning of the round before: the packets whose RTT was measured
 * were sent with that window.
 *
 * Once per round trip the window moves towards a Diff, in whole segments, between
 * alpha and beta:
 *
 *	slow start	Diff > gamma:	cwnd = Actual baseRTT + 1, avoidance
 *			else:		cwnd += what was acknowledged
 *	avoidance	Diff < alpha:	cwnd += 1
 *			Diff > beta:	cwnd -= 1
 *
 * The states.
 *
 *	slow start -- Diff > gamma, or cwnd = ssthresh --> avoidance
 *	   ^                                                |    ^
 *	   | time-out, cwnd = 2 MSS               loss, ECE |    | una passes what
 *	   |                                                v    | was in flight
 *	   +--------------------------------------------- reduced
 *
 * A loss halves the window, as in Reno, once per window of data: as in the paper, a
 * loss of data sent before the last reduction does not count.  From a time-out until
 * all is repaired the window grows as Reno's.  A new round, without samples, begins
 * whenever data flows normally again: at the start, after a loss or time-out, and
 * after an idle time.
 *
 * As in Linux, and unlike the paper:
 * - The RTT of a round is its smallest sample, so that delayed ACKs do not count as a
 *   queue.  With fewer than three samples all may be of delayed ACKs.  In such a round
 *   the window grows as Reno's, by all that the round acknowledged (in Linux by its
 *   last ACK only).
 * - Slow start doubles the window each round, not every other round ("modified
 *   slow-start").  It ends at the window that Actual needs; "+ 1" is for rounding.
 * - Diff counts whole segments: more than 4 means 5 or more.
 * - Losses are found by SACK and RACK, not by the paper's time stamps.
 * As in the paper, and unlike Linux:
 * - Diff is what waits in queues.  Linux divides by baseRTT instead of RTT.  That
 *   gives more, unless the queue is small beside W.
 * - Expected and Actual are of the same packets.  For that the paper keeps the window
 *   in every other round of slow start.  Linux takes the present cwnd for W.  At the
 *   end of slow start that is four times the window whose RTT was measured.  So slow
 *   start ends with four times the right window, if no loss comes first.
 *
 * Differences that a hypervisor makes:
 * - Everything is in bytes; a cwnd need not be whole segments.
 * - The paper takes the window for what is in transit.  That does not hold where the
 *   guest sends less.  So after a round in which cwnd did not limit the flow, cwnd is
 *   not raised.
 * - But a guest can fill a queue with a window of its own.  (If HyStart ends its slow
 *   start, its window may be twice what the path holds.)  So in such a round Diff is
 *   computed with W = what was in transit.  If it is too large, cwnd falls at once to
 *   what Actual needs, since a smaller step would not limit the guest.
 * - After a live switch there may be a queue of the last CC, of hundreds of segments.
 *   At one segment per round it would take minutes to drain.  So if the first decision
 *   is to slow down, it is made as at the end of slow start.
 * - baseRTT starts from the tracker's minimum, of the last 150 to 300 s, which has
 *   usually seen the path empty.  If another CC has filled the queue, the flow's own
 *   samples would contain that queue.  From then on baseRTT is the minimum for ever, as
 *   in the paper, until an idle time.  Then Linux forgets it, because the route may be
 *   another.  Here it becomes the tracker's minimum again.
 * - The smallest window is two segments (%TCON_MIN_CWND_SEGS), as in Linux.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <tcon/cc.h>

#include "backlog.h"
#include "reno.h"

enum {
	PARAM_ALPHA,
	PARAM_BETA,
	PARAM_GAMMA,
};

/* Linux's defaults; the paper tried alpha 1 and 2, beta 3 and 4, and gamma 1 */
static const struct tcon_cc_param vegas_params[] = {
	[PARAM_ALPHA] = { "alpha", TCON_PARAM_UINT, 2, 1, 10000, "segments",
			  "with less of its own in queues a flow speeds up" },
	[PARAM_BETA] = { "beta", TCON_PARAM_UINT, 4, 1, 10000, "segments",
			 "with more of its own in queues a flow slows down" },
	[PARAM_GAMMA] = { "gamma", TCON_PARAM_UINT, 1, 0, 10000, "segments",
			  "with more of its own in queues slow start ends" },
};

/**
 * struct vegas - private area
 * @reno: the last reduction, and what Reno counts
 * @backlog: what waits in queues
 * @transit_bytes: in transit when the round began
 * @sent_transit_bytes: in transit when the round before began; 0: there was none
 * @round_acked_bytes: acknowledged in the round in avoidance, while cwnd limited the flow
 * @diff_segs: Diff at the last decision
 * @fresh: there has been no decision yet
 */
struct vegas {
	struct tcon_reno reno;
	struct tcon_backlog backlog;
	u32 transit_bytes;
	u32 sent_transit_bytes;
	u32 round_acked_bytes;
	u32 diff_segs;
	bool fresh;
};

static void begin_round(const struct tcon_cc *cc)
{
	struct vegas *vegas = tcon_cc_priv(cc);

	vegas->round_acked_bytes = 0;
	vegas->sent_transit_bytes = vegas->transit_bytes;
	vegas->transit_bytes = cc->inflight_bytes;
	tcon_backlog_begin_round(cc, &vegas->backlog);
}

static void begin_rounds(const struct tcon_cc *cc)
{
	struct vegas *vegas = tcon_cc_priv(cc);

	vegas->round_acked_bytes = 0;
	vegas->sent_transit_bytes = 0;
	vegas->transit_bytes = cc->inflight_bytes;
	tcon_backlog_begin(cc, &vegas->backlog);
}

/* Diff of a window in a round that has samples, in whole segments. */
static u32 diff_segs(const struct tcon_cc *cc, u32 sent_bytes)
{
	const struct vegas *vegas = tcon_cc_priv(cc);

	return tcon_backlog_of(&vegas->backlog, sent_bytes) / cc->mss_bytes;
}

/* The largest Diff that does not slow down. */
static u32 most_segs(const struct tcon_cc *cc)
{
	return cc->params[tcon_reno_in_slow_start(cc) ? PARAM_GAMMA :
							PARAM_BETA];
}

/* Actual baseRTT + 1: the window that leaves about one segment in queues. */
static u32 actual_bytes(const struct tcon_cc *cc, u32 sent_bytes)
{
	const struct vegas *vegas = tcon_cc_priv(cc);
	const struct tcon_backlog *b = &vegas->backlog;

	return div_u64((u64)sent_bytes * b->base_rtt_us, b->round_rtt_us) +
	       cc->mss_bytes;
}

/* cwnd must not fall below ssthresh: that would be slow start. */
static void slow_down(struct tcon_cc *cc, u32 cwnd)
{
	cc->cwnd_bytes = max(cwnd, tcon_reno_min_cwnd_bytes(cc));
	cc->ssthresh_bytes = min(cc->ssthresh_bytes, cc->cwnd_bytes);
}

/* The end of a round with enough samples, by an ACK for @acked_bytes. */
static void decide(struct tcon_cc *cc, u32 acked_bytes)
{
	struct vegas *vegas = tcon_cc_priv(cc);
	bool slow_start = tcon_reno_in_slow_start(cc);
	u32 sent = vegas->backlog.sent_cwnd_bytes, cwnd = cc->cwnd_bytes;
	u32 diff = diff_segs(cc, sent);

	if (diff > most_segs(cc))
		slow_down(cc, slow_start || vegas->fresh ?
				  min(cwnd, actual_bytes(cc, sent)) :
				  cwnd - cc->mss_bytes);
	else if (slow_start)
		tcon_reno_slow_start(cc, acked_bytes);
	else if (diff < cc->params[PARAM_ALPHA])
		cc->cwnd_bytes = min(cc->cwnd_bytes + cc->mss_bytes,
				     TCON_CWND_MAX_BYTES);
	vegas->diff_segs = diff;
	vegas->fresh = false;
}

/* The end of a round with enough samples in which cwnd did not limit the flow. */
static void give_way(struct tcon_cc *cc)
{
	struct vegas *vegas = tcon_cc_priv(cc);
	u32 sent = vegas->sent_transit_bytes;
	u32 diff = diff_segs(cc, sent);

	if (diff <= most_segs(cc))
		return;
	slow_down(cc, min(cc->cwnd_bytes, actual_bytes(cc, sent)));
	vegas->diff_segs = diff;
	vegas->fresh = false;
}

/* An ACK without loss or reduction.  @acked_bytes is 0 if cwnd did not limit the flow. */
static void lead(struct tcon_cc *cc, u32 acked_bytes)
{
	struct vegas *vegas = tcon_cc_priv(cc);
	bool over = tcon_backlog_is_over(cc, &vegas->backlog);
	bool known = tcon_backlog_is_known(&vegas->backlog);

	if (over && known && acked_bytes) {
		decide(cc, acked_bytes);
	} else if (over && known) {
		give_way(cc);
	} else {
		acked_bytes = tcon_reno_slow_start(cc, acked_bytes);
		vegas->round_acked_bytes += acked_bytes;
		if (over && acked_bytes)
			tcon_reno_avoid(cc, &vegas->reno,
					vegas->round_acked_bytes);
	}
	if (over)
		begin_round(cc);
}

static void tcon_vegas_cong_control(struct tcon_cc *cc,
				    const struct tcon_rate_sample *rs)
{
	struct vegas *vegas = tcon_cc_priv(cc);
	struct tcon_reno *reno = &vegas->reno;
	u32 acked_bytes = 0;

	if (tcon_reno_acked(cc, reno))
		begin_rounds(cc);
	tcon_backlog_take_rtt(&vegas->backlog, rs->rtt_us);
	if (tcon_reno_may_grow(cc, reno, rs))
		acked_bytes = rs->acked_sacked_bytes;
	if (cc->ca_state == TCON_CA_OPEN && !reno->reduced)
		lead(cc, acked_bytes);
	else if (acked_bytes)
		tcon_reno_grow(cc, reno, acked_bytes);
}

static void tcon_vegas_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				 u64 now_us)
{
	struct vegas *vegas = tcon_cc_priv(cc);

	tcon_reno_on_state(cc, &vegas->reno, state);
	if (state == TCON_CA_OPEN)
		begin_rounds(cc);
}

static void tcon_vegas_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				  u64 now_us)
{
	struct vegas *vegas = tcon_cc_priv(cc);

	switch (event) {
	case TCON_CA_EVENT_TX_START:
		if (!tcon_cc_was_idle(cc))
			break;
		vegas->backlog.base_rtt_us = cc->min_rtt_us;
		begin_rounds(cc);
		break;
	case TCON_CA_EVENT_ECE:
		tcon_reno_ece(cc, &vegas->reno);	/* as Linux */
		break;
	}
}

static void tcon_vegas_undo_cwnd(struct tcon_cc *cc)
{
	struct vegas *vegas = tcon_cc_priv(cc);

	tcon_reno_undo(cc, &vegas->reno);
}

static void tcon_vegas_init(struct tcon_cc *cc, u64 now_us)
{
	struct vegas *vegas = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(struct vegas) > TCON_CC_PRIV_BYTES);
	vegas->backlog.base_rtt_us = cc->min_rtt_us;
	vegas->fresh = true;
	begin_rounds(cc);
}

static int tcon_vegas_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct vegas *vegas = tcon_cc_priv(cc);
	u32 base_rtt_us = vegas->backlog.base_rtt_us;

	if (base_rtt_us == TCON_RTT_NONE_US)
		base_rtt_us = 0;
	return scnprintf(buf, size, "mode=%s base_rtt_us=%u diff_segs=%u",
			 tcon_reno_mode_name(cc, &vegas->reno), base_rtt_us,
			 vegas->diff_segs);
}

static const char *tcon_vegas_complaint(const s64 *values)
{
	return values[PARAM_ALPHA] > values[PARAM_BETA] ? "alpha is more than beta" : NULL;
}

static struct tcon_cc_ops vegas_ops = {
	.name		= "vegas",
	.category	= "delay",
	.source		= "Brakmo and Peterson, IEEE JSAC 13(8), 1995",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct vegas),
	.params		= vegas_params,
	.n_params	= ARRAY_SIZE(vegas_params),
	.complaint	= tcon_vegas_complaint,
	.init		= tcon_vegas_init,
	.cong_control	= tcon_vegas_cong_control,
	.set_state	= tcon_vegas_set_state,
	.cwnd_event	= tcon_vegas_cwnd_event,
	.undo_cwnd	= tcon_vegas_undo_cwnd,
	.get_info	= tcon_vegas_get_info,
};

static int __init tcon_vegas_module_init(void)
{
	return tcon_cc_register(&vegas_ops);
}

static void __exit tcon_vegas_module_exit(void)
{
	tcon_cc_unregister(&vegas_ops);
}

module_init(tcon_vegas_module_init);
module_exit(tcon_vegas_module_exit);

MODULE_DESCRIPTION("TCon: Vegas congestion control (Brakmo and Peterson, 1995)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-vegas");
