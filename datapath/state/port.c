// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ports: their roles, and how they come and go.
 */
#include <linux/if_arp.h>
#include <linux/moduleparam.h>
#include <linux/openvswitch.h>
#include <linux/printk.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/bareudp.h>
#include <net/geneve.h>
#include <net/gre.h>
#include <net/vxlan.h>

#include "base/contract.h"
#include "state/port.h"

/*
 * No cache line has both members that packets read and members that are written while they flow.
 * With one CPU this does not matter, and nothing is set apart.
 */
#define LINE_OF(type, member)	(offsetof(type, member) / SMP_CACHE_BYTES)
#define assert_apart(type, before, after)			\
	static_assert(!IS_ENABLED(CONFIG_SMP) ||		\
		      LINE_OF(type, before) < LINE_OF(type, after))
assert_apart(struct tcon_port, woken_us, shares);
assert_apart(struct tcon_port, shares[TCON_SHARES - 1].used, told);
assert_apart(struct tcon_pool, apart_most, used);

/* For this time after TCon begins to see a port, connections may be in mid-stream whose beginning
 * it has not seen.
 */
static unsigned int adopt_s = 60;
module_param(adopt_s, uint, 0644);
MODULE_PARM_DESC(adopt_s, "seconds in which a new port's flows may be older than the port");

static bool observe;
module_param(observe, bool, 0644);
MODULE_PARM_DESC(observe, "look at all packets of guests, also where no rule can match");

/* Is there hardware behind @dev, or behind a lower device of it? */
static int has_hardware(struct net_device *dev, struct netdev_nested_priv *priv)
{
	return !!dev->dev.parent;
}

/*
 * vswitchd makes tunnel devices itself and adds them as ordinary devices.  The parser cannot
 * read packets of a device without link-layer headers, so that counts as a tunnel, too.
 */
static bool is_tunnel(const struct net_device *dev)
{
	return dev->type != ARPHRD_ETHER || netif_is_vxlan(dev) || netif_is_geneve(dev) ||
	       netif_is_gretap(dev) || netif_is_ip6gretap(dev) ||
	       netif_is_bareudp(dev);
}

static bool is_physical(struct net_device *dev)
{
	struct netdev_nested_priv priv = { .data = NULL };

	return has_hardware(dev, &priv) ||
	       netdev_walk_all_lower_dev_rcu(dev, has_hardware, &priv);
}

static enum tcon_role_why judge(struct tcon_port *port, u8 configured)
{
	bool physical;

	if (port->type == OVS_VPORT_TYPE_INTERNAL)
		return TCON_WHY_INTERNAL;
	if (port->type != OVS_VPORT_TYPE_NETDEV || is_tunnel(port->dev))
		return TCON_WHY_TUNNEL;
	if (configured != TCON_ROLE_AUTO)
		return TCON_WHY_CONFIGURED;
	rcu_read_lock();
	physical = is_physical(port->dev);
	rcu_read_unlock();
	return physical ? TCON_WHY_PHYSICAL : TCON_WHY_VIRTUAL;
}

/* Sets role and why.  tnet->lock held, or nobody else knows the port.  0 or an error. */
static int set_role(struct tcon_port *port, u8 configured)
{
	static const u8 roles[] = {
		[TCON_WHY_PHYSICAL] = TCON_ROLE_UPLINK,
		[TCON_WHY_VIRTUAL] = TCON_ROLE_GUEST,
		[TCON_WHY_INTERNAL] = TCON_ROLE_NEVER,
		[TCON_WHY_TUNNEL] = TCON_ROLE_NEVER,
	};
	enum tcon_role_why why = judge(port, configured);
	u8 role = why == TCON_WHY_CONFIGURED ? configured : roles[why];
	int err = 0;

	if (port->attach->watch)
		err = port->attach->watch(port, role == TCON_ROLE_GUEST);
	if (err)
		return err;
	port->why = why;
	if (port->role != role)
		WRITE_ONCE(port->watched_us, div_u64(ktime_get_ns(), NSEC_PER_USEC));
	if (port->role != TCON_ROLE_GUEST && role == TCON_ROLE_GUEST)
		tcon_shares_join();
	else if (port->role == TCON_ROLE_GUEST && role != TCON_ROLE_GUEST)
		tcon_shares_leave();
	WRITE_ONCE(port->role, role);
	WRITE_ONCE(port->hook.guest, role == TCON_ROLE_GUEST);
	return 0;
}

/**
 * tcon_port_add() - make the port of a new vport
 * @info: the vport
 * @attach: the way in, which found it
 *
 * Context: ovs_mutex or RTNL held; may sleep.
 * Return: the port; NULL without memory.  TCon then does not see its packets.
 */
struct ovs_tcon_port *tcon_port_add(const struct ovs_tcon_port_info *info,
				    const struct tcon_attach *attach)
{
	static u32 last_id;	/* under ovs_mutex or RTNL, whichever @attach uses */
	struct tcon_port *port;

	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return NULL;
	port->hook.ops = attach->ops;
	port->attach = attach;
	port->vport = info->vport;
	port->dev = info->dev;
	port->tnet = tcon_net(info->net);
	if (tcon_shares_init(port->shares)) {
		kfree(port);
		return NULL;
	}
	port->type = info->type;
	port->id = ++last_id;
	spin_lock_init(&port->lock);
	port->flow_tree = RB_ROOT_CACHED;
	INIT_LIST_HEAD(&port->closed_list);
	INIT_LIST_HEAD(&port->embryos);
	if (set_role(port, TCON_ROLE_AUTO)) {
		tcon_shares_exit(port->shares);
		kfree(port);
		return NULL;
	}

	mutex_lock(&port->tnet->lock);
	list_add_tail_rcu(&port->node, &port->tnet->ports);
	port->tnet->port_changes++;
	mutex_unlock(&port->tnet->lock);
	return &port->hook;
}

static void port_free(struct rcu_head *rcu)
{
	struct tcon_port *port = container_of(rcu, struct tcon_port, rcu);

	kfree(rcu_dereference_raw(port->conf));
	kfree(port->fragments);
	tcon_shares_exit(port->shares);
	kfree(port);
}

/**
 * tcon_port_close() - let a port get no more half-flows, because its vport goes
 * @port: the port; the caller ends the half-flows that it has
 *
 * Until that is done it stays in the list, so that walks over all flows see them.
 *
 * Context: ovs_mutex or RTNL held; may sleep.
 */
void tcon_port_close(struct tcon_port *port)
{
	mutex_lock(&port->tnet->lock);
	if (port->attach->watch)
		port->attach->watch(port, false);
	if (port->role == TCON_ROLE_GUEST)
		tcon_shares_leave();
	/* Under the lock, so that no flow is added after the purge. */
	spin_lock_bh(&port->lock);
	WRITE_ONCE(port->dead, true);
	spin_unlock_bh(&port->lock);
	port->tnet->port_changes++;
	mutex_unlock(&port->tnet->lock);
}

/**
 * tcon_port_free() - free a closed port, after a grace period
 * @port: the port, which has no half-flows any more
 *
 * Context: ovs_mutex or RTNL held; may sleep.
 */
void tcon_port_free(struct tcon_port *port)
{
	mutex_lock(&port->tnet->lock);
	list_del_rcu(&port->node);
	mutex_unlock(&port->tnet->lock);
	call_rcu(&port->rcu, port_free);
}

/**
 * tcon_port_find() - a port by its device
 * @tnet: the namespace
 * @ifindex: of the device
 *
 * Context: tnet->lock held, or RCU read lock.
 * Return: the port or NULL.
 */
struct tcon_port *tcon_port_find(struct tcon_net *tnet, int ifindex)
{
	struct tcon_port *port;

	list_for_each_entry_rcu(port, &tnet->ports, node,
				lockdep_is_held(&tnet->lock))
		if (port->dev->ifindex == ifindex && !READ_ONCE(port->dead))
			return port;
	return NULL;
}

/* Makes the port's flows look for their rule again with their next packet.  A reader of the new
 * generation also sees the changes before it.
 */
static void changed(struct tcon_port *port)
{
	lockdep_assert_held(&port->tnet->lock);
	/* Pairs with the smp_load_acquire() in tcon_judge_rule(). */
	smp_store_release(&port->generation, port->generation + 1);
}

/**
 * tcon_ports_changed() - let flows look for their rule again
 * @tnet: the namespace
 * @bridge: only flows of ports of this bridge; NULL: all
 *
 * They do so with their next packet; tcon_walk_spread() is for those that are silent.
 *
 * Context: tnet->lock held.
 */
void tcon_ports_changed(struct tcon_net *tnet, const char *bridge)
{
	const struct tcon_port_conf *conf;
	struct tcon_port *port;

	list_for_each_entry(port, &tnet->ports, node) {
		conf = rcu_dereference_protected(port->conf, lockdep_is_held(&tnet->lock));
		if (conf && (!bridge || !strcmp(conf->bridge, bridge)))
			changed(port);
	}
}

/**
 * tcon_port_told() - have all flows looked for their rule since the last change?
 * @port: their port
 *
 * Context: tnet->lock held.
 * Return: true if they have.
 */
bool tcon_port_told(const struct tcon_port *port)
{
	lockdep_assert_held(&port->tnet->lock);
	return port->told.generation == port->generation && !port->told.below;
}

/**
 * tcon_port_is_settled() - has TCon seen a port's packets for long?
 * @port: the port
 * @now_us: the time
 *
 * If so, a connection whose beginning passed unseen is the guest's doing: it is not older than
 * TCon, and no migration has brought it here.
 *
 * Return: whether it has.
 */
bool tcon_port_is_settled(const struct tcon_port *port, u64 now_us)
{
	u64 since_us = READ_ONCE(port->watched_us);

	return now_us > since_us && now_us - since_us > (u64)adopt_s * USEC_PER_SEC;
}

/**
 * tcon_port_judge() - find out again what a port's device is
 * @port: the port
 *
 * If there is no memory to see the packets of a new guest's port, its role stays.
 *
 * Context: tnet->lock held.
 * Return: whether the port has another role now; then tcon_policy_place() must follow.
 */
bool tcon_port_judge(struct tcon_port *port)
{
	const struct tcon_port_conf *conf;
	u8 before = port->role;

	lockdep_assert_held(&port->tnet->lock);
	conf = rcu_dereference_protected(port->conf, lockdep_is_held(&port->tnet->lock));
	if (set_role(port, conf ? conf->role : TCON_ROLE_AUTO))
		pr_warn("tcon: no memory to see the packets of %s\n", port->dev->name);
	if (port->role == before)
		return false;
	port->tnet->port_changes++;
	changed(port);
	return true;
}

/**
 * tcon_port_configure() - store what ovs-vswitchd says about a port
 * @port: the port
 * @bridge: name of its bridge, shorter than %TCON_BRIDGE_NAME_MAX
 * @ofport: its OpenFlow number
 * @iface_id: its iface-id, shorter than %TCON_IFACE_ID_MAX; "": none
 * @role: enum tcon_role
 *
 * Context: tnet->lock held.
 * Return: 0, also if nothing changes; or a negative error, and nothing has changed.
 */
int tcon_port_configure(struct tcon_port *port, const char *bridge, u32 ofport,
			const char *iface_id, u8 role)
{
	struct tcon_port_conf *conf, *old;
	int err;

	lockdep_assert_held(&port->tnet->lock);
	old = rcu_dereference_protected(port->conf,
					lockdep_is_held(&port->tnet->lock));
	if (old && old->ofport == ofport && old->role == role &&
	    !strcmp(old->bridge, bridge) && !strcmp(old->iface_id, iface_id)) {
		tcon_port_judge(port);
		return 0;
	}
	conf = kzalloc(sizeof(*conf), GFP_KERNEL);
	if (!conf)
		return -ENOMEM;
	strscpy(conf->bridge, bridge, sizeof(conf->bridge));
	conf->bridge_hash = tcon_name_hash(bridge);
	strscpy(conf->iface_id, iface_id, sizeof(conf->iface_id));
	conf->iface_id_hash = tcon_name_hash(iface_id);
	conf->ofport = ofport;
	conf->role = role;
	err = set_role(port, role);
	if (err) {
		kfree(conf);
		return err;
	}
	rcu_assign_pointer(port->conf, conf);
	if (old)
		kfree_rcu(old, rcu);
	port->tnet->port_changes++;
	changed(port);
	return 0;
}

static bool may_rest(const struct tcon_port *port)
{
	return !READ_ONCE(observe) && !READ_ONCE(port->ruled) && !atomic_read(&port->attended) &&
	       tcon_port_told(port) && !tcon_share_used(port->shares, TCON_SHARE_BUFFER);
}

/**
 * tcon_port_look() - let a port rest if it may, or wake it if it may not
 * @port: the port
 *
 * To be called now and then.  Packets held at one look have left by the next.
 *
 * Context: tnet->lock held.
 */
void tcon_port_look(struct tcon_port *port)
{
	bool calm = port->calm;

	lockdep_assert_held(&port->tnet->lock);
	port->calm = may_rest(port);
	if (!port->calm) {
		tcon_port_wake(port);
		return;
	}
	if (!calm)
		return;
	/* A flow that needs the port awake counts first, and then takes the lock. */
	spin_lock_bh(&port->lock);
	if (!atomic_read(&port->attended))
		WRITE_ONCE(port->rests, true);
	spin_unlock_bh(&port->lock);
}

/**
 * tcon_port_wake() - see all packets of a port
 * @port: the port
 *
 * Context: any; perhaps a flow's lock held.
 */
void tcon_port_wake(struct tcon_port *port)
{
	spin_lock_bh(&port->lock);
	if (port->rests) {
		WRITE_ONCE(port->woken_us, div_u64(ktime_get_ns(), NSEC_PER_USEC));
		WRITE_ONCE(port->wakes, port->wakes + 1);
		WRITE_ONCE(port->rests, false);
	}
	spin_unlock_bh(&port->lock);
}

/**
 * tcon_port_rule() - can a rule match flows of a port?
 * @port: the port
 * @ruled: whether one can
 *
 * Context: tnet->lock held.
 */
void tcon_port_rule(struct tcon_port *port, bool ruled)
{
	lockdep_assert_held(&port->tnet->lock);
	WRITE_ONCE(port->ruled, ruled);
	if (ruled)
		tcon_port_wake(port);
}
