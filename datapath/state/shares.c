// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shares of a host's guest ports: the bounds of the host and of a port.
 *
 * The bounds cover all network namespaces of the host, like its memory.
 */
#include <linux/moduleparam.h>
#include <linux/spinlock.h>

#include "state/shares.h"

static int set_bound(const char *val, const struct kernel_param *param);
static const struct kernel_param_ops bound = { .set = set_bound, .get = param_get_uint };

static unsigned int max_flows = 65536;
module_param_cb(max_flows, &bound, &max_flows, 0644);
MODULE_PARM_DESC(max_flows, "most half-flows of the host");

static unsigned int max_flows_per_port = 32768;
module_param_cb(max_flows_per_port, &bound, &max_flows_per_port, 0644);
MODULE_PARM_DESC(max_flows_per_port, "most half-flows of one guest port");

static unsigned int max_embryos = 8192;
module_param_cb(max_embryos, &bound, &max_embryos, 0644);
MODULE_PARM_DESC(max_embryos, "most unconfirmed half-flows of the host");

static unsigned int buffer_port_bytes = 256 << 20;
module_param_cb(buffer_port_bytes, &bound, &buffer_port_bytes, 0644);
MODULE_PARM_DESC(buffer_port_bytes, "most memory for the data of one port's half-flows");

static unsigned int buffer_host_bytes = 1 << 30;
module_param_cb(buffer_host_bytes, &bound, &buffer_host_bytes, 0644);
MODULE_PARM_DESC(buffer_host_bytes, "most memory for the data of the host's half-flows");

static unsigned int track_port_bytes = 128 << 20;
module_param_cb(track_port_bytes, &bound, &track_port_bytes, 0644);
MODULE_PARM_DESC(track_port_bytes, "most memory for records of one port's flows");

static unsigned int track_host_bytes = 512 << 20;
module_param_cb(track_host_bytes, &bound, &track_host_bytes, 0644);
MODULE_PARM_DESC(track_host_bytes, "most memory for records of the host's flows");

static const struct {
	const unsigned int *host, *port;
} most[TCON_SHARES] = {
	[TCON_SHARE_FLOWS] = { &max_flows, &max_flows_per_port },
	[TCON_SHARE_EMBRYOS] = { &max_embryos, &max_embryos },
	[TCON_SHARE_BUFFER] = { &buffer_host_bytes, &buffer_port_bytes },
	[TCON_SHARE_RECORDS] = { &track_host_bytes, &track_port_bytes },
};

static DEFINE_SPINLOCK(lock);	/* serialises writers of pools and ports */
static struct tcon_pool pools[TCON_SHARES];
static unsigned int ports;

/* Shares that are charged with packets, not only when flows begin and end. */
static const bool per_packet[TCON_SHARES] = {
	[TCON_SHARE_BUFFER] = true,
	[TCON_SHARE_RECORDS] = true,
};

/* The bounds, or the number of ports, have changed by @more ports. */
static void divide(int more)
{
	unsigned int i;

	spin_lock(&lock);
	ports += more;
	for (i = 0; i < TCON_SHARES; i++)
		tcon_pool_divide(&pools[i], *most[i].host, *most[i].port, ports);
	spin_unlock(&lock);
}

static int set_bound(const char *val, const struct kernel_param *param)
{
	int err = param_set_uint(val, param);

	if (!err)
		divide(0);
	return err;
}

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

	divide(0);
	for (i = 0; i < TCON_SHARES; i++) {
		shares[i].pool = &pools[i];
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
 * Charges that CPUs have not settled would be missing at the host.
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
	divide(1);
}

/**
 * tcon_shares_leave() - a port is a guest's no more
 */
void tcon_shares_leave(void)
{
	divide(-1);
}

/**
 * tcon_shares_host_max() - the bound of the host
 * @what: of what
 *
 * Return: the bound.
 */
u32 tcon_shares_host_max(enum tcon_share what)
{
	return *most[what].host;
}

/**
 * tcon_shares_port_max() - the bound of a port
 * @what: of what
 *
 * Return: the bound.
 */
u32 tcon_shares_port_max(enum tcon_share what)
{
	return *most[what].port;
}
