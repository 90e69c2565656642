/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space shim: a test that includes a module's source calls shim_FN() for
 * module_init(FN) and module_exit(FN).
 */
#ifndef _SHIM_LINUX_MODULE_H
#define _SHIM_LINUX_MODULE_H

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/printk.h>

struct module;

#define try_module_get(m)	((void)(m), true)
#define module_put(m)		((void)(m))
#define THIS_MODULE		((struct module *)NULL)
#define EXPORT_SYMBOL_GPL(sym)	_Static_assert(1, "")
#define MODULE_DESCRIPTION(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_AUTHOR(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_VERSION(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_LICENSE(s)	_Static_assert(sizeof(s) > 1, "empty")
#define MODULE_ALIAS(s)		_Static_assert(sizeof(s) > 1, "empty")
#ifdef SHIM_MODULES_LOAD	/* before main(), in the order of linking; they go the other way */
#define shim_module_load(fn)						\
	static __attribute__((__constructor__)) void shim_load_##fn(void) \
	{								\
		BUG_ON(fn());						\
	}
#define shim_module_unload(fn)						\
	static __attribute__((__destructor__)) void shim_unload_##fn(void) \
	{								\
		fn();							\
	}
#else
#define shim_module_load(fn)
#define shim_module_unload(fn)
#endif
#define module_init(fn)							\
	static __maybe_unused int shim_##fn(void) { return fn(); }	\
	shim_module_load(fn)						\
	_Static_assert(1, "")
#define module_exit(fn)							\
	static __maybe_unused void shim_##fn(void) { fn(); }		\
	shim_module_unload(fn)						\
	_Static_assert(1, "")

#endif /* _SHIM_LINUX_MODULE_H */
