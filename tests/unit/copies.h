/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of packets, where there are no packets: allocated and counted. */
#ifndef _TESTS_COPIES_H
#define _TESTS_COPIES_H

#include <stdlib.h>

#include "datapath/sender/sendq.h"

/**
 * struct sk_buff - stands for a copy
 * @seq: first sequence number
 * @end: the one after the last
 */
struct sk_buff {
	u32 seq;
	u32 end;
};

static unsigned int copies_live;

static inline struct sk_buff *copy_new(u32 seq, u32 end)
{
	struct sk_buff *copy = malloc(sizeof(*copy));

	*copy = (struct sk_buff) { .seq = seq, .end = end };
	copies_live++;
	return copy;
}

static inline void copy_put(struct tcon_sendq *q, struct sk_buff *copy)
{
	copies_live--;
	free(copy);
}

__attribute__((constructor)) static void copies_begin(void)
{
	tcon_sendq_set_put(copy_put);
}

#endif /* _TESTS_COPIES_H */
