/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: Open vSwitch's crc32c(), bit by bit (RFC 9260, appendix A). */
#ifndef _SHIM_CRC32C_H
#define _SHIM_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* On a little-endian machine its bytes in memory are in the wire's order. */
static inline uint32_t crc32c(const uint8_t *data, size_t bytes)
{
	uint32_t crc = ~0U;
	int bit;

	while (bytes--) {
		crc ^= *data++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

#endif /* _SHIM_CRC32C_H */
