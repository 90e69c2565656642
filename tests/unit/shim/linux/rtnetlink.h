/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: nobody else changes devices. */
#ifndef _SHIM_LINUX_RTNETLINK_H
#define _SHIM_LINUX_RTNETLINK_H

#define ASSERT_RTNL()	((void)0)

#endif /* _SHIM_LINUX_RTNETLINK_H */
