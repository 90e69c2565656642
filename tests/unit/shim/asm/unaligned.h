/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: loads and stores at any address. */
#ifndef _SHIM_ASM_UNALIGNED_H
#define _SHIM_ASM_UNALIGNED_H

#include <asm/byteorder.h>
#include <linux/types.h>

#define shim_unaligned(bits)						\
static inline u##bits get_unaligned_be##bits(const void *p)		\
{									\
	u##bits v;							\
									\
	__builtin_memcpy(&v, p, sizeof(v));				\
	return __builtin_bswap##bits(v);				\
}									\
									\
static inline void put_unaligned_be##bits(u##bits v, void *p)		\
{									\
	v = __builtin_bswap##bits(v);					\
	__builtin_memcpy(p, &v, sizeof(v));				\
}

shim_unaligned(16)
shim_unaligned(32)
shim_unaligned(64)

#endif /* _SHIM_ASM_UNALIGNED_H */
