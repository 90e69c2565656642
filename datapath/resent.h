/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was sent again and is not delivered: a list in order of transmission.
 */
#ifndef _TCON_RESENT_H
#define _TCON_RESENT_H

#include <linux/list.h>
#include <linux/types.h>

#include "sendq.h"

#define TCON_RESENT_MAX		8192	/* 1 MiB a flow at most */

/**
 * struct tcon_resend - a range that was sent again
 * @node: in tcon_resent.list
 * @tx: its last transmission; tx.start is where it begins
 * @end: sequence number after its last
 * @count: how often it was sent again
 * @lost: that transmission was judged lost too; it waits for the next
 */
struct tcon_resend {
	struct list_head node;
	struct tcon_send tx;
	u32 end;
	u8 count;
	bool lost;
};

/**
 * struct tcon_resent - all of them
 * @list: &struct tcon_resend, oldest transmission first; ranges are disjoint
 * @n: their number
 * @lo: no range begins before
 * @hi: none ends after
 */
struct tcon_resent {
	struct list_head list;
	u32 n;
	u32 lo;
	u32 hi;
};

void tcon_resent_init(struct tcon_resent *set);
struct tcon_resend *tcon_resent_add(struct tcon_resent *set, u32 start,
				    u32 end);
struct tcon_resend *tcon_resent_find(const struct tcon_resent *set, u32 start,
				     u32 end);
u32 tcon_resent_cut(struct tcon_resent *set, struct tcon_resend *r, u32 start,
		    u32 end);
void tcon_resent_ack(struct tcon_resent *set, u32 una, u32 ack);
void tcon_resent_clear(struct tcon_resent *set);

#endif /* _TCON_RESENT_H */
