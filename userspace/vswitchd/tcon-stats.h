/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Means of what was measured of many flows, and how sure they are.
 *
 * This file uses nothing of Open vSwitch, so that it can be tested on its own.
 */

#ifndef VSWITCHD_TCON_STATS_H
#define VSWITCHD_TCON_STATS_H 1

#include <stdbool.h>
#include <stdint.h>

/* With fewer flows no interval is told: neither are they likely to be normally
 * distributed in the mean, nor is tcon_t_quantile() exact. */
#define TCON_STATS_MIN_FLOWS 10

/* A mean, or a difference of two, and the bounds of its 95 % interval. */
struct tcon_interval {
    double mean, low, high;
};

double tcon_t_quantile(double degrees);
bool tcon_mean_interval(uint64_t n, uint64_t sum, uint64_t sum_sq,
                        struct tcon_interval *);
bool tcon_difference_interval(const uint64_t n[2], const uint64_t sum[2],
                              const uint64_t sum_sq[2],
                              struct tcon_interval *);

#endif /* vswitchd/tcon-stats.h */
