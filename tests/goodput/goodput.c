// SPDX-License-Identifier: GPL-2.0-only
/*
 * Goodput of every CC under TCon, against the same CC at the guest itself.
 *
 * The same connection is made three times in one world of virtual time (path.h):
 *
 *	tcon	the guest's plain sender (plain.h) behind the whole datapath, which runs the CC
 *	native	no TCon: the guest itself runs the CC, on the floor sender/ (native.h)
 *	plain	no TCon and no CC: the guest's plain sender
 *
 * Time that tcon takes beyond native's is what act/, ends/ and state/ cost: what waits too long,
 * windows, ACKs that are edited, repairs.  A fault of the CC, or of the floor sender/, is in both;
 * so tcon is judged against plain, too, which shares no code with either.  That bound is wider: a
 * CC may rightly be slower than AIMD, or faster.
 *
 * A cell is a CC, a class, a rate and an RTT.  It has several variants: depth of the queue, losses.
 * A variant is run for SEEDS seeds, by which losses are drawn, and rate and RTT vary by a twentieth.
 * Its ratio is the larger of two.  Neither hangs on one unlucky transfer:
 *
 *	the second best time under tcon / the second worst natively	always a bit slower
 *	(time of all seeds under tcon - SLACK_NS each) / natively	sometimes much slower
 *
 * and the cell's is that of its worst variant.  All of it is the same in each run.  Where nearly
 * half of the ACKs are lost, each time-out has a second one, which is twice as long, about every
 * other time, and so on: such times have no mean to speak of, and the median takes its place.
 *
 * The peer throws away each segment whose ACK is too old (RFC 5961, 5.2).  Of a native sender there
 * is none, and under TCon there may be none.
 *
 * A cell must be within the bounds of its class.  Where it is not, for a known reason, known.h says
 * which, and how far beyond at most.  An entry of known.h without any such cell fails the run, too,
 * so that it is deleted.
 *
 *	goodput				all cells, and a verdict
 *	goodput CC/CLASS/MBPS/US	those cells whose name has that in it, variant by variant
 *	goodput -s N [...]		with N seeds in place of SEEDS; fewer are not judged
 *	goodput -f N [...]		from seed N on
 *	goodput -v			all cells, variant by variant
 *
 * Where the bottleneck marks (bottleneck.h), the rule is ecn=on, the native sender and the plain one
 * speak ECN, and the guest behind TCon does so or not.  There the queue is judged, too: how long data
 * waits on average, against native's.  Elsewhere no queue marks, so dctcp is reno.
 *
 * What it cannot see: other MSS, IPv6, GSO on the way to the guest, receivers that close their window,
 * several flows.  The guest does not restart after idle (tcp_slow_start_after_idle=0).  The plain
 * sender is Reno in the long run, so on long fat paths with losses its time is no demand.  The guest
 * behind TCon is that sender, too, so where TCon hands a flow back to it, Reno is what goes on.  Linux
 * takes a segment with an old ACK where the window field is as before; the peer here does not.
 * Transfers that end within 0.2 s are bound by the first of the two ratios only.
 *
 * Bounds are measured: a quarter more than the worst cell of 24 seeds, taken as four runs of six,
 * that is not in known.h; without SACK, with lost ACKs or ones that pass TCon by, and with another
 * next hop, of 6 to 12 seeds.  That cell's ratio is behind each class.
 */
#define HOST_ALGORITHMS_MAX	20
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "path.h"

#define SEEDS		6U
#define SEEDS_MAX	64U
#define LIMIT_NS	(600 * (u64)NSEC_PER_SEC)
/* A tail that waits for the shortest time-out: whether a short transfer has one is chance. */
#define SLACK_NS	(210 * (u64)NSEC_PER_MSEC)
#define ASK_BYTES	SEG_MSS
/* Of a queue: a super-packet, or what an ACK lets leave, is there at once. */
#define SLACK_SEGS	4U
/* The most that data may wait in a queue that marks, of what it waits natively, in percent. */
#define QUEUE_MOST	200U

enum work { BULK, BOTH, ASK, PAUSE };

/**
 * struct class - cells that are judged alike
 * @name: its name
 * @work: what the applications do
 * @lossy: data is lost: its variants are losses and queues; otherwise queues only
 * @odd: what the ends or the path do
 * @back: rate on the way back, in rates on the way there; 0: 1 Gbit/s
 * @native: the most that a cell may take of native's time, in percent
 * @plain: and of plain's
 */
struct class {
	const char *name;
	enum work work;
	bool lossy;
	enum odd odd;
	u32 back;
	u32 native, plain;
};

/* Behind each: the worst ratios that were measured. */
static const struct class classes[] = {
	{ "bulk", BULK, false, ODD_NONE, 4, 180, 320 },	/* 136, 252 */
	{ "bulk-loss", BULK, true, ODD_NONE, 4, 220, 320 },	/* 173, 212 */
	{ "both", BOTH, false, ODD_NONE, 2, 180, 320 },	/* 137, 168 */
	{ "both-loss", BOTH, true, ODD_NONE, 2, 200, 320 },	/* 159, 147 */
	{ "both-fast", BOTH, false, ODD_NONE, 0, 180, 320 },	/* 132, 99 */
	{ "ask", ASK, false, ODD_NONE, 4, 260, 360 },	/* 204, 287 */
	{ "ask-loss", ASK, true, ODD_NONE, 4, 270, 370 },	/* 209, 290 */
	{ "pause", PAUSE, false, ODD_NONE, 4, 240, 370 },	/* 192, 291 */
	{ "pause-loss", PAUSE, true, ODD_NONE, 4, 250, 370 },	/* 193, 224 */
	{ "no-sack", BULK, true, ODD_NO_SACK, 4, 200, 370 },	/* 155, 291 */
	{ "doubled-acks", BULK, true, ODD_DOUBLED_ACKS, 4, 230, 260 },	/* 182, 203 */
	{ "prunes", BULK, true, ODD_PRUNES, 4, 170, 230 },	/* 133, 183 */
	{ "thin-acks", BULK, true, ODD_THIN_ACKS, 4, 220, 320 },	/* 159, 149 */
	{ "lost-acks", BULK, true, ODD_LOST_ACKS, 4, 340, 350 },	/* 265, 276 */
	{ "lost-acks-no-sack", BULK, true, ODD_LOST_ACKS_NO_SACK, 4, 240, 400 },	/* 188, 313 */
	{ "astray", BULK, false, ODD_ASTRAY, 4, 190, 220 },	/* 148, 170 */
	{ "astray-loss", BULK, true, ODD_ASTRAY, 4, 310, 220 },	/* 247, 174 */
	{ "next-hop", BULK, false, ODD_MAC, 4, 140, 140 },	/* 108, 104 */
	{ "step", BULK, false, ODD_STEP, 4, 170, 230 },	/* 136, 177; queue 140 */
	{ "codel", BULK, false, ODD_CODEL, 4, 170, 230 },	/* 137, 183; queue 155 */
	{ "hystart", BULK, false, ODD_HYSTART, 4, 140, 190 },	/* 110, 150 */
};

static const u32 rates_mbps[] = { 2, 20, 200, 1000 };
static const u32 rtts_us[] = { 200, 10000, 150000 };

/**
 * struct variant - of a cell
 * @queue_halves: of the bottleneck, in 1/2 BDP
 * @loss_ppm: of data
 * @guest_ecn: where queues mark, the guest behind TCon speaks ECN
 * @counts: and the peer counts marks, as behind a TCon; otherwise it only has ECE
 */
static const struct variant {
	u32 queue_halves, loss_ppm;
	bool guest_ecn, counts;
} clean[] = { { .queue_halves = 1 }, { .queue_halves = 2 }, { .queue_halves = 8 } },
  lossy[] = {
	{ .queue_halves = 2, .loss_ppm = 1000 }, { .queue_halves = 1, .loss_ppm = 10000 },
	{ .queue_halves = 8, .loss_ppm = 10000 }, { .queue_halves = 2, .loss_ppm = 30000 },
  },
  fast[] = { { .queue_halves = 2 } },
  marked[] = { { .queue_halves = 16, .counts = true }, { .queue_halves = 16, .guest_ecn = true } };

enum who { TCON, NATIVE, PLAIN, QUEUE, WHO };

static const char * const who_names[] = { "tcon", "native", "plain", "native's queue" };

/**
 * struct cell - a cell
 * @c: its class
 * @cc: index of its CC
 * @mbps: its rate
 * @rtt_us: its RTT
 * @worst: by whom it is compared with: the ratio of its worst variant, in percent; of QUEUE: that
 *	of the queues; of TCON: the segments that the peer threw away
 */
struct cell {
	const struct class *c;
	u32 cc, mbps, rtt_us;
	u32 worst[WHO];
};

/**
 * struct known - cells that are beyond a bound for a known reason
 * @cc: the CC; NULL: any
 * @class: the class; NULL: any
 * @mbps: the rate; 0: any
 * @rtt_us: the RTT; 0: any
 * @than: NATIVE or PLAIN, whose bound it is; QUEUE: that of native's queue; TCON: the peer throws
 *	segments away
 * @most: the most that it is, in percent, or in segments
 * @why: the reason
 * @rare: in most draws there is none, so that none says nothing
 * @met: there is such a cell
 */
static struct known {
	const char *cc, *class;
	u32 mbps, rtt_us;
	enum who than;
	u32 most;
	const char *why;
	bool rare, met;
} known[] = {
#include "known.h"
};

/**
 * struct tally - of a class
 * @cells: that were judged
 * @transfers: runs
 * @beyond: cells beyond a bound for a known reason
 * @worst: of those that are within, in percent; half of those that may be twice as bad
 */
struct tally {
	u32 cells, transfers, beyond;
	u32 worst[WHO];
};

static u32 seeds = SEEDS, first_seed, failures;
static const char *only;
static bool verbose;
static u32 old_acks;
static struct tally tally;

/* What the applications do.  Each returns the time that is judged. */

static bool run_until(struct world *x, const struct end *reader, u32 seq)
{
	while (seq_before(reader->rx.nxt, seq))
		if (!step(x, START_NS + LIMIT_NS))
			return false;
	return true;
}

static void rest(struct world *x, u64 ns)
{
	u64 until_ns = shim_now_ns + ns;

	while (step(x, until_ns))
		;
}

static void writes(struct end *e, u32 bytes)
{
	e->app_end += bytes;
	end_output(e);
}

/* Some round trips, if that takes neither too few segments to grow, nor too long. */
static u32 bulk_bytes(const struct class *c, const struct path *p)
{
	u64 bytes = 8 * (p->rate_bps / 8 * p->rtt_us / USEC_PER_SEC), least = 300000;
	u64 most = c->lossy ? 1500000 : 3000000;

	if (p->rate_bps >= 200000000 || c->odd)
		least = 1500000;
	if (c->odd && p->rate_bps < 20000000)
		least = 600000;
	if (!c->back)
		least = 1000000;
	if (c->odd == ODD_HYSTART)
		most = 10000000;
	bytes = clamp_t(u64, bytes, least, most);
	return bytes / SEG_MSS * SEG_MSS;
}

static u64 both(struct world *x, u32 bytes)
{
	u64 back = (u64)bytes * x->path.back_bps / x->path.rate_bps / SEG_MSS * SEG_MSS, ns;

	writes(&x->g, bytes);
	writes(&x->r, back);
	if (!run_until(x, &x->r, x->g.app_end))
		return LIMIT_NS;
	ns = shim_now_ns - START_NS;
	if (!run_until(x, &x->g, x->r.app_end))
		return LIMIT_NS;
	return ns + shim_now_ns - START_NS;
}

/* @n answers of @bytes; each is asked for by the peer, or not. */
static u64 answers(struct world *x, bool asked, u32 n, u32 bytes, u64 gap_ns)
{
	u64 sum_ns = 0, then_ns;

	while (n--) {
		then_ns = shim_now_ns;
		if (asked)
			writes(&x->r, ASK_BYTES);
		if (!run_until(x, &x->g, x->r.app_end))
			return LIMIT_NS;
		writes(&x->g, bytes);
		if (!run_until(x, &x->r, x->g.app_end))
			return LIMIT_NS;
		sum_ns += shim_now_ns - then_ns;
		rest(x, gap_ns);
	}
	return sum_ns;
}

static u64 works(struct world *x, const struct class *c)
{
	u32 bytes = bulk_bytes(c, &x->path);

	x->turn = x->g.app_end + bytes / 2;
	switch (c->work) {
	case BULK:
		writes(&x->g, bytes);
		if (!run_until(x, &x->r, x->g.app_end))
			return LIMIT_NS;
		return shim_now_ns - START_NS;
	case BOTH:
		return both(x, bytes);
	case ASK:
		return answers(x, true, 20, 5 * SEG_MSS, 50 * NSEC_PER_MSEC) +
		       answers(x, true, 10, 100 * SEG_MSS, 100 * NSEC_PER_MSEC);
	case PAUSE:
		return answers(x, false, 6, 300 * SEG_MSS, 2 * (u64)NSEC_PER_SEC);
	}
	return 0;
}

static u64 run(const struct class *c, const struct path *path, enum who who)
{
	struct world *x = &world;
	u64 ns;

	world_begin(x, path, who == TCON, who == NATIVE);
	if (who == TCON)
		record_begin(rules[host.algorithm].cc_name);
	while (!x->g.open || !x->r.open)
		BUG_ON(!step(x, START_NS + LIMIT_NS));
	ns = works(x, c);
	world_end(x);
	return ns;
}

/* A twentieth more or less. */
static u64 about(u64 v, u32 seed, u32 salt)
{
	return v * (950000 + ppm_of(((u64)seed << 8) + salt) / 10) / 1000000;
}

static struct path path_of(const struct class *c, const struct variant *v, u32 mbps, u32 rtt_us,
			   u32 seed)
{
	struct path p = {
		.rate_bps = about(mbps * 1000000ULL, seed, 1), .rtt_us = about(rtt_us, seed, 2),
		.queue_halves = v->queue_halves, .loss_ppm = v->loss_ppm, .odd = c->odd,
		.seed = seed, .buffer = 4 << 20, .guest_ecn = v->guest_ecn, .counts = v->counts,
	};

	p.back_bps = c->back * p.rate_bps;
	if (!c->back) {
		p.back_bps = NSEC_PER_SEC;
		p.back_queue_ns = 20 * NSEC_PER_MSEC;
		p.buffer = 256 << 10;
	}
	return p;
}

/**
 * struct times - of a variant
 * @ns: by seed
 * @sum_ns: their sum
 * @median_ns: of six, the third shortest
 * @good_ns: of six, the second shortest
 * @bad_ns: and the second longest
 * @queue_ns: sum of what data waits on average
 */
struct times {
	u64 ns[SEEDS_MAX];
	u64 sum_ns, median_ns, good_ns, bad_ns, queue_ns;
};

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void take_times(struct times *t, const struct class *c, const struct variant *v,
		       const struct cell *cell, enum who who)
{
	struct path path;
	u32 i;

	t->sum_ns = 0;
	t->queue_ns = 0;
	host.algorithm = cell->cc;
	rules[cell->cc].ecn = marks_of(c->odd) ? TCON_RULE_ECN_ON : TCON_RULE_ECN_AUTO;
	for (i = 0; i < seeds; i++) {
		path = path_of(c, v, cell->mbps, cell->rtt_us, first_seed + i);
		t->ns[i] = run(c, &path, who);
		t->sum_ns += t->ns[i];
		t->queue_ns += world.there.waited_ns / world.there.waited;
		tally.transfers++;
		if (who == TCON)
			old_acks += world.old_acks;
		else
			WARN_ON(world.old_acks);
		if (verbose)
			printf(" %u:%.6f", who, t->ns[i] / 1e9);
	}
	qsort(t->ns, seeds, sizeof(t->ns[0]), compare);
	t->median_ns = t->ns[(seeds - 1) / 2];
	t->good_ns = t->ns[seeds / 6];
	t->bad_ns = t->ns[seeds - 1 - seeds / 6];
}

/* In percent. */
static u32 beyond_slack(u64 ns, u64 of_ns, u64 slack_ns)
{
	return ns > slack_ns ? (ns - slack_ns) * 100 / of_ns : 0;
}

static u32 ratio(const struct class *c, const struct times *t, const struct times *of)
{
	bool heavy = c->odd == ODD_LOST_ACKS || c->odd == ODD_LOST_ACKS_NO_SACK;
	u32 usual = heavy ? beyond_slack(t->median_ns, of->median_ns, SLACK_NS) :
			    beyond_slack(t->sum_ns, of->sum_ns, seeds * SLACK_NS);

	return max(usual, (u32)(t->good_ns * 100 / of->bad_ns));
}

static void put_name(char *name, size_t size, const struct cell *cell)
{
	snprintf(name, size, "%s/%s/%u/%u", rules[cell->cc].cc_name, cell->c->name, cell->mbps,
		 cell->rtt_us);
}

/* Of the queues, in percent. */
static u32 queue_ratio(const struct times *t, const struct times *of, const struct cell *cell)
{
	u64 slack_ns = seeds * SLACK_SEGS * (SEG_MSS + HEADER_BYTES) * 8000ULL / cell->mbps;

	return t->queue_ns > slack_ns ? (t->queue_ns - slack_ns) * 100 / (of->queue_ns + 1) : 0;
}

/* One variant of a CC's cell, whose ratios grow to it. */
static void try_variant(const struct variant *v, struct cell *cell, const struct times *plain)
{
	struct times native, tcon;
	char name[100];

	take_times(&native, cell->c, v, cell, NATIVE);
	take_times(&tcon, cell->c, v, cell, TCON);
	cell->worst[NATIVE] = max(cell->worst[NATIVE], ratio(cell->c, &tcon, &native));
	cell->worst[PLAIN] = max(cell->worst[PLAIN], ratio(cell->c, &tcon, plain));
	if (marks_of(cell->c->odd))
		cell->worst[QUEUE] = max(cell->worst[QUEUE], queue_ratio(&tcon, &native, cell));
	cell->worst[TCON] += old_acks;
	old_acks = 0;
	if (!only && !verbose)
		return;
	put_name(name, sizeof(name), cell);
	printf("%-36s queue %u/2 loss %5u ecn %u%u: tcon %9.4f native %9.4f %5u %% plain %9.4f %5u %% queue %.3f %.3f ms %5u %% thrown away %u\n",
	       name, v->queue_halves, v->loss_ppm, v->guest_ecn, v->counts, tcon.sum_ns / 1e9 / seeds,
	       native.sum_ns / 1e9 / seeds, ratio(cell->c, &tcon, &native), plain->sum_ns / 1e9 / seeds,
	       ratio(cell->c, &tcon, plain), tcon.queue_ns / 1e6 / seeds, native.queue_ns / 1e6 / seeds,
	       queue_ratio(&tcon, &native, cell), cell->worst[TCON]);
}

/* The verdict. */

static struct known *find_known(const struct cell *cell, enum who than)
{
	struct known *k;

	for (k = known; k < known + ARRAY_SIZE(known); k++)
		if (k->than == than && (!k->cc || !strcmp(k->cc, rules[cell->cc].cc_name)) &&
		    (!k->class || !strcmp(k->class, cell->c->name)) &&
		    (!k->mbps || k->mbps == cell->mbps) &&
		    (!k->rtt_us || k->rtt_us == cell->rtt_us))
			return k;
	return NULL;
}

static void fail(const struct cell *cell, enum who than, u32 most)
{
	char name[100];

	put_name(name, sizeof(name), cell);
	if (than == TCON)
		fprintf(stderr, "%s: the peer threw %u segments away, whose ACK was too old; at most %u were expected",
			name, cell->worst[than], most);
	else if (than == QUEUE)
		fprintf(stderr, "%s: data waits %u %% of what it waits natively; at most %u %% was expected",
			name, cell->worst[than], most);
	else
		fprintf(stderr, "%s takes %u %% of %s's time; at most %u %% was expected", name,
			cell->worst[than], who_names[than], most);
	fprintf(stderr, "; to repeat it: build/goodput/goodput %s\n", name);
	failures++;
}

/*
 * Some CCs have twice the bound.  Draws of tahoe and vivace differ more: tahoe starts again after each
 * loss, and vivace draws its trials.  timely starts at a rate that the guest's own slow start, which
 * every CC of a guest begins with, does not have.
 */
static u32 looseness(const struct cell *cell)
{
	const char *name = rules[cell->cc].cc_name;

	return !strcmp(name, "tahoe") || !strcmp(name, "timely") || !strcmp(name, "vivace") ? 2 : 1;
}

static u32 bound_of(const struct cell *cell, enum who than)
{
	const struct class *c = cell->c;

	switch (than) {
	case NATIVE:
		return c->native * looseness(cell);
	case PLAIN:
		return c->plain * looseness(cell);
	case QUEUE:
		return QUEUE_MOST * looseness(cell);
	default:
		return 0;
	}
}

static void judge(const struct cell *cell)
{
	bool beyond = false;
	struct known *k;
	enum who than;
	u32 most;

	for (than = TCON; than < WHO; than++) {
		most = bound_of(cell, than);
		if (cell->worst[than] <= most) {
			tally.worst[than] = max(tally.worst[than],
						cell->worst[than] / looseness(cell));
			continue;
		}
		beyond = true;
		k = find_known(cell, than);
		if (k)
			k->met = true;
		if (!k || cell->worst[than] > k->most)
			fail(cell, than, k ? k->most : most);
	}
	tally.cells++;
	tally.beyond += beyond;
}

static bool is_wanted(const struct cell *cell)
{
	char name[100];

	put_name(name, sizeof(name), cell);
	return !only || strstr(name, only);
}

/* Returns their number. */
static u32 variants(const struct class *c, const struct variant **v)
{
	if (marks_of(c->odd)) {
		*v = marked;
		return ARRAY_SIZE(marked);
	}
	if (!c->back || c->odd == ODD_HYSTART) {
		*v = fast;
		return ARRAY_SIZE(fast);
	}
	*v = c->lossy ? lossy : clean;
	return c->lossy ? ARRAY_SIZE(lossy) : ARRAY_SIZE(clean);
}

/* All CCs at one rate and RTT. */
static void try_cells(const struct class *c, u32 mbps, u32 rtt_us)
{
	const struct variant *v;
	u32 i, cc, n = variants(c, &v);
	struct cell cells[HOST_ALGORITHMS_MAX];
	struct times plain;
	bool wanted = false;

	for (cc = 0; cc < n_rules; cc++) {
		cells[cc] = (struct cell) {
			.c = c, .cc = cc, .mbps = mbps, .rtt_us = rtt_us,
		};
		wanted |= is_wanted(&cells[cc]);
	}
	for (i = 0; i < n && wanted; i++) {
		take_times(&plain, c, &v[i], &cells[0], PLAIN);
		for (cc = 0; cc < n_rules; cc++)
			if (is_wanted(&cells[cc]))
				try_variant(&v[i], &cells[cc], &plain);
	}
	for (cc = 0; cc < n_rules && seeds >= SEEDS; cc++)
		if (is_wanted(&cells[cc]))
			judge(&cells[cc]);
}

/*
 * Odd peers are odd at any rate; only the slower way holds ACKs back for long.  A path that transfers do
 * not fill marks nothing, and one that ten segments fill needs no slow start.
 */
static bool is_run(const struct class *c, u32 mbps, u32 rtt_us)
{
	if (marks_of(c->odd))
		return mbps >= 20 && mbps * rtt_us <= 20 * 150000;
	if (c->odd == ODD_HYSTART)
		return mbps >= 20 && rtt_us >= 10000 && mbps * rtt_us <= 200 * 150000;
	if (c->odd)
		return mbps <= 20 && rtt_us >= 10000;
	return c->back || (mbps == 20 && rtt_us <= 10000);
}

static void try_class(const struct class *c)
{
	u32 r, t;

	tally = (struct tally) {};
	for (r = 0; r < ARRAY_SIZE(rates_mbps); r++)
		for (t = 0; t < ARRAY_SIZE(rtts_us); t++)
			if (is_run(c, rates_mbps[r], rtts_us[t]))
				try_cells(c, rates_mbps[r], rtts_us[t]);
	if (tally.cells)
		printf("%-18s %5u %9u %9u %% (%3u) %8u %% (%3u) %8u %% (%3u) %7u\n", c->name,
		       tally.cells, tally.transfers, tally.worst[NATIVE], c->native,
		       tally.worst[PLAIN], c->plain, tally.worst[QUEUE], QUEUE_MOST, tally.beyond);
}

/* What was mended is no exception any more. */
static void check_known(void)
{
	const struct known *k;

	for (k = known; k < known + ARRAY_SIZE(known); k++) {
		if (k->met || k->rare)
			continue;
		fprintf(stderr, "%s/%s/%u/%u is within the bound of %s: delete its line in known.h (%s)\n",
			k->cc ? : "*", k->class ? : "*", k->mbps, k->rtt_us, who_names[k->than],
			k->why);
		failures++;
	}
}

int main(int argc, char **argv)
{
	u32 i;
	int opt;

	while ((opt = getopt(argc, argv, "s:f:v")) != -1) {
		if (opt == 's')
			seeds = clamp_t(u32, atoi(optarg), 1, SEEDS_MAX);
		else if (opt == 'f')
			first_seed = atoi(optarg);
		else if (opt == 'v')
			verbose = true;
		else
			return 2;
	}
	only = argv[optind];
	LOAD_ALL();
	printf("%-18s %5s %9s %16s %16s %16s %7s\n", "class", "cells", "transfers", "of native's",
	       "of plain's", "of its queue", "known");
	for (i = 0; i < ARRAY_SIZE(classes); i++)
		try_class(&classes[i]);
	if (!only && seeds == SEEDS && !first_seed)
		check_known();
	return failures ? 1 : 0;
}
