/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Which CC a guest's own stack runs, by the last round trips of its flow.
 *
 * This file uses nothing of Open vSwitch, so that it can be tested on its own.
 */

#ifndef VSWITCHD_TCON_GUESS_H
#define VSWITCHD_TCON_GUESS_H 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uapi/linux/tcon.h>

/* A flow that is only observed. */
struct tcon_seen {
    const struct tcon_round *rounds;    /* Oldest first. */
    size_t n_rounds;                    /* At most TCON_ROUNDS_MAX. */
    uint32_t min_rtt_us;                /* UINT32_MAX: not known. */
    bool ect_syn;                       /* The SYN was ECN-capable. */
};

struct tcon_guess {
    const char *cc;             /* NULL: unknown. */
    double confidence;          /* 0 to 1; without 'cc' of the best. */
    const char *why;            /* Without 'cc': why not. */
};

void tcon_guess(const struct tcon_seen *, struct tcon_guess *);

#endif /* vswitchd/tcon-guess.h */
