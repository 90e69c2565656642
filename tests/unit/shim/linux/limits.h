/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: bounds of the integer types. */
#ifndef _SHIM_LINUX_LIMITS_H
#define _SHIM_LINUX_LIMITS_H

#include_next <linux/limits.h>

#ifndef UINT_MAX
#define UINT_MAX	(~0U)
#endif
#ifndef LONG_MAX
#define LONG_MAX	((long)(~0UL >> 1))
#endif
#define U8_MAX	((u8)~0U)
#define U16_MAX	((u16)~0U)
#define U32_MAX	((u32)~0U)
#define S32_MAX	((s32)(U32_MAX >> 1))
#define S32_MIN	((s32)(-S32_MAX - 1))
#define U64_MAX	((u64)~0ULL)
#define S64_MAX	((s64)(U64_MAX >> 1))
#define S64_MIN	((s64)(-S64_MAX - 1))

#endif /* _SHIM_LINUX_LIMITS_H */
