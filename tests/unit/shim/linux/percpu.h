/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: each CPU's part lies at a fixed distance from the one before. */
#ifndef _SHIM_LINUX_PERCPU_H
#define _SHIM_LINUX_PERCPU_H

#include <linux/cpumask.h>
#include <linux/slab.h>

#ifndef SHIM_CPU_BYTES
#define SHIM_CPU_BYTES			16384
#endif
#define __percpu
#define alloc_percpu(type)						\
	((type *)kzalloc((SHIM_CPUS - 1) * SHIM_CPU_BYTES + sizeof(type), GFP_KERNEL))
#define free_percpu(p)			kfree(p)
#define per_cpu_ptr(p, cpu)						\
	((__typeof__(p))((char *)(p) + (size_t)(cpu) * SHIM_CPU_BYTES))
#define this_cpu_ptr(p)			per_cpu_ptr(p, shim_cpu)
#define this_cpu_inc(v)			((void)(*this_cpu_ptr(&(v)))++)
#define this_cpu_add(v, n)		((void)(*this_cpu_ptr(&(v)) += (n)))
#define this_cpu_read(v)		(*this_cpu_ptr(&(v)))
#define this_cpu_add_return(v, n)	(*this_cpu_ptr(&(v)) += (n))
#define this_cpu_xchg(v, n)						\
	({								\
		__typeof__(&(v)) shim_v = this_cpu_ptr(&(v));		\
		__typeof__(v) shim_old = *shim_v;			\
		*shim_v = (n);						\
		shim_old;						\
	})
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < (int)SHIM_CPUS; (cpu)++)

#endif /* _SHIM_LINUX_PERCPU_H */
