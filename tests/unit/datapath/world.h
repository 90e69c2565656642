/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest and its peer at the two hooks, for tests of datapath/path.c and all that is behind it.
 */
#ifndef _TEST_WORLD_H
#define _TEST_WORLD_H

#include "tests/unit/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/module.h>

#include "frame.h"
#include "state/judge.h"
#include "state/table.h"
#include "tests/fuzz/segments.h"

#define PEER_ISN	77U
#define FIRST		(GUEST_ISN + 1)
#define WINDOW		0xffffU
#define RTT_MS		10U
#define MANY		200U	/* segments: more than any cwnd here */

/**
 * struct world - what the test has seen
 * @now: next sequence number of the guest
 * @heard: bytes of the peer's that the guest acknowledges
 * @left: payload that has left to the peer, passed or injected
 * @packets: packets with payload, of these
 * @later: IP fragments but first ones, of these
 * @given: packets of the peer that have passed to the guest
 * @last: the last packet that left
 * @last_hash: its hash
 * @on_inject: called once when something is injected
 * @no_sack: neither end speaks SACK
 */
static struct {
	u32 now, heard;
	u32 left, packets, later, given;
	struct tcon_packet last;
	u32 last_hash;
	void (*on_inject)(void);
	bool no_sack;
} world;

static inline void note_left(const struct sk_buff *skb)
{
	struct tcon_packet p = {};

	tcon_packet_parse(&p, skb->data, skb->len, skb->len, skb_is_gso(skb));
	if (p.fragment == TCON_FRAGMENT_LATER)
		world.later++;
	world.left += p.payload_bytes;
	world.packets += p.payload_bytes > 0;
	world.last = p;
	world.last_hash = skb->hash;
}

static inline void inject(const struct tcon_port *port, struct sk_buff *skb)
{
	void (*fn)(void) = world.on_inject;

	world.on_inject = NULL;
	note_left(skb);
	kfree_skb(skb);
	if (fn)
		fn();
}

static inline void give(const struct tcon_port *port, struct sk_buff *skb)
{
	kfree_skb(skb);
}

static const struct tcon_attach attach = { .name = "unit", .inject = inject, .send = give };

/* The guest's segment as the hook gets it.  Returns whether it passes. */
static inline bool ingress(struct sk_buff *skb)
{
	bool pass;

	enter_tcon();
	pass = tcon_path_ingress(&host.port.hook, skb);
	leave_tcon();
	if (pass)
		note_left(skb);
	if (pass)
		kfree_skb(skb);
	return pass;
}

static inline struct tcon_packet segment(u8 flags, u32 seq, u32 ack, u32 bytes)
{
	struct tcon_packet p = {
		.flags = flags, .seq = seq, .ack = ack, .payload_bytes = bytes,
		.window = WINDOW, .wscale = 7, .mss = SEG_MSS, .sack_permitted = !world.no_sack,
		.has_ts = true, .tsval = shim_now_ns / NSEC_PER_MSEC,
		.tsecr = shim_now_ns / NSEC_PER_MSEC,
	};

	return p;
}

static inline bool guest_says(u8 flags, u32 seq, u32 bytes)
{
	struct tcon_packet p = segment(flags, seq, PEER_ISN + 1 + world.heard, bytes);

	return ingress(segment_new(&p, true, 0, false));
}

/* New data, as much as is in one segment. */
static inline bool guest_sends(u8 flags)
{
	bool pass = guest_says(flags, world.now, SEG_MSS);

	world.now += SEG_MSS;
	return pass;
}

static inline void egress(struct sk_buff *skb)
{
	bool pass;

	enter_tcon();
	pass = tcon_path_egress(&host.port.hook, skb);
	leave_tcon();
	world.given += pass;
	if (pass)
		kfree_skb(skb);
}

static inline void peer_says(u8 flags, u32 seq, u32 ack)
{
	struct tcon_packet p = segment(flags, seq, ack, 0);

	egress(segment_new(&p, false, 0, false));
}

static inline void peer_acks(u32 ack)
{
	peer_says(TCON_TCP_ACK, PEER_ISN + 1, ack);
}

static inline void wait_ms(u32 ms)
{
	u64 until_ns = shim_now_ns + (u64)ms * NSEC_PER_MSEC;

	while (shim_tasklet->scheduled || (shim_timer->armed && shim_timer->expires <= until_ns)) {
		if (shim_tasklet->scheduled) {
			run_tasklet();
			continue;
		}
		shim_now_ns = max(shim_now_ns, (u64)shim_timer->expires);
		run_timer();
	}
	shim_now_ns = until_ns;
}

static inline struct tcon_flow *flow(void)
{
	struct rb_node *node = rb_first_cached(&host.port.flow_tree);

	assert_non_null(node);
	return tcon_flow_of(rb_entry(node, struct tcon_stub, port_node));
}

static inline void shake(void)
{
	guest_says(TCON_TCP_SYN, GUEST_ISN, 0);
	wait_ms(RTT_MS);
	peer_says(TCON_TCP_SYN | TCON_TCP_ACK, PEER_ISN, FIRST);
	guest_says(TCON_TCP_ACK, FIRST, 0);
	world.now = FIRST;
}

/* A connection that is enforced, and has acknowledged some data. */
static inline void open_flow(void)
{
	shake();
	assert_true(guest_sends(TCON_TCP_ACK));
	wait_ms(RTT_MS);
	peer_acks(world.now);
	assert_int_equal(flow()->state, TCON_STATE_REPAIRED);
	world.left = 0;
	world.packets = 0;
}

/* Both ends have sent a FIN, and it is acknowledged. */
static inline void end_connection(void)
{
	guest_says(TCON_TCP_ACK | TCON_TCP_FIN, world.now, 0);
	peer_says(TCON_TCP_ACK | TCON_TCP_FIN, PEER_ISN + 1, world.now + 1);
	guest_says(TCON_TCP_ACK, world.now + 1, 0);
	assert_true(flow()->closed_us);
}

/* A connection begins at a port that rests; then a rule can match it. */
static inline void shake_unseen(void)
{
	host.ruleless = true;
	host.port.rests = true;
	shake();
	change_rules(false);
}

static inline int setup(void **unused)
{
	memset(&world, 0, sizeof(world));
	if (!n_rules) {
		shim_load(tcon_reno);
		shim_load(tcon_ctcp);
	}
	host_begin(1000 * (u64)NSEC_PER_SEC, &attach);
	return 0;
}

static inline int teardown(void **unused)
{
	host_end();
	assert_int_equal(shim_skbs, 0);
	return 0;
}

#endif /* _TEST_WORLD_H */
