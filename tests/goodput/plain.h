/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sender that shares no line with TCon: slow start, AIMD, NewReno or SACK with losses judged by
 * order (RFC 5681, 6582, 6675, 8985), a tail probe, a timer as in Linux (200 ms beyond the RTT), an
 * end of a needless time-out's effects (RFC 3522, 4015), ECN (RFC 3168), and HyStart where the path
 * says so.
 *
 * It counts in segments of SEG_MSS, since all that is written here is a multiple of that.
 */
#ifndef _TESTS_PLAIN_H
#define _TESTS_PLAIN_H

#include "hystart.h"
#include "world.h"

#define PLAIN_ORDER	3U	/* later transmissions that have arrived, until one is lost */

static u32 plain_seq(const struct end *e, u32 at)
{
	return e->isn + 1 + at * SEG_MSS;
}

static u32 plain_at(const struct end *e, u32 seq)
{
	return (seq - e->isn - 1) / SEG_MSS;
}

static struct plain_seg *plain_of(struct plain *s, u32 at)
{
	return &s->seg[at % SEGS_MAX];
}

static u32 plain_pipe(const struct plain *s)
{
	u32 gone = s->n_sacked + s->n_lost + s->dup;

	return s->nxt - s->una > gone ? s->nxt - s->una - gone : 0;
}

static u64 plain_rto_ns(const struct plain *s)
{
	u64 us = s->srtt_us ? s->srtt_us + max(4 * s->rttvar_us, 200000U) : 1000000;

	return min(us << min(s->backoff, 8U), 60 * (u64)USEC_PER_SEC) * NSEC_PER_USEC;
}

/* Behind a probe, or where one can say nothing new, there is only the time-out. */
static void plain_arm(struct end *e)
{
	struct plain *s = &e->plain;
	u64 wait_ns = plain_rto_ns(s), probe_ns;

	s->probes = e->sack && !s->probed && s->state == PLAIN_OPEN && s->srtt_us &&
		    !s->backoff && !s->n_sacked;
	if (s->probes) {
		probe_ns = (2ULL * s->srtt_us + 10000) * NSEC_PER_USEC;
		if (s->nxt - s->una == 1)
			probe_ns += 200 * NSEC_PER_MSEC;
		s->probes = probe_ns < wait_ns;
		wait_ns = min(wait_ns, probe_ns);
	}
	s->timer_ns = s->una == s->nxt ? NEVER : shim_now_ns + wait_ns;
}

/* @n segments leave together; more than one only for the first time. */
static void plain_send(struct end *e, u32 at, u32 n)
{
	struct plain *s = &e->plain;
	struct plain_seg *seg;
	u32 i;

	for (i = at; i < at + n; i++) {
		seg = plain_of(s, i);
		seg->sent_ns = shim_now_ns;
		seg->order = ++s->order;
		seg->tries++;
		s->n_lost -= seg->lost;
		seg->lost = false;
	}
	end_emits(e, plain_seq(e, at), n * SEG_MSS);
}

/* How many segments may leave for the first time? */
static u32 plain_fresh(struct end *e)
{
	struct plain *s = &e->plain;
	u32 to = plain_at(e, seq_min(e->edge, e->app_end)), room = s->cwnd - plain_pipe(s);

	BUG_ON(s->nxt - s->una > SEGS_MAX - e->burst);
	return min3(to > s->nxt ? to - s->nxt : 0, room, e->burst);
}

static void plain_output(struct end *e)
{
	struct plain *s = &e->plain;
	bool idle = s->una == s->nxt;
	u32 n, at = s->una, i;

	while (plain_pipe(s) < s->cwnd) {
		if (s->n_lost) {
			while (!plain_of(s, at)->lost)
				at++;
			plain_send(e, at, 1);
			continue;
		}
		n = plain_fresh(e);
		if (!n)
			break;
		for (i = 0; i < n; i++)
			*plain_of(s, s->nxt + i) = (struct plain_seg) {};
		s->nxt += n;
		s->probed = false;
		plain_send(e, s->nxt - n, n);
	}
	s->limited = plain_pipe(s) >= s->cwnd;
	if (idle || s->state == PLAIN_OPEN)
		plain_arm(e);
}

static void plain_rtt(struct plain *s, u32 rtt_us)
{
	rtt_us = max(rtt_us, 1U);
	if (!s->srtt_us) {
		s->srtt_us = rtt_us;
		s->rttvar_us = rtt_us / 2;
		return;
	}
	s->rttvar_us += ((s32)abs((s32)(rtt_us - s->srtt_us)) - (s32)s->rttvar_us) / 4;
	s->srtt_us += (s32)(rtt_us - s->srtt_us) / 8;
}

static void plain_arrived(struct plain *s, u32 at)
{
	struct plain_seg *seg = plain_of(s, at);

	s->n_lost -= seg->lost;
	seg->lost = false;
	if (seg->tries == 1)
		s->seen = max(s->seen, seg->order);
}

/* All before @at is acknowledged. */
static u32 plain_advance(struct plain *s, u32 at)
{
	u32 n = at - s->una, i;
	bool repeated = false;
	struct plain_seg *seg;
	u32 rtt_us;

	for (i = s->una; i < at; i++) {
		seg = plain_of(s, i);
		plain_arrived(s, i);
		repeated |= seg->tries > 1;
		if (seg->tries > 1)
			s->seen = max(s->seen, seg->order);
		s->n_sacked -= seg->sacked;
	}
	seg = plain_of(s, at - 1);
	s->una = at;
	if (!repeated && !seg->sacked) {	/* otherwise it may have waited for a repeat */
		rtt_us = (shim_now_ns - seg->sent_ns) / NSEC_PER_USEC;
		plain_rtt(s, rtt_us);
		if (s->has_hystart)
			hystart_acked(s, rtt_us);
	}
	s->dup = 0;
	s->backoff = 0;
	s->probed = false;
	return n;
}

static void plain_sacks(struct end *e, const struct tcon_packet *p)
{
	struct plain *s = &e->plain;
	u32 i, at;

	for (i = 0; i < p->n_sacks; i++) {
		if (!seq_after(p->sacks[i].start, p->ack))
			continue;	/* a DSACK */
		at = plain_at(e, p->sacks[i].start + SEG_MSS - 1);
		for (; at < s->nxt && !seq_after(plain_seq(e, at + 1), p->sacks[i].end); at++) {
			if (plain_of(s, at)->sacked)
				continue;
			plain_arrived(s, at);
			plain_of(s, at)->sacked = true;
			s->n_sacked++;
		}
	}
}

static void plain_lose(struct plain *s, u32 at)
{
	s->n_lost += !plain_of(s, at)->lost;
	plain_of(s, at)->lost = true;
}

static void plain_judge(struct end *e, bool advanced)
{
	struct plain *s = &e->plain;
	u32 i;

	if (e->sack) {
		for (i = s->una; s->n_sacked && i < s->nxt; i++)
			if (!plain_of(s, i)->sacked && plain_of(s, i)->order + PLAIN_ORDER <= s->seen)
				plain_lose(s, i);
	} else if (s->state == PLAIN_RECOVERY ? advanced && s->una < s->recover :
			s->state == PLAIN_OPEN && s->dup == 3) {
		plain_lose(s, s->una);
	}
	if (!s->n_lost || s->state != PLAIN_OPEN)
		return;
	s->state = PLAIN_RECOVERY;
	s->recover = s->nxt;
	s->ssthresh = max(s->cwnd / 2, 2U);
	s->cwnd = s->ssthresh;
	plain_arm(e);
}

/* The path has marked something. */
static void plain_marked(struct plain *s)
{
	if (s->state != PLAIN_OPEN)
		return;
	s->ssthresh = max(s->cwnd / 2, 2U);
	s->cwnd = s->ssthresh;
}

/* An echo older than the first repeat: its original has arrived, or a copy of that at TCon. */
static void plain_undo(struct plain *s, const struct tcon_packet *p)
{
	u32 i;

	if (s->state != PLAIN_LOSS || !s->may_undo || !seq_before(p->tsecr, s->anew_ms))
		return;
	for (i = s->una; i < s->nxt; i++)
		plain_of(s, i)->lost = false;
	s->n_lost = 0;
	s->cwnd = max(s->cwnd, s->cwnd_before);
	s->ssthresh = s->ssthresh_before;
	s->state = PLAIN_OPEN;
	s->may_undo = false;
}

static void plain_grow(struct plain *s, u32 n)
{
	if (s->state == PLAIN_RECOVERY || !s->limited)
		return;
	if (s->cwnd < s->ssthresh) {
		s->cwnd += n;
		return;
	}
	s->grown += n;
	if (s->grown >= s->cwnd) {
		s->grown = 0;
		s->cwnd++;
	}
}

static void plain_ack(struct end *e, const struct tcon_packet *p, bool duplicate, bool marked)
{
	struct plain *s = &e->plain;
	u32 at = plain_at(e, p->ack), n = 0;

	if (at > s->una)
		n = plain_advance(s, at);
	else if (duplicate && !e->sack && s->una != s->nxt)
		s->dup++;
	if (e->sack)
		plain_sacks(e, p);
	if (n)
		plain_undo(s, p);
	if (s->state != PLAIN_OPEN && s->una >= s->recover) {
		s->cwnd = s->state == PLAIN_RECOVERY ? s->ssthresh : s->cwnd;
		s->state = PLAIN_OPEN;
	}
	plain_judge(e, n);
	if (marked)
		plain_marked(s);
	else
		plain_grow(s, n);
	if (n)
		plain_arm(e);
	plain_output(e);
}

static void plain_timer(struct end *e)
{
	struct plain *s = &e->plain;
	u32 i;

	if (s->probes) {
		s->probed = true;
		plain_send(e, s->nxt - 1, 1);
		plain_arm(e);
		return;
	}
	/* What was SACKed may be gone (RFC 2018, 8). */
	for (i = s->una; i < s->nxt; i++) {
		plain_of(s, i)->sacked = false;
		plain_lose(s, i);
	}
	s->n_sacked = 0;
	s->dup = 0;
	if (s->state != PLAIN_LOSS || s->recover <= s->una) {
		s->anew_ms = now_ms();
		s->cwnd_before = s->cwnd;
		s->ssthresh_before = s->ssthresh;
		s->may_undo = s->state == PLAIN_OPEN;
		s->ssthresh = max(s->cwnd / 2, 2U);
	}
	s->cwnd = 1;
	s->state = PLAIN_LOSS;
	s->recover = s->nxt;
	s->backoff++;
	plain_arm(e);
	plain_output(e);
}

#endif /* _TESTS_PLAIN_H */
