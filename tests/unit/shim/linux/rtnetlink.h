/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: nothing of it is used without hooks of devices. */
#ifndef _SHIM_LINUX_RTNETLINK_H
#define _SHIM_LINUX_RTNETLINK_H


#endif /* _SHIM_LINUX_RTNETLINK_H */
