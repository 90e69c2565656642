/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Half-flows and their table.
 */
#ifndef _TCON_FLOW_H
#define _TCON_FLOW_H

#include <linux/if_ether.h>
#include <linux/rhashtable.h>
#include <linux/skbuff.h>
#include <linux/stddef.h>

#include "sender/answer.h"
#include "sender/ca.h"
#include "sender/ecn.h"
#include "sender/limit.h"
#include "sender/pace.h"
#include "sender/thin.h"
#include "sender/track.h"
#include "sender/window.h"
#include "state/buffer.h"
#include "state/known.h"
#include "state/pacer.h"
#include "state/policy.h"
#include "state/port.h"
#include "state/trace.h"
#include "wire/key.h"
#include "wire/way.h"

struct tcon_saved;

/* Room for the headers in front of TCP's in an injected ACK: Ethernet, two VLAN tags, IPv6
 * without extensions.
 */
#define TCON_TEMPLATE_BYTES	(ETH_HLEN + 2 * 4 + 40)

/**
 * struct tcon_template - headers of the last ACK to the guest
 * @bytes: how much of @header is in use; 0: no ACK yet, or its headers are too long
 * @vlan_present: there is such a tag
 * @l3_offset: offset of the IP header in @header
 * @ace: the ACK's ECN flags, TCON_ACE_*
 * @vlan_proto: protocol of an accelerated VLAN tag
 * @vlan_tci: TCI of that tag
 * @header: from the Ethernet header up to TCP's
 */
struct tcon_template {
	u8 bytes:7;
	bool vlan_present:1;
	u8 l3_offset:5;
	u8 ace:3;
	__be16 vlan_proto;
	u16 vlan_tci;
	u8 header[TCON_TEMPLATE_BYTES];
};

/**
 * enum tcon_outcome_state - do rules with a share hear of a connection's outcome?
 * @TCON_OUTCOME_OPEN: its rule has not been looked up
 * @TCON_OUTCOME_DUE: when it ends
 * @TCON_OUTCOME_DONE: they have, or must not: its rule has changed
 */
enum tcon_outcome_state {
	TCON_OUTCOME_OPEN,
	TCON_OUTCOME_DUE,
	TCON_OUTCOME_DONE,
};

/**
 * enum tcon_flush - which waiting data leaves at once
 * @TCON_FLUSH_NONE: nothing
 * @TCON_FLUSH_OVERDUE: what the guest was allowed to send; repairs still obey cwnd
 * @TCON_FLUSH_ALL: all
 */
enum tcon_flush {
	TCON_FLUSH_NONE,
	TCON_FLUSH_OVERDUE,
	TCON_FLUSH_ALL,
};

/**
 * enum tcon_run - are packets of a flow being injected, without its lock?
 * @TCON_RUN_NONE: no
 * @TCON_RUN_INJECTS: yes
 * @TCON_RUN_KICKED: yes, and tcon_flow_kick() was called since
 */
enum tcon_run {
	TCON_RUN_NONE,
	TCON_RUN_INJECTS,
	TCON_RUN_KICKED,
};

/**
 * struct tcon_flow - a half-flow
 * @node: in the table
 * @key: its key
 * @asleep: it sleeps, and this is no &struct tcon_flow
 * @dead: it is no longer in the table; while it sleeps, under tcon_port.lock
 * @port: the guest's port
 * @port_node: in tcon_port.flow_tree
 * @rcu: for freeing it, when it is in no tree
 * @serial: its number among the port's flows, from 1; long, because a dump keeps it in cb->args
 * @created_us: when it was first seen
 * @seen_us: time of its last packet
 * @stub: what the table and the port have of it
 * @lock: protects everything but the nodes
 * @generation: tcon_port.generation when @rule was looked up
 * @heard_us: time of the peer's last ACK that the guest will look at; 0: none came by
 * @state: enum tcon_state
 * @reason: enum tcon_reason
 * @known: which of its packets TCon has seen, enum tcon_known
 * @unseen: the peer has acknowledged data that TCon did not see
 * @wakes: tcon_port.wakes when its packets were last all seen; otherwise it lags
 * @saved: its state on the host that its guest came from, until the guest has sent here;
 *	else NULL
 * @syn: the guest's SYN without what TCon has put on it; NULL once that is answered
 * @traits: what rules look at beside @key
 * @outcome: enum tcon_outcome_state
 * @watchdog: its CC misbehaved
 * @buffer: data that the guest has sent and is not acknowledged
 * @closed_node: in tcon_port.closed_list; empty: the connection has not ended
 * @due: when to look at the flow
 * @window: the windows that the guest was given
 * @answer: how long the guest takes to answer
 * @rule: the rule that it obeys, or NULL
 * @limits: what kept the flow from sending more
 * @told: what the peer has been told of the guest as a receiver
 * @told.ack: highest acknowledgment number
 * @told.edge: right edge of the windows
 * @told.us: when @told.ack last advanced; 0: it and @told.edge are not known
 * @hold: state of hold.c
 * @hold.cpu: on which its packets count as sent, plus 1; 0: none has left
 * @hold.run: enum tcon_run
 * @hold.flush: enum tcon_flush
 * @hold.passed_us: when a packet last passed, its low 32 bits
 * @hold.merged: packets put together with others since one last began a train, at most
 *	%U8_MAX
 * @unseen_ack: acknowledgment number that set @unseen
 * @closed_us: when the connection ended; 0: it has not
 * @said: what the guest sent last
 * @said.ack: its last acknowledgment number
 * @said.tsecr: its last TSecr
 * @said.window: its last window field
 * @said.ace: its last ECN flags, TCON_ACE_*
 * @said.edge: right edge of the windows that it has offered
 * @said.serial: number of its last segment
 * @said.way: the way that its last segment took
 * @said.data_us: when it last sent data
 * @said.part_end: end of its last segment that was not full
 * @said.last_bytes: TCP header and payload of its last segment
 * @said.wire_bytes: TCP header and payload of its full segments at present; 0: not known
 * @said.sends_parts: it has sent a segment that was not full up to the edge of its window
 * @clock: when packets may leave, and how the guest sends
 * @clock.release_ns: when the pacer's clock allows the next packet
 * @clock.burst_bytes: size of the guest's recent super-packets
 * @clock.gathers_segs: part of its window beyond data that may leave (tcon_flow_gathers_bytes())
 * @thin: ACKs that the guest was given
 * @absorbed: the guest's last repeat that was absorbed; empty if the guest was told that this was
 *	needless
 * @embryo_node: in tcon_port.embryos; empty: the connection is confirmed
 * @pending: a peer's SYN that replaces the connection if the guest answers it
 * @again_us: when the SYN of @again left
 * @ecn: ECN of both directions
 * @track: the sender's state
 * @template: for ACKs to the guest
 * @again: a guest's SYN that replaces the connection if the peer answers it
 * @repair: loss repair
 * @repair.absorbed: repeats absorbed
 * @repair.hidden_acks: duplicate ACKs not given to the guest
 * @repair.probes: tail probes
 * @repair.timeouts: retransmission time-outs
 * @repeats: repeats of the guest
 * @repeats.us: when the guest began to send @repeats.bytes
 * @repeats.delivered: bytes delivered then, the low 32 bits
 * @repeats.bytes: bytes that it has sent again within a round trip
 * @gap: sequence numbers that waiting segments left out
 * @gap.start: start of the first gap
 * @gap.end: end of the last gap
 * @rest: effects of its port's rest (rest.c)
 * @rest.ack: while it lags: the peer's last acknowledgment number, if @rest.heard
 * @rest.edge: right edge of the peer's window then
 * @rest.end_seq: sequence number after that segment of the peer
 * @rest.unheard: while it lags or is @saved: segments with data that did not tell where it is
 * @rest.heard: the peer has sent since the port woke
 * @rest.attended: counted in tcon_port.attended
 * @rest.believe_us: until when the peer may acknowledge unseen data
 * @bare: data that the guest has to repeat itself
 * @bare.end: sequence number after the last byte of it
 * @bare.reason: why, enum tcon_reason; %TCON_REASON_NONE: nothing; %TCON_REASON_REORDERING: all
 *
 * Members that packets need lie together, so that these take few lines of cache
 * (tests/unit/crossings counts them).  @stub, @buffer, @due, @embryo_node, @ecn and @track begin or
 * end with seldom needed parts.  Other seldom needed members lie next to these.
 */
struct tcon_flow {
	struct_group_tagged(tcon_stub, stub,	/* the table's; also of one that sleeps */
		struct rhash_head node;
		struct tcon_key key;
		struct tcon_port *port;
		union {
			struct rb_node port_node;
			struct rcu_head rcu;
		};
		long serial;
		u64 created_us;
		u64 seen_us;
		bool asleep;
		bool dead;
	);
	spinlock_t lock;	/* outside port->lock and a pacer's */
	u32 generation;

	/* For data and ACKs. */
	u64 heard_us;
	u8 state;
	u8 reason;
	u8 known;
	bool unseen;
	u32 wakes;
	struct tcon_saved *saved;
	struct sk_buff *syn;
	struct tcon_traits traits;
	u8 outcome;
	bool watchdog;
	struct tcon_buffer buffer;
	struct list_head closed_node;
	struct tcon_due due;
	struct tcon_window window;
	struct tcon_answer answer;
	struct tcon_rule *rule;
	struct tcon_limits limits;

	/* For data. */
	struct {
		u64 us;
		u32 ack;
		u32 edge;
	} told;
	struct {
		u32 cpu;
		u32 passed_us;
		u8 run:4;
		u8 flush:4;
		u8 merged;
	} hold;
	u32 unseen_ack;
	u64 closed_us;
	struct {
		u64 data_us;
		u32 part_end;
		u32 tsecr;
		u16 window;
		u8 ace;
		bool sends_parts;
		u16 last_bytes;
		u16 wire_bytes;
		u32 serial;
		struct tcon_way way;
		u32 ack;
		u32 edge;
	} said;

	/* For data and ACKs. */
	struct {
		u64 release_ns;
		u32 burst_bytes;
		u16 gathers_segs;
	} clock;
	struct tcon_thin thin;
	struct tcon_range absorbed;
	struct list_head embryo_node;
	struct tcon_side pending;
	u64 again_us;
	struct tcon_ecn ecn;
	struct tcon_track track;
	struct tcon_template template;

	/* Seldom. */
	struct tcon_side again;
	struct {
		u32 absorbed;
		u32 hidden_acks;
		u32 probes;
		u32 timeouts;
	} repair;
	struct {
		u64 us;
		u32 delivered;
		u32 bytes;
	} repeats;
	struct {
		u32 start;
		u32 end;
	} gap;
	struct {
		u32 ack;
		u32 edge;
		u32 end_seq;
		u8 unheard;
		bool heard;
		bool attended;
		u64 believe_us;
	} rest;
	struct {
		u32 end;
		u8 reason;
	} bare;
};

/* A half-flow that does not sleep, or NULL. */
static inline struct tcon_flow *tcon_flow_of(struct tcon_stub *stub)
{
	return stub ? container_of(stub, struct tcon_flow, stub) : NULL;
}

void tcon_flow_restart(struct tcon_flow *flow, u64 now_us);
void tcon_flow_keep_syn(struct tcon_flow *flow, struct sk_buff *skb);
struct sk_buff *tcon_flow_take_syn(struct tcon_flow *flow);
bool tcon_flow_opens_anew(const struct tcon_flow *flow, const struct tcon_packet *pkt);
void tcon_flow_grown(struct tcon_flow *flow);
void tcon_flow_close(struct tcon_flow *flow, u64 now_us);
void tcon_flow_reopen(struct tcon_flow *flow);
void tcon_flow_set_state(struct tcon_flow *flow, enum tcon_state state, enum tcon_reason reason);
bool tcon_flow_evades(enum tcon_reason reason);
void tcon_flow_kick(struct tcon_flow *flow);
void tcon_flow_setup(struct tcon_flow *flow, struct tcon_port *port, const struct tcon_key *key,
		     const struct tcon_traits *traits);
void tcon_flow_end(struct tcon_flow *flow);
void tcon_flow_remove_embryo(struct tcon_flow *flow);
void tcon_flow_tell_outcome(struct tcon_flow *flow);
void tcon_flow_put_copy(struct tcon_sendq *q, struct sk_buff *copy);

static inline struct tcon_stats __percpu *
tcon_flow_stats(const struct tcon_flow *flow)
{
	return flow->port->tnet->stats;
}

/* Have packets of it passed unseen, because its port has rested, and none resumed it since? */
static inline bool tcon_flow_lags(const struct tcon_flow *flow)
{
	return flow->wakes != READ_ONCE(flow->port->wakes);
}

/* A CC runs: data is held to its cwnd and rate. */
static inline bool tcon_flow_runs_cc(const struct tcon_flow *flow)
{
	return flow->state >= TCON_STATE_PACED;
}

/* Also, windows are written. */
static inline bool tcon_flow_enforced(const struct tcon_flow *flow)
{
	return flow->state >= TCON_STATE_ENFORCED;
}

/* Did its handshake, or a later packet, pass unseen? */
static inline bool tcon_flow_is_middle(const struct tcon_flow *flow)
{
	return tcon_known_is_middle(flow->known);
}

static inline bool tcon_flow_repaired(const struct tcon_flow *flow)
{
	return flow->state == TCON_STATE_REPAIRED;
}

/* Does anything wait for the pacer? */
static inline bool tcon_flow_waits(const struct tcon_flow *flow)
{
	return tcon_buffer_waits(&flow->buffer) ||
	       (tcon_flow_repaired(flow) && flow->track.lost.n);
}

/*
 * Has the guest sent a whole first flight (RFC 7413, 4.2), or all but a part of a segment, without
 * a handshake?  More data is judged like this before tcon_excess_repeats() is asked.
 */
static inline bool tcon_flow_sends_early(const struct tcon_flow *flow)
{
	const struct tcon_track *t = &flow->track;

	return !tcon_track_established(t) && !tcon_flow_is_middle(flow) &&
	       t->sent_bytes + t->cc.mss_bytes > TCON_INIT_CWND_SEGS * t->cc.mss_bytes;
}

/* Was the guest not told yet that its last repeat was needless? */
static inline bool tcon_flow_owes_needless(const struct tcon_flow *flow)
{
	return flow->absorbed.start != flow->absorbed.end;
}

static inline void tcon_flow_forget_needless(struct tcon_flow *flow)
{
	flow->absorbed.end = flow->absorbed.start;
}

/* How much payload a paced guest may have waiting. */
static inline u32 tcon_flow_allowance_bytes(const struct tcon_flow *flow)
{
	return min(tcon_pace_allowance_bytes(&flow->track, flow->clock.burst_bytes),
		   tcon_buffer_flow_max() / 8);
}

/*
 * Bytes that a guest may gather before it sends, in a recovery of a flow that is clocked by ACKs.
 * The guest sees few ACKs.  As long as Linux expects some it waits until it may send a third of its
 * window, or its largest super-packet (tcp_tso_should_defer()).
 */
static inline u32 tcon_flow_gathers_bytes(const struct tcon_flow *flow)
{
	if (likely(!tcon_track_recovers(&flow->track)) || flow->track.cc.pacing_rate_bps)
		return 0;
	return max(flow->clock.burst_bytes, min_t(u32, flow->window.given_bytes / 3, U16_MAX));
}

/* Read the time with the flow's lock held.  Then it is not before times that an earlier holder of
 * the lock has stored.  Differences are unsigned and rely on that.
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
