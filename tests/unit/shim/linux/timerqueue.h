/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: a queue by time, which is a list. */
#ifndef _SHIM_LINUX_TIMERQUEUE_H
#define _SHIM_LINUX_TIMERQUEUE_H

#include <linux/kernel.h>
#include <linux/ktime.h>

/* As large as the kernel's, which has a tree. */
struct timerqueue_node {
	struct timerqueue_node *next;
	void *unused[2];
	ktime_t expires;
};

struct timerqueue_head {
	struct timerqueue_node *first;
};

static inline void timerqueue_init(struct timerqueue_node *node)
{
	node->next = NULL;
}

static inline void timerqueue_init_head(struct timerqueue_head *head)
{
	head->first = NULL;
}

static inline struct timerqueue_node *
timerqueue_getnext(struct timerqueue_head *head)
{
	return head->first;
}

/* Returns whether it is the first. */
static inline bool timerqueue_add(struct timerqueue_head *head,
				  struct timerqueue_node *node)
{
	struct timerqueue_node **at = &head->first;

	while (*at && (*at)->expires <= node->expires)
		at = &(*at)->next;
	node->next = *at;
	*at = node;
	return head->first == node;
}

static inline void timerqueue_del(struct timerqueue_head *head,
				  struct timerqueue_node *node)
{
	struct timerqueue_node **at = &head->first;

	while (*at && *at != node)
		at = &(*at)->next;
	BUG_ON(!*at);
	*at = node->next;
}

#endif /* _SHIM_LINUX_TIMERQUEUE_H */
