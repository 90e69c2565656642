/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: the C library's, strscpy() and memchr_inv(). */
#ifndef _SHIM_LINUX_STRING_H
#define _SHIM_LINUX_STRING_H

#include <string.h>
#include <errno.h>
#include <linux/types.h>

static inline __maybe_unused ssize_t strscpy(char *dst, const char *src,
					     size_t size)
{
	size_t n = strnlen(src, size);

	if (!size)
		return -E2BIG;
	if (n == size) {
		memcpy(dst, src, size - 1);
		dst[size - 1] = '\0';
		return -E2BIG;
	}
	memcpy(dst, src, n + 1);
	return n;
}

/* Equal, apart from a newline at the end, which writers to /sys add. */
static inline __maybe_unused bool sysfs_streq(const char *a, const char *b)
{
	size_t n = strcspn(a, "\n");

	return n == strcspn(b, "\n") && !strncmp(a, b, n);
}

/* The first byte that is not @c, or NULL. */
static inline __maybe_unused void *memchr_inv(const void *start, int c, size_t bytes)
{
	const unsigned char *at = start, *end = at + bytes;

	for (; at < end; at++)
		if (*at != (unsigned char)c)
			return (void *)at;
	return NULL;
}

#endif /* _SHIM_LINUX_STRING_H */
