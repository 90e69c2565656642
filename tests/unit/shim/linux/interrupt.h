/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the test lets shim_tasklet run where the CPU's softirq would. */
#ifndef _SHIM_LINUX_INTERRUPT_H
#define _SHIM_LINUX_INTERRUPT_H

#include <stdbool.h>

struct tasklet_struct {
	void (*callback)(struct tasklet_struct *tasklet);
	bool scheduled;
};

extern struct tasklet_struct *shim_tasklet;
__attribute__((__weak__)) struct tasklet_struct *shim_tasklet;

static inline void tasklet_setup(struct tasklet_struct *tasklet,
				 void (*callback)(struct tasklet_struct *tasklet))
{
	*tasklet = (struct tasklet_struct) { .callback = callback };
	shim_tasklet = tasklet;
}

static inline void tasklet_schedule(struct tasklet_struct *tasklet)
{
	tasklet->scheduled = true;
}

static inline void tasklet_kill(struct tasklet_struct *tasklet)
{
	tasklet->scheduled = false;
}

#endif /* _SHIM_LINUX_INTERRUPT_H */
