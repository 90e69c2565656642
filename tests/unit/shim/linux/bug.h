/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: a warning ends the test: the suite allows none. */
#ifndef _SHIM_LINUX_BUG_H
#define _SHIM_LINUX_BUG_H

#include <stdio.h>
#include <stdlib.h>
#include <linux/build_bug.h>

#define BUG_ON(cond)							\
	do {								\
		if (cond) {						\
			fprintf(stderr, "%s:%d: BUG: %s\n", __FILE__,	\
				__LINE__, #cond);			\
			abort();					\
		}							\
	} while (0)
#define BUG()			BUG_ON(1)
#define WARN_ON(cond)		({ BUG_ON(cond); false; })
#define WARN_ON_ONCE(cond)	WARN_ON(cond)

#endif /* _SHIM_LINUX_BUG_H */
