/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection that a test plays packet by packet. */
#ifndef _TESTS_CONN_H
#define _TESTS_CONN_H

#include "datapath/sender/acked.h"
#include "datapath/sender/ca.h"
#include "datapath/sender/handshake.h"
#include "datapath/sender/loss.h"
#include "datapath/sender/sent.h"
#include "datapath/sender/timer.h"
#include "datapath/sender/track.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "copies.h"

#define MSS		1000U
#define RTT_US		10000U
#define ISN		0xfffffff0U	/* all tests cross 2^32 */
#define PEER_ISN	7000U
#define FIRST		(ISN + 1)
#define START_US	500000000ULL

/**
 * struct conn - a connection as a test plays it
 * @t: the tracker
 * @now_us: the time
 * @ack: what the last ACK did
 * @window: field that the peer sends
 * @reneged: bytes that the peer has thrown away after it had SACKed them
 */
struct conn {
	struct tcon_track t;
	u64 now_us;
	struct tcon_ack ack;
	u16 window;
	u32 reneged;
};

static inline struct tcon_packet segment(u8 flags, u32 seq, u32 ack)
{
	struct tcon_packet pkt = {
		.flags = flags,
		.seq = seq,
		.end_seq = seq + !!(flags & TCON_TCP_SYN),
		.ack = ack,
		.wscale = TCON_WSCALE_NONE,
	};

	return pkt;
}

static inline struct tcon_packet syn_segment(u8 flags, u32 seq, u32 ack, bool sack)
{
	struct tcon_packet pkt = segment(flags | TCON_TCP_SYN, seq, ack);

	pkt.mss = MSS;
	pkt.wscale = 7;
	pkt.sack_permitted = sack;
	pkt.window = 500;
	return pkt;
}

static inline void guest_syn(struct conn *c, u8 flags, u32 ack, bool sack)
{
	struct tcon_packet pkt = syn_segment(flags, ISN, ack, sack);

	tcon_handshake_guest(&c->t, &pkt, c->now_us);
}

static inline void peer_syn(struct conn *c, u8 flags, u32 ack, bool sack)
{
	struct tcon_packet pkt = syn_segment(flags, PEER_ISN, ack, sack);

	tcon_handshake_peer(&c->t, &pkt);
	if (flags & TCON_TCP_ACK)
		tcon_acked(&c->t, &pkt, c->now_us, &c->ack);
}

/* The rest is the same for each ACK: in flight, sums, order. */
static inline void check(const struct conn *c)
{
	const struct tcon_track *t = &c->t;
	u32 span = t->cc.nxt - t->cc.una, i;

	assert_true(t->cc.inflight_bytes <= span);
	assert_true(t->sacked.bytes + t->lost.bytes <= span);
	for (i = 0; i < t->sacked.n; i++)
		assert_int_equal(tcon_ranges_covered(&t->lost,
						     t->sacked.range[i].start,
						     t->sacked.range[i].end), 0);
	assert_true(t->cc.delivered_bytes <= (u32)(t->cc.nxt - ISN) + c->reneged);
}

static inline void send_at(struct conn *c, u32 start, u32 bytes, enum tcon_sent want)
{
	u32 nxt = c->t.cc.nxt;

	assert_int_equal(tcon_sent_segment(&c->t, start, start + bytes, bytes,
					 c->now_us), want);
	if (c->t.cc.nxt != nxt)
		assert_non_null(c->t.recorded);
	check(c);
}

/* @n new segments at once. */
static inline void send(struct conn *c, u32 n)
{
	while (n--)
		send_at(c, c->t.cc.nxt, MSS, TCON_SENT_NEW);
}

static inline void take(struct conn *c, const struct tcon_packet *pkt)
{
	tcon_acked(&c->t, pkt, c->now_us, &c->ack);
	check(c);
}

/* An ACK for @segs segments from the first, that SACKs segments @lo .. @hi. */
static inline void ack_sack(struct conn *c, u32 segs, u32 lo, u32 hi)
{
	struct tcon_packet pkt = segment(TCON_TCP_ACK, PEER_ISN + 1,
					 FIRST + segs * MSS);

	pkt.window = c->window;
	if (lo < hi) {
		pkt.n_sacks = 1;
		pkt.sacks[0].start = FIRST + lo * MSS;
		pkt.sacks[0].end = FIRST + hi * MSS;
	}
	take(c, &pkt);
	assert_true(c->ack.valid);
}

static inline void ack(struct conn *c, u32 segs)
{
	ack_sack(c, segs, 0, 0);
}

static inline void wait_us(struct conn *c, u64 us)
{
	c->now_us += us;
}

static inline struct conn *conn_new(void)
{
	struct conn *c = test_calloc(1, sizeof(*c));

	tcon_track_init(&c->t, NULL);
	c->now_us = START_US;
	c->window = 500;
	return c;
}

/* Through the handshake, with @sack or without; RTT 10 ms. */
static inline struct conn *conn_open(bool sack)
{
	struct conn *c = conn_new();

	guest_syn(c, 0, 0, sack);
	wait_us(c, RTT_US);
	peer_syn(c, TCON_TCP_ACK, FIRST, sack);
	c->t.peer.acked = true;		/* the guest's ACK: path.c sees it */
	assert_true(tcon_track_established(&c->t));
	wait_us(c, 1000);
	return c;
}

static inline void conn_close(struct conn *c)
{
	tcon_track_release(&c->t);
	test_free(c);
}

static inline bool is_lost(const struct conn *c, u32 lo, u32 hi)
{
	return tcon_ranges_covered(&c->t.lost, FIRST + lo * MSS,
				   FIRST + hi * MSS) == (hi - lo) * MSS;
}

#endif /* _TESTS_CONN_H */
