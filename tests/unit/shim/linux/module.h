/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space shim: a test that includes a module's source calls shim_FN() for
 * module_init(FN) and module_exit(FN).
 */
#ifndef _SHIM_LINUX_MODULE_H
#define _SHIM_LINUX_MODULE_H

#include <linux/kernel.h>

struct module;

#define THIS_MODULE		((struct module *)NULL)
#define EXPORT_SYMBOL_GPL(sym)	_Static_assert(1, "")
#define MODULE_DESCRIPTION(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_AUTHOR(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_VERSION(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_LICENSE(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_ALIAS(s)		_Static_assert(sizeof(s) > 1, "empty")
#define module_init(fn)							\
	static __maybe_unused int shim_##fn(void) { return fn(); }	\
	_Static_assert(1, "")
#define module_exit(fn)							\
	static __maybe_unused void shim_##fn(void) { fn(); }		\
	_Static_assert(1, "")

#endif /* _SHIM_LINUX_MODULE_H */
