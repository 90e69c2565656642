/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * How fast tcon.ko's counters grow.
 */

#ifndef VSWITCHD_TCON_RATES_H
#define VSWITCHD_TCON_RATES_H 1

#include <stddef.h>
#include <stdint.h>

struct nlattr;

/* Counters at some time, which tcon.ko says as their age. */
struct tcon_sample {
    uint64_t age_ms;            /* 0: there is none. */
    uint64_t *counters;
    size_t n;
};

void tcon_rates_begin(void);
void tcon_rates_end(void);
void tcon_rates_run(void);
void tcon_rates_wait(void);

const struct tcon_sample *tcon_rates_before(uint64_t age_ms);

#endif /* vswitchd/tcon-rates.h */
