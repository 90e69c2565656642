// SPDX-License-Identifier: GPL-2.0-only
/*
 * NewReno: RFC 5681 and RFC 6582, counting bytes (RFC 3465) as Linux does.  Other CCs
 * are compared with it.
 *
 * The model.  Only a loss says that the path is full.  So the window grows until there
 * is a loss, which halves it.  Per round trip:
 *
 *	slow start	cwnd += what was acknowledged	(twice as much)
 *	avoidance	cwnd += 1 segment
 *	loss		cwnd  = ssthresh = cwnd / 2
 *	ECE		cwnd  = ssthresh = 0.8 cwnd; in slow start cwnd / 2
 *	time-out	ssthresh = cwnd / 2, cwnd = 2 segments
 *
 * The states.
 *
 *	slow start -------- cwnd = ssthresh -------> avoidance
 *	   ^                                          |    ^
 *	   | time-out                       loss, ECE |    | una passes what
 *	   |                                          v    | was in flight
 *	   +--------------------------------------- reduced
 *
 * Where the rules come from:
 *	RFC 5681, 3.1	slow start; avoidance; ssthresh at a time-out
 *	RFC 5681, 3.2	the halving, once per window of data (RFC 6582): the
 *			recovery lasts until all that was in flight when it began
 *			is acknowledged (datapath/sender/ca.c)
 *	RFC 3465, 2.1	a segment for each cwnd of bytes acknowledged
 *	RFC 3168, 6.1.2	ECE counts as a loss, once per window
 *	RFC 8511	beta_ecn=0.8: ECE takes less in avoidance, since a queue that is
 *			marked is short.  Beside native flows that halve, which is what
 *			Linux does, such a flow takes more than its share
 *
 * A weight N makes it act as N flows: weight.h.
 *
 * Differences that a hypervisor makes:
 * - The window grows only while it limits the flow.  So a reduction can start from
 *   cwnd, as in Linux, and not from FlightSize (RFC 5681, eq. 4).
 * - When a recovery begins, cwnd falls to ssthresh at once and stays there: it is the
 *   window for after the recovery.  During it TCon counts what is in flight
 *   (datapath/sender/prr.c).  So duplicate ACKs need not inflate cwnd (RFC 5681, 3.2,
 *   step 4).
 * - The smallest window is two segments (%TCON_MIN_CWND_SEGS).  After a time-out only one is
 *   used at first (datapath/sender/prr.c), which is RFC 5681's loss window.
 * - After an idle time cwnd stays.  The guest has its own restart window (RFC 5681,
 *   4.1), which is then the smaller one.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <tcon/cc.h>

#include "reno.h"

enum {
	PARAM_BETA_ECN,
	PARAM_WEIGHT,
};

static const struct tcon_cc_param reno_params[] = {
	/* RFC 3168 and Linux: 0.5; RFC 8511, 3.1: 0.8 */
	[PARAM_BETA_ECN] = { "beta_ecn", TCON_PARAM_MILLI, 500, 500, 950, "",
			     "what a reduction for ECN marks leaves of the window" },
	[PARAM_WEIGHT] = TCON_WEIGHT_PARAM,
};

/**
 * struct reno - private area
 * @reno: the last reduction, and growth since
 * @weight: how many of the flows in this one it hit
 */
struct reno {
	struct tcon_reno reno;
	struct tcon_weight weight;
};

static void tcon_reno_cong_control(struct tcon_cc *cc,
				   const struct tcon_rate_sample *rs)
{
	struct reno *ca = tcon_cc_priv(cc);
	u32 weight = cc->params[PARAM_WEIGHT];

	tcon_reno_acked(cc, &ca->reno);
	tcon_reno_weighted_acked(cc, &ca->reno, &ca->weight, weight);
	if (tcon_reno_may_grow(cc, &ca->reno, rs))
		tcon_reno_weighted_grow(cc, &ca->reno, rs->acked_sacked_bytes,
					weight);
}

static void tcon_reno_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				u64 now_us)
{
	struct reno *ca = tcon_cc_priv(cc);

	tcon_reno_weighted_state(cc, &ca->reno, &ca->weight,
				 cc->params[PARAM_WEIGHT], state);
}

static void tcon_reno_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				 u64 now_us)
{
	struct reno *ca = tcon_cc_priv(cc);

	if (event == TCON_CA_EVENT_ECE)
		tcon_reno_weighted_ece(cc, &ca->reno, &ca->weight,
				       cc->params[PARAM_WEIGHT],
				       cc->params[PARAM_BETA_ECN]);
}

static void tcon_reno_undo_cwnd(struct tcon_cc *cc)
{
	struct reno *ca = tcon_cc_priv(cc);

	tcon_reno_undo(cc, &ca->reno);
}

static void tcon_reno_init(struct tcon_cc *cc, u64 now_us)
{
	struct reno *ca = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(*ca) > TCON_CC_PRIV_BYTES);
	tcon_weight_init(cc, &ca->weight, cc->params[PARAM_WEIGHT]);
}

static int tcon_reno_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct reno *ca = tcon_cc_priv(cc);

	return scnprintf(buf, size, "mode=%s acked_bytes=%u",
			 tcon_reno_mode_name(cc, &ca->reno),
			 ca->reno.acked_bytes);
}

static struct tcon_cc_ops reno_ops = {
	.name		= "reno",
	.category	= "loss",
	.source		= "RFC 5681, RFC 6582",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct reno),
	.params		= reno_params,
	.n_params	= ARRAY_SIZE(reno_params),
	.init		= tcon_reno_init,
	.cong_control	= tcon_reno_cong_control,
	.set_state	= tcon_reno_set_state,
	.cwnd_event	= tcon_reno_cwnd_event,
	.undo_cwnd	= tcon_reno_undo_cwnd,
	.get_info	= tcon_reno_get_info,
};

static int __init tcon_reno_module_init(void)
{
	return tcon_cc_register(&reno_ops);
}

static void __exit tcon_reno_module_exit(void)
{
	tcon_cc_unregister(&reno_ops);
}

module_init(tcon_reno_module_init);
module_exit(tcon_reno_module_exit);

MODULE_DESCRIPTION("TCon: NewReno congestion control (RFC 5681, RFC 6582)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-reno");
