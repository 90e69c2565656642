/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: there is one CPU. */
#ifndef _SHIM_LINUX_PERCPU_H
#define _SHIM_LINUX_PERCPU_H

#include <linux/slab.h>

#define __percpu
#define alloc_percpu(type)		((type *)kzalloc(sizeof(type), GFP_KERNEL))
#define free_percpu(p)			kfree(p)
#define this_cpu_ptr(p)			(p)
#define per_cpu_ptr(p, cpu)		(p)
#define this_cpu_inc(v)			((void)(v)++)
#define this_cpu_add(v, n)		((void)((v) += (n)))
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)

#endif /* _SHIM_LINUX_PERCPU_H */
