// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queue of transmissions of a half-flow.
 *
 * Records are added at the tail and leave at the head, so the queue is a ring of pages.
 * It needs no allocation per packet, and none larger than a page.  Look-up is by binary
 * search.  If the ring is full, or a page cannot or must not be had, the newest record
 * grows instead.  Then rate and RTT samples become coarser, and the added data has no
 * copy of its own.
 */
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "base/seq.h"
#include "sender/sendq.h"

#define FIRST_PAGES	8
/* Late data fills its gap only if at most this many newer records have overtaken it, since each
 * of them is moved.  Otherwise the gap stays.
 */
#define FILL_MAX	256
#define RECORDS_OF(pages)	((pages) * TCON_SENDQ_PER_PAGE)
#define PAGE_BYTES		((long)(TCON_SENDQ_PER_PAGE * sizeof(struct tcon_send)))

static tcon_put_copy_fn put_copy __read_mostly;

/**
 * tcon_sendq_set_put() - say who gives copies back
 * @fn: called for each copy that is dropped
 *
 * Context: before the first copy is kept.
 */
void tcon_sendq_set_put(tcon_put_copy_fn fn)
{
	put_copy = fn;
}

static struct tcon_send *get_page_for(struct tcon_sendq *q)
{
	struct tcon_send *page;

	if (q->head != q->tail && !tcon_budget_allows(q->budget))
		return NULL;
	page = kmalloc(PAGE_BYTES, GFP_ATOMIC | __GFP_NOWARN);
	if (page)
		tcon_budget_charge(q->budget, PAGE_BYTES);
	return page;
}

static void give_page(struct tcon_sendq *q, struct tcon_send **page)
{
	if (*page)
		tcon_budget_charge(q->budget, -PAGE_BYTES);
	kfree(*page);
	*page = NULL;
}

static struct tcon_send **slot_of(const struct tcon_sendq *q, u32 i)
{
	return &q->page[i / TCON_SENDQ_PER_PAGE & (q->pages - 1)];
}

/* Twice the slots; each page moves to its new one. */
static bool grow_ring(struct tcon_sendq *q)
{
	u32 pages = q->pages ? q->pages * 2 : FIRST_PAGES, first, n;
	struct tcon_send **page;

	if (pages > TCON_SENDQ_PAGES)
		return false;
	page = kcalloc(pages, sizeof(*page), GFP_ATOMIC | __GFP_NOWARN);
	if (!page)
		return false;
	first = q->head / TCON_SENDQ_PER_PAGE;
	for (n = 0; n < q->pages; n++)
		page[(first + n) & (pages - 1)] =
			q->page[(first + n) & (q->pages - 1)];
	kfree(q->page);
	q->page = page;
	q->pages = pages;
	return true;
}

/* Not onto the page that the head stands on: it is freed as a whole. */
static bool is_full(const struct tcon_sendq *q)
{
	return q->tail - round_down(q->head, TCON_SENDQ_PER_PAGE) >=
	       RECORDS_OF(q->pages);
}

/**
 * tcon_sendq_append() - add a record behind the newest
 * @q: the queue
 * @start: first sequence number; where the newest record ends, if there is one
 * @end: the one after the last
 *
 * Context: any; allocates atomically.
 * Return: the record, with its range filled in and its copy NULL; NULL where the newest
 *	record was extended to @end instead, or, in an empty queue, nothing could be done.
 */
struct tcon_send *tcon_sendq_append(struct tcon_sendq *q, u32 start, u32 end)
{
	struct tcon_send **page, *s;
	u32 i = q->tail;

	if (is_full(q) && !grow_ring(q))
		goto extend;
	page = slot_of(q, i);
	if (!*page) {
		*page = get_page_for(q);
		if (!*page)
			goto extend;
	}
	q->tail++;
	s = &(*page)[i % TCON_SENDQ_PER_PAGE];
	s->start = start;
	s->end = end;
	s->copy = NULL;
	s->waited_us = 0;
	s->unseen = false;
	return s;

extend:
	if (q->head != q->tail)
		tcon_sendq_at(q, i - 1)->end = end;
	return NULL;
}

/**
 * tcon_sendq_find() - the record that holds a sequence number
 * @q: the queue
 * @seq: sequence number, not before the oldest record
 *
 * Return: its index, or q->tail if @seq is at or beyond the end of the newest.
 */
u32 tcon_sendq_find(const struct tcon_sendq *q, u32 seq)
{
	u32 lo = 0, hi = q->tail - q->head, mid;

	/* Acknowledged data mostly begins at the oldest. */
	if (hi && seq_after(tcon_sendq_at(q, q->head)->end, seq))
		return q->head;
	while (lo < hi) {
		mid = (lo + hi) / 2;
		if (seq_after(tcon_sendq_at(q, q->head + mid)->end, seq))
			hi = mid;
		else
			lo = mid + 1;
	}
	return q->head + lo;
}

/**
 * tcon_sendq_is_gap() - is a range still missing from what the guest has sent?
 * @q: the queue
 * @start: first sequence number, not before the oldest record
 * @end: the one after the last
 *
 * Return: whether all of it lies in one gap.
 */
bool tcon_sendq_is_gap(const struct tcon_sendq *q, u32 start, u32 end)
{
	u32 i = tcon_sendq_find(q, start);
	const struct tcon_send *s;

	if (i == q->tail)
		return false;
	s = tcon_sendq_at(q, i);
	return s->unseen && !seq_before(start, s->start) &&
	       !seq_after(end, s->end);
}

/* Cut record @i in two at @seq. */
static bool cut(struct tcon_sendq *q, u32 i, u32 seq)
{
	u32 end = tcon_sendq_at(q, q->tail - 1)->end, at;

	if (q->tail - i > FILL_MAX)
		return false;
	if (!tcon_sendq_append(q, end, end))
		return false;
	for (at = q->tail - 1; at != i; at--)
		*tcon_sendq_at(q, at) = *tcon_sendq_at(q, at - 1);
	tcon_sendq_at(q, i)->end = seq;
	tcon_sendq_at(q, i + 1)->start = seq;
	return true;
}

/**
 * tcon_sendq_fill() - record that part of a gap leaves after all
 * @q: the queue
 * @start: first sequence number
 * @end: the one after the last; tcon_sendq_is_gap()
 *
 * Pointers to newer records are no longer valid.
 *
 * Context: any; allocates atomically.
 * Return: its record, no gap any more; NULL: nothing could be done, all of it stays one.
 */
struct tcon_send *tcon_sendq_fill(struct tcon_sendq *q, u32 start, u32 end)
{
	u32 i = tcon_sendq_find(q, start);

	if (tcon_sendq_at(q, i)->end != end && !cut(q, i, end))
		return NULL;
	if (tcon_sendq_at(q, i)->start != start && !cut(q, i++, start))
		return NULL;
	tcon_sendq_at(q, i)->unseen = false;
	return tcon_sendq_at(q, i);
}

static void drop_copy(struct tcon_sendq *q, struct tcon_send *s)
{
	if (s->copy)
		put_copy(q, s->copy);
	s->copy = NULL;
}

/**
 * tcon_sendq_ack() - drop what is acknowledged, and its copies
 * @q: the queue
 * @seq: first unacknowledged sequence number
 *
 * A record that is acknowledged in part stays, and starts at @seq.
 *
 * Return: when the guest sent the newest of what is acknowledged now; 0: nothing is.
 */
u64 tcon_sendq_ack(struct tcon_sendq *q, u32 seq)
{
	struct tcon_send *s;
	u64 entered_us = 0;

	while (q->head != q->tail) {
		s = tcon_sendq_at(q, q->head);
		if (seq_before(s->start, seq))
			entered_us = s->tx_us - s->waited_us;
		if (seq_after(s->end, seq)) {
			s->start = seq_max(s->start, seq);
			break;
		}
		drop_copy(q, s);
		q->head++;
		if (q->head % TCON_SENDQ_PER_PAGE == 0)
			give_page(q, slot_of(q, q->head - 1));
	}
	return entered_us;
}

/**
 * tcon_sendq_cut() - forget what was recorded last, and its copies
 * @q: the queue
 * @seq: first sequence number that is not in it any more
 */
void tcon_sendq_cut(struct tcon_sendq *q, u32 seq)
{
	struct tcon_send *s;

	while (q->head != q->tail) {
		s = tcon_sendq_at(q, q->tail - 1);
		if (!seq_after(s->end, seq))
			break;
		if (seq_before(s->start, seq)) {
			s->end = seq;
			break;
		}
		drop_copy(q, s);
		q->tail--;	/* its page is used for the next record */
	}
}

/**
 * tcon_sendq_drop_copies() - give all copies back
 * @q: the queue
 */
void tcon_sendq_drop_copies(struct tcon_sendq *q)
{
	u32 i;

	for (i = q->head; i != q->tail; i++)
		drop_copy(q, tcon_sendq_at(q, i));
}

/**
 * tcon_sendq_clear() - empty the queue and give its memory back
 * @q: the queue
 */
void tcon_sendq_clear(struct tcon_sendq *q)
{
	u32 i;

	tcon_sendq_drop_copies(q);
	for (i = 0; i < q->pages; i++)
		give_page(q, &q->page[i]);
	kfree(q->page);
	*q = (struct tcon_sendq) { .budget = q->budget };
}
