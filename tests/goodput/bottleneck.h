/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A link, and the queue before it: drops at its tail, and may mark what is ECN-capable.
 *
 * A packet leaves when all before it have left, so how long it waits is known when it comes.
 */
#ifndef _TESTS_GOODPUT_BOTTLENECK_H
#define _TESTS_GOODPUT_BOTTLENECK_H

#include <linux/ktime.h>
#include <linux/math64.h>

#include "datapath/wire/packet.h"
#include "tests/fuzz/segments.h"

#define HEADER_BYTES	66U

/* Which packets it marks; those that are not ECN-capable CoDel drops. */
enum marks {
	MARKS_NONE,
	MARKS_STEP,		/* each that waits longer than the threshold (RFC 8257, 3.1) */
	MARKS_CODEL,		/* RFC 8289 */
};

/**
 * struct bottleneck - a link and its queue
 * @rate_bps: bits/s
 * @queue_ns: what it holds
 * @busy_ns: until then it is busy
 * @marks: enum marks
 * @most_ns: the threshold, or CoDel's target
 * @interval_ns: CoDel's interval; the rest is as in RFC 8289, 5.3
 * @first_above_ns: when the queue has been above the target for an interval; 0: it is below
 * @next_ns: when the next mark is due
 * @count: of marks since @marking
 * @last_count: as it was when that began
 * @marking: the queue stays above the target
 * @waited_ns: sum over all data that it took
 * @waited: number of these packets
 */
struct bottleneck {
	u64 rate_bps, queue_ns, busy_ns;
	enum marks marks;
	u64 most_ns, interval_ns, first_above_ns, next_ns;
	u32 count, last_count;
	bool marking;
	u64 waited_ns;
	u32 waited;
};

static u64 bottleneck_ns(const struct bottleneck *b, u32 bytes)
{
	return bytes * 8 * (u64)NSEC_PER_SEC / b->rate_bps;
}

/* A step at a seventh of the BDP (Alizadeh and others, 2010), or a burst. */
static void bottleneck_init(struct bottleneck *b, u64 rate_bps, u64 queue_ns, enum marks marks,
			    u32 rtt_us)
{
	u64 rtt_ns = rtt_us * (u64)NSEC_PER_USEC, segment_ns;

	*b = (struct bottleneck) { .rate_bps = rate_bps, .queue_ns = queue_ns, .marks = marks };
	segment_ns = bottleneck_ns(b, SEG_MSS + HEADER_BYTES);
	b->interval_ns = max(2 * rtt_ns, 20 * (u64)NSEC_PER_MSEC);
	if (marks == MARKS_STEP)
		b->most_ns = max(rtt_ns / 7, 20 * segment_ns);
	else
		b->most_ns = max(b->interval_ns / 10, 2 * segment_ns);
}

static u64 codel_next_ns(const struct bottleneck *b, u64 ns)
{
	return ns + b->interval_ns * 1024 / int_sqrt64((u64)b->count << 20);
}

/* Has the queue been above the target for an interval? @ns: when the packet leaves. */
static bool codel_is_above(struct bottleneck *b, u64 ns)
{
	if (ns - shim_now_ns < b->most_ns) {
		b->first_above_ns = 0;
		return false;
	}
	if (!b->first_above_ns) {
		b->first_above_ns = ns + b->interval_ns;
		return false;
	}
	return ns >= b->first_above_ns;
}

static bool codel_marks(struct bottleneck *b, u64 ns)
{
	u32 more = b->count - b->last_count;

	if (!codel_is_above(b, ns)) {
		b->marking = false;
		return false;
	}
	if (b->marking) {
		if (ns < b->next_ns)
			return false;
		b->count++;
		b->next_ns = codel_next_ns(b, b->next_ns);
		return true;
	}
	b->marking = true;
	b->count = more > 1 && ns < b->next_ns + 16 * b->interval_ns ? more : 1;
	b->last_count = b->count;
	b->next_ns = codel_next_ns(b, ns);
	return true;
}

static bool bottleneck_marks(struct bottleneck *b, u64 leaves_ns)
{
	switch (b->marks) {
	case MARKS_STEP:
		return leaves_ns - shim_now_ns > b->most_ns;
	case MARKS_CODEL:
		return codel_marks(b, leaves_ns);
	default:
		return false;
	}
}

/* Does a packet find room?  It may then have a mark. */
static bool enters(struct bottleneck *b, struct tcon_packet *p)
{
	bool capable = p->tos & TCON_ECN_MASK;

	b->busy_ns = max(b->busy_ns, shim_now_ns);
	if (b->busy_ns > shim_now_ns + b->queue_ns)
		return false;
	if (bottleneck_marks(b, b->busy_ns)) {
		if (!capable && b->marks == MARKS_CODEL)
			return false;
		p->tos |= capable ? TCON_ECN_CE : 0;
	}
	b->waited += !!p->payload_bytes;
	b->waited_ns += p->payload_bytes ? b->busy_ns - shim_now_ns : 0;
	b->busy_ns += bottleneck_ns(b, p->payload_bytes + HEADER_BYTES);
	return true;
}

#endif /* _TESTS_GOODPUT_BOTTLENECK_H */
