/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: a kernel without hooks of devices. */
#ifndef _SHIM_LINUX_NETFILTER_NETDEV_H
#define _SHIM_LINUX_NETFILTER_NETDEV_H


#endif /* _SHIM_LINUX_NETFILTER_NETDEV_H */
