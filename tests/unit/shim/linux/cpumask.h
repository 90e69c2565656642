/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: one CPU, unless a test defines another number, and shim_cpu. */
#ifndef _SHIM_LINUX_CPUMASK_H
#define _SHIM_LINUX_CPUMASK_H

#ifndef SHIM_CPUS
#define SHIM_CPUS	1U
#define shim_cpu	0U	/* on which it runs */
#endif
#define nr_cpu_ids	SHIM_CPUS
#define raw_smp_processor_id()	shim_cpu

#endif /* _SHIM_LINUX_CPUMASK_H */
