// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of half-flows that another host gives (datapath/sender/saved.c): any bytes as a record,
 * and whatever is taken for one is written as it was read.  If the guest's first segment
 * fits, all that the tracker promises must hold from then on, whatever the ends do.
 *
 * An input is raw, or a good record with some bytes changed; then come a segment of
 * the guest and steps.
 */
#include <asm/byteorder.h>

#include "datapath/sender/acked.h"
#include "datapath/sender/ca.h"
#include "datapath/sender/handshake.h"
#include "datapath/sender/loss.h"
#include "datapath/sender/saved.h"
#include "datapath/sender/sent.h"
#include "datapath/sender/timer.h"
#include "datapath/sender/window.h"

#include "tests/unit/copies.h"
#include "tracker.h"

#define STEPS_MAX	64

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* As from a guest that has 8 of 20 segments acknowledged. */
static struct tcon_state_record good(void)
{
	struct tcon_state_record r = {
		.version = htons(TCON_STATE_VERSION),
		.bytes = htons(sizeof(r)),
		.flags = htonl(TCON_STATE_GUEST_SACK | TCON_STATE_PEER_SACK |
			       TCON_STATE_TS | TCON_STATE_TSVAL),
		.family = 4, .guest_wscale = 7, .peer_wscale = 7,
		.guest_port = htons(40000), .peer_port = htons(443),
		.guest = { 10, 0, 0, 1 }, .peer = { 10, 0, 1, 2 },
		.guest_mss = htons(1460), .peer_mss = htons(1460),
		.guest_isn = htonl(0xfffffff0), .peer_isn = htonl(7000),
		.una = htonl(0xfffffff1 + 8000), .nxt = htonl(0xfffffff1 + 20000),
		.nxt_guest = htonl(0xfffffff1 + 25000), .edge = htonl(0xfffffff1 + 72000),
		.peer_edge = htonl(0xfffffff1 + 72000),
		.guest_ack = htonl(7001), .guest_edge = htonl(72537), .peer_nxt = htonl(7001),
		.guest_tsval = htonl(1000), .srtt_us = htonl(12000), .rttvar_us = htonl(2000),
		.min_rtt_us = htonl(10000), .cwnd_bytes = htonl(30000),
		.ssthresh_bytes = htonl(25000), .rate_bps = cpu_to_be64(8000000),
		.cc = "mock",
	};

	return r;
}

/* Reads a record of exactly its length, so that a byte beyond it is noticed. */
static bool read_record(struct tcon_saved *s, const u8 *data, size_t bytes)
{
	u8 *exact = malloc(bytes + !bytes);
	struct tcon_state_record again;
	const char *why;

	memcpy(exact, data, bytes);
	why = tcon_saved_read(s, exact, bytes);
	WARN_ON(why && !*why);
	if (!why) {
		tcon_saved_write(s, &again);
		WARN_ON(bytes != sizeof(again) || memcmp(exact, &again, bytes));
	}
	free(exact);
	return !why;
}

static bool get_record(struct tcon_saved *s, struct input *in)
{
	struct tcon_state_record r = good();
	u8 n = get_u8(in);
	unsigned int at;
	size_t left;

	if (n & 0x80) {
		left = in->left;
		in->left = 0;
		return read_record(s, in->at, left);
	}
	for (n &= 0x0f; n; n--) {
		at = get_u8(in);
		((u8 *)&r)[at % sizeof(r)] = get_u8(in);
	}
	return read_record(s, (const u8 *)&r, sizeof(r));
}

static struct tcon_packet get_packet(struct input *in, u32 seq, u32 ack)
{
	struct tcon_packet pkt = {
		.flags = TCON_TCP_ACK,
		.wscale = TCON_WSCALE_NONE,
		.seq = seq,
		.ack = ack,
		.window = get_u32(in),
		.payload_bytes = get_u8(in) * 100,
	};

	pkt.end_seq = seq + pkt.payload_bytes;
	return pkt;
}

static void step(struct tcon_track *t, struct input *in, u64 now_us)
{
	u32 span = t->cc.nxt - t->cc.una, start;
	struct tcon_packet pkt;
	struct tcon_ack ack;
	u8 what = get_u8(in);

	if (what & 1) {
		start = t->cc.una + get_u32(in) % (span + 3000);
		pkt = get_packet(in, start, t->peer_nxt);
		if (pkt.payload_bytes)
			tcon_sent_segment(t, start, pkt.end_seq, pkt.payload_bytes, now_us);
		return;
	}
	pkt = get_packet(in, t->peer_nxt, t->cc.una + get_u32(in) % (span + 3));
	if (what & 2) {
		pkt.n_sacks = 1;
		pkt.sacks[0].start = t->cc.una + get_u32(in) % (span + 3);
		pkt.sacks[0].end = pkt.sacks[0].start + get_u32(in) % (span + 3);
	}
	tcon_acked(t, &pkt, now_us, &ack);
	if (ack.valid)
		tcon_ca_ack(t, &ack);
}

static void play(const struct tcon_saved *s, const struct tcon_packet *pkt, struct input *in)
{
	static const s64 params[TCON_MAX_PARAMS];
	struct tcon_window w = {};
	u64 now_us = get_u32(in);
	struct tcon_track t;
	unsigned int i;

	tcon_track_init(&t, NULL);
	tcon_saved_restore(s, pkt, get_u8(in) & 1, now_us, &t, &w);
	check_tracker(&t);
	WARN_ON(!tcon_track_established(&t));
	WARN_ON(seq_before(t.nxt_guest, t.cc.nxt) || seq_before(w.edge, t.cc.una));
	WARN_ON(tcon_ca_start(&t, &mock, params, now_us));
	WARN_ON(!tcon_ca_sane(&t.cc));
	for (i = 0; i < STEPS_MAX && in->left; i++) {
		now_us += get_u32(in) >> 12;
		step(&t, in, now_us);
		check_tracker(&t);
	}
	tcon_ca_stop(&t);
	tcon_track_release(&t);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { .at = data, .left = size };
	struct tcon_packet pkt;
	struct tcon_saved s;
	u32 span;

	if (!get_record(&s, &in))
		return 0;
	pkt = get_packet(&in, s.peer_nxt, s.una + get_u32(&in));
	tcon_saved_heard(&s, &pkt);
	WARN_ON(seq_after(s.una, s.nxt) || seq_after(s.una, s.nxt_guest));
	span = s.edge - s.una;
	pkt = get_packet(&in, s.una + get_u32(&in) % (2 * span + 2),
			 s.guest_ack + (get_u32(&in) & 0xffff));
	pkt.has_ts = get_u8(&in) & 1 ? s.has_ts : !s.has_ts;
	pkt.tsval = s.guest_tsval + (get_u32(&in) >> get_u8(&in) % 32);
	if (tcon_saved_goes_on(&s, &pkt))
		play(&s, &pkt, &in);
	return 0;
}
