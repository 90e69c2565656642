/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: parameters, by their names. */
#ifndef _SHIM_LINUX_MODULEPARAM_H
#define _SHIM_LINUX_MODULEPARAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>

struct kernel_param {
	void *arg;
};

struct kernel_param_ops {
	int (*set)(const char *val, const struct kernel_param *param);
	int (*get)(char *buffer, const struct kernel_param *param);
};

/* All that are linked in. */
struct shim_param {
	const char *name;
	const struct kernel_param_ops *ops;
	struct kernel_param param;
	struct shim_param *next;
};

extern struct shim_param *shim_params;
__attribute__((__weak__)) struct shim_param *shim_params;

static inline int param_set_uint(const char *val, const struct kernel_param *param)
{
	*(unsigned int *)param->arg = strtoul(val, NULL, 0);
	return 0;
}

static inline int param_get_uint(char *buffer, const struct kernel_param *param)
{
	return sprintf(buffer, "%u\n", *(const unsigned int *)param->arg);
}

static inline int param_set_bool(const char *val, const struct kernel_param *param)
{
	*(bool *)param->arg = *val == '1' || *val == 'Y' || *val == 'y';
	return 0;
}

static inline int param_get_bool(char *buffer, const struct kernel_param *param)
{
	return sprintf(buffer, "%c\n", *(const bool *)param->arg ? 'Y' : 'N');
}

static inline int param_set_charp(const char *val, const struct kernel_param *param)
{
	*(char **)param->arg = strdup(val);
	return 0;
}

static inline int param_get_charp(char *buffer, const struct kernel_param *param)
{
	return sprintf(buffer, "%s\n", *(char *const *)param->arg);
}

#define module_param(name, type, perm)					\
	static const struct kernel_param_ops shim_ops_##name = {	\
		.set = param_set_##type, .get = param_get_##type,	\
	};								\
	module_param_cb(name, &shim_ops_##name, &name, perm)
#define module_param_cb(name_, ops_, arg_, perm)			\
	static struct shim_param shim_param_##name_ = {			\
		.name = #name_, .ops = ops_, .param = { .arg = arg_ },	\
	};								\
	static __attribute__((__constructor__)) void shim_add_##name_(void) \
	{								\
		shim_param_##name_.next = shim_params;			\
		shim_params = &shim_param_##name_;			\
	}								\
	_Static_assert(1, "")
#define MODULE_PARM_DESC(name, text)	_Static_assert(sizeof(text) > 1, "empty")

#endif /* _SHIM_LINUX_MODULEPARAM_H */
