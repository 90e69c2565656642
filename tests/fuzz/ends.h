/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For the fuzzer of the datapath: a guest that sends a file, and a peer that reads it.
 *
 * Both are small, but real: the guest heeds the window that it was given (RFC 9293), has a
 * cwnd, fast retransmit and a timer (RFC 5681, 6582, 6298), probes a window that is closed;
 * the peer has a buffer that is read or not, delays ACKs, tells of what is beyond a hole,
 * and both throw away what PAWS (RFC 7323, 5) says is old.
 */
#ifndef _TESTS_ENDS_H
#define _TESTS_ENDS_H

#include <linux/ktime.h>
#include <linux/time64.h>

#include "tests/unit/receiver.h"
#include "segments.h"

#define PEER_ISN	77U
#define GUEST_WSCALE	3
#define GUEST_RTO_US	1000000U
#define GUEST_RTO_MAX_US 4000000U
#define NEVER		U64_MAX

struct world;

/* A segment of the guest's, or of the peer's, begins its way. */
static void guest_emits(struct world *x, struct tcon_packet *p);
static void peer_emits(struct world *x, struct tcon_packet *p);

/**
 * struct guest - the sender
 * @x: its world
 * @una: first byte not acknowledged
 * @nxt: next to be sent
 * @max: next to be sent for the first time
 * @end: of the file; then comes the FIN
 * @edge: of its window
 * @cwnd: bytes
 * @ssthresh: bytes
 * @recover: nxt when the recovery began
 * @recovering: there is one
 * @dup: duplicate ACKs in a row
 * @timer_ns: when its timer goes off
 * @quiet_ns: until then the application writes nothing
 * @timed: end of the segment whose round trip is taken
 * @timed_ns: when it left; 0: none
 * @srtt_us: smoothed
 * @rttvar_us: its variation
 * @backoff: time-outs in a row
 * @wscale: of the peer
 * @burst: most segments in a super-packet
 * @has_ts: time stamps
 * @sack: SACK-permitted
 * @open: the SYN was answered
 * @ts_recent: the peer's latest TSval
 */
struct guest {
	struct world *x;
	u32 una, nxt, max, end, edge;
	u32 cwnd, ssthresh, recover;
	bool recovering;
	u32 dup;
	u64 timer_ns, quiet_ns;
	u32 timed;
	u64 timed_ns;
	u32 srtt_us, rttvar_us;
	u8 backoff;
	u8 wscale;
	u32 burst;
	bool has_ts, sack, open;
	u32 ts_recent;
};

/**
 * struct peer - the receiver
 * @x: its world
 * @rx: ranges that have come
 * @edge: the highest that it has offered
 * @read: up to here the application has read
 * @buffer: bytes
 * @wscale: its own
 * @has_ts: time stamps
 * @open: it has seen the SYN
 * @ts_recent: the guest's latest TSval
 * @delay_ns: when the delayed ACK is due
 * @stop_ns: until then the application reads nothing
 */
struct peer {
	struct world *x;
	struct receiver rx;
	u32 edge, read, buffer;
	u8 wscale;
	bool has_ts, open;
	u32 ts_recent;
	u64 delay_ns, stop_ns;
};

static u32 now_ms(void)
{
	return shim_now_ns / NSEC_PER_MSEC;
}

static void guest_arm(struct guest *g)
{
	u32 rto_us = GUEST_RTO_US;

	if (g->srtt_us)
		rto_us = g->srtt_us + max(4 * g->rttvar_us, 200000U);
	rto_us = min_t(u64, (u64)rto_us << g->backoff, GUEST_RTO_MAX_US);
	g->timer_ns = shim_now_ns + rto_us * NSEC_PER_USEC;
}

static bool guest_done(const struct guest *g)
{
	return g->open && g->una == g->end + 1;
}

/* Sends @bytes from @seq on; @data: up to the end of the file with FIN. */
static void guest_segment(struct guest *g, u32 seq, u32 bytes, bool data)
{
	struct tcon_packet p = {
		.flags = TCON_TCP_ACK,
		.seq = seq,
		.payload_bytes = bytes,
		.ack = PEER_ISN + 1,
		.window = 1000,
		.has_ts = g->has_ts,
		.tsval = now_ms(),
		.tsecr = g->ts_recent,
	};

	p.end_seq = seq + bytes;
	if (data && p.end_seq == g->end) {
		p.flags |= TCON_TCP_FIN;
		p.end_seq++;
	}
	if (!g->timed_ns && seq_after(p.end_seq, g->max)) {
		g->timed = p.end_seq;
		g->timed_ns = shim_now_ns;
	}
	guest_emits(g->x, &p);
}

static void guest_syn(struct guest *g)
{
	struct tcon_packet p = {
		.flags = TCON_TCP_SYN,
		.seq = GUEST_ISN,
		.window = 64240,
		.mss = SEG_MSS + (g->has_ts ? 12 : 0),
		.wscale = GUEST_WSCALE,
		.sack_permitted = g->sack,
		.has_ts = g->has_ts,
		.tsval = now_ms(),
	};

	guest_emits(g->x, &p);
	guest_arm(g);
}

/* How much may it send from nxt on?  Without the FIN. */
static u32 guest_may_send(const struct guest *g)
{
	u32 to = seq_min(seq_min(g->edge, g->una + g->cwnd), g->end), bytes;

	if (!seq_after(to, g->nxt))
		return 0;
	bytes = min(to - g->nxt, g->burst * SEG_MSS);
	if (bytes >= SEG_MSS)
		bytes -= bytes == g->end - g->nxt ? 0 : bytes % SEG_MSS;
	else if (g->nxt + bytes != g->end && g->nxt != g->una)
		return 0;	/* RFC 9293, 3.8.6.2.1 */
	return bytes;
}

static void guest_output(struct guest *g)
{
	u32 bytes;

	if (!g->open || (shim_now_ns < g->quiet_ns && g->nxt == g->max))
		return;
	if (g->timer_ns == NEVER)
		guest_arm(g);
	while (seq_before(g->nxt, g->end + 1)) {
		bytes = guest_may_send(g);
		if (!bytes && !(g->nxt == g->end && seq_after(g->edge, g->end)))
			return;
		guest_segment(g, g->nxt, bytes, true);
		g->nxt += bytes;
		g->nxt += g->nxt == g->end;
		g->max = seq_max(g->max, g->nxt);
	}
}

static void guest_rtt(struct guest *g, u32 ack)
{
	u32 rtt_us = (shim_now_ns - g->timed_ns) / NSEC_PER_USEC;

	if (!g->timed_ns || seq_before(ack, g->timed))
		return;
	g->timed_ns = 0;
	if (g->srtt_us) {
		g->rttvar_us += ((s32)abs((s32)(rtt_us - g->srtt_us)) -
				 (s32)g->rttvar_us) / 4;
		g->srtt_us += (s32)(rtt_us - g->srtt_us) / 8;
	} else {
		g->srtt_us = max(rtt_us, 1U);
		g->rttvar_us = rtt_us / 2;
	}
}

static void guest_repeat_head(struct guest *g)
{
	u32 bytes = min(g->end - g->una, SEG_MSS);

	g->timed_ns = 0;
	guest_segment(g, g->una, min(bytes, g->max - g->una), true);
}

static void guest_advances(struct guest *g, u32 ack)
{
	u32 acked = ack - g->una;

	guest_rtt(g, ack);
	g->una = ack;
	g->nxt = seq_max(g->nxt, ack);
	g->backoff = 0;
	g->dup = 0;
	if (g->recovering && seq_before(ack, g->recover)) {
		guest_repeat_head(g);	/* RFC 6582: a partial ACK */
	} else {
		g->recovering = false;
		g->cwnd += g->cwnd < g->ssthresh ? acked : SEG_MSS;
	}
	guest_arm(g);
	if (guest_done(g))
		g->timer_ns = NEVER;
}

static void guest_duplicate(struct guest *g)
{
	if (++g->dup != 3 || g->recovering || g->una == g->max)
		return;
	g->recovering = true;
	g->recover = g->max;
	g->ssthresh = max(g->cwnd / 2, 2 * SEG_MSS);
	g->cwnd = g->ssthresh;
	guest_repeat_head(g);
}

static void guest_opens(struct guest *g, const struct tcon_packet *p)
{
	if (!(p->flags & TCON_TCP_SYN) || p->ack != GUEST_ISN + 1)
		return;
	g->open = true;
	g->wscale = p->wscale == TCON_WSCALE_NONE ? 0 : p->wscale;
	g->has_ts &= p->has_ts;
	g->edge = p->ack + p->window;
	g->backoff = 0;
	g->timer_ns = NEVER;
	guest_segment(g, g->una, 0, false);
}

/* An ACK comes. */
static void guest_hears(struct guest *g, const struct tcon_packet *p)
{
	u32 edge = p->ack + ((u32)p->window << g->wscale);

	if (p->has_ts && g->open && seq_before(p->tsval, g->ts_recent))
		return;
	g->ts_recent = p->tsval;
	if (!g->open) {
		guest_opens(g, p);
		guest_output(g);
		return;
	}
	if (p->flags & TCON_TCP_SYN)
		guest_segment(g, g->nxt, 0, false);
	if (p->flags & TCON_TCP_SYN || seq_before(p->ack, g->una))
		return;
	WARN_ON(seq_after(p->ack, g->max));
	if (p->ack != g->una) {
		g->edge = edge;
		guest_advances(g, p->ack);
	} else if (seq_after(edge, g->edge)) {
		g->edge = edge;
	} else {
		guest_duplicate(g);
	}
	guest_output(g);
}

static void guest_timeout(struct guest *g)
{
	if (g->backoff < 8)
		g->backoff++;
	g->timed_ns = 0;
	if (!g->open) {
		guest_syn(g);
		return;
	}
	guest_arm(g);
	if (g->una == g->max) {
		if (seq_after(g->edge, g->una))
			guest_output(g);
		else	/* is the window still closed? */
			guest_segment(g, g->una - 1, 0, false);
		return;
	}
	g->ssthresh = max(g->cwnd / 2, 2 * SEG_MSS);
	g->cwnd = SEG_MSS;
	g->recovering = false;
	g->dup = 0;
	g->nxt = g->una;
	guest_output(g);
	if (g->nxt == g->una)
		guest_segment(g, g->una - 1, 0, false);
}

/* Its offer now: never less than before. */
static u16 peer_window(struct peer *r)
{
	u32 edge = seq_max(r->edge, r->read + r->buffer), field;

	field = min(seq_after(edge, r->rx.nxt) ? (edge - r->rx.nxt) >> r->wscale : 0, 0xffffU);
	if (seq_after(r->rx.nxt + (field << r->wscale), r->edge))
		r->edge = r->rx.nxt + (field << r->wscale);
	return field;
}

static void peer_acks(struct peer *r, struct tcon_packet ack)
{
	r->delay_ns = NEVER;
	if (shim_now_ns >= r->stop_ns)
		r->read = r->rx.nxt;
	ack.window = peer_window(r);
	ack.has_ts = r->has_ts;
	ack.tsval = now_ms() + 5000;
	ack.tsecr = r->ts_recent;
	peer_emits(r->x, &ack);
}

static void peer_opens(struct peer *r, const struct tcon_packet *p)
{
	struct tcon_packet answer = {
		.flags = TCON_TCP_SYN | TCON_TCP_ACK,
		.seq = PEER_ISN,
		.ack = p->seq + 1,
		.mss = SEG_MSS + (r->has_ts ? 12 : 0),
		.wscale = r->wscale,
		.sack_permitted = r->rx.sack,
		.has_ts = r->has_ts,
		.tsval = now_ms() + 5000,
		.tsecr = p->tsval,
	};

	r->open = true;
	r->ts_recent = p->tsval;
	answer.window = min(r->buffer, 0xffffU);
	if (r->rx.nxt == p->seq + 1)
		r->edge = seq_max(r->edge, answer.ack + answer.window);
	peer_emits(r->x, &answer);
}

/* A segment comes.  Data beyond the edge, and old data, is answered and thrown away. */
static void peer_hears(struct peer *r, const struct tcon_packet *p)
{
	struct tcon_packet ack;

	if (p->flags & TCON_TCP_SYN) {
		peer_opens(r, p);
		return;
	}
	if (!r->open)
		return;
	if ((p->has_ts && seq_before(p->tsval, r->ts_recent)) ||
	    (p->seq != p->end_seq && seq_after(p->end_seq, r->edge + 1)) ||
	    (p->seq == p->end_seq && seq_before(p->seq, r->rx.nxt))) {
		peer_acks(r, receiver_ack(&r->rx, 0, 0));
		return;
	}
	if (p->has_ts && !seq_after(p->seq, r->rx.nxt))
		r->ts_recent = p->tsval;
	if (p->seq == p->end_seq)
		return;
	if (receiver_data(&r->rx, p->seq, p->end_seq, &ack))
		peer_acks(r, ack);
	else if (r->delay_ns == NEVER)
		r->delay_ns = shim_now_ns + 40 * NSEC_PER_MSEC;
}

/* The delayed ACK, or that the application reads again. */
static void peer_timer(struct peer *r)
{
	if (r->delay_ns <= shim_now_ns) {
		peer_acks(r, receiver_ack(&r->rx, 0, 0));
	} else if (r->stop_ns && r->stop_ns <= shim_now_ns) {
		r->stop_ns = 0;
		if (r->read != r->rx.nxt)
			peer_acks(r, receiver_ack(&r->rx, 0, 0));
	}
}

#endif /* _TESTS_ENDS_H */
