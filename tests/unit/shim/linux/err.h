/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: errors in pointers. */
#ifndef _SHIM_LINUX_ERR_H
#define _SHIM_LINUX_ERR_H

#include <errno.h>
#include <linux/types.h>

#define IS_ERR(p)		((uintptr_t)(p) > (uintptr_t)-4096)
#define IS_ERR_OR_NULL(p)	(!(p) || IS_ERR(p))

#define ERR_PTR(err)	((void *)(long)(err))

#endif /* _SHIM_LINUX_ERR_H */
