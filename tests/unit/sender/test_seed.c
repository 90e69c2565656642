// SPDX-License-Identifier: GPL-2.0-only
/* The kept state of a half-flow that sleeps (datapath/sender/seed.c). */
#include "datapath/sender/seed.c"
#include "datapath/sender/saved.c"
#include "datapath/sender/window.h"

#define send send_segments	/* the C library has another */
#include "conn.h"

#define SEGS	20
#define ACKED	8

/* A guest that has sent SEGS segments; ACKED of them are acknowledged. */
static struct conn *sent_and_acked(void)
{
	struct conn *c = conn_open(true);

	send(c, SEGS);
	wait_us(c, RTT_US);
	ack(c, ACKED);
	return c;
}

/* A flow that grows from its seed knows the SYNs' options and the values that are learnt slowly. */
static void grows(void **state)
{
	struct tcon_ecn e = { .agreed = true, .asked = true, .ce_bytes = 77 }, e2 = {};
	struct conn *c = sent_and_acked(), *d = conn_new();
	struct tcon_seed s;

	tcon_seed_take(&s, &c->t, &e);
	tcon_seed_grow(&s, &d->t, &e2, c->now_us);

	assert_memory_equal(&d->t.guest, &c->t.guest, sizeof(d->t.guest));
	assert_memory_equal(&d->t.peer, &c->t.peer, sizeof(d->t.peer));
	assert_memory_equal(&e2, &e, sizeof(e));
	assert_int_equal(d->t.cc.mss_bytes, c->t.cc.mss_bytes);
	assert_int_equal(d->t.cc.srtt_us, c->t.cc.srtt_us);
	assert_int_equal(d->t.cc.min_rtt_us, RTT_US);
	assert_int_equal(tcon_track_rttvar_us(&d->t), tcon_track_rttvar_us(&c->t));
	assert_int_equal(d->t.peer_nxt, c->t.peer_nxt);
	conn_close(c);
	conn_close(d);
}

/* The flight is not known: nothing is in flight, from una on. */
static void nothing_in_flight(void **state)
{
	struct conn *c = sent_and_acked(), *d = conn_new();
	struct tcon_ecn e = {};
	struct tcon_seed s;

	tcon_seed_take(&s, &c->t, &e);
	tcon_seed_grow(&s, &d->t, &e, c->now_us);

	assert_true(d->t.synced);
	assert_int_equal(d->t.cc.una, FIRST + ACKED * MSS);
	assert_int_equal(d->t.cc.nxt, d->t.cc.una);
	assert_int_equal(d->t.nxt_guest, d->t.cc.una);
	assert_int_equal(d->t.cc.inflight_bytes, 0);
	conn_close(c);
	conn_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grows),
		cmocka_unit_test(nothing_in_flight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
