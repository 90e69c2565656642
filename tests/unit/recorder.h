/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For whoever runs the whole datapath on one connection in user space: a trace for the model of a
 * sender's buffer (buffer/).  With TCON_RECORD=FILE in the environment, a line for each
 *
 *	begin NAME			another connection
 *	NS guest GSO HEX		frame that enters from the guest; of a super-packet, GSO bytes each
 *	NS left GSO HEX			and leaves to the peer
 *	NS peer GSO HEX			and enters from the peer
 *	NS given GSO HEX		and is given to the guest
 *	NS flow NAME=VALUE...		change of what the CC allows, before what leaves next
 *	NS moved			the flow is no longer where it was
 */
#ifndef _TESTS_RECORDER_H
#define _TESTS_RECORDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/host.h"

#define RECORD_LINE_MAX	16384

static FILE *record;
static char record_last[RECORD_LINE_MAX];

static inline void record_begin(const char *name)
{
	if (!record && getenv("TCON_RECORD"))
		record = fopen(getenv("TCON_RECORD"), "w");
	record_last[0] = 0;
	if (record)
		fprintf(record, "begin %s\n", name);
}

static inline void record_moved(void)
{
	if (record)
		fprintf(record, "%llu moved\n", shim_now_ns);
}

static inline void record_frame(const char *what, const struct sk_buff *skb)
{
	static const char digits[] = "0123456789abcdef";
	static char hex[2 * (U16_MAX + 200)];
	u32 i;

	if (!record)
		return;
	BUG_ON(2 * skb->len > sizeof(hex));
	for (i = 0; i < skb->len; i++) {
		hex[2 * i] = digits[skb->data[i] >> 4];
		hex[2 * i + 1] = digits[skb->data[i] & 15];
	}
	fprintf(record, "%llu %s %u %.*s\n", shim_now_ns, what, skb_shinfo(skb)->gso_size,
		(int)(2 * skb->len), hex);
}

/* Record the bounds of the next segment, and what TCon takes for lost. */
static inline void record_limits(char *line, const struct tcon_flow *flow)
{
	static const char * const states[] = TCON_STATE_NAMES;
	static const char * const reasons[] = {
#define TCON_X(id, name, text) name,
		TCON_REASONS(TCON_X)
#undef TCON_X
	};
	const struct tcon_track *t = &flow->track;
	u32 i, n;

	n = sprintf(line, "state=%s reason=%s cwnd=%u strict=%u mss=%u inflight=%u una=%u nxt=%u gone=%u rate=%llu burst=%u free=%u busy=%u timeouts=%u probes=%u lost=",
		    states[flow->state], reasons[flow->reason], tcon_track_cwnd_bytes(t),
		    t->prr.active && (!tcon_track_marked(t) ||
				      t->prr.limit_bytes != t->cc.cwnd_bytes),
		    t->cc.mss_bytes, t->cc.inflight_bytes, t->cc.una, t->cc.nxt,
		    t->dup_bytes + t->unnoted_bytes, t->cc.pacing_rate_bps,
		    tcon_pace_burst_bytes(&t->cc),
		    flow->hold.flush || t->unheard, flow->hold.run != TCON_RUN_NONE,
		    flow->repair.timeouts, flow->repair.probes);
	for (i = 0; i < t->lost.n && n < RECORD_LINE_MAX - 50; i++)
		n += sprintf(line + n, "%u-%u,", t->lost.range[i].start, t->lost.range[i].end);
}

/* A line, if it differs from the last one. */
static inline void record_flow(void)
{
	static char line[RECORD_LINE_MAX];
	const struct tcon_flow *flow;

	if (!record)
		return;
	flow = flow_from(rb_first_cached(&host.port.flow_tree));
	if (!flow)
		return;
	record_limits(line, flow);
	if (!strcmp(line, record_last))
		return;
	strcpy(record_last, line);
	fprintf(record, "%llu flow %s\n", shim_now_ns, line);
}

#endif /* _TESTS_RECORDER_H */
