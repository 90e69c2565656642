/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: parameters keep their defaults. */
#ifndef _SHIM_LINUX_MODULEPARAM_H
#define _SHIM_LINUX_MODULEPARAM_H

#include <stdio.h>
#include <stdlib.h>

#include <linux/kernel.h>

struct kernel_param {
	void *arg;
};

struct kernel_param_ops {
	int (*set)(const char *val, const struct kernel_param *param);
	int (*get)(char *buffer, const struct kernel_param *param);
};

static inline int param_set_uint(const char *val, const struct kernel_param *param)
{
	*(unsigned int *)param->arg = strtoul(val, NULL, 0);
	return 0;
}

static inline int param_get_uint(char *buffer, const struct kernel_param *param)
{
	return sprintf(buffer, "%u\n", *(const unsigned int *)param->arg);
}

#define module_param(name, type, perm)	_Static_assert(sizeof(name), "")
#define module_param_cb(name, ops, arg, perm)	\
	static const struct kernel_param_ops *const shim_ops_##name __attribute__((used)) = ops
#define MODULE_PARM_DESC(name, text)	_Static_assert(sizeof(text) > 1, "empty")

#endif /* _SHIM_LINUX_MODULEPARAM_H */
