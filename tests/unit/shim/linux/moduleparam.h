/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: parameters keep their defaults. */
#ifndef _SHIM_LINUX_MODULEPARAM_H
#define _SHIM_LINUX_MODULEPARAM_H

#include <linux/kernel.h>

#define module_param(name, type, perm)	_Static_assert(sizeof(name), "")
#define MODULE_PARM_DESC(name, text)	_Static_assert(sizeof(text) > 1, "empty")

#endif /* _SHIM_LINUX_MODULEPARAM_H */
