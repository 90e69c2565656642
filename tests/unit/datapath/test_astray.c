// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest that knows more than TCon, or less: ACKs that pass TCon by, or that it was not given; and
 * one that takes another way.
 */
#include "world.h"

#include "sender/timer.h"

#define MANY_WAIT	20U	/* segments that a guest sends beyond its window */

static void use_cc(const char *name)
{
	for (host.algorithm = 0; strcmp(rules[host.algorithm].cc_name, name); host.algorithm++)
		assert_in_range(host.algorithm + 1, 1, n_rules - 1);
}

static u64 counted(enum tcon_counter what)
{
	return host.tnet.stats->count[what];
}

static u32 rto_ms(void)
{
	return tcon_track_rto_us(&flow()->track) / 1000 + 5;
}

/* As much as the guest may send, and @beyond segments that wait. */
static void fill_window(u32 beyond)
{
	while (seq_before(world.now, flow()->window.edge + beyond * SEG_MSS))
		guest_sends(TCON_TCP_ACK);
}

static void begin(const char *cc, u32 beyond)
{
	use_cc(cc);
	open_flow();
	fill_window(beyond);
}

static void assert_paced(void)
{
	assert_int_equal(flow()->state, TCON_STATE_PACED);
	assert_int_equal(flow()->reason, TCON_REASON_UNSEEN_ACKS);
}

/* By an ACK that took another way the guest may send more, sends that, and then waits for the next. */
static void what_waits_shows_that_acks_pass_by(void **unused)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		if (i) {
			teardown(unused);
			setup(unused);
		}
		begin(i == 0 ? "reno" : i == 1 ? "bbr" : "copa", MANY_WAIT);
		wait_ms(rto_ms() / 2);
		assert_true(tcon_flow_enforced(flow()));
		wait_ms(2 * rto_ms());
		assert_paced();
		wait_ms(3 * rto_ms());
		assert_int_equal(flow()->track.cc.nxt, world.now);
		peer_acks(world.now - SEG_MSS);
		assert_int_equal(flow()->known, TCON_KNOWN_ALL);
	}
}

/* The guest repeats losses then, and no more than the clock bounds it. */
static void repeats_pass_where_acks_pass_by(void **unused)
{
	u32 i;

	begin("reno", MANY_WAIT);
	wait_ms(5 * rto_ms());
	assert_paced();
	for (i = 0; i < 3 * TCON_INIT_CWND_SEGS; i++) {
		guest_says(TCON_TCP_ACK, FIRST + (1 + i % 10) * SEG_MSS, SEG_MSS);
		wait_ms(1);
	}
	assert_int_equal(counted(TCON_COUNTER_REPEAT_EXCESS), 0);
}

/*
 * TCon keeps back repeats of what it sees to itself: those from the last ACK on that the guest was
 * given, and of the tail.  The guest was not told that anything else is missing.
 */
static void repeats_pass_where_only_the_guest_hears_acks(void **unused)
{
	struct tcon_track *t;
	u32 una;

	begin("reno", 0);
	t = &flow()->track;
	una = t->cc.una;
	assert_false(guest_says(TCON_TCP_ACK, t->nxt_guest - SEG_MSS, SEG_MSS));
	assert_false(guest_says(TCON_TCP_ACK, una, SEG_MSS));
	assert_false(guest_says(TCON_TCP_ACK, una + SEG_MSS, SEG_MSS));
	assert_false(guest_says(TCON_TCP_ACK, una, SEG_MSS));
	assert_true(guest_says(TCON_TCP_ACK, una + 4 * SEG_MSS, SEG_MSS));
	assert_int_equal(flow()->state, TCON_STATE_REPAIRED);
	wait_ms(2 * rto_ms());
	assert_paced();
	peer_acks(una + 5 * SEG_MSS);
	assert_int_equal(flow()->known, TCON_KNOWN_ALL);
}

/* An ACK that others were to follow was kept from the guest, and then none came. */
static void guest_is_told_what_it_repeats(void **unused)
{
	struct tcon_flow *f;
	u64 given;
	u32 una;

	begin("bbr", 0);
	f = flow();
	wait_ms(RTT_MS);
	peer_acks(f->track.cc.una + 2 * SEG_MSS);
	una = f->track.cc.una;
	f->thin.told_ack = una - 2 * SEG_MSS;
	given = counted(TCON_COUNTER_UPDATE_SENT);
	assert_true(guest_says(TCON_TCP_ACK, una - 2 * SEG_MSS - 1, 1));	/* a keep-alive */
	assert_int_equal(counted(TCON_COUNTER_UPDATE_SENT), given);
	assert_false(guest_says(TCON_TCP_ACK, una - 2 * SEG_MSS, SEG_MSS));
	assert_int_equal(counted(TCON_COUNTER_UPDATE_SENT), given + 1);
	assert_int_equal(f->thin.told_ack, una);
	f->thin.told_ack = una - SEG_MSS;
	assert_false(guest_says(TCON_TCP_ACK, una - SEG_MSS, 2 * SEG_MSS));	/* a part of it */
	assert_int_equal(f->thin.told_ack, una);
}

/* TCon's timer has gone off before the guest's, which takes another way. */
static void what_was_repeated_the_old_way_leaves_by_the_new_one(void **unused)
{
	struct tcon_packet p;
	struct sk_buff *skb;
	u32 una, packets;

	begin("reno", 0);
	una = flow()->track.cc.una;
	while (!flow()->track.timer.tries)
		wait_ms(1);
	packets = world.packets;
	assert_false(guest_says(TCON_TCP_ACK, una, SEG_MSS));
	wait_ms(1);
	assert_int_equal(world.packets, packets);	/* it is on its way already */
	p = segment(TCON_TCP_ACK, una, PEER_ISN + 1, SEG_MSS);
	skb = segment_new(&p, true, 0, false);
	skb->hash = 4711;
	assert_false(ingress(skb));
	wait_ms(1);
	assert_int_equal(world.packets, packets + 1);
	assert_int_equal(world.last.seq, una);
	assert_int_equal(world.last_hash, 4711);
	assert_int_equal(flow()->track.timer.tries, 1);
}

/* New data that a silence frees counts on the clock, but must not put off the head. */
static void time_out_repeats_the_head_whatever_the_clock_says(void **unused)
{
	struct tcon_flow *f;
	u32 repairs;

	begin("bbr", 0);
	f = flow();
	repairs = f->track.repairs;
	while (!f->track.timer.tries) {
		f->clock.release_ns = shim_now_ns + NSEC_PER_SEC;
		wait_ms(1);
	}
	assert_true(f->track.repairs > repairs);
	assert_non_null(tcon_resent_find(&f->track.resent, f->track.cc.una, f->track.cc.una + 1));
}

/* A guest whose own timer goes off, too, is still there. */
static void guest_that_repeats_has_not_gone(void **unused)
{
	u32 i, gap_ms, una;

	begin("reno", 0);
	una = flow()->track.cc.una;
	gap_ms = rto_ms();
	for (i = 0; i < TCON_BACKOFF_MAX + 2; i++, gap_ms *= 2) {
		wait_ms(gap_ms);
		guest_says(TCON_TCP_ACK, una, SEG_MSS);
		assert_int_equal(flow()->state, TCON_STATE_REPAIRED);
	}
	assert_true(flow()->track.timer.tries > TCON_BACKOFF_MAX);
	wait_ms(4 * gap_ms);
	assert_int_equal(flow()->state, TCON_STATE_ENFORCED);
	assert_int_equal(flow()->reason, TCON_REASON_IN_FLIGHT);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(what_waits_shows_that_acks_pass_by),
		TEST(repeats_pass_where_acks_pass_by),
		TEST(repeats_pass_where_only_the_guest_hears_acks),
		TEST(guest_is_told_what_it_repeats),
		TEST(what_was_repeated_the_old_way_leaves_by_the_new_one),
		TEST(time_out_repeats_the_head_whatever_the_clock_says),
		TEST(guest_that_repeats_has_not_gone),
	};

	shim_load(tcon_reno);
	shim_load(tcon_bbr);
	shim_load(tcon_copa);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
