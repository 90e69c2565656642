// SPDX-License-Identifier: GPL-2.0-only
/*
 * Segments judged lost, and when (datapath/sender/loss.c): RFC 8985 step by step.
 *
 * The path's RTT is 10 ms, so a quarter of the minimum is 2.5 ms.
 */
#include "datapath/sender/loss.c"
#include "conn.h"

#define MANY		1000U	/* repairs, so that each DSACK is of one */
#define QUARTER_US	(RTT_US / 4)

static void recovery(struct conn *c)
{
	c->t.cc.ca_state = TCON_CA_RECOVERY;
	c->t.recovery_point = c->t.cc.nxt;
}

static void repair(struct conn *c, u32 lo, u32 hi)
{
	assert_true(tcon_sent_repair(&c->t, FIRST + lo * MSS,
					FIRST + hi * MSS, (hi - lo) * MSS,
					c->now_us));
	check(c);
}

/* An ACK for @segs segments with a DSACK for segment @twice. */
static void dsack(struct conn *c, u32 segs, u32 twice)
{
	assert_true(twice < segs);
	ack_sack(c, segs, twice, twice + 1);
}

/* One flight of two, the second before the first: nothing stays in flight. */
static void reorder(struct conn *c)
{
	u32 una = (c->t.cc.una - FIRST) / MSS;

	send(c, 2);
	wait_us(c, RTT_US);
	ack_sack(c, una, una + 1, una + 2);
	assert_int_equal(c->ack.rs.losses_bytes, 0);
	ack(c, una + 2);
	assert_true(c->t.rack.reordered);
}

static void assert_lost(const struct conn *c, u32 lo, u32 hi)
{
	assert_int_equal(c->t.lost.n, 1);
	assert_int_equal((c->t.lost.range[0].start - FIRST) / MSS, lo);
	assert_int_equal((c->t.lost.range[0].end - FIRST) / MSS, hi);
}

/* A burst has one time stamp: the order decides what was sent before. */
static void order_beats_time(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 5);
	recovery(c);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 2, 3);
	assert_lost(c, 0, 2);
	assert_int_equal(c->ack.rs.losses_bytes, 2 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);
	conn_close(c);
}

/* Nothing is lost that was sent less than the latest RTT ago. */
static void not_before_its_time(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 1);			/* at 0 */
	wait_us(c, 4000);
	send(c, 1);			/* at 4 ms */
	recovery(c);
	wait_us(c, 5000);
	ack_sack(c, 0, 1, 2);		/* at 9: it took 5, 0 is 9 old */
	assert_lost(c, 0, 1);
	conn_close(c);

	c = conn_open(true);
	send(c, 1);
	send(c, 1);
	wait_us(c, 10000);
	ack(c, 1);			/* at 10, RTT 10 */
	recovery(c);
	send(c, 1);
	wait_us(c, 1000);
	c->t.rack.rtt_us = 12000;	/* as if that had taken longer */
	tcon_loss_detect(&c->t, c->now_us);
	assert_int_equal(c->t.lost.n, 0);	/* 1 was sent after 0 */
	assert_int_equal(c->t.rack.deadline_us, 0);
	conn_close(c);
}

/* Without recovery and with few SACKed: a quarter of the minimum RTT. */
static void window_when_open(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 2, 3);
	assert_int_equal(c->ack.rs.losses_bytes, 0);
	assert_int_equal(c->t.rack.deadline_us, c->now_us + QUARTER_US);
	assert_int_equal(tcon_timer_next_us(&c->t), c->now_us + QUARTER_US);
	wait_us(c, QUARTER_US - 1);
	assert_int_equal(tcon_timer_expire(&c->t, c->now_us),
			 TCON_EXPIRY_NONE);
	assert_int_equal(c->t.lost.n, 0);
	wait_us(c, 1);
	assert_int_equal(tcon_timer_expire(&c->t, c->now_us),
			 TCON_EXPIRY_REORDER);
	assert_lost(c, 0, 2);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);
	assert_int_equal(c->t.rack.deadline_us, 0);
	conn_close(c);
}

/* Three segments SACKed, in ranges or in bytes: no window. */
static void window_at_threshold(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 8);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 2, 3);
	ack_sack(c, 0, 4, 5);
	assert_int_equal(reo_wnd_us(&c->t), QUARTER_US);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	ack_sack(c, 0, 6, 7);
	assert_int_equal(reo_wnd_us(&c->t), 0);
	assert_int_equal(c->ack.rs.losses_bytes, 4 * MSS);
	conn_close(c);

	c = conn_open(true);
	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 3);
	assert_int_equal(reo_wnd_us(&c->t), QUARTER_US);
	ack_sack(c, 0, 1, 4);
	assert_int_equal(reo_wnd_us(&c->t), 0);
	conn_close(c);
}

/* Once the path has reordered there is a window always, in recovery too. */
static void window_when_reordered(void **state)
{
	struct conn *c = conn_open(true);

	reorder(c);			/* 0 and 1 */
	send(c, 6);
	recovery(c);
	wait_us(c, RTT_US);
	ack_sack(c, 2, 3, 7);		/* four of them */
	assert_int_equal(reo_wnd_us(&c->t), QUARTER_US);
	assert_int_equal(c->ack.rs.losses_bytes, 0);
	assert_int_equal(c->t.rack.deadline_us, c->now_us + QUARTER_US);
	wait_us(c, QUARTER_US);
	assert_int_equal(tcon_timer_expire(&c->t, c->now_us),
			 TCON_EXPIRY_REORDER);
	assert_lost(c, 2, 3);
	conn_close(c);
}

/* Reordering is what comes after what an earlier ACK covered, below it. */
static void reordering_seen(void **state)
{
	struct conn *c = conn_open(true);
	struct tcon_packet pkt;

	send(c, 10);
	wait_us(c, RTT_US);
	ack_sack(c, 1, 2, 3);		/* an ACK that was delayed: 0 with 2 */
	assert_false(c->t.rack.reordered);
	pkt = segment(TCON_TCP_ACK, PEER_ISN + 1, FIRST + MSS);
	pkt.n_sacks = 2;		/* two blocks that are news, high first */
	pkt.sacks[0] = (struct tcon_sack) { FIRST + 7 * MSS, FIRST + 8 * MSS };
	pkt.sacks[1] = (struct tcon_sack) { FIRST + 4 * MSS, FIRST + 5 * MSS };
	take(c, &pkt);
	assert_false(c->t.rack.reordered);
	ack_sack(c, 1, 5, 6);		/* 5, after 7 */
	assert_true(c->t.rack.reordered);
	conn_close(c);

	c = conn_open(true);
	send(c, 5);
	recovery(c);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 5);
	repair(c, 0, 1);
	wait_us(c, RTT_US);
	ack(c, 5);			/* a repair is no late original */
	assert_false(c->t.rack.reordered);
	conn_close(c);
}

/* A DSACK makes the window wider, by a quarter, once a round trip. */
static void window_widened(void **state)
{
	struct conn *c = conn_open(true);
	u32 i;

	c->t.repairs = MANY;
	send(c, 4);
	wait_us(c, RTT_US);
	ack(c, 2);
	dsack(c, 2, 1);
	assert_int_equal(reo_wnd_us(&c->t), 2 * QUARTER_US);
	dsack(c, 3, 1);			/* the same round: 3 is in flight */
	assert_int_equal(reo_wnd_us(&c->t), 2 * QUARTER_US);
	ack(c, 4);
	send(c, 1);
	dsack(c, 4, 1);			/* the next */
	assert_int_equal(reo_wnd_us(&c->t), 3 * QUARTER_US);
	dsack(c, 4, 2);
	assert_int_equal(reo_wnd_us(&c->t), 3 * QUARTER_US);
	c->t.cc.srtt_us = 4 * QUARTER_US;
	for (i = 5; i < 400; i++) {	/* never wider than the smoothed RTT */
		wait_us(c, RTT_US);
		ack(c, i);
		send(c, 1);
		dsack(c, i, i - 1);
		c->t.cc.srtt_us = 4 * QUARTER_US;
		assert_int_equal(reo_wnd_us(&c->t), 4 * QUARTER_US);
	}
	c->t.cc.srtt_us = 1000 * QUARTER_US;
	assert_int_equal(reo_wnd_us(&c->t), 255 * QUARTER_US);
	conn_close(c);
}

/* A guest's needless repeat, its tail perhaps, is no sign of reordering. */
static void dsack_of_a_guests_repeat(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 2);
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);
	wait_us(c, RTT_US);
	ack(c, 2);
	dsack(c, 2, 1);
	assert_false(c->t.rack.reordered);
	send(c, 4);
	wait_us(c, RTT_US);
	ack_sack(c, 2, 3, 6);
	assert_lost(c, 2, 3);
	ack(c, 6);
	reorder(c);
	send(c, 1);
	dsack(c, 8, 7);			/* but where there is reordering */
	assert_int_equal(reo_wnd_us(&c->t), 2 * QUARTER_US);
	conn_close(c);
}

/* The initial sequence number decides nothing: the first DSACK counts. */
static void first_dsack_counts(void **state)
{
	struct conn *c = conn_open(true);

	c->t.repairs = MANY;
	assert_true(seq_before(c->t.cc.una, 0));
	send(c, 2);
	ack(c, 1);
	dsack(c, 1, 0);
	assert_int_equal(c->t.rack.reo_more, 1);
	conn_close(c);

	c = conn_open(true);
	c->t.repairs = MANY;
	tcon_handshake_resync(&c->t, 1000, c->now_us);
	send(c, 2);
	tcon_loss_dsack(&c->t, true);
	assert_int_equal(c->t.rack.reo_more, 1);
	conn_close(c);
}

/* Sixteen recoveries without DSACK, and the window is a quarter again. */
static void window_forgotten(void **state)
{
	struct conn *c = conn_open(true);
	u32 i;

	c->t.repairs = MANY;
	for (i = 0; i < 20; i++)	/* nothing to forget */
		tcon_loss_recovered(&c->t);
	send(c, 2);
	wait_us(c, RTT_US);
	ack(c, 1);
	dsack(c, 1, 0);
	for (i = 0; i < 10; i++)
		tcon_loss_recovered(&c->t);
	ack(c, 2);
	send(c, 2);
	dsack(c, 2, 0);			/* counts from here */
	for (i = 0; i < 15; i++) {
		tcon_loss_recovered(&c->t);
		assert_int_equal(c->t.rack.reo_more, 2);
	}
	tcon_loss_recovered(&c->t);
	assert_int_equal(c->t.rack.reo_more, 0);
	assert_int_equal(reo_wnd_us(&c->t), QUARTER_US);	/* reordered */
	conn_close(c);
}

/* A repair is judged as an original is: by what was sent after it. */
static void repair_lost(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 10);			/* at 0, orders 2 to 11 */
	recovery(c);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 4);
	assert_lost(c, 0, 1);
	repair(c, 0, 1);		/* at 10 ms */
	wait_us(c, 1000);
	send(c, 2);			/* at 11 ms */
	ack_sack(c, 0, 1, 10);		/* originals, all before the repair */
	assert_int_equal(c->t.lost.n, 0);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 11);		/* at 21: sent after it */
	assert_lost(c, 0, 1);
	assert_int_equal(c->t.cc.lost_bytes, 2 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	assert_true(tcon_resent_find(&c->t.resent, FIRST, FIRST + 1)->lost);
	ack_sack(c, 0, 1, 12);		/* once */
	assert_int_equal(c->t.cc.lost_bytes, 2 * MSS);
	repair(c, 0, 1);
	assert_int_equal(c->t.lost.n, 0);
	assert_int_equal(c->t.resent.n, 1);
	assert_int_equal(tcon_resent_find(&c->t.resent, FIRST,
					  FIRST + 1)->count, 2);
	wait_us(c, RTT_US);
	ack(c, 12);
	assert_int_equal(c->t.resent.n, 0);
	assert_int_equal(c->t.cc.delivered_bytes, 12 * MSS);
	assert_int_equal(c->t.cc.lost_bytes, 2 * MSS);
	conn_close(c);
}

/* A repair that had no time yet: when it is due is known. */
static void repair_has_time(void **state)
{
	struct conn *c = conn_open(true);
	u64 sent_us;

	reorder(c);			/* a window of 2.5 ms */
	send(c, 3);			/* 2 to 4 */
	recovery(c);
	wait_us(c, RTT_US);
	ack_sack(c, 2, 3, 4);
	wait_us(c, QUARTER_US);
	assert_int_equal(tcon_timer_expire(&c->t, c->now_us),
			 TCON_EXPIRY_REORDER);
	assert_lost(c, 2, 3);
	sent_us = c->now_us;
	repair(c, 2, 3);
	send(c, 1);			/* 5, in the same burst */
	wait_us(c, RTT_US);
	ack_sack(c, 2, 5, 6);
	assert_lost(c, 4, 5);		/* long due; the repair is not */
	assert_int_equal(c->t.rack.deadline_us,
			 sent_us + RTT_US + QUARTER_US);
	wait_us(c, QUARTER_US);
	assert_int_equal(tcon_timer_expire(&c->t, c->now_us),
			 TCON_EXPIRY_REORDER);
	assert_true(is_lost(c, 2, 3));
	conn_close(c);
}

/* A repair of the first of four that is answered after @rtt_us: is it believed? */
static bool is_believed(u32 rtt_us)
{
	struct conn *c = conn_open(true);
	bool believed;
	u32 order;

	send(c, 4);
	recovery(c);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 3);
	order = c->t.rack.order;
	repair(c, 0, 1);
	wait_us(c, rtt_us);
	ack(c, 3);
	believed = c->t.rack.order != order;
	assert_int_equal(c->t.lost.n, believed);	/* 3, of before it */
	conn_close(c);
	return believed;
}

/* An answer to a repair that is faster than the path is to the original. */
static void too_fast_for_a_repair(void **state)
{
	assert_false(is_believed(1));
	assert_false(is_believed(RTT_US * 8 / 9 - 1));
	assert_true(is_believed(RTT_US - 1));
	assert_true(is_believed(RTT_US));
}

/* A part of a super-packet has arrived: the part before it is lost. */
static void super_packet_in_part(void **state)
{
	struct conn *c = conn_open(true);

	send_at(c, FIRST, 10 * MSS, TCON_SENT_NEW);
	recovery(c);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 6, 7);
	assert_lost(c, 0, 6);
	assert_int_equal(c->t.rack.deadline_us, 0);	/* the rear: no news */
	ack_sack(c, 0, 9, 10);
	assert_true(is_lost(c, 7, 9));
	assert_int_equal(c->t.lost.bytes, 8 * MSS);
	conn_close(c);

	c = conn_open(true);		/* and so of a repair */
	send(c, 10);
	recovery(c);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 6, 10);
	assert_lost(c, 0, 6);
	repair(c, 0, 6);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 3, 4);
	assert_lost(c, 0, 3);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);	/* 4 and 5 */
	conn_close(c);
}

/* SACKed data needs no judgement, and nobody has to look for it. */
static void no_deadline_for_sacked(void **state)
{
	struct conn *c = conn_open(true);

	reorder(c);
	send(c, 6);			/* 2 to 7 */
	wait_us(c, RTT_US);
	ack_sack(c, 4, 5, 7);		/* 4 is missing */
	assert_int_equal(c->t.rack.deadline_us, c->now_us + QUARTER_US);
	ack(c, 7);
	assert_int_equal(c->t.rack.deadline_us, 0);	/* 7 came after */
	conn_close(c);
}

/* The tail probe is in flight: its original counts as lost, it does not. */
static void original_of_a_repeat(void **state)
{
	struct conn *c = conn_open(true);
	u64 probed_us;

	reorder(c);
	send(c, 3);			/* 2 to 4, at 0 */
	wait_us(c, 5000);
	repair(c, 4, 5);		/* at 5 ms */
	probed_us = c->now_us;
	wait_us(c, 1000);
	send(c, 1);			/* 5, at 6 ms */
	wait_us(c, RTT_US);
	ack_sack(c, 2, 5, 6);		/* at 16: 12.5 ms are over for 0 only */
	assert_int_equal(c->ack.rs.losses_bytes, 3 * MSS);
	assert_lost(c, 2, 4);
	assert_int_equal(c->t.rack.deadline_us,
			 probed_us + RTT_US + QUARTER_US);
	c->now_us = c->t.rack.deadline_us;
	assert_int_equal(tcon_timer_expire(&c->t, c->now_us),
			 TCON_EXPIRY_REORDER);
	assert_lost(c, 2, 5);
	conn_close(c);
}

/* Without SACK (RFC 6582): the third duplicate, then each partial ACK. */
static void without_sack(void **state)
{
	struct conn *c = conn_open(false);
	u32 i;

	send(c, 10);			/* 0 and 4 are lost */
	wait_us(c, RTT_US);
	ack(c, 0);
	ack(c, 0);
	assert_int_equal(c->t.lost.n, 0);
	ack(c, 0);
	assert_lost(c, 0, 1);
	for (i = 4; i <= 8; i++)
		ack(c, 0);
	assert_lost(c, 0, 1);
	recovery(c);
	repair(c, 0, 1);
	wait_us(c, RTT_US);
	ack(c, 4);			/* partial */
	assert_lost(c, 4, 5);
	assert_int_equal(c->ack.rs.rtt_us, -1);	/* 1 to 3 waited for 0 */
	repair(c, 4, 5);
	send(c, 2);
	wait_us(c, RTT_US);
	ack(c, 10);			/* all of it: no hole behind */
	assert_int_equal(c->t.lost.n, 0);
	assert_int_equal(c->t.cc.lost_bytes, 2 * MSS);
	ack(c, 11);
	assert_int_equal(c->t.lost.n, 0);
	conn_close(c);
}

/* Only a recovery makes an ACK partial. */
static void no_partial_ack_when_open(void **state)
{
	struct conn *c = conn_open(false);

	send(c, 10);
	wait_us(c, RTT_US);
	ack(c, 4);
	assert_int_equal(c->t.lost.n, 0);
	conn_close(c);
}

/* The peer throws away what it has SACKed: the time-out shows it. */
static void reneging(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 6);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 4);
	assert_lost(c, 0, 1);
	repair(c, 0, 1);
	wait_us(c, RTT_US);
	ack(c, 1);			/* not 4 */
	assert_int_equal(c->t.cc.delivered_bytes, 4 * MSS);
	tcon_loss_mark_all(&c->t);
	c->reneged = 3 * MSS;
	assert_int_equal(c->t.sacked.n, 0);
	assert_lost(c, 1, 6);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	repair(c, 1, 6);
	wait_us(c, RTT_US);
	ack_sack(c, 2, 3, 4);		/* it arrives again */
	assert_int_equal(c->ack.rs.acked_sacked_bytes, 2 * MSS);
	assert_int_equal(c->t.cc.delivered_bytes, 6 * MSS);
	assert_int_equal(c->ack.rs.delivered_bytes, 2 * MSS);
	ack(c, 6);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, 3 * MSS);
	assert_int_equal(c->t.cc.delivered_bytes, 9 * MSS);
	conn_close(c);
}

/* No reneging: SACKed data stays so, repairs in flight are lost too. */
static void all_lost(void **state)
{
	struct conn *c = conn_open(true);

	tcon_loss_mark_all(&c->t);	/* nothing in flight */
	assert_int_equal(c->t.lost.n, 0);
	send(c, 6);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 2, 3);
	assert_int_not_equal(c->t.rack.deadline_us, 0);
	repair(c, 0, 2);
	tcon_loss_mark_all(&c->t);
	assert_int_equal(c->t.rack.deadline_us, 0);
	assert_int_equal(c->t.sacked.bytes, MSS);
	assert_int_equal(c->t.lost.bytes, 5 * MSS);
	assert_true(tcon_resent_find(&c->t.resent, FIRST, FIRST + 1)->lost);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	conn_close(c);
}

/* The guest repeats what is SACKed: nothing of that is left behind una. */
static void repeat_of_sacked(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 3);
	send_at(c, FIRST, 4 * MSS, TCON_SENT_REPEAT);
	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 4);
	assert_int_equal(c->t.resent.n, 0);
	wait_us(c, RTT_US);
	ack_sack(c, 4, 5, 6);
	assert_int_equal(tcon_ranges_covered(&c->t.lost, FIRST,
					     FIRST + 4 * MSS), 0);
	conn_close(c);
}

/* Losses that there is no memory for are judged again, with the next ACK or a little later. */
static void not_noted(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 8);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 3, 4);		/* for this there is memory */
	assert_int_equal(c->t.lost.n, 0);
	shim_alloc_failures = 1;
	ack_sack(c, 0, 3, 8);
	assert_int_equal(shim_alloc_failures, 0);
	assert_int_equal(c->t.lost.n, 0);
	assert_int_equal(c->t.rack.deadline_us, c->now_us + 1000);
	ack_sack(c, 0, 3, 8);
	assert_lost(c, 0, 3);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	conn_close(c);
}

/* As not_noted(), of what was sent again. */
static void repeat_not_noted(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 8);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 3, 8);
	recovery(c);
	repair(c, 0, 3);
	tcon_ranges_clear(&c->t.lost);	/* its room */
	send(c, 3);
	wait_us(c, RTT_US);
	shim_alloc_failures = 1;
	ack_sack(c, 0, 3, 11);
	assert_int_equal(shim_alloc_failures, 0);
	assert_int_equal(c->t.lost.n, 0);
	wait_us(c, 1000);
	assert_int_equal(tcon_timer_expire(&c->t, c->now_us), TCON_EXPIRY_REORDER);
	assert_lost(c, 0, 3);
	conn_close(c);
}

/* After a time-out nothing is in flight, noted or not.  A repeat is. */
static void time_out_not_noted(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 8);
	shim_alloc_failures = 1;
	tcon_loss_mark_all(&c->t);
	assert_int_equal(shim_alloc_failures, 0);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	send_at(c, FIRST, 2 * MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);
	send(c, 1);
	assert_int_equal(c->t.cc.inflight_bytes, 3 * MSS);
	ack(c, 2);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	ack(c, 9);
	assert_int_equal(c->t.unnoted_bytes, 0);
	send(c, 1);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	conn_close(c);
}

/* The middle of a lost range is sent again.  Without room for both parts the second is judged
 * again.
 */
static void range_not_cut(void **state)
{
	struct conn *c = conn_open(true);
	u32 i;

	send(c, 20);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 19, 20);
	tcon_loss_mark(&c->t, FIRST, FIRST + 3 * MSS);
	for (i = 4; i < 18; i += 2)
		tcon_loss_mark(&c->t, FIRST + i * MSS, FIRST + (i + 1) * MSS);
	assert_int_equal(c->t.lost.n, c->t.lost.room);
	c->t.lost_edge = FIRST + 19 * MSS;
	shim_alloc_failures = 2;	/* for the repeat's record, too */
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);
	assert_int_equal(shim_alloc_failures, 0);
	assert_false(is_lost(c, 2, 3));
	assert_int_equal(c->t.lost_edge, FIRST + 2 * MSS);
	recovery(c);
	ack_sack(c, 0, 19, 20);
	assert_true(is_lost(c, 2, 3));
	conn_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_beats_time),
		cmocka_unit_test(not_before_its_time),
		cmocka_unit_test(window_when_open),
		cmocka_unit_test(window_at_threshold),
		cmocka_unit_test(window_when_reordered),
		cmocka_unit_test(reordering_seen),
		cmocka_unit_test(window_widened),
		cmocka_unit_test(dsack_of_a_guests_repeat),
		cmocka_unit_test(first_dsack_counts),
		cmocka_unit_test(window_forgotten),
		cmocka_unit_test(repair_lost),
		cmocka_unit_test(repair_has_time),
		cmocka_unit_test(too_fast_for_a_repair),
		cmocka_unit_test(super_packet_in_part),
		cmocka_unit_test(no_deadline_for_sacked),
		cmocka_unit_test(original_of_a_repeat),
		cmocka_unit_test(without_sack),
		cmocka_unit_test(no_partial_ack_when_open),
		cmocka_unit_test(reneging),
		cmocka_unit_test(all_lost),
		cmocka_unit_test(repeat_of_sacked),
		cmocka_unit_test(not_noted),
		cmocka_unit_test(repeat_not_noted),
		cmocka_unit_test(time_out_not_noted),
		cmocka_unit_test(range_not_cut),
	};

	return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
