/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Who asks for counters wants to know how fast they grow now, whoever else has
 * asked.  So they are read now and then, and compared with what they were.
 */

#include <config.h>

#include "tcon-rates.h"

#include <limits.h>
#include <string.h>

#include "openvswitch/poll-loop.h"
#include "tcon-netlink.h"
#include "timeval.h"
#include "util.h"

/* A rate covers the last one to two of these. */
#define INTERVAL_MS 10000

/* A shorter time says little. */
#define LEAST_MS 1000

static const struct tcon_nl_field info_fields[] = {
    { TCON_INFO_A_COUNTERS, NL_A_UNSPEC, NULL },
    { TCON_INFO_A_AGE_MS,   NL_A_U64,    NULL },
};

/* The last two samples, the older one first. */
static struct tcon_sample samples[2];

/* LLONG_MAX: not as long as tcon.ko is not loaded: to ask would make the kernel
 * look for it. */
static long long int next_ms = LLONG_MAX;

static bool
sample_cb(struct nlattr *top[], void *sample_)
{
    struct nlattr *attrs[TCON_INFO_A_MAX + 1];
    struct tcon_sample *sample = sample_;

    if (top[TCON_A_INFO] && !sample->counters
        && tcon_nl_parse(top[TCON_A_INFO], info_fields,
                         ARRAY_SIZE(info_fields), attrs, ARRAY_SIZE(attrs))
        && attrs[TCON_INFO_A_AGE_MS]) {
        sample->age_ms = nl_attr_get_u64(attrs[TCON_INFO_A_AGE_MS]);
        sample->n = tcon_nl_n_u64s(attrs[TCON_INFO_A_COUNTERS]);
        sample->counters = xcalloc(MAX(sample->n, 1),
                                   sizeof *sample->counters);
        for (size_t i = 0; i < sample->n; i++) {
            sample->counters[i] =
                tcon_nl_get_u64(attrs[TCON_INFO_A_COUNTERS], i);
        }
    }
    return true;
}

/* tcon.ko is loaded. */
void
tcon_rates_begin(void)
{
    if (next_ms == LLONG_MAX) {
        next_ms = time_msec();
    }
}

/* tcon.ko was removed: the next one counts from zero. */
void
tcon_rates_end(void)
{
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        free(samples[i].counters);
        memset(&samples[i], 0, sizeof samples[i]);
    }
    next_ms = LLONG_MAX;
}

void
tcon_rates_run(void)
{
    struct tcon_sample sample = { .age_ms = 0 };
    struct tcon_error error;
    struct tcon_nl nl;
    int err;

    if (time_msec() < next_ms) {
        return;
    }
    next_ms = LLONG_MAX;
    if (!tcon_nl_open(&nl, &error)) {
        return;
    }
    err = tcon_nl_do(&nl, tcon_nl_request(&nl, TCON_CMD_GET_INFO), sample_cb,
                     &sample, &error);
    if (sample.age_ms) {
        free(samples[0].counters);
        samples[0] = samples[1];
        samples[1] = sample;
        next_ms = time_msec() + INTERVAL_MS;
    } else if (sample.counters) {   /* tcon.ko is not a millisecond old. */
        free(sample.counters);
        next_ms = time_msec() + LEAST_MS;
    } else if (err) {
        next_ms = time_msec() + INTERVAL_MS;
    }
    tcon_nl_close(&nl);
}

void
tcon_rates_wait(void)
{
    if (next_ms != LLONG_MAX) {
        poll_timer_wait_until(next_ms);
    }
}

/* Returns a sample to which counters that are 'age_ms' old can be compared, or
 * NULL.  Those of a tcon.ko that was loaded since are younger. */
const struct tcon_sample *
tcon_rates_before(uint64_t age_ms)
{
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        const struct tcon_sample *sample = &samples[i];

        if (sample->age_ms && samples[0].age_ms <= samples[1].age_ms
            && age_ms >= samples[1].age_ms
            && age_ms - sample->age_ms >= LEAST_MS) {
            return sample;
        }
    }
    return NULL;
}
