/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Appointments: when to look at a flow.  Each CPU has one queue and one timer.
 */
#ifndef _TCON_PACER_H
#define _TCON_PACER_H

#include <linux/timerqueue.h>
#include <linux/types.h>

struct tcon_pacer;

/**
 * struct tcon_due - an appointment
 * @node: in a pacer's queue; protected by the pacer's lock
 * @pacer: the pacer in whose queue it is; NULL: none.  Protected as @node; changed with the
 *	owner's lock held
 */
struct tcon_due {
	struct timerqueue_node node;
	struct tcon_pacer *pacer;
};

/**
 * typedef tcon_look_fn - what is called when an appointment is due
 * @due: the appointment, no longer in a queue; no lock is held
 * @now_ns: the time, as the pacer last read it
 *
 * Context: softirq, RCU read lock held, outside every hook.
 * Return: the time, read again unless there was nothing to do.
 */
typedef u64 (*tcon_look_fn)(struct tcon_due *due, u64 now_ns);

int tcon_pacer_init(tcon_look_fn look);
void tcon_pacer_exit(void);
void tcon_pacer_at(struct tcon_due *due, u64 when_ns);
void tcon_pacer_soon(struct tcon_due *due);
void tcon_pacer_cancel(struct tcon_due *due);

/* Is there an appointment?  Without the owner's lock the answer may be out of date. */
static inline bool tcon_pacer_expects(const struct tcon_due *due)
{
	return READ_ONCE(due->pacer);
}

#endif /* _TCON_PACER_H */
