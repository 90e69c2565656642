// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tahoe: Van Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, with the fast
 * retransmit that BSD had in the same year.  For comparisons: it has no fast recovery.
 *
 * The model.  As Reno's (reno.c), but any loss means that nothing is known of the path any
 * more:
 *
 *	slow start	cwnd += what was acknowledged	(twice as much per round trip)
 *	avoidance	cwnd += 1 segment per round trip
 *	loss, time-out	ssthresh = cwnd / 2, cwnd = 2 segments
 *	ECE		cwnd = ssthresh = cwnd / 2
 *
 * The states.
 *
 *	slow start ------ cwnd = ssthresh -----> avoidance
 *	   ^  ^                                   |  |  ^
 *	   |  +---------- loss, time-out ---------+  |  | una passes what
 *	   |                                     ECE |  | was in flight
 *	   +-- loss, time-out --- reduced <----------+--+
 *
 * Slow start begins at once, while what was in flight is still on its way and the loss is
 * repaired.  It is this that the window counts then, so TCon is not to reduce it step by step
 * (own_recovery).
 *
 * Differences from 1988, because it runs in a hypervisor:
 * - BSD went back to the loss and sent again what came after it.  TCon repairs what is lost.
 * - The smallest window is two segments (%TCON_MIN_CWND_SEGS), where the paper has one.
 * - There was no ECN.  ECE halves, as RFC 3168 asks.
 * - The window grows only while it limits the flow.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <tcon/cc.h>

#include "reno.h"

static bool may_grow(const struct tcon_cc *cc, const struct tcon_reno *reno,
		     const struct tcon_rate_sample *rs)
{
	if (cc->ca_state == TCON_CA_RECOVERY)
		return rs->is_cwnd_limited && rs->acked_bytes;
	return tcon_reno_may_grow(cc, reno, rs);
}

static void tcon_tahoe_cong_control(struct tcon_cc *cc,
				    const struct tcon_rate_sample *rs)
{
	struct tcon_reno *reno = tcon_cc_priv(cc);

	tcon_reno_acked(cc, reno);
	if (may_grow(cc, reno, rs))
		tcon_reno_grow(cc, reno, rs->acked_sacked_bytes);
}

static void tcon_tahoe_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				 u64 now_us)
{
	struct tcon_reno *reno = tcon_cc_priv(cc);

	tcon_reno_on_state(cc, reno, state);
	if (state == TCON_CA_RECOVERY)
		cc->cwnd_bytes = tcon_reno_min_cwnd_bytes(cc);
}

static void tcon_tahoe_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				  u64 now_us)
{
	if (event == TCON_CA_EVENT_ECE)
		tcon_reno_ece(cc, tcon_cc_priv(cc));
}

static void tcon_tahoe_undo_cwnd(struct tcon_cc *cc)
{
	tcon_reno_undo(cc, tcon_cc_priv(cc));
}

static void tcon_tahoe_init(struct tcon_cc *cc, u64 now_us)
{
	BUILD_BUG_ON(sizeof(struct tcon_reno) > TCON_CC_PRIV_BYTES);
}

static int tcon_tahoe_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	return scnprintf(buf, size, "mode=%s",
			 tcon_reno_in_slow_start(cc) ? "SLOW_START" : "AVOIDANCE");
}

static struct tcon_cc_ops tahoe_ops = {
	.name		= "tahoe",
	.category	= "loss",
	.source		= "Jacobson, SIGCOMM 1988",
	.owner		= THIS_MODULE,
	.own_recovery	= true,
	.priv_bytes	= sizeof(struct tcon_reno),
	.init		= tcon_tahoe_init,
	.cong_control	= tcon_tahoe_cong_control,
	.set_state	= tcon_tahoe_set_state,
	.cwnd_event	= tcon_tahoe_cwnd_event,
	.undo_cwnd	= tcon_tahoe_undo_cwnd,
	.get_info	= tcon_tahoe_get_info,
};

static int __init tcon_tahoe_module_init(void)
{
	return tcon_cc_register(&tahoe_ops);
}

static void __exit tcon_tahoe_module_exit(void)
{
	tcon_cc_unregister(&tahoe_ops);
}

module_init(tcon_tahoe_module_init);
module_exit(tcon_tahoe_module_exit);

MODULE_DESCRIPTION("TCon: Tahoe congestion control (Jacobson, 1988)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-tahoe");
