/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ports of Open vSwitch, as TCon sees them.
 */
#ifndef _TCON_PORT_H
#define _TCON_PORT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/rbtree.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>
#include <tcon/ovs.h>

#include "state/attach.h"
#include "state/net.h"
#include "state/nogo.h"
#include "state/shares.h"

struct tcon_device_hooks;
struct tcon_fragments;

/**
 * struct tcon_port_conf - what ovs-vswitchd says about a port
 * @rcu: for freeing it
 * @ofport: OpenFlow port number
 * @role: enum tcon_role; %TCON_ROLE_AUTO where not configured
 * @bridge: the bridge's name
 * @bridge_hash: tcon_name_hash() of it
 * @iface_id: external_ids:iface-id of the Interface; "": it has none
 * @iface_id_hash: tcon_name_hash() of it
 */
struct tcon_port_conf {
	struct rcu_head rcu;
	u32 ofport;
	u32 bridge_hash;
	u32 iface_id_hash;
	u8 role;
	char bridge[TCON_BRIDGE_NAME_MAX];
	char iface_id[TCON_IFACE_ID_MAX];
};

/**
 * struct tcon_port - a port
 *
 * First come members that packets read, and on other cache lines members written while they flow.
 *
 * @hook: what the vport points to
 * @rests: no rule can match, and data passes unseen: rest.c; under @lock
 * @ruled: a rule can match its flows; written under tcon_net.lock
 * @bound: such a rule binds flows that cannot be enforced; likewise
 * @bound_by_ports: a rule that binds such flows looks at TCP ports or marks; likewise
 * @less_ruled: a rule that could match has gone since @ruled was set; under tcon_net.lock
 * @calm: it might have rested at the last look; under tcon_net.lock
 * @wakes: how often its rest has ended; under @lock
 * @attach: the way in, which found it
 * @vport: the vport in a patched openvswitch.ko, opaque; NULL where another way is used
 * @hooks: netfilter's hooks on @dev; NULL while it has none
 * @dev: its device; like @vport valid until an RCU grace period after @dead
 * @tnet: the datapath's namespace
 * @id: unique as long as the module is loaded; part of the flows' keys
 * @type: enum ovs_vport_type
 * @role: the present role, enum tcon_role but never %TCON_ROLE_AUTO
 * @why: why, enum tcon_role_why
 * @dead: port_del was called
 * @conf: what vswitchd says; NULL until it has
 * @generation: changes when its flows may have to look for their rule again
 * @watched_us: when TCon began to see its packets
 * @woken_us: when its rest last ended; under @lock
 * @shares: what it uses of the host, index &enum tcon_share
 * @told: how far its flows have been told to look for their rule; under tcon_net.lock
 * @told.generation: the change that they are told of
 * @told.below: flows with this serial, or a higher one, have been told; 0: all
 * @attended: half-flows that keep it from resting
 * @evading: half-flows that cannot be enforced because of what the guest sends
 * @evaded: how often a half-flow became one of these
 * @lock: protects @flow_tree, @closed_list, @embryos, @last_serial, @nogo and @dead; taken inside
 *	a flow's lock
 * @flow_tree: half-flows, newest (with the highest serial) first
 * @embryos: half-flows whose connection nobody has confirmed, oldest first
 * @closed_list: half-flows whose connections have ended, the first to end first
 * @last_serial: serial of the newest
 * @nogo: destinations of the guest where ECN does not work; under @lock
 * @fragments: IP packets that the guest has sent in fragments lately; NULL: none; under @lock
 * @node: in tcon_net.ports; RCU
 * @rcu: for freeing it
 */
struct tcon_port {
	struct ovs_tcon_port hook;
	bool rests;
	bool ruled;
	bool bound;
	bool bound_by_ports;
	bool less_ruled;
	bool calm;
	u32 wakes;
	const struct tcon_attach *attach;
	struct vport *vport;
	struct tcon_device_hooks *hooks;
	struct net_device *dev;
	struct tcon_net *tnet;
	u32 id;
	u8 type;
	u8 role;
	u8 why;
	bool dead;
	struct tcon_port_conf __rcu *conf;
	u32 generation;
	u64 watched_us;
	u64 woken_us;

	/* Written now and then. */
	struct tcon_budget shares[TCON_SHARES] ____cacheline_aligned_in_smp;

	/* Written when flows begin, end, or change. */
	struct {
		u32 generation;
		long below;
	} told ____cacheline_aligned_in_smp;
	atomic_t attended;
	atomic_t evading;
	atomic_long_t evaded;
	spinlock_t lock;	/* the flows, @last_serial, @nogo, @dead */
	struct rb_root_cached flow_tree;
	struct list_head embryos;
	struct list_head closed_list;
	long last_serial;
	struct tcon_nogo nogo;
	struct tcon_fragments *fragments;
	struct list_head node;
	struct rcu_head rcu;
};

struct ovs_tcon_port *tcon_port_add(const struct ovs_tcon_port_info *info,
				    const struct tcon_attach *attach);
void tcon_port_close(struct tcon_port *port);
void tcon_port_free(struct tcon_port *port);
struct tcon_port *tcon_port_find(struct tcon_net *tnet, int ifindex);
void tcon_ports_changed(struct tcon_net *tnet, const char *bridge);
bool tcon_port_told(const struct tcon_port *port);
void tcon_port_look(struct tcon_port *port);
void tcon_port_wake(struct tcon_port *port);
void tcon_port_rule(struct tcon_port *port, bool ruled);
bool tcon_port_is_settled(const struct tcon_port *port, u64 now_us);
bool tcon_port_judge(struct tcon_port *port);
int tcon_port_configure(struct tcon_port *port, const char *bridge, u32 ofport,
			const char *iface_id, u8 role);

#endif /* _TCON_PORT_H */
