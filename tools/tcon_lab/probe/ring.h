/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROBE_RING_H
#define PROBE_RING_H

#include "flows.h"

/* How long a packet may wait in a block that does not fill. */
#define RING_RETIRE_MS	8

/**
 * struct ring - packets of one device, shared with the kernel
 * @fd: AF_PACKET socket, readable when there is a block to read
 * @map: the blocks
 * @block: the next block to read
 * @origin_ns: CLOCK_REALTIME at time 0; packets carry that clock
 */
struct ring {
	int fd;
	uint8_t *map;
	unsigned int block;
	int64_t origin_ns;
};

int ring_open(struct ring *ring, const char *dev);
void ring_read(struct ring *ring, struct flows *table);
uint64_t ring_dropped(const struct ring *ring);
void ring_close(struct ring *ring);

#endif
