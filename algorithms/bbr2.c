// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR, version 2, as it was: draft-cardwell-iccrg-bbr-congestion-control-02 (March 2022), and for
 * what that leaves open Google's tcp_bbr2.c (branch v2alpha, 2021).  It is the BBR2 of test-beds
 * that were measured before version 3 took its place.  bbr3.h has the model, and the list of what
 * the two versions do differently.
 */
#include <linux/module.h>
#include <tcon/cc.h>

#include "bbr3.h"

static void tcon_bbr2_init(struct tcon_cc *cc, u64 now_us)
{
	bbr3_begin(cc, now_us, true);
}

static struct tcon_cc_ops bbr2_ops = {
	.name		= "bbr2",
	.category	= "model",
	.source		= "draft-cardwell-iccrg-bbr-congestion-control-02",
	.owner		= THIS_MODULE,
	.paced		= true,
	.own_recovery	= true,
	.priv_bytes	= sizeof(struct bbr3),
	.params		= bbr3_params,
	.n_params	= ARRAY_SIZE(bbr3_params),
	.init		= tcon_bbr2_init,
	.cong_control	= tcon_bbr3_cong_control,
	.set_state	= tcon_bbr3_set_state,
	.cwnd_event	= tcon_bbr3_cwnd_event,
	.undo_cwnd	= tcon_bbr3_undo_cwnd,
	.get_info	= tcon_bbr3_get_info,
};

static int __init tcon_bbr2_module_init(void)
{
	return tcon_cc_register(&bbr2_ops);
}

static void __exit tcon_bbr2_module_exit(void)
{
	tcon_cc_unregister(&bbr2_ops);
}

module_init(tcon_bbr2_module_init);
module_exit(tcon_bbr2_module_exit);

MODULE_DESCRIPTION("TCon: BBR congestion control, version 2");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-bbr2");
