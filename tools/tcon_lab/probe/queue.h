/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROBE_QUEUE_H
#define PROBE_QUEUE_H

#include <libmnl/libmnl.h>
#include <stdint.h>
#include <stdio.h>

/**
 * struct queue - the qdiscs of one device
 * @nl: rtnetlink socket
 * @ifindex: the device
 * @seq: of the last request
 */
struct queue {
	struct mnl_socket *nl;
	unsigned int ifindex;
	uint32_t seq;
};

int queue_open(struct queue *queue, const char *dev);
int queue_sample(struct queue *queue, FILE *out, uint64_t t_ns);
void queue_close(struct queue *queue);

#endif
