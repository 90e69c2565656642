// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCon: congestion control of guests, enforced in the Open vSwitch datapath.
 */
#include <linux/delay.h>
#include <linux/module.h>

#include "act/hold.h"
#include "devices.h"
#include "hooks.h"
#include "netlink.h"
#include "path.h"
#include "state/flow.h"
#include "state/pacer.h"
#include "state/reap.h"
#include "state/table.h"
#include "state/walk.h"

/* The pacers have this long to pass held packets.  The rest is freed with its port. */
#define DRAIN_MS	1000

static int __init tcon_init(void)
{
	int err;

	tcon_sendq_set_put(tcon_flow_put_copy);
	err = tcon_pacer_init(tcon_hold_release);
	if (err)
		return err;
	err = tcon_net_register();
	if (err)
		goto err_pacer;
	err = tcon_policy_register();
	if (err)
		goto err_net;
	err = tcon_table_init();
	if (err)
		goto err_policy;
	tcon_reap_init();
	err = tcon_walk_register();
	if (err)
		goto err_flow;
	err = tcon_devices_watch();	/* before there are ports: no change is missed */
	if (err)
		goto err_walk;
	err = tcon_hooks_open();
	if (err)
		goto err_devices;
	err = tcon_netlink_register();
	if (err)
		goto err_hooks;
	return 0;

err_hooks:
	tcon_hooks_close();
err_devices:
	tcon_devices_leave();
err_walk:
	tcon_walk_unregister();
err_flow:
	tcon_reap_exit();
	tcon_table_exit();
err_policy:
	tcon_policy_unregister();
err_net:
	tcon_net_unregister();
err_pacer:
	tcon_pacer_exit();
	return err;
}

/*
 * CCs hold a reference to this module.  So no CC is left, and no flow is enforced.  Packets that
 * still wait are on their way out, and new ones wait only behind them.  Packets may pass unseen
 * only when none waits any more.  Otherwise they would overtake.
 */
static void let_go(void)
{
	int ms;

	for (ms = 0; ms < DRAIN_MS && tcon_walk_drain_all(); ms++)
		usleep_range(USEC_PER_MSEC, 2 * USEC_PER_MSEC);
}

static void __exit tcon_exit(void)
{
	tcon_netlink_unregister();
	let_go();
	tcon_path_close();
	tcon_hooks_close();
	tcon_devices_leave();
	tcon_walk_unregister();
	tcon_reap_exit();
	tcon_table_exit();
	tcon_policy_unregister();
	tcon_net_unregister();
	tcon_pacer_exit();
}

module_init(tcon_init);
module_exit(tcon_exit);

MODULE_DESCRIPTION("TCon: guests' congestion control in Open vSwitch");
MODULE_LICENSE("GPL");
MODULE_VERSION(TCON_VERSION);
