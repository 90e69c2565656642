// SPDX-License-Identifier: GPL-2.0-only
/*
 * The choice between the two ways into the datapath, once, when the module is loaded.
 */
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "hooks.h"
#include "netfilter.h"
#include "patched.h"

static char *attach = "auto";
module_param(attach, charp, 0444);
MODULE_PARM_DESC(attach, "where packets are seen: netfilter, openvswitch (patched), or auto");

static const struct tcon_attach *way __ro_after_init;

/* Somebody who installs a patched openvswitch.ko wants it used. */
static const struct tcon_attach *choose(void)
{
	bool any = sysfs_streq(attach, "auto");

	if ((any || sysfs_streq(attach, tcon_patched.name)) && tcon_patched_found())
		return &tcon_patched;
	if ((any || sysfs_streq(attach, tcon_netfilter.name)) && tcon_netfilter_found())
		return &tcon_netfilter;
	if (any)
		pr_err("tcon: this kernel has no netfilter egress hook, and openvswitch.ko is not a patched one\n");
	else if (sysfs_streq(attach, tcon_patched.name))
		pr_err("tcon: attach=openvswitch: openvswitch.ko is not a patched one, or not loaded\n");
	else if (sysfs_streq(attach, tcon_netfilter.name))
		pr_err("tcon: attach=netfilter: this kernel has no netfilter egress hook\n");
	return NULL;
}

static bool is_known(const char *name)
{
	return sysfs_streq(name, "auto") || sysfs_streq(name, tcon_patched.name) ||
	       sysfs_streq(name, tcon_netfilter.name);
}

/**
 * tcon_hooks_open() - show packets from now on
 *
 * Return: 0 or a negative error.
 */
int __init tcon_hooks_open(void)
{
	if (!is_known(attach)) {
		pr_err("tcon: attach=%s: it is auto, netfilter or openvswitch\n", attach);
		return -EINVAL;
	}
	way = choose();
	return way ? way->open() : -EOPNOTSUPP;
}

/**
 * tcon_hooks_close() - show packets no more
 *
 * When it returns every port is gone, and no hook runs or will run.
 */
void tcon_hooks_close(void)
{
	way->close();
}

/**
 * tcon_hooks_name() - which way is used
 *
 * Return: its name, as the module parameter attach takes it.
 */
const char *tcon_hooks_name(void)
{
	return way->name;
}
