/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: what base/compat.h is to believe. */
#ifndef _SHIM_LINUX_VERSION_H
#define _SHIM_LINUX_VERSION_H

#define KERNEL_VERSION(a, b, c)	((a) << 16 | (b) << 8 | (c))
#define LINUX_VERSION_CODE	KERNEL_VERSION(6, 1, 0)

#endif /* _SHIM_LINUX_VERSION_H */
