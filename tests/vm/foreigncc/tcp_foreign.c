// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CC of Linux in a module that was not built with the kernel, for tests of what
 * tcon_linux refuses.  Never installed.
 */
#include <linux/module.h>
#include <net/tcp.h>

static struct tcp_congestion_ops foreign = {
	.name = "foreign",
	.owner = THIS_MODULE,
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init foreign_init(void)
{
	return tcp_register_congestion_control(&foreign);
}

static void __exit foreign_exit(void)
{
	tcp_unregister_congestion_control(&foreign);
}

module_init(foreign_init);
module_exit(foreign_exit);

MODULE_DESCRIPTION("TCon: a foreign CC for tests");
MODULE_LICENSE("GPL");
