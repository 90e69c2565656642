// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the guest ports of a host share: the bounds, of the host and of a port.
 *
 * They are the host's, over all its network namespaces: memory is.
 */
#include <linux/moduleparam.h>

#include "state/shares.h"

static unsigned int max_flows = 65536;
module_param(max_flows, uint, 0644);
MODULE_PARM_DESC(max_flows, "most half-flows of the host");

static unsigned int max_flows_per_port = 32768;
module_param(max_flows_per_port, uint, 0644);
MODULE_PARM_DESC(max_flows_per_port, "most half-flows of one guest port");

static unsigned int max_embryos = 8192;
module_param(max_embryos, uint, 0644);
MODULE_PARM_DESC(max_embryos, "most unconfirmed half-flows of the host");

static unsigned int hold_port_bytes = 64 << 20;
module_param(hold_port_bytes, uint, 0644);
MODULE_PARM_DESC(hold_port_bytes, "most memory held for one port");

static unsigned int hold_host_bytes = 512 << 20;
module_param(hold_host_bytes, uint, 0644);
MODULE_PARM_DESC(hold_host_bytes, "most memory held on the host");

static unsigned int copy_port_bytes = 256 << 20;
module_param(copy_port_bytes, uint, 0644);
MODULE_PARM_DESC(copy_port_bytes, "most memory for copies of one port");

static unsigned int copy_host_bytes = 1 << 30;
module_param(copy_host_bytes, uint, 0644);
MODULE_PARM_DESC(copy_host_bytes, "most memory for copies on the host");

static unsigned int track_port_bytes = 128 << 20;
module_param(track_port_bytes, uint, 0644);
MODULE_PARM_DESC(track_port_bytes, "most memory for records of one port's flows");

static unsigned int track_host_bytes = 512 << 20;
module_param(track_host_bytes, uint, 0644);
MODULE_PARM_DESC(track_host_bytes, "most memory for records of the host's flows");

static struct tcon_pool pools[TCON_SHARES] = {
	[TCON_SHARE_FLOWS] = { .most = &max_flows },
	[TCON_SHARE_EMBRYOS] = { .most = &max_embryos },
	[TCON_SHARE_HELD] = { .most = &hold_host_bytes },
	[TCON_SHARE_COPIES] = { .most = &copy_host_bytes },
	[TCON_SHARE_RECORDS] = { .most = &track_host_bytes },
};

static const unsigned int *const port_most[TCON_SHARES] = {
	[TCON_SHARE_FLOWS] = &max_flows_per_port,
	[TCON_SHARE_EMBRYOS] = &max_embryos,
	[TCON_SHARE_HELD] = &hold_port_bytes,
	[TCON_SHARE_COPIES] = &copy_port_bytes,
	[TCON_SHARE_RECORDS] = &track_port_bytes,
};

/* What is charged with packets, not only when flows begin and end. */
static const bool per_packet[TCON_SHARES] = {
	[TCON_SHARE_HELD] = true,
	[TCON_SHARE_COPIES] = true,
	[TCON_SHARE_RECORDS] = true,
};

/**
 * tcon_shares_init() - open a port's accounts
 * @shares: as many as %TCON_SHARES, zero
 *
 * Context: process context, may sleep.
 * Return: 0; or -ENOMEM: then there is nothing to close.
 */
int tcon_shares_init(struct tcon_budget *shares)
{
	unsigned int i;

	for (i = 0; i < TCON_SHARES; i++) {
		shares[i].pool = &pools[i];
		shares[i].most = port_most[i];
		if (!per_packet[i])
			continue;
		shares[i].apart = alloc_percpu(long);
		if (!shares[i].apart) {
			tcon_shares_exit(shares);
			return -ENOMEM;
		}
	}
	return 0;
}

/**
 * tcon_shares_exit() - close a port's accounts
 * @shares: as many as %TCON_SHARES, which nothing is charged to any more
 *
 * What CPUs have not settled would be missing at the host.
 */
void tcon_shares_exit(struct tcon_budget *shares)
{
	unsigned int i;

	for (i = 0; i < TCON_SHARES; i++) {
		if (!shares[i].apart)
			continue;
		atomic_long_add(tcon_budget_used(&shares[i]) - atomic_long_read(&shares[i].used),
				&shares[i].pool->used);
		free_percpu(shares[i].apart);
		shares[i].apart = NULL;
	}
}

/**
 * tcon_shares_join() - one more port is a guest's, and has its part
 */
void tcon_shares_join(void)
{
	unsigned int i;

	for (i = 0; i < TCON_SHARES; i++)
		atomic_inc(&pools[i].ports);
}

/**
 * tcon_shares_leave() - a port is a guest's no more
 */
void tcon_shares_leave(void)
{
	unsigned int i;

	for (i = 0; i < TCON_SHARES; i++)
		atomic_dec(&pools[i].ports);
}

/**
 * tcon_shares_host_max() - the bound of the host
 * @what: of what
 *
 * Return: the bound.
 */
u32 tcon_shares_host_max(enum tcon_share what)
{
	return *pools[what].most;
}

/**
 * tcon_shares_port_max() - the bound of a port
 * @what: of what
 *
 * Return: the bound.
 */
u32 tcon_shares_port_max(enum tcon_share what)
{
	return *port_most[what];
}
