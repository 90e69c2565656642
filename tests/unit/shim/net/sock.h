/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: every socket is in the one namespace. */
#ifndef _SHIM_NET_SOCK_H
#define _SHIM_NET_SOCK_H

#include <net/net_namespace.h>

#define sock_net(sk)	((void)(sk), &init_net)

#endif /* _SHIM_NET_SOCK_H */
