/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A closed loop for CC tests: one sender with unlimited data, one bottleneck.
 *
 *	sender --- drop-tail queue, rate ---> receiver --- rtt ---> sender
 *
 * Segments of one MSS; time in nanoseconds; an ACK for each segment.  A loss is
 * detected three ACKs later (RFC 6675), a lost tail by a time-out of 3 RTTs, and
 * lost segments are sent again as if they were new; una stops at them until then.
 * With mark_bytes the queue marks, and each ACK tells whether its segment was.
 * Rate samples follow draft-cheng-iccrg-delivery-rate-estimation, written
 * independently of the tracker.
 */
#ifndef _TESTS_SIM_H
#define _TESTS_SIM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/math64.h>
#include <tcon/cc.h>

#define SIM_RING	BIT(20)	/* segments between una and nxt */
#define SIM_CUTS	4096
#define SIM_NS		1000000000ULL
#define SIM_NEVER	(~0ULL)

struct sim_segment {
	u64 sent_ns;
	u64 acked_ns;		/* when its ACK is here; SIM_NEVER: dropped */
	u64 delivered_bytes;	/* at sending, as the next four */
	u64 delivered_ns;
	u64 first_sent_ns;
	u64 lost_bytes;
	u32 in_flight_bytes;
	bool app_limited;
	bool marked;		/* ECN CE */
	u64 passed_at;		/* dropped: number of ACKs when passed over */
};

/* A reduction: when, and cwnd before it. */
struct sim_cut {
	u64 ns;
	u32 cwnd_bytes;
};

struct sim {
	struct tcon_cc cc;
	u64 rate_bps;
	u32 rtt_us;
	u32 buffer_bytes;
	u32 loss_ppm;		/* random, before the queue; set after start */
	u32 loss_seed;
	u32 mark_bytes;		/* marks what finds more in the queue; 0: none */

	u64 now_ns;
	u64 free_ns;		/* when the bottleneck has sent its queue */
	u64 next_send_ns;	/* pacing */
	u64 delivered_ns;
	u64 first_sent_ns;
	u64 acks;
	u32 head;		/* oldest segment neither ACKed nor judged lost */
	u32 next;		/* oldest one whose ACK or loss has not been seen */
	u32 tail;
	u32 recovery_end;
	u32 round_end;
	u32 max_inflight_bytes;
	u32 prev_max_inflight_bytes;
	struct sim_segment *ring;

	/* Measured since sim_measure(). */
	u64 since_ns;
	u64 since_delivered;
	u64 since_lost;
	u64 rtt_sum_us;
	u64 rtt_count;
	u64 rtt_max_us;
	u64 rtt_min_us;
	u32 cuts;
	struct sim_cut cut[SIM_CUTS];
};

static inline void sim_measure(struct sim *s)
{
	s->since_ns = s->now_ns;
	s->since_delivered = s->cc.delivered_bytes;
	s->since_lost = s->cc.lost_bytes;
	s->rtt_sum_us = 0;
	s->rtt_count = 0;
	s->rtt_max_us = 0;
	s->rtt_min_us = U64_MAX;
	s->cuts = 0;
}

static inline void sim_start(struct sim *s, const struct tcon_cc_ops *ops,
			     const s64 *params, u64 rate_bps, u32 rtt_us,
			     u32 buffer_bytes, u32 mss_bytes)
{
	memset(s, 0, sizeof(*s));
	s->ring = calloc(SIM_RING, sizeof(*s->ring));
	BUG_ON(!s->ring);
	s->rate_bps = rate_bps;
	s->rtt_us = rtt_us;
	s->buffer_bytes = buffer_bytes;
	s->loss_seed = 1;
	s->cc.ops = ops;
	s->cc.params = params;
	s->cc.mss_bytes = mss_bytes;
	s->cc.cwnd_bytes = TCON_INIT_CWND_SEGS * mss_bytes;
	s->cc.ssthresh_bytes = TCON_SSTHRESH_INFINITE;
	s->cc.srtt_us = rtt_us;		/* of the handshake */
	s->cc.min_rtt_us = rtt_us;
	s->cc.una = -5 * mss_bytes;	/* sequence numbers wrap early */
	s->cc.nxt = s->cc.una;
	ops->init(&s->cc, 0);
	sim_measure(s);
}

static inline void sim_stop(struct sim *s)
{
	free(s->ring);
}

/* As a rule change does: another CC takes over the running flow. */
static inline void sim_switch(struct sim *s, const struct tcon_cc_ops *ops,
			      const s64 *params)
{
	memset(s->cc.priv, 0, sizeof(s->cc.priv));
	s->cc.ops = ops;
	s->cc.params = params;
	s->cc.cwnd_bytes = max(s->cc.inflight_bytes,
			       TCON_INIT_CWND_SEGS * s->cc.mss_bytes);
	s->cc.pacing_rate_bps = 0;
	ops->init(&s->cc, s->now_ns / 1000);
}

static inline struct sim_segment *sim_segment(struct sim *s, u32 i)
{
	return &s->ring[i % SIM_RING];
}

static inline u64 sim_tx_ns(const struct sim *s, u64 bytes)
{
	return bytes * 8 * SIM_NS / s->rate_bps;
}

/* Does the path lose this segment?  xorshift32 (Marsaglia 2003). */
static inline bool sim_loses(struct sim *s)
{
	s->loss_seed ^= s->loss_seed << 13;
	s->loss_seed ^= s->loss_seed >> 17;
	s->loss_seed ^= s->loss_seed << 5;
	return s->loss_seed % 1000000 < s->loss_ppm;
}

static inline void sim_send(struct sim *s)
{
	u32 mss = s->cc.mss_bytes;
	struct sim_segment *p = sim_segment(s, s->tail);
	u64 start = max(s->free_ns, s->now_ns);
	bool idle = s->head == s->tail;

	BUG_ON(s->tail - s->head == SIM_RING);
	if (!s->cc.inflight_bytes) {
		s->first_sent_ns = s->now_ns;
		s->delivered_ns = s->now_ns;
	}
	s->tail++;
	s->cc.nxt += mss;
	s->cc.inflight_bytes += mss;
	s->max_inflight_bytes = max(s->max_inflight_bytes,
				    s->cc.inflight_bytes);
	p->sent_ns = s->now_ns;
	p->delivered_bytes = s->cc.delivered_bytes;
	p->delivered_ns = s->delivered_ns;
	p->first_sent_ns = s->first_sent_ns;
	p->lost_bytes = s->cc.lost_bytes;
	p->in_flight_bytes = s->cc.inflight_bytes;
	p->app_limited = s->cc.app_limited_until != 0;
	if (idle && s->cc.ops->cwnd_event)
		s->cc.ops->cwnd_event(&s->cc, TCON_CA_EVENT_TX_START,
				      s->now_ns / 1000);
	if (s->cc.pacing_rate_bps)
		s->next_send_ns = max(s->next_send_ns, s->now_ns) +
				  mss * 8ULL * SIM_NS / s->cc.pacing_rate_bps;
	if (sim_loses(s) ||
	    start - s->now_ns > sim_tx_ns(s, s->buffer_bytes)) {
		p->acked_ns = SIM_NEVER;
		return;
	}
	p->marked = s->mark_bytes &&
		    start - s->now_ns > sim_tx_ns(s, s->mark_bytes);
	s->free_ns = start + sim_tx_ns(s, mss);
	p->acked_ns = s->free_ns + s->rtt_us * 1000ULL;
}

static inline void sim_set_state(struct sim *s, enum tcon_ca_state state)
{
	if (state != TCON_CA_OPEN && s->cuts < SIM_CUTS) {
		s->cut[s->cuts].ns = s->now_ns;
		s->cut[s->cuts++].cwnd_bytes = s->cc.cwnd_bytes;
	}
	s->cc.ops->set_state(&s->cc, state, s->now_ns / 1000);
	s->cc.ca_state = state;
	s->recovery_end = s->tail;
}

/* Judge what was passed over by @dup_thresh ACKs.  Return: bytes lost. */
static inline u32 sim_judge(struct sim *s, u64 dup_thresh)
{
	u32 lost = 0;

	for (; s->head != s->next; s->head++) {
		struct sim_segment *p = sim_segment(s, s->head);

		if (p->acked_ns != SIM_NEVER)
			continue;
		if (s->acks - p->passed_at < dup_thresh)
			break;
		lost += s->cc.mss_bytes;
	}
	s->cc.lost_bytes += lost;
	s->cc.inflight_bytes -= lost;
	return lost;
}

static inline bool sim_cwnd_limited(const struct sim *s)
{
	u32 most = max(s->max_inflight_bytes, s->prev_max_inflight_bytes);

	if (s->cc.cwnd_bytes < s->cc.ssthresh_bytes)
		return s->cc.cwnd_bytes < 2 * most;
	return most + 2 * s->cc.mss_bytes >= s->cc.cwnd_bytes;
}

static inline void sim_take_rtt(struct sim *s, const struct sim_segment *p)
{
	u32 rtt_us = (s->now_ns - p->sent_ns) / 1000;

	s->cc.srtt_us += ((s32)rtt_us - (s32)s->cc.srtt_us) / 8;
	s->cc.min_rtt_us = min(s->cc.min_rtt_us, rtt_us);
	s->rtt_sum_us += rtt_us;
	s->rtt_count++;
	s->rtt_max_us = max_t(u64, s->rtt_max_us, rtt_us);
	s->rtt_min_us = min_t(u64, s->rtt_min_us, rtt_us);
}

static inline void sim_sample(struct sim *s, const struct sim_segment *p,
			      struct tcon_rate_sample *rs)
{
	rs->prior_delivered = p->delivered_bytes;
	rs->prior_lost = p->lost_bytes;
	rs->tx_in_flight_bytes = p->in_flight_bytes;
	rs->is_app_limited = p->app_limited;
	rs->snd_interval_us = (p->sent_ns - p->first_sent_ns) / 1000;
	rs->rcv_interval_us = (s->now_ns - p->delivered_ns) / 1000;
	rs->interval_us = max(rs->snd_interval_us, rs->rcv_interval_us);
	rs->delivered_bytes = s->cc.delivered_bytes - p->delivered_bytes;
	s->first_sent_ns = p->sent_ns;
	if (rs->interval_us < s->cc.min_rtt_us) {
		rs->interval_us = -1;
		rs->delivered_bytes = -1;
		return;
	}
	s->cc.last_rate_bps = rs->delivered_bytes * 8ULL * 1000000 /
			      rs->interval_us;
}

static inline void sim_ack(struct sim *s)
{
	struct tcon_rate_sample rs = {};
	struct sim_segment *p = sim_segment(s, s->next++);
	u32 mss = s->cc.mss_bytes;

	s->now_ns = p->acked_ns;
	s->acks++;
	rs.now_us = s->now_ns / 1000;
	rs.prior_inflight_bytes = s->cc.inflight_bytes;
	s->cc.inflight_bytes -= mss;
	s->cc.delivered_bytes += mss;
	if (p->marked)
		s->cc.delivered_ce_bytes += mss;
	s->delivered_ns = s->now_ns;
	if (s->cc.app_limited_until &&
	    s->cc.delivered_bytes > s->cc.app_limited_until)
		s->cc.app_limited_until = 0;
	rs.acked_bytes = mss;
	rs.acked_sacked_bytes = mss;
	rs.rtt_us = (s->now_ns - p->sent_ns) / 1000;
	sim_take_rtt(s, p);
	sim_sample(s, p, &rs);
	rs.losses_bytes = sim_judge(s, 3);
	s->cc.una = s->cc.nxt - (s->tail - s->head) * mss;
	rs.lost_bytes = s->cc.lost_bytes - rs.prior_lost;
	rs.is_cwnd_limited = sim_cwnd_limited(s);
	rs.is_ece = p->marked;
	if (p->marked && s->cc.ops->cwnd_event)
		s->cc.ops->cwnd_event(&s->cc, TCON_CA_EVENT_ECE,
				      s->now_ns / 1000);
	if (rs.losses_bytes && s->cc.ca_state == TCON_CA_OPEN)
		sim_set_state(s, TCON_CA_RECOVERY);
	else if (!rs.losses_bytes && s->cc.ca_state != TCON_CA_OPEN &&
		 (s32)(s->head - s->recovery_end) >= 0)
		sim_set_state(s, TCON_CA_OPEN);
	s->cc.ops->cong_control(&s->cc, &rs);
	if ((s32)(s->head - s->round_end) >= 0) {
		s->round_end = s->tail;
		s->prev_max_inflight_bytes = s->max_inflight_bytes;
		s->max_inflight_bytes = s->cc.inflight_bytes;
	}
}

/* Nothing comes back: all that is in flight is lost. */
static inline void sim_timeout(struct sim *s)
{
	s->now_ns += 3000ULL * s->cc.srtt_us;
	sim_judge(s, 0);
	s->cc.una = s->cc.nxt;
	sim_set_state(s, TCON_CA_LOSS);
}

/* Time of the next ACK; dropped segments before it are passed over. */
static inline u64 sim_next_ack_ns(struct sim *s)
{
	struct sim_segment *p;

	for (; s->next != s->tail; s->next++) {
		p = sim_segment(s, s->next);
		if (p->acked_ns != SIM_NEVER)
			return p->acked_ns;
		p->passed_at = s->acks;
	}
	return SIM_NEVER;
}

/* Run up to @until_ns; @watch, if given, sees the flow after each event. */
static inline void sim_run(struct sim *s, u64 until_ns,
			   void (*watch)(struct sim *s))
{
	u64 ack_ns, send_ns;

	for (;;) {
		ack_ns = sim_next_ack_ns(s);
		send_ns = SIM_NEVER;
		if (s->cc.inflight_bytes + s->cc.mss_bytes <= s->cc.cwnd_bytes)
			send_ns = max(s->now_ns, s->next_send_ns);
		if (min(ack_ns, send_ns) > until_ns &&
		    min(ack_ns, send_ns) != SIM_NEVER)
			break;
		if (ack_ns == SIM_NEVER && send_ns == SIM_NEVER) {
			sim_timeout(s);
		} else if (ack_ns <= send_ns) {
			sim_ack(s);
		} else {
			s->now_ns = send_ns;
			sim_send(s);
		}
		if (watch)
			watch(s);
		BUG_ON(s->cc.cwnd_bytes < TCON_MIN_CWND_SEGS * s->cc.mss_bytes);
		BUG_ON(s->cc.cwnd_bytes > TCON_CWND_MAX_BYTES);
	}
	s->now_ns = until_ns;
}

/* Delivered since sim_measure(), as a share of the bottleneck's rate. */
static inline double sim_utilisation(const struct sim *s)
{
	return (s->cc.delivered_bytes - s->since_delivered) * 8.0 * SIM_NS /
	       (s->now_ns - s->since_ns) / s->rate_bps;
}

/* Mean time in the queue since sim_measure(), microseconds. */
static inline double sim_queue_us(const struct sim *s)
{
	return (double)s->rtt_sum_us / s->rtt_count - s->rtt_us -
	       sim_tx_ns(s, s->cc.mss_bytes) / 1000.0;
}

#endif /* _TESTS_SIM_H */
