// SPDX-License-Identifier: GPL-2.0-only
/* What ACKs tell (datapath/sender/acked.c), on packet sequences with known outcomes. */

#include "conn.h"

/* RFC 6298 by hand, from a first sample of 10 ms. */
static void rtt_smoothed(void **state)
{
	struct conn *c = conn_open(true);

	assert_int_equal(c->t.cc.srtt_us, 10000);
	assert_int_equal(tcon_track_rttvar_us(&c->t), 5000);
	assert_int_equal(tcon_track_rto_us(&c->t), 10000 + 200000);
	send(c, 1);
	wait_us(c, 20000);
	ack(c, 1);
	assert_int_equal(c->ack.rs.rtt_us, 20000);
	assert_int_equal(c->t.cc.srtt_us, 11250);	/* 10000 + 10000 / 8 */
	assert_int_equal(tcon_track_rttvar_us(&c->t), 6250);
	assert_int_equal(c->t.cc.min_rtt_us, 10000);
	send(c, 1);
	wait_us(c, 811250);				/* error 800000 */
	ack(c, 2);
	assert_int_equal(c->t.cc.srtt_us, 111250);
	assert_int_equal(tcon_track_rttvar_us(&c->t), 204687);
	assert_int_equal(tcon_track_rto_us(&c->t), 111250 + 818750);
	conn_close(c);
}

/* An ACK of several packets: the newest is the sample, the oldest is smoothed. */
static void rtt_of_a_flight(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 1);
	wait_us(c, 6000);
	send(c, 1);
	wait_us(c, 12000);
	ack(c, 2);
	assert_int_equal(c->ack.rs.rtt_us, 12000);
	assert_int_equal(c->t.cc.srtt_us, 11000);	/* error 8000 */
	assert_int_equal(c->t.cc.min_rtt_us, 10000);
	conn_close(c);
}

static void rtt_by_karn(void **state)
{
	struct conn *c = conn_open(true);
	u32 srtt_us = c->t.cc.srtt_us;

	send(c, 2);
	wait_us(c, 5000);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	wait_us(c, 1000);
	ack(c, 1);
	assert_int_equal(c->ack.rs.rtt_us, -1);
	assert_int_equal(c->t.cc.srtt_us, srtt_us);
	ack(c, 2);					/* not repeated */
	assert_int_equal(c->ack.rs.rtt_us, 6000);
	assert_int_equal(c->t.repeated_bytes, MSS);
	assert_int_equal(c->t.sent_bytes, 3 * MSS);
	conn_close(c);
}

/* Data that was SACKed before gives no sample when it is acknowledged. */
static void rtt_not_of_sacked(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 2);
	wait_us(c, 10000);
	ack_sack(c, 0, 1, 2);
	assert_int_equal(c->ack.rs.rtt_us, 10000);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	wait_us(c, 10000);
	ack(c, 2);
	assert_int_equal(c->ack.rs.rtt_us, -1);
	assert_int_equal(c->t.cc.delivered_bytes, 2 * MSS);
	conn_close(c);
}

/*
 * What came behind a hole, and was not SACKed, is acknowledged with the hole, however long that stood:
 * it tells of no round trip.
 */
static void rtt_not_of_what_waited_for_a_hole(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 3);
	wait_us(c, 50000);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	wait_us(c, 12000);
	ack(c, 3);
	assert_int_equal(c->ack.rs.rtt_us, -1);
	assert_int_equal(c->t.cc.srtt_us, RTT_US);
	conn_close(c);
}

static void min_rtt_expires(void **state)
{
	struct conn *c = conn_open(true);
	u64 bucket_us = TCON_MIN_RTT_BUCKET_US;
	u32 n = 0;

	assert_int_equal(c->t.cc.min_rtt_us, 10000);
	wait_us(c, bucket_us);
	send(c, 1);
	wait_us(c, 30000);
	ack(c, ++n);
	assert_int_equal(c->t.cc.min_rtt_us, 10000);	/* the bucket before */
	wait_us(c, bucket_us);
	send(c, 1);
	wait_us(c, 40000);
	ack(c, ++n);
	assert_int_equal(c->t.cc.min_rtt_us, 30000);
	wait_us(c, 2 * bucket_us);			/* long idle */
	send(c, 1);
	wait_us(c, 50000);
	ack(c, ++n);
	assert_int_equal(c->t.cc.min_rtt_us, 50000);
	conn_close(c);
}

/*
 * The delivery rate by hand.  Times from the first segment, in ms:
 *
 *	0 A, 1 B, 2 C sent; 10 A acknowledged, D sent; 12 B, C; 20 D.
 */
static void rate_by_hand(void **state)
{
	struct conn *c = conn_open(true);
	const struct tcon_rate_sample *rs = &c->ack.rs;

	send(c, 1);
	wait_us(c, 1000);
	send(c, 1);
	wait_us(c, 1000);
	send(c, 1);
	wait_us(c, 8000);
	ack(c, 1);		/* A: 1000 bytes, 0 and 10 ms */
	assert_int_equal(rs->delivered_bytes, 1000);
	assert_int_equal(rs->snd_interval_us, 0);
	assert_int_equal(rs->rcv_interval_us, 10000);
	assert_int_equal(rs->interval_us, 10000);
	assert_int_equal(rs->tx_in_flight_bytes, 1000);
	assert_int_equal(rs->prior_inflight_bytes, 3000);
	assert_int_equal(c->t.cc.last_rate_bps, 800000);
	send(c, 1);
	wait_us(c, 2000);
	ack(c, 3);		/* C: 3000 bytes, 2 and 12 ms */
	assert_int_equal(rs->delivered_bytes, 3000);
	assert_int_equal(rs->snd_interval_us, 2000);
	assert_int_equal(rs->rcv_interval_us, 12000);
	assert_int_equal(rs->tx_in_flight_bytes, 3000);
	assert_int_equal(rs->acked_bytes, 2000);
	assert_int_equal(c->t.cc.last_rate_bps, 2000000);
	wait_us(c, 8000);
	ack(c, 4);		/* D: 3000 bytes since A, 10 and 10 ms */
	assert_int_equal(rs->prior_delivered, 1000);
	assert_int_equal(rs->delivered_bytes, 3000);
	assert_int_equal(rs->snd_interval_us, 10000);
	assert_int_equal(rs->rcv_interval_us, 10000);
	assert_int_equal(c->t.cc.last_rate_bps, 2400000);
	conn_close(c);
}

/* An interval shorter than the minimal RTT says nothing. */
static void rate_of_compressed_acks(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 1);
	send(c, 1);
	wait_us(c, 100);
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);
	wait_us(c, 100);
	ack(c, 2);
	assert_int_equal(c->ack.rs.interval_us, -1);
	assert_int_equal(c->ack.rs.delivered_bytes, -1);
	assert_int_equal(c->t.cc.last_rate_bps, 800000);
	conn_close(c);
}

/* Reordering: the hole fills before three segments lie beyond it. */
static void sack_reordering(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 2);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 4 * MSS);
	ack_sack(c, 0, 1, 3);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	assert_int_equal(c->ack.rs.losses_bytes, 0);
	ack_sack(c, 0, 1, 3);				/* nothing new */
	assert_int_equal(c->ack.rs.acked_sacked_bytes, 0);
	assert_false(c->ack.delivered_any);
	ack(c, 3);
	assert_int_equal(c->ack.rs.acked_bytes, 3 * MSS);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	assert_int_equal(c->t.cc.delivered_bytes, 3 * MSS);
	assert_int_equal(c->t.sacked.bytes, 0);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	conn_close(c);
}

/*
 * Three segments SACKed beyond: no window for reordering any more, and segments sent before
 * them are lost (RFC 8985, 6.2).
 */
static void sack_loss(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 10);
	wait_us(c, RTT_US);
	ack_sack(c, 1, 2, 3);
	ack_sack(c, 1, 2, 4);
	assert_int_equal(c->ack.rs.losses_bytes, 0);	/* just two */
	ack_sack(c, 1, 2, 5);
	assert_int_equal(c->ack.rs.losses_bytes, MSS);
	assert_true(is_lost(c, 1, 2));
	assert_int_equal(c->t.lost.bytes, MSS);
	assert_int_equal(c->t.cc.lost_bytes, MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 9 * MSS - 4 * MSS);

	/* A second hole at 5 is lost at once; the first is not judged again. */
	ack_sack(c, 1, 6, 8);
	assert_int_equal(c->ack.rs.losses_bytes, MSS);
	assert_true(is_lost(c, 5, 6));
	ack_sack(c, 1, 6, 9);
	assert_int_equal(c->ack.rs.losses_bytes, 0);

	/* The guest repeats the first: in flight again, then delivered. */
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.lost.bytes, MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);
	wait_us(c, RTT_US);
	ack_sack(c, 5, 6, 9);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	assert_int_equal(c->t.cc.delivered_bytes, 8 * MSS);
	assert_true(is_lost(c, 9, 10));		/* had left before the repeat */
	assert_int_equal(c->t.cc.lost_bytes, 3 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	conn_close(c);
}

/* Blocks scattered over holes count together, and judge all of the holes. */
static void sack_loss_scattered(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 10);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 2);
	ack_sack(c, 0, 3, 4);
	assert_int_equal(c->ack.rs.losses_bytes, 0);
	ack_sack(c, 0, 5, 6);
	assert_int_equal(c->ack.rs.losses_bytes, 3 * MSS);
	assert_true(is_lost(c, 0, 1));
	assert_true(is_lost(c, 2, 3));
	assert_true(is_lost(c, 4, 5));
	ack_sack(c, 0, 7, 8);
	assert_int_equal(c->ack.rs.losses_bytes, MSS);
	assert_true(is_lost(c, 6, 7));
	assert_false(is_lost(c, 8, 9));
	conn_close(c);
}

static void sack_nonsense(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 4);
	wait_us(c, RTT_US);
	ack(c, 1);
	ack_sack(c, 1, 3, 3);
	ack_sack(c, 1, 2, 6);			/* beyond nxt */
	assert_int_equal(c->t.sacked.bytes, 0);
	ack_sack(c, 1, 0, 3);			/* in part below una */
	assert_int_equal(c->t.sacked.bytes, 2 * MSS);
	assert_int_equal(c->t.cc.delivered_bytes, 3 * MSS);
	conn_close(c);
}

/* Without SACK-permitted from both, blocks are not believed. */
static void sack_not_agreed(void **state)
{
	struct conn *c = conn_open(false);

	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 5);
	assert_int_equal(c->t.sacked.bytes, 0);
	assert_int_equal(c->t.cc.delivered_bytes, MSS);	/* one duplicate */
	conn_close(c);
}

/* A SYN in flight cannot be SACKed: its byte is no payload. */
static void sack_of_syn(void **state)
{
	struct conn *c = conn_new();
	struct tcon_packet pkt = segment(TCON_TCP_ACK, PEER_ISN + 1, ISN);

	guest_syn(c, 0, 0, true);
	peer_syn(c, 0, 0, true);
	pkt.n_sacks = 1;
	pkt.sacks[0].start = ISN;
	pkt.sacks[0].end = FIRST;
	take(c, &pkt);
	assert_true(c->ack.valid);
	wait_us(c, RTT_US);
	ack(c, 0);
	assert_true(c->t.guest.acked);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, 0);
	assert_int_equal(c->t.cc.delivered_bytes, 0);
	conn_close(c);
}

/* RFC 6582: the third duplicate ACK means that one segment is lost. */
static void duplicates_of(struct conn *c)
{
	int i;

	send(c, 10);
	wait_us(c, RTT_US);
	ack(c, 1);
	for (i = 1; i <= 2; i++) {
		ack(c, 1);
		assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
		assert_int_equal(c->ack.rs.losses_bytes, 0);
		assert_int_equal(c->t.dup_acks, i);
	}
	ack(c, 1);
	assert_int_equal(c->ack.rs.losses_bytes, MSS);
	assert_true(is_lost(c, 1, 2));
	assert_int_equal(c->t.cc.inflight_bytes, (9 - 3 - 1) * MSS);
	for (i = 4; i <= 8; i++)
		ack(c, 1);
	assert_int_equal(c->t.cc.lost_bytes, MSS);	/* judged once */
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	assert_int_equal(c->t.cc.delivered_bytes, 9 * MSS);
	send_at(c, FIRST + MSS, MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	wait_us(c, RTT_US);
	ack(c, 10);
	assert_int_equal(c->ack.rs.acked_bytes, 9 * MSS);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	assert_int_equal(c->t.cc.delivered_bytes, 10 * MSS);
	conn_close(c);
}

static void duplicates(void **state)
{
	duplicates_of(conn_open(false));
}

/* A handshake that passed unseen, where neither scale nor SACK is known. */
static void duplicates_mid_stream(void **state)
{
	struct conn *c = conn_new();

	tcon_handshake_resync(&c->t, FIRST, c->now_us);
	c->t.synced = true;
	c->t.cc.mss_bytes = MSS;
	ack(c, 0);
	assert_false(tcon_track_established(&c->t));
	duplicates_of(c);
}

/*
 * Two holes, 0 and 4 of ten: the partial ACK takes from the duplicates only
 * what it covers, and nothing is delivered twice.  The hole that was filled arrived with
 * it: a round in which nothing at all is delivered would be one of a dead path.
 */
static void duplicates_partial_ack(void **state)
{
	struct conn *c = conn_open(false);
	int i;

	send(c, 10);
	wait_us(c, RTT_US);
	for (i = 0; i < 8; i++)
		ack(c, 0);
	assert_int_equal(c->t.cc.delivered_bytes, 8 * MSS);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	wait_us(c, RTT_US);
	ack(c, 4);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	assert_int_equal(c->t.cc.delivered_bytes, 9 * MSS);
	assert_true(c->t.cc.inflight_bytes <= 2 * MSS);
	send_at(c, FIRST + 4 * MSS, MSS, TCON_SENT_REPEAT);
	wait_us(c, RTT_US);
	ack(c, 10);
	assert_int_equal(c->t.cc.delivered_bytes, 10 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	conn_close(c);
}

/* A time-out forgets what the duplicates told of the path, not the count. */
static void duplicates_then_timeout(void **state)
{
	struct conn *c = conn_open(false);
	int i;

	send(c, 5);
	wait_us(c, RTT_US);
	for (i = 0; i < 4; i++)
		ack(c, 0);
	assert_int_equal(c->t.cc.delivered_bytes, 4 * MSS);
	wait_us(c, 1000000);
	send_at(c, FIRST, MSS, TCON_SENT_TIMEOUT);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	wait_us(c, RTT_US);
	ack(c, 5);
	assert_int_equal(c->t.cc.delivered_bytes, 5 * MSS);
	conn_close(c);
}

/*
 * All was judged lost long ago, and is acknowledged although nothing was repeated here: by
 * repeats that passed elsewhere.  That is no round trip; one of a few RTOs may be.
 */
static void lost_and_repeated_elsewhere(void **state)
{
	struct conn *c = conn_open(true);
	u32 rto_us;

	send(c, 4);
	wait_us(c, RTT_US);
	ack(c, 1);
	rto_us = tcon_track_rto_us(&c->t);
	tcon_loss_mark_all(&c->t);
	assert_true(is_lost(c, 1, 4));
	wait_us(c, 17 * rto_us);
	ack(c, 2);
	assert_int_equal(c->ack.rs.rtt_us, -1);
	assert_int_equal(tcon_track_rto_us(&c->t), rto_us);
	send(c, 1);
	wait_us(c, 3 * rto_us);
	tcon_loss_mark_all(&c->t);
	ack(c, 5);
	assert_int_equal(c->ack.rs.rtt_us, -1);	/* with what left 20 RTOs ago */
	send(c, 1);
	wait_us(c, 3 * rto_us);
	tcon_loss_mark_all(&c->t);
	ack(c, 6);
	assert_int_equal(c->ack.rs.rtt_us, 3 * rto_us);
	conn_close(c);
}

/* The same for a flow that is only observed: nobody judged its segments lost. */
static void observed_and_repeated_elsewhere(void **state)
{
	struct conn *c = conn_open(true);
	u32 rto_us;

	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 1);
	rto_us = tcon_track_rto_us(&c->t);
	send(c, 1);
	wait_us(c, 17 * rto_us);
	ack(c, 2);
	assert_int_equal(c->ack.rs.rtt_us, -1);
	assert_int_equal(tcon_track_rto_us(&c->t), rto_us);
	conn_close(c);
}

/* The same for a SYN that is answered after 27 s: its repeats passed elsewhere. */
static void syn_repeated_elsewhere(void **state)
{
	struct conn *c = conn_new();

	guest_syn(c, 0, 0, true);
	wait_us(c, 27 * TCON_RTO_INIT_US);
	peer_syn(c, TCON_TCP_ACK, FIRST, true);
	assert_int_equal(tcon_track_rto_us(&c->t), TCON_RTO_INIT_US);
	conn_close(c);
}

/* RFC 5681: an ACK that changes the window, or carries data, is no duplicate. */
static void duplicates_only(void **state)
{
	struct conn *c = conn_open(false);
	struct tcon_packet pkt;
	int i;

	ack(c, 0);
	assert_false(c->ack.delivered_any);	/* nothing in flight */
	send(c, 5);
	for (i = 0; i < 5; i++) {
		c->window++;			/* the peer reads */
		ack(c, 0);
		assert_false(c->ack.delivered_any);
	}
	assert_int_equal(c->t.dup_acks, 1);
	pkt = segment(TCON_TCP_ACK, PEER_ISN + 1, FIRST);
	pkt.window = c->window;
	pkt.payload_bytes = 10;
	pkt.end_seq = pkt.seq + 10;
	take(c, &pkt);
	assert_int_equal(c->t.dup_acks, 1);
	ack(c, 0);
	assert_true(c->ack.delivered_any);
	assert_int_equal(c->t.dup_acks, 2);
	conn_close(c);
}

/* An ACK for @segs segments, that comes @n times. */
static void ack_times(struct conn *c, u32 segs, u32 n)
{
	while (n--)
		ack(c, segs);
}

/*
 * Each ACK comes twice (picotcp, a path with a loop).  Two in a row show that.  From then on a
 * segment that arrives behind a hole counts as one, and three of them show a loss.
 */
static void duplicates_doubled(void **state)
{
	struct conn *c = conn_open(false);
	u32 i;

	send(c, 16);
	wait_us(c, RTT_US);
	for (i = 2; i <= 6; i += 2)
		ack_times(c, i, 2);
	assert_int_equal(c->t.cc.delivered_bytes, 6 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 10 * MSS);
	for (i = 1; i <= 9; i++) {	/* segment 6 is lost */
		assert_int_equal(c->t.cc.lost_bytes, i <= 3 ? 0 : MSS);
		ack_times(c, 6, 2);
		assert_int_equal(c->t.cc.delivered_bytes, (6 + i) * MSS);
	}
	assert_true(is_lost(c, 6, 7));
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	send_at(c, FIRST + 6 * MSS, MSS, TCON_SENT_REPEAT);
	wait_us(c, RTT_US);
	ack_times(c, 16, 2);
	assert_int_equal(c->t.cc.delivered_bytes, 16 * MSS);
	send(c, 4);			/* once more each comes once */
	wait_us(c, RTT_US);
	ack(c, 17);
	ack_times(c, 18, 2);
	assert_int_equal(c->t.dup_copies, 0);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	conn_close(c);
}

/*
 * Each ACK comes four times, from the first one on: twice that looks like a loss.  The answer to
 * the repair comes sooner than the path allows, so it is one to the original.
 */
static void duplicates_fourfold(void **state)
{
	struct conn *c = conn_open(false);
	u32 i;

	send(c, 16);
	wait_us(c, RTT_US);
	ack(c, 2);
	for (i = 2; i <= 4; i += 2) {
		ack_times(c, i, 3);
		assert_true(is_lost(c, i, i + 1));
		assert_true(tcon_sent_repair(&c->t, FIRST + i * MSS, FIRST + (i + 1) * MSS, MSS,
					     c->now_us));
		wait_us(c, 1000);
		ack(c, i + 2);
		assert_true(c->ack.spurious);
		assert_int_equal(c->ack.rs.acked_sacked_bytes, 0);	/* as counted before */
		assert_int_equal(c->t.cc.inflight_bytes, (14 - i) * MSS);
	}
	ack_times(c, 6, 3);
	for (i = 8; i <= 16; i += 2) {
		ack_times(c, i, 4);
		assert_int_equal(c->t.cc.lost_bytes, 2 * MSS);
		assert_int_equal(c->t.cc.inflight_bytes, (16 - i) * MSS);
	}
	assert_int_equal(c->t.cc.delivered_bytes, 16 * MSS);
	conn_close(c);
}

/* However many duplicates come: neither the segment at una nor the lost ones have arrived. */
static void duplicates_bounded(void **state)
{
	struct conn *c = conn_open(false);

	send(c, 4);
	wait_us(c, RTT_US);
	ack_times(c, 0, 20);
	assert_true(is_lost(c, 0, 1));
	assert_int_equal(c->t.cc.delivered_bytes, 3 * MSS);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	ack_times(c, 0, 20);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	tcon_loss_mark_all(&c->t);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	ack_times(c, 0, 20);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	wait_us(c, RTT_US);
	ack(c, 4);
	assert_int_equal(c->t.cc.delivered_bytes, 4 * MSS);
	conn_close(c);
}

/* Segments that overtake another are no copies, and what they left behind is still in flight. */
static void duplicates_of_reordering(void **state)
{
	struct conn *c = conn_open(false);

	send(c, 10);
	wait_us(c, RTT_US);
	ack_times(c, 1, 3);		/* 2 and 3 before 1 */
	assert_int_equal(c->t.cc.inflight_bytes, 7 * MSS);
	ack(c, 4);
	assert_int_equal(c->t.cc.inflight_bytes, 6 * MSS);
	assert_int_equal(c->t.cc.delivered_bytes, 4 * MSS);
	ack_times(c, 5, 2);
	assert_int_equal(c->t.dup_copies, 0);
	assert_int_equal(c->t.cc.delivered_bytes, 6 * MSS);
	conn_close(c);
}

static void duplicates_not_with_sack(void **state)
{
	struct conn *c = conn_open(true);
	int i;

	send(c, 5);
	for (i = 0; i < 5; i++)
		ack(c, 0);
	assert_int_equal(c->t.dup_acks, 0);
	assert_int_equal(c->t.cc.delivered_bytes, 0);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	conn_close(c);
}

/* Judged lost, yet it arrives without having been sent again. */
static void spurious_by_arrival(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 6);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 2, 5);
	assert_int_equal(c->ack.rs.losses_bytes, 2 * MSS);
	ack_sack(c, 0, 1, 5);			/* one of two */
	assert_false(c->ack.spurious);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, MSS);
	ack(c, 5);
	assert_true(c->ack.spurious);
	assert_int_equal(c->t.cc.delivered_bytes, 5 * MSS);
	ack(c, 6);
	assert_false(c->ack.spurious);		/* once */
	conn_close(c);
}

/* It was sent again and both arrived: the receiver says so (RFC 2883). */
static void spurious_by_dsack(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 6);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 4);
	assert_int_equal(c->ack.rs.losses_bytes, MSS);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	ack(c, 5);				/* by the original or the repeat */
	assert_false(c->ack.spurious);
	ack_sack(c, 5, 0, 1);
	assert_true(c->ack.spurious);
	assert_int_equal(c->ack.rs.acked_sacked_bytes, 0);
	assert_int_equal(c->t.sacked.bytes, 0);
	conn_close(c);
}

static void not_spurious(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 6);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 4);
	send_at(c, FIRST, MSS, TCON_SENT_REPEAT);
	wait_us(c, RTT_US);
	ack(c, 6);
	assert_false(c->ack.spurious);
	conn_close(c);
}

/*
 * A firewall that shifts sequence numbers leaves those in SACK blocks as they are (OISF/suricata#1162):
 * far below what was sent again they tell of no copy that came twice.
 */
static void not_spurious_by_what_is_far_below(void **state)
{
	static const u32 below[] = { 100000, 0x3fffffff, 0x7ffff000 };
	struct conn *c = conn_open(true);
	struct tcon_packet pkt;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(below); i++) {
		send(c, 6);
		wait_us(c, RTT_US);
		ack_sack(c, 6 * i, 6 * i + 1, 6 * i + 4);
		send_at(c, FIRST + 6 * i * MSS, MSS, TCON_SENT_REPEAT);
		wait_us(c, RTT_US);
		pkt = segment(TCON_TCP_ACK, PEER_ISN + 1, FIRST + (6 * i + 4) * MSS);
		pkt.window = c->window;
		pkt.n_sacks = 1;
		pkt.sacks[0].start = pkt.ack - below[i];
		pkt.sacks[0].end = pkt.sacks[0].start + MSS;
		take(c, &pkt);
		assert_false(c->ack.spurious);
		assert_int_equal(c->t.dsacked_bytes, 0);
		ack(c, 6 * i + 6);
	}
	conn_close(c);
}

/* An ACK of data that was not sent, or long ago: nothing happens. */
static void ack_invalid(void **state)
{
	static const u32 off[] = { -1, 5 * MSS + 1, 0x40000000, 0x80000000 };
	struct conn *c = conn_open(true);
	struct tcon_track before;
	struct tcon_packet pkt;
	size_t i;

	send(c, 5);
	before = c->t;
	for (i = 0; i < ARRAY_SIZE(off); i++) {
		pkt = segment(TCON_TCP_ACK | TCON_TCP_ECE, PEER_ISN + 1,
			      FIRST + off[i]);
		pkt.n_sacks = 1;
		pkt.sacks[0].start = FIRST + MSS;
		pkt.sacks[0].end = FIRST + 2 * MSS;
		take(c, &pkt);
		assert_false(c->ack.valid);
		assert_memory_equal(&c->t, &before, sizeof(before));
	}
	ack(c, 5);
	conn_close(c);
}

static void ecn_echo(void **state)
{
	struct conn *c = conn_open(true);
	struct tcon_packet pkt;

	send(c, 2);
	wait_us(c, RTT_US);
	pkt = segment(TCON_TCP_ACK | TCON_TCP_ECE, PEER_ISN + 1, FIRST + MSS);
	take(c, &pkt);
	assert_true(c->ack.rs.is_ece);
	assert_int_equal(c->ack.rs.delivered_ce_bytes, MSS);
	assert_int_equal(c->t.cc.delivered_ce_bytes, MSS);
	assert_int_equal(c->t.ece_acks, 1);
	send(c, 1);
	ack(c, 2);
	assert_false(c->ack.rs.is_ece);
	wait_us(c, RTT_US);
	pkt = segment(TCON_TCP_ACK | TCON_TCP_ECE, PEER_ISN + 1,
		      FIRST + 3 * MSS);
	take(c, &pkt);
	assert_int_equal(c->t.cc.delivered_ce_bytes, 2 * MSS);
	conn_close(c);
}

static void ack_count(struct conn *c, u32 segs, u8 flags, u32 total)
{
	struct tcon_packet pkt = segment(TCON_TCP_ACK | flags, PEER_ISN + 1,
					 FIRST + segs * MSS);

	pkt.option_bytes = TCON_OPTION_COUNT_BYTES;
	pkt.ce_bytes = total;
	take(c, &pkt);
}

/* The counts of the peer's TCon are believed, and ECE no more; totals that are older
 * than the last say nothing.
 */
static void ecn_count(void **state)
{
	struct conn *c = conn_open(true);
	struct tcon_packet pkt;

	send(c, 8);
	wait_us(c, RTT_US);
	ack_count(c, 1, 0, 0);
	assert_false(c->ack.rs.is_ece);
	ack_count(c, 2, 0, 700);
	assert_true(c->ack.rs.is_ece);
	assert_int_equal(c->t.cc.delivered_ce_bytes, 700);
	ack_count(c, 3, TCON_TCP_ECE, 700);
	assert_false(c->ack.rs.is_ece);
	pkt = segment(TCON_TCP_ACK | TCON_TCP_ECE, PEER_ISN + 1,
		      FIRST + 4 * MSS);
	take(c, &pkt);
	assert_false(c->ack.rs.is_ece);
	ack_count(c, 5, 0, 699);
	assert_int_equal(c->t.cc.delivered_ce_bytes, 700);
	ack_count(c, 6, 0, 5000);	/* more than is acknowledged: repeats */
	assert_int_equal(c->t.cc.delivered_ce_bytes, 5000);
	assert_int_equal(c->t.ece_acks, 2);
	c->t.ce_total = U32_MAX - 9;	/* wraps */
	ack_count(c, 7, 0, 90);
	assert_int_equal(c->t.cc.delivered_ce_bytes, 5100);
	ack_count(c, 9, 0, 900);	/* of what was never sent */
	assert_int_equal(c->t.cc.delivered_ce_bytes, 5100);
	conn_close(c);
}

/* Did cwnd bind?  It looks at this round and the one before. */
static void cwnd_binds(void **state)
{
	struct conn *c = conn_open(true);

	c->t.cc.ssthresh_bytes = 10 * MSS;		/* avoidance */
	c->t.cc.cwnd_bytes = 40 * MSS;
	send(c, 34);
	wait_us(c, RTT_US);
	ack(c, 34);
	assert_false(c->ack.rs.is_cwnd_limited);	/* 34 + 5 < 40 */
	send(c, 35);
	wait_us(c, RTT_US);
	ack(c, 69);
	assert_true(c->ack.rs.is_cwnd_limited);
	send(c, 1);
	ack(c, 70);
	assert_true(c->ack.rs.is_cwnd_limited);		/* the round before */
	send(c, 1);
	ack(c, 71);
	send(c, 1);
	ack(c, 72);
	assert_false(c->ack.rs.is_cwnd_limited);
	c->t.cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;	/* slow start */
	send(c, 20);
	wait_us(c, RTT_US);
	ack(c, 92);
	assert_false(c->ack.rs.is_cwnd_limited);	/* just a half */
	send(c, 21);
	wait_us(c, RTT_US);
	ack(c, 113);
	assert_true(c->ack.rs.is_cwnd_limited);
	conn_close(c);
}

/* A round of @segs segments, two to an ACK; cwnd grows as in RFC 5681. */
static void grow_round(struct conn *c, u32 segs, u32 *acked)
{
	struct tcon_cc *cc = &c->t.cc;
	u32 end = *acked + segs;

	send(c, segs);
	wait_us(c, RTT_US);
	while (*acked < end) {
		*acked = min(*acked + 2, end);
		ack(c, *acked);
		if (c->ack.rs.is_cwnd_limited)
			cc->cwnd_bytes += cc->cwnd_bytes < cc->ssthresh_bytes ?
					  c->ack.rs.acked_bytes :
					  MSS * c->ack.rs.acked_bytes / cc->cwnd_bytes;
	}
}

/* The example of draft-ietf-ccwg-ratelimited-increase, and no more than cwnd is there. */
static void rate_limited_example(void **state)
{
	static const struct {
		u32 sent, allowed;
	} round[] = { { 4, 14 }, { 8, 20 }, { 4, 20 } };
	struct conn *c = conn_open(true);
	u32 acked = 0, i, before;

	c->t.cc.cwnd_bytes = 10 * MSS;
	c->t.cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	for (i = 0; i < ARRAY_SIZE(round); i++) {
		grow_round(c, round[i].sent, &acked);
		assert_true(c->t.cc.cwnd_bytes <= round[i].allowed * MSS);
	}
	before = c->t.cc.cwnd_bytes;	/* all of it is used now */
	grow_round(c, before / MSS, &acked);
	assert_int_equal(c->t.cc.cwnd_bytes, 2 * before);
	conn_close(c);
}

/* The receiver's window, or the guest, keeps a flow at a fixed flight, for long. */
static void rate_limited(void **state)
{
	u32 segs, i, acked, most;
	struct conn *c;

	for (segs = 1; segs <= 60; segs++) {
		c = conn_open(true);
		c->t.cc.cwnd_bytes = 10 * MSS;
		c->t.cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
		for (acked = 0, i = 0; i < 30; i++)
			grow_round(c, min(segs, c->t.cc.cwnd_bytes / MSS), &acked);
		most = max(10U, 2 * segs + 1);
		assert_true(c->t.cc.cwnd_bytes <= most * MSS);
		/* Avoidance, of a cwnd that is used up at first. */
		c->t.cc.cwnd_bytes = segs * MSS;
		c->t.cc.ssthresh_bytes = segs * MSS;
		for (i = 0; i < 300; i++)
			grow_round(c, segs, &acked);
		most = segs + max(2U, segs / 7) + 1;
		assert_in_range(c->t.cc.cwnd_bytes, (segs + 1) * MSS, most * MSS);
		conn_close(c);
	}
}

/* A part of a segment, and its ACK. */
static void part(struct conn *c, u8 flags)
{
	struct tcon_packet pkt = segment(TCON_TCP_ACK | flags, PEER_ISN + 1,
					 c->t.cc.nxt + MSS - 1);

	send_at(c, c->t.cc.nxt, MSS - 1, TCON_SENT_NEW);
	wait_us(c, RTT_US);
	pkt.window = c->window;
	take(c, &pkt);
}

static void ack_may_be_delayed(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 1);
	assert_false(c->ack.rs.is_ack_delayed);		/* a full segment */
	part(c, 0);
	assert_true(c->ack.rs.is_ack_delayed);
	part(c, TCON_TCP_ECE);
	assert_false(c->ack.rs.is_ack_delayed);
	send_at(c, c->t.cc.nxt, MSS - 1, TCON_SENT_NEW);
	part(c, 0);
	assert_false(c->ack.rs.is_ack_delayed);		/* two parts */
	conn_close(c);
}

/*
 * A long transfer: 12 GB of it, three times round the sequence numbers.  The
 * second half of each flight arrives first: that is a loss until the first
 * such flight has shown that the path reorders.
 */
static void wraps_often(void **state)
{
	struct conn *c = conn_open(true);
	u32 burst = 16 << 20, at;
	bool seen = false;
	u64 sent = 0;

	while (sent < 12ULL << 30) {
		struct tcon_packet pkt;

		at = c->t.cc.nxt;
		tcon_sent_segment(&c->t, at, at + burst, burst, c->now_us);
		tcon_sent_segment(&c->t, at + burst, at + 2 * burst, burst,
				c->now_us);
		sent += 2 * burst;
		wait_us(c, RTT_US);
		pkt = segment(TCON_TCP_ACK, PEER_ISN + 1, at);
		pkt.n_sacks = 1;
		pkt.sacks[0].start = at + burst;
		pkt.sacks[0].end = at + 2 * burst;
		tcon_acked(&c->t, &pkt, c->now_us, &c->ack);
		assert_int_equal(c->ack.rs.acked_sacked_bytes, burst);
		assert_int_equal(c->ack.rs.losses_bytes, seen ? 0 : burst);
		pkt.ack = at + 2 * burst;
		pkt.n_sacks = 0;
		tcon_acked(&c->t, &pkt, c->now_us, &c->ack);
		assert_int_equal(c->ack.spurious, !seen);
		assert_int_equal(c->t.cc.inflight_bytes, 0);
		assert_int_equal(c->t.cc.delivered_bytes, sent);
		seen = true;
	}
	assert_int_equal(c->t.cc.srtt_us, RTT_US);
	conn_close(c);
}

static void ack_flags(struct conn *c, u32 segs, u8 flags)
{
	struct tcon_packet pkt = segment(TCON_TCP_ACK | flags, PEER_ISN + 1,
					 FIRST + segs * MSS);

	pkt.window = c->window;
	take(c, &pkt);
}

/* The peer's TCon goes away: a mark without a count within a round trip counts by ECE,
 * and so do the marks after it, until a count comes again.
 */
static void ecn_count_lapses(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 4);
	wait_us(c, RTT_US);
	ack_count(c, 1, 0, 0);
	ack_flags(c, 2, TCON_TCP_ECE);		/* its count may come yet */
	assert_false(c->ack.rs.is_ece);
	send(c, 2);
	ack_flags(c, 3, TCON_TCP_ECE);
	assert_false(c->ack.rs.is_ece);
	wait_us(c, RTT_US);
	ack_flags(c, 5, 0);
	assert_false(c->ack.rs.is_ece);
	assert_true(c->t.ce_lapsed);
	send(c, 4);
	wait_us(c, RTT_US);
	ack_flags(c, 7, TCON_TCP_ECE);
	assert_true(c->ack.rs.is_ece);
	assert_int_equal(c->t.cc.delivered_ce_bytes, 2 * MSS);
	ack_count(c, 8, 0, 9000);		/* ECE has told of these */
	assert_false(c->ack.rs.is_ece);
	assert_false(c->t.ce_lapsed);
	ack_count(c, 9, 0, 9500);
	assert_int_equal(c->t.cc.delivered_ce_bytes, 2 * MSS + 500);
	conn_close(c);
}

/* Nor need there be a beginning: where each round trip has marks ECE never ends. */
static void ecn_count_lapses_in_marks(void **state)
{
	struct conn *c = conn_open(true);
	u32 i;

	send(c, 2);
	wait_us(c, RTT_US);
	ack_count(c, 1, TCON_TCP_ECE, MSS);
	for (i = 2; !c->t.ce_lapsed; i++) {
		assert_in_range(i, 2, 12);
		send(c, 1);
		wait_us(c, RTT_US);
		ack_flags(c, i, TCON_TCP_ECE);
	}
	assert_true(c->ack.rs.is_ece);
	assert_true(c->t.cc.delivered_ce_bytes > MSS);
	conn_close(c);
}

/* While it counts, ECE until CWR has arrived is no sign, also where the first CWR is lost;
 * nor is a mark whose first ACKs are lost.
 */
static void ecn_count_goes_on(void **state)
{
	struct conn *c = conn_open(true);
	u32 i;

	send(c, 4);
	wait_us(c, RTT_US);
	ack_count(c, 1, TCON_TCP_ECE, MSS);
	for (i = 2; i < 12; i++) {
		send(c, 3);
		wait_us(c, RTT_US);
		ack_flags(c, 3 * i - 5, i < 5 ? TCON_TCP_ECE : 0);
	}
	assert_false(c->t.ce_lapsed);
	ack_flags(c, 3 * i - 6, TCON_TCP_ECE);
	ack_count(c, 3 * i - 5, TCON_TCP_ECE, 2 * MSS);
	for (; i < 20; i++) {
		send(c, 3);
		wait_us(c, RTT_US);
		ack_flags(c, 3 * i - 5, 0);
	}
	assert_false(c->t.ce_lapsed);
	assert_int_equal(c->t.cc.delivered_ce_bytes, 2 * MSS);
	assert_int_equal(c->t.ece_acks, 2);
	conn_close(c);
}

static void ack_stamped(struct conn *c, u32 tsval, u32 tsecr)
{
	struct tcon_packet pkt = segment(TCON_TCP_ACK, PEER_ISN + 1, FIRST);

	pkt.window = c->window;
	pkt.has_ts = true;
	pkt.tsval = tsval;
	pkt.tsecr = tsecr;
	take(c, &pkt);
}

/* The peer's time stamps never go back, but where its clock has gone around. */
static void stamps_of_the_peer(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 2);
	ack_stamped(c, 0xfffffff0, 7);
	assert_int_equal(c->t.peer_tsval, 0xfffffff0);
	ack_stamped(c, 3, 9);
	ack_stamped(c, 2, 8);			/* had been overtaken */
	assert_int_equal(c->t.peer_tsval, 3);
	assert_int_equal(c->t.peer_tsecr, 9);
	ack_stamped(c, 3, 10);
	assert_int_equal(c->t.peer_tsecr, 10);
	ack(c, 0);				/* has none */
	assert_int_equal(c->t.peer_tsval, 3);
	wait_us(c, 0x80000010ULL);
	ack_stamped(c, 0x80000013, 11);
	assert_int_equal(c->t.peer_tsval, 0x80000013);
	conn_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rtt_smoothed),
		cmocka_unit_test(rtt_of_a_flight),
		cmocka_unit_test(rtt_by_karn),
		cmocka_unit_test(rtt_not_of_sacked),
		cmocka_unit_test(rtt_not_of_what_waited_for_a_hole),
		cmocka_unit_test(min_rtt_expires),
		cmocka_unit_test(rate_by_hand),
		cmocka_unit_test(rate_of_compressed_acks),
		cmocka_unit_test(sack_reordering),
		cmocka_unit_test(sack_loss),
		cmocka_unit_test(sack_loss_scattered),
		cmocka_unit_test(sack_nonsense),
		cmocka_unit_test(sack_not_agreed),
		cmocka_unit_test(sack_of_syn),
		cmocka_unit_test(duplicates),
		cmocka_unit_test(duplicates_mid_stream),
		cmocka_unit_test(duplicates_partial_ack),
		cmocka_unit_test(duplicates_then_timeout),
		cmocka_unit_test(lost_and_repeated_elsewhere),
		cmocka_unit_test(observed_and_repeated_elsewhere),
		cmocka_unit_test(syn_repeated_elsewhere),
		cmocka_unit_test(duplicates_only),
		cmocka_unit_test(duplicates_doubled),
		cmocka_unit_test(duplicates_fourfold),
		cmocka_unit_test(duplicates_bounded),
		cmocka_unit_test(duplicates_of_reordering),
		cmocka_unit_test(duplicates_not_with_sack),
		cmocka_unit_test(spurious_by_arrival),
		cmocka_unit_test(spurious_by_dsack),
		cmocka_unit_test(not_spurious),
		cmocka_unit_test(not_spurious_by_what_is_far_below),
		cmocka_unit_test(ack_invalid),
		cmocka_unit_test(ecn_echo),
		cmocka_unit_test(ecn_count),
		cmocka_unit_test(ecn_count_lapses),
		cmocka_unit_test(ecn_count_lapses_in_marks),
		cmocka_unit_test(ecn_count_goes_on),
		cmocka_unit_test(cwnd_binds),
		cmocka_unit_test(rate_limited_example),
		cmocka_unit_test(rate_limited),
		cmocka_unit_test(ack_may_be_delayed),
		cmocka_unit_test(stamps_of_the_peer),
		cmocka_unit_test(wraps_often),
	};

	return cmocka_run_group_tests_name("acked", tests, NULL, NULL);
}
