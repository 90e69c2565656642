// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCon: congestion control of guests, enforced in the Open vSwitch datapath.
 */
#include <linux/delay.h>
#include <linux/module.h>

#include "act/copy.h"
#include "act/hold.h"
#include "netlink.h"
#include "path.h"
#include "state/flow.h"
#include "state/pacer.h"

/* The pacers pass what is held within this, or it is freed with its port. */
#define DRAIN_MS	50

static int __init tcon_init(void)
{
	int err;

	tcon_sendq_set_put(tcon_copy_put);
	err = tcon_pacer_init(tcon_hold_release);
	if (err)
		return err;
	err = tcon_net_register();
	if (err)
		goto err_pacer;
	err = tcon_policy_register();
	if (err)
		goto err_net;
	err = tcon_flow_init();
	if (err)
		goto err_policy;
	err = ovs_tcon_register(&tcon_path_ops);
	if (err)
		goto err_flow;
	err = tcon_netlink_register();
	if (err)
		goto err_ovs;
	return 0;

err_ovs:
	ovs_tcon_unregister();
err_flow:
	tcon_flow_exit();
err_policy:
	tcon_policy_unregister();
err_net:
	tcon_net_unregister();
err_pacer:
	tcon_pacer_exit();
	return err;
}

static void __exit tcon_exit(void)
{
	tcon_netlink_unregister();
	tcon_path_close();
	tcon_flow_drain_all();
	msleep(DRAIN_MS);
	ovs_tcon_unregister();
	tcon_flow_exit();
	tcon_policy_unregister();
	tcon_net_unregister();
	tcon_pacer_exit();
}

module_init(tcon_init);
module_exit(tcon_exit);

MODULE_DESCRIPTION("TCon: guests' congestion control in Open vSwitch");
MODULE_LICENSE("GPL");
MODULE_VERSION(TCON_VERSION);
