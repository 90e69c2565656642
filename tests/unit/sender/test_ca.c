// SPDX-License-Identifier: GPL-2.0-only
/* Which callback of a CC is due (datapath/sender/ca.c), with a CC that takes notes. */
#include "datapath/sender/ca.c"
#include "datapath/sender/prr.h"
#include "datapath/sender/loss.h"
#include "datapath/sender/ranges.h"
#include "datapath/sender/resent.h"
#include "datapath/sender/rounds.h"
#include "datapath/sender/sendq.h"
#include "datapath/sender/timer.h"
#include "datapath/sender/sent.h"
#include "datapath/sender/acked.h"
#include "datapath/sender/handshake.h"
#include "datapath/sender/track.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "copies.h"

#define MSS		1000U
#define RTT_US		10000U
#define ISN		0xffffff00U
#define FIRST		(ISN + 1)
#define NOTES		64

/**
 * struct notes - what the CC was told, in order, one letter each
 * @n: letters
 * @log: i(nit), r(elease), c(ong_control), R(ecovery), L(oss), O(pen),
 *	e(ce), t(x_start), u(ndo), a(cked; A: in a recovery)
 * @at_us: time of the last callback that has one
 * @state_before: cc.ca_state at the last set_state()
 * @losses_bytes: of the last sample
 */
static struct notes {
	unsigned int n;
	char log[NOTES];
	u64 at_us;
	enum tcon_ca_state state_before;
	u32 losses_bytes;
} notes;

static void note(char what)
{
	assert_true(notes.n + 1 < NOTES);
	notes.log[notes.n++] = what;
	notes.log[notes.n] = '\0';
}

/* The notes since the last time. */
static const char *noted(void)
{
	static char copy[NOTES];

	memcpy(copy, notes.log, sizeof(copy));
	memset(&notes.log, 0, sizeof(notes.log));
	notes.n = 0;
	return copy;
}

static void mock_init(struct tcon_cc *cc, u64 now_us)
{
	note('i');
	notes.at_us = now_us;
}

/* Its memory is gone, or not. */
static int mock_prepare(struct tcon_cc *cc)
{
	note('p');
	assert_ptr_equal(cc->ops->prepare, mock_prepare);
	assert_int_equal(cc->priv[0], 0);
	cc->priv[0] = 1;
	return *cc->params;
}

static void mock_release(struct tcon_cc *cc)
{
	note('r');
}

static void mock_cong_control(struct tcon_cc *cc,
			      const struct tcon_rate_sample *rs)
{
	note('c');
	notes.losses_bytes = rs->losses_bytes;
}

static void mock_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
			   u64 now_us)
{
	note("ORL"[state]);
	notes.state_before = cc->ca_state;
	notes.at_us = now_us;
}

static void mock_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
			    u64 now_us)
{
	note(event == TCON_CA_EVENT_ECE ? 'e' : 't');
	notes.at_us = now_us;
}

static void mock_undo_cwnd(struct tcon_cc *cc)
{
	note('u');
}

static const struct tcon_cc_ops mock = {
	.name = "mock",
	.init = mock_init,
	.release = mock_release,
	.cong_control = mock_cong_control,
	.set_state = mock_set_state,
	.cwnd_event = mock_cwnd_event,
	.undo_cwnd = mock_undo_cwnd,
};

/* It sees itself to what may be in flight in a recovery. */
static const struct tcon_cc_ops sovereign = {
	.name = "sovereign",
	.own_recovery = true,
	.init = mock_init,
	.cong_control = mock_cong_control,
	.set_state = mock_set_state,
	.cwnd_event = mock_cwnd_event,
	.undo_cwnd = mock_undo_cwnd,
};

static void halving_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
			      u64 now_us)
{
	mock_set_state(cc, state, now_us);
	if (state == TCON_CA_RECOVERY)
		cc->cwnd_bytes /= 2;
}

static const struct tcon_cc_ops halving = {
	.name = "halving",
	.init = mock_init,
	.cong_control = mock_cong_control,
	.set_state = halving_set_state,
	.cwnd_event = mock_cwnd_event,
	.undo_cwnd = mock_undo_cwnd,
};

/* Without what is optional. */
static const struct tcon_cc_ops bare = {
	.name = "bare",
	.init = mock_init,
	.cong_control = mock_cong_control,
	.set_state = mock_set_state,
	.undo_cwnd = mock_undo_cwnd,
};

static const struct tcon_cc_ops hungry = {
	.name = "hungry",
	.prepare = mock_prepare,
	.init = mock_init,
	.release = mock_release,
	.cong_control = mock_cong_control,
	.set_state = mock_set_state,
	.undo_cwnd = mock_undo_cwnd,
};

static void mock_pkts_acked(struct tcon_cc *cc,
			    const struct tcon_rate_sample *rs)
{
	note(cc->ca_state == TCON_CA_OPEN ? 'a' : 'A');
	notes.losses_bytes = rs->losses_bytes;
}

/* Wants to know of an ACK first. */
static const struct tcon_cc_ops early = {
	.name = "early",
	.init = mock_init,
	.pkts_acked = mock_pkts_acked,
	.cong_control = mock_cong_control,
	.set_state = mock_set_state,
	.cwnd_event = mock_cwnd_event,
	.undo_cwnd = mock_undo_cwnd,
};

/* Note una, flight and marks, in segments; after a mark, and
 * at the end of an ACK.
 */
static void note_place(char what, const struct tcon_cc *cc)
{
	note(what);
	note('0' + (cc->una - FIRST) / MSS);
	note('0' + cc->inflight_bytes / MSS);
	note('0' + cc->delivered_ce_bytes / MSS);
}

static void marking_cong_control(struct tcon_cc *cc,
				 const struct tcon_rate_sample *rs)
{
	assert_int_equal(rs->acked_bytes, rs->acked_sacked_bytes);
	assert_int_equal(cc->delivered_bytes, cc->una - FIRST);
	note_place('0' + rs->acked_bytes / MSS, cc);
}

static void marking_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
			       u64 now_us)
{
	note_place('e', cc);
}

static const struct tcon_cc_ops marking = {
	.name = "marking",
	.ecn = TCON_CC_ECN_ALL,
	.init = mock_init,
	.cong_control = marking_cong_control,
	.set_state = mock_set_state,
	.cwnd_event = marking_cwnd_event,
	.undo_cwnd = mock_undo_cwnd,
};

static u64 now_us;

static void open_conn(struct tcon_track *t)
{
	struct tcon_packet pkt = {
		.flags = TCON_TCP_SYN,
		.seq = ISN,
		.end_seq = FIRST,
		.mss = MSS,
		.window = 500,
		.wscale = 7,
		.sack_permitted = true,
	};
	struct tcon_ack ack;

	now_us = 1000000;
	tcon_track_init(t, NULL);
	tcon_handshake_guest(t, &pkt, now_us);
	now_us += RTT_US;
	pkt.flags |= TCON_TCP_ACK;
	pkt.ack = FIRST;
	pkt.seq = 1;
	pkt.end_seq = 2;
	tcon_handshake_peer(t, &pkt);
	tcon_acked(t, &pkt, now_us, &ack);
	t->peer.acked = true;
}

static void start_cc(struct tcon_track *t)
{
	static const s64 params[1];

	open_conn(t);
	noted();
	tcon_ca_start(t, &mock, params, now_us);
	assert_ptr_equal(t->cc.params, params);
	assert_string_equal(noted(), "i");
}

static void stop_cc(struct tcon_track *t)
{
	tcon_ca_stop(t);
	tcon_track_release(t);
	noted();
}

static enum tcon_sent send_seg(struct tcon_track *t, u32 seg)
{
	u32 at = FIRST + seg * MSS;

	return tcon_sent_segment(t, at, at + MSS, MSS, now_us);
}

static void send_segs(struct tcon_track *t, u32 lo, u32 hi)
{
	for (; lo < hi; lo++)
		send_seg(t, lo);
}

/* Nothing comes for @silence_us, and the guest's timer goes off. */
static void time_out(struct tcon_track *t, u64 silence_us)
{
	now_us += silence_us;
	assert_int_equal(send_seg(t, 0), TCON_SENT_TIMEOUT);
	tcon_ca_timeout(t, now_us);
}

/* An ACK that passes; returns what the CC heard. */
static const char *pass(struct tcon_track *t, const struct tcon_packet *pkt)
{
	struct tcon_ack ack;

	tcon_acked(t, pkt, now_us, &ack);
	assert_true(ack.valid);
	tcon_ca_ack(t, &ack);
	return noted();
}

/* An ACK for @segs segments, SACK for @lo .. @hi; returns what the CC heard. */
static const char *ack_flags(struct tcon_track *t, u8 flags, u32 segs, u32 lo,
			     u32 hi)
{
	struct tcon_packet pkt = {
		.flags = TCON_TCP_ACK | flags,
		.seq = 2,
		.end_seq = 2,
		.ack = FIRST + segs * MSS,
		.window = 500,
		.n_sacks = lo < hi,
		.sacks[0] = { FIRST + lo * MSS, FIRST + hi * MSS },
	};

	return pass(t, &pkt);
}

static const char *ack(struct tcon_track *t, u32 segs, u32 lo, u32 hi)
{
	return ack_flags(t, 0, segs, lo, hi);
}

static void start_and_stop(void **state)
{
	struct tcon_track t;

	open_conn(&t);
	t.cc.priv[0] = 1;
	t.cc.pacing_rate_bps = 5;
	t.unproven_bytes = 7;
	noted();
	tcon_ca_stop(&t);			/* there is none */
	assert_string_equal(noted(), "");
	tcon_ca_start(&t, &mock, NULL, now_us);
	assert_string_equal(noted(), "i");
	assert_int_equal(notes.at_us, now_us);
	assert_int_equal(t.cc.cwnd_bytes, TCON_INIT_CWND_SEGS * MSS);
	assert_int_equal(t.cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
	assert_int_equal(t.cc.pacing_rate_bps, 0);
	assert_int_equal(t.cc.priv[0], 0);
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	assert_int_equal(t.unproven_bytes, 0);
	t.cc.pacing_rate_bps = 5;
	tcon_ca_stop(&t);
	assert_string_equal(noted(), "r");
	assert_null(t.cc.ops);
	assert_null(t.cc.params);
	assert_int_equal(t.cc.cwnd_bytes, 0);
	assert_int_equal(t.cc.pacing_rate_bps, 0);
	tcon_ca_start(&t, &bare, NULL, now_us);
	tcon_ca_tx_start(&t, now_us);		/* optional */
	send_segs(&t, 0, 1);
	assert_string_equal(ack_flags(&t, TCON_TCP_ECE, 1, 0, 0), "ic");
	tcon_ca_stop(&t);
	assert_string_equal(noted(), "");
	tcon_track_release(&t);
}

/* A live switch hands on what is in flight, within bounds; ten segments the least. */
static void start_while_running(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 40);
	t.cc.ssthresh_bytes = 33000;
	tcon_ca_stop(&t);
	tcon_ca_start(&t, &mock, NULL, now_us);
	assert_int_equal(t.cc.cwnd_bytes, 40 * MSS);
	assert_int_equal(t.cc.ssthresh_bytes, 33000);
	tcon_ca_stop(&t);
	t.anew = true;
	tcon_ca_start(&t, &mock, NULL, now_us);
	assert_int_equal(t.cc.cwnd_bytes, TCON_INIT_CWND_SEGS * MSS);
	t.anew = false;
	tcon_ca_stop(&t);
	t.cc.ssthresh_bytes = 0;		/* observed so far */
	tcon_ca_start(&t, &mock, NULL, now_us);
	assert_int_equal(t.cc.ssthresh_bytes, TCON_SSTHRESH_INFINITE);
	tcon_ca_stop(&t);
	t.cc.ssthresh_bytes = 0;
	t.cc.lost_bytes = 1;			/* and it had losses */
	tcon_ca_start(&t, &mock, NULL, now_us);
	assert_int_equal(t.cc.ssthresh_bytes, 40 * MSS);
	t.cc.pacing_rate_bps = 5;
	tcon_ca_stop(&t);
	t.cc.inflight_bytes = MSS;
	tcon_ca_start(&t, &mock, NULL, now_us);
	assert_int_equal(t.cc.cwnd_bytes, TCON_INIT_CWND_SEGS * MSS);
	assert_int_equal(t.cc.pacing_rate_bps, 0);
	tcon_ca_stop(&t);
	t.cc.inflight_bytes = TCON_CWND_MAX_BYTES + 1;
	tcon_ca_start(&t, &mock, NULL, now_us);
	assert_int_equal(t.cc.cwnd_bytes, TCON_CWND_MAX_BYTES);
	stop_cc(&t);
}

/* A CC's memory is there before it starts; without, there is no CC. */
static void start_that_allocates(void **state)
{
	static const s64 enough, none = -12;
	struct tcon_track t;

	start_cc(&t);
	tcon_ca_stop(&t);
	noted();
	t.cc.priv[0] = 7;
	assert_int_equal(tcon_ca_start(&t, &hungry, &none, now_us), none);
	assert_string_equal(noted(), "p");
	assert_null(t.cc.ops);
	assert_null(t.cc.params);
	assert_int_equal(t.cc.cwnd_bytes, 0);
	tcon_ca_stop(&t);
	assert_string_equal(noted(), "");
	assert_int_equal(tcon_ca_start(&t, &hungry, &enough, now_us), 0);
	assert_string_equal(noted(), "pi");
	assert_int_equal(t.cc.priv[0], 1);
	assert_int_equal(t.cc.cwnd_bytes, TCON_INIT_CWND_SEGS * MSS);
	stop_cc(&t);
}

/* The CC hears of an ACK that delivers or loses something, else not. */
static void plain_acks(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 5);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 0, 0, 0), "");
	assert_string_equal(ack(&t, 1, 0, 0), "c");
	assert_string_equal(ack(&t, 1, 2, 3), "c");
	assert_string_equal(ack(&t, 1, 2, 3), "");
	assert_string_equal(ack(&t, 5, 0, 0), "c");
	assert_string_equal(ack_flags(&t, TCON_TCP_ECE, 5, 0, 0), "e");
	stop_cc(&t);
}

static void ece_before_control(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 1);
	now_us += RTT_US;
	assert_string_equal(ack_flags(&t, TCON_TCP_ECE, 1, 0, 0), "ec");
	assert_int_equal(notes.at_us, now_us);
	stop_cc(&t);
}

/* An ACK with the peer's count of marked segments. */
static const char *ack_count(struct tcon_track *t, u32 segs, u32 marked)
{
	struct tcon_packet pkt = {
		.flags = TCON_TCP_ACK,
		.seq = 2,
		.end_seq = 2,
		.ack = FIRST + segs * MSS,
		.window = 500,
		.option_bytes = TCON_OPTION_COUNT_BYTES,
		.ce_bytes = marked * MSS,
	};

	return pass(t, &pkt);
}

/* Where marks begin or end within an ACK it is as two. */
static void ack_in_two(void **state)
{
	struct tcon_track t;

	open_conn(&t);
	tcon_ca_start(&t, &marking, NULL, now_us);
	send_segs(&t, 0, 9);
	now_us += RTT_US;
	noted();
	assert_string_equal(ack_count(&t, 1, 0), "1180");
	assert_string_equal(ack_count(&t, 3, 1), "1270" "e361" "1361");
	assert_string_equal(ack_count(&t, 5, 2), "e452" "1452" "1542");
	assert_string_equal(ack_count(&t, 6, 3), "e633" "1633");
	assert_string_equal(ack_count(&t, 7, 3), "1723");
	stop_cc(&t);
}

/* But not where nobody counts, a CC that wants no ECN runs, something is missing, or it is
 * for many segments.
 */
static void ack_in_one(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 9);
	now_us += RTT_US;
	assert_string_equal(ack_count(&t, 2, 1), "ec");
	tcon_ca_stop(&t);
	tcon_ca_start(&t, &marking, NULL, now_us);
	noted();
	assert_string_equal(ack_count(&t, 4, 5), "e455" "2455");	/* one came twice */
	t.cc.ca_state = TCON_CA_LOSS;
	t.recovery_point = t.cc.nxt;
	assert_string_equal(ack_count(&t, 6, 6), "e636" "2636");
	stop_cc(&t);

	open_conn(&t);
	tcon_ca_start(&t, &marking, NULL, now_us);
	send_segs(&t, 0, 9);
	now_us += RTT_US;
	noted();
	assert_string_equal(ack_flags(&t, TCON_TCP_ECE, 2, 0, 0), "e272" "2272");
	stop_cc(&t);

	open_conn(&t);
	tcon_ca_start(&t, &marking, NULL, now_us);
	send_segs(&t, 0, 9);
	now_us += RTT_US;
	noted();
	assert_string_equal(ack_count(&t, 3, 1), "e361" "3361");	/* where? */
	stop_cc(&t);
}

static void tx_start(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	now_us += 5;
	tcon_ca_tx_start(&t, now_us);
	assert_string_equal(noted(), "t");
	assert_int_equal(notes.at_us, now_us);
	stop_cc(&t);
}

/* However much is lost, RECOVERY begins once until una is at its entry's nxt. */
static void one_recovery_a_round(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 20);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 0, 1, 4), "Rc");
	assert_int_equal(notes.state_before, TCON_CA_OPEN);
	assert_int_equal(notes.losses_bytes, MSS);
	assert_int_equal(t.cc.ca_state, TCON_CA_RECOVERY);
	assert_int_equal(t.recovery_point, FIRST + 20 * MSS);
	assert_string_equal(ack(&t, 0, 6, 9), "c");	/* another hole */
	assert_true(notes.losses_bytes > 0);
	send_seg(&t, 0);
	send_segs(&t, 20, 25);				/* during recovery */
	now_us += RTT_US;
	assert_string_equal(ack(&t, 4, 11, 15), "c");	/* and another */
	send_segs(&t, 4, 6);
	send_segs(&t, 9, 11);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 19, 20, 25), "c");	/* not there yet */
	assert_int_equal(t.cc.ca_state, TCON_CA_RECOVERY);
	assert_string_equal(ack(&t, 25, 0, 0), "Oc");
	assert_int_equal(notes.state_before, TCON_CA_RECOVERY);
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	assert_int_equal(t.unproven_bytes, 0);
	stop_cc(&t);
}

/* A loss at the end of a recovery starts the next with the same ACK. */
static void recovery_goes_over(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 10);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 0, 1, 10), "Rc");
	send_segs(&t, 10, 20);
	send_seg(&t, 0);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 0, 11, 20), "c");	/* 10 is lost */
	assert_int_equal(t.recovery_point, FIRST + 10 * MSS);
	assert_string_equal(ack(&t, 10, 0, 0), "ORc");
	assert_int_equal(notes.state_before, TCON_CA_OPEN);
	assert_int_equal(t.recovery_point, FIRST + 20 * MSS);
	send_seg(&t, 10);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 20, 0, 0), "Oc");
	stop_cc(&t);
}

/* An ACK is told in the state that it found, before what it changes. */
static void acked_before_all(void **state)
{
	struct tcon_track t;

	open_conn(&t);
	assert_int_equal(tcon_ca_start(&t, &early, NULL, now_us), 0);
	noted();
	send_segs(&t, 0, 10);
	assert_string_equal(ack_flags(&t, TCON_TCP_ECE, 1, 0, 0), "aec");
	assert_string_equal(ack(&t, 1, 0, 0), "");
	now_us += RTT_US;
	assert_string_equal(ack(&t, 1, 2, 10), "aRc");
	assert_int_equal(notes.losses_bytes, MSS);
	send_seg(&t, 1);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 10, 0, 0), "AOc");
	stop_cc(&t);
}

/* A lost repeat is no news for the CC. */
static void lost_repeats(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 10);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 0, 4, 10), "Rc");
	send_segs(&t, 0, 4);
	send_segs(&t, 10, 12);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 0, 2, 3), "c");	/* 0 and 1: lost again */
	assert_int_equal(notes.losses_bytes, 2 * MSS);
	assert_int_equal(t.recovery_point, FIRST + 10 * MSS);
	send_segs(&t, 0, 2);
	send_seg(&t, 3);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 12, 0, 0), "Oc");
	stop_cc(&t);
}

/* The ACK that ends a recovery shows the next loss. */
static void recovery_after_recovery(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 5);
	assert_string_equal(ack(&t, 0, 1, 5), "Rc");
	send_seg(&t, 0);
	send_segs(&t, 5, 10);
	assert_string_equal(ack(&t, 5, 6, 9), "ORc");
	assert_int_equal(t.recovery_point, FIRST + 10 * MSS);
	stop_cc(&t);
}

static void undo_of_recovery(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 20);
	assert_string_equal(ack(&t, 0, 2, 5), "Rc");
	assert_string_equal(ack(&t, 0, 1, 5), "c");	/* one of two came */
	assert_string_equal(ack(&t, 5, 0, 0), "uOc");
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	assert_string_equal(ack(&t, 20, 0, 0), "c");
	stop_cc(&t);
}

/* The first of 20 segments was judged lost, was sent again, and arrived. */
static void repair_first(struct tcon_track *t)
{
	start_cc(t);
	send_segs(t, 0, 20);
	assert_string_equal(ack(t, 0, 1, 4), "Rc");
	send_seg(t, 0);
	assert_string_equal(ack(t, 4, 0, 0), "c");
}

static void undo_by_dsack(void **state)
{
	struct tcon_track t;

	repair_first(&t);
	assert_string_equal(ack(&t, 4, 0, 1), "uO");	/* delivers nothing */
	stop_cc(&t);
}

/* The peer cannot have got twice what was sent once. */
static void no_undo_by_lies(void **state)
{
	struct tcon_track t;

	repair_first(&t);
	t.repeated_bytes = 0;				/* as if it had not been */
	assert_string_equal(ack(&t, 4, 0, 4), "");
	t.repeated_bytes = MSS;
	assert_string_equal(ack(&t, 4, 0, 4), "uO");
	assert_int_equal(t.dsacked_bytes, MSS);
	stop_cc(&t);
}

/* Where a tail probe has repaired the loss nothing is left to recover. */
static void loss_found_by_probe(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 3);
	assert_string_equal(ack(&t, 2, 0, 0), "c");
	tcon_sent_repair(&t, FIRST + 2 * MSS, FIRST + 3 * MSS, MSS, now_us);
	tcon_timer_probed(&t, MSS, now_us);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 3, 0, 0), "c");
	send_seg(&t, 3);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 4, 0, 0), "ROc");
	assert_int_equal(notes.losses_bytes, MSS);
	assert_int_equal(t.unproven_bytes, 0);
	assert_int_equal(tcon_track_cwnd_bytes(&t), t.cc.cwnd_bytes);
	stop_cc(&t);
}

/* A DSACK after the recovery has ended undoes nothing. */
static void no_undo_when_open(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 5);
	assert_string_equal(ack(&t, 0, 1, 5), "Rc");
	send_seg(&t, 0);
	assert_string_equal(ack(&t, 5, 0, 0), "Oc");
	assert_string_equal(ack(&t, 5, 0, 1), "");
	stop_cc(&t);
}

static void timed_out(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 5);
	time_out(&t, 1000000);
	assert_string_equal(noted(), "L");
	assert_int_equal(notes.at_us, now_us);
	assert_int_equal(notes.state_before, TCON_CA_OPEN);
	time_out(&t, 2000000);				/* once more */
	assert_string_equal(noted(), "L");
	assert_int_equal(notes.at_us, now_us);
	assert_int_equal(notes.state_before, TCON_CA_LOSS);
	assert_int_equal(t.cc.ca_state, TCON_CA_LOSS);
	send_segs(&t, 1, 5);
	assert_string_equal(ack(&t, 4, 0, 0), "c");
	assert_string_equal(ack(&t, 5, 0, 0), "Oc");
	stop_cc(&t);
}

static void timeout_in_recovery(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 10);
	assert_string_equal(ack(&t, 0, 1, 4), "Rc");
	time_out(&t, 1000000);
	assert_string_equal(noted(), "L");
	assert_int_equal(notes.state_before, TCON_CA_RECOVERY);
	stop_cc(&t);
}

/* In a recovery what leaves follows what arrives, unless the CC sees to that. */
static void limit_of_a_recovery(void **state)
{
	static const struct tcon_cc_ops *all[] = { &mock, &sovereign };
	struct tcon_track t;
	u32 i, limit;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		open_conn(&t);
		tcon_ca_start(&t, all[i], NULL, now_us);
		t.cc.cwnd_bytes = 20 * MSS;
		send_segs(&t, 0, 20);
		assert_int_equal(tcon_track_cwnd_bytes(&t), 20 * MSS);
		now_us += RTT_US;
		ack(&t, 0, 15, 20);		/* 15 are lost */
		limit = all[i] == &mock ? 5 * MSS : 20 * MSS;
		assert_int_equal(t.cc.inflight_bytes, 0);
		assert_int_equal(tcon_track_cwnd_bytes(&t), limit);
		assert_int_equal(t.cc.cwnd_bytes, 20 * MSS);
		now_us += RTT_US;
		tcon_ca_lost(&t, MSS, now_us);	/* by a timer: the allowance stays */
		assert_int_equal(tcon_track_cwnd_bytes(&t), limit);
		stop_cc(&t);
		assert_int_equal(tcon_track_cwnd_bytes(&t), 0);
	}
}

/* RFC 5681, 3.1: after a time-out one segment leaves, and then as in slow start, as far as cwnd
 * allows it.
 */
static void loss_window(void **state)
{
	static const struct tcon_cc_ops *all[] = { &mock, &sovereign };
	struct tcon_track t;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		open_conn(&t);
		tcon_ca_start(&t, all[i], NULL, now_us);
		t.cc.cwnd_bytes = 5 * MSS;
		send_segs(&t, 0, 20);
		time_out(&t, 1000000);
		assert_int_equal(t.cc.inflight_bytes, MSS);
		assert_int_equal(tcon_track_cwnd_bytes(&t), MSS);
		assert_int_equal(t.cc.cwnd_bytes, 5 * MSS);
		now_us += RTT_US;
		ack(&t, 1, 0, 0);
		assert_int_equal(tcon_track_cwnd_bytes(&t), 2 * MSS);
		send_segs(&t, 1, 3);
		now_us += RTT_US;
		ack(&t, 3, 0, 0);
		assert_int_equal(tcon_track_cwnd_bytes(&t), 4 * MSS);
		send_segs(&t, 3, 7);
		now_us += RTT_US;
		ack(&t, 7, 0, 0);
		assert_int_equal(tcon_track_cwnd_bytes(&t), 5 * MSS);
		send_segs(&t, 7, 20);
		ack(&t, 20, 0, 0);
		assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
		assert_int_equal(tcon_track_cwnd_bytes(&t), 5 * MSS);
		assert_int_equal(t.prr.active, all[i] == &mock);
		stop_cc(&t);
	}
}

/* It is one segment each time, whoever sends it. */
static void loss_window_again(void **state)
{
	struct tcon_track t;
	u32 i;

	start_cc(&t);
	t.cc.cwnd_bytes = 5 * MSS;
	send_segs(&t, 0, 4);
	for (i = 0; i < 3; i++) {
		time_out(&t, 5000000);
		assert_int_equal(t.cc.inflight_bytes, MSS);
		assert_int_equal(tcon_track_cwnd_bytes(&t), MSS);
	}
	tcon_loss_mark_all(&t);
	tcon_ca_timeout(&t, now_us);
	assert_int_equal(t.cc.inflight_bytes, 0);
	assert_int_equal(tcon_track_cwnd_bytes(&t), MSS);
	stop_cc(&t);
}

/* It is over a round trip after the recovery, and at once where that was for nothing. */
static void limit_is_over(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	t.cc.cwnd_bytes = 20 * MSS;
	send_segs(&t, 0, 20);
	ack(&t, 0, 1, 4);
	assert_true(t.prr.active);
	send_seg(&t, 0);
	ack(&t, 10, 0, 0);
	send_segs(&t, 20, 24);
	ack(&t, 20, 0, 0);
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	assert_false(tcon_track_marked(&t));
	assert_int_equal(tcon_track_cwnd_bytes(&t), 20 * MSS);
	ack(&t, 23, 0, 0);
	assert_int_equal(tcon_track_cwnd_bytes(&t), (1 + 2 * 3 + TCON_INIT_CWND_SEGS) * MSS);
	send_seg(&t, 24);
	ack(&t, 24, 0, 0);
	assert_true(t.prr.active);
	ack(&t, 25, 0, 0);
	assert_false(t.prr.active);
	send_segs(&t, 25, 45);
	ack(&t, 25, 27, 30);
	assert_true(t.prr.active);
	ack(&t, 30, 0, 0);
	assert_string_equal(noted(), "");
	assert_false(t.prr.active);
	stop_cc(&t);
}

/* A recovery that ends with nothing in flight, where cwnd is 200 segments. */
static void leave_nothing(struct tcon_track *t)
{
	start_cc(t);
	t->cc.cwnd_bytes = 200 * MSS;
	send_segs(t, 0, 200);
	ack(t, 0, 1, 200);
	send_seg(t, 0);
	ack(t, 200, 0, 0);
	assert_int_equal(t->cc.ca_state, TCON_CA_OPEN);
}

/*
 * A guest whose own cwnd was full could send nothing in the recovery.  When that ends nothing is in
 * flight, and cwnd is filled as in slow start, as long as that takes.
 */
static void recovery_that_left_nothing(void **state)
{
	u32 sent = 200, acked = 200, burst = 2 + TCON_INIT_CWND_SEGS, rounds;
	struct tcon_track t;

	leave_nothing(&t);
	for (rounds = 0; t.prr.active; rounds++) {
		u32 until = sent;

		assert_true(rounds < 10);
		while (tcon_track_fits(&t, MSS))
			send_seg(&t, sent++);
		now_us += RTT_US;
		for (; acked < until && t.prr.active; acked += 2) {
			u32 before = sent;

			ack(&t, acked + 2, 0, 0);
			while (t.prr.active && tcon_track_fits(&t, MSS))
				send_seg(&t, sent++);
			assert_in_range(sent - before, 0, burst + 2);
		}
	}
	assert_in_range(rounds, 4, 7);
	assert_true(t.cc.inflight_bytes > 150 * MSS);
	stop_cc(&t);
}

/* An application that has less to send is not limited by that for longer than a round trip. */
static void recovery_of_an_application(void **state)
{
	struct tcon_track t;

	leave_nothing(&t);
	assert_true(t.prr.active);
	send_segs(&t, 200, 203);
	now_us += RTT_US;
	ack(&t, 203, 0, 0);
	assert_false(t.prr.active);
	stop_cc(&t);
}

/* A mark on an ACK that delivers nothing does not fill cwnd at once either. */
static void mark_after_a_recovery(void **state)
{
	struct tcon_track t;

	leave_nothing(&t);
	send_segs(&t, 200, 210);
	now_us += RTT_US;
	ack_flags(&t, TCON_TCP_ECE, 200, 0, 0);
	assert_true(tcon_track_cwnd_bytes(&t) <= (10 + 2 + TCON_INIT_CWND_SEGS) * MSS);
	stop_cc(&t);
}

/* A mark: departures follow arrivals, until more is acknowledged than was in flight,
 * unless the CC sees to that or is not told of marks.
 */
static void limit_after_a_mark(void **state)
{
	static const struct tcon_cc_ops *all[] = { &mock, &sovereign, &bare };
	struct tcon_track t;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		open_conn(&t);
		tcon_ca_start(&t, all[i], NULL, now_us);
		t.cc.cwnd_bytes = 20 * MSS;
		send_segs(&t, 0, 10);
		now_us += RTT_US;
		ack_flags(&t, TCON_TCP_ECE, 2, 0, 0);
		if (all[i] != &mock) {
			assert_false(t.prr.active);
			assert_int_equal(tcon_track_cwnd_bytes(&t), 20 * MSS);
			stop_cc(&t);
			continue;
		}
		/* As much as arrived, and one more. */
		assert_int_equal(tcon_track_cwnd_bytes(&t), (8 + 2 + 1) * MSS);
		send_segs(&t, 10, 13);
		ack_flags(&t, TCON_TCP_ECE, 10, 0, 0);	/* of the same window */
		assert_int_equal(tcon_track_cwnd_bytes(&t), (3 + 8 + 1) * MSS);
		ack(&t, 11, 0, 0);
		assert_false(t.prr.active);
		assert_int_equal(tcon_track_cwnd_bytes(&t), 20 * MSS);
		ack_flags(&t, TCON_TCP_ECE, 13, 0, 0);	/* of the next */
		assert_true(t.prr.active);
		stop_cc(&t);
	}
}

/* A recovery begins while a mark is answered, and goes on beyond that; a time-out ends
 * both.
 */
static void recovery_after_a_mark(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	t.cc.cwnd_bytes = 10 * MSS;
	send_segs(&t, 0, 10);
	now_us += RTT_US;
	ack_flags(&t, TCON_TCP_ECE, 1, 0, 0);
	t.cc.cwnd_bytes = 5 * MSS;
	send_segs(&t, 10, 12);
	ack(&t, 2, 3, 10);
	assert_int_equal(t.cc.ca_state, TCON_CA_RECOVERY);
	assert_int_equal(t.prr.flight_bytes, 10 * MSS);
	send_seg(&t, 2);
	ack(&t, 11, 0, 0);		/* beyond what was in flight at the mark */
	assert_int_equal(t.cc.ca_state, TCON_CA_RECOVERY);
	assert_true(t.prr.active);
	now_us += 1000000;
	tcon_ca_timeout(&t, now_us);
	assert_true(t.prr.after);
	ack_flags(&t, TCON_TCP_ECE, 12, 0, 0);	/* ends that, and is too late */
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	assert_false(tcon_track_marked(&t));
	stop_cc(&t);
}

/* A CC that takes something away for the loss, too: from what was in flight then. */
static void second_reduction(void **state)
{
	struct tcon_track t;

	open_conn(&t);
	tcon_ca_start(&t, &halving, NULL, now_us);
	t.cc.cwnd_bytes = 20 * MSS;
	send_segs(&t, 0, 20);
	now_us += RTT_US;
	ack_flags(&t, TCON_TCP_ECE, 1, 0, 0);
	t.cc.cwnd_bytes = 16 * MSS;
	ack(&t, 1, 2, 5);
	assert_int_equal(t.cc.cwnd_bytes, 8 * MSS);
	assert_int_equal(t.prr.flight_bytes, 19 * MSS);
	assert_int_equal(t.prr.delivered_bytes, 3 * MSS);
	stop_cc(&t);
}

/* A mark and a loss with one ACK are one reduction. */
static void mark_and_loss(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	t.cc.cwnd_bytes = 10 * MSS;
	send_segs(&t, 0, 10);
	now_us += RTT_US;
	assert_string_equal(ack_flags(&t, TCON_TCP_ECE, 0, 1, 6), "eRc");
	assert_int_equal(t.prr.flight_bytes, 10 * MSS);
	assert_int_equal(t.prr.delivered_bytes, 5 * MSS);
	stop_cc(&t);
}

/* An ACK that tells of a mark, and delivers nothing: cwnd is still the limit. */
static void mark_without_delivery(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	t.cc.cwnd_bytes = 10 * MSS;
	send_segs(&t, 0, 4);
	now_us += RTT_US;
	ack(&t, 4, 0, 0);
	assert_string_equal(ack_flags(&t, TCON_TCP_ECE, 4, 0, 0), "e");
	assert_true(t.prr.active);
	assert_int_equal(tcon_track_cwnd_bytes(&t), 10 * MSS);
	assert_true(tcon_track_fits(&t, 10 * MSS));
	stop_cc(&t);
}

/* Losses during LOSS start no RECOVERY. */
static void losses_in_loss(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 5);
	now_us += 1000000;
	send_seg(&t, 0);
	tcon_ca_timeout(&t, now_us);
	noted();
	send_segs(&t, 1, 5);
	send_segs(&t, 5, 10);
	assert_string_equal(ack(&t, 1, 6, 10), "c");
	assert_int_equal(notes.losses_bytes, 5 * MSS);	/* four repeats, and 5 */
	assert_int_equal(t.cc.ca_state, TCON_CA_LOSS);
	stop_cc(&t);
}

/* The time-out was early: all arrives, the head by its first transmission. */
static void undo_of_timeout(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 6);
	time_out(&t, 1000000);
	noted();
	assert_string_equal(ack(&t, 5, 0, 0), "c");
	assert_string_equal(ack(&t, 5, 0, 1), "");	/* 5 is still unproven */
	assert_string_equal(ack(&t, 6, 0, 0), "uOc");
	stop_cc(&t);
}

/* ACKs pass elsewhere: the rate stays what it was before the time-out that this looks like. */
static void unheard(void **state)
{
	struct tcon_track t;
	u64 rate_bps;

	start_cc(&t);
	rate_bps = 8ULL * t.cc.cwnd_bytes * 1000000 / RTT_US;
	send_segs(&t, 0, 6);
	tcon_ca_timeout(&t, now_us);
	noted();
	tcon_ca_unheard(&t, now_us);
	assert_string_equal(noted(), "uO");
	assert_int_equal(t.cc.pacing_rate_bps, rate_bps);
	t.cc.cwnd_bytes *= 2;	/* no ACK confirms this */
	tcon_ca_unheard(&t, now_us);
	assert_int_equal(t.cc.pacing_rate_bps, rate_bps);
	tcon_ca_heard(&t);
	assert_int_equal(t.cc.pacing_rate_bps, 0);
	assert_string_equal(ack(&t, 6, 0, 0), "c");

	/* A CC that paces has no more than that. */
	t.cc.pacing_rate_bps = 1000000;
	tcon_ca_heard(&t);
	assert_int_equal(t.cc.pacing_rate_bps, 1000000);
	tcon_ca_unheard(&t, now_us);
	assert_int_equal(t.cc.pacing_rate_bps, 1000000);
	tcon_ca_heard(&t);
	assert_int_equal(t.cc.pacing_rate_bps, 1000000);

	/* Another CC starts in the silence. */
	tcon_ca_unheard(&t, now_us);
	tcon_ca_stop(&t);
	tcon_ca_start(&t, &bare, NULL, now_us);
	assert_int_equal(t.cc.pacing_rate_bps, 0);
	tcon_ca_unheard(&t, now_us);
	assert_int_equal(t.cc.pacing_rate_bps, 8ULL * t.cc.cwnd_bytes * 1000000 / t.cc.srtt_us);
	stop_cc(&t);
}

/* As the adapter of the kernel's CCs does it: each callback writes what the CC wants. */
static void forgetful_set_state(struct tcon_cc *cc, enum tcon_ca_state state, u64 now_us)
{
	cc->pacing_rate_bps = 0;
}

static void forgetful_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event, u64 now_us)
{
	cc->pacing_rate_bps = 0;
}

static void forgetful_cong_control(struct tcon_cc *cc, const struct tcon_rate_sample *rs)
{
	cc->pacing_rate_bps = 0;
}

static const struct tcon_cc_ops forgetful = {
	.name = "forgetful",
	.init = mock_init,
	.cong_control = forgetful_cong_control,
	.set_state = forgetful_set_state,
	.cwnd_event = forgetful_cwnd_event,
	.undo_cwnd = mock_undo_cwnd,
};

/* Whatever a CC does in the silence, the rate is no more than that. */
static void unheard_whatever_the_cc_does(void **state)
{
	struct tcon_track t;
	u64 rate_bps;

	open_conn(&t);
	tcon_ca_start(&t, &forgetful, NULL, now_us);
	send_segs(&t, 0, 6);
	tcon_ca_unheard(&t, now_us);
	rate_bps = t.cc.pacing_rate_bps;
	assert_int_not_equal(rate_bps, 0);
	tcon_ca_tx_start(&t, now_us);
	assert_int_equal(t.cc.pacing_rate_bps, rate_bps);
	tcon_ca_timeout(&t, now_us);
	assert_int_equal(t.cc.pacing_rate_bps, rate_bps);
	tcon_ca_lost(&t, MSS, now_us);
	assert_int_equal(t.cc.pacing_rate_bps, rate_bps);
	ack(&t, 0, 1, 2);
	assert_int_equal(t.cc.pacing_rate_bps, rate_bps);
	tcon_ca_heard(&t);
	assert_int_equal(t.cc.pacing_rate_bps, 0);
	tcon_ca_tx_start(&t, now_us);
	assert_int_equal(t.cc.pacing_rate_bps, 0);
	stop_cc(&t);
}

static void sane(void **state)
{
	struct tcon_cc cc = { .mss_bytes = MSS };

	static const struct {
		u32 cwnd_bytes;
		u64 pacing_rate_bps;
		bool sane;
	} row[] = {
		{ 0, 0, false }, { MSS, 0, false }, { 2 * MSS - 1, 0, false },
		{ 2 * MSS, 0, true }, { 10 * MSS, 0, true },
		{ TCON_CWND_MAX_BYTES, 0, true },
		{ TCON_CWND_MAX_BYTES + 1, 0, false }, { U32_MAX, 0, false },
		/* 8000 bits in a minute are 133.3 a second */
		{ 10 * MSS, 1, false }, { 10 * MSS, 132, false },
		{ 10 * MSS, 133, true }, { 10 * MSS, U64_MAX, true },
		{ MSS, 133, false },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		cc.cwnd_bytes = row[i].cwnd_bytes;
		cc.pacing_rate_bps = row[i].pacing_rate_bps;
		assert_int_equal(tcon_ca_sane(&cc), row[i].sane);
	}
}

/* A CC that began before the peer's SYN-ACK has reduced to two segments of 536 bytes, and to the
 * slowest rate.  That these are two of 1460, or of 100, is no error of the CC.
 */
static void segment_size(void **state)
{
	static const u16 mss[] = { 1460, 8960, 100 };
	struct tcon_packet syn = {
		.flags = TCON_TCP_SYN, .seq = ISN, .end_seq = FIRST, .mss = U16_MAX,
		.window = 500, .sack_permitted = true,
	};
	struct tcon_track t;
	u32 i, kept;

	for (i = 0; i < ARRAY_SIZE(mss); i++) {
		tcon_track_init(&t, NULL);
		syn.flags = TCON_TCP_SYN;
		syn.seq = ISN;
		syn.mss = U16_MAX;
		tcon_handshake_guest(&t, &syn, now_us);
		tcon_ca_start(&t, &mock, NULL, now_us);
		kept = 2 * TCON_MSS_DEFAULT;
		t.cc.cwnd_bytes = kept;
		t.cc.ssthresh_bytes = kept;
		t.cc.pacing_rate_bps = tcon_cc_slowest_bps(&t.cc);
		assert_true(tcon_ca_sane(&t.cc));
		syn.flags |= TCON_TCP_ACK;
		syn.seq = 1;
		syn.ack = FIRST;
		syn.mss = mss[i];
		tcon_handshake_peer(&t, &syn);
		assert_int_equal(t.cc.mss_bytes, mss[i]);
		assert_true(tcon_ca_sane(&t.cc));
		assert_int_equal(t.cc.cwnd_bytes, max(kept, 2U * mss[i]));
		assert_int_equal(t.cc.ssthresh_bytes, max(kept, 2U * mss[i]));
		stop_cc(&t);
	}
}

/* A segment that overtakes on its way from the guest makes a recovery neither begin nor go on. */
static void swaps_are_no_loss(void **state)
{
	struct tcon_track t;
	u32 i;

	start_cc(&t);
	send_segs(&t, 0, 20);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 0, 1, 20), "Rc");
	send_seg(&t, 0);
	for (i = 20; i < 180; i += 20) {
		send_segs(&t, i, i + 18);
		assert_int_equal(send_seg(&t, i + 19), TCON_SENT_NEW);
		assert_int_equal(send_seg(&t, i + 18), TCON_SENT_NEW);
		now_us += RTT_US / 2;
		assert_string_equal(ack(&t, i, 0, 0), i == 20 ? "Oc" : "c");
		now_us += RTT_US / 2;
	}
	assert_string_equal(ack(&t, i - 2, i - 1, i), "c");
	assert_string_equal(ack(&t, i, 0, 0), "c");
	assert_int_equal(t.cc.lost_bytes, MSS);
	stop_cc(&t);
}

/* Nor does a guest's repeat of what was not missed. */
static void needless_repeat_is_no_loss(void **state)
{
	struct tcon_track t;

	start_cc(&t);
	send_segs(&t, 0, 10);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 0, 1, 10), "Rc");
	send_seg(&t, 0);
	send_segs(&t, 10, 20);
	send_seg(&t, 15);
	now_us += RTT_US;
	assert_string_equal(ack(&t, 10, 0, 0), "Oc");
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	stop_cc(&t);
}

/* RecoverFS of RFC 9937: the flight, however large cwnd is, less the bytes SACKed before the ACK
 * that shows the loss; bytes that this one delivers count as delivered.
 */
static void flight_of_a_recovery(void **state)
{
	struct tcon_track t;

	open_conn(&t);
	tcon_ca_start(&t, &halving, NULL, now_us);
	t.cc.cwnd_bytes = 20 * MSS;
	send_segs(&t, 0, 10);
	now_us += RTT_US;
	ack(&t, 0, 2, 3);
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	ack(&t, 0, 2, 5);
	assert_int_equal(t.cc.ca_state, TCON_CA_RECOVERY);
	assert_int_equal(t.prr.flight_bytes, 9 * MSS);
	assert_int_equal(t.prr.delivered_bytes, 2 * MSS);
	stop_cc(&t);
	open_conn(&t);				/* a timer shows it */
	tcon_ca_start(&t, &halving, NULL, now_us);
	send_segs(&t, 0, 5);
	now_us += RTT_US;
	ack(&t, 0, 3, 5);
	now_us += RTT_US;
	tcon_loss_detect(&t, now_us);
	tcon_track_count_inflight(&t);
	tcon_ca_lost(&t, t.lost.bytes, now_us);
	assert_int_equal(t.prr.flight_bytes, 3 * MSS);
	assert_int_equal(t.prr.delivered_bytes, 0);
	stop_cc(&t);
}

/*
 * RFC 6582, 3.2, step 1: without SACK duplicate ACKs of needless repeats, after a time-out, are
 * no sign of a loss until more than recover is acknowledged.
 */
static void needless_repeats_after_a_timeout_begin_no_recovery(void **state)
{
	struct tcon_track t;
	u32 i;

	start_cc(&t);
	t.guest.sack_permitted = false;
	send_segs(&t, 0, 40);
	now_us += RTT_US;
	time_out(&t, 1500000);
	now_us += RTT_US;
	ack(&t, 12, 0, 0);			/* 0 was lost, and 12, and 20 */
	send_segs(&t, 12, 14);
	now_us += RTT_US;
	ack(&t, 20, 0, 0);
	ack(&t, 20, 0, 0);
	send_segs(&t, 20, 24);
	now_us += RTT_US;
	ack(&t, 40, 0, 0);			/* of 20 */
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	send_segs(&t, 40, 44);
	for (i = 0; i < 3; i++)			/* of 21 to 23 */
		ack(&t, 40, 0, 0);
	assert_int_equal(t.lost.bytes, 0);
	assert_int_equal(t.cc.ca_state, TCON_CA_OPEN);
	stop_cc(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needless_repeats_after_a_timeout_begin_no_recovery),
		cmocka_unit_test(start_and_stop),
		cmocka_unit_test(start_while_running),
		cmocka_unit_test(start_that_allocates),
		cmocka_unit_test(plain_acks),
		cmocka_unit_test(ece_before_control),
		cmocka_unit_test(ack_in_two),
		cmocka_unit_test(ack_in_one),
		cmocka_unit_test(tx_start),
		cmocka_unit_test(one_recovery_a_round),
		cmocka_unit_test(recovery_goes_over),
		cmocka_unit_test(acked_before_all),
		cmocka_unit_test(lost_repeats),
		cmocka_unit_test(recovery_after_recovery),
		cmocka_unit_test(swaps_are_no_loss),
		cmocka_unit_test(needless_repeat_is_no_loss),
		cmocka_unit_test(undo_of_recovery),
		cmocka_unit_test(undo_by_dsack),
		cmocka_unit_test(no_undo_by_lies),
		cmocka_unit_test(loss_found_by_probe),
		cmocka_unit_test(no_undo_when_open),
		cmocka_unit_test(timed_out),
		cmocka_unit_test(unheard),
		cmocka_unit_test(unheard_whatever_the_cc_does),
		cmocka_unit_test(timeout_in_recovery),
		cmocka_unit_test(limit_of_a_recovery),
		cmocka_unit_test(loss_window),
		cmocka_unit_test(loss_window_again),
		cmocka_unit_test(flight_of_a_recovery),
		cmocka_unit_test(limit_is_over),
		cmocka_unit_test(recovery_that_left_nothing),
		cmocka_unit_test(recovery_of_an_application),
		cmocka_unit_test(mark_after_a_recovery),
		cmocka_unit_test(limit_after_a_mark),
		cmocka_unit_test(recovery_after_a_mark),
		cmocka_unit_test(second_reduction),
		cmocka_unit_test(mark_and_loss),
		cmocka_unit_test(mark_without_delivery),
		cmocka_unit_test(losses_in_loss),
		cmocka_unit_test(undo_of_timeout),
		cmocka_unit_test(sane),
		cmocka_unit_test(segment_size),
	};

	return cmocka_run_group_tests_name("ca", tests, NULL, NULL);
}
