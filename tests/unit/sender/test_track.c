// SPDX-License-Identifier: GPL-2.0-only
/* The tracker as such (datapath/sender/track.c). */

#include "datapath/sender/acked.c"
#include "conn.h"

static void scale_needs_both(void **state)
{
	struct tcon_track t;

	tcon_track_init(&t, NULL);
	assert_false(tcon_track_scaled(&t));
	t.guest.wscale = 7;
	assert_false(tcon_track_scaled(&t));
	assert_int_equal(tcon_track_peer_wscale(&t), 0);
	t.peer.wscale = 0;
	assert_true(tcon_track_scaled(&t));
	assert_int_equal(tcon_track_peer_wscale(&t), 0);
	t.peer.wscale = 9;
	assert_int_equal(tcon_track_peer_wscale(&t), 9);
	t.guest.wscale = TCON_WSCALE_NONE;
	assert_int_equal(tcon_track_peer_wscale(&t), 0);
}

static void rto_limits(void **state)
{
	struct tcon_track t;

	tcon_track_init(&t, NULL);
	assert_int_equal(tcon_track_rto_us(&t), 1000000);
	update_srtt(&t, 1);
	assert_int_equal(tcon_track_rto_us(&t), 200001);
	tcon_track_init(&t, NULL);
	update_srtt(&t, 0);
	assert_int_equal(t.cc.srtt_us, 1);
	tcon_track_init(&t, NULL);
	update_srtt(&t, U32_MAX);
	assert_int_equal(t.cc.srtt_us, TCON_RTO_MAX_US);
	assert_int_equal(tcon_track_rto_us(&t), TCON_RTO_MAX_US);
}

static void app_limited(void **state)
{
	struct conn *c = conn_open(true);

	send(c, 2);
	tcon_track_app_limited(&c->t);
	assert_int_equal(c->t.cc.app_limited_until, 2 * MSS);
	send(c, 2);
	wait_us(c, RTT_US);
	ack(c, 2);
	assert_false(c->ack.rs.is_app_limited);	/* sent before the mark */
	assert_int_equal(c->t.cc.app_limited_until, 2 * MSS);
	send(c, 1);				/* still within the phase */
	ack(c, 3);
	assert_true(c->ack.rs.is_app_limited);
	assert_int_equal(c->t.cc.app_limited_until, 0);
	send(c, 1);
	ack(c, 5);
	assert_true(c->ack.rs.is_app_limited);
	wait_us(c, RTT_US);
	ack(c, 6);
	assert_false(c->ack.rs.is_app_limited);
	conn_close(c);
}

/* With nothing delivered and nothing in flight the mark is not zero. */
static void app_limited_at_start(void **state)
{
	struct conn *c = conn_open(true);

	tcon_track_app_limited(&c->t);
	assert_int_equal(c->t.cc.app_limited_until, 1);
	send(c, 1);
	wait_us(c, RTT_US);
	ack(c, 1);
	assert_true(c->ack.rs.is_app_limited);
	assert_int_equal(c->t.cc.app_limited_until, 0);
	conn_close(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scale_needs_both),
		cmocka_unit_test(rto_limits),
		cmocka_unit_test(app_limited),
		cmocka_unit_test(app_limited_at_start),
	};

	return cmocka_run_group_tests_name("track", tests, NULL, NULL);
}
