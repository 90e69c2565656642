// SPDX-License-Identifier: GPL-2.0-only
/*
 * CUBIC: as in Linux, or as in RFC 9438.  cubic.h has the model and its code.
 */
#include <linux/module.h>
#include <tcon/cc.h>

#include "cubic.h"

static void tcon_cubic_init(struct tcon_cc *cc, u64 now_us)
{
	cubic_begin(cc, now_us, CUBIC_OF_RULE);
}

static struct tcon_cc_ops cubic_ops = {
	.name		= "cubic",
	.category	= "loss",
	.source		= "Linux 6.1 (RFC 8312), RFC 9438",
	.owner		= THIS_MODULE,
	.priv_bytes	= sizeof(struct cubic),
	.params		= cubic_params,
	.n_params	= ARRAY_SIZE(cubic_params),
	.init		= tcon_cubic_init,
	.cong_control	= tcon_cubic_cong_control,
	.set_state	= tcon_cubic_set_state,
	.cwnd_event	= tcon_cubic_cwnd_event,
	.undo_cwnd	= tcon_cubic_undo_cwnd,
	.get_info	= tcon_cubic_get_info,
};

static int __init tcon_cubic_module_init(void)
{
	return tcon_cc_register(&cubic_ops);
}

static void __exit tcon_cubic_module_exit(void)
{
	tcon_cc_unregister(&cubic_ops);
}

module_init(tcon_cubic_module_init);
module_exit(tcon_cubic_module_exit);

MODULE_DESCRIPTION("TCon: CUBIC congestion control");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-cubic");
