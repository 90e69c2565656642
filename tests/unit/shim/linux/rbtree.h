/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: search trees with the kernel's interface, not balanced. */
#ifndef _SHIM_LINUX_RBTREE_H
#define _SHIM_LINUX_RBTREE_H

#include <linux/kernel.h>

struct rb_node {
	struct rb_node *up;
	struct rb_node *rb_left;
	struct rb_node *rb_right;
};

struct rb_root {
	struct rb_node *rb_node;
};

#define RB_ROOT			(struct rb_root) { NULL }
#define rb_entry(p, type, member) container_of(p, type, member)
#define rb_entry_safe(p, type, member)					\
	((p) ? rb_entry(p, type, member) : NULL)

static inline void rb_link_node(struct rb_node *node, struct rb_node *parent,
				struct rb_node **link)
{
	node->up = parent;
	node->rb_left = NULL;
	node->rb_right = NULL;
	*link = node;
}

static inline struct rb_node *rb_last(const struct rb_root *root)
{
	struct rb_node *node = root->rb_node;

	while (node && node->rb_right)
		node = node->rb_right;
	return node;
}

static inline struct rb_node *rb_prev(const struct rb_node *node)
{
	struct rb_root left = { node->rb_left };

	if (left.rb_node)
		return rb_last(&left);
	while (node->up && node->up->rb_left == node)
		node = node->up;
	return node->up;
}

static inline void rb_insert_color(struct rb_node *node, struct rb_root *root)
{
}

/* Put @to, which may be NULL, where @from is seen from above. */
static inline void rb_shim_replace(struct rb_root *root, struct rb_node *from,
				   struct rb_node *to)
{
	if (!from->up)
		root->rb_node = to;
	else if (from->up->rb_left == from)
		from->up->rb_left = to;
	else
		from->up->rb_right = to;
	if (to)
		to->up = from->up;
}

static inline void rb_erase(struct rb_node *node, struct rb_root *root)
{
	struct rb_node *next = node->rb_right;

	if (!node->rb_left || !next) {
		rb_shim_replace(root, node, node->rb_left ? : next);
		return;
	}
	while (next->rb_left)
		next = next->rb_left;
	rb_shim_replace(root, next, next->rb_right);
	rb_shim_replace(root, node, next);
	next->rb_left = node->rb_left;
	next->rb_right = node->rb_right;
	next->rb_left->up = next;
	if (next->rb_right)
		next->rb_right->up = next;
}

static inline struct rb_node *rb_next(const struct rb_node *node)
{
	const struct rb_node *child = node;

	if (node->rb_right) {
		node = node->rb_right;
		while (node->rb_left)
			node = node->rb_left;
		return (struct rb_node *)node;
	}
	while ((node = child->up) && node->rb_right == child)
		child = node;
	return (struct rb_node *)node;
}

/* The first is looked for each time. */
struct rb_root_cached {
	struct rb_root rb_root;
};

#define RB_ROOT_CACHED		(struct rb_root_cached) { RB_ROOT }

static inline struct rb_node *rb_first_cached(const struct rb_root_cached *root)
{
	struct rb_node *node = root->rb_root.rb_node;

	while (node && node->rb_left)
		node = node->rb_left;
	return node;
}

static inline void rb_insert_color_cached(struct rb_node *node, struct rb_root_cached *root,
					  bool leftmost)
{
}

static inline void rb_erase_cached(struct rb_node *node, struct rb_root_cached *root)
{
	rb_erase(node, &root->rb_root);
}

static inline void rb_replace_node_cached(struct rb_node *victim, struct rb_node *node,
					  struct rb_root_cached *root)
{
	*node = *victim;
	rb_shim_replace(&root->rb_root, victim, node);
	if (node->rb_left)
		node->rb_left->up = node;
	if (node->rb_right)
		node->rb_right->up = node;
}

#endif /* _SHIM_LINUX_RBTREE_H */
