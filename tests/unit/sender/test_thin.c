// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which ACKs a guest in its start is given (datapath/sender/thin.c), against a guest with
 * HyStart as Linux's CUBIC has it.
 */
#include "datapath/sender/thin.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <linux/time64.h>

#include "prng.h"

#define MSS		1000U
#define SEGMENTS	4000
#define SEEDS		200

/* Linux's HYSTART_* and hystart_ack_delta_us */
#define SAMPLES_MIN	8
#define CLOSE_US	2000
#define LATE_MIN_US	4000U
#define LATE_MAX_US	16000U

/**
 * struct path - when each segment is where
 * @handed_us: the guest sends it
 * @sent_us: the pacer lets it go
 * @acked_us: its ACK reaches TCon
 * @min_rtt_us: of the path
 * @gap_us: from one segment to the next at the pacer
 */
struct path {
	u64 handed_us[SEGMENTS];
	u64 sent_us[SEGMENTS];
	u64 acked_us[SEGMENTS];
	u32 min_rtt_us;
	u32 gap_us;
};

/**
 * struct hystart - what the guest believes
 * @round_us: when its round began
 * @last_us: last ACK of the train
 * @round_end: first segment of the next round
 * @least_us: least round trip of this round
 * @delay_min_us: of all
 * @samples: ACKs in this round
 * @found: slow start is over
 */
struct hystart {
	u64 round_us;
	u64 last_us;
	int round_end;
	u32 least_us;
	u32 delay_min_us;
	int samples;
	bool found;
};

/* Segments at an even rate; a queue that grows by @queue_us each, a pacer that
 * keeps each for @wait_us.
 */
static void draw_path(struct path *p, u32 min_rtt_us, u32 gap_us,
		      double queue_us, u32 wait_us)
{
	int i;

	p->min_rtt_us = min_rtt_us;
	p->gap_us = gap_us;
	for (i = 0; i < SEGMENTS; i++) {
		p->handed_us[i] = 1000000 + (u64)i * gap_us;
		p->sent_us[i] = p->handed_us[i] + (i < 100 ? 0 : wait_us);
		p->acked_us[i] = p->sent_us[i] + min_rtt_us + (u64)(i * queue_us);
	}
}

static int count_until(const u64 *times, u64 now_us)
{
	int lo = 0, hi = SEGMENTS;

	while (lo < hi) {
		int mid = (lo + hi) / 2;

		if (times[mid] <= now_us)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void guest_ack(struct hystart *h, const struct path *p, int i, u64 now_us)
{
	u32 rtt_us = now_us - p->handed_us[i], late_us;

	if (!h->delay_min_us || rtt_us < h->delay_min_us)
		h->delay_min_us = rtt_us;
	if (i >= h->round_end) {
		h->round_us = h->last_us = now_us;
		h->round_end = count_until(p->handed_us, now_us);
		h->least_us = U32_MAX;
		h->samples = 0;
	}
	if (now_us - h->last_us <= CLOSE_US) {
		h->last_us = now_us;
		if (now_us - h->round_us > h->delay_min_us / 2)
			h->found = true;
	}
	h->least_us = min(h->least_us, rtt_us);
	late_us = clamp(h->delay_min_us / 8, LATE_MIN_US, LATE_MAX_US);
	if (h->samples < SAMPLES_MIN)
		h->samples++;
	else if (h->least_us > h->delay_min_us + late_us)
		h->found = true;
}

/* Give the guest the ACKs of @p, or what @thinned leaves of them, while it has more
 * to send; return the share that it was given, in per cent.
 */
static int run(const struct path *p, bool thinned, struct hystart *h)
{
	struct tcon_track t = { .cc.mss_bytes = MSS, .cc.min_rtt_us = p->min_rtt_us };
	struct tcon_thin thin = { 0 };
	int i, given = 0;
	u64 end_us = p->sent_us[SEGMENTS - 1];

	memset(h, 0, sizeof(*h));
	t.cc.pacing_rate_bps = (u64)MSS * 8 * USEC_PER_SEC / p->gap_us;
	for (i = 0; p->acked_us[i] < end_us; i++) {
		u64 now_us = p->acked_us[i];

		t.cc.nxt = count_until(p->sent_us, now_us) * MSS;
		t.acked_entered_us = p->handed_us[i];
		if (i + 1 < SEGMENTS && p->acked_us[i + 1] == now_us)
			continue;	/* one ACK for all that a repair sets free */
		if (thinned && tcon_thin_holds_back(&thin, &t, (i + 1) * MSS,
						    now_us))
			continue;
		tcon_thin_told(&thin, (i + 1) * MSS, now_us);
		guest_ack(h, p, i, now_us);
		given++;
	}
	return given * 100 / i;
}

/* 12 to 300 ms, 40 to 400 segments in each round trip. */
static void draw(struct path *p, u64 *seed, bool queue, bool wait)
{
	u32 rtt_us = 12000 + prng_below(seed, 288000);
	u32 gap_us = rtt_us / (40 + prng_below(seed, 360));

	draw_path(p, rtt_us, gap_us,
		  queue ? gap_us * (1 + prng_below(seed, 50)) / 100.0 : 0,
		  wait ? prng_below(seed, 4000) : 0);
}

static struct path path;

/* Does a guest that is given all ACKs of the path end its slow start?  One that is given
 * what is thinned must not.
 */
static bool found_only_without(int number)
{
	struct hystart without, h;

	run(&path, false, &without);
	run(&path, true, &h);
	if (h.found)
		fail_msg("seed %d: RTT %u us, one segment per %u us", number,
			 path.min_rtt_us, path.gap_us);
	return without.found;
}

static void never_found(bool queue, bool wait, int natural)
{
	int found_without = 0, i;

	for (i = 1; i <= SEEDS; i++) {
		u64 seed = i * 0x9E3779B97F4A7C15ULL;

		draw(&path, &seed, queue, wait);
		found_without += found_only_without(i);
	}
	/* The guest that is given all of them does end its slow start. */
	assert_true(found_without >= natural);
}

static void test_no_train(void **state)
{
	never_found(false, false, SEEDS / 2);
}

static void test_queue_that_grows(void **state)
{
	never_found(true, false, SEEDS * 3 / 4);
}

static void test_pacer_that_keeps(void **state)
{
	never_found(true, true, SEEDS * 3 / 4);
}

/* Without a queue there is one gap in each 3/8 of a round trip, and no more. */
static void test_no_more_than_needed(void **state)
{
	struct hystart h;

	draw_path(&path, 40000, 100, 0, 0);
	assert_in_range(run(&path, true, &h), 15000 * 100 / (15000 + GAP_US) - 2,
			15000 * 100 / (15000 + GAP_US) + 2);
}

static void test_gaps_of_its_own(void **state)
{
	struct hystart h;

	draw_path(&path, 40000, GAP_US, 0, 0);
	assert_int_equal(run(&path, true, &h), 100);
}

/* In a round trip that is too short for a train nothing is held back. */
static void test_short_path(void **state)
{
	struct hystart h;

	draw_path(&path, SHORT_US - 1, 10, 1, 0);
	assert_int_equal(run(&path, true, &h), 100);
	draw_path(&path, SHORT_US, 10, 1, 0);
	assert_true(run(&path, true, &h) < 100);
}

/* A millisecond, while the way back fills a queue. */
static void test_queue_on_the_way_back(void **state)
{
	int found_without = 0, i;

	for (i = 1; i <= SEEDS; i++) {
		u64 seed = i * 0x9E3779B97F4A7C15ULL;
		u32 rtt_us = SHORT_US + prng_below(&seed, 4000);

		draw_path(&path, rtt_us, rtt_us / (40 + prng_below(&seed, 60)),
			  prng_below(&seed, 400) / 10.0, 0);
		found_without += found_only_without(i);
	}
	assert_true(found_without >= SEEDS * 3 / 4);
}

/* Holes in each round trip: una stands for one more, then all behind is acknowledged.
 * Segments in between are sent all the same.
 */
static void test_holes(void **state)
{
	int found_without = 0, i, n;

	for (i = 1; i <= SEEDS; i++) {
		u64 seed = i * 0x9E3779B97F4A7C15ULL, free_us = 0;

		draw(&path, &seed, false, false);
		for (n = 0; n < SEGMENTS; n++) {
			if (n > 20 && !prng_below(&seed, 20))
				free_us = max(free_us, path.acked_us[n] +
						       path.min_rtt_us);
			path.acked_us[n] = max(path.acked_us[n], free_us);
		}
		found_without += found_only_without(i);
	}
	assert_true(found_without >= SEEDS / 2);
}

/* The flow of test_no_more_than_needed() in a train, with @flight after the ACK, which
 * comes @late_us late.
 */
static bool held_back(u32 flight, u32 untold, u32 late_us)
{
	struct tcon_track t = {
		.cc = { .mss_bytes = MSS, .min_rtt_us = 40000,
			.pacing_rate_bps = 80000000,
			.nxt = 1000 * MSS + flight },
		.acked_entered_us = 1000100 - 40000 - late_us,
	};
	struct tcon_thin thin = { .told_ack = 1000 * MSS - untold,
				  .told_us = 1000000 };

	return tcon_thin_holds_back(&thin, &t, 1000 * MSS, 1000100);
}

/* Each ACK after a time-out may come just before the guest's own timer goes off. */
static void test_after_a_timeout(void **state)
{
	struct tcon_track t = {
		.cc = { .mss_bytes = MSS, .min_rtt_us = 40000, .nxt = 1020 * MSS },
	};
	const struct tcon_thin thin = { .told_ack = 999 * MSS, .told_us = 1000000 };

	assert_true(tcon_thin_holds_back(&thin, &t, 1000 * MSS, 1000100));
	t.cc.ca_state = TCON_CA_LOSS;
	assert_false(tcon_thin_holds_back(&thin, &t, 1000 * MSS, 1000100));
}

/* A sixteenth of 40 ms is not yet late. */
static void test_late(void **state)
{
	assert_false(held_back(20 * MSS, MSS, 0));
	assert_false(held_back(20 * MSS, MSS, 2500));
	assert_true(held_back(20 * MSS, MSS, 2501));
}

static void test_last_of_a_flight(void **state)
{
	assert_false(held_back(FEW_SEGS * MSS, MSS, 40000));
	assert_true(held_back(FEW_SEGS * MSS + 1, MSS, 40000));
}

/* Bytes whose ACK the guest has not got yet take room in its cwnd. */
static void test_more_untold_than_left(void **state)
{
	assert_true(held_back(20 * MSS, 20 * MSS, 40000));
	assert_false(held_back(20 * MSS, 20 * MSS + 1, 40000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_train),
		cmocka_unit_test(test_queue_that_grows),
		cmocka_unit_test(test_pacer_that_keeps),
		cmocka_unit_test(test_no_more_than_needed),
		cmocka_unit_test(test_gaps_of_its_own),
		cmocka_unit_test(test_short_path),
		cmocka_unit_test(test_queue_on_the_way_back),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_after_a_timeout),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_last_of_a_flight),
		cmocka_unit_test(test_more_untold_than_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
