/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User-space shim: allocation.  shim_alloc_failures counts down to failures:
 * while it is above 0 every allocation fails and takes one.
 */
#ifndef _SHIM_LINUX_SLAB_H
#define _SHIM_LINUX_SLAB_H

#include <stdlib.h>
#include <linux/types.h>

#define GFP_KERNEL	0U
#define GFP_ATOMIC	1U
#define GFP_KERNEL_ACCOUNT GFP_KERNEL
#define __GFP_NOWARN	2U
#define __GFP_ZERO	4U

extern unsigned int shim_alloc_failures;
__attribute__((__weak__)) unsigned int shim_alloc_failures;

static inline void *kmalloc_array(size_t n, size_t size, gfp_t gfp)
{
	if (shim_alloc_failures) {
		shim_alloc_failures--;
		return NULL;
	}
	if (gfp & __GFP_ZERO)
		return calloc(n, size);
	return size && n > SIZE_MAX / size ? NULL : malloc(n * size);
}

static inline void *kmalloc(size_t size, gfp_t gfp)
{
	return kmalloc_array(1, size, gfp);
}

static inline void *kzalloc(size_t size, gfp_t gfp)
{
	return kmalloc_array(1, size, gfp | __GFP_ZERO);
}

static inline void *kcalloc(size_t n, size_t size, gfp_t gfp)
{
	return kmalloc_array(n, size, gfp | __GFP_ZERO);
}

static inline void *krealloc(const void *p, size_t size, gfp_t gfp)
{
	if (shim_alloc_failures) {
		shim_alloc_failures--;
		return NULL;
	}
	return realloc((void *)p, size);
}

struct kmem_cache {
	size_t size;
};

#define SLAB_HWCACHE_ALIGN	0U
#define KMEM_CACHE(type, flags)	kmem_cache_create(sizeof(struct type), flags)

static inline struct kmem_cache *kmem_cache_create(size_t size, unsigned int flags)
{
	struct kmem_cache *cache = malloc(sizeof(*cache));

	if (cache)
		cache->size = size;
	return cache;
}

static inline void *kmem_cache_alloc(struct kmem_cache *cache, gfp_t gfp)
{
	return kmalloc(cache->size, gfp);
}

static inline void kmem_cache_free(struct kmem_cache *cache, void *p)
{
	free(p);
}

static inline void kmem_cache_destroy(struct kmem_cache *cache)
{
	free(cache);
}

static inline void kfree(const void *p)
{
	free((void *)p);
}

#define kvzalloc	kzalloc
#define kvfree		kfree

#endif /* _SHIM_LINUX_SLAB_H */
