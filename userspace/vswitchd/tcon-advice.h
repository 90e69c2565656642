/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Which CC suits a path, by what was measured of it.
 *
 * This file uses nothing of Open vSwitch, so that it can be tested on its own.
 */

#ifndef VSWITCHD_TCON_ADVICE_H
#define VSWITCHD_TCON_ADVICE_H 1

#include <stdint.h>

/* Measurements of the flows to some destinations. */
struct tcon_path {
    uint64_t flows;             /* With a round trip. */
    uint64_t delivered_bytes;
    uint64_t sent_bytes;        /* With repeats, */
    uint64_t lost_bytes;        /* and of that, judged lost. */
    uint64_t marked_bytes;      /* Delivered with ECN CE. */
    uint64_t reordering_flows;  /* Whose repairs were mostly needless. */
    double min_rtt_us;          /* Medians over the flows: of the least RTT, */
    double queue;               /* and of the smoothed RTT divided by it. */
    double idle;                /* Part of the time without data to send; flows
                                 * count by what they delivered. */
};

struct tcon_advice {
    const char *kind;           /* One word for the path. */
    const char *cc;             /* NULL: keep what there is. */
    const char *why;
    const char *evidence;       /* With the file that has it. */
};

const struct tcon_advice *tcon_advise(const struct tcon_path *);

#endif /* vswitchd/tcon-advice.h */
