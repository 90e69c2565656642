// SPDX-License-Identifier: GPL-2.0-only
/*
 * The windows that the guest is given (sender/window.c): for each state and each ACK.
 *
 * All numbers of a connection lie within the largest window that RFC 7323 allows, 2^30, of each
 * other.  The scale is a constant: WSCALE.
 */
#include "proof.h"
#include "datapath/sender/window.c"

#define LARGEST		(1U << 30)

/* Is @a after @b, by no more than the largest window? */
static bool is_ahead(u32 a, u32 b)
{
	return a - b <= LARGEST;
}

/* Is @a near @b, before or after it? */
static bool is_near(u32 a, u32 b)
{
	return is_ahead(a, b - LARGEST / 2);
}

static struct tcon_window any_window(u32 ack)
{
	struct tcon_window w;

	w.valid = any_bool();
	given(w.answer_us <= 10 * 1000 * 1000);
	given(!w.valid || (is_near(w.edge, ack) && is_near(w.peer_edge, ack) &&
			   is_near(w.peer_ack, ack)));
	return w;
}

static u32 any_mss(void)
{
	u32 mss = any_u32();

	given(mss >= 1 && mss <= 65535);
	return mss;
}

void prove_window_write(void)
{
	u32 ack = any_u32(), wanted = any_u32(), mss = any_mss(), edge;
	struct tcon_window w = any_window(ack), before = w;
	u16 field = any_u16(), got;

	given(is_near(wanted, ack));
	got = tcon_window_write(&w, ack, field, WSCALE, wanted, mss, any_u64());
	edge = ack + ((u32)got << WSCALE);
	prove(got <= field);
	prove(field || !got);
	prove(w.given_bytes == edge - ack);
	prove(w.peer_bytes == (u32)field << WSCALE);
	prove(w.valid);
	/* The right edge moves left only if the peer's offer does. */
	prove(!before.valid || !seq_before(w.edge, before.edge));
	prove(!before.valid || got == field || !seq_before(edge, before.edge));
	prove(!seq_before(w.edge, edge));
	/* No more than is wanted, but for what was given before, two segments, and rounding. */
	prove(!before.valid || !seq_after(w.edge, before.edge) || w.edge == edge);
	prove(!seq_after(edge, before.valid ? seq_max(wanted, before.edge) : wanted) ||
	      edge - ack < 2 * mss + (1U << WSCALE) ||
	      edge - (before.valid ? seq_max(wanted, before.edge) : wanted) < 1U << WSCALE);
	/* Two segments, if the peer offers them. */
	prove(got == field || got == WINDOW_FIELD_MAX || edge - ack >= 2 * mss);
	/* An ACK of nothing new moves the peer's edge to the right only. */
	prove(!before.valid || seq_after(ack, before.peer_ack) ||
	      !seq_before(w.peer_edge, before.peer_edge));
	prove(!before.valid || !seq_after(ack, before.peer_ack) ||
	      w.peer_edge == ack + ((u32)field << WSCALE));
}

/* Two ACKs in a row. */
void prove_window_two(void)
{
	u32 ack = any_u32(), next = any_u32(), wanted = any_u32(), mss = any_mss(), edge;
	struct tcon_window w = any_window(ack);
	u16 field = any_u16(), got;

	given(is_near(wanted, ack) && next - ack < LARGEST / 4);
	got = tcon_window_write(&w, ack, any_u16(), WSCALE, wanted, mss, any_u64());
	edge = ack + ((u32)got << WSCALE);
	wanted = any_u32();
	given(is_near(wanted, next));
	got = tcon_window_write(&w, next, field, WSCALE, wanted, mss, any_u64());
	prove(got == field || !seq_before(next + ((u32)got << WSCALE), edge));
}

void prove_window_update(void)
{
	u32 ack = any_u32(), wanted = any_u32(), nxt = any_u32(), burst = any_u32();
	struct tcon_window w = any_window(ack), before = w;
	u32 mss = any_mss(), edge;
	u16 got;

	given(is_ahead(w.edge, ack) && is_near(wanted, ack) && is_near(nxt, ack) && burst <= 1 << 20);
	got = tcon_window_update(&w, ack, WSCALE, wanted, nxt, mss, burst, any_u64());
	edge = ack + ((u32)got << WSCALE);
	if (!got) {
		prove(w.edge == before.edge && w.given_bytes == before.given_bytes);
		return;
	}
	prove(before.valid && before.peer_bytes);
	prove(!seq_after(edge, before.peer_edge));
	prove(seq_after(edge, before.edge));
	prove(got > (before.edge - ack) >> WSCALE);
	prove(w.edge == edge && w.given_bytes == edge - ack);
	prove(w.peer_edge == before.peer_edge && w.peer_bytes == before.peer_bytes);
}

void prove_window_late(void)
{
	u32 ack = any_u32(), mss = any_mss(), edge;
	struct tcon_window w = any_window(ack);
	u16 field = any_u16(), got;

	got = tcon_window_late(&w, ack, field, WSCALE, mss);
	edge = ack + ((u32)got << WSCALE);
	prove(got <= field);
	prove(implies(w.valid && seq_after(edge, w.edge),
		      edge - ack < 2 * mss + (1U << WSCALE) || edge - w.edge < 1U << WSCALE));
	/* What its window allows, tcon_window_covers() does not hold against the guest. */
	prove(implies(w.valid && got < field, tcon_window_covers(&w, edge, WSCALE, mss) ||
					      seq_before(w.edge, ack)));
}

void prove_window_covers(void)
{
	u32 ack = any_u32(), mss = any_mss(), end = any_u32();
	struct tcon_window w = any_window(ack);

	given(is_near(end, ack));
	prove(implies(!w.valid || !seq_after(end, w.edge), tcon_window_covers(&w, end, WSCALE, mss)));
	prove(implies(tcon_window_covers(&w, end, WSCALE, mss) && w.valid && seq_after(end, w.edge),
		      end - w.edge <= 2 * mss + (1U << WSCALE)));
}

void prove_window_observe(void)
{
	u32 ack = any_u32();
	struct tcon_window w = any_window(ack), before = w;
	u16 field = any_u16();

	tcon_window_observe(&w, ack, field, WSCALE, any_u64());
	prove(w.valid && w.given_bytes == (u32)field << WSCALE && w.peer_bytes == w.given_bytes);
	prove(!seq_before(w.edge, ack + w.given_bytes));
	prove(!before.valid || !seq_before(w.edge, before.edge));
	prove(w.edge == ack + w.given_bytes || (before.valid && w.edge == before.edge));
	prove(!seq_before(w.peer_edge, ack + w.given_bytes));
}

void prove_window_restore(void)
{
	u32 una = any_u32(), edge = any_u32(), peer_edge = any_u32();
	struct tcon_window w = {};

	given(is_near(edge, una) && is_near(peer_edge, una));
	tcon_window_restore(&w, una, edge, peer_edge, any_u64());
	prove(w.valid);
	prove(w.edge == (seq_after(edge, una) ? edge : una));
	prove(w.peer_edge == (seq_after(peer_edge, una) ? peer_edge : una));
	prove(w.edge == una + w.given_bytes && w.peer_edge == una + w.peer_bytes);
	prove(w.given_bytes <= LARGEST && w.peer_bytes <= LARGEST);
}

/* An ACK that is kept from the guest changes nothing of what the guest was given. */
void prove_window_untold(void)
{
	u32 ack = any_u32(), wanted = any_u32(), mss = any_mss();
	struct tcon_window w = any_window(ack), before = w, after;

	given(is_near(wanted, ack));
	tcon_window_write(&w, ack, any_u16(), WSCALE, wanted, mss, any_u64());
	after = w;
	tcon_window_untold(&w, &before);
	prove(w.edge == before.edge && w.given_bytes == before.given_bytes);
	prove(w.marked_edge == before.marked_edge && w.next_mark == before.next_mark);
	prove(w.mark_us == before.mark_us && w.valid == before.valid);
	prove(w.peer_edge == after.peer_edge && w.peer_ack == after.peer_ack);
	prove(w.peer_bytes == after.peer_bytes);
}

void prove_window_unused(void)
{
	u32 nxt = any_u32(), ack = any_u32(), unused;
	struct tcon_window w = any_window(ack);
	u64 now = any_u64();

	given(is_near(nxt, ack) && is_near(w.marked_edge, ack) && !seq_after(w.marked_edge, w.edge));
	unused = tcon_window_unused(&w, nxt, now);
	prove(implies(unused, w.valid && seq_after(w.edge, nxt)));
	prove(implies(unused, unused <= w.edge - nxt));
	prove(implies(w.valid && seq_after(w.marked_edge, nxt), unused >= w.marked_edge - nxt));
	prove(implies(w.valid && seq_after(w.edge, nxt) &&
		      now - w.mark_us >= 2 * (w.answer_us ? w.answer_us : TCON_EDGE_ANSWER_US),
		      unused == w.edge - nxt));
}

/* What was marked had its time: two answers' at least lie between an edge and its use. */
void prove_window_marks(void)
{
	u32 first = any_u32(), second = any_u32(), ack = any_u32();
	struct tcon_window w = any_window(ack), before = w;
	u64 now = any_u64();

	given(w.valid && is_near(first, ack));
	given(!seq_after(w.marked_edge, w.next_mark) && !seq_after(w.next_mark, w.edge));
	given(is_near(w.marked_edge, ack) && is_near(w.next_mark, ack) && now >= w.mark_us);
	give_edge(&w, first, now);
	prove(!seq_after(w.marked_edge, w.next_mark) && !seq_after(w.next_mark, w.edge));
	prove(w.marked_edge == before.marked_edge || now - before.mark_us >= answer_us(&w));
	prove(w.marked_edge != first || first == before.edge || first == before.next_mark ||
	      first == before.marked_edge);
}

void prove_window_round_down(void)
{
	u32 edge = any_u32(), ack = any_u32(), mss = any_mss(), got;

	given(is_near(edge, ack));
	got = tcon_window_round_down(edge, ack, WSCALE, mss);
	prove(edge - got < 1U << WSCALE);
	prove(implies(!seq_after(edge, ack), got == edge));
	prove(implies(seq_after(edge, ack), !seq_before(got, ack)));
	prove(implies(seq_after(edge, ack) && mss >= 1U << WSCALE, !((got - ack) & ((1U << WSCALE) - 1))));
}

void prove_window_wanted(void)
{
	u32 nxt_guest = any_u32(), cwnd = any_u32(), hold = any_u32(), edge, room;
	struct tcon_cc cc;

	cc.mss_bytes = MSS;
	given(cwnd <= MOST && cc.inflight_bytes <= MOST && hold <= MOST);
	given(is_near(nxt_guest, cc.nxt) && cc.nxt - nxt_guest + MOST <= 2 * MOST);
	edge = tcon_window_wanted(&cc, nxt_guest, cwnd, hold);
	room = cwnd > cc.inflight_bytes ? cwnd - cc.inflight_bytes : 0;
	prove(implies(cc.pacing_rate_bps, edge - cc.nxt == min(room, hold)));
	prove(implies(!cc.pacing_rate_bps && room && seq_after(cc.nxt + room, nxt_guest),
		      edge - (cc.nxt + room) + MSS / 2 <= MSS));
	prove(implies(!cc.pacing_rate_bps && !seq_after(cc.nxt + room, nxt_guest), edge == cc.nxt + room));
	prove(!seq_before(edge, cc.nxt) || seq_before(nxt_guest, cc.nxt));
}
