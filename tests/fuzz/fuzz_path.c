// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of the datapath: its hooks, what is held, repaired and written, on a path that is
 * the input's.
 *
 *	guest ---1---> TCon ---2---> peer	each segment on each of the four ways is
 *	      <--4---       <--3---		lost, doubled, late or overtakes; on 1 and
 *						3 it may also pass TCon by
 *
 * The datapath is the real one, from path.c down; the kernel below it is tests/unit/shim.
 * Both ends are honest, and lie in ends.h.  When the input ends, so is the path.  The guest
 * may move: its port ends, and a new one is given what was known.  At times there is no rule, and
 * the port comes to rest.
 *
 * Invariants:
 *  - what waits in TCon does not wait longer than 1 s or two RTOs without anything leaving;
 *  - what leaves TCon came from the guest, byte by byte, with right checksums;
 *  - no ACK offers the guest more than the peer has offered in one that reached TCon, nor
 *    acknowledges more;
 *  - on an honest path the transfer ends;
 *  - an ACK for what has left is heard, also where it is for more;
 *  - of a guest that keeps to the windows it was given nothing is dropped for lack of room;
 *  - a port at rest takes nothing; when a rule comes, flows soon resume;
 *  - nothing is left then: no packet, no copy, no record, no account that is not zero.
 *
 * An input is: what the two ends and the path are like, and then what happens to segments, in
 * the order in which they begin a way: a byte for one or for several in a row.
 */
#include "tests/unit/host.h"
#include "tests/unit/recorder.h"

#include <linux/module.h>

#include "base/seq.h"
#include "sender/sendq.h"
#include "state/judge.h"
#include "state/move.h"
#include "state/rest.h"
#include "state/table.h"
#include "wire/segment.h"

#include "ends.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define START_NS		(1000 * (u64)NSEC_PER_SEC)
#define ADVERSE_MAX_NS		(100 * (u64)NSEC_PER_SEC)	/* then the path is honest */
#define HONEST_MAX_NS		(60 * (u64)NSEC_PER_SEC)	/* and the transfer ends */
#define LINGER_NS		(2 * (u64)NSEC_PER_SEC)
#define FROZEN_MIN_US		1000000U
#define EVENTS_MAX		200000
#define FILE_MAX_BYTES		(256 * 1024)
#define SAVED_MAX		4
#define RESUMES_MAX		12	/* segments with data */

enum place { TCON_FROM_GUEST, PEER, TCON_FROM_PEER, GUEST, PLACES };

enum fate { HONEST, LOST, DOUBLED, LATE, EARLY, ELSEWHERE };

/**
 * struct flight - a segment on its way
 * @next: that arrives after it
 * @skb: the segment
 * @at_ns: when it arrives
 * @to: where
 */
struct flight {
	struct flight *next;
	struct sk_buff *skb;
	u64 at_ns;
	enum place to;
};

/**
 * struct way - from one place to the next
 * @fate: of the next @left segments
 * @left: their number
 * @delay_ns: in an honest network
 */
struct way {
	enum fate fate;
	u32 left;
	u64 delay_ns;
};

/**
 * struct world - all of it
 * @in: the input
 * @g: the guest
 * @r: the peer
 * @way: by where it leads to
 * @flights: on their way, the first to arrive first
 * @rate_bps: of the bottleneck, behind TCon
 * @queue_ns: length of its queue
 * @busy_ns: until then it is busy
 * @honest_ns: since then the path is honest; 0: it is not yet
 * @moved_ns: when something last left TCon to the peer, or nothing waited
 * @work_ns: when shim_work is due
 * @done_ns: when the transfer ended; 0: it has not
 * @id: of the guest's IP header
 * @entered: bytes of the guest's that TCon has seen; the last is its FIN
 * @syn_entered: TCon has seen its SYN
 * @offered: highest edge that the peer has offered TCon
 * @acked: highest acknowledgment that TCon has seen
 * @heard: those two are valid
 * @scale: of the peer's windows
 * @leave_ns: when the guest's port ends; NEVER: it does not
 * @come_ns: when the next port is told of @saved; NEVER: nothing to tell
 * @away_ns: time between the two
 * @saved: records that the guest takes along
 * @n_saved: number of those
 * @bypassed: the guest may have been given a window that TCon does not know
 * @calm: the port might have rested a while ago
 * @resuming: segments with data that the guest has sent while a flow was to resume
 */
struct world {
	struct input in;
	struct guest g;
	struct peer r;
	struct way way[PLACES];
	struct flight *flights;
	u64 rate_bps, queue_ns, busy_ns;
	u64 honest_ns, moved_ns, work_ns, done_ns;
	u16 id;
	u8 entered[FILE_MAX_BYTES + 2];
	bool syn_entered;
	u32 offered, acked;
	bool heard;
	u8 scale;
	u64 leave_ns, come_ns, away_ns;
	struct tcon_state_record saved[SAVED_MAX];
	u32 n_saved;
	bool bypassed, calm;
	u32 resuming;
};

static struct world *world;
static bool tracing;

/* Flows have looked for their rule when the port comes to rest. */
static void look_at_port(struct world *x)
{
	bool calm = x->calm;
	struct tcon_flow *flow;

	for_each_flow(flow, &host.port) {
		spin_lock(&flow->lock);
		tcon_judge_refresh(flow, shim_now_ns / NSEC_PER_USEC);
		spin_unlock(&flow->lock);
	}
	x->calm = host.ruleless && !atomic_read(&host.port.attended) &&
		  !tcon_share_used(host.port.shares, TCON_SHARE_BUFFER);
	if (x->calm && calm)
		host.port.rests = true;
}

/* With FUZZ_TRACE in the environment: the events, and the state of TCon's flow. */
static void trace(const struct world *x, const char *what, const struct tcon_packet *p)
{
	const struct tcon_flow *flow;
	const struct tcon_track *t;

	if (!tracing)
		return;
	printf("%10.6f %-8s", (shim_now_ns - START_NS) / 1e9, what);
	if (p)
		printf(" %02x %6u..%u ack %u win %u sacks %u", p->flags, p->seq - GUEST_ISN,
		       p->end_seq - GUEST_ISN, p->ack - GUEST_ISN, p->window, p->n_sacks);
	for_each_flow(flow, &host.port) {
		t = &flow->track;
		printf(" | state %u/%u una %u nxt %u inflight %u cwnd %u/%u lost %u held %u rto %u<<%u rate %llu clock %.6f due %.6f",
		       flow->state, flow->reason, t->cc.una - GUEST_ISN, t->cc.nxt - GUEST_ISN,
		       t->cc.inflight_bytes, tcon_track_cwnd_bytes(t), t->cc.cwnd_bytes,
		       t->lost.bytes, flow->buffer.unsent_bytes, tcon_track_rto_us(t), t->timer.backoff,
		       t->cc.pacing_rate_bps, (s64)(flow->clock.release_ns - START_NS) / 1e9,
		       flow->due.pacer ? (flow->due.node.expires - (s64)START_NS) / 1e9 : -1);
	}
	printf("\n");
}

static void launch(struct world *x, struct sk_buff *skb, enum place to, u64 at_ns)
{
	struct flight *f = malloc(sizeof(*f)), **at = &x->flights;

	while (*at && (*at)->at_ns <= at_ns)
		at = &(*at)->next;
	*f = (struct flight) { *at, skb, at_ns, to };
	*at = f;
}

/* Things that happen to an end, or to TCon, besides. */
static void special(struct world *x)
{
	u8 what = get_u8(&x->in);
	u64 ns = (what / 8 + 1) * 50 * NSEC_PER_MSEC;

	switch (what % 8) {
	case 0:
		host.failures = what / 8 + 1;
		break;
	case 1:
		x->r.rx.n = 0;	/* reneging */
		break;
	case 2:
	case 3:
		x->r.stop_ns = shim_now_ns + ns;
		break;
	case 4:
	case 5:
		x->g.quiet_ns = shim_now_ns + ns;
		break;
	case 6:
		host.algorithm = what / 8 % n_rules;
		change_rules(what & 0x80);
		break;
	case 7:
		if (what & 0x40) {
			x->leave_ns = shim_now_ns;
			x->away_ns = what & 0x20 ? ns / 4 : 0;
			break;
		}
		x->r.rx.no_dsack = what & 8;
		break;
	}
}

/* Few at a time, seldom many. */
static const u8 in_a_row[] = { 1, 1, 1, 2, 3, 4, 6, 10, 16, 24, 40, 64, 100, 160, 220, 255 };

static enum fate fate_of(struct world *x, enum place to)
{
	static const enum fate fates[] = {
		HONEST, HONEST, HONEST, HONEST, HONEST, HONEST, HONEST,
		LOST, LOST, LOST, DOUBLED, LATE, LATE, EARLY, ELSEWHERE, ELSEWHERE,
	};
	struct way *way = &x->way[to];
	u8 v;

	if (x->honest_ns)
		return HONEST;
	if (!way->left) {
		v = get_u8(&x->in);
		if (v == 0xf0)
			special(x);
		way->fate = fates[v % 16];
		way->left = in_a_row[v / 16];
	}
	way->left--;
	return way->fate;
}

/* Begins its way. */
static void travel(struct world *x, struct sk_buff *skb, enum place to, u64 begin_ns)
{
	u64 delay_ns = x->way[to].delay_ns, at_ns = begin_ns + delay_ns;
	enum place beyond = to == TCON_FROM_GUEST ? PEER : GUEST;

	switch (fate_of(x, to)) {
	case HONEST:
		break;
	case LOST:
		kfree_skb(skb);
		return;
	case DOUBLED:
		launch(x, skb_clone(skb, GFP_KERNEL), to, at_ns + delay_ns / 4);
		break;
	case LATE:
		at_ns += delay_ns * (1 + get_u8(&x->in) % 64) / 8;
		break;
	case EARLY:
		at_ns = begin_ns;
		break;
	case ELSEWHERE:
		if (to == beyond || to == PEER)
			break;
		x->bypassed |= to == TCON_FROM_PEER;
		to = beyond;
		at_ns += x->way[to].delay_ns;
		break;
	}
	launch(x, skb, to, at_ns);
}

/* A super-packet begins its way as such, and ends it as segments. */
static void cut(struct sk_buff *skb, struct sk_buff_head *out)
{
	struct sk_buff *list, *piece, *next;

	__skb_queue_head_init(out);
	if (!skb_is_gso(skb)) {
		__skb_queue_tail(out, skb);
		return;
	}
	list = __skb_gso_segment(skb, 0, false);
	skb_list_walk_safe(list, piece, next)
		__skb_queue_tail(out, piece);
	kfree_skb(skb);
}

static void guest_emits(struct world *x, struct tcon_packet *p)
{
	bool partial = p->payload_bytes > SEG_MSS || x->id & 4;

	travel(x, segment_new(p, true, x->id++, partial), TCON_FROM_GUEST, shim_now_ns);
}

static void peer_emits(struct world *x, struct tcon_packet *p)
{
	travel(x, segment_new(p, false, 0, false), TCON_FROM_PEER, shim_now_ns);
}

/* Did the guest give TCon what leaves? */
static void check_left(const struct world *x, const struct tcon_packet *p)
{
	u32 bytes = p->end_seq - p->seq, at = p->seq - (GUEST_ISN + 1);

	if (p->flags & TCON_TCP_SYN) {
		WARN_ON(!x->syn_entered || p->payload_bytes);
		return;
	}
	WARN_ON(p->flags & TCON_TCP_RST);
	if (!bytes)
		return;
	WARN_ON(at >= sizeof(x->entered) || bytes > sizeof(x->entered) - at);
	WARN_ON(memchr(x->entered + at, 0, bytes));
	if (p->flags & TCON_TCP_FIN)
		WARN_ON(p->end_seq != x->g.end + 1);
}

/* Leaves TCon, by way of the bottleneck, whose queue may be full. */
static void left(struct world *x, struct sk_buff *skb)
{
	struct tcon_packet p = segment_read(skb);
	struct sk_buff_head out;

	trace(x, "left", &p);
	record_frame("left", skb);
	check_left(x, &p);
	if (p.seq != p.end_seq)
		x->moved_ns = shim_now_ns;
	cut(skb, &out);
	while ((skb = __skb_dequeue(&out))) {
		x->busy_ns = max(x->busy_ns, shim_now_ns);
		if (x->busy_ns > shim_now_ns + x->queue_ns) {
			trace(x, "full", NULL);
			kfree_skb(skb);
			continue;
		}
		x->busy_ns += skb->len * 8 * (u64)NSEC_PER_SEC / x->rate_bps;
		travel(x, skb, PEER, x->busy_ns);
	}
}

static void inject(const struct tcon_port *port, struct sk_buff *skb)
{
	leave_tcon();
	record_flow();
	left(world, skb);
	enter_tcon();
}

/* Is given to the guest.  Only what has reached TCon may it be told. */
static void given(struct world *x, struct sk_buff *skb)
{
	struct tcon_packet p = segment_read(skb);
	u8 scale = p.flags & TCON_TCP_SYN ? 0 : x->scale;

	trace(x, "given", &p);
	record_frame("given", skb);
	WARN_ON(!x->heard || seq_after(p.ack, x->acked));
	WARN_ON(seq_after(p.ack + ((u32)p.window << scale), x->offered));
	travel(x, skb, GUEST, shim_now_ns);
}

static void give(const struct tcon_port *port, struct sk_buff *skb)
{
	leave_tcon();
	given(world, skb);
	enter_tcon();
}

static const struct tcon_attach attach = {
	.name = "fuzz",
	.inject = inject,
	.send = give,
};

/* The guest sends data.  Has it done so for long, and a flow does still not resume? */
static void check_resumed(struct world *x)
{
	const struct tcon_flow *flow;
	bool resuming = false;

	for_each_flow(flow, &host.port)
		resuming |= flow->reason == TCON_REASON_RESUMING;
	x->resuming = resuming ? x->resuming + 1 : 0;
	WARN_ON(x->resuming > RESUMES_MAX);
}

static void note_entered(struct world *x, const struct sk_buff *skb)
{
	struct tcon_packet p = segment_read(skb);

	if (p.payload_bytes)
		check_resumed(x);
	trace(x, "enters", &p);
	record_frame("guest", skb);
	x->syn_entered |= p.flags & TCON_TCP_SYN;
	if (!(p.flags & TCON_TCP_SYN) && p.seq != p.end_seq)
		memset(x->entered + (p.seq - (GUEST_ISN + 1)), 1, p.end_seq - p.seq);
}

static void note_offered(struct world *x, const struct tcon_packet *p)
{
	u8 scale = p->flags & TCON_TCP_SYN ? 0 : x->scale;
	u32 edge = p->ack + ((u32)p->window << scale);

	if (!x->heard || seq_after(edge, x->offered))
		x->offered = edge;
	if (!x->heard || seq_after(p->ack, x->acked))
		x->acked = p->ack;
	x->heard = true;
}

/* What TCon keeps may be acknowledged, and all that it has let go is then, too. */
static void check_acked(const struct world *x, u32 ack)
{
	const struct tcon_flow *flow;
	const struct tcon_track *t;

	for_each_flow(flow, &host.port) {
		t = &flow->track;
		WARN_ON(tcon_flow_enforced(flow) && seq_after(ack, t->cc.una) &&
			!seq_after(ack, t->nxt_guest) && t->cc.una != t->cc.nxt);
	}
}

/*
 * An ACK of what TCon has not seen passes as it is.  By its window the guest may send more than TCon
 * gave it.  TCon does not believe it, since anybody could send such a one.
 */
static bool acks_unseen(const struct world *x, u32 ack)
{
	const struct tcon_flow *flow;
	bool unseen = false;

	for_each_flow(flow, &host.port)
		unseen |= flow->track.synced && seq_after(ack, flow->track.nxt_guest);
	return unseen;
}

static u64 dropped(void)
{
	return host.tnet.stats->count[TCON_COUNTER_HOLD_EXCESS];
}

/* TCon does not know the windows of paced flows. */
static bool windows_known(const struct world *x)
{
	const struct tcon_flow *flow;
	bool known = !x->bypassed;

	for_each_flow(flow, &host.port)
		known &= flow->state != TCON_STATE_PACED;
	return known;
}

static void to_tcon(struct world *x, struct sk_buff *skb)
{
	bool rests = host.port.rests, pass;
	u64 before = dropped();

	note_entered(x, skb);
	enter_tcon();
	pass = tcon_path_ingress(&host.port.hook, skb);
	leave_tcon();
	WARN_ON(rests && !pass);
	WARN_ON(dropped() != before && windows_known(x));
	if (pass)
		left(x, skb);
}

static void back_to_tcon(struct world *x, struct sk_buff *skb)
{
	struct tcon_packet before = segment_read(skb), after;
	bool pass;

	note_offered(x, &before);
	x->bypassed |= acks_unseen(x, before.ack);
	trace(x, "ack", &before);
	record_frame("peer", skb);
	enter_tcon();
	skb->mark = before.ack & 1;	/* it changes at any time */
	pass = tcon_path_egress(&host.port.hook, skb);
	leave_tcon();
	check_acked(x, before.ack);
	if (!pass)
		return;
	after = segment_read(skb);
	if (after.ack == before.ack)
		WARN_ON(after.window > before.window);
	else	/* it repeats one that the guest has; its edge is looked at in given() */
		WARN_ON(!before.payload_bytes || !seq_before(after.ack, before.ack));
	given(x, skb);
}

static void arrive(struct world *x)
{
	struct flight *f = x->flights;
	struct sk_buff *skb = f->skb;
	enum place to = f->to;
	struct tcon_packet p;
	struct sk_buff_head out;

	x->flights = f->next;
	free(f);
	if (to == TCON_FROM_GUEST) {
		to_tcon(x, skb);
		return;
	}
	if (to == TCON_FROM_PEER) {
		back_to_tcon(x, skb);
		return;
	}
	cut(skb, &out);
	while ((skb = __skb_dequeue(&out))) {
		p = segment_read(skb);
		kfree_skb(skb);
		if (to == PEER)
			peer_hears(&x->r, &p);
		else
			guest_hears(&x->g, &p);
	}
}

static u64 next_ns(const struct world *x)
{
	u64 ns = min(min(x->work_ns, x->g.timer_ns), min(x->leave_ns, x->come_ns));

	if (x->flights)
		ns = min(ns, x->flights->at_ns);
	if (shim_timer->armed)
		ns = min(ns, (u64)shim_timer->expires);
	if (shim_tasklet->scheduled)
		ns = shim_now_ns;
	if (x->r.stop_ns)
		ns = min(ns, x->r.stop_ns);
	if (x->g.quiet_ns)
		ns = min(ns, x->g.quiet_ns);
	return max(min(ns, x->r.delay_ns), shim_now_ns);
}

static void run_work(struct world *x)
{
	x->work_ns = shim_now_ns + NSEC_PER_SEC;
	shim_work->func(shim_work);
	enter_tcon();
	look_at_port(x);
	leave_tcon();
}

static void guest_timer(struct world *x)
{
	trace(x, "timeout", NULL);
	guest_timeout(&x->g);
}

/* The guest's port ends, with all that TCon holds and keeps for it. */
static void leave_port(struct world *x)
{
	struct tcon_stub *stub;
	struct tcon_flow *flow;
	long serial = LONG_MAX;

	x->leave_ns = NEVER;
	x->come_ns = shim_now_ns + x->away_ns;
	x->n_saved = 0;
	trace(x, "leaves", NULL);
	record_moved();
	enter_tcon();
	while ((stub = tcon_table_below(&host.port, serial))) {
		serial = stub->serial;
		flow = tcon_table_open(stub);
		if (!flow)
			continue;
		spin_lock(&flow->lock);
		if (x->n_saved < SAVED_MAX)
			x->n_saved += tcon_move_out(flow, &x->saved[x->n_saved]);
		spin_unlock(&flow->lock);
		tcon_table_shut(stub, flow);
	}
	tcon_table_purge_port(&host.port);
	leave_tcon();
	host.port.id++;
}

/* It is at another one, where it may have been for a while. */
static void come_to_port(struct world *x)
{
	struct tcon_saved *saved;
	u32 i;

	x->come_ns = NEVER;
	for (i = 0; i < x->n_saved; i++) {
		saved = malloc(sizeof(*saved));
		WARN_ON(tcon_saved_read(saved, &x->saved[i], sizeof(x->saved[i])));
		enter_tcon();
		tcon_move_in(&host.port, saved);
		leave_tcon();
	}
	trace(x, "comes", NULL);
}

/* The first thing that is due happens. */
static void step(struct world *x)
{
	shim_now_ns = next_ns(x);
	if (x->leave_ns <= shim_now_ns)
		leave_port(x);
	else if (x->come_ns <= shim_now_ns)
		come_to_port(x);
	else if (x->flights && x->flights->at_ns <= shim_now_ns)
		arrive(x);
	else if (shim_tasklet->scheduled)
		run_tasklet();
	else if (shim_timer->armed && shim_timer->expires <= shim_now_ns)
		run_timer();
	else if (x->work_ns <= shim_now_ns)
		run_work(x);
	else if (x->g.timer_ns <= shim_now_ns)
		guest_timer(x);
	else if (x->g.quiet_ns && x->g.quiet_ns <= shim_now_ns) {
		x->g.quiet_ns = 0;
		guest_output(&x->g);
	} else {
		peer_timer(&x->r);
	}
	rcu_barrier();
	record_flow();
}

/* Has something waited in TCon for long, and nothing left? */
static void check_frozen(struct world *x)
{
	const struct tcon_flow *flow;
	u64 limit_us = FROZEN_MIN_US;
	bool waits = false;

	for_each_flow(flow, &host.port) {
		limit_us = max(limit_us, 2ULL * tcon_track_rto_us(&flow->track));
		waits |= tcon_buffer_waits(&flow->buffer);
	}
	if (!waits)
		x->moved_ns = shim_now_ns;
	WARN_ON(shim_now_ns - x->moved_ns > limit_us * NSEC_PER_USEC);
}

/* The charge is the sum of what is kept, and so is the waiting part. */
static void check_buffer(const struct tcon_flow *flow)
{
	u32 unsent_bytes = 0, unsent_charged_bytes = 0, charged_bytes = 0, i;
	const struct tcon_sendq *q = &flow->track.sendq;
	const struct tcon_buffer *b = &flow->buffer;
	const struct tcon_segment *seg;
	const struct sk_buff *skb;

	skb_queue_walk(&b->unsent, skb) {
		seg = tcon_segment(skb);
		WARN_ON(seq_before(seg->start, seg->seq) || seq_after(seg->start, seg->end_seq));
		WARN_ON(seg->seq != seg->end_seq && seg->start == seg->end_seq);
		unsent_bytes += tcon_segment_left_bytes(seg, seg->end_seq);
		unsent_charged_bytes += seg->charged_bytes;
	}
	for (i = q->head; i != q->tail; i++) {
		skb = tcon_sendq_at(q, i)->copy;
		charged_bytes += skb ? tcon_segment(skb)->charged_bytes : 0;
	}
	WARN_ON(unsent_bytes != b->unsent_bytes);
	WARN_ON(unsent_charged_bytes != b->unsent_charged_bytes);
	WARN_ON(unsent_charged_bytes + charged_bytes != b->charged_bytes);
}

static void check_flows(const struct world *x)
{
	const struct tcon_flow *flow;
	long used = 0;

	for_each_flow(flow, &host.port) {
		used += flow->buffer.charged_bytes;
		check_buffer(flow);
		WARN_ON(flow->lock.held || flow->hold.run);
		WARN_ON(tcon_flow_runs_cc(flow) && flow->track.rounds.log);
		WARN_ON(flow->clock.release_ns > shim_now_ns + NSEC_PER_SEC);
	}
	WARN_ON(used != tcon_share_used(host.port.shares, TCON_SHARE_BUFFER));
}

static void check(struct world *x)
{
	check_frozen(x);
	check_flows(x);
	if (!x->honest_ns && (!x->in.left || shim_now_ns > START_NS + ADVERSE_MAX_NS)) {
		x->honest_ns = shim_now_ns;
		host.failures = 0;
	}
	if (!x->done_ns && guest_done(&x->g))
		x->done_ns = shim_now_ns;
	WARN_ON(!x->done_ns && x->honest_ns && shim_now_ns > x->honest_ns + HONEST_MAX_NS);
}

/* Set up the two ends and the path. */
static void set_up(struct world *x)
{
	static const u8 delays_ms[] = { 1, 5, 20, 60 };
	static const u32 rates_kbps[] = { 500, 4000, 20000, 200000 };
	u8 a = get_u8(&x->in), b = get_u8(&x->in), c = get_u8(&x->in);
	u8 d = get_u8(&x->in);

	host.algorithm = a % n_rules;
	host.fallback = d % TCON_RULE_FALLBACK_DROP;	/* with drop, a transfer may not end */
	host.settled = d & 0x10;
	host.rto_min_us = d & 0x80 ? 1000 : 0;
	if (d & 0x40)
		bound(TCON_SHARE_BUFFER, 40000);
	host.ruleless = d & 0x20;
	host.port.rests = host.ruleless;
	x->g = (struct guest) {
		.x = x,
		.una = GUEST_ISN + 1, .nxt = GUEST_ISN + 1, .max = GUEST_ISN + 1,
		.end = GUEST_ISN + 1 + 4000 + c * (FILE_MAX_BYTES - 4000) / 255,
		.cwnd = 10 * SEG_MSS, .ssthresh = S32_MAX,
		.timer_ns = NEVER,
		.burst = a & 0x10 ? 1 + a / 32 * 5 : 1,
		.has_ts = !(a & 4), .sack = !(a & 8),
	};
	x->r = (struct peer) {
		.x = x,
		.rx = { .nxt = GUEST_ISN + 1, .seq = PEER_ISN + 1, .sack = x->g.sack },
		.read = GUEST_ISN + 1,
		.buffer = 4000U << (b / 16 % 8),
		.wscale = b & 0x80 ? 0 : 7,
		.has_ts = x->g.has_ts,
		.delay_ns = NEVER,
	};
	x->scale = x->r.wscale;
	x->way[TCON_FROM_GUEST].delay_ns = a & 0x80 ? 5 * NSEC_PER_MSEC : 20 * NSEC_PER_USEC;
	x->way[GUEST].delay_ns = x->way[TCON_FROM_GUEST].delay_ns;
	x->way[PEER].delay_ns = delays_ms[b % 4] * NSEC_PER_MSEC;
	x->way[TCON_FROM_PEER].delay_ns = x->way[PEER].delay_ns;
	x->rate_bps = rates_kbps[b / 4 % 4] * 1000ULL;
	x->queue_ns = x->way[PEER].delay_ns * 2 + 30 * SEG_MSS * 8 * (u64)NSEC_PER_SEC /
		      x->rate_bps;
}

static void begin(struct world *x)
{
	x->moved_ns = START_NS;
	x->work_ns = START_NS + NSEC_PER_SEC;
	x->leave_ns = NEVER;
	x->come_ns = NEVER;
	if (!n_rules) {
		shim_load(tcon_reno);
		shim_load(tcon_cubic);
		shim_load(tcon_bbr);
	}
	host_begin(START_NS, &attach);
	set_up(x);
}

static void end(struct world *x)
{
	struct flight *f;

	host_end();
	while ((f = x->flights)) {
		x->flights = f->next;
		kfree_skb(f->skb);
		free(f);
	}
	WARN_ON(shim_skbs);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct world x;
	u32 events = 0;

	memset(&x, 0, sizeof(x));
	world = &x;
	x.in = (struct input) { data, size };
	begin(&x);
	record_begin("input");
	guest_syn(&x.g);
	while (!x.done_ns || shim_now_ns < x.done_ns + LINGER_NS ||
	       tcon_share_used(host.port.shares, TCON_SHARE_BUFFER)) {
		WARN_ON(events++ > EVENTS_MAX);
		step(&x);
		check(&x);
	}
	end(&x);
	return 0;
}

/* Earlier findings, in few bytes. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const struct {
		const char *bytes;
		size_t n;
	} found[] = {
		/* No SACK, ten repairs: rate samples of 0, and a clock 60 s ahead. */
		{ "\x9b\xc4\x9a\x00\x94", 5 },
		/* ACKs pass elsewhere: held data waits for a timer that backs off. */
		{ "\x5b\x4c\x4c\x00\x00\x00\x10\x30\x00\x00\x00\x08\xff\xff\xed\x4c", 16 },
		/* The held data has been acknowledged, all that has left stays in flight. */
		{ "\xd7\x7d\x7d\x00\x7d\x7d\x7d\x7d\x7d\x7d\xe8\xff\xb9\x0f", 14 },
		/* Repeats pass elsewhere: a round trip of 80 s. */
		{ "\x30\x8a\x8a\x00\x75\x75\x75\x47\x07\x00\x00\x00\x00\x00\x65\xcf\x68\x68\x68"
		  "\x68\x68\x68\x07\xa1\x4a\x31\x7b\x75\x00\x8a\xfa\xff\xfb\xde", 34 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(found); i++)
		LLVMFuzzerTestOneInput((const u8 *)found[i].bytes, found[i].n);
	tracing = getenv("FUZZ_TRACE");
	return 0;
}
