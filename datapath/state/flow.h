/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Half-flows and their table.
 */
#ifndef _TCON_FLOW_H
#define _TCON_FLOW_H

#include <linux/if_ether.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>

#include "sender/ca.h"
#include "sender/ecn.h"
#include "sender/limit.h"
#include "sender/pace.h"
#include "sender/thin.h"
#include "sender/track.h"
#include "sender/window.h"
#include "state/held.h"
#include "state/pacer.h"
#include "state/policy.h"
#include "state/port.h"
#include "wire/key.h"

/* Headers up to TCP's that an injected ACK may need: Ethernet, two VLAN tags,
 * IPv6 without extensions.
 */
#define TCON_TEMPLATE_BYTES	(ETH_HLEN + 2 * 4 + 40)

/**
 * struct tcon_template - headers of the last ACK to the guest
 * @bytes: of @header in use; 0: none yet, or too long
 * @l3_offset: of the IP header in @header
 * @vlan_proto: of an accelerated VLAN tag
 * @vlan_tci: of it
 * @vlan_present: there is one
 * @header: from the Ethernet header up to TCP's
 */
struct tcon_template {
	u8 bytes;
	u8 l3_offset;
	__be16 vlan_proto;
	u16 vlan_tci;
	bool vlan_present;
	u8 header[TCON_TEMPLATE_BYTES];
};

/**
 * struct tcon_flow - a half-flow
 * @node: in the table
 * @key: what names it
 * @lock: protects everything below but the list nodes
 * @port: where the guest is
 * @track: the sender's state
 * @window: what the guest was given
 * @ecn: of both directions
 * @rule: that it obeys, or NULL
 * @serial: its number among those that the port has had; long: a dump keeps it
 * @generation: tcon_net.generation when @rule was looked up
 * @state: enum tcon_state
 * @reason: enum tcon_reason
 * @dead: out of the table
 * @mid_stream: its handshake, or something since, passed unseen
 * @unseen: the peer has acknowledged what the guest was not seen to send
 * @watchdog: its CC misbehaved
 * @pending: a peer's SYN that would replace the connection if answered
 * @created_us: when it was first seen
 * @seen_us: its last packet
 * @closed_us: when the connection ended; 0: it has not
 * @template: for ACKs to the guest
 * @held: packets that wait for the pacer
 * @burst_bytes: size of the guest's recent super-packets
 * @kicked: something was due while packets were injected
 * @injecting: the pacer is injecting packets of this flow, without @lock
 * @drain: pass what is held at once
 * @stalled_us: when all in flight was last judged lost so that what is held may leave
 * @copy_truesize: memory of copies
 * @bare: something without a copy is in flight
 * @bare_reason: why, enum tcon_reason
 * @bare_end: sequence number after it
 * @reordering: the path reorders more than repair can bear
 * @thin: ACKs that the guest was given
 * @gap_start: what the guest left out last, when a later segment came first
 * @gap_end: its end
 * @part_end: end of the guest's last segment that was not full
 * @sends_parts: it has sent such up to the edge of its window
 * @guest_ack: acknowledgment number that the guest sent last
 * @guest_tsecr: TSecr that it sent last
 * @guest_window: window field that it sent last
 * @guest_edge: right edge of the windows that it has offered
 * @unseen_ack: acknowledgment number of that
 * @tsval_floor: least TSval for repairs
 * @tsval_floor_valid: there is one
 * @absorbed_start: the guest's last repeat that was absorbed
 * @absorbed_end: its end
 * @absorbed_valid: the guest has not been told yet that it was needless
 * @absorbed: repeats absorbed
 * @hidden_acks: duplicate ACKs not given to the guest
 * @probes: tail probes
 * @timeouts: retransmission time-outs
 * @limits: what kept the flow from sending more
 * @release_ns: when the pacer's clock allows the next packet
 * @due: when to look at the flow
 * @port_node: in tcon_port.flow_list; RCU
 * @embryo_node: in tcon_port.embryos, under their lock; empty: no embryo
 * @rcu: for its end
 */
struct tcon_flow {
	struct rhash_head node;
	struct tcon_key key;
	spinlock_t lock;	/* outside port->lock and a pacer's */
	struct tcon_port *port;
	struct tcon_track track;
	struct tcon_window window;
	struct tcon_ecn ecn;
	struct tcon_rule *rule;
	long serial;
	u32 generation;
	u8 state;
	u8 reason;
	bool dead;
	bool mid_stream;
	bool unseen;
	bool watchdog;
	struct tcon_side pending;
	u64 created_us;
	u64 seen_us;
	u64 closed_us;
	struct tcon_template template;

	struct tcon_held held;
	u32 burst_bytes;
	bool injecting;
	bool kicked;
	bool drain;
	u64 stalled_us;

	u32 copy_truesize;
	bool bare;
	u8 bare_reason;
	u32 bare_end;
	bool reordering;
	struct tcon_thin thin;
	u32 gap_start;
	u32 gap_end;
	u32 part_end;
	bool sends_parts;
	u32 guest_ack;
	u32 guest_tsecr;
	u16 guest_window;
	u32 guest_edge;
	u32 unseen_ack;
	u32 tsval_floor;
	bool tsval_floor_valid;
	bool absorbed_valid;
	u32 absorbed_start;
	u32 absorbed_end;
	u64 absorbed;
	u64 hidden_acks;
	u64 probes;
	u64 timeouts;
	struct tcon_limits limits;

	u64 release_ns;
	struct tcon_due due;

	struct list_head port_node;
	struct list_head embryo_node;
	struct rcu_head rcu;
};

int tcon_flow_init(void);
void tcon_flow_exit(void);
u32 tcon_flow_max(void);
u32 tcon_flow_embryo_max(void);
struct tcon_flow *tcon_flow_find(const struct tcon_key *key);
struct tcon_flow *tcon_flow_create(struct tcon_port *port,
				   const struct tcon_key *key, bool embryo);
void tcon_flow_restart(struct tcon_flow *flow, u64 now_us);
void tcon_flow_grown(struct tcon_flow *flow);
void tcon_flow_judge(struct tcon_flow *flow, u64 now_us);
void tcon_flow_level(struct tcon_flow *flow);
void tcon_flow_reclassify(struct tcon_flow *flow, u64 now_us);
void tcon_flow_distrust(struct tcon_flow *flow, u64 now_us);
void tcon_flow_reclassify_all(void);
void tcon_flow_drain_all(void);
void tcon_flow_kick(struct tcon_flow *flow);
bool tcon_flow_may_repair(void);
void tcon_flow_purge_port(struct tcon_port *port);

static inline struct tcon_stats __percpu *
tcon_flow_stats(const struct tcon_flow *flow)
{
	return flow->port->tnet->stats;
}

/* Look for the rule again if rules have changed; as tcon_flow_reclassify(). */
static inline void tcon_flow_refresh(struct tcon_flow *flow, u64 now_us)
{
	if (unlikely(flow->generation !=
		     READ_ONCE(flow->port->tnet->generation)))
		tcon_flow_reclassify(flow, now_us);
}

/* The watchdog: to be called when the CC has decided. */
static inline void tcon_flow_check_cc(struct tcon_flow *flow, u64 now_us)
{
	if (unlikely(!tcon_ca_sane(&flow->track.cc)))
		tcon_flow_distrust(flow, now_us);
}

static inline bool tcon_flow_enforced(const struct tcon_flow *flow)
{
	return flow->state >= TCON_STATE_ENFORCED;
}

static inline bool tcon_flow_repaired(const struct tcon_flow *flow)
{
	return flow->state == TCON_STATE_REPAIRED;
}

/* Does anything wait for the pacer? */
static inline bool tcon_flow_waits(const struct tcon_flow *flow)
{
	return !tcon_held_empty(&flow->held) ||
	       (tcon_flow_repaired(flow) && flow->track.lost.n);
}

/* How much payload a paced guest may have waiting. */
static inline u32 tcon_flow_allowance_bytes(const struct tcon_flow *flow)
{
	return min(tcon_pace_allowance_bytes(&flow->track, flow->burst_bytes),
		   tcon_held_flow_max() / 2);
}

/* To be read with the flow's lock held: who held it before has read it before, and
 * ages are unsigned.
 */
static inline u64 tcon_now_ns(void)
{
	return ktime_get_ns();
}

static inline u64 tcon_us(u64 ns)
{
	return div_u64(ns, NSEC_PER_USEC);
}

#endif /* _TCON_FLOW_H */
