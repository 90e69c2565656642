/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: a hash table that is a list. */
#ifndef _SHIM_LINUX_RHASHTABLE_H
#define _SHIM_LINUX_RHASHTABLE_H

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/rcupdate.h>

struct rhash_head {
	struct rhash_head *next;
};

struct rhashtable_compare_arg {
	const void *key;
};

struct rhashtable_params {
	size_t head_offset;
	size_t key_offset;
	size_t key_len;
	u32 (*hashfn)(const void *data, u32 len, u32 seed);
	int (*obj_cmpfn)(struct rhashtable_compare_arg *arg, const void *obj);
	bool automatic_shrinking;
};

struct rhashtable {
	atomic_t nelems;
	struct rhash_head *first;
	size_t head_offset;
};

struct rhashtable_iter {
	const struct rhashtable *table;
	struct rhash_head *next;
};

static inline int rhashtable_init(struct rhashtable *table,
				  const struct rhashtable_params *params)
{
	atomic_set(&table->nelems, 0);
	table->first = NULL;
	table->head_offset = params->head_offset;
	return 0;
}

static inline void rhashtable_destroy(struct rhashtable *table)
{
	BUG_ON(table->first);
}

static inline void *rhashtable_lookup(struct rhashtable *table, const void *key,
				      const struct rhashtable_params params)
{
	struct rhashtable_compare_arg arg = { .key = key };
	struct rhash_head *head;

	params.hashfn(key, params.key_len, 0);
	for (head = table->first; head; head = head->next)
		if (!params.obj_cmpfn(&arg, (char *)head - params.head_offset))
			return (char *)head - params.head_offset;
	return NULL;
}

static inline int
rhashtable_lookup_insert_fast(struct rhashtable *table, struct rhash_head *head,
			      const struct rhashtable_params params)
{
	const char *key = (char *)head - params.head_offset + params.key_offset;

	if (rhashtable_lookup(table, key, params))
		return -EEXIST;
	head->next = table->first;
	table->first = head;
	atomic_inc(&table->nelems);
	return 0;
}

static inline int rhashtable_remove_fast(struct rhashtable *table,
					 struct rhash_head *head,
					 const struct rhashtable_params params)
{
	struct rhash_head **at = &table->first;

	while (*at && *at != head)
		at = &(*at)->next;
	BUG_ON(!*at);
	*at = head->next;
	atomic_dec(&table->nelems);
	return 0;
}

static inline int rhashtable_replace_fast(struct rhashtable *table,
					  struct rhash_head *old,
					  struct rhash_head *head,
					  const struct rhashtable_params params)
{
	struct rhash_head **at = &table->first;

	while (*at && *at != old)
		at = &(*at)->next;
	if (!*at)
		return -ENOENT;
	head->next = old->next;
	*at = head;
	return 0;
}

static inline void rhashtable_walk_enter(struct rhashtable *table,
					 struct rhashtable_iter *iter)
{
	iter->table = table;
	iter->next = table->first;
}

/* Where the next has gone meanwhile, from the start. */
static inline void rhashtable_walk_start(struct rhashtable_iter *iter)
{
	struct rhash_head *head = iter->table->first;

	rcu_read_lock();
	while (head && head != iter->next)
		head = head->next;
	if (!head && iter->next)
		iter->next = iter->table->first;
}

static inline void *rhashtable_walk_next(struct rhashtable_iter *iter)
{
	struct rhash_head *head = iter->next;

	if (!head)
		return NULL;
	iter->next = head->next;
	return (char *)head - iter->table->head_offset;
}

static inline void rhashtable_walk_stop(struct rhashtable_iter *iter)
{
	rcu_read_unlock();
}

static inline void rhashtable_walk_exit(struct rhashtable_iter *iter)
{
}

#endif /* _SHIM_LINUX_RHASHTABLE_H */
