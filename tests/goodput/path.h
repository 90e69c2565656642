/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What lies between the two ends, and the ends' receivers: see world.h.
 */
#ifndef _TESTS_GOODPUT_PATH_H
#define _TESTS_GOODPUT_PATH_H

#include "tests/unit/host.h"
#include "tests/unit/recorder.h"

#include "bottleneck.h"
#include "plain.h"
#include "native.h"
#include "ecn.h"

#define START_NS	(1000 * (u64)NSEC_PER_SEC)
#define GUEST_WAY_NS	(20 * (u64)NSEC_PER_USEC)
#define DELAYED_ACK_NS	(40 * (u64)NSEC_PER_MSEC)
#define FLIGHTS_MAX	32768U
#define PEER_ISN	0x7000U
#define OLD_MAC		0x02
#define NEW_MAC		0x12

enum place { TCON_FROM_GUEST, PEER, TCON_FROM_PEER, GUEST, PLACES };

/* What ends and paths in the world do. */
enum odd {
	ODD_NONE,
	ODD_NO_SACK,		/* the peer does not speak SACK */
	ODD_DOUBLED_ACKS,	/* as before, and each of its ACKs comes twice */
	ODD_PRUNES,		/* of 50 arrivals beyond a hole one empties the peer's queue */
	ODD_THIN_ACKS,		/* of the ACKs of 5 ms the last one passes */
	ODD_LOST_ACKS,		/* 45 % of the ACKs do not */
	ODD_LOST_ACKS_NO_SACK,
	ODD_MAC,		/* the next hop dies for 0.5 s, and is then another one */
	ODD_STEP,		/* the bottleneck marks beyond a threshold, and the peer speaks ECN */
	ODD_CODEL,		/* CoDel marks there */
	ODD_HYSTART,		/* the guest's own slow start ends by HyStart */
	ODD_ASTRAY,		/* from half of the data on ACKs pass TCon by */
	ODDS,
};

/**
 * struct path - of a cell
 * @rate_bps: of the bottleneck to the peer
 * @back_bps: of that on the way back
 * @back_queue_ns: what its queue holds at least
 * @rtt_us: without queues
 * @queue_halves: what the bottleneck's queue holds, in halves of rate times RTT; at least ten
 *	segments
 * @loss_ppm: of data
 * @buffer: of the guest's receiver
 * @guest_ecn: where the bottleneck to the peer marks, the guest behind TCon speaks ECN
 * @counts: and the peer counts marks
 * @odd: enum odd
 * @seed: of all that is drawn
 */
struct path {
	u64 rate_bps, back_bps, back_queue_ns;
	u32 rtt_us, queue_halves, loss_ppm, buffer;
	bool guest_ecn, counts;
	enum odd odd;
	u32 seed;
};

/**
 * struct flight - a segment, or a super-packet, on its way
 * @at_ns: when it arrives
 * @p: what it says
 * @gso_bytes: payload of each segment of a super-packet; 0: it is none
 * @mac: each byte of where it goes to
 */
struct flight {
	u64 at_ns;
	struct tcon_packet p;
	u16 gso_bytes;
	u8 mac;
};

/**
 * struct way - from one place to the next: a ring, in the order of arrival
 * @flight: what is on its way
 * @head: the first
 * @tail: behind the last
 */
struct way {
	struct flight flight[FLIGHTS_MAX];
	u32 head, tail;
};

/**
 * struct world - all of it
 * @path: what lies between
 * @g: the guest
 * @r: the peer
 * @has_tcon: it lies between
 * @way: by where it leads to
 * @there: bottleneck to the peer
 * @back: and to the guest
 * @tries: by direction and segment, modulo SEGS_MAX
 * @draws: of what does not depend on a segment
 * @die_ns: when the next hop dies
 * @turn: from this sequence number on ACKs take another way
 * @id: of the guest's IP header
 * @work_ns: when shim_work is due
 * @old_acks: segments of the guest that the peer threw away (RFC 5961, 5.2)
 */
struct world {
	struct path path;
	struct end g, r;
	bool has_tcon;
	struct way way[PLACES];
	struct bottleneck there, back;
	u8 tries[2][SEGS_MAX];
	u32 draws;
	u64 die_ns;
	u32 turn;
	u16 id;
	u64 work_ns;
	u64 old_acks;
};

static struct world world;

static enum marks marks_of(enum odd odd)
{
	return odd == ODD_STEP ? MARKS_STEP : odd == ODD_CODEL ? MARKS_CODEL : MARKS_NONE;
}

/* A hash: 0 .. 999999. */
static u32 ppm_of(u64 v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ULL;
	v = (v ^ v >> 27) * 0x94d049bb133111ebULL;
	return (v ^ v >> 31) % 1000000;
}

static u32 draw_ppm(struct world *x)
{
	return ppm_of((u64)x->path.seed << 32 | (x->draws++ | 0x80000000U));
}

static void launch(struct world *x, enum place to, const struct flight *f, u64 at_ns)
{
	struct way *way = &x->way[to];

	BUG_ON(way->tail - way->head == FLIGHTS_MAX);
	way->flight[way->tail % FLIGHTS_MAX] = *f;
	way->flight[way->tail++ % FLIGHTS_MAX].at_ns = at_ns;
}

/* Is this transmission of a segment with data lost? */
static bool is_lost(struct world *x, bool to_peer, const struct tcon_packet *p)
{
	const struct end *e = to_peer ? &x->g : &x->r;
	u32 at = (p->seq - e->isn - 1) / SEG_MSS, n;

	if (!p->payload_bytes || !x->path.loss_ppm)
		return false;
	n = x->tries[to_peer][at % SEGS_MAX]++;
	return ppm_of(((u64)x->path.seed << 32) + ((u64)to_peer << 23) + ((u64)n << 24) + at) <
	       x->path.loss_ppm;
}

static bool next_hop_takes(const struct world *x, u8 mac)
{
	if (x->path.odd != ODD_MAC || shim_now_ns < x->die_ns)
		return true;
	return shim_now_ns > x->die_ns + NSEC_PER_SEC / 2 && mac == NEW_MAC;
}

/* Leaves the guest's host, segment by segment. */
static void leaves_host(struct world *x, const struct flight *f)
{
	u32 gso = f->gso_bytes ? : f->p.payload_bytes, from = 0;
	struct flight piece = *f;

	do {
		piece.p.seq = f->p.seq + from;
		piece.p.payload_bytes = min(gso, f->p.payload_bytes - from);
		piece.p.end_seq = piece.p.seq + piece.p.payload_bytes;
		piece.p.end_seq += f->p.flags & TCON_TCP_SYN ? 1 : 0;
		piece.p.flags = f->p.flags & ~(from ? TCON_TCP_CWR : 0);
		piece.p.tos = f->p.tos;
		from += piece.p.payload_bytes;
		if (next_hop_takes(x, f->mac) && enters(&x->there, &piece.p) &&
		    !is_lost(x, true, &piece.p))
			launch(x, PEER, &piece, x->there.busy_ns + x->path.rtt_us * 500ULL);
	} while (from < f->p.payload_bytes);
}

static void read_frame(const struct sk_buff *skb, struct flight *f)
{
	f->p = (struct tcon_packet) {};
	WARN_ON(tcon_packet_parse(&f->p, skb->data, skb->len, skb->len, skb_is_gso(skb)) !=
		TCON_PARSE_OK);
	f->gso_bytes = skb_shinfo(skb)->gso_size;
	f->mac = skb->data[0];
}

static void left(struct world *x, const struct sk_buff *skb)
{
	struct flight f;

	record_frame("left", skb);
	read_frame(skb, &f);
	leaves_host(x, &f);
}

static void given(struct world *x, const struct sk_buff *skb)
{
	struct flight f;

	record_frame("given", skb);
	read_frame(skb, &f);
	launch(x, GUEST, &f, shim_now_ns + GUEST_WAY_NS);
}

static void inject(const struct tcon_port *port, struct sk_buff *skb)
{
	leave_tcon();
	record_flow();
	left(&world, skb);
	kfree_skb(skb);
	enter_tcon();
}

static void give(const struct tcon_port *port, struct sk_buff *skb)
{
	leave_tcon();
	given(&world, skb);
	kfree_skb(skb);
	enter_tcon();
}

static const struct tcon_attach attach = { .name = "goodput", .inject = inject, .send = give };

static void to_tcon(struct world *x, const struct flight *f)
{
	struct sk_buff *skb;
	bool pass;

	if (!x->has_tcon) {
		leaves_host(x, f);
		return;
	}
	skb = segment_new(&f->p, true, x->id++, true);
	skb_shinfo(skb)->gso_size = f->gso_bytes;
	memset(skb->data, f->mac, ETH_ALEN);
	record_frame("guest", skb);
	enter_tcon();
	pass = tcon_path_ingress(&host.port.hook, skb);
	leave_tcon();
	if (!pass)
		return;
	left(x, skb);
	kfree_skb(skb);
}

static void back_to_tcon(struct world *x, const struct flight *f)
{
	struct sk_buff *skb;
	bool pass;

	if (!x->has_tcon) {
		launch(x, GUEST, f, shim_now_ns + GUEST_WAY_NS);
		return;
	}
	skb = segment_new(&f->p, false, 0, true);
	record_frame("peer", skb);
	enter_tcon();
	pass = tcon_path_egress(&host.port.hook, skb);
	leave_tcon();
	if (!pass)
		return;
	given(x, skb);
	kfree_skb(skb);
}

/* Does what the peer sends now pass TCon by? */
static bool is_astray(const struct world *x)
{
	return x->path.odd == ODD_ASTRAY && x->turn && !seq_before(x->r.rx.nxt, x->turn);
}

/* What the peer sends, by a path that may treat pure ACKs in its own way. */
static void peer_sends(struct world *x, const struct flight *f)
{
	struct way *way = &x->way[TCON_FROM_PEER];
	bool pure = !f->p.payload_bytes && !(f->p.flags & TCON_TCP_SYN);
	u32 n = 1 + (pure && x->path.odd == ODD_DOUBLED_ACKS);
	u64 slot_ns = 5 * NSEC_PER_MSEC, at_ns;
	struct flight *last, sent = *f;

	if (pure && (x->path.odd == ODD_LOST_ACKS || x->path.odd == ODD_LOST_ACKS_NO_SACK) &&
	    draw_ppm(x) < 450000)
		return;
	while (n--) {
		if (!enters(&x->back, &sent.p) || is_lost(x, false, &f->p))
			continue;
		at_ns = x->back.busy_ns + x->path.rtt_us * 500ULL;
		if (x->path.odd == ODD_THIN_ACKS) {
			at_ns = roundup(at_ns, slot_ns);
			last = &way->flight[(way->tail - 1) % FLIGHTS_MAX];
			if (pure && way->tail != way->head && last->at_ns == at_ns &&
			    !last->p.payload_bytes && !last->p.n_sacks)
				way->tail--;
		}
		launch(x, is_astray(x) ? GUEST : TCON_FROM_PEER, f, at_ns);
	}
}

/* Ends. */

static void emit(struct end *e, struct flight *f)
{
	struct world *x = e->x;

	f->p.has_ts = true;
	f->p.tsval = now_ms() + (e->is_guest ? 0 : 5000);
	f->p.tsecr = e->ts_recent;
	e->delay_ns = NEVER;
	e->rx.unacked = 0;
	if (!e->is_guest) {
		peer_sends(x, f);
		return;
	}
	f->mac = x->path.odd == ODD_MAC && shim_now_ns > x->die_ns + NSEC_PER_SEC / 2 ?
		 NEW_MAC : OLD_MAC;
	launch(x, TCON_FROM_GUEST, f, shim_now_ns + GUEST_WAY_NS);
}

/* @p: what the receiver says now. */
static void end_says(struct end *e, struct tcon_packet p, u32 seq, u32 bytes, u32 gso_bytes)
{
	struct flight f = { .p = p, .gso_bytes = gso_bytes };

	f.p.window = min(e->buffer >> WSCALE, (u32)U16_MAX);
	f.p.seq = seq;
	f.p.payload_bytes = bytes;
	f.p.end_seq = seq + bytes;
	ecn_write(e, &f.p);
	emit(e, &f);
}

static u32 end_nxt(const struct end *e)
{
	return e->is_native ? e->native.track.cc.nxt : plain_seq(e, e->plain.nxt);
}

static void end_acks(struct end *e, struct tcon_packet ack)
{
	end_says(e, ack, end_nxt(e), 0, 0);
}

/*
 * Data leaves.  As in Linux, SACK blocks take from the payload, and a super-packet of the guest is
 * cut below TCon.
 */
static void end_emits(struct end *e, u32 seq, u32 bytes)
{
	struct tcon_packet p = receiver_ack(&e->rx, 0, 0);
	u32 most = SEG_MSS - (p.n_sacks ? 4 + 8 * p.n_sacks : 0), n;

	if (e->is_guest && bytes > most && e->burst > 1) {
		end_says(e, p, seq, bytes, most);
		return;
	}
	for (; bytes; bytes -= n, seq += n) {
		n = min(bytes, most);
		end_says(e, p, seq, n, 0);
	}
}

static void end_output(struct end *e)
{
	if (e->open && e->is_native)
		native_output(e);
	else if (e->open)
		plain_output(e);
}

static void end_syn(struct end *e, bool answer)
{
	struct flight f = {
		.p = {
			.flags = TCON_TCP_SYN | (answer ? TCON_TCP_ACK : 0),
			.seq = e->isn, .end_seq = e->isn + 1,
			.ack = answer ? e->rx.nxt : 0,
			.window = U16_MAX, .mss = SEG_MSS + 12, .wscale = WSCALE,
			.sack_permitted = e->sack,
		},
	};

	ecn_syn(e, &f.p);
	emit(e, &f);
}

/* The handshake; nothing of it is lost. */
static void end_hears_syn(struct end *e, const struct tcon_packet *p)
{
	struct tcon_packet syn = {
		.flags = TCON_TCP_SYN, .seq = e->isn, .end_seq = e->isn + 1, .window = U16_MAX,
		.mss = SEG_MSS + 12, .wscale = WSCALE, .sack_permitted = e->sack, .has_ts = true,
	};

	e->rx.nxt = p->end_seq;
	e->ts_recent = p->tsval;
	e->edge = e->una + p->window;
	e->most = p->window;
	ecn_hears_syn(e, p);
	if (!e->is_guest) {
		end_syn(e, true);
		return;
	}
	e->sack = p->sack_permitted;
	e->rx.sack = e->sack;
	e->open = true;
	if (e->is_native)
		native_open(e, &syn, p, &rules[host.algorithm]);
	else
		plain_rtt(&e->plain, now_us() - e->native.syn_us);
	end_acks(e, receiver_ack(&e->rx, 0, 0));
	end_output(e);
}

static void end_takes_ack(struct end *e, const struct tcon_packet *p, bool open)
{
	u32 bytes = (u32)p->window << WSCALE, edge = p->ack + bytes;
	bool duplicate = p->ack == e->una && !p->payload_bytes && edge == e->edge, marked;

	e->most = max(e->most, bytes);
	e->una = seq_max(e->una, p->ack);
	if (seq_after(edge, e->edge) || p->ack == e->una)
		e->edge = seq_max(e->edge, edge);
	marked = ecn_hears_ack(e, p);
	if (e->is_native)
		native_ack(e, p);
	else
		plain_ack(e, p, duplicate && !open, marked);
}

static void end_takes_data(struct end *e, const struct tcon_packet *p)
{
	bool at_once = ecn_hears_data(e, p);
	struct tcon_packet ack;

	if (!e->is_guest && e->x->path.odd == ODD_PRUNES && seq_after(p->seq, e->rx.nxt) &&
	    draw_ppm(e->x) < 20000)
		e->rx.n = 0;
	if (receiver_data(&e->rx, p->seq, p->end_seq, &ack))
		end_acks(e, ack);
	else if (at_once)
		end_acks(e, receiver_ack(&e->rx, 0, 0));
	else if (e->delay_ns == NEVER)
		e->delay_ns = shim_now_ns + DELAYED_ACK_NS;
}

static void end_hears(struct end *e, const struct tcon_packet *p)
{
	bool opens = !e->open;

	if (p->flags & TCON_TCP_SYN) {
		end_hears_syn(e, p);
		return;
	}
	if (seq_before(p->tsval, e->ts_recent)) {	/* PAWS */
		end_acks(e, receiver_ack(&e->rx, 0, 0));
		return;
	}
	/* RFC 5961, 5.2: an ACK as old as that is none of the connection's. */
	if (seq_before(p->ack, e->una - e->most)) {
		e->x->old_acks += !e->is_guest;
		end_acks(e, receiver_ack(&e->rx, 0, 0));
		return;
	}
	if (!seq_after(p->seq, e->rx.nxt))
		e->ts_recent = p->tsval;
	e->open = true;
	if (!seq_before(p->ack, e->una))
		end_takes_ack(e, p, opens);
	if (p->payload_bytes)
		end_takes_data(e, p);
}

static u64 end_next_ns(const struct end *e)
{
	u64 ns = e->delay_ns;

	if (!e->open)
		return NEVER;
	return min(ns, e->is_native ? native_next_ns(e) : e->plain.timer_ns);
}

static void end_timer(struct end *e)
{
	if (e->delay_ns <= shim_now_ns)
		end_acks(e, receiver_ack(&e->rx, 0, 0));
	else if (e->is_native)
		native_timer(e);
	else
		plain_timer(e);
}

static void end_init(struct end *e, bool is_guest, bool is_native)
{
	struct world *x = e->x;

	e->is_guest = is_guest;
	e->is_native = is_native;
	e->isn = is_guest ? GUEST_ISN : PEER_ISN;
	e->sack = is_guest || (x->path.odd != ODD_NO_SACK && x->path.odd != ODD_DOUBLED_ACKS &&
			       x->path.odd != ODD_LOST_ACKS_NO_SACK);
	e->rx.sack = e->sack;
	e->rx.nxt = (is_guest ? PEER_ISN : GUEST_ISN) + 1;
	e->burst = is_guest ? 16 : 1;
	e->buffer = is_guest ? x->path.buffer : 4 << 20;
	e->una = e->isn + 1;
	e->app_end = e->isn + 1;
	e->delay_ns = NEVER;
	e->plain.cwnd = TCON_INIT_CWND_SEGS;
	e->plain.ssthresh = U32_MAX;
	e->plain.timer_ns = NEVER;
	e->plain.has_hystart = is_guest && x->path.odd == ODD_HYSTART;
	ecn_init(e, marks_of(x->path.odd) && (!is_guest || !x->has_tcon || x->path.guest_ecn),
		 x->path.counts && (is_native || !is_guest));
}

/* The world. */

static void arrive(struct world *x, enum place at)
{
	struct flight f = x->way[at].flight[x->way[at].head++ % FLIGHTS_MAX];

	switch (at) {
	case TCON_FROM_GUEST:
		to_tcon(x, &f);
		break;
	case TCON_FROM_PEER:
		back_to_tcon(x, &f);
		break;
	case GUEST:
		end_hears(&x->g, &f.p);
		break;
	default:
		end_hears(&x->r, &f.p);
		break;
	}
}

static u64 way_next_ns(const struct way *way)
{
	return way->head == way->tail ? NEVER : way->flight[way->head % FLIGHTS_MAX].at_ns;
}

static u64 tcon_next_ns(const struct world *x)
{
	u64 ns = x->work_ns;

	if (shim_timer->armed)
		ns = min(ns, (u64)shim_timer->expires);
	return shim_tasklet->scheduled ? shim_now_ns : ns;
}

static void run_tcon(struct world *x)
{
	if (shim_tasklet->scheduled) {
		run_tasklet();
	} else if (shim_timer->armed && shim_timer->expires <= shim_now_ns) {
		run_timer();
	} else {
		x->work_ns = shim_now_ns + NSEC_PER_SEC;
		shim_work->func(shim_work);
	}
}

/* The next thing happens, unless nothing does until then. */
static bool step(struct world *x, u64 until_ns)
{
	u64 tcon_ns = x->has_tcon ? tcon_next_ns(x) : NEVER, ns = tcon_ns;
	u64 g_ns = end_next_ns(&x->g), r_ns = end_next_ns(&x->r);
	enum place at, first = PLACES;

	for (at = 0; at < PLACES; at++) {
		if (way_next_ns(&x->way[at]) >= ns)
			continue;
		ns = way_next_ns(&x->way[at]);
		first = at;
	}
	if (min3(ns, g_ns, r_ns) > until_ns) {
		shim_now_ns = max(shim_now_ns, until_ns);
		return false;
	}
	shim_now_ns = max(shim_now_ns, min3(ns, g_ns, r_ns));
	if (g_ns < ns && g_ns <= r_ns)
		end_timer(&x->g);
	else if (r_ns < ns)
		end_timer(&x->r);
	else if (first != PLACES)
		arrive(x, first);
	else
		run_tcon(x);
	rcu_barrier();
	if (x->has_tcon)
		record_flow();
	return true;
}

static void world_begin(struct world *x, const struct path *path, bool has_tcon, bool is_native)
{
	u64 least_ns = 10 * (SEG_MSS + HEADER_BYTES) * 8 * (u64)NSEC_PER_SEC / min(path->rate_bps, path->back_bps);
	u64 queue_ns = max(path->queue_halves * path->rtt_us * 500ULL, least_ns);
	u32 algorithm = host.algorithm;

	memset(x, 0, sizeof(*x));
	x->path = *path;
	x->has_tcon = has_tcon;
	x->g.x = x;
	x->r.x = x;
	end_init(&x->g, true, is_native);
	end_init(&x->r, false, false);
	bottleneck_init(&x->there, path->rate_bps, queue_ns, marks_of(path->odd),
			path->rtt_us);
	bottleneck_init(&x->back, path->back_bps, max(queue_ns, path->back_queue_ns), MARKS_NONE,
			path->rtt_us);
	x->work_ns = START_NS + NSEC_PER_SEC;
	x->die_ns = START_NS + NSEC_PER_SEC / 2;
	shim_now_ns = START_NS;
	if (has_tcon) {
		host_begin(START_NS, &attach);
		host.algorithm = algorithm;
		bound(TCON_SHARE_RECORDS, 64 << 20);
	}
	x->g.native.syn_us = START_NS / NSEC_PER_USEC;
	end_syn(&x->g, false);
}

static void world_end(struct world *x)
{
	if (x->g.is_native && x->g.open)
		native_close(&x->g);
	if (x->has_tcon)
		host_end();
	WARN_ON(shim_skbs);
}

#endif /* _TESTS_GOODPUT_PATH_H */
