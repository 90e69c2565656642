// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sender's timers (datapath/sender/timer.c), with times by hand.
 *
 * After the handshake SRTT is 10 ms and 4 * RTTVAR 20 ms, so the RTO is 10 ms +
 * 200 ms (its lower bound).  A tail probe is due 20 ms + 8 ms after the last
 * transmission.
 */
#include "datapath/sender/timer.c"
#include "conn.h"

#define RTO_US		210000U
#define PROBE_US	28000U

static enum tcon_expiry expire(struct conn *c)
{
	enum tcon_expiry what = tcon_timer_expire(&c->t, c->now_us);

	check(c);
	return what;
}

/* Nothing is due before @us from now on, then @want. */
static void assert_expires(struct conn *c, u64 us, enum tcon_expiry want)
{
	assert_int_equal(tcon_timer_next_us(&c->t), c->now_us + us);
	wait_us(c, us - 1);
	assert_int_equal(expire(c), TCON_EXPIRY_NONE);
	wait_us(c, 1);
	assert_int_equal(expire(c), want);
}

/* The last segment goes again, as repair.c does it. */
static void probe(struct conn *c)
{
	u32 end = c->t.cc.nxt;

	assert_true(tcon_sent_repair(&c->t, end - MSS, end, MSS, c->now_us));
	tcon_timer_probed(&c->t, MSS, c->now_us);
}

static struct conn *conn_probed(u32 segs)
{
	struct conn *c = conn_open(true);

	send(c, segs);
	assert_expires(c, PROBE_US, TCON_EXPIRY_PROBE);
	probe(c);
	return c;
}

static void nothing_in_flight(void **state)
{
	struct conn *c = conn_open(true);

	assert_int_equal(tcon_timer_next_us(&c->t), 0);
	assert_int_equal(expire(c), TCON_EXPIRY_NONE);
	send(c, 2);
	wait_us(c, RTT_US);
	ack(c, 2);
	assert_int_equal(tcon_timer_next_us(&c->t), 0);
	wait_us(c, 1000000);
	assert_int_equal(expire(c), TCON_EXPIRY_NONE);
	conn_close(c);
}

/* Two round trips after the last transmission, or the last progress. */
static void probe_time(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 2);
	wait_us(c, 5000);
	send(c, 1);
	assert_int_equal(tcon_timer_next_us(&c->t), c->now_us + PROBE_US);
	wait_us(c, 5000);
	ack(c, 1);
	assert_int_equal(c->t.cc.srtt_us, RTT_US);
	assert_expires(c, PROBE_US, TCON_EXPIRY_PROBE);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	conn_close(c);
}

/* A single segment may wait 200 ms for its ACK (RFC 8985, 7.2). */
static void probe_of_single(void **state)
{
	struct conn *c = conn_open(true);

	c->t.rttvar_x4_us = 400000;		/* RTO 410 ms */
	send(c, 1);
	assert_expires(c, 2 * RTT_US + 200000, TCON_EXPIRY_PROBE);
	conn_close(c);
}

/* A look at the time of tcon_timer_soonest_us() is never too late. */
static void soonest(void **state)
{
	static const u32 rtts_us[] = { 100, 10000, 95000, 300000 };
	u64 soonest_us;
	struct conn *c;
	u32 i;

	for (i = 0; i < 4 * ARRAY_SIZE(rtts_us); i++) {
		c = conn_open(i & 1);
		c->t.srtt_x8_us = 8 * rtts_us[i / 4];
		c->t.cc.srtt_us = rtts_us[i / 4];
		c->t.rttvar_x4_us = rtts_us[i / 4];
		send(c, i & 2 ? 3 : 1);
		soonest_us = tcon_timer_soonest_us(&c->t);
		assert_true(soonest_us > c->now_us + 8000 - 1);
		assert_true(soonest_us <= tcon_timer_next_us(&c->t));
		c->t.timer.rto_min_us = 500;
		soonest_us = tcon_timer_soonest_us(&c->t);
		assert_true(soonest_us == c->now_us + 500);
		assert_true(soonest_us <= tcon_timer_next_us(&c->t));
		conn_close(c);
	}
}

/* A rule may want time-outs that are short where round trips are. */
static void short_timeouts(void **state)
{
	struct conn *c = conn_open(true);

	c->t.srtt_x8_us = 8 * 100;
	c->t.cc.srtt_us = 100;
	c->t.rttvar_x4_us = 50;
	c->t.timer.rto_min_us = 1000;
	send(c, 3);
	assert_expires(c, 1100, TCON_EXPIRY_PROBE);
	probe(c);
	assert_expires(c, 1100, TCON_EXPIRY_TIMEOUT);
	assert_expires(c, 2200, TCON_EXPIRY_TIMEOUT);
	assert_expires(c, 4400, TCON_EXPIRY_TIMEOUT);
	/* The guest's own RTO does not follow it. */
	assert_int_equal(tcon_track_rto_us(&c->t), 200100);
	conn_close(c);
}

/* Variation counts as before. */
static void short_timeouts_of_long_paths(void **state)
{
	struct conn *c = conn_open(true);

	c->t.timer.rto_min_us = 1000;
	assert_int_equal(tcon_track_own_rto_us(&c->t), RTT_US + 2 * RTT_US);
	send(c, 1);
	assert_expires(c, 3 * RTT_US, TCON_EXPIRY_PROBE);
	conn_close(c);
}

/* Where the time-out comes first, the probe takes its place, once. */
static void probe_for_timeout(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 1);
	assert_expires(c, RTO_US, TCON_EXPIRY_PROBE);
	probe(c);
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	conn_close(c);
}

/* After a probe, sent or not, comes the time-out: a whole RTO later. */
static void probe_once(void **state)
{
	struct conn *c = conn_probed(3);

	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_int_equal(c->t.timer.probe_bytes, 0);
	conn_close(c);

	c = conn_open(true);
	send(c, 3);
	assert_expires(c, PROBE_US, TCON_EXPIRY_PROBE);
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	conn_close(c);
}

/* New data, or progress, and the tail may be probed again. */
static void probe_again(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 3);
	assert_expires(c, PROBE_US, TCON_EXPIRY_PROBE);
	send(c, 1);
	assert_expires(c, PROBE_US, TCON_EXPIRY_PROBE);
	ack(c, 1);
	c->t.srtt_x8_us = RTT_US * 8;
	c->t.cc.srtt_us = RTT_US;
	assert_expires(c, PROBE_US, TCON_EXPIRY_PROBE);
	probe(c);
	ack(c, 2);				/* that one is out still */
	assert_int_equal(c->t.timer.probe_bytes, MSS);
	assert_true(tcon_timer_next_us(&c->t) > c->now_us + RTO_US - 1);
	conn_close(c);
}

static void no_probe(void **state)
{
	struct conn *c = conn_open(false);	/* without SACK */

	send(c, 3);
	assert_int_equal(tcon_timer_next_us(&c->t), c->now_us + RTO_US);
	conn_close(c);

	c = conn_open(true);			/* in recovery */
	send(c, 3);
	c->t.cc.ca_state = TCON_CA_RECOVERY;
	assert_int_equal(tcon_timer_next_us(&c->t), c->now_us + RTO_US);
	conn_close(c);

	c = conn_open(true);			/* a SACK tells enough */
	send(c, 3);
	ack_sack(c, 0, 1, 2);
	c->t.rack.deadline_us = 0;
	assert_false(may_probe(&c->t));
	conn_close(c);

	c = conn_open(true);			/* something is lost */
	send(c, 3);
	tcon_loss_mark_head(&c->t);
	assert_false(may_probe(&c->t));
	assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + MSS, MSS,
					c->now_us));
	assert_false(may_probe(&c->t));		/* or on its way again */
	conn_close(c);

	c = conn_open(true);			/* the RTT is not known */
	c->t.srtt_x8_us = 0;
	send(c, 3);
	assert_int_equal(tcon_timer_next_us(&c->t),
			 c->now_us + TCON_RTO_INIT_US);
	conn_close(c);
}

/* RFC 8985, 7.4.2, case 1: a DSACK of the probe: nothing was lost. */
static void probe_not_needed(void **state)
{
	struct conn *c = conn_probed(3);

	ack_sack(c, 3, 2, 3);
	assert_int_equal(c->t.timer.probe_bytes, 0);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	assert_int_equal(c->ack.spurious_repairs, 0);
	assert_false(c->t.rack.reordered);	/* it was asked for */
	send(c, 1);
	ack(c, 4);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	conn_close(c);
}

/* Case 2: a duplicate ACK without SACK, by a peer that has no DSACK. */
static void probe_not_needed_no_dsack(void **state)
{
	struct conn *c = conn_probed(3);

	ack(c, 3);
	assert_int_equal(c->t.timer.probe_bytes, MSS);	/* both are possible */
	c->window++;
	ack(c, 3);				/* a window update: no answer */
	assert_int_equal(c->t.timer.probe_bytes, MSS);
	ack(c, 3);
	assert_int_equal(c->t.timer.probe_bytes, 0);
	send(c, 1);
	ack(c, 4);
	assert_int_equal(c->t.cc.lost_bytes, 0);
	conn_close(c);
}

/* Case 3: una goes beyond, and no sign that it was needless: a loss. */
static void probe_needed(void **state)
{
	struct conn *c = conn_probed(3);

	wait_us(c, RTT_US);
	ack(c, 3);
	assert_int_equal(c->ack.rs.losses_bytes, 0);
	assert_false(may_probe(&c->t));
	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 4);
	assert_int_equal(c->ack.rs.losses_bytes, MSS);
	assert_int_equal(c->t.cc.lost_bytes, MSS);
	assert_int_equal(c->t.timer.probe_bytes, 0);
	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 5);
	assert_int_equal(c->t.cc.lost_bytes, MSS);	/* once */
	conn_close(c);
}

/* The probe's SACK shows a hole: the recovery is the only loss event. */
static void probe_starts_recovery(void **state)
{
	struct conn *c = conn_probed(3);

	wait_us(c, RTT_US);
	ack_sack(c, 1, 2, 3);
	assert_int_equal(c->ack.rs.losses_bytes, MSS);
	assert_true(is_lost(c, 1, 2));
	c->t.cc.ca_state = TCON_CA_RECOVERY;	/* tcon_ca_lost() */
	c->t.recovery_point = c->t.cc.nxt;
	assert_true(tcon_sent_repair(&c->t, FIRST + MSS, FIRST + 2 * MSS,
					MSS, c->now_us));
	wait_us(c, RTT_US);
	ack(c, 3);
	assert_int_equal(c->t.timer.probe_bytes, 0);
	c->t.cc.ca_state = TCON_CA_OPEN;
	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 4);
	assert_int_equal(c->t.cc.lost_bytes, MSS);
	conn_close(c);
}

/*
 * An answer that is too fast for a probe is the late one of the original: segments
 * sent before that are missing, and not for the time-out to find out.
 */
static void probe_answered_too_fast(void **state)
{
	struct conn *c = conn_probed(3);

	wait_us(c, RTT_US / 2);
	ack_sack(c, 1, 2, 3);
	assert_int_equal(c->t.lost.n, 0);
	assert_expires(c, RTT_US / 4, TCON_EXPIRY_REORDER);
	assert_true(is_lost(c, 1, 2));
	assert_int_equal(c->t.lost.bytes, MSS);
	conn_close(c);
}

/* RFC 6298: doubled with each time-out in a row; then the guest may have gone. */
static void backs_off(void **state)
{
	struct conn *c = conn_open(false);
	u32 i;

	send(c, 3);
	for (i = 0; i < TCON_BACKOFF_MAX; i++) {
		assert_expires(c, (u64)RTO_US << i, TCON_EXPIRY_TIMEOUT);
		assert_true(is_lost(c, 0, 3));
		assert_int_equal(c->t.cc.inflight_bytes, 0);
		assert_int_equal(c->t.cc.lost_bytes, 3 * MSS);	/* once */
	}
	assert_expires(c, (u64)RTO_US << i, TCON_EXPIRY_GIVE_UP);
	assert_expires(c, (u64)RTO_US << (i + 1), TCON_EXPIRY_GIVE_UP);
	conn_close(c);
}

static void backs_off_to_two_minutes(void **state)
{
	static const u64 after_us[] = { 50000000, 100000000, 120000000 };
	struct conn *c = conn_open(false);
	u32 i;

	c->t.cc.srtt_us = 10000000;
	c->t.rttvar_x4_us = 40000000;
	send(c, 1);
	for (i = 0; i < TCON_BACKOFF_MAX; i++)
		assert_expires(c, after_us[min(i, 2U)], TCON_EXPIRY_TIMEOUT);
	assert_expires(c, 120000000, TCON_EXPIRY_GIVE_UP);
	conn_close(c);
}

/* Progress restarts the clock; only a usual round trip ends the back-off (Karn). */
static void progress_restarts(void **state)
{
	struct conn *c = conn_open(false);

	send(c, 5);
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_expires(c, 2 * RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + MSS, MSS,
					c->now_us));
	wait_us(c, 3 * RTT_US);
	ack(c, 1);
	assert_int_equal(c->t.timer.tries, 0);
	assert_int_equal(c->ack.rs.rtt_us, -1);
	assert_expires(c, 4 * RTO_US, TCON_EXPIRY_TIMEOUT);
	wait_us(c, 1000);
	ack(c, 1);					/* no progress */
	assert_int_equal(c->t.timer.tries, 1);
	assert_true(tcon_sent_repair(&c->t, FIRST + MSS, FIRST + 5 * MSS,
				     4 * MSS, c->now_us));
	wait_us(c, 2 * RTT_US);
	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 5);
	assert_int_equal(c->t.timer.backoff, 3);
	ack(c, 6);
	assert_int_equal(c->ack.rs.rtt_us, RTT_US);
	assert_int_equal(c->t.timer.backoff, 0);
	conn_close(c);
}

/* A repeat is answered as soon as usual: so the time-out was not too short. */
static void usual_answer_ends_the_backoff(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 5);
	c->t.probed = true;
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_expires(c, 2 * RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + MSS, MSS, c->now_us));
	wait_us(c, RTT_US);
	ack(c, 1);
	assert_int_equal(c->ack.rs.rtt_us, -1);		/* the answered transmission is not known */
	assert_int_equal(c->t.timer.backoff, 0);
	conn_close(c);
}

/* But where the peer tells late that it had got that already, the path is slower than the RTO. */
static void late_news_of_a_needless_repeat_keep_it(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 3);
	c->t.probed = true;
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + MSS, MSS, c->now_us));
	wait_us(c, RTT_US);
	ack(c, 1);					/* to the original */
	assert_int_equal(c->t.timer.backoff, 0);
	wait_us(c, 9 * RTT_US);
	ack_sack(c, 1, 0, 1);				/* to the repeat */
	assert_true(c->t.timer.late);
	assert_expires(c, RTO_US - 9 * RTT_US, TCON_EXPIRY_TIMEOUT);
	assert_true(tcon_sent_repair(&c->t, FIRST + MSS, FIRST + 2 * MSS, MSS, c->now_us));
	wait_us(c, RTT_US);
	ack(c, 2);
	assert_int_equal(c->t.timer.backoff, 1);
	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 4);
	assert_int_equal(c->ack.rs.rtt_us, RTT_US);
	assert_int_equal(c->t.timer.backoff, 0);
	assert_false(c->t.timer.late);
	conn_close(c);
}

/* Where all in flight was sent again there is no round trip, but una advances time and again. */
static void backoff_ends_without_a_round_trip(void **state)
{
	struct conn *c = conn_open(false);
	u32 n;

	send(c, 5);
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_expires(c, 2 * RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + 5 * MSS, 5 * MSS, c->now_us));
	for (n = 1; n <= 4; n++) {
		assert_int_equal(c->t.timer.backoff, 2);
		wait_us(c, 1000);
		ack(c, n);
		assert_int_equal(c->ack.rs.rtt_us, -1);
	}
	assert_int_equal(c->t.timer.backoff, 0);
	conn_close(c);
}

/* The segment before the last repeat left too long ago for the answer to be one to it. */
static void round_trip_after_long_silence(void **state)
{
	struct conn *c = conn_open(false);
	u32 i;

	send(c, 3);
	for (i = 0; i < TCON_BACKOFF_MAX; i++) {
		assert_expires(c, (u64)RTO_US << i, TCON_EXPIRY_TIMEOUT);
		if (i == TCON_BACKOFF_MAX - 1)		/* the repair waits for memory */
			wait_us(c, 8 * RTO_US);
		assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + MSS, MSS, c->now_us));
	}
	wait_us(c, RTT_US);
	ack(c, 1);
	assert_int_equal(c->ack.rs.rtt_us, RTT_US);
	assert_int_equal(c->t.timer.backoff, 0);
	assert_true(tcon_sent_repair(&c->t, FIRST + MSS, FIRST + 2 * MSS, MSS, c->now_us));
	wait_us(c, RTT_US);
	ack(c, 2);					/* it was repeated once only */
	assert_int_equal(c->ack.rs.rtt_us, RTT_US);
	assert_true(tcon_sent_repair(&c->t, FIRST + 2 * MSS, FIRST + 3 * MSS, MSS, c->now_us));
	wait_us(c, RTT_US / 2);
	ack(c, 3);					/* faster than the path is */
	assert_int_equal(c->ack.rs.rtt_us, -1);
	conn_close(c);
}

/* Nobody knows what an ACK that comes so late is for: an earlier one has been lost. */
static void answer_to_a_repeat_of_long_ago(void **state)
{
	struct conn *c = conn_open(false);

	send(c, 1);
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	wait_us(c, 10 * RTO_US);
	assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + MSS, MSS, c->now_us));
	wait_us(c, 10 * RTO_US);
	ack(c, 1);
	assert_int_equal(c->ack.rs.rtt_us, -1);
	conn_close(c);
}

/* A SACK is none, but the segment at una counts from when it last left. */
static void head_sent_again(void **state)
{
	struct conn *c = conn_open(true);
	u64 sent_us;

	send(c, 6);
	sent_us = c->now_us;
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 5);
	assert_true(is_lost(c, 0, 1));
	c->t.cc.ca_state = TCON_CA_RECOVERY;
	assert_int_equal(tcon_timer_next_us(&c->t), sent_us + RTO_US);
	wait_us(c, 3000);
	assert_true(tcon_sent_repair(&c->t, FIRST, FIRST + MSS, MSS,
					c->now_us));
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_true(is_lost(c, 0, 1));
	assert_int_equal(c->t.sacked.bytes, 4 * MSS);
	assert_int_equal(c->t.lost.bytes, 2 * MSS);
	conn_close(c);
}

/* A segment that no page could be had for has left all the same. */
static void sent_without_record(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 63);				/* the SYN was the first */
	wait_us(c, 5000);
	shim_alloc_failures = 1;
	tcon_sent_segment(&c->t, c->t.cc.nxt, c->t.cc.nxt + MSS, MSS, c->now_us);
	assert_null(c->t.recorded);
	assert_int_equal(tcon_timer_next_us(&c->t), c->now_us + PROBE_US);
	conn_close(c);
}

/*
 * A guest's persist timer sends a byte beyond a closed window, as BSD, Windows and lwIP do,
 * and the peer says each time that it is closed: whatever that takes, nothing is lost.
 */
static void window_probes(void **state)
{
	int sack, i;

	for (sack = 0; sack < 2; sack++) {
		struct conn *c = conn_open(sack);

		send(c, 4);
		wait_us(c, RTT_US);
		c->window = 0;
		ack(c, 4);
		for (i = 0; i < 12; i++) {
			send_at(c, FIRST + 4 * MSS, 1, i ? TCON_SENT_REPEAT :
							   TCON_SENT_NEW);
			assert_int_equal(tcon_timer_next_us(&c->t), 0);
			wait_us(c, RTT_US);
			ack(c, 4);
			assert_int_equal(c->ack.rs.losses_bytes, 0);
			wait_us(c, 5000000);
			assert_int_equal(expire(c), TCON_EXPIRY_NONE);
		}
		assert_int_equal(c->t.cc.lost_bytes, 0);
		assert_int_equal(c->t.cc.delivered_bytes, 4 * MSS);
		conn_close(c);
	}
}

/* When the window opens what waits has its full time, and may be lost. */
static void window_opens(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 4);
	wait_us(c, RTT_US);
	c->window = 0;
	ack(c, 4);
	send_at(c, FIRST + 4 * MSS, 1, TCON_SENT_NEW);
	wait_us(c, 5000000);
	send_at(c, FIRST + 4 * MSS, 1, TCON_SENT_REPEAT);
	wait_us(c, RTT_US);
	c->window = 500;
	ack(c, 4);
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	assert_int_equal(c->t.cc.lost_bytes, 1);
	conn_close(c);
}

/* A segment that left while it was open is asked for, by TCon and by the guest. */
static void window_closes_on_data(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 10);
	wait_us(c, RTT_US);
	c->window = 0;
	ack(c, 4);
	wait_us(c, 2 * RTO_US);
	send_at(c, FIRST + 4 * MSS, MSS, TCON_SENT_TIMEOUT);
	c->t.timer.restart_us = c->now_us;
	assert_expires(c, RTO_US, TCON_EXPIRY_TIMEOUT);
	ack(c, 10);
	send_at(c, FIRST + 10 * MSS, 1, TCON_SENT_NEW);
	assert_int_equal(tcon_timer_next_us(&c->t), 0);
	conn_close(c);
}

/*
 * A path that answers after 300 ms, behind a handshake of 10 ms: two segments at a time, and
 * TCon repeats what has timed out.  One needless time-out tells of it.  With SACK the tail
 * probe stands in for that.
 */
static void path_becomes_slow(void **state)
{
	u32 sack, i, expiries, late_us = 300000;

	for (sack = 0; sack < 2; sack++) {
		struct conn *c = conn_open(sack);

		for (i = 0, expiries = 0; i < 20; i++) {
			u64 acked_us = c->now_us + late_us;
			u32 at = c->t.cc.nxt;

			send(c, 1);
			while (tcon_timer_next_us(&c->t) < acked_us) {
				c->now_us = tcon_timer_next_us(&c->t);
				if (expire(c) == TCON_EXPIRY_PROBE)
					probe(c);
				else
					assert_true(tcon_sent_repair(&c->t, at, at + MSS,
								     MSS, c->now_us));
				expiries++;
			}
			c->now_us = acked_us;
			ack(c, i + 1);
			if (c->t.timer.probe_bytes)	/* the peer got it twice */
				ack_sack(c, i + 1, i, i + 1);
		}
		assert_in_range(expiries, 1, 2);
		assert_true(c->t.cc.srtt_us > 250000);
		assert_int_equal(c->t.timer.backoff, 0);
		conn_close(c);
	}
}

/* While every round trip is ambiguous the RTO does not grow without end. */
static void doubled_so_often(void **state)
{
	struct conn *c = conn_open(false);
	u32 i;

	for (i = 0; i < 9; i++) {
		send(c, 1);
		assert_expires(c, (u64)RTO_US << min(i, 3U), TCON_EXPIRY_TIMEOUT);
		assert_true(tcon_sent_repair(&c->t, c->t.cc.una, c->t.cc.nxt,
					     MSS, c->now_us));
		/* The answer may be one to what was there before that. */
		send_at(c, c->t.cc.una, MSS, TCON_SENT_REPEAT);
		wait_us(c, 3 * RTT_US);
		ack(c, i + 1);
	}
	conn_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_in_flight),
		cmocka_unit_test(probe_time),
		cmocka_unit_test(probe_of_single),
		cmocka_unit_test(soonest),
		cmocka_unit_test(short_timeouts),
		cmocka_unit_test(short_timeouts_of_long_paths),
		cmocka_unit_test(probe_for_timeout),
		cmocka_unit_test(probe_once),
		cmocka_unit_test(probe_again),
		cmocka_unit_test(no_probe),
		cmocka_unit_test(probe_not_needed),
		cmocka_unit_test(probe_not_needed_no_dsack),
		cmocka_unit_test(probe_needed),
		cmocka_unit_test(probe_starts_recovery),
		cmocka_unit_test(probe_answered_too_fast),
		cmocka_unit_test(backs_off),
		cmocka_unit_test(backs_off_to_two_minutes),
		cmocka_unit_test(progress_restarts),
		cmocka_unit_test(path_becomes_slow),
		cmocka_unit_test(doubled_so_often),
		cmocka_unit_test(usual_answer_ends_the_backoff),
		cmocka_unit_test(late_news_of_a_needless_repeat_keep_it),
		cmocka_unit_test(backoff_ends_without_a_round_trip),
		cmocka_unit_test(round_trip_after_long_silence),
		cmocka_unit_test(answer_to_a_repeat_of_long_ago),
		cmocka_unit_test(head_sent_again),
		cmocka_unit_test(sent_without_record),
		cmocka_unit_test(window_probes),
		cmocka_unit_test(window_opens),
		cmocka_unit_test(window_closes_on_data),
	};

	return cmocka_run_group_tests_name("timer", tests, NULL, NULL);
}
