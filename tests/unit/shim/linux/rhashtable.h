/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: a hash table of a fixed size. */
#ifndef _SHIM_LINUX_RHASHTABLE_H
#define _SHIM_LINUX_RHASHTABLE_H

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

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

#define SHIM_BUCKETS	4096U

struct rhashtable {
	atomic_t nelems;
	struct rhash_head **buckets;
	size_t head_offset;
};

struct rhashtable_iter {
	const struct rhashtable *table;
	u32 bucket;
	struct rhash_head *next;
};

static inline int rhashtable_init(struct rhashtable *table,
				  const struct rhashtable_params *params)
{
	atomic_set(&table->nelems, 0);
	table->buckets = kcalloc(SHIM_BUCKETS, sizeof(*table->buckets), GFP_KERNEL);
	table->head_offset = params->head_offset;
	return table->buckets ? 0 : -ENOMEM;
}

static inline void rhashtable_destroy(struct rhashtable *table)
{
	BUG_ON(atomic_read(&table->nelems));
	kfree(table->buckets);
}

static inline struct rhash_head **shim_bucket(struct rhashtable *table, const void *key,
					      const struct rhashtable_params *params)
{
	return &table->buckets[params->hashfn(key, params->key_len, 0) % SHIM_BUCKETS];
}

static inline void *rhashtable_lookup(struct rhashtable *table, const void *key,
				      const struct rhashtable_params params)
{
	struct rhashtable_compare_arg arg = { .key = key };
	struct rhash_head *head;

	for (head = *shim_bucket(table, key, &params); head; head = head->next)
		if (!params.obj_cmpfn(&arg, (char *)head - params.head_offset))
			return (char *)head - params.head_offset;
	return NULL;
}

static inline int
rhashtable_lookup_insert_fast(struct rhashtable *table, struct rhash_head *head,
			      const struct rhashtable_params params)
{
	const char *key = (char *)head - params.head_offset + params.key_offset;
	struct rhash_head **bucket = shim_bucket(table, key, &params);

	if (rhashtable_lookup(table, key, params))
		return -EEXIST;
	head->next = *bucket;
	*bucket = head;
	atomic_inc(&table->nelems);
	return 0;
}

/* Where a bucket points to @head; the end of the bucket if it does not. */
static inline struct rhash_head **shim_find(struct rhashtable *table, struct rhash_head *head,
					    const struct rhashtable_params *params)
{
	const char *key = (char *)head - params->head_offset + params->key_offset;
	struct rhash_head **at = shim_bucket(table, key, params);

	while (*at && *at != head)
		at = &(*at)->next;
	return at;
}

static inline int rhashtable_remove_fast(struct rhashtable *table,
					 struct rhash_head *head,
					 const struct rhashtable_params params)
{
	struct rhash_head **at = shim_find(table, head, &params);

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
	struct rhash_head **at = shim_find(table, old, &params);

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
	iter->bucket = 0;
	iter->next = table->buckets[0];
}

/* If the next entry is gone, begin again at the start of its bucket. */
static inline void rhashtable_walk_start(struct rhashtable_iter *iter)
{
	struct rhash_head *first, *head;

	rcu_read_lock();
	if (!iter->next)
		return;
	first = head = iter->table->buckets[iter->bucket];
	while (head && head != iter->next)
		head = head->next;
	if (!head)
		iter->next = first;
}

static inline void *rhashtable_walk_next(struct rhashtable_iter *iter)
{
	struct rhash_head *head;

	while (!iter->next && iter->bucket < SHIM_BUCKETS - 1)
		iter->next = iter->table->buckets[++iter->bucket];
	head = iter->next;
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
