/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: IP protocol numbers. */
#ifndef _SHIM_LINUX_IN_H
#define _SHIM_LINUX_IN_H

#include <netinet/in.h>

#endif /* _SHIM_LINUX_IN_H */
