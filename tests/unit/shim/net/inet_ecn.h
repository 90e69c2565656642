/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the ECN field. */
#ifndef _SHIM_NET_INET_ECN_H
#define _SHIM_NET_INET_ECN_H

#define INET_ECN_MASK	3

#endif /* _SHIM_NET_INET_ECN_H */
