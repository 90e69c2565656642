/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: lists under RCU: what is taken out still knows the next. */
#ifndef _SHIM_LINUX_RCULIST_H
#define _SHIM_LINUX_RCULIST_H

#include <linux/list.h>
#include <linux/rcupdate.h>

#define list_add_rcu			list_add
#define list_for_each_entry_rcu(pos, head, member, ...)			\
	list_for_each_entry(pos, head, member)

static inline void list_del_rcu(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	entry->prev = NULL;
}

#endif /* _SHIM_LINUX_RCULIST_H */
