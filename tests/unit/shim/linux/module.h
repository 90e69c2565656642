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
#define module_init(fn)							\
	int shim_##fn(void);						\
	int shim_##fn(void) { return fn(); }				\
	_Static_assert(1, "")
#define module_exit(fn)							\
	void shim_##fn(void);						\
	void shim_##fn(void) { fn(); }					\
	_Static_assert(1, "")

/* Loads the module NAME, which the program includes, or has from the archive. */
#define shim_load(name)							\
	do {								\
		int shim_##name##_module_init(void);			\
		BUG_ON(shim_##name##_module_init());			\
	} while (0)

/* And lets it go. */
#define shim_unload(name)						\
	do {								\
		void shim_##name##_module_exit(void);			\
		shim_##name##_module_exit();				\
	} while (0)

#endif /* _SHIM_LINUX_MODULE_H */
