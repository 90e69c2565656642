// SPDX-License-Identifier: GPL-2.0-only
/* The queue of transmissions (datapath/sender/sendq.c). */
#include "datapath/sender/sendq.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "copies.h"
#include "prng.h"

#define SEG	100U		/* bytes a record */

/* Where the next record begins. */
static u32 next_seq;

/* In sequence order without gaps, every record on a page of its own slot. */
static void check_form(const struct tcon_sendq *q)
{
	u32 i, used = 0, spanned;

	for (i = q->head; i != q->tail; i++) {
		assert_non_null(*slot_of(q, i));
		assert_true(seq_before(tcon_sendq_at(q, i)->start,
				       tcon_sendq_at(q, i)->end));
		if (i != q->head)
			assert_int_equal(tcon_sendq_at(q, i)->start,
					 tcon_sendq_at(q, i - 1)->end);
	}
	for (i = 0; i < q->pages; i++)
		used += !!q->page[i];
	spanned = q->head == q->tail ? 0 :
		  (q->tail - 1 - round_down(q->head, TCON_SENDQ_PER_PAGE)) /
		  TCON_SENDQ_PER_PAGE + 1;
	assert_in_range(used, spanned, spanned + 1);
}

static void starts_at(struct tcon_sendq *q, u32 index)
{
	memset(q, 0, sizeof(*q));
	q->head = index;
	q->tail = index;
	next_seq = 0;
}

static struct tcon_send *append(struct tcon_sendq *q)
{
	next_seq += SEG;
	return tcon_sendq_append(q, next_seq - SEG, next_seq);
}

static void one_record(void **state)
{
	struct tcon_sendq q = {};
	struct tcon_send *s;

	s = tcon_sendq_append(&q, 0xffffffc0, 0x40);
	assert_non_null(s);
	assert_int_equal(s->start, 0xffffffc0);
	assert_int_equal(s->end, 0x40);
	assert_int_equal(tcon_sendq_find(&q, 0xffffffc0), q.head);
	assert_int_equal(tcon_sendq_find(&q, 0x3f), q.head);
	assert_int_equal(tcon_sendq_find(&q, 0x40), q.tail);
	tcon_sendq_ack(&q, 0);			/* in part */
	assert_int_equal(tcon_sendq_at(&q, q.head)->start, 0);
	assert_int_equal(q.tail - q.head, 1);
	tcon_sendq_ack(&q, 0x40);
	assert_int_equal(q.head, q.tail);
	assert_int_equal(tcon_sendq_ack(&q, 0x50), 0);	/* empty: nothing happens */
	assert_int_equal(q.head, q.tail);
	tcon_sendq_clear(&q);
}

/* The newest acknowledged one, also in part: the time at which it left, less its waiting time. */
static void entered(void **unused)
{
	struct tcon_sendq q = {};
	struct tcon_send *s;
	u32 i;

	for (i = 0; i < 4; i++) {
		s = tcon_sendq_append(&q, i * SEG, (i + 1) * SEG);
		assert_int_equal(s->waited_us, 0);
		s->tx_us = 1000 * (i + 1);
		s->waited_us = 10 * i;
	}
	assert_int_equal(tcon_sendq_ack(&q, 0), 0);
	assert_int_equal(tcon_sendq_ack(&q, SEG), 1000);
	assert_int_equal(tcon_sendq_ack(&q, 2 * SEG + 1), 2980);
	assert_int_equal(tcon_sendq_ack(&q, 3 * SEG), 2980);
	assert_int_equal(tcon_sendq_ack(&q, 4 * SEG), 3970);
	tcon_sendq_clear(&q);
}

static void find_each(void **state)
{
	struct tcon_sendq q = {};
	u32 i;

	next_seq = -50 * SEG - 7;		/* across 2^32 */
	for (i = 0; i < 200; i++)
		assert_non_null(append(&q));
	for (i = 0; i < 200; i++) {
		u32 start = -50 * SEG - 7 + i * SEG;

		assert_int_equal(tcon_sendq_find(&q, start), i);
		assert_int_equal(tcon_sendq_find(&q, start + SEG - 1), i);
		assert_int_equal(tcon_sendq_at(&q, i)->end, start + SEG);
	}
	tcon_sendq_clear(&q);
}

/* Pages that have been acknowledged are freed. */
static void pages_are_freed(void **state)
{
	struct tcon_sendq q;
	u32 i, n = 10 * TCON_SENDQ_PER_PAGE;

	starts_at(&q, 0);
	for (i = 0; i < n; i++)
		assert_non_null(append(&q));
	check_form(&q);
	tcon_sendq_ack(&q, (n - 1) * SEG);
	check_form(&q);
	assert_int_equal(q.pages, 16);		/* eight, then twice as many */
	for (i = 0; i < 16; i++)
		assert_int_equal(!!q.page[i], i == 9);
	tcon_sendq_ack(&q, n * SEG);
	assert_null(q.page[9]);
	tcon_sendq_clear(&q);
	assert_null(q.page);
	assert_int_equal(q.pages, 0);
}

/* Fill the ring from @index: a full ring extends its newest record. */
static void fill_from(u32 index)
{
	struct tcon_sendq q;
	u32 n = 0;

	starts_at(&q, index);
	while (append(&q)) {
		n++;
		assert_true(n <= RECORDS_OF(TCON_SENDQ_PAGES));
		if (n % 509 == 0)
			check_form(&q);
	}
	check_form(&q);
	assert_true(n > RECORDS_OF(TCON_SENDQ_PAGES) - TCON_SENDQ_PER_PAGE);
	assert_int_equal(next_seq, (n + 1) * SEG);
	assert_int_equal(tcon_sendq_at(&q, q.tail - 1)->end, (n + 1) * SEG);
	assert_int_equal(tcon_sendq_at(&q, q.tail - 1)->start, (n - 1) * SEG);

	/* Pages leave at the head while the tail is on the last. */
	while (q.head != q.tail) {
		tcon_sendq_ack(&q, tcon_sendq_at(&q, q.head)->end);
		if (q.head % 509 == 0)
			check_form(&q);
	}
	assert_non_null(append(&q));
	tcon_sendq_clear(&q);
}

static void full_ring_extends(void **state)
{
	fill_from(0);
}

/*
 * The head stands within a page: the tail may not come round onto the same
 * page, which is freed when the head leaves it.
 */
static void full_ring_within_a_page(void **state)
{
	fill_from(1);
	fill_from(40);
	fill_from(TCON_SENDQ_PER_PAGE - 1);
}

/* Head and tail are free-running: across 2^32. */
static void index_wraps(void **state)
{
	fill_from(-1);
	fill_from(-RECORDS_OF(TCON_SENDQ_PAGES) / 2);
	fill_from(-RECORDS_OF(TCON_SENDQ_PAGES) / 2 + 13);
}

static void ring_turns(void **state)
{
	struct tcon_sendq q;
	u64 rng = 7;
	u32 una = 0, i;

	starts_at(&q, 0);
	for (i = 0; i < 200000; i++) {
		if (prng_below(&rng, 3) || una == next_seq) {
			append(&q);
		} else {
			una += 1 + prng_below(&rng, next_seq - una);
			tcon_sendq_ack(&q, una);
			assert_true(q.head == q.tail ||
				    tcon_sendq_at(&q, q.head)->start == una);
		}
		if (i % 64 == 0)
			check_form(&q);
	}
	assert_true(q.tail > 4 * RECORDS_OF(TCON_SENDQ_PAGES));
	tcon_sendq_clear(&q);
}

static void no_memory(void **state)
{
	struct tcon_sendq q = {};
	u32 i;

	shim_alloc_failures = 1;
	assert_null(tcon_sendq_append(&q, 10, 20));	/* empty: nothing kept */
	assert_int_equal(q.head, q.tail);
	assert_int_equal(tcon_sendq_find(&q, 10), q.tail);
	tcon_sendq_ack(&q, 20);

	for (i = 0; i < TCON_SENDQ_PER_PAGE; i++)
		assert_non_null(tcon_sendq_append(&q, 20 + i, 21 + i));
	shim_alloc_failures = 1;
	assert_null(tcon_sendq_append(&q, 84, 90));	/* needs a page */
	assert_int_equal(shim_alloc_failures, 0);
	assert_int_equal(q.tail - q.head, TCON_SENDQ_PER_PAGE);
	assert_int_equal(tcon_sendq_at(&q, q.tail - 1)->end, 90);
	assert_non_null(tcon_sendq_append(&q, 90, 95));
	check_form(&q);
	tcon_sendq_clear(&q);
}

/* A record with a copy of what it stands for. */
static void append_copy(struct tcon_sendq *q)
{
	struct tcon_send *s = append(q);

	assert_non_null(s);
	assert_null(s->copy);
	s->copy = copy_new(s->start, s->end);
}

/* A copy lives until the last of its bytes is acknowledged, and no longer. */
static void copies_end_with_their_record(void **state)
{
	struct tcon_sendq q;
	u32 i;

	starts_at(&q, 0);
	for (i = 0; i < 100; i++)
		append_copy(&q);
	assert_int_equal(copies_live, 100);
	for (i = 0; i < 99; i++) {
		tcon_sendq_ack(&q, (i + 1) * SEG - 1);
		assert_int_equal(copies_live, 100 - i);
		assert_int_equal(tcon_sendq_at(&q, q.head)->copy->seq, i * SEG);
		tcon_sendq_ack(&q, (i + 1) * SEG);
		assert_int_equal(copies_live, 99 - i);
	}
	tcon_sendq_ack(&q, 200 * SEG);
	assert_int_equal(copies_live, 0);
	tcon_sendq_clear(&q);
}

static void copies_given_up(void **state)
{
	struct tcon_sendq q;
	u32 i;

	starts_at(&q, 0);
	tcon_sendq_drop_copies(&q);		/* there are none */
	for (i = 0; i < 100; i++)
		append_copy(&q);
	tcon_sendq_ack(&q, 30 * SEG);
	tcon_sendq_drop_copies(&q);
	assert_int_equal(copies_live, 0);
	assert_int_equal(q.tail - q.head, 70);	/* the records stay */
	append_copy(&q);
	assert_int_equal(copies_live, 1);
	tcon_sendq_ack(&q, 100 * SEG);
	assert_int_equal(copies_live, 1);
	tcon_sendq_clear(&q);
	assert_int_equal(copies_live, 0);
}

/* The ring grows, and turns, with copies in it. */
static void copies_move_with_the_ring(void **state)
{
	struct tcon_sendq q;
	u32 i, n = 40 * TCON_SENDQ_PER_PAGE;

	starts_at(&q, -300);
	for (i = 0; i < n; i++) {
		append_copy(&q);
		if (i % 3 == 0)
			tcon_sendq_ack(&q, (i / 3 + 1) * SEG);
	}
	assert_int_equal(copies_live, q.tail - q.head);
	for (i = q.head; i != q.tail; i++)
		assert_int_equal(tcon_sendq_at(&q, i)->copy->seq,
				 tcon_sendq_at(&q, i)->start);
	tcon_sendq_clear(&q);
	assert_int_equal(copies_live, 0);
}

/* The newest record grows where no page is to be had; its copy does not. */
static void copy_of_extended_record(void **state)
{
	struct tcon_sendq q;
	u32 i;

	starts_at(&q, 0);
	for (i = 0; i < TCON_SENDQ_PER_PAGE; i++)
		append_copy(&q);
	shim_alloc_failures = 1;
	assert_null(append(&q));
	assert_int_equal(tcon_sendq_at(&q, q.tail - 1)->copy->end, i * SEG);
	assert_int_equal(tcon_sendq_at(&q, q.tail - 1)->end, (i + 1) * SEG);
	tcon_sendq_ack(&q, i * SEG);
	assert_int_equal(copies_live, 1);	/* some of it is not */
	tcon_sendq_ack(&q, (i + 1) * SEG);
	assert_int_equal(copies_live, 0);
	tcon_sendq_clear(&q);
}

/* Beyond its first page a queue takes what both accounts allow, and gives it back. */
static void budget(void **state)
{
	const unsigned int most = 3 * PAGE_BYTES, more = 100 * PAGE_BYTES;
	struct tcon_pool host = { 0 };
	struct tcon_budget port = { .pool = &host };
	struct tcon_sendq q = { .budget = &port }, other = { .budget = &port };
	u32 n = 3 * TCON_SENDQ_PER_PAGE, i;

	tcon_pool_divide(&host, most, more, 1);
	next_seq = 0;
	for (i = 0; i < n; i++)
		assert_non_null(append(&q));
	assert_int_equal(atomic_long_read(&host.used), most);
	assert_int_equal(atomic_long_read(&port.used), most);
	assert_null(append(&q));			/* the newest grows */
	assert_int_equal(tcon_sendq_at(&q, q.tail - 1)->end, (n + 1) * SEG);
	assert_int_equal(q.tail, n);
	assert_non_null(tcon_sendq_append(&other, 0, SEG));
	assert_int_equal(atomic_long_read(&host.used), 4 * PAGE_BYTES);
	tcon_sendq_clear(&other);
	assert_ptr_equal(other.budget, &port);
	tcon_sendq_ack(&q, 2 * TCON_SENDQ_PER_PAGE * SEG);
	assert_int_equal(atomic_long_read(&host.used), PAGE_BYTES);
	next_seq = (n + 1) * SEG;
	assert_non_null(append(&q));
	tcon_sendq_clear(&q);
	assert_int_equal(atomic_long_read(&host.used), 0);
	assert_int_equal(atomic_long_read(&port.used), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_record),
		cmocka_unit_test(entered),
		cmocka_unit_test(find_each),
		cmocka_unit_test(pages_are_freed),
		cmocka_unit_test(full_ring_extends),
		cmocka_unit_test(full_ring_within_a_page),
		cmocka_unit_test(index_wraps),
		cmocka_unit_test(ring_turns),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(copies_end_with_their_record),
		cmocka_unit_test(copies_given_up),
		cmocka_unit_test(copies_move_with_the_ring),
		cmocka_unit_test(copy_of_extended_record),
		cmocka_unit_test(budget),
	};

	return cmocka_run_group_tests_name("sendq", tests, NULL, NULL);
}
