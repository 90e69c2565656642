/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: see net/net_namespace.h. */
#ifndef _SHIM_NET_NETNS_GENERIC_H
#define _SHIM_NET_NETNS_GENERIC_H

#include <net/net_namespace.h>

#endif /* _SHIM_NET_NETNS_GENERIC_H */
