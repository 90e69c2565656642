/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The flows whose sender is on the near side of the probed device, and the
 * records that are written about them.
 */
#ifndef PROBE_FLOWS_H
#define PROBE_FLOWS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "segment.h"

#define FLOWS_MAX	4096

struct flow;

/**
 * struct flows - the table and its clock
 * @out: where records go
 * @interval_ns: length of an interval
 * @loss_gap_ns: repeats further apart than that are of two loss events
 * @end_ns: end of the present interval; times count from the start
 * @packets: TCP segments seen
 * @untracked: data segments of flows for which there was no room
 * @n_flows: entries in @list
 * @list: in the order of their first packet
 * @buckets: hash chains
 */
struct flows {
	FILE *out;
	uint64_t interval_ns;
	uint64_t loss_gap_ns;
	uint64_t end_ns;
	uint64_t packets;
	uint64_t untracked;
	unsigned int n_flows;
	struct flow *list[FLOWS_MAX];
	struct flow *buckets[FLOWS_MAX];
};

void flows_segment(struct flows *table, const struct segment *s, bool outgoing,
		   uint64_t t_ns);
void flows_advance(struct flows *table, uint64_t t_ns);
void flows_finish(struct flows *table, uint64_t t_ns, uint64_t dropped);

#endif
