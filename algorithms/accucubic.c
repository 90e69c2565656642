// SPDX-License-Identifier: GPL-2.0-only
/*
 * AccuCubic: CUBIC that is exactly on its curve.  Sonia Belhareth, "Performances réseaux et
 * système pour le cloud computing", thesis, Nice 2014, sections 5.5.2 and 5.6; used again in
 * 6.5.
 *
 * The model.  Linux moves the window by whole segments at a pace that it aims at where W_cubic
 * is in an RTT.  So the window leaves the plateau earlier than W_cubic does: after some 0.8 s
 * in place of 1.35 s at an RTT of 1 s (5.5.2), and then more is lost than would have to be.
 * Here, with each ACK,
 *
 *	cwnd = W_cubic(t)
 *
 * or W_est if that is more.  Everything else is CUBIC's as in Linux (cubic.h): reductions by
 * whole segments, W_est, HyStart.
 *
 * The thesis leaves open: how much cwnd may grow at one ACK.  Here it is by what was
 * acknowledged, as in slow start.  That binds where no ACK was seen for long.  Without a
 * W_max the curve begins flat where the window is, and Linux's faster growth in this case
 * (1/20 per RTT) is not used.
 */
#include <linux/module.h>
#include <tcon/cc.h>

#include "cubic.h"

static void tcon_accucubic_init(struct tcon_cc *cc, u64 now_us)
{
	cubic_begin(cc, now_us, CUBIC_EXACT);
}

static struct tcon_cc_ops accucubic_ops = {
	.name		= "accucubic",
	.category	= "loss",
	.source		= "Belhareth, thesis, Nice 2014, 5.6",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct cubic),
	.params		= cubic_params,
	.n_params	= PARAM_RFC9438,
	.init		= tcon_accucubic_init,
	.cong_control	= tcon_cubic_cong_control,
	.set_state	= tcon_cubic_set_state,
	.cwnd_event	= tcon_cubic_cwnd_event,
	.undo_cwnd	= tcon_cubic_undo_cwnd,
	.get_info	= tcon_cubic_get_info,
};

static int __init tcon_accucubic_module_init(void)
{
	return tcon_cc_register(&accucubic_ops);
}

static void __exit tcon_accucubic_module_exit(void)
{
	tcon_cc_unregister(&accucubic_ops);
}

module_init(tcon_accucubic_module_init);
module_exit(tcon_accucubic_module_exit);

MODULE_DESCRIPTION("TCon: AccuCubic congestion control");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-accucubic");
