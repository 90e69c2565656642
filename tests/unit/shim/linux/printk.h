/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the log: standard error. */
#ifndef _SHIM_LINUX_PRINTK_H
#define _SHIM_LINUX_PRINTK_H

#include <stdio.h>

#define pr_err(args...)		fprintf(stderr, args)
#define pr_warn(args...)	fprintf(stderr, args)

#endif /* _SHIM_LINUX_PRINTK_H */
