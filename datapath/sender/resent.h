/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranges that were sent again and are not delivered.  All are sorted by sequence number;
 * those in flight also by order of transmission.
 */
#ifndef _TCON_RESENT_H
#define _TCON_RESENT_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

#include "sender/sendq.h"

#define TCON_RESENT_MAX		8192	/* 1.5 MiB a flow at most */

/**
 * struct tcon_resend - a range that was sent again
 * @by_seq: in tcon_resent.tree
 * @node: in tcon_resent.sent or tcon_resent.lost
 * @tx: its last transmission; tx.start to tx.end is what is not delivered of it
 * @count: how often it was sent again
 * @lost: that transmission was judged lost too; the range waits for the next
 * @repair_us: when TCon last sent it again; 0: only the guest did
 * @before_us: when the transmission before @tx had left
 */
struct tcon_resend {
	struct rb_node by_seq;
	struct list_head node;
	struct tcon_send tx;
	u8 count;
	bool lost;
	u64 repair_us;
	u64 before_us;
};

/**
 * struct tcon_resent - all such ranges of a half-flow
 * @tree: &struct tcon_resend, ranges that do not overlap
 * @sent: those in flight, oldest transmission first
 * @lost: those judged lost
 * @budget: what their memory is charged to, or NULL
 * @n: number of all
 */
struct tcon_resent {
	struct rb_root tree;
	struct list_head sent;
	struct list_head lost;
	struct tcon_budget *budget;
	u32 n;
};

void tcon_resent_init(struct tcon_resent *set);
struct tcon_resend *tcon_resent_add(struct tcon_resent *set, u32 start,
				    u32 end);
struct tcon_resend *tcon_resent_find(const struct tcon_resent *set, u32 start,
				     u32 end);
struct tcon_resend *tcon_resent_next(const struct tcon_resend *r, u32 end);
u32 tcon_resent_cut(struct tcon_resent *set, struct tcon_resend *r, u32 start,
		    u32 end);
void tcon_resent_judge_lost(struct tcon_resent *set, struct tcon_resend *r);
void tcon_resent_ack(struct tcon_resent *set, u32 una, u32 ack);
void tcon_resent_clear(struct tcon_resent *set);

#endif /* _TCON_RESENT_H */
