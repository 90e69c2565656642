/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: network byte order. */
#ifndef _SHIM_ASM_BYTEORDER_H
#define _SHIM_ASM_BYTEORDER_H

#include_next <asm/byteorder.h>
#include <netinet/in.h>	/* has names of its own for what follows */

#define be16_to_cpu(x)	__builtin_bswap16(x)
#define be32_to_cpu(x)	__builtin_bswap32(x)
#define be64_to_cpu(x)	__builtin_bswap64(x)
#define cpu_to_be16(x)	((__be16)__builtin_bswap16(x))
#define cpu_to_be32(x)	((__be32)__builtin_bswap32(x))
#define cpu_to_be64(x)	((__be64)__builtin_bswap64(x))

#ifndef htons
#define htons(x)	cpu_to_be16(x)
#define htonl(x)	cpu_to_be32(x)
#define ntohs(x)	be16_to_cpu(x)
#define ntohl(x)	be32_to_cpu(x)
#endif

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "the shim is for little-endian machines");

#endif /* _SHIM_ASM_BYTEORDER_H */
