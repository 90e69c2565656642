// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compound TCP, the CC of Windows: Tan, Song, Zhang and Sridharan, "A Compound TCP
 * Approach for High-speed and Long Distance Networks", INFOCOM 2006; its draft
 * draft-sridharan-tcpm-ctcp-02 (expired); and for gamma Tan, Song, Sridharan and
 * Ho, "CTCP-TUBE: Improving TCP-Friendliness over Low-Buffered Network Links",
 * PFLDnet 2008.
 *
 * The model.  Reno fills a path with a large BDP too slowly.  So a second window is
 * added to Reno's.  It grows fast while little waits in queues, and shrinks before
 * Reno meets a loss.  So a flow takes no more from others than a Reno flow does.
 *
 *	win  = cwnd + dwnd
 *	diff = win (RTT - baseRTT) / RTT	what waits in queues, as in Vegas
 *
 * cwnd is Reno's (slow start; then a segment per round trip, that is for each win of
 * bytes acknowledged).  dwnd is used in avoidance only.  It changes once per round
 * trip, in segments:
 *
 *	diff < gamma	dwnd += (alpha win^k - 1)+
 *	diff >= gamma	dwnd  = (dwnd - eta diff)+
 *	loss, ECE	dwnd  = (win (1 - beta) - cwnd / 2)+, cwnd = cwnd / 2
 *	time-out	dwnd  = 0
 *
 * (x)+ is max(x, 0).  The 1 is what cwnd adds.  So without a queue win grows by
 * alpha win^k per round trip, and a loss takes the share beta of it.  That is the
 * response function of HighSpeed TCP where losses are rare (the paper).
 *
 * The states.
 *
 *	slow start -------- cwnd = ssthresh -------> avoidance
 *	   ^                                         |      ^
 *	   | time-out, win = 2 MSS         loss, ECE |      | una passes what
 *	   |                                         v      | was in flight
 *	   +-------------------------------------- reduced
 *
 * gamma.  A small buffer may not have room for 30 segments of each flow.  Then diff
 * never reaches gamma, dwnd causes the losses, and Reno flows beside it suffer.  So
 * gamma follows what Reno alone would have in the buffer when it overflows ("tuning
 * by emulation").  In each round
 *
 *	diff_reno = cwnd (RTT - baseRTT) / RTT
 *
 * and at a loss, if it has been measured since the last one,
 *
 *	gamma += lambda (3/4 diff_reno - gamma), between gamma_low and gamma
 *
 * Where the constants come from:
 *	alpha 1/8, beta 1/2, k 3/4	the paper and the draft: HighSpeed TCP's
 *			response.  That would be k = 0.8, but 3/4 needs only two
 *			square roots.  So k is no parameter
 *	eta 1		the paper's zeta: dwnd shrinks by diff, which empties the
 *			queue
 *	gamma 30, gamma_low 5, 3/4	the draft
 *	lambda 1/4, low_window 38	Andrew's port to Linux (tcp_compound 1.3):
 *			below the smallest window of HighSpeed TCP (RFC 3649) dwnd
 *			is 0, since Reno does well there
 *	baseRTT after a time-out	the draft: measured again, since the path may
 *			be another; gamma starts again with it
 *	win in growth and loss	the paper: alpha win^k - 1 and win (1 - beta).  The
 *			draft has dwnd for win; dwnd would then never leave 0
 *
 * Differences that a hypervisor makes:
 * - The RTT of a round is its smallest sample, so that delayed ACKs do not count as a
 *   queue.  A round needs three samples.  win is the one of the round before, with which
 *   the measured packets were sent (backlog.h).
 * - A round in which win did not limit the flow decides nothing, because win was not in
 *   flight.
 * - baseRTT begins with the tracker's minimum, of the last 150 to 300 s.  After an idle
 *   time it is that again.
 * - As in reno.c: a reduction starts from win, not from FlightSize; win falls to
 *   ssthresh at once; the smallest window is two segments.
 *
 * A window in segments is in units of 2^-16: 30 + 16 bits, and 48 + 16 bits under a
 * square root.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <tcon/cc.h>

#include "backlog.h"
#include "reno.h"

#define FRACTION_BITS	16
#define LAMBDA_DIV	4

enum {
	PARAM_ALPHA,
	PARAM_BETA,
	PARAM_ETA,
	PARAM_GAMMA,
	PARAM_GAMMA_LOW,
	PARAM_LOW_WINDOW,
};

static const struct tcon_cc_param ctcp_params[] = {
	[PARAM_ALPHA] = { "alpha", TCON_PARAM_MILLI, 125, 0, 1000, "",
			  "without a queue a window grows by alpha win^(3/4)" },
	[PARAM_BETA] = { "beta", TCON_PARAM_MILLI, 500, 100, 900, "",
			 "share of the window that goes at a loss" },
	[PARAM_ETA] = { "eta", TCON_PARAM_MILLI, 1000, 0, 10000, "",
			"dwnd falls by eta times what waits in queues" },
	[PARAM_GAMMA] = { "gamma", TCON_PARAM_UINT, 30, 1, 10000, "segments",
			  "with as much of its own in queues dwnd falls; the most" },
	[PARAM_GAMMA_LOW] = { "gamma_low", TCON_PARAM_UINT, 5, 1, 10000,
			      "segments", "the least gamma is tuned to" },
	[PARAM_LOW_WINDOW] = { "low_window", TCON_PARAM_UINT, 38, 0, 10000,
			       "segments", "below such a window there is no dwnd" },
};

/**
 * struct ctcp - private area
 * @reno: the last reduction, and what Reno counts
 * @backlog: what waits in queues
 * @dwnd_bytes: the delay-based part of cc.cwnd_bytes
 * @saved_dwnd_bytes: @dwnd_bytes before the last reduction
 * @gamma_bytes: gamma, as tuned
 * @sent_loss_bytes: the loss-based part when the round before began
 * @round_loss_bytes: the loss-based part when this round began
 * @diff_bytes: diff at the last decision
 * @diff_reno_bytes: what cwnd alone would leave in queues
 * @diff_reno_known: @diff_reno_bytes was measured since the last loss
 */
struct ctcp {
	struct tcon_reno reno;
	struct tcon_backlog backlog;
	u32 dwnd_bytes;
	u32 saved_dwnd_bytes;
	u32 gamma_bytes;
	u32 sent_loss_bytes;
	u32 round_loss_bytes;
	u32 diff_bytes;
	u32 diff_reno_bytes;
	bool diff_reno_known;
};

/* Reno's part of the window. */
static u32 loss_bytes(const struct tcon_cc *cc)
{
	const struct ctcp *ctcp = tcon_cc_priv(cc);

	return cc->cwnd_bytes - ctcp->dwnd_bytes;
}

static u32 segs_param(const struct tcon_cc *cc, int param)
{
	return (u32)cc->params[param] * cc->mss_bytes;
}

/* Forget what was learnt of the path. */
static void reset_path(const struct tcon_cc *cc, u32 base_rtt_us)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);

	ctcp->backlog.base_rtt_us = base_rtt_us;
	ctcp->gamma_bytes = segs_param(cc, PARAM_GAMMA);
	ctcp->diff_reno_known = false;
}

static void begin_round(const struct tcon_cc *cc)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);

	ctcp->sent_loss_bytes = ctcp->round_loss_bytes;
	ctcp->round_loss_bytes = loss_bytes(cc);
	tcon_backlog_begin_round(cc, &ctcp->backlog);
}

static void begin_rounds(const struct tcon_cc *cc)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);

	ctcp->round_loss_bytes = loss_bytes(cc);
	ctcp->sent_loss_bytes = ctcp->round_loss_bytes;
	tcon_backlog_begin(cc, &ctcp->backlog);
}

/* alpha win^(3/4), in segments, as bytes. */
static u32 growth_bytes(const struct tcon_cc *cc)
{
	u64 win = div_u64((u64)cc->cwnd_bytes << FRACTION_BITS, cc->mss_bytes);
	u64 root = int_sqrt64(win << FRACTION_BITS);
	u64 power = root * int_sqrt64(root << FRACTION_BITS) >> FRACTION_BITS;

	power *= (u32)cc->params[PARAM_ALPHA];
	return div_u64(power * cc->mss_bytes, 1000) >> FRACTION_BITS;
}

/* The end of a round with enough samples, in avoidance. */
static void decide(struct tcon_cc *cc)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);
	struct tcon_backlog *b = &ctcp->backlog;
	u32 loss = loss_bytes(cc);
	u64 dwnd = ctcp->dwnd_bytes, less;

	ctcp->diff_bytes = tcon_backlog_of(b, b->sent_cwnd_bytes);
	ctcp->diff_reno_bytes = tcon_backlog_of(b, ctcp->sent_loss_bytes);
	ctcp->diff_reno_known = true;
	if (cc->cwnd_bytes < segs_param(cc, PARAM_LOW_WINDOW)) {
		dwnd = 0;
	} else if (ctcp->diff_bytes < ctcp->gamma_bytes) {
		dwnd += max(growth_bytes(cc), cc->mss_bytes) - cc->mss_bytes;
	} else {
		less = div_u64((u64)ctcp->diff_bytes *
			       (u32)cc->params[PARAM_ETA], 1000);
		dwnd -= min(dwnd, less);
	}
	ctcp->dwnd_bytes = min_t(u64, dwnd, TCON_CWND_MAX_BYTES - loss);
	/* Segments may have become larger since. */
	cc->cwnd_bytes = max(loss + ctcp->dwnd_bytes, tcon_reno_min_cwnd_bytes(cc));
	cc->ssthresh_bytes = min(cc->ssthresh_bytes, cc->cwnd_bytes);
}

/* An ACK without loss or reduction.  @acked_bytes is 0 if the window did not limit the flow. */
static void lead(struct tcon_cc *cc, u32 acked_bytes)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);
	struct tcon_backlog *b = &ctcp->backlog;
	bool over = tcon_backlog_is_over(cc, b);

	if (acked_bytes)
		acked_bytes = tcon_reno_slow_start(cc, acked_bytes);
	if (acked_bytes) {
		tcon_reno_avoid(cc, &ctcp->reno, acked_bytes);
		if (over && tcon_backlog_is_known(b))
			decide(cc);
	}
	if (over)
		begin_round(cc);
}

static void tcon_ctcp_cong_control(struct tcon_cc *cc,
				   const struct tcon_rate_sample *rs)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);
	struct tcon_reno *reno = &ctcp->reno;
	u32 acked_bytes = 0;

	if (tcon_reno_acked(cc, reno))
		begin_rounds(cc);
	tcon_backlog_take_rtt(&ctcp->backlog, rs->rtt_us);
	if (tcon_reno_may_grow(cc, reno, rs))
		acked_bytes = rs->acked_sacked_bytes;
	if (cc->ca_state == TCON_CA_OPEN && !reno->reduced)
		lead(cc, acked_bytes);
	else if (acked_bytes)
		tcon_reno_grow(cc, reno, acked_bytes);
}

static void tune_gamma(const struct tcon_cc *cc)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);
	u32 most = segs_param(cc, PARAM_GAMMA);
	u32 least = min(segs_param(cc, PARAM_GAMMA_LOW), most);
	u64 sample = (u64)ctcp->diff_reno_bytes * 3 / 4;

	if (!ctcp->diff_reno_known)
		return;
	ctcp->diff_reno_known = false;
	sample = ((LAMBDA_DIV - 1) * (u64)ctcp->gamma_bytes + sample) /
		 LAMBDA_DIV;
	ctcp->gamma_bytes = clamp_t(u64, sample, least, most);
}

/* The caller sets cc.cwnd_bytes. */
static void reduce(struct tcon_cc *cc, bool by_ece)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);
	u32 half = max(loss_bytes(cc) / 2, tcon_reno_min_cwnd_bytes(cc));
	u32 left = div_u64((u64)cc->cwnd_bytes *
			   (1000 - (u32)cc->params[PARAM_BETA]), 1000);

	tune_gamma(cc);
	ctcp->saved_dwnd_bytes = ctcp->dwnd_bytes;
	ctcp->dwnd_bytes = left - min(left, half);
	tcon_reno_reduce(cc, &ctcp->reno, max(left, half), by_ece);
}

static void tcon_ctcp_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				u64 now_us)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);

	if (tcon_reno_note_loss(cc, &ctcp->reno, state))
		reduce(cc, false);
	switch (state) {
	case TCON_CA_OPEN:
		begin_rounds(cc);
		break;
	case TCON_CA_RECOVERY:
		cc->cwnd_bytes = cc->ssthresh_bytes;
		break;
	case TCON_CA_LOSS:
		ctcp->dwnd_bytes = 0;
		cc->cwnd_bytes = tcon_reno_min_cwnd_bytes(cc);
		reset_path(cc, TCON_RTT_NONE_US);
		break;
	}
}

static void tcon_ctcp_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				 u64 now_us)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);

	switch (event) {
	case TCON_CA_EVENT_TX_START:
		if (!tcon_cc_was_idle(cc))
			break;
		ctcp->backlog.base_rtt_us = cc->min_rtt_us;
		begin_rounds(cc);
		break;
	case TCON_CA_EVENT_ECE:
		if (!tcon_reno_note_ece(cc, &ctcp->reno))
			break;
		reduce(cc, true);
		cc->cwnd_bytes = cc->ssthresh_bytes;
		break;
	}
}

/* After a spurious time-out the path is the same, so its baseRTT comes back, too. */
static void tcon_ctcp_undo_cwnd(struct tcon_cc *cc)
{
	struct ctcp *ctcp = tcon_cc_priv(cc);

	if (cc->ca_state == TCON_CA_LOSS)
		ctcp->backlog.base_rtt_us = min(ctcp->backlog.base_rtt_us,
						cc->min_rtt_us);
	if (tcon_reno_undo(cc, &ctcp->reno))
		ctcp->dwnd_bytes = ctcp->saved_dwnd_bytes;
}

static void tcon_ctcp_init(struct tcon_cc *cc, u64 now_us)
{
	BUILD_BUG_ON(sizeof(struct ctcp) > TCON_CC_PRIV_BYTES);
	reset_path(cc, cc->min_rtt_us);
	begin_rounds(cc);
}

static int tcon_ctcp_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct ctcp *ctcp = tcon_cc_priv(cc);
	u32 base_rtt_us = ctcp->backlog.base_rtt_us;

	if (base_rtt_us == TCON_RTT_NONE_US)
		base_rtt_us = 0;
	return scnprintf(buf, size,
			 "mode=%s dwnd_bytes=%u diff_bytes=%u gamma_bytes=%u base_rtt_us=%u",
			 tcon_reno_mode_name(cc, &ctcp->reno), ctcp->dwnd_bytes, ctcp->diff_bytes,
			 ctcp->gamma_bytes, base_rtt_us);
}

static struct tcon_cc_ops ctcp_ops = {
	.name		= "ctcp",
	.category	= "hybrid",
	.source		= "Tan et al., INFOCOM 2006; draft-sridharan-tcpm-ctcp-02",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct ctcp),
	.params		= ctcp_params,
	.n_params	= ARRAY_SIZE(ctcp_params),
	.init		= tcon_ctcp_init,
	.cong_control	= tcon_ctcp_cong_control,
	.set_state	= tcon_ctcp_set_state,
	.cwnd_event	= tcon_ctcp_cwnd_event,
	.undo_cwnd	= tcon_ctcp_undo_cwnd,
	.get_info	= tcon_ctcp_get_info,
};

static int __init tcon_ctcp_module_init(void)
{
	return tcon_cc_register(&ctcp_ops);
}

static void __exit tcon_ctcp_module_exit(void)
{
	tcon_cc_unregister(&ctcp_ops);
}

module_init(tcon_ctcp_module_init);
module_exit(tcon_ctcp_module_exit);

MODULE_DESCRIPTION("TCon: Compound TCP congestion control (Tan et al., 2006)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-ctcp");
