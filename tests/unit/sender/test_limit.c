// SPDX-License-Identifier: GPL-2.0-only
/* The limit that keeps a flow from sending more (datapath/sender/limit.c). */
#include "datapath/sender/limit.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define MSS		1000U
#define MS		1000U
#define EDGE		(100 * MSS)

/**
 * struct scene - a flow, as far as the account looks at it
 * @t: una and nxt_guest
 * @w: the edges
 * @l: the account
 * @now_us: the time
 * @waits: packets wait in TCon
 */
struct scene {
	struct tcon_track t;
	struct tcon_window w;
	struct tcon_limits l;
	u64 now_us;
	bool waits;
};

static enum tcon_limit limited_by(const struct scene *s)
{
	return tcon_limit_now(&s->t, &s->w, MSS, s->waits, s->now_us);
}

/* A flow that has sent @sent of the window; the peer offers more. */
static struct scene scene(u32 sent)
{
	struct scene s = {
		.now_us = 1000000,
		.t.cc.mss_bytes = MSS,
		.t.nxt_guest = sent,
		.w = { .valid = true, .edge = EDGE, .peer_edge = 2 * EDGE },
	};

	tcon_limit_ack(&s.l, limited_by(&s), &s.w, s.now_us);
	return s;
}

static void ack_after(struct scene *s, u32 us)
{
	s->now_us += us;
	tcon_limit_ack(&s->l, limited_by(s), &s->w, s->now_us);
}

static void data_after(struct scene *s, u32 us)
{
	s->now_us += us;
	tcon_limit_data(&s->l, limited_by(s), &s->w, s->now_us);
}

static void check(const struct scene *s, u64 window, u64 guest, u64 receiver,
		  u64 idle)
{
	assert_int_equal(s->l.us[TCON_LIMIT_WINDOW], window);
	assert_int_equal(s->l.us[TCON_LIMIT_GUEST], guest);
	assert_int_equal(s->l.us[TCON_LIMIT_RECEIVER], receiver);
	assert_int_equal(s->l.us[TCON_LIMIT_IDLE], idle);
}

static void window_used_up(void **state)
{
	struct scene s = scene(EDGE);

	ack_after(&s, 20 * MS);
	check(&s, 20 * MS, 0, 0, 0);
	s.t.nxt_guest = EDGE - MSS + 1;		/* less than a segment left */
	ack_after(&s, 5 * MS);
	check(&s, 25 * MS, 0, 0, 0);
}

static void receiver_closes(void **state)
{
	struct scene s = scene(EDGE);

	s.w.peer_edge = EDGE;
	ack_after(&s, 20 * MS);
	check(&s, 0, 0, 20 * MS, 0);
	s.waits = true;				/* and yet something waits here */
	ack_after(&s, 1 * MS);
	check(&s, 1 * MS, 0, 20 * MS, 0);
}

static void packets_wait(void **state)
{
	struct scene s = scene(MSS);

	s.waits = true;
	data_after(&s, 7 * MS);
	check(&s, 7 * MS, 0, 0, 0);
}

static void nothing_to_send(void **state)
{
	struct scene s = scene(MSS);

	s.t.cc.una = MSS;			/* all acknowledged */
	data_after(&s, 500 * MS);
	check(&s, 0, 0, 0, 500 * MS);
}

/* It leaves half of its window, and sends with each ACK: its own cwnd. */
static void guests_cwnd(void **state)
{
	struct scene s = scene(EDGE / 2);
	int i;

	for (i = 0; i < 10; i++) {
		ack_after(&s, 20 * MS);
		data_after(&s, MS / 10);
	}
	check(&s, 0, 10 * (20 * MS + MS / 10), 0, 0);
}

/* It leaves half of its window, and sends long after the ACK: a user types. */
static void guest_chooses(void **state)
{
	struct scene s = scene(EDGE / 2);
	int i;

	for (i = 0; i < 10; i++) {
		ack_after(&s, 20 * MS);
		data_after(&s, 100 * MS);
	}
	check(&s, 0, 0, 0, 1200 * MS);
}

/* The time that an answer takes is not held against the guest. */
static void answers_at_once(void **state)
{
	struct scene s = scene(EDGE);

	ack_after(&s, 10 * MS);
	s.w.edge += 10 * MSS;			/* room again */
	data_after(&s, MS / 2);
	s.t.nxt_guest += 10 * MSS;		/* used up */
	ack_after(&s, 10 * MS);
	check(&s, 20 * MS + MS / 2, 0, 0, 0);
}

/* Left open, then all is acknowledged without more: there was no more. */
static void last_data(void **state)
{
	struct scene s = scene(EDGE / 2);

	ack_after(&s, 30 * MS);
	s.t.cc.una = EDGE / 2;
	ack_after(&s, 50 * MS);
	check(&s, 0, 0, 0, 80 * MS);
}

/*
 * A guest that takes @delay_us sends a segment for each that is acknowledged, every millisecond.
 * It was given @room segments beyond what it could send by its own cwnd.
 */
static struct scene far_guest(u32 delay_us, u32 room)
{
	u32 away = delay_us / MS, wait_us = delay_us + delay_us / 4, n;
	struct scene s = {
		.now_us = 1000000,
		.t.cc.mss_bytes = MSS,
		.w.answer_us = wait_us,
	};

	for (n = 100; n < 1100; n++) {
		s.t.cc.una = (n - 100) * MSS;
		s.t.nxt_guest = (n - away) * MSS;	/* what it sent is on its way */
		ack_after(&s, MS);
		tcon_window_write(&s.w, s.t.cc.una, 0xffff, 7, (n + room) * MSS, MSS, s.now_us);
		data_after(&s, 0);
	}
	return s;
}

/* It uses all of its window, although that never shows here. */
static void far_away(void **state)
{
	static const u32 delays_us[] = { 2 * MS, 5 * MS, 20 * MS, 50 * MS };
	struct scene s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(delays_us); i++) {
		s = far_guest(delays_us[i], 0);
		assert_int_equal(s.l.us[TCON_LIMIT_GUEST] + s.l.us[TCON_LIMIT_IDLE], 0);
		assert_true(s.l.us[TCON_LIMIT_WINDOW] > 900 * MS);
		/* Or leaves some of it. */
		s = far_guest(delays_us[i], 3 * delays_us[i] / MS);
		assert_true(s.l.us[TCON_LIMIT_GUEST] > 800 * MS);
	}
}

/*
 * A guest with a send buffer of @segs segments, and a round trip of 20 ms: it sends them when
 * all are acknowledged, which it hears @delay_us later, and could send two more.
 */
static struct scene stop_and_go(u32 delay_us, u32 segs)
{
	u32 wait_us = delay_us + delay_us / 4, n;
	struct scene s = {
		.now_us = 1000000,
		.t.cc.mss_bytes = MSS,
		.w.answer_us = max_t(u32, wait_us, TCON_EDGE_ANSWER_US),
	};

	for (n = 0; n < 100; n++) {
		ack_after(&s, 20 * MS);
		tcon_window_write(&s.w, s.t.nxt_guest - MSS, 0xffff, 7,
				  s.t.nxt_guest + (segs + 2) * MSS, MSS, s.now_us);
		data_after(&s, delay_us);
		s.t.cc.una = s.t.nxt_guest;
		s.t.nxt_guest += segs * MSS;
	}
	return s;
}

static void tiny_buffer(void **state)
{
	static const u32 delays_us[] = { 0, MS / 2, 5 * MS };
	struct scene s;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(delays_us); i++) {
		s = stop_and_go(delays_us[i], 3);
		assert_true(s.l.us[TCON_LIMIT_GUEST] > 90ULL * (20 * MS + delays_us[i]));
	}
}

/* Before a window is known nothing is accounted, nor before the first event. */
static void not_started(void **state)
{
	struct scene s = { .now_us = 5000000 };

	ack_after(&s, MS);
	check(&s, 0, 0, 0, 0);
	ack_after(&s, MS);
	check(&s, 0, 0, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(window_used_up),
		cmocka_unit_test(receiver_closes),
		cmocka_unit_test(packets_wait),
		cmocka_unit_test(nothing_to_send),
		cmocka_unit_test(guests_cwnd),
		cmocka_unit_test(guest_chooses),
		cmocka_unit_test(answers_at_once),
		cmocka_unit_test(last_data),
		cmocka_unit_test(far_away),
		cmocka_unit_test(tiny_buffer),
		cmocka_unit_test(not_started),
	};

	return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
