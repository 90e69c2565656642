// SPDX-License-Identifier: GPL-2.0-only
/* A half-flow that moves to another host (datapath/sender/saved.c): the record, and what it is for. */
#include "datapath/sender/saved.c"
#include "datapath/sender/window.h"

#define send send_segments	/* the C library has another */
#include "conn.h"

#define SEGS	20
#define ACKED	8

/* A guest of 10.0.0.1:40000 that has sent SEGS segments; ACKED of them are acknowledged. */
static struct tcon_saved saved_flow(void)
{
	struct conn *c = conn_open(true);
	struct tcon_window w = {};
	struct tcon_ecn e = { .agreed = true, .asked = true, .exact = true, .ce_bytes = 77 };
	struct tcon_saved s;

	send(c, SEGS);
	wait_us(c, RTT_US);
	ack(c, ACKED);
	c->t.cc.cwnd_bytes = 30 * MSS;
	c->t.cc.ssthresh_bytes = 25 * MSS;
	c->t.cc.last_rate_bps = 8000000;
	tcon_window_observe(&w, FIRST + ACKED * MSS, 500, 7, c->now_us);
	tcon_saved_take(&s, &c->t, &w, &e);
	conn_close(c);

	s.key.family = AF_INET;
	memcpy(&s.key.guest, "\x0a\x00\x00\x01", 4);
	memcpy(&s.key.peer, "\x0a\x00\x01\x02", 4);
	s.key.gport = htons(40000);
	s.key.pport = htons(443);
	s.key.vlans[0] = 43;
	s.wire_bytes = 1448;
	s.guest_ack = PEER_ISN + 1;
	s.guest_edge = PEER_ISN + 1 + 65536;
	memcpy(s.cc, "cubic", sizeof("cubic"));
	return s;
}

static struct tcon_state_record record_of_flow(void)
{
	struct tcon_saved s = saved_flow();
	struct tcon_state_record r;

	tcon_saved_write(&s, &r);
	return r;
}

static struct tcon_packet next_segment(const struct tcon_saved *s)
{
	struct tcon_packet pkt = segment(TCON_TCP_ACK, s->nxt_guest, s->guest_ack);

	pkt.payload_bytes = MSS;
	pkt.end_seq += MSS;
	pkt.has_ts = s->has_ts;
	pkt.tsval = s->guest_tsval;
	return pkt;
}

/* Version 1, byte by byte: whoever changes it needs another version. */
static void layout(void **state)
{
	static const u8 want[] =
		"\x00\x01\x00\xa8\x00\x00\x00\xd3"	/* version, length, flags */
		"\x04\x07\x07\x00\x00\x2b\x00\x00"	/* family, scales, VLANs */
		"\x9c\x40\x01\xbb"			/* ports */
		"\x0a\x00\x00\x01\0\0\0\0\0\0\0\0\0\0\0\0"
		"\x0a\x00\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0"
		"\x03\xe8\x03\xe8"			/* MSS */
		"\xff\xff\xff\xf0\x00\x00\x1b\x58"	/* ISNs */
		"\x00\x00\x1f\x31\x00\x00\x4e\x11\x00\x00\x4e\x11"
		"\x00\x01\x19\x31\x00\x01\x19\x31"	/* edges */
		"\x00\x00\x1b\x59\x00\x01\x1b\x59\x00\x00\x1b\x59"
		"\x00\x00\x00\x00"			/* TSval */
		"\x00\x00\x27\x10\x00\x00\x0e\xa6\x00\x00\x27\x10"
		"\x00\x00\x75\x30\x00\x00\x61\xa8"	/* cwnd, ssthresh */
		"\x00\x00\x00\x4d"			/* marked bytes */
		"\x00\x00\x05\xa8"			/* a full segment */
		"\x00\x00\x00\x00\x00\x7a\x12\x00"	/* rate */
		"cubic\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
	struct tcon_state_record r = record_of_flow();

	assert_int_equal(sizeof(want), sizeof(r));
	assert_memory_equal(&r, want, sizeof(r));
}

/* A record reads as it was written, at any address. */
static void survives(void **state)
{
	struct tcon_state_record r = record_of_flow(), again;
	u8 raw[sizeof(r) + 1];
	struct tcon_saved s;

	memcpy(raw + 1, &r, sizeof(r));
	assert_null(tcon_saved_read(&s, raw + 1, sizeof(r)));
	tcon_saved_write(&s, &again);
	assert_memory_equal(&r, &again, sizeof(r));
	assert_true(s.guest.acked && s.peer.acked && s.ecn.answered);
	assert_int_equal(s.key.port_id, 0);
	assert_string_equal(s.cc, "cubic");
}

static void cut_off(void **state)
{
	struct tcon_state_record r = record_of_flow();
	u8 raw[sizeof(r) + 1] = {};
	struct tcon_saved s;
	size_t bytes;

	memcpy(raw, &r, sizeof(r));
	for (bytes = 0; bytes <= sizeof(raw); bytes++) {
		u8 *exact = malloc(bytes + !bytes);	/* ASan sees a byte too far */

		memcpy(exact, raw, bytes);
		if (bytes == sizeof(r))
			assert_null(tcon_saved_read(&s, exact, bytes));
		else
			assert_string_equal(tcon_saved_read(&s, exact, bytes), bytes < 4 ?
					    "the record is cut off" :
					    "the record has a wrong length");
		free(exact);
	}
}

/* One field of a good record, and the complaint about it. */
struct bad {
	size_t at;
	size_t bytes;
	u64 value;
	const char *says;
};

#define FIELD(name)	offsetof(struct tcon_state_record, name), \
			sizeof(((struct tcon_state_record *)0)->name)
#define GUEST_SEQ	"the record's sequence numbers of the guest contradict each other"
#define PEER_SEQ	"the record's sequence numbers of the peer contradict each other"
#define RTTS		"the record's round-trip times are impossible"

static const struct bad bad[] = {
	{ FIELD(version), 0, "the record is of another version" },
	{ FIELD(version), 2, "the record is of another version" },
	{ FIELD(version), 0x100, "the record is of another version" },
	{ FIELD(bytes), 167, "the record has a wrong length" },
	{ FIELD(flags), 0x20d3, "the record has flags that this tcon.ko does not know" },
	{ FIELD(zero), 1, "the record has flags that this tcon.ko does not know" },
	{ FIELD(family), 2, "the record is of an unknown address family" },
	{ FIELD(guest_port), 0, "the record's addresses or ports are impossible" },
	{ FIELD(peer_port), 0, "the record's addresses or ports are impossible" },
	{ offsetof(struct tcon_state_record, guest) + 8, 4, 1,
	  "the record's addresses or ports are impossible" },
	{ offsetof(struct tcon_state_record, vlans), 2, 4097,
	  "the record's VLAN tags are impossible" },
	{ offsetof(struct tcon_state_record, vlans), 4, 5,	/* an inner one without an outer */
	  "the record's VLAN tags are impossible" },
	{ FIELD(guest_wscale), 15, "the record's window scale is out of range" },
	{ FIELD(peer_wscale), 254, "the record's window scale is out of range" },
	{ offsetof(struct tcon_state_record, cc) + 1, 1, ' ',
	  "the record's name of a CC is malformed" },
	{ offsetof(struct tcon_state_record, cc) + 31, 1, 'x',
	  "the record's name of a CC is malformed" },
	{ FIELD(flags), 0x1d3, "the record contradicts itself about ECN" },
	{ FIELD(flags), 0x93, "the record contradicts itself about ECN" },
	{ FIELD(flags), 0x83, "the record contradicts itself about ECN" },
	{ FIELD(flags), 0xdb, "the record has a time stamp of a connection without them" },
	{ FIELD(una), 0x4e12, GUEST_SEQ },
	{ FIELD(nxt), 0x4e12, GUEST_SEQ },
	{ FIELD(nxt_guest), 0x40001f32, GUEST_SEQ },
	{ FIELD(edge), 0x1f30, GUEST_SEQ },
	{ FIELD(edge), 0x40001f32, GUEST_SEQ },
	{ FIELD(peer_edge), 0x1f30, GUEST_SEQ },
	{ FIELD(guest_edge), 0x1b58, PEER_SEQ },
	{ FIELD(peer_nxt), 0x1b58, PEER_SEQ },
	{ FIELD(srtt_us), 0, RTTS },
	{ FIELD(srtt_us), 120000001, RTTS },
	{ FIELD(rttvar_us), 120000001, RTTS },
	{ FIELD(min_rtt_us), 0, RTTS },
	{ FIELD(min_rtt_us), 120000001, RTTS },
	{ FIELD(min_rtt_us), 0xffffffff, RTTS },
	{ FIELD(cwnd_bytes), 0x40000001, "the record's cwnd or rate is out of range" },
	{ FIELD(ssthresh_bytes), 0x80000000, "the record's cwnd or rate is out of range" },
	{ FIELD(wire_bytes), 65536, "the record's segments are too long" },
	{ FIELD(rate_bps), 1000000000001ULL, "the record's cwnd or rate is out of range" },
};

static void refused(void **state)
{
	struct tcon_saved s;
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct tcon_state_record r = record_of_flow();

		for (k = 0; k < bad[i].bytes; k++)
			((u8 *)&r)[bad[i].at + k] = bad[i].value >> 8 * (bad[i].bytes - 1 - k);
		assert_string_equal(tcon_saved_read(&s, &r, sizeof(r)), bad[i].says);
	}
}

/* A guest's first segment, as it differs from the next one; is it believed? */
static void first_segment(void **state)
{
	const u32 window = 64000;	/* 500 << 7, from una */
	static const struct {
		s32 seq, ack;
		u8 flags;
		bool ts, goes_on;
	} step[] = {
		{ 0, 0, TCON_TCP_ACK, false, true },
		{ 0, 1, TCON_TCP_ACK, false, true },
		{ 0, -1, TCON_TCP_ACK, false, false },
		{ 0, 65536, TCON_TCP_ACK, false, true },
		{ 0, 65538, TCON_TCP_ACK, false, false },
		{ -12 * (s32)MSS, 0, TCON_TCP_ACK, false, true },	/* una again */
		{ -12 * (s32)MSS - 1, 0, TCON_TCP_ACK, false, true },	/* keep-alive */
		{ -12 * (s32)MSS - 2, 0, TCON_TCP_ACK, false, false },
		{ 52000, 0, TCON_TCP_ACK, false, true },		/* the edge */
		{ 52001, 0, TCON_TCP_ACK, false, false },
		{ 0x40000000, 0, TCON_TCP_ACK, false, false },
		{ 0, 0, 0, false, false },
		{ 0, 0, TCON_TCP_ACK, true, false },	/* time stamps of another connection */
	};
	struct tcon_saved s = saved_flow();
	size_t i;

	assert_int_equal(s.edge - s.una, window);
	for (i = 0; i < ARRAY_SIZE(step); i++) {
		struct tcon_packet pkt = next_segment(&s);

		pkt.seq += step[i].seq;
		pkt.ack += step[i].ack;
		pkt.flags = step[i].flags;
		pkt.has_ts = step[i].ts;
		assert_int_equal(tcon_saved_goes_on(&s, &pkt), step[i].goes_on);
	}
}

/* The guest went on for a while after the record was made: its clock says for how long. */
static void gone_on(void **state)
{
	struct tcon_saved s = saved_flow();
	struct tcon_packet pkt;
	u32 window = s.edge - s.una;

	s.has_ts = true;
	s.has_tsval = true;
	s.guest_tsval = 0xfffffff0;
	pkt = next_segment(&s);
	pkt.tsval += 50;	/* ms: five round trips */
	pkt.seq = s.una - 1 + 6 * (window + 1);
	assert_true(tcon_saved_goes_on(&s, &pkt));
	pkt.seq++;
	assert_false(tcon_saved_goes_on(&s, &pkt));
	pkt.seq--;
	pkt.tsval -= 1;		/* not quite */
	assert_false(tcon_saved_goes_on(&s, &pkt));
	pkt = next_segment(&s);
	pkt.tsval--;		/* before the record */
	assert_false(tcon_saved_goes_on(&s, &pkt));
	pkt.tsval += 0x7fffffff;	/* never more than any window */
	pkt.seq = s.una + 0x40000000;
	assert_false(tcon_saved_goes_on(&s, &pkt));
}

/* A flow whose packets passed unseen: its SYNs and round trips are known, nothing is in flight. */
static void unseen(void **state)
{
	struct tcon_saved s = saved_flow();
	struct tcon_state_record r;
	struct tcon_track t;

	s.unseen = true;
	tcon_saved_write(&s, &r);
	assert_null(tcon_saved_read(&s, &r, sizeof(r)));
	assert_true(s.unseen);
	tcon_track_init(&t, NULL);
	tcon_saved_restore_unseen(&s, 50 * RTT_US, &t);
	assert_true(t.synced && tcon_track_established(&t));
	assert_int_equal(t.guest.wscale, s.guest.wscale);
	assert_int_equal(t.cc.mss_bytes, MSS);
	assert_int_equal(t.cc.srtt_us, s.srtt_us);
	assert_int_equal(t.cc.una, s.una);
	assert_int_equal(t.cc.nxt, s.una);
	assert_int_equal(t.nxt_guest, s.una);
	assert_int_equal(t.cc.inflight_bytes, 0);
	tcon_track_release(&t);
}

/* Before the guest sends, its peer may: only what the guest will take counts. */
static void peer_first(void **state)
{
	struct tcon_saved s = saved_flow(), before = s;
	struct tcon_packet pkt = segment(TCON_TCP_ACK, s.peer_nxt, s.una + MSS);

	pkt.window = 600;
	pkt.seq = s.guest_edge + 1;
	pkt.end_seq = pkt.seq;
	tcon_saved_heard(&s, &pkt);
	pkt.seq = s.guest_ack - 2;
	pkt.end_seq = pkt.seq + 1;
	tcon_saved_heard(&s, &pkt);
	pkt.seq = s.peer_nxt;
	pkt.end_seq = pkt.seq;
	pkt.ack = s.nxt_guest + 1;	/* of what was not sent */
	tcon_saved_heard(&s, &pkt);
	pkt.ack = s.una - 1;
	tcon_saved_heard(&s, &pkt);
	assert_memory_equal(&s, &before, sizeof(s));
	pkt.ack = s.una + MSS;
	pkt.end_seq = pkt.seq + 10;
	tcon_saved_heard(&s, &pkt);
	assert_int_equal(s.una, before.una + MSS);
	assert_int_equal(s.peer_nxt, before.peer_nxt + 10);
	assert_int_equal(s.edge, s.una + (600 << 7));
	assert_int_equal(s.peer_edge, s.edge);
}

static void mock_init(struct tcon_cc *cc, u64 now_us)
{
}

/* Goes on: in flight what was, RTT and rate known, cwnd as it was under the same CC. */
static void restored(void **state)
{
	static const struct tcon_cc_ops ops = { .name = "cubic", .init = mock_init };
	struct tcon_saved s = saved_flow();
	struct tcon_packet pkt = next_segment(&s);
	struct conn *c = conn_new();
	struct tcon_window w = {};
	static const s64 params[1];

	tcon_saved_restore(&s, &pkt, true, c->now_us, &c->t, &w);
	assert_true(tcon_track_established(&c->t));
	assert_true(tcon_track_sack(&c->t));
	assert_int_equal(tcon_track_peer_wscale(&c->t), 7);
	assert_int_equal(c->t.cc.mss_bytes, MSS);
	assert_int_equal(c->t.cc.una, FIRST + ACKED * MSS);
	assert_int_equal(c->t.cc.nxt, FIRST + SEGS * MSS);
	assert_int_equal(c->t.nxt_guest, FIRST + SEGS * MSS);
	assert_int_equal(c->t.cc.inflight_bytes, (SEGS - ACKED) * MSS);
	assert_int_equal(c->t.cc.srtt_us, RTT_US);
	assert_int_equal(c->t.cc.min_rtt_us, RTT_US);
	assert_int_equal(c->t.cc.last_rate_bps, 8000000);
	assert_true(w.valid);
	assert_int_equal(w.edge, s.edge);
	assert_int_equal(tcon_ca_start(&c->t, &ops, params, c->now_us), 0);
	assert_int_equal(c->t.cc.cwnd_bytes, 30 * MSS);
	assert_int_equal(c->t.cc.ssthresh_bytes, 25 * MSS);
	assert_int_equal(c->t.resume_bytes, 0);
	tcon_ca_stop(&c->t);

	send(c, 1);
	wait_us(c, 100);	/* the other host's data is acknowledged at once */
	ack(c, SEGS);
	assert_true(c->ack.rs.is_app_limited);
	assert_int_equal(c->t.cc.min_rtt_us, RTT_US);
	assert_int_equal(c->t.cc.inflight_bytes, MSS);
	wait_us(c, RTT_US);
	ack(c, SEGS + 1);
	assert_int_equal(c->t.cc.inflight_bytes, 0);
	assert_int_equal(c->t.cc.delivered_bytes, (SEGS - ACKED + 1) * MSS);
	conn_close(c);
}

/* Another CC starts over; a guest that went on has as much in flight as before. */
static void restored_later(void **state)
{
	struct tcon_saved s = saved_flow();
	struct tcon_packet pkt = next_segment(&s);
	struct conn *c = conn_new();
	struct tcon_window w = {};

	pkt.seq += 30 * MSS;
	pkt.end_seq += 30 * MSS;
	tcon_saved_restore(&s, &pkt, false, c->now_us, &c->t, &w);
	assert_int_equal(c->t.resume_bytes, 0);
	assert_int_equal(c->t.cc.ssthresh_bytes, 0);
	assert_int_equal(c->t.cc.nxt, pkt.seq);
	assert_int_equal(c->t.nxt_guest, pkt.seq);
	assert_int_equal(c->t.cc.inflight_bytes, (SEGS - ACKED) * MSS);
	assert_false(seq_before(w.edge, c->t.cc.una));
	conn_close(c);

	/* Right after the start of the clock, nothing is earlier than that. */
	c = conn_new();
	memset(&w, 0, sizeof(w));
	tcon_saved_restore(&s, &pkt, false, 1, &c->t, &w);
	assert_int_equal(c->t.first_tx_us, 0);
	conn_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),
		cmocka_unit_test(survives),
		cmocka_unit_test(cut_off),
		cmocka_unit_test(refused),
		cmocka_unit_test(first_segment),
		cmocka_unit_test(gone_on),
		cmocka_unit_test(unseen),
		cmocka_unit_test(peer_first),
		cmocka_unit_test(restored),
		cmocka_unit_test(restored_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
