/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: see kernel.h. */
#ifndef _SHIM_LINUX_MATH_H
#define _SHIM_LINUX_MATH_H

#include <linux/kernel.h>

#endif /* _SHIM_LINUX_MATH_H */
