/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: see slab.h. */
#ifndef _SHIM_LINUX_MM_H
#define _SHIM_LINUX_MM_H

#include <linux/slab.h>

#endif /* _SHIM_LINUX_MM_H */
