// SPDX-License-Identifier: GPL-2.0-only
/*
 * NewReno: RFC 5681 and RFC 6582, counting bytes (RFC 3465) as Linux does.  The
 * baseline that other CCs are compared with.
 *
 * The model.  A loss says that the path is full, nothing else does.  So the
 * window grows until there is one, and is halved by it.  Per round trip:
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
 *	RFC 5681, 3.2	the halving, in RFC 6582 once per window of data: the
 *			recovery lasts until all that was in flight when it began
 *			is acknowledged (datapath/sender/ca.c)
 *	RFC 3465, 2.1	a segment for each cwnd of bytes acknowledged
 *	RFC 3168, 6.1.2	ECE counts as a loss, once per window
 *	RFC 8511	but for how much it takes in avoidance: a queue that is marked is
 *			short; beta_ecn=0.5 is RFC 3168, and Linux
 *
 * What a hypervisor does differently:
 * - The window grows only while it binds.  For that reason a reduction starts
 *   from cwnd, not from FlightSize (RFC 5681, eq. 4), as in Linux.
 * - On recovery cwnd falls to ssthresh at once, and stands still until it is over: it is
 *   what shall be after it.  In place of the inflation by duplicate ACKs (RFC 5681, 3.2,
 *   step 4) TCon counts what is in flight (datapath/sender/prr.c).
 * - Two segments is the smallest window (%TCON_MIN_CWND_SEGS), after a time-out
 *   too, where RFC 5681 has one.
 * - After silence cwnd is what it was: the restart window (RFC 5681, 4.1) is the
 *   guest's own, whose cwnd is the smaller one then.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <tcon/cc.h>

#include "reno.h"

enum {
	PARAM_BETA_ECN,
};

static const struct tcon_cc_param reno_params[] = {
	/* RFC 8511, 3.1: 0.8; RFC 3168 and Linux: 0.5 */
	[PARAM_BETA_ECN] = { "beta_ecn", TCON_PARAM_MILLI, 800, 500, 950, "",
			     "what a reduction for ECN marks leaves of the window" },
};

static void reno_cong_control(struct tcon_cc *cc,
			      const struct tcon_rate_sample *rs)
{
	struct tcon_reno *reno = tcon_cc_priv(cc);

	tcon_reno_acked(cc, reno);
	if (tcon_reno_may_grow(cc, reno, rs))
		tcon_reno_grow(cc, reno, rs->acked_sacked_bytes);
}

static void reno_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
			   u64 now_us)
{
	tcon_reno_set_state(cc, tcon_cc_priv(cc), state);
}

static void reno_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
			    u64 now_us)
{
	if (event == TCON_CA_EVENT_ECE)
		tcon_reno_ece(cc, tcon_cc_priv(cc), cc->params[PARAM_BETA_ECN]);
}

static void reno_undo_cwnd(struct tcon_cc *cc)
{
	tcon_reno_undo(cc, tcon_cc_priv(cc));
}

static void reno_init(struct tcon_cc *cc, u64 now_us)
{
	BUILD_BUG_ON(sizeof(struct tcon_reno) > TCON_CC_PRIV_BYTES);
}

static int reno_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct tcon_reno *reno = tcon_cc_priv(cc);

	return scnprintf(buf, size, "mode=%s acked_bytes=%u",
			 tcon_reno_mode_name(cc, reno), reno->acked_bytes);
}

static struct tcon_cc_ops reno_ops = {
	.name		= "reno",
	.category	= "loss",
	.source		= "RFC 5681, RFC 6582",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct tcon_reno),
	.params		= reno_params,
	.n_params	= ARRAY_SIZE(reno_params),
	.init		= reno_init,
	.cong_control	= reno_cong_control,
	.set_state	= reno_set_state,
	.cwnd_event	= reno_cwnd_event,
	.undo_cwnd	= reno_undo_cwnd,
	.get_info	= reno_get_info,
};

static int __init reno_module_init(void)
{
	return tcon_cc_register(&reno_ops);
}

static void __exit reno_module_exit(void)
{
	tcon_cc_unregister(&reno_ops);
}

module_init(reno_module_init);
module_exit(reno_module_exit);

MODULE_DESCRIPTION("TCon: NewReno congestion control (RFC 5681, RFC 6582)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-reno");
