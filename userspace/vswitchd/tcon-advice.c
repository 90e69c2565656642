/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include "tcon-advice.h"

/* Less says nothing. */
#define LEAST_BYTES 1000000

/* From here on losses decide what a CC that answers them reaches: 0.1 % halve
 * it in the lab; half of that is still seen. */
#define LOSSY 0.0005

/* Ratio of the RTT to the least RTT from which a queue counts as one.  Below it the
 * queue may be the flows' own bursts. */
#define QUEUED 1.5

/* DCTCP is for data centers (RFC 8257). */
#define NEAR_US 5000
#define MARKED 0.01

/* The kinds, in the order in which they are looked for.  The figures come from
 * the files that are named: tests/lab/test_advice.py compares them. */
enum kind { UNSEEN, IDLE, REORDERING, MARKING, LOSING, QUEUEING, CLEAN };

static const struct tcon_advice advices[] = {
    [UNSEEN] = {
        "unseen", 0, "less than 1 MB was delivered, or no round trip was seen",
        "none: look again later",
    },
    [IDLE] = {
        "idle", 0, "its guests had nothing to send for most of the time, which "
        "no CC changes",
        "docs/results.md: requests of 10 and 100 kB at 5 % load take at most "
        "1.015 of the time that they take natively",
    },
    [REORDERING] = {
        "reordering", 0, "the path reorders, so what counts as lost may not "
        "be, and TCon leaves repairs to the guests; CUBIC, Reno and BBR reach "
        "much the same, Vegas little",
        "tools/campaigns/reordering.md: 1 % overtake by 20 ms: cubic 18.25, bbr "
        "18.70, vegas 2.72 of 20 Mbit/s",
    },
    [MARKING] = {
        "marking", "dctcp", "it is short and marks: DCTCP keeps the queue at "
        "the marks; for data centers only (RFC 8257)",
        "tools/campaigns/dctcp-on-cubic.md and docs/results.md: 100 Mbit/s, "
        "1 ms, marks at 20 packets: goodput 1.000 of native DCTCP's",
    },
    [LOSING] = {
        "losing", "bbr", "it loses packets without a queue: by chance, which "
        "BBR does not answer, or by a policer, where BBR loses a tenth of "
        "what it sends, and CUBIC is as fast if the bucket is deep; "
        "beside CUBIC, BBR takes more than its part",
        "tools/campaigns/policed.md: bucket of 0.1 BDP: bbr 18.76, cubic 2.77 "
        "of 20 Mbit/s, of 1 BDP: bbr 19.04, cubic 17.98; "
        "tools/campaigns/gallery.md: 20mbit 40ms 0.1%: bbr 18.95, cubic 11.52 "
        "Mbit/s; 100mbit 10ms 0.1%: bbr 95.28, cubic 41.09 Mbit/s",
    },
    [QUEUEING] = {
        "queueing", "bbr", "its queue adds half of the RTT or more; where that "
        "is the queue of other flows, BBR cannot shorten it",
        "docs/results.md: 100 Mbit/s, 20 ms, 1000 packets: BBR enforced on "
        "CUBIC 93.90 Mbit/s at 22.2 ms, the CUBIC guest 95.36 at 120.2",
    },
    [CLEAN] = {
        "clean", 0, "neither losses nor a queue: the CCs differ by little",
        "tools/campaigns/gallery.md: 100mbit 10ms 0%: reno 95.09, cubic 95.44, "
        "vegas 94.86, bbr 94.14 Mbit/s",
    },
};

/* Says which CC the lab's data recommend for a path. */
const struct tcon_advice *
tcon_advise(const struct tcon_path *path)
{
    enum kind kind = CLEAN;

    if (!path->flows || path->delivered_bytes < LEAST_BYTES) {
        kind = UNSEEN;
    } else if (path->idle > 0.5) {
        kind = IDLE;
    } else if (path->reordering_flows > path->flows / 2) {
        kind = REORDERING;
    } else if (path->min_rtt_us < NEAR_US
               && path->marked_bytes > MARKED * path->delivered_bytes) {
        kind = MARKING;
    } else if (path->queue >= QUEUED) {
        kind = QUEUEING;
    } else if (path->lost_bytes > LOSSY * path->sent_bytes) {
        kind = LOSING;
    }
    return &advices[kind];
}
