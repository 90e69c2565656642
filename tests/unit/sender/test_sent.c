// SPDX-License-Identifier: GPL-2.0-only
/* Departures (datapath/sender/sent.c), on packet sequences with known outcomes. */

#include "datapath/sender/sendq.c"
#include "conn.h"

static void timeout_inferred(void **state)
{
	struct conn *c = conn_open(true);
	u32 rto_us = tcon_track_rto_us(&c->t);

	send(c, 5);
	wait_us(c, rto_us - 1);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);	/* too early */
	assert_int_equal(c->t.cc.lost_bytes, 0);
	wait_us(c, 1);
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);	/* not the head */
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	assert_int_equal(c->t.cc.lost_bytes, 5 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	assert_true(is_lost(c, 1, 5));
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);
	wait_us(c, RTT_US);
	ack(c, 2);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	conn_close(c);
}

/* A guest that repeats the head for each packet has no time-out with each. */
static void timeout_once_in_an_rto(void **state)
{
	struct conn *c = conn_open(true);
	u32 rto_us = tcon_track_rto_us(&c->t);

	send(c, 5);
	wait_us(c, rto_us);
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	wait_us(c, rto_us - 1);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.cc.lost_bytes, 5 * MSS);
	wait_us(c, 1);
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	conn_close(c);
}

/* The head is lost in vain until the guest's timer goes off: TCon has just sent it again. */
static struct conn *timeout_after_repair(void)
{
	struct conn *c = conn_open(true);

	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 4);
	wait_us(c, tcon_track_rto_us(&c->t));
	assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + MSS, MSS, c->now_us));
	return c;
}

/* However often the guest sends it, too: it is one an RTO after TCon's repair. */
static void timeout_not_while_repaired(void **state)
{
	struct conn *c = timeout_after_repair();
	u32 rto_us = tcon_track_rto_us(&c->t);

	wait_us(c, rto_us - 1);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.cc.lost_bytes, MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);
	wait_us(c, 1);
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	conn_close(c);
}

static void timeout_an_rto_after_a_repair(void **state)
{
	struct conn *c = timeout_after_repair();

	wait_us(c, tcon_track_rto_us(&c->t));
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	conn_close(c);
}

static void timeout_when_repairs_have_ended(void **state)
{
	struct conn *c = timeout_after_repair();

	wait_us(c, 1);
	tcon_sent_repairs_end(&c->t);
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	conn_close(c);
}

/* SACKed data is not lost at a time-out. */
static void timeout_spares_sacked(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 3, 4);
	wait_us(c, 1000000);
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	assert_int_equal(c->t.cc.lost_bytes, 4 * MSS);
	assert_false(is_lost(c, 3, 4));
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	conn_close(c);
}

/* A tail probe repeats all that is in flight: no time-out.  But the next repeat is one. */
static void tail_probe(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 1);
	wait_us(c, 1000000);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	wait_us(c, 1000000);
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	ack(c, 1);
	send(c, 1);
	wait_us(c, 1000000);
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);
	conn_close(c);
}

/* Progress restarts the clock. */
static void timeout_after_progress(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 5);
	wait_us(c, 150000);
	ack(c, 1);
	wait_us(c, 150000);
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);
	conn_close(c);
}

/* A gap in what the guest sends passed elsewhere: it is in flight. */
static void gap(void **state)
{
	struct conn *c = conn_open(true);

	send_at(c, FIRST + 2 * MSS, MSS, TCON_SENT_NEW);
	assert_int_equal(c->t.cc.nxt, FIRST + 3 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 3 * MSS);
	send_at(c, FIRST, MSS, TCON_SENT_NEW);
	conn_close(c);
}

/* No window reaches further than 2^30: data beyond is not recorded. */
static void far_ahead(void **state)
{
	struct conn *c = conn_open(true);
	u32 far = FIRST + TCON_CWND_MAX_BYTES;

	send_at(c, far, MSS, TCON_SENT_NEW);
	send_at(c, FIRST + 0x7fff0000, MSS, TCON_SENT_NEW);
	assert_int_equal(c->t.cc.nxt, FIRST);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	send(c, 1);
	send_at(c, far - MSS, MSS, TCON_SENT_NEW);
	assert_int_equal(c->t.cc.inflight_bytes, TCON_CWND_MAX_BYTES);
	conn_close(c);
}

/* A segment that is in part new and in part repeated. */
static void overlap(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 2);
	wait_us(c, RTT_US);
	send_at(c, FIRST + MSS, 2 * MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.cc.nxt, FIRST + 3 * MSS);
	assert_int_equal(c->t.repeated_bytes, MSS);
	assert_int_equal(c->t.sent_bytes, 4 * MSS);
	ack(c, 2);
	assert_int_equal(c->ack.rs.rtt_us, -1);	/* Karn */
	send_at(c, FIRST, 2 * MSS, TCON_SENT_NEW);	/* left of una */
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	assert_int_equal(c->t.repeated_bytes, 3 * MSS);
	conn_close(c);
}

/* FIN takes a sequence number. */
static void fin(void **state)
{
	struct conn *c = conn_open(true);
	struct tcon_packet pkt;

	send(c, 1);
	tcon_sent_segment(&c->t, c->t.cc.nxt, c->t.cc.nxt + MSS + 1, MSS,
			c->now_us);
	assert_int_equal(c->t.sent_bytes, 2 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS + 1);
	wait_us(c, RTT_US);
	pkt = segment(TCON_TCP_ACK, PEER_ISN + 1, FIRST + 2 * MSS + 1);
	take(c, &pkt);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	assert_int_equal(c->t.cc.una, c->t.cc.nxt);
	conn_close(c);
}

/* Without memory for a record or a range: coarser, but the sums hold. */
static void no_memory(void **state)
{
	struct conn *c = conn_open(true);
	u32 i;

	send(c, 63);				/* the SYN was the first */
	assert_int_equal(c->t.sendq.tail, TCON_SENDQ_PER_PAGE);
	tcon_ranges_clear(&c->t.sacked);
	shim_alloc_failures = 1;
	tcon_sent_segment(&c->t, c->t.cc.nxt, c->t.cc.nxt + MSS, MSS, c->now_us);
	assert_null(c->t.recorded);
	assert_int_equal(c->t.cc.inflight_bytes, 64 * MSS);
	wait_us(c, RTT_US);
	shim_alloc_failures = 1;
	ack_sack(c, 0, 2, 3);
	assert_int_equal(c->ack.sack_overflow, 1);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, 0);
	assert_int_equal(c->ack.rs.rtt_us, -1);	/* nor in any later ACK */
	ack_sack(c, 0, 2, 3);			/* memory is back */
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	for (i = 4; i < 60; i += 2)
		ack_sack(c, 0, i, i + 1);
	ack(c, 64);
	assert_int_equal(c->t.cc.delivered_bytes, 64 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	conn_close(c);
}

/* A segment that comes into a gap leaves for the first time: no repeat, and a round trip like any
 * other, also where more than one is late.
 */
static void gap_is_filled(void **state)
{
	struct conn *c = conn_open(true);

	send_at(c, FIRST + 3 * MSS, MSS, TCON_SENT_NEW);
	wait_us(c, 1000);
	send_at(c, FIRST + MSS, MSS, TCON_SENT_NEW);	/* in its middle */
	assert_ptr_equal(c->t.recorded,
			 tcon_sendq_at(&c->t.sendq, tcon_sendq_find(&c->t.sendq,
								     FIRST + MSS)));
	assert_int_equal(c->t.recorded->start, FIRST + MSS);
	assert_int_equal(c->t.recorded->end, FIRST + 2 * MSS);
	wait_us(c, 1000);
	send_at(c, FIRST, MSS, TCON_SENT_NEW);
	assert_non_null(c->t.recorded);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);	/* that is one */
	assert_null(c->t.recorded);
	assert_int_equal(c->t.repeated_bytes, MSS);
	assert_int_equal(c->t.sent_bytes, 4 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 4 * MSS);
	wait_us(c, 18000);
	ack_sack(c, 0, 1, 2);
	assert_int_equal(c->ack.rs.rtt_us, 19000);
	assert_int_equal(c->ack.rs.delivered_bytes, MSS);
	ack_sack(c, 0, 3, 4);
	assert_int_equal(c->ack.rs.rtt_us, 20000);
	assert_int_equal(c->t.resent.n, 1);
	ack_sack(c, 0, 2, 3);				/* passed elsewhere */
	assert_int_equal(c->ack.rs.rtt_us, -1);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	conn_close(c);
}

/* RACK goes by the order in which things leave TCon, whatever that in the guest was. */
static void gap_does_not_reorder(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 2);
	send_at(c, FIRST + 3 * MSS, MSS, TCON_SENT_NEW);
	send_at(c, FIRST + 2 * MSS, MSS, TCON_SENT_NEW);
	send(c, 4);
	wait_us(c, RTT_US);
	ack(c, 2);
	ack_sack(c, 2, 3, 4);
	assert_int_equal(c->ack.rs.losses_bytes, 0);
	ack(c, 4);
	assert_false(c->t.rack.reordered);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	conn_close(c);
}

/* One that came late and is lost is found by what left after it, and its repeat is one. */
static void gap_filled_and_lost(void **state)
{
	struct conn *c = conn_open(true);

	send_at(c, FIRST + MSS, MSS, TCON_SENT_NEW);
	send_at(c, FIRST, MSS, TCON_SENT_NEW);
	send(c, 4);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 4);
	assert_true(is_lost(c, 0, 1));
	assert_int_equal(c->ack.rs.losses_bytes, MSS);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.repeated_bytes, MSS);
	wait_us(c, RTT_US);
	ack(c, 6);
	assert_false(c->ack.spurious);
	conn_close(c);
}

/* A gap that was lost before TCon: what the guest then sends may be lost behind it, too. */
static void gap_lost_then_filled(void **state)
{
	struct conn *c = conn_open(true);

	send_at(c, FIRST + MSS, 3 * MSS, TCON_SENT_NEW);
	send(c, 2);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 5);
	assert_true(is_lost(c, 0, 1));
	send_at(c, FIRST, MSS, TCON_SENT_NEW);
	assert_non_null(c->t.recorded);
	assert_int_equal(c->t.repeated_bytes, 0);
	assert_int_equal(c->t.lost.bytes, 0);
	send(c, 1);
	wait_us(c, 2 * RTT_US);
	ack_sack(c, 0, 1, 7);
	assert_true(is_lost(c, 0, 1));
	assert_int_equal(c->t.cc.lost_bytes, 2 * MSS);
	conn_close(c);
}

/* A super-packet's gap is filled segment by segment, in any order, but not where very many have
 * overtaken it.
 */
static void gap_in_pieces(void **state)
{
	struct conn *c = conn_open(true);
	u32 i;

	send_at(c, FIRST + 44 * MSS, MSS, TCON_SENT_NEW);
	for (i = 0; i < 44; i++)
		send_at(c, FIRST + i * 23 % 44 * MSS, MSS, TCON_SENT_NEW);
	assert_int_equal(c->t.sendq.tail - c->t.sendq.head, 45);
	assert_int_equal(c->t.repeated_bytes, 0);
	send_at(c, FIRST + 48 * MSS, MSS, TCON_SENT_NEW);
	send(c, FILL_MAX);
	send_at(c, FIRST + 45 * MSS, MSS, TCON_SENT_NEW);
	assert_null(c->t.recorded);
	send_at(c, FIRST + 45 * MSS, 3 * MSS, TCON_SENT_NEW);	/* takes no room */
	assert_non_null(c->t.recorded);
	wait_us(c, RTT_US);
	ack(c, 49 + FILL_MAX);
	assert_int_equal(c->t.cc.delivered_bytes, (49 + FILL_MAX) * MSS);
	conn_close(c);
}

static bool floor_is(const struct conn *c, u32 tsval)
{
	return tcon_track_has_floor(&c->t, c->now_us) && c->t.tsval_floor == tsval;
}

/* An overtaking segment raises the time stamp of those behind it, until it is acknowledged. */
static void tsval_floor(void **state)
{
	struct conn *c = conn_open(true);

	tcon_sent_overtaking(&c->t, 100, c->now_us);	/* a keep-alive, with nothing to keep */
	assert_false(c->t.has_tsval_floor);
	send(c, 4);
	tcon_sent_overtaking(&c->t, 0xffffffff, c->now_us);
	assert_true(floor_is(c, 0xffffffff));
	tcon_sent_overtaking(&c->t, 5, c->now_us);	/* newer */
	tcon_sent_overtaking(&c->t, 0xfffffff0, c->now_us);
	assert_true(floor_is(c, 5));
	send(c, 2);
	ack(c, 3);
	assert_true(floor_is(c, 5));
	ack(c, 4);
	assert_false(floor_is(c, 5));
	conn_close(c);
}

/* Segments that wait in TCon are behind it, too. */
static void tsval_floor_of_what_waits(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 1);
	c->t.nxt_guest += 3 * MSS;
	tcon_sent_overtaking(&c->t, 7, c->now_us);
	ack(c, 1);
	assert_true(floor_is(c, 7));
	send(c, 4);
	ack(c, 4);
	assert_false(floor_is(c, 7));
	conn_close(c);
}

/* Behind a window that stays closed a clock of microseconds goes half around in 36 min. */
static void tsval_floor_ages(void **state)
{
	struct conn *c = conn_open(true);
	u32 now;

	send(c, 2);
	tcon_sent_overtaking(&c->t, 5000, c->now_us);
	wait_us(c, 0x80000000ULL + 1000);
	assert_false(tcon_track_has_floor(&c->t, c->now_us));
	now = 5000 + 0x80000000U + 1000;
	tcon_sent_overtaking(&c->t, now, c->now_us);
	assert_true(floor_is(c, now));
	tcon_handshake_resync(&c->t, FIRST + 2 * MSS, c->now_us);
	assert_false(c->t.has_tsval_floor);
	conn_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timeout_inferred),
		cmocka_unit_test(timeout_once_in_an_rto),
		cmocka_unit_test(timeout_not_while_repaired),
		cmocka_unit_test(timeout_an_rto_after_a_repair),
		cmocka_unit_test(timeout_when_repairs_have_ended),
		cmocka_unit_test(timeout_spares_sacked),
		cmocka_unit_test(tail_probe),
		cmocka_unit_test(timeout_after_progress),
		cmocka_unit_test(gap),
		cmocka_unit_test(gap_is_filled),
		cmocka_unit_test(gap_does_not_reorder),
		cmocka_unit_test(gap_filled_and_lost),
		cmocka_unit_test(gap_lost_then_filled),
		cmocka_unit_test(gap_in_pieces),
		cmocka_unit_test(far_ahead),
		cmocka_unit_test(overlap),
		cmocka_unit_test(fin),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(tsval_floor),
		cmocka_unit_test(tsval_floor_of_what_waits),
		cmocka_unit_test(tsval_floor_ages),
	};

	return cmocka_run_group_tests_name("sent", tests, NULL, NULL);
}
