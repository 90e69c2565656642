// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hooks, with all that is behind them (datapath/path.c): segments of a guest, and of its peer,
 * that no honest end sends, or at a moment that is rare.
 */
#include "world.h"

#include "state/move.h"
#include "state/reap.h"

/* A guest moves: the host that it leaves, and the one that it comes to. */
static void move(void)
{
	struct tcon_saved *saved = malloc(sizeof(*saved));
	struct tcon_state_record record;

	enter_tcon();
	spin_lock(&flow()->lock);
	assert_true(tcon_move_out(flow(), &record));
	spin_unlock(&flow()->lock);
	tcon_table_purge_port(&host.port);
	leave_tcon();
	host.port.id++;
	assert_null(tcon_saved_read(saved, &record, sizeof(record)));
	enter_tcon();
	assert_int_equal(tcon_move_in(&host.port, saved), 0);
	leave_tcon();
}

/* Data is data, whatever flags it has.  Some peers take it with RST, or are the guest's friends. */
static void data_with_rst_of_moved_flow_is_seen(void **unused)
{
	u32 i;

	open_flow();
	move();
	for (i = 0; i < MANY; i++)
		guest_sends(TCON_TCP_RST | TCON_TCP_ACK);
	assert_in_range(world.packets, 0, 4 * TCON_INIT_CWND_SEGS);
}

static void data_with_rst_of_resuming_flow_is_seen(void **unused)
{
	u32 i;

	shake_unseen();
	for (i = 0; i < MANY; i++)
		guest_sends(TCON_TCP_RST | TCON_TCP_ACK);
	assert_in_range(world.packets, 0, 4 * TCON_INIT_CWND_SEGS);
}

static void data_with_rst_is_held(void **unused)
{
	u32 i;

	open_flow();
	for (i = 0; i < MANY; i++)
		guest_sends(TCON_TCP_RST | TCON_TCP_ACK);
	assert_in_range(world.packets, 0, 2 * TCON_INIT_CWND_SEGS);
}

static void data_with_rst_of_no_flow_is_paced(void **unused)
{
	u32 i;

	host.settled = true;
	for (i = 0; i < MANY; i++)
		guest_sends(TCON_TCP_RST);
	assert_in_range(world.packets, 0, 2 * TCON_INIT_CWND_SEGS);
}

static void old_data_after_the_end_is_bounded(void **unused)
{
	u32 i;

	open_flow();
	end_connection();
	for (i = 0; i < MANY; i++)
		guest_says(TCON_TCP_ACK, FIRST, SEG_MSS);
	assert_in_range(world.packets, 0, 4 * TCON_INIT_CWND_SEGS);
}

/* Data on a SYN (RFC 7413) is at most a segment of a connection, and its repeats. */
static void data_on_syns_is_bounded(void **unused)
{
	u32 i;

	shake();
	world.packets = 0;
	for (i = 0; i < MANY; i++)
		guest_says(TCON_TCP_SYN, GUEST_ISN + i / 2 * SEG_MSS, SEG_MSS);
	assert_in_range(world.packets, 0, 4 * TCON_INIT_CWND_SEGS);
}

/* No window reaches so far, and it is no part of the connection. */
static void data_far_ahead_is_bounded(void **unused)
{
	u32 i;

	open_flow();
	for (i = 0; i < MANY; i++)
		guest_says(TCON_TCP_ACK, world.now + (3U << 29) + i * SEG_MSS, SEG_MSS);
	assert_in_range(world.packets, 0, 4 * TCON_INIT_CWND_SEGS);
}

/* Each segment lies before the one before, so that a connection seems to begin with each. */
static void data_that_goes_backwards_is_bounded(void **unused)
{
	u32 i;

	host.settled = true;
	for (i = 0; i < MANY; i++)
		guest_says(TCON_TCP_ACK, GUEST_ISN - i * SEG_MSS, SEG_MSS);
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	assert_in_range(world.packets, 0, 4 * TCON_INIT_CWND_SEGS);
}

/* A byte elsewhere must not let out what waits. */
static void data_elsewhere_lets_nothing_out(void **unused)
{
	u32 i;

	host.settled = true;
	world.now = FIRST;
	for (i = 0; i < MANY; i++)
		guest_sends(TCON_TCP_ACK);
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	guest_says(TCON_TCP_ACK, FIRST + (3U << 29), 1);
	wait_ms(10);
	assert_in_range(world.packets, 1, 2 * TCON_INIT_CWND_SEGS);
}

/* It seems to come into a gap, so that TCon does not know it for what waits. */
static void repeats_of_what_waits_are_bounded(void **unused)
{
	u32 i;

	open_flow();
	while (guest_sends(TCON_TCP_ACK))
		;
	guest_says(TCON_TCP_RST, world.now + 1000 * SEG_MSS, 0);
	for (i = 0; i < MANY; i++)
		guest_says(TCON_TCP_ACK, world.now + 500 * SEG_MSS, SEG_MSS);
	peer_acks(world.now - SEG_MSS);
	wait_ms(10);
	assert_in_range(world.packets, TCON_INIT_CWND_SEGS + 2, 4 * TCON_INIT_CWND_SEGS);
}

static u64 repeats_dropped(void)
{
	return host.tnet.stats->count[TCON_COUNTER_REPEAT_EXCESS];
}

/* To drop takes a CPU time, too: of many repeats that waited, one look at the flow drops a part. */
static void a_look_drops_no_more_than_it_sends(void **unused)
{
	u64 before, most = 0;
	u32 i;

	open_flow();
	while (guest_sends(TCON_TCP_ACK))
		;
	guest_says(TCON_TCP_RST, world.now + 5000 * SEG_MSS, 0);
	for (i = 0; i < 2000; i++)
		guest_says(TCON_TCP_ACK, world.now + 500 * SEG_MSS, SEG_MSS);
	peer_acks(world.now - SEG_MSS);
	for (i = 0; i < 10; i++) {
		before = repeats_dropped();
		enter_tcon();
		tcon_hold_release(&flow()->due, shim_now_ns);
		leave_tcon();
		most = max(most, repeats_dropped() - before);
	}
	assert_in_range(most, 1, 512);
}

/* Data before a connection has begun is bounded, however often one seems to begin. */
static void early_data_of_many_connections_is_bounded(void **unused)
{
	u32 i;

	host.fallback = TCON_RULE_FALLBACK_PACE;
	world.now = FIRST;
	for (i = 0; i < MANY; i++) {
		if (i % 5 == 0)
			guest_says(TCON_TCP_SYN, world.now++, 0);
		guest_sends(TCON_TCP_ACK);
	}
	assert_in_range(world.packets, 0, 4 * TCON_INIT_CWND_SEGS);
}

/* A FIN that waits is sent again each time that the guest's timer goes off. */
static void repeats_of_a_fin_that_waits(void **unused)
{
	u32 waits, i;

	open_flow();
	while (guest_sends(TCON_TCP_ACK))
		;
	guest_says(TCON_TCP_ACK | TCON_TCP_FIN, world.now, 0);
	waits = flow()->buffer.unsent.qlen;
	for (i = 0; i < 6; i++)
		guest_says(TCON_TCP_ACK | TCON_TCP_FIN, world.now, 0);
	assert_int_equal(flow()->buffer.unsent.qlen, waits);
}

/* Its last ACK was lost: the guest sends the last of its data again, with its FIN. */
static void repeat_of_the_end_is_no_new_connection(void **unused)
{
	open_flow();
	guest_says(TCON_TCP_ACK | TCON_TCP_FIN, world.now, SEG_MSS);
	peer_says(TCON_TCP_ACK | TCON_TCP_FIN, PEER_ISN + 1, world.now + SEG_MSS + 1);
	assert_true(flow()->closed_us);
	assert_true(guest_says(TCON_TCP_ACK | TCON_TCP_FIN, world.now, SEG_MSS));
	assert_true(flow()->closed_us);
}

/* While something of the old connection is injected, the peer answers a SYN, and data follows. */
static void begin_anew(void)
{
	u32 isn = world.now + 1000000;

	guest_says(TCON_TCP_SYN, isn, 0);
	peer_says(TCON_TCP_SYN | TCON_TCP_ACK, PEER_ISN, isn + 1);
	world.left = 0;
	assert_false(guest_says(TCON_TCP_ACK, isn + 1, SEG_MSS));
}

static void new_connection_does_not_wait_for_the_old_one(void **unused)
{
	u32 i;

	open_flow();
	for (i = 0; i < 30; i++)
		guest_sends(TCON_TCP_ACK);
	world.on_inject = begin_anew;
	peer_acks(FIRST + 4 * SEG_MSS);
	wait_ms(2);
	assert_null(world.on_inject);
	assert_int_equal(flow()->buffer.unsent_bytes, 0);
}

/* A mark on what the peer sends may make the flow, before the guest has sent any. */
static void hidden_flow_is_hidden_whoever_sends_first(void **unused)
{
	struct tcon_packet p = segment(TCON_TCP_ACK, PEER_ISN + 1, FIRST, SEG_MSS);
	struct sk_buff *skb = segment_new(&p, false, 0, false);
	struct iphdr *ip = (struct iphdr *)(skb->data + 14);

	host.settled = true;
	ip->tos = 3;
	ip_send_check(ip);
	egress(skb);
	assert_true(tcon_flow_is_middle(flow()));
	world.now = FIRST;
	guest_sends(TCON_TCP_ACK);
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	assert_int_equal(flow()->reason, TCON_REASON_HIDDEN);
}

/* After a rest the peer is believed, but not in the connection that follows. */
static void belief_ends_with_the_connection(void **unused)
{
	u32 isn = FIRST + 5000000;

	shake_unseen();
	peer_acks(FIRST);
	guest_sends(TCON_TCP_ACK);
	assert_int_equal(flow()->state, TCON_STATE_REPAIRED);
	guest_says(TCON_TCP_SYN, isn, 0);
	peer_says(TCON_TCP_SYN | TCON_TCP_ACK, PEER_ISN + 9000, isn + 1);
	peer_acks(isn + 7000000);	/* somebody's */
	guest_says(TCON_TCP_ACK, isn + 1, 0);
	guest_says(TCON_TCP_ACK, isn + 1, SEG_MSS);
	assert_int_equal(flow()->track.cc.una, isn + 1);
	assert_int_equal(flow()->track.cc.nxt, isn + 1 + SEG_MSS);
}

/*
 * The guest goes on after a rest, and its peer is never heard.  Nobody knows its windows, but a
 * silence does not free all that waits.
 */
static void silence_after_a_rest_frees_little(void **unused)
{
	u32 i, ms;

	shake_unseen();
	for (ms = 0; ms < 3000; ms += RTT_MS) {
		for (i = 0; i < MANY; i++)
			guest_sends(TCON_TCP_ACK);
		wait_ms(RTT_MS);
	}
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	assert_int_equal(flow()->reason, TCON_REASON_UNSEEN_ACKS);
	assert_in_range(world.packets, 0, 3000 / RTT_MS * 2 * TCON_INIT_CWND_SEGS);
}

/* Round trips do not vary, and a segment is lost.  Returns how often it leaves in two of them. */
static u32 left_soon(void)
{
	u32 i;

	open_flow();
	for (i = 0; i < 20; i++) {
		guest_sends(TCON_TCP_ACK);
		wait_ms(RTT_MS);
		peer_acks(world.now);
	}
	world.packets = 0;
	guest_sends(TCON_TCP_ACK);
	wait_ms(2 * RTT_MS);
	return world.packets;
}

static void losses_wait_for_a_time_out_of_linux(void **unused)
{
	assert_int_equal(left_soon(), 1);
	wait_ms(200);
	assert_true(world.packets > 1);
}

static void losses_are_repaired_as_soon_as_the_rule_says(void **unused)
{
	host.rto_min_us = 1000;
	assert_int_equal(left_soon(), 2);
}

/* The peer may have the time stamp of an ACK without data, and discards what is older (PAWS). */
static void ack_of_what_waits_is_not_older_than_the_one_before(void **unused)
{
	u32 tsval;

	open_flow();
	while (guest_sends(TCON_TCP_ACK))
		;
	peer_acks(world.now - 4 * SEG_MSS);
	wait_ms(2);
	assert_int_equal(flow()->buffer.unsent_bytes, 0);
	while (flow()->track.cc.inflight_bytes < flow()->track.cc.cwnd_bytes)
		assert_true(guest_sends(TCON_TCP_ACK));
	wait_ms(5);
	world.heard = 3000;
	assert_true(guest_says(TCON_TCP_ACK, world.now, 0));
	tsval = world.last.tsval;
	wait_ms(5);
	world.heard = 9000;
	assert_false(guest_sends(TCON_TCP_ACK));
	run_tasklet();
	assert_int_equal(world.last.payload_bytes, 0);
	assert_int_equal(world.last.ack, PEER_ISN + 1 + 9000);
	assert_in_range(world.last.tsval, tsval, tsval + 5);
}

/* A port wakes, on another CPU, when the collector has just read the time. */
static void flow_is_not_idle_when_its_port_wakes(void **unused)
{
	open_flow();
	host.port.woken_us = shim_now_ns / NSEC_PER_USEC + 1;
	shim_work->func(shim_work);	/* from the start the next time */
	shim_work->func(shim_work);
	assert_non_null(rb_first_cached(&host.port.flow_tree));
}

/* A packet comes, on another CPU, when the time to reap has just been read. */
static void ended_flow_that_just_sent_lingers(void **unused)
{
	u64 then_us;
	bool reaped;

	open_flow();
	end_connection();
	then_us = shim_now_ns / NSEC_PER_USEC;
	wait_ms(1);
	guest_says(TCON_TCP_ACK, world.now + 1, 0);
	rcu_read_lock();
	reaped = tcon_reap(&host.port, then_us);
	rcu_read_unlock();
	assert_false(reaped);
}

#define PART	804U		/* of a segment, in an IP fragment */
#define SECOND	(8 + 20 + PART)	/* where the second begins */
#define UDP	17

static bool ingress_frame(struct frame *f)
{
	struct sk_buff *skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + f->bytes, GFP_KERNEL);

	frame_finish(f);
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(skb, f->data, f->bytes);
	skb_reset_mac_header(skb);
	return ingress(skb);
}

/* The first IPv4 fragment of a segment. */
static bool guest_says_first(u32 ident, u32 seq, u32 bytes)
{
	struct frame f;

	frame_ethernet(&f, 0, ETH_P_IP);
	frame_ipv4(&f, 0);
	put_unaligned_be16(ident, f.data + f.l4 - 16);
	put_unaligned_be16(0x2000, f.data + f.l4 - 14);
	frame_tcp(&f, TCON_TCP_ACK, NULL, 0);
	put_unaligned_be32(seq, f.data + f.l4 + 4);
	frame_put(&f, bytes);
	return ingress_frame(&f);
}

/*
 * An IPv6 fragment of the guest's segment that begins with @seq.  @next: what it says that it is
 * part of.  The first one, at 0, has the headers, with an extension header of 8 bytes.
 */
static bool guest_says_part(u32 ident, u32 at, u8 next, u32 seq, u32 bytes)
{
	struct frame f;

	frame_ethernet(&f, 0, ETH_P_IPV6);
	frame_ipv6(&f, 44);
	frame_extension(&f, next, 0);
	put_unaligned_be16(at | 1, f.data + f.l4 - 6);
	put_unaligned_be32(ident, f.data + f.l4 - 4);
	if (!at) {
		frame_extension(&f, IPPROTO_TCP, 0);
		frame_tcp(&f, TCON_TCP_ACK, NULL, 0);
		put_unaligned_be32(seq, f.data + f.l4 + 4);
	}
	frame_put(&f, bytes);
	return ingress_frame(&f);
}

/* Whatever a later fragment says, it is part of what the first one is. */
static void fragments_of_another_protocol_are_held(void **unused)
{
	u32 i, seq = 1000;

	host.settled = true;
	for (i = 0; i < MANY; i++, seq += 2 * PART) {
		guest_says_part(i, 0, 60, seq, PART);
		guest_says_part(i, SECOND, UDP, seq, PART);
	}
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	assert_int_equal(flow()->track.nxt_guest, seq);
	assert_in_range(world.packets, 1, 2 * TCON_INIT_CWND_SEGS);
}

/* As above, but they come first, or when more segments than are remembered have begun. */
static void fragments_of_another_protocol_do_not_complete_a_segment(void **unused)
{
	u32 i;

	host.settled = true;
	for (i = 0; i < MANY; i++)
		assert_true(guest_says_part(i, SECOND, UDP, 0, PART));
	for (i = 0; i < MANY; i++)
		assert_false(guest_says_part(i, 0, 60, 1000 + i * 2 * PART, PART));
	assert_int_equal(host.tnet.stats->count[TCON_COUNTER_UNREAD_DROPPED], MANY);
	wait_ms(70000);
	world.later = 0;
	for (i = 0; i < MANY; i++)
		guest_says_part(MANY + i, 0, 60, 1000 + i * 2 * PART, PART);
	for (i = 0; i < MANY; i++)
		guest_says_part(MANY + i, SECOND, UDP, 0, PART);
	assert_in_range(world.later, 0, 2 * TCON_INIT_CWND_SEGS);
}

static void fragments_of_another_protocol_pass(void **unused)
{
	u32 i;

	for (i = 0; i < MANY; i++)
		assert_true(guest_says_part(i, SECOND, UDP, 0, PART));
	assert_int_equal(host.tnet.stats->count[TCON_COUNTER_NOT_TCP], MANY);
}

/* Only of IPv6 a fragment's own protocol may be wrong: other fragments are no sign. */
static void fragments_of_ipv4_tell_nothing_of_ipv6(void **unused)
{
	u32 i;

	for (i = 0; i < 20 * MANY; i++)
		guest_says_first(i, 1000 + i * PART, PART);
	for (i = 0; i < MANY; i++)
		assert_true(guest_says_part(i, SECOND, UDP, 0, PART));
}

/* The second IPv4 fragment of a segment. */
static bool guest_says_second(u32 ident, u32 bytes)
{
	struct frame f;

	frame_ethernet(&f, 0, ETH_P_IP);
	frame_ipv4(&f, 0);
	put_unaligned_be16(ident, f.data + f.l4 - 16);
	put_unaligned_be16((20 + PART) / 8, f.data + f.l4 - 14);
	frame_put(&f, bytes);
	return ingress_frame(&f);
}

/* No rule can match at the port: rules with TCP ports of other ports are no reason to drop. */
static void fragments_of_a_port_at_rest_pass(void **unused)
{
	u32 i;

	host.ruleless = true;
	host.port.rests = true;
	for (i = 0; i < MANY; i++) {
		assert_true(guest_says_first(i, 1000 + i * 2 * PART, PART));
		assert_true(guest_says_second(i, PART));
	}
	assert_int_equal(host.tnet.stats->count[TCON_COUNTER_UNREAD_DROPPED], 0);
}

/* All but a byte of each segment has left before. */
static void repeats_with_a_new_byte_are_bounded(void **unused)
{
	u32 i;

	open_flow();
	for (i = 0; i < MANY; i++)
		guest_says(TCON_TCP_ACK, ++world.now - SEG_MSS, SEG_MSS);
	assert_in_range(world.packets, 1, 4 * TCON_INIT_CWND_SEGS);
}

/* The same of what waits. */
static void repeats_of_what_waits_with_a_new_byte_are_bounded(void **unused)
{
	u32 i;

	open_flow();
	while (guest_sends(TCON_TCP_ACK))
		;
	for (i = 0; i < MANY; i++)
		guest_says(TCON_TCP_ACK, ++world.now - SEG_MSS, SEG_MSS);
	world.left = 0;
	peer_acks(world.now - MANY - SEG_MSS);
	wait_ms(10);
	assert_in_range(world.left, SEG_MSS, 3 * TCON_INIT_CWND_SEGS * SEG_MSS);
}

/* The guest claims to have got @bytes that its peer has not sent, and more each time.  @then: and
 * takes it back.
 */
static void claim(u8 flags, u32 bytes, bool then)
{
	u32 ms, i, seq;

	open_flow();
	for (ms = 0; ms < 2000; ms += RTT_MS) {
		for (i = 0; i < 5; i++)
			guest_sends(TCON_TCP_ACK);
		seq = flags & TCON_TCP_SYN ? GUEST_ISN : world.now;
		for (i = 1; i <= 4; i++) {
			world.heard = i * bytes;
			guest_says(flags, seq, 0);
		}
		world.heard = 0;
		if (then)
			guest_says(TCON_TCP_ACK, world.now, 0);
		wait_ms(RTT_MS);
		peer_acks(flow()->track.cc.nxt);
	}
	assert_int_equal(flow()->state, TCON_STATE_REPAIRED);
	assert_int_equal(flow()->track.cc.inflight_bytes, 0);
}

/* By none of these the peer's ACKs look as if they were out of the window. */
static void claim_of_little_hides_no_acks(void **unused)
{
	claim(TCON_TCP_ACK, SEG_MSS, false);
}

static void claim_of_much_hides_no_acks(void **unused)
{
	claim(TCON_TCP_ACK, 3 << 29, false);
}

static void claim_of_a_syn_hides_no_acks(void **unused)
{
	claim(TCON_TCP_SYN | TCON_TCP_ACK, 1 << 29, false);
}

static void claim_of_a_window_hides_no_acks(void **unused)
{
	claim(TCON_TCP_ACK, (1 << 29) - 1, true);
}

static void small_data_that_goes_backwards_is_bounded(void **unused)
{
	u32 i;

	host.settled = true;
	for (i = 0; i < MANY; i++)
		guest_says(TCON_TCP_ACK, GUEST_ISN - i, 1);
	assert_in_range(world.packets, 0, 4 * TCON_INIT_CWND_SEGS);
}

/* Data that comes late into the first of two gaps does not wait here already. */
static void late_data_of_two_gaps_waits(void **unused)
{
	u32 next, held;

	open_flow();
	while (guest_sends(TCON_TCP_ACK))
		;
	next = world.now;
	held = flow()->buffer.unsent_bytes;
	guest_says(TCON_TCP_ACK, next + SEG_MSS, SEG_MSS);
	guest_says(TCON_TCP_ACK, next + 3 * SEG_MSS, SEG_MSS);
	guest_says(TCON_TCP_ACK, next, SEG_MSS);
	guest_says(TCON_TCP_ACK, next + 2 * SEG_MSS, SEG_MSS);
	assert_int_equal(flow()->buffer.unsent_bytes, held + 4 * SEG_MSS);
}

/* Somebody who knows addresses and ports, but no sequence numbers, sends at a port that woke. */
static void resuming_flow_believes_not_anybody(void **unused)
{
	shake_unseen();
	peer_acks(FIRST);
	peer_says(TCON_TCP_ACK, PEER_ISN + (1 << 28), FIRST + (1 << 28));
	guest_sends(TCON_TCP_ACK);
	peer_acks(FIRST);
	guest_sends(TCON_TCP_ACK);
	assert_int_equal(flow()->track.cc.una, FIRST);
	assert_int_equal(flow()->track.cc.nxt, FIRST + 2 * SEG_MSS);
}

static void flow_in_mid_stream_believes_not_anybody(void **unused)
{
	u32 ms, i;

	host.settled = true;
	world.now = FIRST;
	for (ms = 0; ms < 1000; ms += RTT_MS) {
		for (i = 0; i < 5; i++)
			guest_sends(TCON_TCP_ACK);
		wait_ms(RTT_MS);
		if (ms == 100)
			peer_acks(FIRST + (1 << 28));
		peer_acks(min(world.now, flow()->track.cc.nxt));
	}
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	assert_in_range(world.left, 400 * SEG_MSS, 500 * SEG_MSS);
}

/* Linux takes an IPv6 packet without a length for as long as its frame, if options follow. */
static void data_without_a_length_is_dropped(void **unused)
{
	struct sk_buff *skb;
	struct frame f;
	u32 i;

	for (i = 0; i < MANY; i++) {
		frame_ethernet(&f, 0, ETH_P_IPV6);
		frame_ipv6(&f, 0);
		frame_extension(&f, IPPROTO_TCP, 0);
		frame_tcp(&f, TCON_TCP_ACK, NULL, 0);
		frame_put(&f, SEG_MSS);
		skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + f.bytes, GFP_KERNEL);
		skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
		skb_put_data(skb, f.data, f.bytes);
		skb_reset_mac_header(skb);
		assert_false(ingress(skb));
	}
}

static void use_cc(const char *name)
{
	for (host.algorithm = 0; strcmp(rules[host.algorithm].cc_name, name); host.algorithm++)
		assert_in_range(host.algorithm + 1, 1, n_rules - 1);
}

/* Three segments have arrived behind the first. */
static void peer_misses_one(void)
{
	struct tcon_packet p = segment(TCON_TCP_ACK, PEER_ISN + 1, flow()->track.cc.una, 0);

	p.sacks[p.n_sacks++] = (struct tcon_sack) { p.ack + SEG_MSS, p.ack + 4 * SEG_MSS };
	egress(segment_new(&p, false, 0, false));
}

/* Which of several paths, and which tunnel's port, a packet takes (sk_rethink_txhash()). */
static void repair_has_the_hash_of_what_came_last(void **unused)
{
	struct tcon_packet p;
	struct sk_buff *skb;
	u32 n;

	open_flow();
	for (n = 0; n < 4; n++)
		guest_sends(TCON_TCP_ACK);
	p = segment(TCON_TCP_ACK, world.now, PEER_ISN + 1, 0);
	skb = segment_new(&p, true, 0, false);
	skb->hash = 4711;
	assert_true(ingress(skb));
	peer_misses_one();
	wait_ms(RTT_MS);
	assert_int_equal(world.last.seq, flow()->track.cc.una);
	assert_int_equal(world.last_hash, 4711);
}

/* The guest sends what it may, and a segment more, which waits. */
static void fill_window(void)
{
	while (guest_sends(TCON_TCP_ACK))
		;
}

/* A window of about @segs segments, which has lost something before; all of it is acknowledged. */
static void grow(u32 segs)
{
	struct tcon_cc *cc = &flow()->track.cc;
	u32 end, n;

	while (cc->cwnd_bytes < segs * SEG_MSS) {
		fill_window();
		wait_ms(RTT_MS);
		for (end = cc->nxt, n = 8; n; n--)
			peer_acks(end - (end - cc->una) * (n - 1) / n);
		wait_ms(1);
	}
	while (tcon_buffer_waits(&flow()->buffer) || cc->una != cc->nxt) {
		wait_ms(RTT_MS);
		peer_acks(cc->nxt);
	}
	cc->ssthresh_bytes = cc->cwnd_bytes;
	world.now = cc->nxt;
}

/* All but the first of what is in flight arrives, up to that many segments. */
static void all_but_first_until(u32 segs)
{
	struct tcon_packet p = segment(TCON_TCP_ACK, PEER_ISN + 1, flow()->track.cc.una, 0);

	p.sacks[p.n_sacks++] = (struct tcon_sack) { p.ack + SEG_MSS, p.ack + segs * SEG_MSS };
	egress(segment_new(&p, false, 0, false));
}

/* Lose one segment of a window, and let a quarter arrive.  The guest sends what it may. */
static struct tcon_flow *begin_recovery(u32 segs)
{
	struct tcon_flow *f;
	u32 i;

	use_cc("reno");
	open_flow();
	grow(segs);
	f = flow();
	while (tcon_track_fits(&f->track, SEG_MSS))
		assert_true(guest_sends(TCON_TCP_ACK));
	wait_ms(RTT_MS);
	for (i = 4; i <= segs / 4; i += 2) {
		all_but_first_until(i);
		wait_ms(1);
		while (tcon_track_fits(&f->track, SEG_MSS))
			guest_sends(TCON_TCP_ACK);
	}
	assert_int_equal(f->track.cc.ca_state, TCON_CA_RECOVERY);
	return f;
}

/*
 * In a recovery Linux waits for ACKs, which it does not see, until it may send a third of its
 * window or a super-packet.  So that there is data at hand it has that beyond what may leave.
 */
static void guest_gets_what_it_gathers_in_a_recovery(void **unused)
{
	struct tcon_flow *f = begin_recovery(80);

	assert_true(f->window.edge - f->track.nxt_guest >=
		    min_t(u32, f->window.given_bytes / 3, U16_MAX));
}

/* A super-packet that it then sends leaves as ACKs arrive, and not when all of it may. */
static void super_packet_leaves_little_by_little_in_a_recovery(void **unused)
{
	struct tcon_flow *f = begin_recovery(80);
	u32 i, before, most = 0;

	assert_false(guest_says(TCON_TCP_ACK, world.now, 15 * SEG_MSS));
	world.left = 0;
	for (i = 22; i < 80; i += 2) {
		before = world.left;
		all_but_first_until(i);
		wait_ms(1);
		most = max(most, world.left - before);
	}
	assert_int_equal(world.left, 15 * SEG_MSS);
	assert_in_range(most, SEG_MSS, 2 * SEG_MSS);
	assert_true(!tcon_buffer_waits(&f->buffer));
}

/* Then the peer falls silent: at the time-out little of it leaves. */
static void what_it_gathers_does_not_leave_at_a_time_out(void **unused)
{
	struct tcon_flow *f = begin_recovery(80);
	u32 i;

	while (!seq_after(f->track.nxt_guest + SEG_MSS, f->window.edge))
		guest_sends(TCON_TCP_ACK);
	assert_true(f->buffer.unsent_bytes > 30 * SEG_MSS);
	world.left = 0;
	for (i = 0; f->track.cc.ca_state != TCON_CA_LOSS; i++) {
		assert_in_range(i, 0, 2000);
		wait_ms(1);
	}
	wait_ms(1);
	assert_in_range(f->track.cc.cwnd_bytes, SEG_MSS, 2 * SEG_MSS);
	assert_in_range(world.left, SEG_MSS, 6 * SEG_MSS);
}

/* All that is in flight but its first segment arrives; the guest sends what may leave then. */
static void lose_the_first_again(struct tcon_flow *f)
{
	wait_ms(RTT_MS);
	all_but_first_until((f->track.cc.nxt - f->track.cc.una) / SEG_MSS);
	wait_ms(1);
	while (tcon_track_fits(&f->track, SEG_MSS))
		assert_true(guest_sends(TCON_TCP_ACK));
}

/*
 * A segment and its repairs are lost, until the timer of the guest goes off, which is not shown
 * the arrivals after it.  TCon knows what of the rest has arrived, and has just repeated the
 * segment: the guest's time-out makes none of the flight lost.
 */
static void timer_of_the_guest_in_a_recovery_is_no_time_out(void **unused)
{
	struct tcon_flow *f = begin_recovery(80);
	struct tcon_track *t = &f->track;
	u32 inflight_bytes;

	while (!tcon_track_is_silent(t, 0, shim_now_ns / NSEC_PER_USEC))
		lose_the_first_again(f);
	inflight_bytes = t->cc.inflight_bytes;
	assert_in_range(inflight_bytes, 4 * SEG_MSS, 80 * SEG_MSS);
	world.left = 0;
	assert_true(guest_says(TCON_TCP_ACK, t->cc.una, SEG_MSS));
	assert_int_equal(t->cc.ca_state, TCON_CA_RECOVERY);
	assert_in_range(t->cc.inflight_bytes, inflight_bytes, inflight_bytes + SEG_MSS);
	while (guest_sends(TCON_TCP_ACK))
		;
	wait_ms(3);
	assert_in_range(world.left, SEG_MSS, 2 * SEG_MSS);
}

/*
 * The peer falls silent.  A guest sends two bytes again and again, the head second: by that it
 * must not do without time-outs, its CC's and TCon's.
 */
static void repeats_of_the_head_do_not_put_off_time_outs(void **unused)
{
	struct tcon_track *t;
	u32 i;

	use_cc("reno");
	open_flow();
	grow(100);
	t = &flow()->track;
	fill_window();
	world.left = 0;
	for (i = 0; i < 100; i++) {
		wait_ms(50);
		guest_says(TCON_TCP_ACK, t->cc.una - 1, 2);
		while (!seq_after(world.now + SEG_MSS, flow()->window.edge))
			guest_sends(TCON_TCP_ACK);
	}
	assert_int_equal(t->cc.ca_state, TCON_CA_LOSS);
	assert_in_range(world.left, 0, 100 * SEG_MSS);
}

/* A repeat across una has to pass, and has a newer time stamp than what waits. */
static bool has_overtaken;

static void repeat_while_others_are_injected(void)
{
	has_overtaken = guest_says(TCON_TCP_ACK, flow()->track.cc.una - 1, SEG_MSS + 1);
}

/*
 * While packets are injected the lock is free.  Packets that enter then must not overtake them: the
 * peer would discard them (PAWS).
 */
static void repeat_does_not_overtake_what_is_injected(void **unused)
{
	u32 i;

	use_cc("reno");
	open_flow();
	fill_window();
	for (i = 0; i < 5; i++)
		guest_sends(TCON_TCP_ACK);
	wait_ms(5);
	world.on_inject = repeat_while_others_are_injected;
	peer_acks(FIRST + 4 * SEG_MSS);
	wait_ms(2);
	assert_null(world.on_inject);
	assert_false(has_overtaken);
}

/* Then repeats of the guest's are needed, and waiting packets may be too large for the path. */
static void end_of_repairs_leaves_all_to_the_guest(void **unused)
{
	struct tcon_flow *f = begin_recovery(80);
	u32 end = f->track.cc.nxt + 5 * SEG_MSS;

	assert_false(guest_says(TCON_TCP_ACK, f->track.cc.una, SEG_MSS));
	assert_true(tcon_flow_owes_needless(f));
	enter_tcon();
	spin_lock(&f->lock);
	tcon_judge_give_up(f, TCON_REASON_PATH_MTU);
	f->bare.end = end;
	tcon_judge_give_up(f, TCON_REASON_COPY_MEMORY);
	spin_unlock(&f->lock);
	leave_tcon();
	assert_int_equal(f->state, TCON_STATE_ENFORCED);
	assert_false(tcon_flow_owes_needless(f));
	assert_int_equal(f->bare.end, end);
}

/*
 * Some ACKs in a row are kept from a guest in slow start, or its HyStart would end that.  It
 * answers the next with a burst, so where TCon's CC is beyond its own the guest gets all of them.
 */
static void guest_gets_all_acks_after_slow_start(void **unused)
{
	struct tcon_cc *cc;
	u32 i, n = 0;

	use_cc("reno");
	open_flow();
	grow(200);
	cc = &flow()->track.cc;
	for (i = 0; i < 200; i++)
		assert_true(guest_sends(TCON_TCP_ACK));
	wait_ms(RTT_MS);
	world.given = 0;
	for (; cc->una != cc->nxt; n++) {
		peer_acks(cc->una + 2 * SEG_MSS);
		shim_now_ns += 150 * NSEC_PER_USEC;
	}
	assert_int_equal(world.given, n);
	assert_true(shim_now_ns / NSEC_PER_USEC - flow()->created_us < 32 * cc->srtt_us);
}

/*
 * Each ACK of a peer without SACK comes four times.  By the copies the guest, which has answered the
 * first with data, would see a loss.  It gets the answer to its keep-alive.
 */
static void copies_of_acks_are_kept_from_the_guest(void **unused)
{
	u32 i, n;

	world.no_sack = true;
	open_flow();
	for (i = 0; i < 4; i++) {
		assert_true(guest_sends(TCON_TCP_ACK));
		assert_true(guest_sends(TCON_TCP_ACK));
		wait_ms(RTT_MS);
		world.given = 0;
		for (n = 0; n < 4; n++)
			peer_acks(world.now);
	}
	assert_int_equal(world.given, 1);
	assert_true(guest_says(TCON_TCP_ACK, world.now - 1, 0));
	peer_acks(world.now);
	assert_int_equal(world.given, 2);
}

/* A RST that the peer does not take, while data waits, does not let a CC get out of step. */
static void rst_while_data_waits_ends_no_enforcement(void **unused)
{
	u32 i, n, end;

	use_cc("ctcp");
	open_flow();
	flow()->track.cc.ssthresh_bytes = 50 * SEG_MSS;
	for (i = 0; i < 50; i++) {
		fill_window();
		wait_ms(RTT_MS);
		for (end = flow()->track.cc.nxt, n = 8; n; n--)
			peer_acks(end - (end - flow()->track.cc.una) * (n - 1) / n);
		wait_ms(1);
	}
	fill_window();
	assert_in_range(flow()->track.cc.cwnd_bytes, 50 * SEG_MSS, 1000 * SEG_MSS);
	guest_says(TCON_TCP_RST, flow()->track.cc.una + 1, 0);
	assert_true(flow()->closed_us);
	guest_sends(TCON_TCP_ACK);
	wait_ms(RTT_MS);
	peer_misses_one();
	assert_int_equal(flow()->reason, TCON_REASON_NONE);
	assert_int_equal(flow()->state, TCON_STATE_REPAIRED);
}

/* ACKs take another way until the last window known seems to be ahead. */
static void windows_of_long_ago_are_forgotten(void **unused)
{
	u32 i;

	open_flow();
	wait_ms(2000);
	world.now = flow()->window.edge + 5 * SEG_MSS;
	guest_sends(TCON_TCP_ACK);
	assert_int_equal(flow()->reason, TCON_REASON_UNSEEN_ACKS);
	for (i = 0; i < 5; i++) {
		world.now += TCON_CWND_MAX_BYTES / 2 + SEG_MSS;
		guest_sends(TCON_TCP_ACK);
	}
	peer_acks(flow()->track.cc.nxt);
	assert_int_equal(flow()->reason, TCON_REASON_NONE);
	assert_in_range(flow()->window.edge - flow()->track.cc.una, SEG_MSS,
			2 * flow()->track.cc.cwnd_bytes);
}

/* Somebody has sent a SYN that the guest has reset, or not answered. */
static void opening_of_anybody_does_not_count(void **unused)
{
	peer_says(TCON_TCP_SYN, PEER_ISN + 5000000, 0);
	guest_says(TCON_TCP_RST | TCON_TCP_ACK, 0, 0);
	open_flow();
	assert_int_equal(flow()->track.peer.isn, PEER_ISN);
}

static void opening_during_an_opening_does_not_count(void **unused)
{
	guest_says(TCON_TCP_SYN, GUEST_ISN, 0);
	peer_says(TCON_TCP_SYN, PEER_ISN + 5000000, 0);
	open_flow();
	assert_int_equal(flow()->track.peer.isn, PEER_ISN);
}

/*
 * The guest has restarted, and opens from the same port.  Its peer asks what that means
 * (RFC 5961, 4), and only the guest's RST ends the old connection.
 */
static void answer_to_an_opening_reaches_the_guest(void **unused)
{
	u32 given;

	open_flow();
	assert_true(guest_sends(TCON_TCP_ACK));
	assert_true(guest_says(TCON_TCP_SYN, world.now + 1000000, 0));
	given = world.given;
	peer_acks(world.now - SEG_MSS);
	assert_int_equal(world.given, given + 1);
}

/* Data within more VLANs than a key has room for. */
static void data_in_many_vlans_is_bounded(void **unused)
{
	struct frame f;
	u32 i;

	host.settled = true;
	for (i = 0; i < MANY; i++) {
		frame_ethernet(&f, 4, ETH_P_IP);
		frame_ipv4(&f, 0);
		frame_tcp(&f, TCON_TCP_ACK, NULL, 0);
		put_unaligned_be32(1000 + i * SEG_MSS, f.data + f.l4 + 4);
		frame_put(&f, SEG_MSS);
		ingress_frame(&f);
	}
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	assert_in_range(world.packets, 1, 2 * TCON_INIT_CWND_SEGS);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(data_with_rst_of_moved_flow_is_seen),
		TEST(data_with_rst_of_resuming_flow_is_seen),
		TEST(data_with_rst_is_held),
		TEST(data_with_rst_of_no_flow_is_paced),
		TEST(old_data_after_the_end_is_bounded),
		TEST(data_on_syns_is_bounded),
		TEST(data_far_ahead_is_bounded),
		TEST(data_that_goes_backwards_is_bounded),
		TEST(repeats_of_a_fin_that_waits),
		TEST(data_elsewhere_lets_nothing_out),
		TEST(repeats_of_what_waits_are_bounded),
		TEST(a_look_drops_no_more_than_it_sends),
		TEST(early_data_of_many_connections_is_bounded),
		TEST(repeat_of_the_end_is_no_new_connection),
		TEST(new_connection_does_not_wait_for_the_old_one),
		TEST(hidden_flow_is_hidden_whoever_sends_first),
		TEST(belief_ends_with_the_connection),
		TEST(losses_wait_for_a_time_out_of_linux),
		TEST(losses_are_repaired_as_soon_as_the_rule_says),
		TEST(silence_after_a_rest_frees_little),
		TEST(ack_of_what_waits_is_not_older_than_the_one_before),
		TEST(fragments_of_another_protocol_are_held),
		TEST(fragments_of_another_protocol_do_not_complete_a_segment),
		TEST(fragments_of_another_protocol_pass),
		TEST(fragments_of_ipv4_tell_nothing_of_ipv6),
		TEST(fragments_of_a_port_at_rest_pass),
		TEST(repair_has_the_hash_of_what_came_last),
		TEST(flow_is_not_idle_when_its_port_wakes),
		TEST(ended_flow_that_just_sent_lingers),
		TEST(repeats_with_a_new_byte_are_bounded),
		TEST(repeats_of_what_waits_with_a_new_byte_are_bounded),
		TEST(claim_of_little_hides_no_acks),
		TEST(claim_of_much_hides_no_acks),
		TEST(claim_of_a_syn_hides_no_acks),
		TEST(claim_of_a_window_hides_no_acks),
		TEST(small_data_that_goes_backwards_is_bounded),
		TEST(late_data_of_two_gaps_waits),
		TEST(resuming_flow_believes_not_anybody),
		TEST(flow_in_mid_stream_believes_not_anybody),
		TEST(data_without_a_length_is_dropped),
		TEST(rst_while_data_waits_ends_no_enforcement),
		TEST(windows_of_long_ago_are_forgotten),
		TEST(opening_of_anybody_does_not_count),
		TEST(opening_during_an_opening_does_not_count),
		TEST(answer_to_an_opening_reaches_the_guest),
		TEST(data_in_many_vlans_is_bounded),
		TEST(guest_gets_what_it_gathers_in_a_recovery),
		TEST(super_packet_leaves_little_by_little_in_a_recovery),
		TEST(what_it_gathers_does_not_leave_at_a_time_out),
		TEST(timer_of_the_guest_in_a_recovery_is_no_time_out),
		TEST(repeats_of_the_head_do_not_put_off_time_outs),
		TEST(repeat_does_not_overtake_what_is_injected),
		TEST(end_of_repairs_leaves_all_to_the_guest),
		TEST(guest_gets_all_acks_after_slow_start),
		TEST(copies_of_acks_are_kept_from_the_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
