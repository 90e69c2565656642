/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: address families. */
#ifndef _SHIM_LINUX_SOCKET_H
#define _SHIM_LINUX_SOCKET_H

#include <sys/socket.h>
#include_next <linux/socket.h>

#endif /* _SHIM_LINUX_SOCKET_H */
