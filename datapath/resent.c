// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ranges that were sent again.
 *
 * The list is short (what was lost within a round trip) and kept by order of
 * transmission, which is what RACK walks along.  Bounds on the sequence numbers
 * in it spare the search for what was never sent twice.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "resent.h"
#include "seq.h"

/**
 * tcon_resent_init() - an empty list
 * @set: the list
 */
void tcon_resent_init(struct tcon_resent *set)
{
	INIT_LIST_HEAD(&set->list);
	set->n = 0;
}

/**
 * tcon_resent_find() - the oldest transmission that overlaps a range
 * @set: the list
 * @start: first sequence number
 * @end: the one after the last
 *
 * Return: the entry, or NULL.
 */
struct tcon_resend *tcon_resent_find(const struct tcon_resent *set, u32 start,
				     u32 end)
{
	struct tcon_resend *r;

	if (!set->n || !seq_before(start, set->hi) || !seq_before(set->lo, end))
		return NULL;
	list_for_each_entry(r, &set->list, node)
		if (seq_before(r->tx.start, end) && seq_before(start, r->end))
			return r;
	return NULL;
}

static void drop(struct tcon_resent *set, struct tcon_resend *r)
{
	list_del(&r->node);
	kfree(r);
	set->n--;
}

/* The part of @r from @start becomes an entry of its own, right behind @r. */
static void split(struct tcon_resent *set, struct tcon_resend *r, u32 start)
{
	struct tcon_resend *rest = NULL;

	if (set->n < TCON_RESENT_MAX)
		rest = kmalloc(sizeof(*rest), GFP_ATOMIC | __GFP_NOWARN);
	if (!rest)
		return;	/* as if sent once: the retransmission timer sees to it */
	*rest = *r;
	rest->tx.start = start;
	list_add(&rest->node, &r->node);
	set->n++;
}

/**
 * tcon_resent_cut() - take a range out of an entry
 * @set: the list
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
	end = seq_min(end, r->end);
	if (start == r->tx.start && end == r->end) {
		drop(set, r);
	} else if (start == r->tx.start) {
		r->tx.start = end;
	} else {
		if (end != r->end)
			split(set, r, end);
		r->end = start;
	}
	return end - start;
}

/**
 * tcon_resent_ack() - drop what is acknowledged
 * @set: the list
 * @una: first unacknowledged sequence number before
 * @ack: the present one
 *
 * What was SACKed and sent again all the same has never been taken out.
 */
void tcon_resent_ack(struct tcon_resent *set, u32 una, u32 ack)
{
	struct tcon_resend *r;

	while ((r = tcon_resent_find(set, una, ack)))
		tcon_resent_cut(set, r, una, ack);
	set->lo = seq_max(set->lo, ack);
}

/**
 * tcon_resent_add() - a range is sent again
 * @set: the list
 * @start: first sequence number
 * @end: the one after the last
 *
 * A full list forgets its oldest: that counts as sent once, and waits for the
 * retransmission timer.  To refuse would block repair where all were lost.
 *
 * Context: any; allocates atomically.
 * Return: the new entry, last in the list, with @count set and tx.start; NULL
 *	without memory: then nothing has changed.
 */
struct tcon_resend *tcon_resent_add(struct tcon_resent *set, u32 start, u32 end)
{
	struct tcon_resend *r, *old;
	u8 count = 0;

	r = kzalloc(sizeof(*r), GFP_ATOMIC | __GFP_NOWARN);
	if (!r)
		return NULL;
	while ((old = tcon_resent_find(set, start, end))) {
		count = max(count, old->count);
		tcon_resent_cut(set, old, start, end);
	}
	if (set->n >= TCON_RESENT_MAX)
		drop(set, list_first_entry(&set->list, struct tcon_resend,
					   node));
	r->tx.start = start;
	r->end = end;
	r->count = count + (count < U8_MAX);
	set->lo = set->n ? seq_min(set->lo, start) : start;
	set->hi = set->n ? seq_max(set->hi, end) : end;
	list_add_tail(&r->node, &set->list);
	set->n++;
	return r;
}

/**
 * tcon_resent_clear() - empty the list
 * @set: the list
 */
void tcon_resent_clear(struct tcon_resent *set)
{
	struct tcon_resend *r, *next;

	list_for_each_entry_safe(r, next, &set->list, node)
		drop(set, r);
}
