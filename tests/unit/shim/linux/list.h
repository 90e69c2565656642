/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: doubly linked lists. */
#ifndef _SHIM_LINUX_LIST_H
#define _SHIM_LINUX_LIST_H

#include <linux/kernel.h>

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)
#define list_entry(p, type, member) container_of(p, type, member)
#define list_first_entry(head, type, member)				\
	list_entry((head)->next, type, member)
#define list_first_entry_or_null(head, type, member)			\
	(list_empty(head) ? NULL : list_first_entry(head, type, member))
#define list_next_entry(pos, member)					\
	list_entry((pos)->member.next, __typeof__(*(pos)), member)
#define list_entry_is_head(pos, head, member)	(&(pos)->member == (head))
#define list_empty_careful	list_empty
#define list_for_each_entry(pos, head, member)				\
	for (pos = list_entry((head)->next, __typeof__(*pos), member);	\
	     &pos->member != (head);					\
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))
#define list_for_each_entry_reverse(pos, head, member)			\
	for (pos = list_entry((head)->prev, __typeof__(*pos), member);	\
	     &pos->member != (head);					\
	     pos = list_entry(pos->member.prev, __typeof__(*pos), member))
#define list_for_each_entry_safe(pos, n, head, member)			\
	for (pos = list_entry((head)->next, __typeof__(*pos), member),	\
	     n = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head);					\
	     pos = n,							\
	     n = list_entry(n->member.next, __typeof__(*n), member))

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head;
	head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline void list_add(struct list_head *entry, struct list_head *after)
{
	entry->next = after->next;
	entry->prev = after;
	after->next->prev = entry;
	after->next = entry;
}

static inline void list_add_tail(struct list_head *entry,
				 struct list_head *head)
{
	list_add(entry, head->prev);
}

static inline void list_del(struct list_head *entry)
{
	entry->next->prev = entry->prev;
	entry->prev->next = entry->next;
	entry->next = NULL;
	entry->prev = NULL;
}

static inline void list_del_init(struct list_head *entry)
{
	list_del(entry);
	INIT_LIST_HEAD(entry);
}

static inline void list_move_tail(struct list_head *entry,
				  struct list_head *head)
{
	list_del(entry);
	list_add_tail(entry, head);
}

#define hlist_entry_safe(p, type, member)				\
	({								\
		__typeof__(p) shim_node = (p);				\
		shim_node ? container_of(shim_node, type, member) : NULL; \
	})
#define hlist_for_each_entry(pos, head, member)				\
	for (pos = hlist_entry_safe((head)->first, __typeof__(*pos), member); \
	     pos;							\
	     pos = hlist_entry_safe(pos->member.next, __typeof__(*pos), member))

static inline void shim_hlist_add(struct hlist_node *node, struct hlist_node **at)
{
	node->next = *at;
	node->pprev = at;
	if (*at)
		(*at)->pprev = &node->next;
	*at = node;
}

static inline void hlist_del(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
}

#endif /* _SHIM_LINUX_LIST_H */
