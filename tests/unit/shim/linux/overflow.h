/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: sizes of structs that end in an array. */
#ifndef _SHIM_LINUX_OVERFLOW_H
#define _SHIM_LINUX_OVERFLOW_H

#include <linux/types.h>

#define struct_size(p, member, n)	(sizeof(*(p)) + (n) * sizeof((p)->member[0]))

#endif /* _SHIM_LINUX_OVERFLOW_H */
