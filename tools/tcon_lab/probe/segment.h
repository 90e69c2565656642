/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef PROBE_SEGMENT_H
#define PROBE_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "estimator.h"

#define SEGMENT_MAX_SACK	4
#define SEGMENT_ADDR_BYTES	16

/**
 * struct segment - what the probe reads of a TCP segment
 * @family: AF_INET or AF_INET6
 * @src: address, IPv4 in the first 4 bytes, the rest 0
 * @dst: as @src
 * @sport: host order
 * @dport: host order
 * @seq: of the first byte of payload (one past a SYN)
 * @ack: valid where @has_ack
 * @payload_bytes: by the IP header, whatever was captured
 * @syn: flag
 * @fin: flag
 * @has_ack: flag
 * @sack: blocks in the order of the option
 * @n_sack: number of blocks
 */
struct segment {
	uint8_t src[SEGMENT_ADDR_BYTES];
	uint8_t dst[SEGMENT_ADDR_BYTES];
	uint16_t sport;
	uint16_t dport;
	uint32_t seq;
	uint32_t ack;
	uint32_t payload_bytes;
	uint8_t family;
	bool syn;
	bool fin;
	bool has_ack;
	unsigned int n_sack;
	struct sack_block sack[SEGMENT_MAX_SACK];
};

bool segment_parse(struct segment *s, uint16_t ethertype, const uint8_t *data,
		   size_t captured, size_t wire_bytes);

#endif
