// SPDX-License-Identifier: GPL-2.0-only
/* How much may leave in a recovery (datapath/sender/prr.c; RFC 9937). */
#include "datapath/sender/prr.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "prng.h"

#define MSS	1000U
#define PRIOR	100		/* segments: cwnd before the loss */
#define CWND	70		/* after it, as CUBIC has it */

/**
 * struct sender - a sender in a recovery, that sends whatever it may
 * @cc: inflight and cwnd
 * @p: the reduction
 * @sent: segments since it began
 */
struct sender {
	struct tcon_cc cc;
	struct tcon_prr p;
	u32 sent;
};

static struct sender recovery(u32 inflight)
{
	struct sender s = {
		.cc.mss_bytes = MSS,
		.cc.cwnd_bytes = CWND * MSS,
		.cc.inflight_bytes = inflight * MSS,
		.cc.ca_state = TCON_CA_RECOVERY,
	};

	tcon_prr_begin(&s.p, &s.cc, PRIOR * MSS, 4711);
	return s;
}

static u64 sent_bytes(const struct sender *s)
{
	return 4711 + (u64)s->sent * MSS;
}

/* An ACK; returns how many segments left for it. */
static u32 ack(struct sender *s, u32 delivered, u32 lost, bool safe)
{
	u32 before = s->sent;

	s->cc.inflight_bytes -= (delivered + lost) * MSS;
	tcon_prr_update(&s->p, &s->cc, sent_bytes(s), delivered * MSS, safe);
	while (s->cc.inflight_bytes + MSS <= s->p.limit_bytes) {
		s->cc.inflight_bytes += MSS;
		s->sent++;
	}
	return s->sent - before;
}

/* The first repair leaves with the ACK that showed the loss. */
static void first_repair_at_once(void **state)
{
	struct sender s = recovery(PRIOR - 3);

	assert_int_equal(ack(&s, 0, 1, false), 1);
	assert_int_equal(ack(&s, 0, 0, false), 0);
}

/* One segment of a full window is lost: 70 leave for the 99 that arrive, evenly. */
static void in_proportion(void **state)
{
	struct sender s = recovery(PRIOR);
	u32 i, idle = 0, longest = 0;

	ack(&s, 3, 1, false);
	for (i = 3; i < PRIOR - 1; i++) {
		idle = ack(&s, 1, 0, false) ? 0 : idle + 1;
		longest = max(longest, idle);
		assert_in_range(s.sent, (i + 1) * CWND / PRIOR - 1,
				(i + 1) * CWND / PRIOR + 1);
	}
	assert_in_range(longest, 1, 2);
	assert_in_range(s.cc.inflight_bytes, (CWND - 1) * MSS, CWND * MSS);
}

/* A loss while a mark is answered: the first repair leaves at once, and 100 become 70 all the
 * same, not 70 % of 70.
 */
static void recovery_within_it(void **state)
{
	struct sender s = recovery(PRIOR);
	u32 i;

	for (i = 0; i < PRIOR / 2; i++)
		ack(&s, 1, 0, true);
	assert_int_equal(s.sent, CWND / 2);
	tcon_prr_begin(&s.p, &s.cc, CWND * MSS, sent_bytes(&s));
	assert_int_equal(ack(&s, 0, 0, false), 1);
	assert_int_equal(ack(&s, 0, 0, false), 0);
	for (; i < PRIOR; i++)
		ack(&s, 1, 0, false);
	assert_int_equal(s.sent, CWND);
	assert_int_equal(s.cc.inflight_bytes, CWND * MSS);
}

/* 80 of 100 are lost: cwnd is not filled at once, but by two for each that arrives
 * while una advances.
 */
static void much_is_lost(void **state)
{
	struct sender s = recovery(PRIOR);
	u32 acks = 0;

	assert_int_equal(ack(&s, 3, 80, false), 3);
	while (s.cc.inflight_bytes < CWND * MSS) {
		assert_in_range(ack(&s, 1, 0, true), 1, 2);
		assert_true(++acks <= CWND);
	}
	assert_in_range(acks, CWND - 20 - 1, CWND - 20 + 1);
	assert_int_equal(s.cc.inflight_bytes, CWND * MSS);
}

/* A repair is lost again with each that arrives: no more leaves than arrives. */
static void repairs_are_lost(void **state)
{
	struct sender s = recovery(PRIOR);
	u32 i;

	ack(&s, 3, 60, false);
	for (i = 0; i < 30; i++)
		assert_int_equal(ack(&s, 1, 1, false), 1);
}

/* A part of a segment that arrives makes room for a whole one; two such for two.  After a
 * small repair the rest of the allowed segment lets nothing else out.
 */
static void parts_of_segments(void **state)
{
	struct sender s = recovery(3);
	u32 i;

	assert_int_equal(ack(&s, 0, 1, false), 1);
	for (i = 0; i < 2; i++) {
		s.cc.inflight_bytes -= 96;
		tcon_prr_update(&s.p, &s.cc, sent_bytes(&s), 96, false);
		assert_int_equal(s.p.limit_bytes, s.cc.inflight_bytes + MSS);
		s.cc.inflight_bytes += MSS;
		s.sent++;
	}
	s.p.sent_then = sent_bytes(&s) - 400;	/* it was of 400 bytes */
	s.p.may_bytes = MSS;
	s.cc.inflight_bytes -= MSS;
	assert_int_equal(ack(&s, 0, 0, false), 0);
}

/* Segments that were not sent when they might have been may follow: a guest that gathers a
 * super-packet has as much in flight at last as one that sends at once.
 */
static void what_is_saved_may_follow(void **state)
{
	struct sender s = recovery(60);
	u32 i;

	ack(&s, 0, 0, false);		/* one ahead of what was delivered */
	for (i = 1; i <= 5; i++) {
		s.cc.inflight_bytes -= MSS;
		tcon_prr_update(&s.p, &s.cc, sent_bytes(&s), MSS, true);
		assert_int_equal(s.p.limit_bytes, (61 + i) * MSS);
	}
	assert_int_equal(ack(&s, 1, 0, true), 12);
	assert_int_equal(s.cc.inflight_bytes, 67 * MSS);
}

/* But not all of it at once, which a queue of 50 would drop: a guest whose own cwnd is full of
 * what has arrived sends nothing for a round trip.  It goes on with a burst, and as in a recovery.
 */
static void what_is_saved_is_no_burst(void **state)
{
	struct sender s = recovery(CWND);
	u32 i;

	for (i = 1; i <= 60; i++) {
		s.cc.inflight_bytes -= MSS;
		tcon_prr_update(&s.p, &s.cc, sent_bytes(&s), MSS, false);
	}
	assert_int_equal(s.cc.inflight_bytes, 10 * MSS);
	for (i = 1; i <= 5; i++)
		assert_in_range(ack(&s, 1, 0, true), 2, TCON_INIT_CWND_SEGS + 2);
	assert_in_range(s.cc.inflight_bytes, 20 * MSS, CWND * MSS);
}

static struct sender over(u32 inflight)
{
	struct sender s = recovery(inflight);

	s.sent = 1;		/* the repair */
	s.cc.ca_state = TCON_CA_OPEN;
	tcon_prr_end(&s.p, &s.cc, sent_bytes(&s));
	return s;
}

/* When it is over, too: a burst, then two for each that arrives, until cwnd is full. */
static void end_is_no_burst(void **state)
{
	struct sender s = over(20);
	u32 acks = 0;

	assert_int_equal(s.p.limit_bytes, (20 + TCON_INIT_CWND_SEGS) * MSS);
	assert_int_equal(ack(&s, 1, 0, true), TCON_INIT_CWND_SEGS + 1);
	while (s.cc.inflight_bytes < CWND * MSS) {
		assert_in_range(ack(&s, 1, 0, true), 1, 2);
		assert_true(++acks < CWND);
	}
	assert_in_range(acks, CWND - 20 - TCON_INIT_CWND_SEGS - 1, CWND - 20);
	assert_int_equal(ack(&s, 1, 0, true), 1);
}

/* No more than cwnd; and where more is in flight, less leaves than arrives. */
static void end_of_most(void **state)
{
	struct sender s = over(CWND - 3);

	assert_int_equal(s.p.limit_bytes, CWND * MSS);
	s = over(CWND + 5);
	assert_int_equal(s.p.limit_bytes, CWND * MSS);
	assert_int_equal(ack(&s, 5, 0, true), 0);
	assert_int_equal(ack(&s, 5, 0, true), 5);
}

/* A CC lowers cwnd after the recovery of a flow that had little to send: its deliveries are no
 * claim to more than cwnd.
 */
static void end_of_little(void **state)
{
	struct sender s = recovery(20);
	u32 i;

	s.p.active = false;
	tcon_prr_begin(&s.p, &s.cc, 20 * MSS, 4711);
	ack(&s, 0, 1, false);
	for (i = 0; i < 60; i++)
		ack(&s, 1, 0, true);
	s.cc.ca_state = TCON_CA_OPEN;
	tcon_prr_end(&s.p, &s.cc, sent_bytes(&s));
	for (i = 0; i < 60; i++)
		ack(&s, 1, 0, true);
	s.cc.cwnd_bytes -= 2 * MSS;
	assert_int_equal(ack(&s, 1, 0, true), 0);
	assert_true(s.cc.inflight_bytes <= CWND * MSS);
}

/* A guest that waits while more than cwnd is in flight does not send all it might have at once. */
static void what_is_saved_in_proportion_is_no_burst(void **state)
{
	struct sender s = recovery(PRIOR);
	u32 i;

	for (i = 0; i < 25; i++) {
		s.cc.inflight_bytes -= MSS;
		tcon_prr_update(&s.p, &s.cc, sent_bytes(&s), MSS, false);
	}
	assert_int_equal(ack(&s, 1, 0, false), TCON_INIT_CWND_SEGS + 2);
}

/* A loss, or a mark, after a recovery begins another. */
static void loss_after_it(void **state)
{
	struct sender s = over(20);

	s.cc.ca_state = TCON_CA_RECOVERY;
	tcon_prr_begin(&s.p, &s.cc, 20 * MSS, sent_bytes(&s));
	assert_false(s.p.after);
	assert_int_equal(s.p.flight_bytes, 20 * MSS);
	assert_int_equal(ack(&s, 0, 0, false), 1);
}

static struct sender marked(u32 inflight)
{
	struct sender s = recovery(inflight);

	s.cc.ca_state = TCON_CA_OPEN;
	return s;
}

/* After a mark, too, 70 leave for 100, evenly. */
static void marks_in_proportion(void **state)
{
	struct sender s = marked(PRIOR);
	u32 i;

	for (i = 0; i < PRIOR; i++) {
		ack(&s, 1, 0, true);
		assert_in_range(s.sent, i * CWND / PRIOR, i * CWND / PRIOR + 2);
	}
	assert_int_equal(s.sent, CWND);
}

/* But one more with each ACK, not sent, does not follow. */
static void what_is_saved_is_lost_after_a_mark(void **state)
{
	struct sender s = marked(60);
	u32 i;

	for (i = 0; i < 20; i++)	/* more leaves than arrives, up to cwnd */
		ack(&s, 1, 0, true);
	for (i = 1; i <= 5; i++) {
		s.cc.cwnd_bytes += MSS;
		s.cc.inflight_bytes -= MSS;
		tcon_prr_update(&s.p, &s.cc, sent_bytes(&s), MSS, true);
		assert_int_equal(s.p.limit_bytes, s.cc.inflight_bytes + 2 * MSS);
	}
}

/* A CC that takes nothing away, and more in flight than cwnd: with parts of segments no
 * more leaves than arrives, mark for mark.
 */
static void nothing_adds_up(void **state)
{
	struct sender s = marked(0);
	u32 i, mark, most = 3 * MSS + 500;

	s.cc.cwnd_bytes = 2 * MSS;
	s.cc.inflight_bytes = most;
	for (mark = 0; mark < 100; mark++) {
		s.p.active = false;
		tcon_prr_begin(&s.p, &s.cc, 2 * MSS, sent_bytes(&s));
		for (i = 0; i < 4; i++) {
			s.cc.inflight_bytes -= 700;
			tcon_prr_update(&s.p, &s.cc, sent_bytes(&s), 700, true);
			while (s.cc.inflight_bytes + MSS <= s.p.limit_bytes) {
				s.cc.inflight_bytes += MSS;
				s.sent++;
			}
			assert_true(s.cc.inflight_bytes <= most + MSS);
		}
	}
}

/* Nothing that a CC or an ACK may say divides by zero, or frees more than cwnd. */
static void anything(void **state)
{
	u64 rng = 7;
	struct sender s;
	u32 i, inflight;

	for (i = 0; i < 100000; i++) {
		s = recovery(prng_below(&rng, 200));
		s.cc.cwnd_bytes = prng_below(&rng, TCON_CWND_MAX_BYTES + 1);
		s.cc.ca_state = prng_below(&rng, 3);
		s.p.active = prng_below(&rng, 2);
		s.p.after = prng_below(&rng, 2);
		tcon_prr_begin(&s.p, &s.cc, prng_below(&rng, 2) * PRIOR * MSS,
			       prng_below(&rng, 4711));
		inflight = s.cc.inflight_bytes;
		tcon_prr_update(&s.p, &s.cc, sent_bytes(&s),
				prng_below(&rng, 1 << 30), prng_below(&rng, 2));
		assert_true(s.p.limit_bytes >= inflight);
		assert_true(s.p.limit_bytes <= TCON_CWND_MAX_BYTES);
		if (inflight <= s.cc.cwnd_bytes)
			assert_true(s.p.limit_bytes <=
				    max(s.cc.cwnd_bytes, inflight + MSS));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_repair_at_once),
		cmocka_unit_test(in_proportion),
		cmocka_unit_test(recovery_within_it),
		cmocka_unit_test(much_is_lost),
		cmocka_unit_test(repairs_are_lost),
		cmocka_unit_test(parts_of_segments),
		cmocka_unit_test(what_is_saved_may_follow),
		cmocka_unit_test(what_is_saved_is_no_burst),
		cmocka_unit_test(end_is_no_burst),
		cmocka_unit_test(end_of_most),
		cmocka_unit_test(end_of_little),
		cmocka_unit_test(what_is_saved_in_proportion_is_no_burst),
		cmocka_unit_test(loss_after_it),
		cmocka_unit_test(marks_in_proportion),
		cmocka_unit_test(what_is_saved_is_lost_after_a_mark),
		cmocka_unit_test(nothing_adds_up),
		cmocka_unit_test(anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
