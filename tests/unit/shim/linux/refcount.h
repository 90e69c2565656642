/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: references. */
#ifndef _SHIM_LINUX_REFCOUNT_H
#define _SHIM_LINUX_REFCOUNT_H

typedef struct {
	int refs;
} refcount_t;

#endif /* _SHIM_LINUX_REFCOUNT_H */
