// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranges that were sent again.
 *
 * SACK blocks are looked up by sequence number, for which there is a tree.  RACK goes
 * through what is in flight in order of transmission, for which there is a list.  A
 * peer may answer in any order, and a full queue may have dropped thousands.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/seq.h"
#include "sender/resent.h"

static struct tcon_resend *entry(struct rb_node *node)
{
	return rb_entry_safe(node, struct tcon_resend, by_seq);
}

/**
 * tcon_resent_init() - an empty set
 * @set: the set
 */
void tcon_resent_init(struct tcon_resent *set)
{
	set->tree = RB_ROOT;
	INIT_LIST_HEAD(&set->sent);
	INIT_LIST_HEAD(&set->lost);
	set->n = 0;
	set->budget = NULL;
}

/**
 * tcon_resent_find() - the first entry, by sequence, that overlaps a range
 * @set: the set
 * @start: first sequence number
 * @end: the one after the last
 *
 * Return: the entry, or NULL.
 */
struct tcon_resend *tcon_resent_find(const struct tcon_resent *set, u32 start,
				     u32 end)
{
	struct tcon_resend *r = entry(set->tree.rb_node), *found = NULL;

	while (r) {
		if (seq_after(r->tx.end, start)) {
			found = r;
			r = entry(r->by_seq.rb_left);
		} else {
			r = entry(r->by_seq.rb_right);
		}
	}
	return found && seq_before(found->tx.start, end) ? found : NULL;
}

/**
 * tcon_resent_next() - the next entry, by sequence, that overlaps a range
 * @r: from tcon_resent_find() or an earlier call
 * @end: sequence number after the range's last
 *
 * Return: the entry, or NULL.
 */
struct tcon_resend *tcon_resent_next(const struct tcon_resend *r, u32 end)
{
	struct tcon_resend *next = entry(rb_next(&r->by_seq));

	return next && seq_before(next->tx.start, end) ? next : NULL;
}

static void insert(struct tcon_resent *set, struct tcon_resend *r)
{
	struct rb_node **link = &set->tree.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = seq_before(r->tx.start, entry(parent)->tx.start) ?
		       &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&r->by_seq, parent, link);
	rb_insert_color(&r->by_seq, &set->tree);
	tcon_budget_charge(set->budget, sizeof(*r));
	set->n++;
}

static void drop(struct tcon_resent *set, struct tcon_resend *r)
{
	rb_erase(&r->by_seq, &set->tree);
	list_del(&r->node);
	tcon_budget_charge(set->budget, -(long)sizeof(*r));
	kfree(r);
	set->n--;
}

static bool has_no_room(const struct tcon_resent *set)
{
	return set->n >= TCON_RESENT_MAX ||
	       (set->n && !tcon_budget_allows(set->budget));
}

/* The part of @r from @start becomes an entry of its own, right behind @r. */
static void split(struct tcon_resent *set, struct tcon_resend *r, u32 start)
{
	struct tcon_resend *rest = NULL;

	if (!has_no_room(set))
		rest = kmalloc(sizeof(*rest), GFP_ATOMIC | __GFP_NOWARN);
	if (!rest)
		return;	/* as if sent once: the retransmission timer sees to it */
	*rest = *r;
	rest->tx.start = start;
	list_add(&rest->node, &r->node);
	insert(set, rest);
}

/**
 * tcon_resent_cut() - take a range out of an entry
 * @set: the set
 * @r: the entry, which overlaps the range; it may be gone afterwards
 * @start: first sequence number
 * @end: the one after the last
 *
 * Return: bytes taken out.
 */
u32 tcon_resent_cut(struct tcon_resent *set, struct tcon_resend *r, u32 start,
		    u32 end)
{
	start = seq_max(start, r->tx.start);
	end = seq_min(end, r->tx.end);
	if (start == r->tx.start && end == r->tx.end) {
		drop(set, r);
	} else if (start == r->tx.start) {
		r->tx.start = end;
	} else {
		if (end != r->tx.end)
			split(set, r, end);
		r->tx.end = start;
	}
	return end - start;
}

/**
 * tcon_resent_judge_lost() - an entry's last transmission is lost too
 * @set: the set
 * @r: the entry
 */
void tcon_resent_judge_lost(struct tcon_resent *set, struct tcon_resend *r)
{
	r->lost = true;
	list_move_tail(&r->node, &set->lost);
}

/**
 * tcon_resent_ack() - drop what is acknowledged
 * @set: the set
 * @una: first unacknowledged sequence number before
 * @ack: the present one
 *
 * This also drops data that was sent again although it was SACKed.
 */
void tcon_resent_ack(struct tcon_resent *set, u32 una, u32 ack)
{
	struct tcon_resend *r;

	while ((r = tcon_resent_find(set, una, ack)))
		tcon_resent_cut(set, r, una, ack);
}

/* Make room: what is lost will be sent again anyway. */
static void forget_oldest(struct tcon_resent *set)
{
	drop(set, list_first_entry(list_empty(&set->lost) ? &set->sent :
							    &set->lost,
				   struct tcon_resend, node));
}

/**
 * tcon_resent_add() - a range is sent again
 * @set: the set
 * @start: first sequence number
 * @end: the one after the last
 *
 * A full set forgets its oldest entry.  That range counts as sent once, and waits for
 * the retransmission timer.  A refusal would block repair if all of them were lost.
 *
 * Context: any; allocates atomically.
 * Return: the new entry, the newest, with the range and what former entries said of it; NULL
 *	without memory: then nothing has changed.
 */
struct tcon_resend *tcon_resent_add(struct tcon_resent *set, u32 start, u32 end)
{
	struct tcon_resend *r, *old;
	u64 repair_us = 0, before_us = 0;
	u8 count = 0;

	r = kzalloc(sizeof(*r), GFP_ATOMIC | __GFP_NOWARN);
	if (!r)
		return NULL;
	while ((old = tcon_resent_find(set, start, end))) {
		count = max(count, old->count);
		repair_us = max(repair_us, old->repair_us);
		before_us = max(before_us, old->tx.tx_us);
		tcon_resent_cut(set, old, start, end);
	}
	if (has_no_room(set))
		forget_oldest(set);
	r->tx.start = start;
	r->tx.end = end;
	r->count = count + (count < U8_MAX);
	r->repair_us = repair_us;
	r->before_us = before_us;
	list_add_tail(&r->node, &set->sent);
	insert(set, r);
	return r;
}

/**
 * tcon_resent_clear() - empty the set
 * @set: the set
 */
void tcon_resent_clear(struct tcon_resent *set)
{
	while (set->tree.rb_node)
		drop(set, entry(set->tree.rb_node));
}
