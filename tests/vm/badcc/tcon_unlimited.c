// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CC without limits: under it TCon has nothing to do but to look.
 *
 * Its cwnd is more than any window, its slow start is over, and it is not paced.
 */
#include <linux/module.h>
#include <tcon/cc.h>

static void unlimited_init(struct tcon_cc *cc, u64 now_us)
{
	cc->cwnd_bytes = TCON_CWND_MAX_BYTES;
	cc->ssthresh_bytes = TCON_CWND_MAX_BYTES;
}

static void unlimited_cong_control(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
}

static void unlimited_set_state(struct tcon_cc *cc, enum tcon_ca_state state, u64 now_us)
{
}

static void unlimited_undo_cwnd(struct tcon_cc *cc)
{
}

static struct tcon_cc_ops unlimited = {
	.name = "unlimited",
	.category = "loss",
	.source = "tests",
	.owner = THIS_MODULE,
	.own_recovery = true,
	.init = unlimited_init,
	.cong_control = unlimited_cong_control,
	.set_state = unlimited_set_state,
	.undo_cwnd = unlimited_undo_cwnd,
};

static int __init tcon_unlimited_module_init(void)
{
	return tcon_cc_register(&unlimited);
}

static void __exit tcon_unlimited_module_exit(void)
{
	tcon_cc_unregister(&unlimited);
}

module_init(tcon_unlimited_module_init);
module_exit(tcon_unlimited_module_exit);

MODULE_DESCRIPTION("TCon: a CC without limits for tests");
MODULE_LICENSE("GPL");
