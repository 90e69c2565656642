// SPDX-License-Identifier: GPL-2.0-only
/*
 * The two hooks: from a guest (ingress) and to a guest (egress).
 *
 *	guest -> ingress: parse, find the half-flow, track or hold -> wire
 *	guest <- egress:  parse, find the half-flow, track the ACK, let the CC
 *			  decide, write the window		   <- wire
 *
 * Whatever is not understood passes untouched and is counted.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <tcon/compat.h>

#include "act/ack.h"
#include "ends/guest.h"
#include "ends/peer.h"
#include "path.h"
#include "state/flow.h"
#include "state/fragment.h"
#include "state/table.h"
#include "wire/plain.h"
#include "wire/segment.h"

/* The module is about to go: pass everything. */
static bool closing __read_mostly;

static inline enum tcon_parse parse(const struct tcon_port *port, struct sk_buff *skb,
				    struct tcon_packet *pkt)
{
	enum tcon_parse ret;

	/* Each round asks for more than the one before, up to all of it. */
	while ((ret = tcon_packet_parse(pkt, skb->data, skb_headlen(skb), skb->len,
					skb_is_gso_tcp(skb))) == TCON_PARSE_PULL) {
		if (!pskb_may_pull(skb, pkt->pull_bytes)) {
			pkt->skip = TCON_COUNTER_NO_MEMORY;
			ret = TCON_PARSE_SKIP;
			break;
		}
	}
	if (unlikely(ret == TCON_PARSE_SKIP || ret == TCON_PARSE_TAGS))
		tcon_count(port->tnet->stats, pkt->skip);
	return ret;
}

/* Identifier 0 means no VLAN, only a priority (IEEE 802.1Q): the answers may have no tag. */
static void set_vlans(struct tcon_key *key, const struct sk_buff *skb,
		      const struct tcon_packet *pkt)
{
	const unsigned int last = ARRAY_SIZE(key->vlans) - 1;
	unsigned int n = 0, i;

	if (skb_vlan_tag_present(skb) && skb_vlan_tag_get_id(skb))
		key->vlans[n++] = skb_vlan_tag_get_id(skb) + 1;
	for (i = 0; i < pkt->n_vlans; i++) {
		if (n <= last)
			key->vlans[n++] = pkt->vlan_ids[i] + 1;
		else
			key->vlans[last] = tcon_packet_fold_vlans(key->vlans[last] - 1,
								  pkt->vlan_ids[i]) + 1;
	}
}

static inline void make_key(struct tcon_key *key, const struct tcon_port *port,
			    const struct sk_buff *skb,
			    const struct tcon_packet *pkt, bool from_guest)
{
	tcon_key_set_ends(key, skb->data, pkt, from_guest);
	key->port_id = port->id;
	set_vlans(key, skb, pkt);
}

/*
 * May a packet make a half-flow?  From the guest, a SYN or data may.  From outside, only a SYN
 * may, and data with an ECN mark: a TCon may have agreed to ECN for the guest before.
 */
static bool may_create(const struct tcon_packet *pkt, bool from_guest)
{
	if (pkt->flags & TCON_TCP_RST)
		return from_guest && pkt->payload_bytes;
	if (pkt->flags & TCON_TCP_SYN)
		return from_guest || !(pkt->flags & TCON_TCP_ACK);
	return from_guest ? pkt->payload_bytes : tcon_ecn_is_marked(pkt);
}

/* Is a packet to the guest one that it will take in? */
static inline bool is_sound(const struct tcon_port *port, const struct sk_buff *skb,
			    const struct tcon_packet *pkt)
{
	if (likely(tcon_segment_is_checked(skb)) || tcon_segment_sound(skb, pkt))
		return true;
	tcon_count(port->tnet->stats, TCON_COUNTER_BAD_CHECKSUM);
	return false;
}

/* Reads the traits from the packet. */
static struct tcon_traits traits_of(const struct sk_buff *skb, bool from_guest)
{
	const struct ethhdr *eth = (const struct ethhdr *)skb->data;
	struct tcon_traits traits = { .mark = from_guest ? 0 : skb->mark };

	ether_addr_copy(traits.mac, from_guest ? eth->h_source : eth->h_dest);
	return traits;
}

/* The packet's flow, which it may make; NULL: it has none, or is not to be believed. */
static inline struct tcon_flow *find_or_create(struct tcon_port *port,
					       const struct tcon_key *key,
					       const struct sk_buff *skb,
					       const struct tcon_packet *pkt,
					       bool from_guest)
{
	struct tcon_flow *flow = tcon_table_find(key);
	struct tcon_traits traits;

	if (unlikely(!flow) && !may_create(pkt, from_guest))
		return NULL;
	/* A sum takes time, which is spent only where a flow depends on it. */
	if (!from_guest && !is_sound(port, skb, pkt))
		return NULL;
	if (likely(flow))
		return flow;
	traits = traits_of(skb, from_guest);
	return tcon_table_create(port, key, &traits);
}

/* A packet of @flow comes from its guest.  Returns whether it goes on. */
static inline bool ingress(struct tcon_flow *flow, struct sk_buff *skb, struct tcon_packet *pkt)
{
	struct sk_buff *update = NULL;
	bool pass = true;
	u64 now_ns;

	spin_lock(&flow->lock);
	if (likely(!flow->dead)) {
		now_ns = tcon_now_ns();
		pass = tcon_guest_sends(flow, skb, pkt, now_ns);
		/* A guest that paces may reach its edge while nothing waits here. */
		if (unlikely(flow->thin.owed))
			update = tcon_ack_owed(flow, tcon_us(now_ns));
		else if (pass && flow->track.cc.pacing_rate_bps)
			update = tcon_ack_update(flow, tcon_us(now_ns));
	}
	spin_unlock(&flow->lock);
	if (update)
		tcon_ack_send(flow, update);
	return pass;
}

static bool drop_unread(struct tcon_port *port, struct sk_buff *skb)
{
	tcon_count(port->tnet->stats, TCON_COUNTER_UNREAD_DROPPED);
	kfree_skb_reason(skb, TCON_DROP_RULE);
	return false;
}

/*
 * Nobody can tell which half-flow it belongs to: a fragment whose first one has not come, or lacks
 * a part of the header; more extension headers than anybody has to accept (RFC 8504, 5.3); or IPv6
 * without a length.  (Linux takes that for as long as its frame if hop-by-hop options follow, a
 * jumbo payload or not.)  It is dropped if rules bind a half-flow that it may belong to.  Otherwise
 * the guest could send all its data like this.  While a port rests no rule can, and first fragments
 * are not noted.
 */
static bool unread(struct tcon_port *port, struct sk_buff *skb, const struct tcon_packet *pkt)
{
	const struct tcon_traits traits = traits_of(skb, true);
	struct tcon_key key;

	if (READ_ONCE(port->rests))
		return true;
	tcon_key_set_addresses(&key, skb->data, pkt, true);
	set_vlans(&key, skb, pkt);
	return !tcon_policy_binds(port, &key, &traits) || drop_unread(port, skb);
}

/* A later fragment. */
static bool ingress_later(struct tcon_port *port, struct sk_buff *skb, struct tcon_packet *pkt)
{
	struct tcon_flow *flow;
	struct tcon_key key;

	tcon_key_set_addresses(&key, skb->data, pkt, true);
	key.port_id = port->id;
	set_vlans(&key, skb, pkt);
	switch (tcon_fragment_find(port, &key, pkt, tcon_us(tcon_now_ns()))) {
	case TCON_FRAGMENT_OF_OTHER:
		tcon_count(port->tnet->stats, TCON_COUNTER_NOT_TCP);
		return true;
	case TCON_FRAGMENT_OF_UNKNOWN:
		tcon_count(port->tnet->stats, TCON_COUNTER_FRAGMENT);
		return unread(port, skb, pkt);
	case TCON_FRAGMENT_OF_FLOW:
		break;
	}
	flow = tcon_table_find(&key);
	return flow ? ingress(flow, skb, pkt) : true;
}

/* It is no whole segment, nor a first fragment of one.  Returns whether it goes on. */
static bool ingress_other(struct tcon_port *port, struct sk_buff *skb,
			  struct tcon_packet *pkt, enum tcon_parse parsed)
{
	if (parsed == TCON_PARSE_TAGS)	/* it may be of any half-flow */
		return !tcon_policy_binds_any(port) || drop_unread(port, skb);
	if (parsed == TCON_PARSE_LATER)
		return ingress_later(port, skb, pkt);
	switch (pkt->skip) {
	case TCON_COUNTER_FRAGMENT:
	case TCON_COUNTER_EXT_HEADER:
	case TCON_COUNTER_JUMBOGRAM:
		return unread(port, skb, pkt);
	default:
		return true;
	}
}

/* Is it surely of no interest, because its port rests? */
static inline bool passes_unseen(const struct tcon_port *port, const struct sk_buff *skb)
{
	return READ_ONCE(port->rests) && tcon_is_plain(skb->data, skb_headlen(skb));
}

/* Not inline: a packet that passes unseen needs no stack. */
static noinline bool ingress_seen(struct tcon_port *port, struct sk_buff *skb)
{
	struct tcon_packet pkt tcon_uninitialized;
	struct tcon_key key tcon_uninitialized;
	struct tcon_flow *flow;
	enum tcon_parse parsed;

	parsed = parse(port, skb, &pkt);
	if (unlikely(parsed != TCON_PARSE_OK))
		return ingress_other(port, skb, &pkt, parsed);
	if (READ_ONCE(port->rests) && !tcon_packet_is_end(&pkt))
		return true;
	make_key(&key, port, skb, &pkt, true);
	if (unlikely(pkt.fragment) &&
	    !tcon_fragment_note(port, &key, &pkt, tcon_us(tcon_now_ns())))
		return unread(port, skb, &pkt);
	flow = find_or_create(port, &key, skb, &pkt, true);
	return flow ? ingress(flow, skb, &pkt) : true;
}

/**
 * tcon_path_ingress() - a packet comes from a guest
 * @hook: its port
 * @skb: the packet, data at the link-layer header, not shared
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: true if it goes on, false if it was taken.
 */
bool tcon_path_ingress(struct ovs_tcon_port *hook, struct sk_buff *skb)
{
	struct tcon_port *port = container_of(hook, struct tcon_port, hook);

	return passes_unseen(port, skb) || READ_ONCE(closing) || ingress_seen(port, skb);
}

static noinline bool egress_seen(struct tcon_port *port, struct sk_buff *skb)
{
	struct tcon_packet pkt tcon_uninitialized;
	struct tcon_key key tcon_uninitialized;
	struct sk_buff *extra = NULL;
	struct tcon_flow *flow;
	bool pass = true;

	if (parse(port, skb, &pkt) != TCON_PARSE_OK)
		return true;
	if (READ_ONCE(port->rests) && !tcon_packet_is_end(&pkt) && !tcon_ecn_is_marked(&pkt))
		return true;
	if (unlikely(pkt.fragment)) {	/* what it acknowledges cannot be read */
		tcon_count(port->tnet->stats, TCON_COUNTER_FRAGMENT);
		return true;
	}
	make_key(&key, port, skb, &pkt, false);
	flow = find_or_create(port, &key, skb, &pkt, false);
	if (!flow)
		return true;
	spin_lock(&flow->lock);
	if (likely(!flow->dead))
		pass = tcon_peer_sends(flow, skb, &pkt, tcon_us(tcon_now_ns()), &extra);
	spin_unlock(&flow->lock);
	if (extra)
		tcon_ack_send(flow, extra);
	if (!pass)
		consume_skb(skb);
	return pass;
}

/**
 * tcon_path_egress() - a packet goes to a guest
 * @hook: its port
 * @skb: the packet, data at the link-layer header, not shared; it may be cloned
 *
 * Context: RCU read lock held, bottom halves disabled.
 * Return: true if it goes on, false if it was taken.
 */
bool tcon_path_egress(struct ovs_tcon_port *hook, struct sk_buff *skb)
{
	struct tcon_port *port = container_of(hook, struct tcon_port, hook);

	return passes_unseen(port, skb) || READ_ONCE(closing) || egress_seen(port, skb);
}

/**
 * tcon_path_port_del() - a port goes, with its half-flows and their packets
 * @hook: the port; gone after a grace period, in which hooks may still run
 *
 * Context: process context, may sleep; the lock under which ports come and go is held.
 */
void tcon_path_port_del(struct ovs_tcon_port *hook)
{
	struct tcon_port *port = container_of(hook, struct tcon_port, hook);

	tcon_port_close(port);
	tcon_table_purge_port(port);
	tcon_port_free(port);
}

/**
 * tcon_path_close() - let packets pass unseen from now on
 *
 * Context: process context.  When it returns no hook works on a flow.
 */
void tcon_path_close(void)
{
	WRITE_ONCE(closing, true);
	synchronize_net();
}
