/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: modules that are loaded on demand: there are none. */
#ifndef _SHIM_LINUX_KMOD_H
#define _SHIM_LINUX_KMOD_H

#define request_module(fmt, ...)	((void)sizeof(printf(fmt, ##__VA_ARGS__)))

#endif /* _SHIM_LINUX_KMOD_H */
