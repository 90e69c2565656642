/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: lists under RCU: a removed entry still knows the next. */
#ifndef _SHIM_LINUX_RCULIST_H
#define _SHIM_LINUX_RCULIST_H

#include <linux/list.h>
#include <linux/rcupdate.h>

#define list_add_rcu			list_add
#define list_add_tail_rcu		list_add_tail
#define hlist_del_rcu			hlist_del
#define hlist_for_each_entry_rcu	hlist_for_each_entry
#define hlist_add_head_rcu(n, h)	shim_hlist_add(n, &(h)->first)
#define hlist_add_behind_rcu(n, prev)	shim_hlist_add(n, &(prev)->next)
#define list_for_each_entry_rcu(pos, head, member, ...)			\
	list_for_each_entry(pos, head, member)

static inline void list_del_rcu(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	entry->prev = NULL;
}

#endif /* _SHIM_LINUX_RCULIST_H */
