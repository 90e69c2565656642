// SPDX-License-Identifier: GPL-2.0-only
/*
 * LinCubic: Linux's CUBIC that is linear near W_max.  Sonia Belhareth, "Performances
 * réseaux et système pour le cloud computing", thesis, Nice 2014, section 5.6; used again in
 * 6.5.
 *
 * The model.  Flows of CUBIC lose together, because each may grow by several segments in the
 * round trip in which the queue overflows: W_cubic passes from W_max + 1 to W_max + 2 in
 * 0.35 s, and on in less.  So where the queue probably overflows the window grows by one
 * segment per round trip, as Reno's:
 *
 *	|cwnd - W_max| <= 2 segments	cwnd += 1 segment per window
 *	else				cwnd follows W_cubic
 *
 * Everything else is CUBIC's as in Linux (cubic.h), so that a comparison with it shows this
 * alone.
 *
 * The thesis leaves open: where on the curve a flow is that has left the plateau.  Here
 * it goes on from where W_cubic has the window that it has, W_max + 3, whatever time has
 * passed.  (With short RTTs the plateau is left earlier than W_cubic would, with long ones
 * later.  A clock that goes on would make the first flow stop, the second jump.)
 * Without a W_max there is no plateau.
 *
 * With fast convergence W_max may be a tenth below the window that the path holds.  Then the
 * plateau is not where the queue overflows, and little is gained (test_lincubic.c).
 */
#include <linux/module.h>
#include <tcon/cc.h>

#include "cubic.h"

static void tcon_lincubic_init(struct tcon_cc *cc, u64 now_us)
{
	cubic_begin(cc, now_us, CUBIC_LINEAR);
}

static struct tcon_cc_ops lincubic_ops = {
	.name		= "lincubic",
	.category	= "loss",
	.source		= "Belhareth, thesis, Nice 2014, 5.6",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct cubic),
	.params		= cubic_params,
	.n_params	= PARAM_RFC9438,
	.init		= tcon_lincubic_init,
	.cong_control	= tcon_cubic_cong_control,
	.set_state	= tcon_cubic_set_state,
	.cwnd_event	= tcon_cubic_cwnd_event,
	.undo_cwnd	= tcon_cubic_undo_cwnd,
	.get_info	= tcon_cubic_get_info,
};

static int __init tcon_lincubic_module_init(void)
{
	return tcon_cc_register(&lincubic_ops);
}

static void __exit tcon_lincubic_module_exit(void)
{
	tcon_cc_unregister(&lincubic_ops);
}

module_init(tcon_lincubic_module_init);
module_exit(tcon_lincubic_module_exit);

MODULE_DESCRIPTION("TCon: LinCubic congestion control");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-lincubic");
