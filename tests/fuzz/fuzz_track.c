// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of the tracker, with its queue and sets, and of what rests on it: the
 * state machine and the window (datapath/sender/track.c, sendq.c, ranges.c, ca.c,
 * window.c).
 *
 * Guest and peer do what they like: send, repeat and leave out, acknowledge
 * and SACK anything, open again; memory runs out.  After each step all that the
 * tracker promises is checked.
 *
 * An input is a list of steps: a byte that says what, then its arguments.
 */
#include "datapath/sender/acked.h"
#include "datapath/sender/ca.h"
#include "datapath/sender/handshake.h"
#include "datapath/sender/loss.h"
#include "datapath/sender/sent.h"
#include "datapath/sender/timer.h"
#include "datapath/sender/window.h"

#include "tests/unit/copies.h"
#include "tracker.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/**
 * struct world - a flow, and independent knowledge of it
 * @t: the tracker
 * @w: the windows
 * @in: the input
 * @now_us: the time
 * @isn: of the guest
 * @peer_isn: of the peer
 * @sent_bytes: by how much nxt has advanced, SYN included
 * @reneged_bytes: what the peer has thrown away after it had SACKed it
 * @delivered_bytes: at the step before
 * @sacked_bytes: at the step before
 * @una: at the step before
 * @window_edge: at the step before
 * @window_valid: the step before had one
 * @lost_track: the peer acknowledged what was not seen: no more enforcement
 */
struct world {
	struct tcon_track t;
	struct tcon_window w;
	struct input in;
	struct tcon_pool pool;
	struct tcon_budget budget;
	u64 now_us;
	u32 isn;
	u32 peer_isn;
	u64 sent_bytes;
	u64 reneged_bytes;
	u64 delivered_bytes;
	u32 sacked_bytes;
	u32 una;
	u32 window_edge;
	bool window_valid;
	bool lost_track;
};

/* A length: often segments, sometimes odd, up to a super-packet. */
static u32 get_length(struct world *x)
{
	u8 v = get_u8(&x->in);

	return v & 0x80 ? 1 + (v & 0x7f) * 509 :
			  (1 + (v & 0x1f)) * x->t.cc.mss_bytes;
}

/* A place between una and nxt, with luck on a segment's border. */
static u32 get_place(struct world *x)
{
	u32 span = x->t.cc.nxt - x->t.cc.una;
	u8 v = get_u8(&x->in);

	if (v & 0x80)
		return x->t.cc.una + (u64)span * (v & 0x7f) / 0x7f;
	return x->t.cc.una + min(span, v * x->t.cc.mss_bytes);
}

static void check(struct world *x)
{
	const struct tcon_track *t = &x->t;

	WARN_ON(seq_before(t->cc.una, x->una));
	WARN_ON(t->synced && seq_before(t->nxt_guest, t->cc.nxt));
	check_tracker(t);
	WARN_ON(t->cc.delivered_bytes < x->delivered_bytes);
	x->reneged_bytes += reneged(t, x->una, x->sacked_bytes);
	WARN_ON(t->cc.delivered_bytes > x->sent_bytes + x->reneged_bytes);
	WARN_ON(x->window_valid && seq_before(x->w.edge, x->window_edge));
	x->delivered_bytes = t->cc.delivered_bytes;
	x->sacked_bytes = t->sacked.bytes;
	x->una = t->cc.una;
	x->window_edge = x->w.edge;
	x->window_valid = x->w.valid;
}

/* @before: the tracker before the ACK. */
static void check_sample(const struct world *x, const struct tcon_ack *ack,
			 const struct tcon_track *before)
{
	const struct tcon_rate_sample *rs = &ack->rs;
	u64 delivered = x->t.cc.delivered_bytes - before->cc.delivered_bytes;
	u32 span_before = before->cc.nxt - before->cc.una;

	if (!ack->valid) {
		WARN_ON(delivered);
		return;
	}
	WARN_ON(rs->acked_sacked_bytes > span_before);
	WARN_ON(rs->acked_bytes > span_before);
	WARN_ON(delivered != rs->acked_sacked_bytes);
	WARN_ON(rs->rtt_us != -1 && rs->rtt_us < x->t.cc.min_rtt_us);
	WARN_ON((rs->interval_us == -1) != (rs->delivered_bytes == -1));
	if (rs->interval_us == -1)
		return;
	WARN_ON(rs->interval_us <= 0);
	WARN_ON(rs->delivered_bytes < 0 ||
		rs->delivered_bytes > x->t.cc.delivered_bytes);
	WARN_ON(rs->delivered_ce_bytes < 0 ||
		rs->delivered_ce_bytes > rs->delivered_bytes);
}

static void sent(struct world *x, u32 start, u32 end)
{
	u32 nxt = x->t.cc.nxt;
	enum tcon_sent what;

	if (!x->t.synced || start == end)
		return;
	what = tcon_sent_segment(&x->t, start, end, end - start, x->now_us);
	x->sent_bytes += x->t.cc.nxt - nxt;
	if (what == TCON_SENT_TIMEOUT && x->t.cc.ops)
		tcon_ca_timeout(&x->t, x->now_us);
}

static void restart(struct world *x)
{
	tcon_ca_stop(&x->t);
	tcon_track_release(&x->t);
	tcon_track_init(&x->t, &x->budget);
	memset(&x->w, 0, sizeof(x->w));
	x->sent_bytes = 0;
	x->reneged_bytes = 0;
	x->delivered_bytes = 0;
	x->sacked_bytes = 0;
	x->una = 0;
	x->window_valid = false;
	x->lost_track = false;
}

/* Either end's SYN or SYN-ACK, with options as the input says. */
static struct tcon_packet make_syn(struct world *x, bool guest)
{
	u8 v = get_u8(&x->in);
	struct tcon_packet pkt = {
		.flags = TCON_TCP_SYN | (v & 1 ? TCON_TCP_ACK : 0),
		.seq = guest ? x->isn : x->peer_isn,
		.ack = (guest ? x->peer_isn : x->isn) + 1,
		.mss = v & 2 ? 1460 : get_u8(&x->in) * 16,
		.wscale = v & 4 ? 7 : v & 8 ? 14 : TCON_WSCALE_NONE,
		.sack_permitted = !(v & 16),
		.has_ts = v & 32,
		.window = 500,
	};

	pkt.payload_bytes = v & 64 ? get_u8(&x->in) : 0;	/* fast open */
	if (v & 128)		/* and what the other end takes of it */
		pkt.ack += get_u8(&x->in);
	pkt.end_seq = pkt.seq + 1 + pkt.payload_bytes;
	return pkt;
}

static void guest_syn(struct world *x)
{
	struct tcon_packet pkt;
	u32 nxt;

	if (get_u8(&x->in) & 128) {
		x->isn = get_u32(&x->in);
		if (x->t.synced)
			restart(x);
	}
	if (x->t.synced && !x->t.guest.syn_seen)
		return;
	pkt = make_syn(x, true);
	nxt = x->t.synced ? x->t.cc.nxt : x->isn;
	if (!x->t.synced)
		x->una = x->isn;
	tcon_handshake_guest(&x->t, &pkt, x->now_us);
	x->sent_bytes += x->t.cc.nxt - nxt;
}

static void control(struct world *x, const struct tcon_ack *ack)
{
	struct tcon_track *t = &x->t;

	if (!t->cc.ops) {
		if (tcon_track_established(t) && !x->lost_track)
			tcon_ca_start(t, &mock, NULL, x->now_us);
		return;
	}
	tcon_ca_ack(t, ack);
	WARN_ON(!tcon_ca_sane(&t->cc));
	WARN_ON(t->cc.ca_state == TCON_CA_OPEN && ack->rs.losses_bytes);
}

/* As path.c does. */
static void ack_arrives(struct world *x, const struct tcon_packet *pkt)
{
	const struct tcon_track before = x->t;
	bool had_edge = x->w.valid;
	u32 edge = x->w.edge;
	struct tcon_ack ack;
	u32 wanted;
	u8 wscale;
	u16 field;

	if (!x->t.synced)
		return;
	tcon_acked(&x->t, pkt, x->now_us, &ack);
	check_sample(x, &ack, &before);
	if (!ack.valid) {
		if (seq_after(pkt->ack, x->t.nxt_guest)) {
			tcon_handshake_resync(&x->t, pkt->ack, x->now_us);
			WARN_ON(x->t.cc.una != pkt->ack);
			x->una = pkt->ack;
			x->lost_track = true;
			tcon_ca_stop(&x->t);
		}
		return;
	}
	control(x, &ack);
	if (pkt->flags & TCON_TCP_SYN || !x->t.cc.ops)
		return;
	wscale = tcon_track_peer_wscale(&x->t);
	wanted = tcon_window_wanted(&x->t.cc, x->t.nxt_guest,
				    tcon_track_cwnd_bytes(&x->t), 0);
	if (x->now_us & 1)
		wanted = tcon_window_round_down(wanted, pkt->ack, wscale,
						x->t.cc.mss_bytes);
	field = tcon_window_write(&x->w, pkt->ack, pkt->window, wscale, wanted,
				  x->t.cc.mss_bytes, x->now_us);
	WARN_ON(field > pkt->window);
	if (field == pkt->window)
		return;
	WARN_ON((u32)field << wscale < 2 * x->t.cc.mss_bytes);
	WARN_ON(had_edge && seq_before(pkt->ack + ((u32)field << wscale), edge));
}

static void peer_syn(struct world *x)
{
	struct tcon_packet pkt = make_syn(x, false);

	tcon_handshake_peer(&x->t, &pkt);
	if (pkt.flags & TCON_TCP_ACK)
		ack_arrives(x, &pkt);
}

/* An ACK with any SACK blocks, mostly between una and nxt. */
static void peer_ack(struct world *x, u32 number)
{
	u8 v = get_u8(&x->in), i;
	struct tcon_packet pkt = {
		.flags = TCON_TCP_ACK | (v & 8 ? TCON_TCP_ECE : 0),
		.seq = x->peer_isn + 1,
		.end_seq = x->peer_isn + 1,
		.ack = number,
		.window = v & 16 ? get_u8(&x->in) * 257 : x->t.peer_window,
		.n_sacks = min(v & 7, TCON_MAX_SACKS),
	};

	if (v & 32) {
		pkt.payload_bytes = 10;
		pkt.end_seq += 10;
	}
	for (i = 0; i < pkt.n_sacks; i++) {
		pkt.sacks[i].start = v & 64 ? get_place(x) :
				     number - get_length(x);
		pkt.sacks[i].end = v & 128 ? get_u32(&x->in) :
				   pkt.sacks[i].start + get_length(x);
	}
	ack_arrives(x, &pkt);
}

static void adopt(struct world *x)
{
	struct tcon_packet pkt = { .seq = get_u32(&x->in) };

	if (x->t.synced)
		return;
	tcon_handshake_adopt(&x->t, &pkt, (u16)get_u32(&x->in), x->now_us);
	x->una = pkt.seq;
}

static void tick(struct world *x)
{
	u8 v = get_u8(&x->in);

	x->now_us += (u64)v << (v % 27);
}

/* Bound the memory that the records of all flows may take. */
static void bound(struct world *x, long most_bytes)
{
	tcon_pool_divide(&x->pool, most_bytes, most_bytes, 1);
}

/* A plain handshake, so that most inputs come to more than that. */
static void open_plain(struct world *x)
{
	static const u8 options[] = { 0, 6, 7 };
	struct input rest = x->in;

	x->in = (struct input) { options, sizeof(options) };
	guest_syn(x);
	x->now_us += 20000;
	peer_syn(x);
	x->in = rest;
	x->t.peer.acked = true;
}

/* Small segments, each with a record of its own: the ring fills up. */
static void send_burst(struct world *x, u32 n)
{
	while (n--)
		sent(x, x->t.nxt_guest, x->t.nxt_guest + 1 + n % 3);
}

static void step(struct world *x)
{
	u8 what = get_u8(&x->in);
	u32 at;

	switch (what % 20) {
	case 0 ... 3:
		sent(x, x->t.nxt_guest, x->t.nxt_guest + get_length(x));
		break;
	case 4:
		send_burst(x, what < 240 ? 16 : 1500);
		break;
	case 5:
	case 6:
		at = get_place(x);
		sent(x, at, at + get_length(x));
		break;
	case 7:
		sent(x, x->t.cc.una, x->t.cc.una + x->t.cc.mss_bytes);
		break;
	case 8:
		at = get_u32(&x->in);
		sent(x, at, at + get_length(x));
		break;
	case 9 ... 11:
		peer_ack(x, x->t.cc.una);
		break;
	case 12 ... 13:
		peer_ack(x, get_place(x));
		break;
	case 14:
		peer_ack(x, get_u32(&x->in));
		break;
	case 15:
		guest_syn(x);
		break;
	case 16:
		peer_syn(x);
		if (what & 128)
			x->t.peer.acked = true;
		break;
	case 17:
		tick(x);
		break;
	case 18:
		if (what & 128)
			tcon_track_app_limited(&x->t);
		else if (x->t.synced)
			tcon_loss_mark_all(&x->t);
		else
			adopt(x);
		break;
	case 19:
		shim_alloc_failures = what / 20 % 4;
		bound(x, what / 80 & 1 ? 0 : U32_MAX);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct world x;

	x = (struct world) { .in = { data, size } };
	x.budget.pool = &x.pool;
	bound(&x, U32_MAX);
	tcon_track_init(&x.t, &x.budget);
	x.now_us = 1000000;
	shim_alloc_failures = 0;
	x.isn = -5000;
	x.peer_isn = 77;
	if (get_u8(&x.in) & 3)
		open_plain(&x);
	while (x.in.left) {
		step(&x);
		check(&x);
		x.now_us += 100;
	}
	tcon_ca_stop(&x.t);
	tcon_track_release(&x.t);
	WARN_ON(atomic_long_read(&x.budget.used));
	return 0;
}
