// SPDX-License-Identifier: GPL-2.0-only
/*
 * BBR, version 3.  The model, the states and what differs from versions 1 and 2: bbr3.h.
 */
#include <linux/module.h>
#include <tcon/cc.h>

#include "bbr3.h"

static void tcon_bbr3_init(struct tcon_cc *cc, u64 now_us)
{
	bbr3_begin(cc, now_us, false);
}

static struct tcon_cc_ops bbr3_ops = {
	.name		= "bbr3",
	.category	= "model",
	.source		= "draft-ietf-ccwg-bbr-06",
	.owner		= THIS_MODULE,
	.paced		= true,
	.own_recovery	= true,
	.priv_bytes	= sizeof(struct bbr3),
	.params		= bbr3_params,
	.n_params	= ARRAY_SIZE(bbr3_params),
	.init		= tcon_bbr3_init,
	.cong_control	= tcon_bbr3_cong_control,
	.set_state	= tcon_bbr3_set_state,
	.cwnd_event	= tcon_bbr3_cwnd_event,
	.undo_cwnd	= tcon_bbr3_undo_cwnd,
	.get_info	= tcon_bbr3_get_info,
};

static int __init tcon_bbr3_module_init(void)
{
	return tcon_cc_register(&bbr3_ops);
}

static void __exit tcon_bbr3_module_exit(void)
{
	tcon_cc_unregister(&bbr3_ops);
}

module_init(tcon_bbr3_module_init);
module_exit(tcon_bbr3_module_exit);

MODULE_DESCRIPTION("TCon: BBR congestion control, version 3");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-bbr3");
