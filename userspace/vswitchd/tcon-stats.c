/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include "tcon-stats.h"

#include <math.h>

/* Half of a 95 % interval of the normal distribution. */
#define Z 1.959963984540054

/* Returns how many standard errors a 95 % interval of Student's t distribution
 * reaches to each side, by Abramowitz and Stegun, Handbook of Mathematical
 * Functions, 26.7.5.  From 9 degrees of freedom on that is right to four
 * digits. */
double
tcon_t_quantile(double degrees)
{
    double z = Z, z2 = z * z, v = degrees;
    double g1 = z * (z2 + 1) / 4;
    double g2 = z * ((5 * z2 + 16) * z2 + 3) / 96;
    double g3 = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    double g4 = z * ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945)
                / 92160;

    return z + (g1 + (g2 + (g3 + g4 / v) / v) / v) / v;
}

/* Returns the square of the standard error of a mean. */
static double
squared_error(uint64_t n, uint64_t sum, uint64_t sum_sq)
{
    long double mean = (long double) sum / n;
    long double squares = sum_sq - mean * sum;

    return squares > 0 ? squares / (n - 1) / n : 0;
}

static void
set_interval(double mean, double half, struct tcon_interval *interval)
{
    interval->mean = mean;
    interval->low = mean - half;
    interval->high = mean + half;
}

/* The mean of 'n' numbers with this sum and sum of squares: Student's interval.
 * Returns false if there are too few. */
bool
tcon_mean_interval(uint64_t n, uint64_t sum, uint64_t sum_sq,
                   struct tcon_interval *interval)
{
    if (n < TCON_STATS_MIN_FLOWS) {
        return false;
    }
    set_interval((double) sum / n, tcon_t_quantile(n - 1)
                 * sqrt(squared_error(n, sum, sum_sq)), interval);
    return true;
}

/* The difference of two means, first less second; the variances may differ:
 * Welch's interval (The generalization of Student's problem, Biometrika 34,
 * 1947).  Returns false if there are too few. */
bool
tcon_difference_interval(const uint64_t n[2], const uint64_t sum[2],
                         const uint64_t sum_sq[2],
                         struct tcon_interval *interval)
{
    double errors[2], both, degrees;

    if (n[0] < TCON_STATS_MIN_FLOWS || n[1] < TCON_STATS_MIN_FLOWS) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        errors[i] = squared_error(n[i], sum[i], sum_sq[i]);
    }
    both = errors[0] + errors[1];
    degrees = both > 0 ? both * both / (errors[0] * errors[0] / (n[0] - 1)
                                        + errors[1] * errors[1] / (n[1] - 1))
                       : n[0] + n[1] - 2;
    set_interval((double) sum[0] / n[0] - (double) sum[1] / n[1],
                 tcon_t_quantile(degrees) * sqrt(both), interval);
    return true;
}
