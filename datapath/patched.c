// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way in by a patched openvswitch.ko: its hooks are nearest to the vport, and kernels
 * without netfilter's egress hook have no other.
 */
#include <tcon/ovs.h>

#include "patched.h"
#include "path.h"
#include "state/port.h"

/*
 * Where openvswitch.ko is not loaded, or the distribution's is, the module loader leaves
 * weak symbols NULL.  If a module exports them, the loader checks their version and keeps
 * openvswitch.ko from being unloaded, as for any other symbol.
 */
#pragma weak ovs_tcon_register
#pragma weak ovs_tcon_unregister
#pragma weak ovs_tcon_inject
#pragma weak ovs_tcon_send

static struct ovs_tcon_port *port_add(const struct ovs_tcon_port_info *info)
{
	return tcon_port_add(info, &tcon_patched);
}

static const struct ovs_tcon_ops ops = {
	.port_add = port_add,
	.port_del = tcon_path_port_del,
	.ingress = tcon_path_ingress,
	.egress = tcon_path_egress,
};

/**
 * tcon_patched_found() - is the openvswitch.ko that is loaded a patched one?
 *
 * Return: whether it was when this module was loaded.
 */
bool tcon_patched_found(void)
{
	return ovs_tcon_register && ovs_tcon_unregister && ovs_tcon_inject && ovs_tcon_send;
}

static int patched_open(void)
{
	return ovs_tcon_register(&ops);
}

static void patched_close(void)
{
	ovs_tcon_unregister();
}

static void patched_inject(const struct tcon_port *port, struct sk_buff *skb)
{
	ovs_tcon_inject(port->vport, skb);
}

static void patched_send(const struct tcon_port *port, struct sk_buff *skb)
{
	ovs_tcon_send(port->vport, skb);
}

const struct tcon_attach tcon_patched = {
	.name = "openvswitch",
	.ops = &ops,
	.open = patched_open,
	.close = patched_close,
	.inject = patched_inject,
	.send = patched_send,
};
