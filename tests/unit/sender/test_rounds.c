// SPDX-License-Identifier: GPL-2.0-only
/* The last round trips of an observed flow (datapath/sender/rounds.c). */
#include "conn.h"

#define PEER_BYTES	(1000 * MSS)

static struct tcon_round round_at(const struct conn *c, unsigned int i)
{
	struct tcon_round rounds[TCON_ROUNDS_MAX];

	assert_true(i < tcon_rounds_count(&c->t.rounds));
	tcon_rounds_copy(&c->t.rounds, rounds);
	return rounds[i];
}

static struct tcon_round last_round(const struct conn *c)
{
	return round_at(c, tcon_rounds_count(&c->t.rounds) - 1);
}

/* Segments acknowledged so far. */
static u32 acked(const struct conn *c)
{
	return (c->t.cc.una - FIRST) / MSS;
}

static void hear(struct conn *c, u32 segs, u32 peer_bytes)
{
	ack(c, segs);
	tcon_acked_observed(&c->t, peer_bytes, c->now_us);
}

/* A round: as what is in flight is acknowledged, one by one, @segs segments leave. */
static void play(struct conn *c, u32 segs, u32 peer_bytes)
{
	u32 first = acked(c), flight = (c->t.cc.nxt - c->t.cc.una) / MSS, i;

	wait_us(c, RTT_US);
	for (i = 0; i < flight; i++) {
		hear(c, first + i + 1, peer_bytes);
		send(c, segs * (i + 1) / flight - segs * i / flight);
	}
}

/* A connection with 10 segments in flight, whose next round is recorded. */
static struct conn *grown(void)
{
	struct conn *c = conn_open(true);
	int i;

	send(c, 10);	/* the SYN was a round, too */
	for (i = 0; i < TCON_ROUNDS_PASSED; i++) {
		assert_null(c->t.rounds.log);
		play(c, 10, PEER_BYTES);
	}
	assert_non_null(c->t.rounds.log);
	assert_int_equal(tcon_rounds_count(&c->t.rounds), 0);
	return c;
}

/* The largest flight, and the round trip. */
static void records(void **state)
{
	struct conn *c = grown();

	play(c, 20, PEER_BYTES);
	play(c, 20, PEER_BYTES);
	assert_int_equal(last_round(c).segs, 20);
	play(c, 40, PEER_BYTES);
	play(c, 40, PEER_BYTES);
	assert_int_equal(last_round(c).segs, 40);
	assert_int_equal(last_round(c).rtt_us, RTT_US);
	assert_int_equal(last_round(c).flags, 0);
	conn_close(c);
}

/* A guest that grows by a segment in each round trip: the newest rounds are kept, oldest first.
 * A round is one ACK shorter than a round trip, because the guest sends after the ACK.
 */
static void wraps(void **state)
{
	struct conn *c = grown();
	u32 i, segs, before = 0;

	for (i = 0; i < TCON_ROUNDS_MAX + 7; i++)
		play(c, 11 + i, PEER_BYTES);
	assert_int_equal(tcon_rounds_count(&c->t.rounds), TCON_ROUNDS_MAX);
	assert_in_range(last_round(c).segs, 10 + TCON_ROUNDS_MAX + 5, 10 + TCON_ROUNDS_MAX + 7);
	for (i = 0; i < TCON_ROUNDS_MAX; i++) {
		segs = round_at(c, i).segs;
		assert_in_range(segs, before, before ? before + 1 : U16_MAX);
		before = segs;
	}
	assert_in_range(round_at(c, 0).segs, 18, 30);
	conn_close(c);
}

/* A segment is lost: others behind it are SACKed. */
static void tells_loss(void **state)
{
	struct conn *c = grown();
	u32 first = acked(c);

	wait_us(c, RTT_US);
	ack_sack(c, first, first + 1, first + 10);
	tcon_acked_observed(&c->t, PEER_BYTES, c->now_us);
	assert_true(c->t.cc.lost_bytes);
	send_at(c, FIRST + first * MSS, MSS, TCON_SENT_REPEAT);
	send(c, 10);
	wait_us(c, RTT_US);
	hear(c, first + 10, PEER_BYTES);
	assert_int_equal(last_round(c).flags, TCON_ROUND_LOST);
	play(c, 10, PEER_BYTES);
	play(c, 10, PEER_BYTES);
	assert_int_equal(last_round(c).flags, 0);
	conn_close(c);
}

/* Nothing comes back, and the guest repeats the first segment. */
static void tells_timeout(void **state)
{
	struct conn *c = grown();
	u32 first = acked(c);

	wait_us(c, 1000000);
	send_at(c, FIRST + first * MSS, MSS, TCON_SENT_TIMEOUT);
	wait_us(c, RTT_US);
	hear(c, first + 10, PEER_BYTES);
	assert_int_equal(last_round(c).flags, TCON_ROUND_LOST | TCON_ROUND_TIMEOUT);
	conn_close(c);
}

static void tells_marks(void **state)
{
	struct conn *c = grown();

	c->t.ece_acks++;
	play(c, 10, PEER_BYTES);
	assert_int_equal(last_round(c).flags, TCON_ROUND_MARKED);
	conn_close(c);
}

/* The guest's limit is not its own window. */
static void tells_other_limits(void **state)
{
	struct conn *c = grown();
	unsigned int before;

	play(c, 10, 11 * MSS);
	assert_int_equal(last_round(c).flags, TCON_ROUND_RECEIVER);
	play(c, 10, 12 * MSS);
	assert_int_equal(last_round(c).flags, 0);
	hear(c, acked(c) + 10, PEER_BYTES);
	wait_us(c, RTT_US);
	send(c, 10);
	wait_us(c, RTT_US);
	before = tcon_rounds_count(&c->t.rounds);
	hear(c, acked(c) + 10, PEER_BYTES);
	assert_int_equal(round_at(c, before).flags, TCON_ROUND_IDLE);
	conn_close(c);
}

/* A port's records have a bound: beyond it there is no log, and its memory is given back. */
static void is_charged(void **state)
{
	unsigned int most = 4096;
	struct tcon_pool pool = { 0 };
	struct tcon_budget budget = { .pool = &pool };
	struct conn *c = conn_open(true);
	int i;

	tcon_pool_divide(&pool, most, most, 1);
	c->t.sendq.budget = &budget;
	tcon_budget_charge(&budget, most);
	send(c, 1);			/* the first page of records has room for all */
	for (i = 0; i < 20; i++)
		play(c, 1, PEER_BYTES);
	assert_null(c->t.rounds.log);
	tcon_budget_charge(&budget, -(long)most);
	play(c, 1, PEER_BYTES);
	assert_non_null(c->t.rounds.log);
	assert_int_equal(tcon_budget_used(&budget), sizeof(*c->t.rounds.log));
	tcon_rounds_clear(&c->t.rounds);
	assert_int_equal(tcon_budget_used(&budget), 0);
	assert_int_equal(tcon_rounds_count(&c->t.rounds), 0);
	conn_close(c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		cmocka_unit_test(wraps),
		cmocka_unit_test(tells_loss),
		cmocka_unit_test(tells_timeout),
		cmocka_unit_test(tells_marks),
		cmocka_unit_test(tells_other_limits),
		cmocka_unit_test(is_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
