/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: assertions at compile time. */
#ifndef _SHIM_LINUX_BUILD_BUG_H
#define _SHIM_LINUX_BUILD_BUG_H

#undef static_assert
#define static_assert(cond)	_Static_assert(cond, #cond)
#define BUILD_BUG_ON(cond)	_Static_assert(!(cond), #cond)
#define BUILD_BUG_ON_MSG(cond, msg) _Static_assert(!(cond), msg)

#endif /* _SHIM_LINUX_BUILD_BUG_H */
