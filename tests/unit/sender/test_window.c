// SPDX-License-Identifier: GPL-2.0-only
/* From cwnd to window field (datapath/sender/window.c): every rule, and limits. */
#include "datapath/sender/window.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "prng.h"

#define MSS	1000U

/*
 * One ACK for sequence number @ack, with the peer's @field.  Before it the
 * guest has been given @edge (0: nothing yet); the CC wants @wanted.
 */
struct write_case {
	const char *rule;
	u32 ack;
	u32 edge;
	u32 wanted;
	u16 field;
	u8 wscale;
	u16 want;
};

static const struct write_case write_cases[] = {
	/* 1. min(real, wanted); never enlarge; zero passes. */
	{ "wanted below real", 100000, 0, 110000, 50000, 0, 10000 },
	{ "real below wanted", 100000, 0, 110000, 6000, 0, 6000 },
	{ "equal", 100000, 0, 110000, 10000, 0, 10000 },
	{ "one more than wanted", 100000, 0, 110000, 10001, 0, 10000 },
	{ "zero stays zero", 100000, 0, 110000, 0, 0, 0 },
	{ "zero, scaled", 100000, 0, 110000, 0, 14, 0 },
	{ "zero although an edge was given", 100000, 105000, 110000, 0, 7, 0 },
	{ "zero and nothing wanted", 100000, 0, 90000, 0, 0, 0 },
	{ "largest field, nothing binds", 0, 0, 0x40000000, 65535, 14, 65535 },

	/* 2. The edge never moves left. */
	{ "edge kept", 100000, 120000, 110000, 50000, 0, 20000 },
	{ "edge beyond wanted by one", 100000, 110001, 110000, 50000, 0, 10001 },
	{ "edge behind wanted", 100000, 105000, 110000, 50000, 0, 10000 },
	{ "cwnd collapsed", 100000, 140000, 100000, 50000, 0, 40000 },
	{ "wanted left of the ACK", 100000, 130000, 50000, 65535, 0, 30000 },
	{ "the peer itself shrinks", 100000, 120000, 110000, 9000, 0, 9000 },
	{ "edge kept, scaled", 100000, 120000, 110000, 50000, 3, 2500 },

	/* 3. Two segments at least, except where the peer offers less. */
	{ "floor", 100000, 0, 100000, 50000, 0, 2000 },
	{ "floor, wanted one segment", 100000, 0, 101000, 50000, 0, 2000 },
	{ "floor, wanted left of the ACK", 100000, 0, 99000, 50000, 0, 2000 },
	{ "floor, edge at the ACK", 100000, 100000, 100000, 50000, 0, 2000 },
	{ "floor just met", 100000, 0, 102000, 50000, 0, 2000 },
	{ "floor, peer offers one segment", 100000, 0, 100000, 1000, 0, 1000 },
	{ "floor, peer offers one byte", 100000, 0, 100000, 1, 0, 1 },
	{ "floor, scaled", 100000, 0, 100000, 50000, 4, 125 },
	{ "floor, coarse quantum", 100000, 0, 100000, 50000, 14, 1 },

	/* Rounded up to the quantum. */
	{ "no rest", 0, 0, 128 * 100, 50000, 7, 100 },
	{ "one more", 0, 0, 128 * 100 + 1, 50000, 7, 101 },
	{ "one less", 0, 0, 128 * 100 - 1, 50000, 7, 100 },
	{ "edge, rounded", 0, 128 * 100 + 1, 4000, 50000, 7, 101 },

	/* Scale 0 to 14: the field holds no more than 16 bits. */
	{ "more than the field holds", 0, 0, 70000, 65535, 0, 65535 },
	{ "just what it holds", 0, 0, 65535, 65535, 0, 65535 },
	{ "scale 1", 0, 0, 70000, 65535, 1, 35000 },
	{ "scale 2", 0, 0, 70000, 65535, 2, 17500 },
	{ "scale 3", 0, 0, 70000, 65535, 3, 8750 },
	{ "scale 4", 0, 0, 70000, 65535, 4, 4375 },
	{ "scale 5", 0, 0, 70000, 65535, 5, 2188 },
	{ "scale 6", 0, 0, 70000, 65535, 6, 1094 },
	{ "scale 7", 0, 0, 70000, 65535, 7, 547 },
	{ "scale 8", 0, 0, 70000, 65535, 8, 274 },
	{ "scale 9", 0, 0, 70000, 65535, 9, 137 },
	{ "scale 10", 0, 0, 70000, 65535, 10, 69 },
	{ "scale 11", 0, 0, 70000, 65535, 11, 35 },
	{ "scale 12", 0, 0, 70000, 65535, 12, 18 },
	{ "scale 13", 0, 0, 70000, 65535, 13, 9 },
	{ "scale 14", 0, 0, 70000, 65535, 14, 5 },
	{ "scale 14, a gigabyte", 0, 0, 1 << 30, 65535, 14, 65535 },

	/* Across 2^32. */
	{ "wrap between ACK and wanted", 0xfffff000, 0, 0x1000, 50000, 0, 0x2000 },
	{ "wrap between ACK and edge", 0xfffff000, 0x2000, 0x100, 50000, 0,
	  0x3000 },
	{ "just before the wrap", 0xffffe000, 0, 0xfffff000, 50000, 0, 0x1000 },
};

/* An edge that was given, as an ACK long ago would have left it. */
static struct tcon_window window_at(u32 edge)
{
	struct tcon_window w = {};

	if (edge)
		tcon_window_observe(&w, edge, 0, 0, 0);
	return w;
}

static void write_table(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(write_cases); i++) {
		const struct write_case *c = &write_cases[i];
		struct tcon_window w = window_at(c->edge);
		u16 field;
		u32 edge;

		field = tcon_window_write(&w, c->ack, c->field, c->wscale,
					  c->wanted, MSS, 5000);
		if (field != c->want)
			fail_msg("%s: %u, not %u", c->rule, field, c->want);
		edge = c->ack + ((u32)field << c->wscale);
		if (c->edge)
			edge = seq_max(edge, c->edge);
		assert_int_equal(w.edge, edge);
		assert_int_equal(w.given_bytes, (u32)field << c->wscale);
		assert_int_equal(w.peer_bytes, (u32)c->field << c->wscale);
	}
}

/* Rules 1 to 3 on random ACKs, one after another. */
static void random_writes(void **state)
{
	u64 rng = 11;
	int flow, i;

	for (flow = 0; flow < 500; flow++) {
		u8 wscale = prng_below(&rng, 15);
		u32 quantum = 1U << wscale, ack = prng_u64(&rng), edge = ack;
		struct tcon_window w = {};
		bool any = false;

		for (i = 0; i < 200; i++) {
			u16 real = prng_below(&rng, 0x10000);
			u32 wanted = ack + prng_below(&rng, 1 << 24);
			u16 field = tcon_window_write(&w, ack, real, wscale,
						      wanted, MSS, i * 300);
			u32 given = (u32)field << wscale;

			assert_true(field <= real);
			if (field < real) {
				assert_true(given >= 2 * MSS);
				assert_false(any && seq_before(ack + given,
							       edge));
				assert_false(seq_before(ack + given, wanted));
				assert_true(given < 2 * MSS + quantum ||
					    seq_before(ack + given,
						       seq_max(wanted, edge) +
						       quantum));
			}
			edge = any ? seq_max(edge, ack + given) : ack + given;
			any = true;
			assert_int_equal(w.edge, edge);
			ack += prng_below(&rng, given + 1);
		}
	}
}

/* Where fields are finer than segments, to the last edge that one can name. */
static void round_down_edge(void **state)
{
	u64 rng = 17;
	int i;

	assert_int_equal(tcon_window_round_down(5000, 1000, 9, MSS), 1000 + 7 * 512);
	assert_int_equal(tcon_window_round_down(5000, 1000, 11, MSS), 5000);
	assert_int_equal(tcon_window_round_down(1000, 1000, 9, MSS), 1000);
	assert_int_equal(tcon_window_round_down(900, 1000, 9, MSS), 900);
	for (i = 0; i < 20000; i++) {
		u32 ack = prng_u64(&rng), bytes = prng_below(&rng, 1 << 26);
		u8 wscale = prng_below(&rng, 15);
		u32 edge = tcon_window_round_down(ack + bytes, ack, wscale, MSS);
		u32 less = ack + bytes - edge;

		if (1 << wscale > MSS) {
			assert_int_equal(less, 0);
			continue;
		}
		assert_true(less < 1U << wscale);
		assert_int_equal((edge - ack) % (1U << wscale), 0);
	}
}

/* An ACK that others have overtaken offers what they did, or what the peer does. */
static void late(void **state)
{
	struct tcon_window w = window_at(0), before;

	assert_int_equal(tcon_window_late(&w, 100000, 5000, 0, MSS), 5000);
	tcon_window_write(&w, 100000, 60000, 2, 120000, MSS, 0);
	before = w;
	assert_int_equal(tcon_window_late(&w, 99000, 60000, 2, MSS), 21000 / 4);
	assert_int_equal(tcon_window_late(&w, 99001, 60000, 2, MSS), 21000 / 4);
	assert_int_equal(tcon_window_late(&w, 99000, 5000, 2, MSS), 5000);
	assert_int_equal(tcon_window_late(&w, 119999, 60000, 2, MSS),
			 DIV_ROUND_UP(2 * MSS, 4));
	assert_int_equal(tcon_window_late(&w, 120001, 60000, 2, MSS),
			 DIV_ROUND_UP(2 * MSS, 4));
	assert_memory_equal(&w, &before, sizeof(w));
}

/*
 * An ACK that the guest does not see gives it nothing; but a window update may
 * then go as far as that ACK's offer, and not as far as the one before it.
 */
static void untold(void **state)
{
	struct tcon_window w = window_at(0), before;

	tcon_window_write(&w, 100000, 10000, 0, 120000, MSS, 0);
	before = w;
	tcon_window_write(&w, 106000, 12000, 0, 120000, MSS, 500);
	tcon_window_untold(&w, &before);
	assert_int_equal(w.edge, 110000);
	assert_int_equal(w.given_bytes, 10000);
	assert_int_equal(w.peer_edge, 118000);
	assert_int_equal(w.peer_bytes, 12000);
	assert_int_equal(w.mark_us, before.mark_us);
	assert_int_equal(tcon_window_update(&before, 100000, 0, 120000, 110000,
					    MSS, MSS, 1000), 0);
	assert_int_equal(tcon_window_update(&w, 100000, 0, 120000, 110000, MSS,
					    MSS, 1000), 18000);
}

static void wanted(void **state)
{
	struct tcon_cc cc = {
		.cwnd_bytes = 20000,
		.inflight_bytes = 5000,
		.nxt = 0xfffffff0,
		.mss_bytes = MSS,
	};

	assert_int_equal(tcon_window_wanted(&cc, cc.nxt, cc.cwnd_bytes, 0), 0xfffffff0 + 15000);
	assert_int_equal(tcon_window_wanted(&cc, cc.nxt, cc.cwnd_bytes, 7000), 0xfffffff0 + 15000);
	cc.inflight_bytes = 20000;
	assert_int_equal(tcon_window_wanted(&cc, cc.nxt, cc.cwnd_bytes, 7000), 0xfffffff0);
	cc.inflight_bytes = 30000;
	assert_int_equal(tcon_window_wanted(&cc, cc.nxt, cc.cwnd_bytes, 7000), 0xfffffff0);

	/* Paced: no more than may wait, and no more than cwnd. */
	cc.pacing_rate_bps = 1000000;
	cc.inflight_bytes = 5000;
	assert_int_equal(tcon_window_wanted(&cc, cc.nxt, cc.cwnd_bytes, 7000), 0xfffffff0 + 7000);
	assert_int_equal(tcon_window_wanted(&cc, cc.nxt, cc.cwnd_bytes, 15001), 0xfffffff0 + 15000);
	cc.inflight_bytes = 30000;
	assert_int_equal(tcon_window_wanted(&cc, cc.nxt, cc.cwnd_bytes, 7000), 0xfffffff0);
}

/* Not paced: the nearest number of segments behind what the guest has sent. */
static void wanted_in_segments(void **state)
{
	static const struct {
		u32 room, waiting, edge;
	} t[] = {
		{ 0, 0, 0 },		{ 499, 0, 0 },
		{ 500, 0, 1000 },	{ 1499, 0, 1000 },
		{ 1500, 0, 2000 },	{ 2400, 300, 2300 },
		{ 2400, 2400, 2400 },	{ 2400, 3000, 2400 },	/* nothing more */
	};
	struct tcon_cc cc = { .nxt = 0xfffffff0, .mss_bytes = MSS };
	int i;

	for (i = 0; i < ARRAY_SIZE(t); i++) {
		assert_int_equal(tcon_window_wanted(&cc, cc.nxt + t[i].waiting,
						    t[i].room, 0),
				 cc.nxt + t[i].edge);
	}
}

/* A window that passes as it is counts as given, and moves nothing left. */
static void observe(void **state)
{
	struct tcon_window w = {};

	assert_int_equal(tcon_window_unused(&w, 0, 0), 0);
	tcon_window_observe(&w, 1000, 500, 3, 0);
	assert_true(w.valid);
	assert_int_equal(w.edge, 5000);
	assert_int_equal(w.peer_edge, 5000);
	assert_int_equal(w.given_bytes, 4000);
	tcon_window_observe(&w, 1000, 100, 3, 1);
	assert_int_equal(w.edge, 5000);
	assert_int_equal(w.peer_edge, 5000);
	assert_int_equal(w.peer_bytes, 800);
	tcon_window_observe(&w, 2000, 500, 3, 2);
	assert_int_equal(w.edge, 6000);
	tcon_window_observe(&w, 0xffffff00, 0, 0, 2);	/* an old ACK */
	assert_int_equal(w.edge, 6000);
}

/*
 * Updates.  The peer's last ACK was for @ack with @peer bytes; the guest was
 * given them up to @edge.
 */
struct update_case {
	const char *rule;
	u32 ack;
	u32 peer_bytes;
	u32 edge;
	u32 wanted;
	u32 nxt_guest;
	u8 wscale;
	u16 want;
};

static const struct update_case update_cases[] = {
	{ "used up, all ACKed", 10000, 60000, 10000, 20000, 10000, 0, 10000 },
	{ "used up, in flight", 10000, 60000, 20000, 30000, 20000, 0, 20000 },
	{ "less than a segment left", 10000, 60000, 20000, 30000, 19001, 0, 20000 },
	{ "just a segment left", 10000, 60000, 20000, 30000, 19000, 0, 20000 },
	{ "more than a segment left", 10000, 60000, 20000, 30000, 18999, 0, 0 },
	{ "two segments more", 10000, 60000, 20000, 22000, 20000, 0, 12000 },
	{ "less than two segments more", 10000, 60000, 20000, 21999, 20000, 0, 0 },
	{ "nothing wanted", 10000, 60000, 20000, 20000, 20000, 0, 0 },
	{ "wanted left of the edge", 10000, 60000, 20000, 15000, 20000, 0, 0 },
	{ "peer allows half of it", 10000, 15000, 20000, 30000, 20000, 0, 15000 },
	{ "peer allows no more", 10000, 10000, 20000, 30000, 20000, 0, 0 },
	{ "peer allows two segments", 10000, 12000, 20000, 30000, 20000, 0, 12000 },
	{ "peer allows one segment", 10000, 11000, 20000, 30000, 20000, 0, 0 },
	/* On the scaled field: 10000 is 9.76 * 1024, 20000 is 19.5. */
	{ "rounded up", 10000, 60 << 10, 20000, 30000, 20000, 10, 20 },
	{ "not beyond the peer", 10000, 20000, 20000, 30000, 20000, 10, 19 },
	/* 2000 more, yet the quantum is 16384: the edge lies on a quantum. */
	{ "field does not grow", 0, 50000, 16384 + 100, 16384 + 2100,
	  16384 + 100, 14, 2 },
	{ "field does not grow, peer binds", 0, 20000, 16384 + 100,
	  16384 + 2100, 16384 + 100, 14, 0 },
	{ "field is full", 0, 200000, 65535, 70000, 65535, 0, 0 },
	{ "field becomes full", 0, 200000, 60000, 70000, 60000, 0, 65535 },
	{ "wraps", 0xffffff00, 60000, 0x100, 10000, 0x100, 0, 10000 + 0x100 },
};

static void update_table(void **state)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(update_cases); i++) {
		const struct update_case *c = &update_cases[i];
		struct tcon_window w = window_at(c->edge);
		struct tcon_window before;
		u16 field;

		w.peer_edge = c->ack + c->peer_bytes;
		w.peer_bytes = c->peer_bytes;
		before = w;
		field = tcon_window_update(&w, c->ack, c->wscale, c->wanted,
					   c->nxt_guest, MSS, 0, 10);
		if (field != c->want)
			fail_msg("%s: %u, not %u", c->rule, field, c->want);
		if (!field) {
			assert_memory_equal(&w, &before, sizeof(w));
			continue;
		}
		assert_int_equal(w.edge, c->ack + ((u32)field << c->wscale));
		assert_true(seq_after(w.edge, before.edge));
		assert_false(seq_after(w.edge, w.peer_edge));
	}
}

static void update_needs_an_edge(void **state)
{
	struct tcon_window w = {};

	assert_int_equal(tcon_window_update(&w, 0, 0, 10000, 0, MSS, 0, 0), 0);
}

/* A peer that shrinks its window to nothing is not overruled. */
static void no_update_of_a_closed_window(void **state)
{
	struct tcon_window w = {};

	tcon_window_write(&w, 5000, 60000, 0, 15000, MSS, 0);
	assert_int_equal(tcon_window_write(&w, 5000, 0, 0, 15000, MSS, 1), 0);
	assert_int_equal(tcon_window_update(&w, 5000, 0, 25000, 15000, MSS, 0, 2),
			 0);
	assert_int_equal(tcon_window_write(&w, 5000, 60000, 0, 15000, MSS, 3),
			 10000);
	assert_int_equal(tcon_window_update(&w, 5000, 0, 25000, 15000, MSS, 0, 4),
			 20000);
}

/* An update is due once; the next only when the guest has used it. */
static void update_once(void **state)
{
	struct tcon_window w = {};

	assert_int_equal(tcon_window_write(&w, 5000, 60000, 0, 15000, MSS, 0),
			 10000);
	assert_int_equal(tcon_window_update(&w, 5000, 0, 25000, 15000, MSS, 0, 1),
			 20000);
	assert_int_equal(tcon_window_update(&w, 5000, 0, 25000, 15000, MSS, 0, 2),
			 0);
	assert_int_equal(tcon_window_update(&w, 5000, 0, 40000, 15000, MSS, 0, 3),
			 0);
	assert_int_equal(tcon_window_update(&w, 5000, 0, 40000, 25000, MSS, 0, 4),
			 35000);
	/* The next ACK may not take it back. */
	assert_int_equal(tcon_window_write(&w, 6000, 60000, 0, 20000, MSS, 5),
			 34000);
}

/*
 * A guest that has 5 segments left may be gathering a burst: it gets an edge that
 * lets it send one, but only while it has less than one, and none that would not.
 */
static void update_for_a_burst(void **state)
{
	static const struct {
		const char *rule;
		u32 wanted, burst_bytes;
		u16 want;
	} cases[] = {
		{ "a burst fits", 23000, 8000, 13000 },
		{ "does not fit", 22999, 8000, 0 },
		{ "the guest has more than one", 30000, 4999, 0 },
		{ "the guest has just one", 30000, 5000, 20000 },
		{ "no burst is known", 30000, 0, 0 },
		{ "a burst fits, but no two segments more", 21999, 6000, 0 },
		{ "a burst fits, and two segments more", 22000, 6000, 12000 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tcon_window w = window_at(20000);
		u16 field;

		w.peer_edge = 10000 + 60000;
		w.peer_bytes = 60000;
		field = tcon_window_update(&w, 10000, 0, cases[i].wanted, 15000,
					   MSS, cases[i].burst_bytes, 10);
		if (field != cases[i].want)
			fail_msg("%s: %u, not %u", cases[i].rule, field,
				 cases[i].want);
	}
}

/* An update never offers what the peer did not, and always more than before. */
static void random_updates(void **state)
{
	u64 rng = 12;
	u32 n = 0;
	int i;

	for (i = 0; i < 200000; i++) {
		u8 wscale = prng_below(&rng, 15);
		u32 ack = prng_u64(&rng), edge, offered, nxt, wanted, old, given;
		struct tcon_window w = {};
		u16 field, real = prng_below(&rng, 0x10000);

		offered = (u32)real << wscale;
		tcon_window_write(&w, ack, real, wscale,
				  ack + prng_below(&rng, offered + 1), MSS, 0);
		edge = w.edge;
		ack += prng_below(&rng, edge - ack + 1);
		nxt = edge - prng_below(&rng, min(2 * MSS, edge - ack) + 1);
		wanted = nxt + prng_below(&rng, 1 << 25);
		old = (edge - ack) >> wscale;
		field = tcon_window_update(&w, ack, wscale, wanted, nxt, MSS, 0, 0);
		if (!field)
			continue;
		given = (u32)field << wscale;
		n++;
		assert_true(field > old);
		assert_true(seq_after(ack + given, edge));
		assert_false(seq_after(ack + given, w.peer_edge));
		assert_true(seq_before(ack + given, wanted + (1U << wscale)));
	}
	assert_true(n > 20000);
}

/* Window that the guest had time to answer and did not use. */
static void unused(void **state)
{
	u64 now_us = 1000 + TCON_EDGE_ANSWER_US;
	struct tcon_window w = {};

	tcon_window_observe(&w, 0, 10000, 0, 1000);
	assert_int_equal(tcon_window_unused(&w, 4000, 1000), 6000);
	assert_int_equal(tcon_window_unused(&w, 10000, 1000), 0);
	assert_int_equal(tcon_window_unused(&w, 12000, 1000), 0);

	/* A new edge counts after TCON_EDGE_ANSWER_US, twice rounded. */
	tcon_window_observe(&w, 0, 30000, 0, now_us - 1);
	assert_int_equal(tcon_window_unused(&w, 4000, now_us - 1), 6000);
	tcon_window_observe(&w, 0, 30000, 0, now_us);
	assert_int_equal(tcon_window_unused(&w, 4000, now_us), 6000);
	now_us += TCON_EDGE_ANSWER_US;
	tcon_window_observe(&w, 0, 30000, 0, now_us);
	assert_int_equal(tcon_window_unused(&w, 4000, now_us), 26000);
	assert_int_equal(tcon_window_unused(&w, 29999, now_us), 1);

	/* Also where no ACK is given for a long time. */
	tcon_window_observe(&w, 0, 40000, 0, now_us + 1);
	now_us += 2 * TCON_EDGE_ANSWER_US;
	assert_int_equal(tcon_window_unused(&w, 4000, now_us - 1), 26000);
	assert_int_equal(tcon_window_unused(&w, 4000, now_us), 36000);
}

/* No edge counts as unused before the guest has had it for a millisecond. */
static void unused_is_never_early(void **state)
{
	struct {
		u64 at_us;
		u32 edge;
	} given[2000];
	struct tcon_window w = {};
	u64 rng = 13, now_us = 0;
	int n, i;

	for (n = 0; n < (int)ARRAY_SIZE(given); n++) {
		now_us += prng_below(&rng, 700);
		tcon_window_observe(&w, 100 * n, 5000 + prng_below(&rng, 3000),
				    0, now_us);
		given[n].at_us = now_us;
		given[n].edge = w.edge;
		/* The first has no predecessor and counts at once. */
		for (i = n; i && given[i].at_us + TCON_EDGE_ANSWER_US > now_us;
		     i--)
			;
		assert_false(seq_after(w.marked_edge, given[i].edge));
	}
}

/* Nor is one that shrinks it to less; an older ACK's window takes nothing back. */
static void no_update_beyond_a_shrunk_window(void **state)
{
	struct tcon_window w = {}, before;

	tcon_window_write(&w, 100000, 60000, 0, 120000, MSS, 0);
	assert_int_equal(w.peer_edge, 160000);
	assert_int_equal(tcon_window_write(&w, 110000, 12000, 0, 115000, MSS, 1),
			 10000);
	assert_int_equal(w.peer_edge, 122000);
	assert_int_equal(tcon_window_update(&w, 110000, 0, 150000, 120000, MSS,
					    0, 2), 12000);
	tcon_window_write(&w, 110000, 40000, 0, 150000, MSS, 3);
	tcon_window_write(&w, 110000, 30000, 0, 150000, MSS, 4);
	assert_int_equal(w.peer_edge, 150000);
	before = w;
	tcon_window_write(&w, 112000, 20000, 0, 150000, MSS, 5);
	tcon_window_untold(&w, &before);
	assert_int_equal(w.peer_edge, 132000);
	tcon_window_write(&w, 112000, 10000, 0, 150000, MSS, 6);
	assert_int_equal(w.peer_edge, 132000);
}

static void covers(void **state)
{
	struct tcon_window w = {};

	assert_true(tcon_window_covers(&w, 12345, 14, MSS));	/* no edge is known */
	tcon_window_write(&w, 0xffff0000, 1000, 7, 0xffff0000 + 50000, MSS, 0);
	assert_true(tcon_window_covers(&w, w.edge, 7, MSS));
	assert_true(tcon_window_covers(&w, w.edge + 2 * MSS + 128, 7, MSS));
	assert_false(tcon_window_covers(&w, w.edge + 2 * MSS + 129, 7, MSS));
	assert_false(tcon_window_covers(&w, w.edge + (1 << 30), 7, MSS));
}

/*
 * A guest believes the largest right edge that it was ever told.  @fresh: it was given all newer
 * ACKs, so that it does not look at older ones.  It may be told by ACKs that were edited, observed,
 * made by TCon, or overtaken.  It never sends what is not covered, up to a FIN or a probe more.
 */
static void who_keeps_to_its_windows_is_covered(void **state)
{
	u64 rng = 17;
	int flow, i;

	for (flow = 0; flow < 2000; flow++) {
		u8 wscale = prng_below(&rng, 15);
		u32 una = prng_u64(&rng), told = una, nxt = una, field, ack;
		struct tcon_window w = {}, before;

		tcon_window_observe(&w, una, prng_below(&rng, 0x10000), 0, 0);
		told = w.edge;
		for (i = 0; i < 100; i++) {
			u16 real = prng_below(&rng, 0x10000);
			u32 wanted = nxt + prng_below(&rng, 1 << 20);

			before = w;
			ack = una;
			switch (prng_below(&rng, 6)) {
			case 0:
				tcon_window_observe(&w, una, real, wscale, i);
				field = real;
				break;
			case 1:		/* hidden */
				tcon_window_write(&w, una, real, wscale, wanted, MSS, i);
				tcon_window_untold(&w, &before);
				continue;
			case 2:
				field = tcon_window_update(&w, una, wscale, wanted, nxt, MSS,
							   MSS, i);
				break;
			case 3:
				ack = una - prng_below(&rng, 100000);
				field = tcon_window_late(&w, ack, real, wscale, MSS);
				break;
			default:
				field = tcon_window_write(&w, una, real, wscale, wanted, MSS, i);
				break;
			}
			told = seq_max(told, ack + (field << wscale));
			assert_true(tcon_window_covers(&w, told + 1, wscale, MSS));
			nxt += prng_below(&rng, told - nxt + 1);
			una += prng_below(&rng, seq_min(nxt, w.edge) - una + 1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(write_table),
		cmocka_unit_test(random_writes),
		cmocka_unit_test(round_down_edge),
		cmocka_unit_test(covers),
		cmocka_unit_test(who_keeps_to_its_windows_is_covered),
		cmocka_unit_test(late),
		cmocka_unit_test(untold),
		cmocka_unit_test(wanted),
		cmocka_unit_test(wanted_in_segments),
		cmocka_unit_test(observe),
		cmocka_unit_test(update_table),
		cmocka_unit_test(update_needs_an_edge),
		cmocka_unit_test(no_update_of_a_closed_window),
		cmocka_unit_test(no_update_beyond_a_shrunk_window),
		cmocka_unit_test(update_once),
		cmocka_unit_test(update_for_a_burst),
		cmocka_unit_test(random_updates),
		cmocka_unit_test(unused),
		cmocka_unit_test(unused_is_never_early),
	};

	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
