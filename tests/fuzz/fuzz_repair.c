// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of loss repair: the tracker, RACK, the timers and the queue of copies,
 * driven as hold.c, repair.c and path.c drive them, against a network that is
 * the input's.
 *
 *	guest --- TCon --- data: lost, delayed, swapped, doubled ---> receiver
 *	  <------ TCon <-- ACKs: the same -------------------------------'
 *
 * The receiver reassembles as Linux does: cumulative ACK, the most recent SACK
 * blocks, DSACK; at times it throws away what it has SACKed.  Memory runs out,
 * copies are given up, the guest then repairs for itself.  When the input ends
 * the network becomes perfect: the transfer must end, within a few time-outs.
 * In a second kind of run there is no receiver: ACKs are garbage.
 *
 * An input is a list of steps: a byte that says what, then its arguments.
 */
#include "datapath/sender/acked.h"
#include "datapath/sender/ca.h"
#include "datapath/sender/handshake.h"
#include "datapath/sender/loss.h"
#include "datapath/sender/sent.h"
#include "datapath/sender/timer.h"

#include "tests/unit/copies.h"
#include "tests/unit/receiver.h"
#include "tracker.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define MSS		1000U
#define ISN		0xfffff000U
#define FIRST		(ISN + 1)
#define PEER_ISN	77U
#define DELAY_US	10000U		/* one way, when the network is perfect */
#define WIRE_PACKETS	256
#define SPAN_MAX	400000U		/* what the guest's buffer holds */
#define TIMEOUTS_MAX	4		/* of a perfect network */
#define LOOKS_MAX	3		/* three timers */
#define EVENTS_MAX	20000

/**
 * struct wire_packet - a packet on its way
 * @pkt: the ACK, or data from seq to end_seq
 * @arrives_us: when it arrives, in a perfect network
 */
struct wire_packet {
	struct tcon_packet pkt;
	u64 arrives_us;
};

/**
 * struct wire - one direction
 * @packet: @n of them, oldest first
 * @n: their number; more are lost
 */
struct wire {
	struct wire_packet packet[WIRE_PACKETS];
	u32 n;
};

/**
 * struct world - a flow and all around it
 * @t: the tracker
 * @in: the input
 * @now_us: the time
 * @wires: to the receiver, and back
 * @rx: the receiver
 * @una: at the step before
 * @nxt: at the step before
 * @delivered_bytes: at the step before
 * @sacked_bytes: at the step before
 * @reneged_bytes: what the peer has thrown away after it had SACKed it
 * @bare: copies were given up: the guest repairs up to @bare_end
 * @bare_end: see @bare
 * @guest_us: when the guest last sent something again
 * @garbage: there is no receiver
 */
struct world {
	struct tcon_track t;
	struct input in;
	u64 now_us;
	struct wire wires[2];
	struct receiver rx;
	u32 una;
	u32 nxt;
	u64 delivered_bytes;
	u32 sacked_bytes;
	u64 reneged_bytes;
	bool bare;
	u32 bare_end;
	u64 guest_us;
	bool garbage;
};

enum { DATA, ACKS };

static void transmit(struct world *x, int way, const struct tcon_packet *pkt)
{
	struct wire *wire = &x->wires[way];

	if (x->garbage || wire->n == WIRE_PACKETS)
		return;
	wire->packet[wire->n++] = (struct wire_packet) {
		.pkt = *pkt,
		.arrives_us = x->now_us + DELAY_US,
	};
}

/* A super-packet travels as segments. */
static void transmit_data(struct world *x, u32 start, u32 end)
{
	struct tcon_packet pkt = {};

	for (pkt.seq = start; seq_before(pkt.seq, end); pkt.seq = pkt.end_seq) {
		pkt.end_seq = pkt.seq + min(end - pkt.seq, MSS);
		transmit(x, DATA, &pkt);
	}
}

static void give_up(struct world *x)
{
	tcon_sendq_drop_copies(&x->t.sendq);
	x->bare = x->t.cc.una != x->t.cc.nxt;
	x->bare_end = x->t.cc.nxt;
	x->guest_us = x->now_us;
}

/* A segment of the guest leaves; without a copy if @uncopied. */
static void leaves(struct world *x, u32 start, u32 end, bool uncopied)
{
	struct tcon_track *t = &x->t;
	u32 nxt = t->cc.nxt;
	enum tcon_sent what;

	what = tcon_sent_segment(t, start, end, end - start, x->now_us);
	if (t->cc.nxt != nxt && (uncopied || !t->recorded))
		give_up(x);
	else if (t->cc.nxt != nxt)
		t->recorded->copy = copy_new(start, end);
	if (what == TCON_SENT_TIMEOUT && x->bare)
		tcon_ca_timeout(t, x->now_us);
	transmit_data(x, start, end);
}

/* The copy that holds @seq; there is one, unless copies were given up. */
static struct sk_buff *copy_of(const struct world *x, u32 seq, u32 *end)
{
	const struct tcon_sendq *q = &x->t.sendq;
	u32 i = tcon_sendq_find(q, seq);
	struct sk_buff *copy;

	WARN_ON(i == q->tail);
	copy = tcon_sendq_at(q, i)->copy;
	WARN_ON(!copy || seq_before(seq, copy->seq) ||
		!seq_before(seq, copy->end));
	*end = seq_min(tcon_sendq_at(q, i)->end, copy->end);
	return copy;
}

static bool repeat(struct world *x, u32 start, u32 end)
{
	struct tcon_track *t = &x->t;

	WARN_ON(!seq_before(start, end));
	WARN_ON(seq_before(start, t->cc.una) || seq_after(end, t->cc.nxt));
	WARN_ON(tcon_ranges_covered(&t->sacked, start, end));
	if (!tcon_sent_repair(t, start, end, end - start, x->now_us))
		return false;
	WARN_ON(tcon_ranges_covered(&t->lost, start, end));
	transmit_data(x, start, end);
	return true;
}

static bool repair_next(struct world *x)
{
	const struct tcon_range *lost = &x->t.lost.range[0];
	u32 start = lost->start, end;

	copy_of(x, start, &end);
	end = seq_min(seq_min(end, lost->end), start + MSS);
	WARN_ON(tcon_ranges_covered(&x->t.lost, start, end) != end - start);
	return repeat(x, start, end);
}

static void probe(struct world *x)
{
	u32 end = x->t.cc.nxt, start, copy_end;
	struct sk_buff *copy = copy_of(x, end - 1, &copy_end);

	start = seq_max(seq_max(x->t.cc.una, copy->seq), end - MSS);
	if (repeat(x, start, end))
		tcon_timer_probed(&x->t, end - start, x->now_us);
}

/* Returns whether it was a time-out. */
static bool expire(struct world *x)
{
	struct tcon_track *t = &x->t;
	u64 lost_before = t->cc.lost_bytes;

	switch (tcon_timer_expire(t, x->now_us)) {
	case TCON_EXPIRY_NONE:
		return false;
	case TCON_EXPIRY_REORDER:
		WARN_ON(t->cc.lost_bytes == lost_before);
		tcon_ca_lost(t, t->cc.lost_bytes - lost_before, x->now_us);
		return false;
	case TCON_EXPIRY_PROBE:
		probe(x);
		return false;
	case TCON_EXPIRY_GIVE_UP:
		tcon_ca_timeout(t, x->now_us);
		give_up(x);
		return true;
	case TCON_EXPIRY_TIMEOUT:
		tcon_ca_timeout(t, x->now_us);
		return true;
	}
	return false;
}

/* Do what a look at the flow does.  Returns the number of time-outs. */
static u32 pump(struct world *x)
{
	struct tcon_track *t = &x->t;
	u32 timeouts = 0, looks = 0;

	while (!x->bare && t->cc.una != t->cc.nxt &&
	       tcon_timer_next_us(t) <= x->now_us) {
		WARN_ON(looks++ == LOOKS_MAX);
		timeouts += expire(x);
	}
	while (!x->bare && t->lost.n) {
		if (!tcon_track_repair_fits(t) || !repair_next(x))
			break;
	}
	return timeouts;
}

static void ack_arrives(struct world *x, const struct tcon_packet *pkt)
{
	struct tcon_track *t = &x->t;
	struct tcon_ack ack;

	tcon_acked(t, pkt, x->now_us, &ack);
	if (!ack.valid)
		return;
	tcon_ca_ack(t, &ack);
	WARN_ON(!tcon_ca_sane(&t->cc));
	WARN_ON(t->cc.ca_state == TCON_CA_OPEN && ack.rs.losses_bytes &&
		(t->lost.n || t->resent.n));
	if (x->bare && !seq_before(t->cc.una, x->bare_end))
		x->bare = false;
}

static void receiver_acks(struct world *x)
{
	struct tcon_packet ack = receiver_ack(&x->rx, 0, 0);

	transmit(x, ACKS, &ack);
}

static void data_arrives(struct world *x, u32 start, u32 end)
{
	struct tcon_packet ack;

	WARN_ON(seq_after(end, x->t.cc.nxt));
	if (receiver_data(&x->rx, start, end, &ack))
		transmit(x, ACKS, &ack);
}

/* Packet @i arrives. */
static void arrive(struct world *x, int way, u32 i)
{
	struct wire *wire = &x->wires[way];
	struct tcon_packet pkt = wire->packet[i].pkt;

	wire->n--;
	memmove(&wire->packet[i], &wire->packet[i + 1],
		(wire->n - i) * sizeof(wire->packet[0]));
	if (way == DATA)
		data_arrives(x, pkt.seq, pkt.end_seq);
	else
		ack_arrives(x, &pkt);
}

/* Every byte of una .. nxt has a record and a copy, and no copy is left over. */
static void check_copies(const struct world *x)
{
	const struct tcon_sendq *q = &x->t.sendq;
	u32 i, n = 0, at = x->t.cc.una;

	for (i = q->head; i != q->tail; i++) {
		const struct tcon_send *s = tcon_sendq_at(q, i);

		WARN_ON(s->start != at);
		at = s->end;
		n += !!s->copy;
		if (!s->copy) {
			WARN_ON(!x->bare);
			continue;
		}
		WARN_ON(seq_after(s->copy->seq, s->start));
		WARN_ON(s->copy->end != at);
	}
	WARN_ON(!x->bare && at != x->t.cc.nxt);
	WARN_ON(n != copies_live);
}

static void check(struct world *x)
{
	const struct tcon_track *t = &x->t;
	u64 next_us = tcon_timer_next_us(t);

	check_tracker(t);
	check_copies(x);
	WARN_ON(seq_before(t->cc.una, x->una));
	WARN_ON(seq_before(t->cc.nxt, x->nxt));
	WARN_ON(t->cc.delivered_bytes < x->delivered_bytes);
	x->reneged_bytes += reneged(t, x->una, x->sacked_bytes);
	WARN_ON(t->cc.delivered_bytes > t->cc.nxt - FIRST + x->reneged_bytes);
	WARN_ON(t->spurious_repairs > t->repairs);
	WARN_ON((t->cc.una == t->cc.nxt) != !next_us);
	WARN_ON(!x->bare && next_us && next_us <= x->now_us);
	x->una = t->cc.una;
	x->nxt = t->cc.nxt;
	x->delivered_bytes = t->cc.delivered_bytes;
	x->sacked_bytes = t->sacked.bytes;
}

/* A length: often segments, sometimes odd, up to a super-packet. */
static u32 get_length(struct world *x)
{
	u8 v = get_u8(&x->in);

	return v & 0x80 ? 1 + (v & 0x7f) * 509 : (1 + (v & 7)) * MSS;
}

static u32 get_place(struct world *x)
{
	u32 span = x->t.cc.nxt - x->t.cc.una;
	u8 v = get_u8(&x->in);

	if (v & 0x80)
		return x->t.cc.una + (u64)span * (v & 0x7f) / 0x7f;
	return x->t.cc.una + min(span, v * MSS);
}

static void guest_sends(struct world *x, u32 bytes, bool uncopied)
{
	const struct tcon_cc *cc = &x->t.cc;

	if (cc->nxt - cc->una + bytes > SPAN_MAX)
		return;
	if (cc->inflight_bytes && !tcon_track_fits(&x->t, bytes))
		return;
	leaves(x, cc->nxt, cc->nxt + bytes, uncopied);
}

/* A repeat that TCon lets pass: some of it may be new. */
static void guest_repeats(struct world *x, u32 at, u32 bytes)
{
	u32 most = seq_max(x->t.cc.nxt, x->t.cc.una + SPAN_MAX);

	if (at != x->t.cc.nxt)
		leaves(x, at, seq_min(at + bytes, most), false);
}

static void garbage_ack(struct world *x, u32 number)
{
	u8 v = get_u8(&x->in), i;
	struct tcon_packet pkt = {
		.flags = TCON_TCP_ACK,
		.seq = PEER_ISN + 1,
		.end_seq = PEER_ISN + 1,
		.ack = number,
		.window = 500,
		.n_sacks = min(v & 7, TCON_MAX_SACKS),
	};

	for (i = 0; i < pkt.n_sacks; i++) {
		pkt.sacks[i].start = v & 64 ? get_place(x) :
				     number - get_length(x);
		pkt.sacks[i].end = v & 128 ? get_u32(&x->in) :
				   pkt.sacks[i].start + get_length(x);
	}
	ack_arrives(x, &pkt);
}

/* The network's treatment of @n packets from the @i-th on. */
static void network(struct world *x, int way, u8 what)
{
	struct wire *wire = &x->wires[way];
	u32 i, n = 1 + (what >> 2 & 7);

	i = what & 0x80 ? get_u8(&x->in) : 0;
	if (x->garbage) {
		garbage_ack(x, what & 0x80 ? get_place(x) : x->t.cc.una);
		return;
	}
	for (; n && i < wire->n; n--) {
		switch (what & 3) {
		case 0:
		case 1:
			arrive(x, way, i);
			break;
		case 2:
			memmove(&wire->packet[i], &wire->packet[i + 1],
				(wire->n - i - 1) * sizeof(wire->packet[0]));
			wire->n--;
			break;
		case 3:
			transmit(x, way, &wire->packet[i++].pkt);
			break;
		}
	}
}

static void step(struct world *x)
{
	u8 what = get_u8(&x->in), v;
	u32 at;

	switch (what % 16) {
	case 0 ... 3:
		guest_sends(x, get_length(x), false);
		break;
	case 4 ... 7:
		network(x, DATA, get_u8(&x->in));
		break;
	case 8 ... 10:
		network(x, ACKS, get_u8(&x->in));
		break;
	case 11:
	case 12:
		v = get_u8(&x->in);
		x->now_us += (u64)v << v % 14;
		break;
	case 13:
		at = get_place(x);
		guest_repeats(x, at, get_length(x));
		break;
	case 14:
		if (what < 128)
			shim_alloc_failures = what / 16 % 4;
		else if (what < 240)
			x->rx.n = 0;	/* reneging */
		else
			guest_sends(x, get_length(x), true);
		break;
	case 15:
		if (what < 128)
			receiver_acks(x);		/* of its own accord */
		else if (what < 240)
			tcon_track_app_limited(&x->t);
		else if (!x->bare)
			give_up(x);
		break;
	}
}

/* The receiver's delayed ACK, and the guest's own timer while it repairs. */
static void idle_ends(struct world *x)
{
	if (x->rx.unacked || x->rx.nxt != x->t.cc.una)
		receiver_acks(x);
	if (!x->bare || x->now_us - x->guest_us < 1000000)
		return;
	x->guest_us = x->now_us;
	if (seq_before(x->t.cc.una, x->bare_end))
		guest_repeats(x, x->t.cc.una, min(x->bare_end - x->t.cc.una,
						  10 * MSS));
}

/* When does the next packet arrive, in a perfect network? */
static u64 next_arrival_us(const struct world *x, int *way)
{
	const struct wire *wire = x->wires;

	*way = !wire[DATA].n || (wire[ACKS].n &&
				 wire[ACKS].packet[0].arrives_us <
				 wire[DATA].packet[0].arrives_us) ? ACKS : DATA;
	return wire[*way].n ? wire[*way].packet[0].arrives_us : U64_MAX;
}

/* No loss any more: the transfer ends. */
static void finish(struct world *x)
{
	u64 arrival_us, timer_us, idle_us = x->now_us + 40000;
	u32 timeouts = 0, events = 0;
	int way;

	shim_alloc_failures = 0;
	while (x->t.cc.una != x->t.cc.nxt) {
		WARN_ON(events++ > EVENTS_MAX);
		arrival_us = next_arrival_us(x, &way);
		timer_us = x->bare ? U64_MAX : tcon_timer_next_us(&x->t);
		x->now_us = max(x->now_us, min3(arrival_us, timer_us, idle_us));
		if (x->now_us >= idle_us) {
			idle_ends(x);
			idle_us = x->now_us + 40000;
		} else if (arrival_us <= x->now_us) {
			arrive(x, way, 0);
		}
		timeouts += pump(x);
		WARN_ON(timeouts > TIMEOUTS_MAX);
		check(x);
	}
	WARN_ON(x->rx.nxt != x->t.cc.nxt || x->rx.n);
	WARN_ON(copies_live || x->t.sacked.n || x->t.lost.n || x->t.resent.n);
	WARN_ON(x->t.cc.delivered_bytes < x->t.cc.nxt - FIRST);
}

/* Through the handshake. */
static void open_flow(struct world *x, u8 options)
{
	struct tcon_packet pkt = {
		.flags = TCON_TCP_SYN,
		.seq = ISN,
		.end_seq = FIRST,
		.mss = MSS,
		.wscale = 7,
		.sack_permitted = !(options & 2),
		.window = 500,
	};
	struct tcon_ack ack;

	x->now_us = 1000000;
	tcon_track_init(&x->t, NULL);
	tcon_handshake_guest(&x->t, &pkt, x->now_us);
	x->now_us += 2 * DELAY_US;
	pkt.flags |= TCON_TCP_ACK;
	pkt.seq = PEER_ISN;
	pkt.end_seq = PEER_ISN + 1;
	pkt.ack = FIRST;
	tcon_handshake_peer(&x->t, &pkt);
	tcon_acked(&x->t, &pkt, x->now_us, &ack);
	x->t.peer.acked = true;
	tcon_ca_start(&x->t, &mock, NULL, x->now_us);
	x->una = FIRST;
	x->nxt = FIRST;
	x->rx.nxt = FIRST;
	x->rx.seq = PEER_ISN + 1;
	x->rx.sack = pkt.sack_permitted;
	x->rx.no_dsack = options & 4;
	x->garbage = (options & 0x70) == 0x70;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct world x;

	memset(&x, 0, sizeof(x));
	x.in = (struct input) { data, size };
	shim_alloc_failures = 0;
	open_flow(&x, get_u8(&x.in));
	while (x.in.left) {
		step(&x);
		x.now_us += 100;
		pump(&x);
		check(&x);
	}
	if (!x.garbage)
		finish(&x);
	tcon_ca_stop(&x.t);
	tcon_track_release(&x.t);
	WARN_ON(copies_live);
	return 0;
}
