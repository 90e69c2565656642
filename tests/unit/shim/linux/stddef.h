/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: members that are also a struct of their own. */
#ifndef _SHIM_LINUX_STDDEF_H
#define _SHIM_LINUX_STDDEF_H

#include <stddef.h>
#include_next <linux/stddef.h>

#define struct_group_tagged(TAG, NAME, ...) __struct_group(TAG, NAME, , __VA_ARGS__)

#endif /* _SHIM_LINUX_STDDEF_H */
