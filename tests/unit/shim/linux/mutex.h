/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: mutexes, for who asserts that they are held. */
#ifndef _SHIM_LINUX_MUTEX_H
#define _SHIM_LINUX_MUTEX_H

#include <linux/types.h>

struct mutex {
	bool held;
};

#endif /* _SHIM_LINUX_MUTEX_H */
