// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting segments of a guest: which and how many are kept, and how they leave in parts.
 */
#include "world.h"

#include "wire/segment.h"

#define BOUND_BYTES	100000L
#define FAR		(5000 * SEG_MSS)	/* beyond all that the peer takes */
#define TOO_MANY	5000U			/* packets: far more than that bound has room for */

static u32 wrong_lengths, hidden_damage;

/* BIG TCP over IPv4 has length 0 in its header, and may only leave whole. */
static void check_length(const struct sk_buff *skb)
{
	const struct iphdr *ip = (const struct iphdr *)(skb->data + ETH_HLEN);
	u32 bytes = skb->len - ETH_HLEN;

	wrong_lengths += bytes > U16_MAX ? ip->tot_len != 0 : ntohs(ip->tot_len) != bytes;
}

/* Does data that is not the guest's have a checksum that says it is? */
static void check_data(struct sk_buff *skb)
{
	u32 bytes = skb->len - SEG_HEAD_BYTES;
	struct tcon_packet p = {};

	if (skb->ip_summed == CHECKSUM_PARTIAL)
		return;
	tcon_packet_parse(&p, skb->data, skb->len, skb->len, skb_is_gso(skb));
	if (csum_fold(csum_partial(skb->data + SEG_HEAD_BYTES, bytes, pseudo_sum(bytes))))
		return;
	hidden_damage += memcmp(skb->data + p.payload_offset, payload_at(p.seq),
				p.payload_bytes) != 0;
}

static void inject_checked(const struct tcon_port *port, struct sk_buff *skb)
{
	check_length(skb);
	check_data(skb);
	inject(port, skb);
}

static const struct tcon_attach checking = {
	.name = "unit", .inject = inject_checked, .send = give,
};

static int setup_checking(void **unused)
{
	wrong_lengths = 0;
	hidden_damage = 0;
	setup(unused);
	host.port.attach = &checking;
	return 0;
}

/* A super-packet of new data, which is zeros. */
static bool guest_sends_super(u32 bytes, u32 gso_bytes)
{
	struct tcon_packet p = segment(TCON_TCP_ACK, world.now, PEER_ISN + 1 + world.heard, 0);
	struct sk_buff *empty = segment_new(&p, true, 8, true), *skb;
	u32 head_bytes = SEG_HEAD_BYTES + 20 + 12, room = NET_SKB_PAD + NET_IP_ALIGN;

	skb = alloc_skb(room + head_bytes + bytes, GFP_KERNEL);
	skb_copy_header(skb, empty);
	skb_reserve(skb, room);
	skb_put_data(skb, empty->data, head_bytes);
	skb_put_zero(skb, bytes);
	skb_reset_mac_header(skb);
	segment_sum(skb, true);
	skb_shinfo(skb)->gso_size = gso_bytes;
	skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
	kfree_skb(empty);
	world.now += bytes;
	return ingress(skb);
}

/* Until something waits. */
static void fill_window(void)
{
	while (guest_sends(TCON_TCP_ACK))
		;
	assert_true(tcon_buffer_waits(&flow()->buffer));
}

static void assert_bounded(void)
{
	assert_in_range(flow()->buffer.charged_bytes, BOUND_BYTES, 4 * BOUND_BYTES + 4096);
	assert_true(host.tnet.stats->count[TCON_COUNTER_HOLD_EXCESS]);
}

/* A first part has left, and then no rule matches any more. */
static void rest_of_a_jumbogram_has_a_right_length(void **state)
{
	open_flow();
	assert_false(guest_sends_super(100 * SEG_MSS, SEG_MSS));
	wait_ms(1);
	assert_in_range(world.left, 1, 20 * SEG_MSS);
	change_rules(true);
	peer_acks(FIRST + SEG_MSS);
	wait_ms(10);
	assert_int_equal(world.left, 100 * SEG_MSS);
	assert_int_equal(wrong_lengths, 0);
}

/* Segments without data wait behind others, each @step further than the one before. */
static void flood(u8 flags, u32 ahead, u32 step)
{
	u32 i;

	open_flow();
	bound(TCON_SHARE_BUFFER, BOUND_BYTES);
	fill_window();
	for (i = 0; i < TOO_MANY; i++)
		guest_says(flags | TCON_TCP_ACK, world.now + ahead + i * step, 0);
	assert_bounded();
}

static void resets_that_wait_are_bounded(void **state)
{
	flood(TCON_TCP_RST, FAR, 0);
}

static void fins_that_wait_are_bounded(void **state)
{
	flood(TCON_TCP_FIN, 0, 1);
}

/* A byte each, of what is in flight and will not be repaired. */
static void repeats_that_wait_are_bounded(void **state)
{
	u32 i;

	open_flow();
	bound(TCON_SHARE_BUFFER, BOUND_BYTES);
	world.now += SEG_MSS;			/* a gap, so that nothing is repaired */
	fill_window();
	guest_says(TCON_TCP_RST, world.now + FAR, 0);
	for (i = 0; i < TOO_MANY; i++)
		guest_says(TCON_TCP_ACK, flow()->track.cc.nxt - SEG_MSS + i % SEG_MSS, 1);
	assert_bounded();
}

/* Data that the guest was allowed to send leaves at twice the bound, and is not kept. */
static void what_leaves_at_a_bound_makes_room(void **state)
{
	u32 i;

	open_flow();
	flow()->track.cc.cwnd_bytes = 2 * MANY * SEG_MSS;
	assert_true(guest_sends(TCON_TCP_ACK));
	wait_ms(RTT_MS);
	peer_acks(world.now);			/* with a window for all of it */
	flow()->track.cc.cwnd_bytes = 4 * SEG_MSS;
	bound(TCON_SHARE_BUFFER, BOUND_BYTES);
	for (i = 0; i < MANY; i++) {
		guest_sends(TCON_TCP_ACK);
		wait_ms(1);
		assert_in_range(flow()->buffer.charged_bytes, 0, 2 * BOUND_BYTES + 16384);
	}
	assert_in_range(world.left, MANY * SEG_MSS / 2, (u32)-1);
	assert_false(host.tnet.stats->count[TCON_COUNTER_HOLD_EXCESS]);
}

/* Others have all the memory.  Nothing of this flow waits, and cwnd is open. */
static void paced_flow_goes_on_without_memory(void **state)
{
	u32 i;

	host.fallback = TCON_RULE_FALLBACK_PACE;
	for (i = 0; i < 3; i++) {		/* in mid-stream */
		guest_sends(TCON_TCP_ACK);
		wait_ms(RTT_MS);
		peer_acks(world.now);
	}
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	bound(TCON_SHARE_BUFFER, -1);
	assert_true(guest_sends(TCON_TCP_ACK));
}

/* A damaged segment waits.  Its first part is left out when its turn comes. */
static void part_of_a_damaged_segment_does_not_leave(void **state)
{
	struct tcon_packet p;
	struct sk_buff *skb;
	u32 una, i;

	open_flow();
	una = world.now;
	fill_window();
	for (i = 0; i < 20; i++)		/* of what is acknowledged */
		guest_says(TCON_TCP_ACK, una - SEG_MSS, SEG_MSS);
	p = segment(TCON_TCP_ACK, world.now - 900, PEER_ISN + 1, SEG_MSS);
	skb = segment_new(&p, true, 0, false);
	skb->data[skb->len - 1] ^= 0x55;
	world.now += 100;
	assert_false(ingress(skb));
	peer_acks(una + 5 * SEG_MSS);
	for (i = 0; i < 20; i++)
		guest_says(TCON_TCP_ACK, una - SEG_MSS, SEG_MSS);
	wait_ms(1);
	assert_int_equal(hidden_damage, 0);
}

/*
 * The first part of a packet fills a gap and is kept, as a clone.  The other parts are repeats, so
 * that the packet is let go.  The clone keeps all of it from being freed.
 */
static void part_that_is_kept_is_charged_for_all(void **state)
{
	u32 gap, i, shared, pinned_bytes = 0, charged_bytes = 0;
	const struct tcon_sendq *q;
	struct sk_buff *copy;

	open_flow();
	gap = world.now;
	world.now += 2048;
	for (i = 0; i < 8; i++)
		guest_sends(TCON_TCP_ACK);
	world.now = gap;
	assert_false(guest_sends_super(6000, 8));
	wait_ms(5);
	assert_false(tcon_buffer_waits(&flow()->buffer));
	q = &flow()->track.sendq;
	for (i = q->head; i != q->tail; i++) {
		copy = tcon_sendq_at(q, i)->copy;
		if (!copy)
			continue;
		pinned_bytes += tcon_segment_pinned(copy, NULL, &shared);
		charged_bytes += tcon_segment(copy)->charged_bytes;
	}
	assert_int_equal(charged_bytes, flow()->buffer.charged_bytes);
	assert_in_range(charged_bytes, pinned_bytes, pinned_bytes + 4096);
}

/* Each part of a packet counts once as a repeat. */
static void parts_of_a_repeat_count_once(void **state)
{
	u32 gap, i;

	open_flow();
	gap = world.now;
	world.now += 2048;
	for (i = 0; i < 8; i++)
		guest_sends(TCON_TCP_ACK);
	world.now = gap;
	world.left = 0;
	assert_false(guest_sends_super(6000, 8));
	wait_ms(5);
	assert_int_equal(world.left, 6000);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup_checking, teardown)
	const struct CMUnitTest tests[] = {
		TEST(rest_of_a_jumbogram_has_a_right_length),
		TEST(resets_that_wait_are_bounded),
		TEST(fins_that_wait_are_bounded),
		TEST(repeats_that_wait_are_bounded),
		TEST(what_leaves_at_a_bound_makes_room),
		TEST(paced_flow_goes_on_without_memory),
		TEST(part_of_a_damaged_segment_does_not_leave),
		TEST(part_that_is_kept_is_charged_for_all),
		TEST(parts_of_a_repeat_count_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
