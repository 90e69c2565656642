/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the test says what is random. */
#ifndef _SHIM_LINUX_RANDOM_H
#define _SHIM_LINUX_RANDOM_H

#include <linux/types.h>

u32 get_random_u32(void);

#endif /* _SHIM_LINUX_RANDOM_H */
