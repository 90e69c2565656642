// SPDX-License-Identifier: GPL-2.0-only
/*
 * In place of openvswitch.ko: ports in pairs, and the hooks of its patch, where that has them.
 *
 * A frame that enters takes PACKET_NS.  All other time passes in host_run().  As on one CPU, what is
 * received is followed by its softirqs.
 */
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_vlan.h>
#include <linux/interrupt.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/openvswitch.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/tcp.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>
#include <tcon/ovs.h>

#include "bridge.h"
#include "gso.h"

#define PORTS		16
#define PACKET_NS	1000
#define FIRST_IFINDEX	2	/* 1 is the loopback device */
#define GSO_MAX_BYTES	65536	/* of a device, unless it says otherwise */

/**
 * struct vport - a port and its device
 * @dev: the device; its ifindex is FIRST_IFINDEX and the port's place
 * @features: PORT_*
 * @there: it exists
 * @tcon: what tcon.ko made for it, or NULL
 * @to: where it forwards to, or NULL
 * @sent: what has left by the device
 */
struct vport {
	struct net_device dev;
	u32 features;
	bool there;
	struct ovs_tcon_port *tcon;
	struct vport *to;
	struct sk_buff_head sent;
};

static struct vport vports[PORTS];
static const struct ovs_tcon_ops *tcon_ops;
static u32 random_state = 1;

u32 get_random_u32(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state;
}

/* What runs in softirq, and reads under RCU. */

static void enter_softirq(void)
{
	shim_bh++;
	rcu_read_lock();
}

static void leave_softirq(void)
{
	rcu_read_unlock();
	shim_bh--;
	BUG_ON(shim_bh || shim_rcu_readers);
	rcu_barrier();
}

/* Out. */

/* The device is done with a frame: whoever is behind it gets it, tags included. */
static void queue_frame(struct vport *port, struct sk_buff *skb)
{
	__be16 tag[2];

	if (skb->ip_summed == CHECKSUM_PARTIAL && !(port->features & PORT_CSUM))
		frame_finish_sum(skb);
	if (skb_vlan_tag_present(skb)) {
		BUG_ON(skb_cow_head(skb, sizeof(tag)));
		tag[0] = skb->vlan_proto;
		tag[1] = htons(skb->vlan_tci);
		skb_push(skb, sizeof(tag));
		memmove(skb->data, skb->data + sizeof(tag), 2 * ETH_ALEN);
		memcpy(skb->data + 2 * ETH_ALEN, tag, sizeof(tag));
		skb->vlan_present = false;
	}
	__skb_queue_tail(&port->sent, skb);
}

static bool takes_whole(const struct vport *port, const struct sk_buff *skb)
{
	struct frame_layout at;

	return skb->len <= GSO_MAX_BYTES && frame_read(skb->data, skb->len, &at) &&
	       port->features & (at.ip6 ? PORT_TSO6 : PORT_TSO4);
}

static void transmit(struct vport *port, struct sk_buff *skb)
{
	struct sk_buff *piece, *next;

	if (!skb_is_gso(skb) || takes_whole(port, skb)) {
		queue_frame(port, skb);
		return;
	}
	piece = __skb_gso_segment(skb, NETIF_F_SG |
				  (port->features & PORT_CSUM ? NETIF_F_HW_CSUM : 0), true);
	BUG_ON(IS_ERR_OR_NULL(piece));
	kfree_skb(skb);
	skb_list_walk_safe(piece, piece, next) {
		skb_mark_not_on_list(piece);
		queue_frame(port, piece);
	}
}

/* As ovs_vport_send(): what is too long for the device is dropped. */
static void vport_send(struct vport *port, struct sk_buff *skb)
{
	if (!skb_is_gso(skb) && skb->len - ETH_HLEN > port->dev.mtu) {
		kfree_skb(skb);
		return;
	}
	if (port->tcon && port->tcon->guest && !tcon_ops->egress(port->tcon, skb))
		return;
	transmit(port, skb);
}

/* In. */

static void vport_receive(struct vport *port, struct sk_buff *skb)
{
	if (port->to && port->to->there)
		vport_send(port->to, skb);
	else
		kfree_skb(skb);
}

/* As skb_vlan_untag(): the outermost tag lies beside the frame. */
static void untag(struct sk_buff *skb)
{
	u16 kind = ntohs(*(__be16 *)(skb->data + 2 * ETH_ALEN));
	__be16 tci;

	if ((kind != ETH_P_8021Q && kind != ETH_P_8021AD) || skb->len < ETH_HLEN + 4)
		return;
	memcpy(&tci, skb->data + ETH_HLEN, sizeof(tci));
	memmove(skb->data + 4, skb->data, 2 * ETH_ALEN);
	__skb_pull(skb, 4);
	__vlan_hwaccel_put_tag(skb, htons(kind), ntohs(tci));
}

static struct sk_buff *new_packet(const void *frame, u32 bytes, const struct offload *offload)
{
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + bytes, GFP_KERNEL);
	struct frame_layout at;

	BUG_ON(!skb);
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(skb, frame, bytes);
	if (offload->csum_start) {
		skb->ip_summed = CHECKSUM_PARTIAL;
		skb->csum_start = skb->data + offload->csum_start - skb->head;
		skb->csum_offset = offsetof(struct tcphdr, check);
	}
	skb_shinfo(skb)->gso_size = offload->gso_bytes;
	untag(skb);
	skb_reset_mac_header(skb);
	memcpy(&skb->protocol, skb->data + 2 * ETH_ALEN, sizeof(skb->protocol));
	skb_set_network_header(skb, ETH_HLEN);
	skb_reset_mac_len(skb);
	if (frame_read(skb->data, skb->len, &at)) {
		skb_set_transport_header(skb, at.l4);
		if (offload->gso_bytes)
			skb_shinfo(skb)->gso_type = at.ip6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4;
	}
	return skb;
}

static struct vport *vport_of(int ifindex)
{
	u32 place = ifindex - FIRST_IFINDEX;

	BUG_ON(place >= PORTS || !vports[place].there);
	return &vports[place];
}

static void run_tasklet(void)
{
	shim_tasklet->scheduled = false;
	enter_softirq();
	shim_tasklet->callback(shim_tasklet);
	leave_softirq();
}

/* A guest's frame, or one from the wire, enters at a port. */
int port_receive(int ifindex, const void *frame, u32 bytes, const struct offload *offload)
{
	struct vport *port = vport_of(ifindex);
	struct sk_buff *skb;

	/* As skb_partial_csum_set(). */
	if (offload->csum_start && offload->csum_start + sizeof(struct tcphdr) > bytes)
		return -EINVAL;
	skb = new_packet(frame, bytes, offload);
	skb->dev = &port->dev;
	host_run(shim_now_ns + PACKET_NS, 0);
	enter_softirq();
	if (!port->tcon || !port->tcon->guest || tcon_ops->ingress(port->tcon, skb))
		vport_receive(port, skb);
	leave_softirq();
	while (shim_tasklet->scheduled)
		run_tasklet();
	return 0;
}

/* The next frame that has left by a port's device; its length, 0: there is none. */
u32 port_sent(int ifindex, void *frame, u32 size, struct offload *offload)
{
	struct vport *port = vport_of(ifindex);
	struct sk_buff *skb = __skb_dequeue(&port->sent);
	u32 bytes;

	if (!skb)
		return 0;
	bytes = skb->len;
	BUG_ON(bytes > size);
	memcpy(frame, skb->data, bytes);
	offload->gso_bytes = skb_shinfo(skb)->gso_size;
	offload->csum_start = skb->ip_summed == CHECKSUM_PARTIAL ?
			      skb_checksum_start_offset(skb) : 0;
	kfree_skb(skb);
	return bytes;
}

/* What tcon.ko calls. */

static void announce(struct vport *port)
{
	struct ovs_tcon_port_info info = {
		.vport = port, .net = &init_net, .dev = &port->dev,
		.type = OVS_VPORT_TYPE_NETDEV,
	};

	port->tcon = tcon_ops->port_add(&info);
}

static void withdraw(struct vport *port)
{
	struct ovs_tcon_port *tcon = port->tcon;

	port->tcon = NULL;
	if (tcon)
		tcon_ops->port_del(tcon);
	rcu_barrier();
}

int ovs_tcon_register(const struct ovs_tcon_ops *ops)
{
	struct vport *port;

	tcon_ops = ops;
	for (port = vports; port < vports + PORTS; port++)
		if (port->there)
			announce(port);
	return 0;
}

void ovs_tcon_unregister(void)
{
	struct vport *port;

	for (port = vports; port < vports + PORTS; port++)
		withdraw(port);
	tcon_ops = NULL;
}

void ovs_tcon_inject(struct vport *port, struct sk_buff *skb)
{
	skb->dev = &port->dev;
	vport_receive(port, skb);
}

void ovs_tcon_send(struct vport *port, struct sk_buff *skb)
{
	skb->dev = &port->dev;
	transmit(port, skb);
}

/* Ports come and go. */

int port_add(const char *name, u32 features, u32 mtu)
{
	struct vport *port = vports;

	while (port->there)
		BUG_ON(++port == vports + PORTS);
	memset(port, 0, sizeof(*port));
	strscpy(port->dev.name, name, sizeof(port->dev.name));
	port->dev.ifindex = port - vports + FIRST_IFINDEX;
	port->dev.type = ARPHRD_ETHER;
	port->dev.mtu = mtu;
	port->features = features;
	port->there = true;
	if (tcon_ops)
		announce(port);
	return port->dev.ifindex;
}

void port_set_mtu(int ifindex, u32 mtu)
{
	vport_of(ifindex)->dev.mtu = mtu;
}

void port_del(int ifindex)
{
	struct vport *port = vport_of(ifindex), *other;
	struct sk_buff *skb;

	for (other = vports; other < vports + PORTS; other++)
		if (other->to == port)
			other->to = NULL;
	withdraw(port);
	port->there = false;
	while ((skb = __skb_dequeue(&port->sent)))
		kfree_skb(skb);
}

/* What enters at one port leaves at the other; @to 0: nowhere. */
void port_connect(int from, int to)
{
	vport_of(from)->to = to ? vport_of(to) : NULL;
}

/* Time. */

static struct work_struct *first_work(void)
{
	struct work_struct *work, *first = shim_works;

	for (work = shim_works; work; work = work->next)
		if (work->due_ns < first->due_ns)
			first = work;
	return first;
}

static void run_timer(void)
{
	shim_timer->armed = false;
	enter_softirq();
	shim_timer->function(shim_timer);
	leave_softirq();
	while (shim_tasklet->scheduled)
		run_tasklet();
}

/* Runs what is due first, if it is by then.  The clock does not go back. */
static bool run_first(u64 until_ns)
{
	struct work_struct *work = first_work();
	u64 timer_ns = shim_timer && shim_timer->armed ? shim_timer->expires : U64_MAX;
	u64 work_ns = work ? work->due_ns : U64_MAX;
	u64 due_ns = min(timer_ns, work_ns);

	if (due_ns > until_ns)
		return false;
	shim_now_ns = max(shim_now_ns, due_ns);
	if (timer_ns <= work_ns) {
		run_timer();
	} else {
		shim_work_del(work);
		work->func(work);
		rcu_barrier();
	}
	return true;
}

/* Has a frame left by a port that is not read yet?  @ifindex: of the port; ANY_PORT; 0: no port's. */
static bool has_sent(int ifindex)
{
	struct vport *port;

	if (ifindex != ANY_PORT)
		return ifindex && !skb_queue_empty(&vport_of(ifindex)->sent);
	for (port = vports; port < vports + PORTS; port++)
		if (port->there && !skb_queue_empty(&port->sent))
			return true;
	return false;
}

/* Lets time pass until then, or until a frame has left by a port.  Says whether one has. */
bool host_run(u64 until_ns, int ifindex)
{
	while (!has_sent(ifindex)) {
		if (run_first(until_ns))
			continue;
		shim_now_ns = max(shim_now_ns, until_ns);
		return has_sent(ifindex);
	}
	return true;
}

u64 host_now_ns(void)
{
	return shim_now_ns;
}

static void wait_until(u64 until_ns)
{
	while (run_first(until_ns))
		;
}

int shim_tcon_init(void);
void shim_tcon_exit(void);

/* Loads all modules. */
void host_open(u64 now_ns)
{
	shim_wait = wait_until;
	shim_now_ns = now_ns;
	BUG_ON(shim_tcon_init());
	FOR_EACH_CC(shim_load);
}

/* All modules go, and nothing may be left. */
void host_close(void)
{
	FOR_EACH_CC(shim_unload);
	shim_tcon_exit();
	rcu_barrier();
	BUG_ON(shim_works || shim_skbs);
}
