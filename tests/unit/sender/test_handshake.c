// SPDX-License-Identifier: GPL-2.0-only
/* How a connection begins (datapath/sender/handshake.c): SYNs, agreement, a start in the middle. */

#include "conn.h"

static void handshake_active(void **state)
{
	struct conn *c = conn_new();

	guest_syn(c, 0, 0, true);
	assert_true(c->t.synced);
	assert_int_equal(c->t.cc.una, ISN);
	assert_int_equal(c->t.cc.nxt, FIRST);
	assert_int_equal(c->t.nxt_guest, FIRST);
	assert_int_equal(c->t.cc.inflight_bytes, 1);
	assert_false(c->t.guest.acked);
	wait_us(c, RTT_US);
	peer_syn(c, TCON_TCP_ACK, FIRST, true);
	assert_true(c->ack.valid);
	assert_true(c->ack.una_advanced);
	assert_false(c->ack.delivered_any);	/* a SYN is no payload */
	assert_true(c->t.guest.acked);
	assert_false(tcon_track_established(&c->t));
	assert_int_equal(c->t.cc.una, FIRST);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	assert_int_equal(c->t.cc.delivered_bytes, 0);
	assert_int_equal(c->t.acked_bytes, 0);
	assert_int_equal(c->t.cc.srtt_us, RTT_US);
	assert_int_equal(c->t.cc.min_rtt_us, RTT_US);
	assert_int_equal(c->t.cc.mss_bytes, MSS);
	assert_int_equal(c->t.peer_nxt, PEER_ISN + 1);
	assert_int_equal(tcon_track_peer_wscale(&c->t), 7);
	assert_true(tcon_track_sack(&c->t));
	conn_close(c);
}

static void handshake_passive(void **state)
{
	struct conn *c = conn_new();

	peer_syn(c, 0, 0, true);
	assert_false(c->t.synced);
	guest_syn(c, TCON_TCP_ACK, PEER_ISN + 1, true);
	assert_true(c->t.peer.acked);
	assert_false(tcon_track_established(&c->t));
	wait_us(c, RTT_US);
	ack(c, 0);
	assert_true(tcon_track_established(&c->t));
	assert_int_equal(c->t.cc.srtt_us, RTT_US);
	assert_int_equal(c->t.cc.delivered_bytes, 0);
	conn_close(c);
}

/* Both open at once (RFC 9293, 3.5): SYNs cross, each is answered. */
static void handshake_simultaneous(void **state)
{
	struct conn *c = conn_new();

	guest_syn(c, 0, 0, true);
	wait_us(c, RTT_US / 2);
	peer_syn(c, 0, 0, true);
	assert_false(c->t.guest.acked);
	guest_syn(c, TCON_TCP_ACK, PEER_ISN + 1, true);
	assert_true(c->t.peer.acked);
	assert_false(c->t.guest.ambiguous);
	assert_int_equal(c->t.cc.nxt, FIRST);
	wait_us(c, RTT_US / 2);
	peer_syn(c, TCON_TCP_ACK, FIRST, true);
	assert_true(tcon_track_established(&c->t));
	assert_false(c->t.peer.ambiguous);
	assert_int_equal(c->t.cc.una, FIRST);
	conn_close(c);
}

/* An answer to another SYN acknowledges nothing. */
static void handshake_wrong_answer(void **state)
{
	struct conn *c = conn_new();

	peer_syn(c, 0, 0, true);
	guest_syn(c, TCON_TCP_ACK, PEER_ISN + 2, true);
	assert_false(c->t.peer.acked);
	conn_close(c);
}

/* A repeated SYN: no RTT, and a scale only if they agree. */
static void syn_repeated(void **state)
{
	struct conn *c = conn_new();
	struct tcon_packet pkt;

	guest_syn(c, 0, 0, true);
	wait_us(c, 1000000);
	guest_syn(c, 0, 0, true);
	assert_false(c->t.guest.ambiguous);
	assert_int_equal(c->t.cc.nxt, FIRST);
	wait_us(c, RTT_US);
	peer_syn(c, TCON_TCP_ACK, FIRST, true);
	assert_int_equal(c->ack.rs.rtt_us, -1);
	assert_int_equal(c->t.cc.srtt_us, 0);
	assert_int_equal(tcon_track_rto_us(&c->t), TCON_RTO_INIT_US);

	pkt = syn_segment(0, ISN, 0, true);
	pkt.wscale = 8;
	tcon_handshake_guest(&c->t, &pkt, c->now_us);
	assert_true(c->t.guest.ambiguous);
	assert_true(c->t.guest.acked);
	pkt.wscale = 8;				/* stays so */
	tcon_handshake_guest(&c->t, &pkt, c->now_us);
	assert_true(c->t.guest.ambiguous);

	pkt = syn_segment(TCON_TCP_ACK, PEER_ISN, FIRST, true);
	pkt.wscale = TCON_WSCALE_NONE;
	tcon_handshake_peer(&c->t, &pkt);
	assert_true(c->t.peer.ambiguous);
	pkt.seq++;				/* another connection's */
	tcon_handshake_peer(&c->t, &pkt);
	assert_false(c->t.peer.ambiguous);
	assert_false(c->t.peer.acked);
	conn_close(c);
}

/* Once both ends have agreed, a late SYN changes nothing. */
static void syn_when_established(void **state)
{
	struct conn *c = conn_open(true);
	struct tcon_packet pkt;

	send(c, 3);
	pkt = syn_segment(0, ISN, 0, false);
	pkt.wscale = 2;
	pkt.mss = 200;
	tcon_handshake_guest(&c->t, &pkt, c->now_us);
	pkt.flags |= TCON_TCP_ACK;
	pkt.seq = PEER_ISN;
	pkt.end_seq = PEER_ISN + 1;
	c->t.peer_nxt += 500;
	tcon_handshake_peer(&c->t, &pkt);
	assert_true(tcon_track_established(&c->t));
	assert_false(c->t.guest.ambiguous);
	assert_false(c->t.peer.ambiguous);
	assert_int_equal(tcon_track_peer_wscale(&c->t), 7);
	assert_true(tcon_track_sack(&c->t));
	assert_int_equal(c->t.cc.mss_bytes, MSS);
	assert_int_equal(c->t.peer_nxt, PEER_ISN + 501);
	assert_int_equal(c->t.cc.inflight_bytes, 3 * MSS);
	conn_close(c);
}

static void mss_agreed(void **state)
{
	static const struct {
		u16 guest, peer;
		bool guest_ts, peer_ts;
		u32 mss;
	} row[] = {
		{ 1460, 1460, false, false, 1460 },
		{ 1460, 1400, false, false, 1400 },
		{ 1300, 1400, false, false, 1300 },
		{ 1460, 1460, true, true, 1448 },
		{ 1460, 1460, true, false, 1460 },
		{ 1460, 0, false, false, 536 },
		{ 0, 1460, false, false, 1460 },
		{ 0, 0, true, true, 524 },
		{ 40, 1460, false, false, TCON_MSS_MIN },
		{ 5, 5, true, true, TCON_MSS_MIN },
		{ 65495, 65495, true, true, 65483 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(row); i++) {
		struct tcon_packet pkt = syn_segment(0, ISN, 0, true);
		struct tcon_track t;

		tcon_track_init(&t, NULL);
		pkt.mss = row[i].guest;
		pkt.has_ts = row[i].guest_ts;
		tcon_handshake_guest(&t, &pkt, START_US);
		pkt.mss = row[i].peer;
		pkt.has_ts = row[i].peer_ts;
		tcon_handshake_peer(&t, &pkt);
		assert_int_equal(t.cc.mss_bytes, row[i].mss);
		tcon_track_release(&t);
	}
}

static void resync(void **state)
{
	struct conn *c = conn_open(true);
	u32 ahead = FIRST + 50 * MSS;

	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 2);
	tcon_handshake_resync(&c->t, ahead, c->now_us);
	assert_int_equal(c->t.cc.una, ahead);
	assert_int_equal(c->t.cc.nxt, ahead);
	assert_int_equal(c->t.nxt_guest, ahead);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	assert_int_equal(c->t.sacked.n, 0);
	send(c, 2);
	ack_sack(c, 50, 51, 52);
	assert_int_equal(c->t.sacked.bytes, MSS);
	ack(c, 52);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	conn_close(c);
}

/* First seen in the middle of a connection. */
static void adopt(void **state)
{
	struct conn *c = conn_new();
	struct tcon_packet pkt = segment(TCON_TCP_ACK, FIRST + 3 * MSS, 1);

	tcon_handshake_adopt(&c->t, &pkt, MSS, c->now_us);
	assert_int_equal(c->t.cc.una, FIRST + 3 * MSS);
	assert_false(tcon_track_established(&c->t));
	assert_false(tcon_track_scaled(&c->t));
	send(c, 3);
	wait_us(c, RTT_US);
	ack_sack(c, 3, 4, 5);
	assert_int_equal(c->t.sacked.bytes, MSS);
	ack(c, 6);
	assert_int_equal(c->t.cc.delivered_bytes, 3 * MSS);
	assert_int_equal(c->t.cc.srtt_us, RTT_US);
	conn_close(c);
}

/* --- SYNs with data (RFC 7413) --- */

#define DATA	300U

static struct tcon_packet with_data(u8 flags, u32 seq, u32 ack, u32 bytes)
{
	struct tcon_packet pkt = syn_segment(flags, seq, ack, true);

	pkt.payload_bytes = bytes;
	pkt.end_seq += bytes;
	return pkt;
}

static void guest_opens(struct conn *c, u32 bytes)
{
	struct tcon_packet pkt = with_data(0, ISN, 0, bytes);

	tcon_handshake_guest(&c->t, &pkt, c->now_us);
}

/* The peer answers, with @bytes of its own. */
static void peer_answers(struct conn *c, u32 ack, u32 bytes)
{
	struct tcon_packet pkt = with_data(TCON_TCP_ACK, PEER_ISN, ack, bytes);

	wait_us(c, RTT_US);
	tcon_handshake_peer(&c->t, &pkt);
	tcon_acked(&c->t, &pkt, c->now_us, &c->ack);
	check(c);
}

/* All of the SYN's data is taken. */
static void data_taken(void **state)
{
	struct conn *c = conn_new();

	guest_opens(c, DATA);
	assert_int_equal(c->t.cc.nxt, FIRST + DATA);
	assert_true(tcon_side_answered(&c->t.guest, FIRST));
	assert_true(tcon_side_answered(&c->t.guest, FIRST + DATA));
	assert_false(tcon_side_answered(&c->t.guest, ISN));
	assert_false(tcon_side_answered(&c->t.guest, FIRST + DATA + 1));
	peer_answers(c, FIRST + DATA, 0);
	assert_true(c->t.guest.acked);
	assert_int_equal(c->t.cc.una, FIRST + DATA);
	assert_int_equal(c->t.acked_bytes, DATA);
	assert_int_equal(c->t.cc.delivered_bytes, DATA);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	assert_int_equal(c->t.cc.srtt_us, RTT_US);
	conn_close(c);
}

/* None of it, or a part: the rest was never sent, so that its repeat is none, nor a time-out,
 * whenever it comes.
 */
static void data_refused(void **state)
{
	static const u32 taken[] = { 0, 1, DATA - 1 };
	struct conn *c;
	u32 i, again;

	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		for (again = 0; again < 2; again++) {
			c = conn_new();
			guest_opens(c, DATA);
			if (again)
				guest_opens(c, DATA);
			peer_answers(c, FIRST + taken[i], 0);
			assert_true(c->t.guest.acked);
			assert_int_equal(c->t.cc.una, FIRST + taken[i]);
			assert_int_equal(c->t.cc.nxt, c->t.cc.una);
			assert_int_equal(c->t.nxt_guest, c->t.cc.una);
			assert_int_equal(c->t.cc.inflight_bytes, 0);
			assert_int_equal(c->t.resent.n, 0);
			wait_us(c, TCON_RTO_INIT_US * 2);
			send_at(c, FIRST + taken[i], DATA - taken[i], TCON_SENT_NEW);
			assert_int_equal(c->t.cc.inflight_bytes, DATA - taken[i]);
			assert_int_equal(c->t.cc.lost_bytes, 0);
			conn_close(c);
		}
	}
}

/* A guest that repeats its SYN without the data: the first one may have arrived. */
static void repeated_without(void **state)
{
	static const u32 taken[] = { 0, DATA };
	struct conn *c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		c = conn_new();
		guest_opens(c, DATA);
		guest_opens(c, 0);
		assert_true(tcon_side_answered(&c->t.guest, FIRST + DATA));
		peer_answers(c, FIRST + taken[i], 0);
		assert_int_equal(c->t.cc.una, FIRST + taken[i]);
		assert_int_equal(c->t.cc.nxt, FIRST + taken[i]);
		conn_close(c);
	}
	c = conn_new();			/* and one that adds data later */
	guest_opens(c, 0);
	guest_opens(c, DATA);
	assert_int_equal(c->t.cc.nxt, FIRST + DATA);
	peer_answers(c, FIRST, 0);
	assert_int_equal(c->t.cc.nxt, FIRST);
	assert_int_equal(c->t.sendq.tail, c->t.sendq.head);
	conn_close(c);
}

/* Data behind an answer that acknowledges all is in flight as ever. */
/* The SYN was repeated after a time-out.  Its answer judges its own data, and no later data. */
static void refused_after_timeout(void **state)
{
	struct conn *c = conn_new();

	guest_opens(c, DATA);
	wait_us(c, TCON_RTO_INIT_US);
	guest_opens(c, 0);
	peer_answers(c, FIRST, 0);
	assert_int_equal(c->t.judged_edge, FIRST);
	c->t.peer.acked = true;
	wait_us(c, 1000);
	send(c, 5);
	wait_us(c, RTT_US);
	ack_sack(c, 0, 1, 5);
	assert_true(is_lost(c, 0, 1));
	conn_close(c);
}

static void late_answer(void **state)
{
	struct conn *c = conn_new();

	guest_opens(c, DATA);
	peer_answers(c, FIRST + DATA, 0);
	send(c, 2);
	peer_answers(c, FIRST, 0);
	assert_int_equal(c->t.cc.nxt, FIRST + DATA + 2 * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, 2 * MSS);
	conn_close(c);
}

/* Where what was sent is known from an ACK only, an old answer takes nothing back. */
static void answer_after_resync(void **state)
{
	struct conn *c = conn_new();
	struct tcon_packet pkt;

	guest_opens(c, DATA);
	tcon_handshake_resync(&c->t, FIRST + DATA, c->now_us);
	pkt = with_data(TCON_TCP_ACK, PEER_ISN, FIRST, 0);
	tcon_handshake_peer(&c->t, &pkt);
	assert_int_equal(c->t.cc.una, FIRST + DATA);
	assert_int_equal(c->t.cc.nxt, FIRST + DATA);
	conn_close(c);
}

/* The peer's data on its SYN-ACK, and behind it: the guest acknowledges what it likes. */
static void data_of_peer(void **state)
{
	struct conn *c = conn_new();

	guest_opens(c, 0);
	peer_answers(c, FIRST, DATA);
	assert_int_equal(c->t.peer_nxt, PEER_ISN + 1 + DATA);
	assert_false(tcon_track_answers_peer(&c->t, PEER_ISN));
	assert_true(tcon_track_answers_peer(&c->t, PEER_ISN + 1));
	assert_true(tcon_track_answers_peer(&c->t, PEER_ISN + 1 + DATA));
	assert_false(tcon_track_answers_peer(&c->t, PEER_ISN + 2 + DATA));
	conn_close(c);
}

/* The guest is the server: it takes the data of the peer's SYN, or not. */
static void guest_answers(void **state)
{
	static const u32 taken[] = { 0, DATA };
	struct tcon_packet pkt;
	struct conn *c;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(taken); i++) {
		c = conn_new();
		pkt = with_data(0, PEER_ISN, 0, DATA);
		tcon_handshake_peer(&c->t, &pkt);
		pkt = with_data(TCON_TCP_ACK, ISN, PEER_ISN + 1 + taken[i], i ? DATA : 0);
		tcon_handshake_guest(&c->t, &pkt, c->now_us);
		assert_true(c->t.peer.acked);
		assert_int_equal(c->t.nxt_guest, FIRST + (i ? DATA : 0));
		send(c, 1);		/* it need not wait */
		wait_us(c, RTT_US);
		pkt = segment(TCON_TCP_ACK, PEER_ISN + 1 + DATA, c->t.cc.nxt);
		take(c, &pkt);
		assert_true(tcon_track_established(&c->t));
		assert_int_equal(c->t.cc.inflight_bytes, 0);
		conn_close(c);
	}
	c = conn_new();
	pkt = with_data(0, PEER_ISN, 0, DATA);
	tcon_handshake_peer(&c->t, &pkt);
	pkt = with_data(TCON_TCP_ACK, ISN, PEER_ISN + 2 + DATA, 0);
	tcon_handshake_guest(&c->t, &pkt, c->now_us);
	assert_false(c->t.peer.acked);
	conn_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(handshake_active),
		cmocka_unit_test(handshake_passive),
		cmocka_unit_test(handshake_simultaneous),
		cmocka_unit_test(handshake_wrong_answer),
		cmocka_unit_test(syn_repeated),
		cmocka_unit_test(syn_when_established),
		cmocka_unit_test(mss_agreed),
		cmocka_unit_test(resync),
		cmocka_unit_test(adopt),
		cmocka_unit_test(data_taken),
		cmocka_unit_test(data_refused),
		cmocka_unit_test(repeated_without),
		cmocka_unit_test(refused_after_timeout),
		cmocka_unit_test(late_answer),
		cmocka_unit_test(answer_after_resync),
		cmocka_unit_test(data_of_peer),
		cmocka_unit_test(guest_answers),
	};

	return cmocka_run_group_tests_name("handshake", tests, NULL, NULL);
}
