/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Each CC is a few equations: by how much its window grows in a round trip,
 * and what a loss leaves of it.  Those of Linux 6.1's CCs are here.  Each
 * explains the rounds that were seen, and the one that errs least is the
 * guess.  So nothing is learnt from examples of some paths, and a guess can be
 * understood.
 *
 * Windows are in segments.  ACKs are for two of them (RFC 5681, 4.2), which
 * matters to those CCs that count ACKs.
 */

#include "tcon-guess.h"

#include <math.h>
#include <string.h>

/* Fewer rounds tell nothing. */
#define ROUNDS_MIN 48
/* Rounds that are compared at once, because windows are whole numbers. */
#define BLOCK_ROUNDS 8
#define BLOCK_ROUNDS_MIN 4
/* Rounds that a sender may recover for after a loss. */
#define RECOVERY_ROUNDS 2
/* A window of less than this part of the one before was reduced. */
#define CUT_PART 0.93
/* An error of this much in the part that a reduction leaves is a whole one. */
#define RATIO_ERROR 0.15
/* The error of a guess that cannot tell. */
#define ERROR_UNTOLD 0.5
/* A variant of Reno must err less than Reno by this. */
#define ERROR_VARIANT 0.03
/* With this much less error a guess is e times as likely. */
#define ERROR_SCALE 0.05
#define ERROR_MAX 0.4
#define CONFIDENCE_MIN 0.5
/* Growth that resembles the cycle before by this much is BBR's for sure. */
#define LIKE_A_CYCLE 0.5

#define SEGMENTS_PER_ACK 2.0

#define N_ELEMS(A) (sizeof(A) / sizeof((A)[0]))

/* A round, as the sender sees it. */
struct at {
    double window;
    double rtt_s;
    double min_rtt_s;
    double max_rtt_s;
    double queued;              /* Part of the window that is in a queue. */

    /* Of the last loss, if there was one; then 'after' is not 0. */
    double after;               /* The part of the window that it left. */
    double max;                 /* The window before, */
    double earlier_max;         /* and before the loss before; 0: unknown. */
    double since_s;
    double since_rounds;
};

static double
bounded(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

/* By how much the window grows in a round; NAN: what was seen does not tell. */

/* RFC 5681, 3.1. */
static double
grow_reno(const struct at *at)
{
    (void) at;
    return 1;
}

/* RFC 9438, 4.2 and 4.3: the window at a time after the loss.  It rises to
 * 'max' in 'k_s'. */
#define CUBIC_C 0.4
#define CUBIC_BETA 0.7

static double
cubic_window(const struct at *at, double max, double k_s, double since_s,
             double rounds)
{
    double reno = at->after
                  + 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA) * rounds;

    return fmax(fmax(max, at->after) + CUBIC_C * pow(since_s - k_s, 3), reno);
}

static double
grow_cubic(const struct at *at)
{
    double max = at->max, k_s, now, next;

    if (!at->after) {
        return NAN;
    }
    if (at->max < at->earlier_max) {    /* Fast convergence. */
        max *= (1 + CUBIC_BETA) / 2;
    }
    k_s = cbrt(fmax(max - at->after, 0) / CUBIC_C);
    now = cubic_window(at, max, k_s, at->since_s, at->since_rounds);
    next = cubic_window(at, max, k_s, at->since_s + at->rtt_s,
                        at->since_rounds + 1);
    return bounded(next - now, 0, at->window / 2);
}

/* Xu, Harfoush and Rhee, "Binary increase congestion control", 2004, with the
 * constants of Linux, which corrects for ACKs of several segments. */
static double
grow_bic(const struct at *at)
{
    const double b = 4, smooth = 20, most = 16, beta = 0.8;
    double max, beyond, growth;

    if (!at->after) {
        return NAN;
    }
    max = at->max * (at->max < at->earlier_max ? (1 + beta) / 2 : 1);
    beyond = at->window - max;
    if (at->window < 14) {
        return 1;
    }
    if (beyond < 0) {
        growth = floor(-beyond / b);
        growth = growth > 1 ? fmin(growth, most) : b / smooth;
    } else {
        growth = beyond < b ? b / smooth : fmin(beyond / (b - 1), most);
    }
    return growth * SEGMENTS_PER_ACK;
}

/* RFC 3649, appendix B: up to a window, how much less a loss leaves; the n-th
 * grows by n. */
static const struct {
    double window, decrease;
} highspeed[] = {
    { 38, 0.50 }, { 118, 0.44 }, { 221, 0.41 }, { 347, 0.38 }, { 495, 0.37 },
    { 663, 0.35 }, { 851, 0.34 }, { 1058, 0.33 }, { 1284, 0.32 },
    { 1529, 0.31 }, { 1793, 0.30 }, { 2076, 0.29 }, { 2378, 0.28 },
};

static size_t
highspeed_row(double window)
{
    size_t i = 0;

    while (i + 1 < N_ELEMS(highspeed) && window > highspeed[i].window) {
        i++;
    }
    return i;
}

static double
grow_highspeed(const struct at *at)
{
    return (highspeed_row(at->window) + 1) / SEGMENTS_PER_ACK;
}

/* Leith and Shorten, "H-TCP", 2004, with RTT scaling. */
static double
grow_htcp(const struct at *at)
{
    double over_s = at->since_s - 1, factor = 1, beta;

    if (!at->after) {
        return NAN;
    }
    if (over_s > 0) {
        factor = 1 + 10 * over_s + over_s * over_s / 4;
        factor = fmax(factor / bounded(0.1 / at->min_rtt_s, 0.5, 10), 1);
    }
    beta = bounded(at->after / at->max, 0.5, 0.8);
    return fmax(2 * factor * (1 - beta), 1);
}

/* Caini and Firrincieli, "TCP Hybla", 2004: as Reno would grow with an RTT of
 * 25 ms.  Linux counts in eighths of that RTT, and 128ths of a segment. */
static double
grow_hybla(const struct at *at)
{
    double eighths = fmax(floor(at->min_rtt_s / 0.025 * 8), 8);
    double parts = floor(2 * eighths * eighths / at->window);

    return parts / 128 * at->window / SEGMENTS_PER_ACK;
}

/* Liu, Basar and Srikant, "TCP-Illinois", 2006: less growth, and more of a
 * reduction, the longer the queue, as part of the longest. */
static double
illinois_growth(const struct at *at, double longest_s)
{
    const double least = 0.3, most = 10;
    double queue_s = at->rtt_s - at->min_rtt_s;
    double low_s = longest_s / 100, span_s;

    if (queue_s <= low_s) {
        return most;
    }
    span_s = (longest_s - low_s) * least / (most - least);
    return span_s * most / (span_s + queue_s - low_s);
}

static double
grow_illinois(const struct at *at)
{
    return illinois_growth(at, at->max_rtt_s - at->min_rtt_s);
}

/* As if the longest queue, twice as long as any that was seen, had been
 * before. */
static double
grow_illinois_2(const struct at *at)
{
    return illinois_growth(at, 2 * (at->max_rtt_s - at->min_rtt_s));
}

/* Kelly, "Scalable TCP", 2003, with the bound of Linux. */
static double
grow_scalable(const struct at *at)
{
    return fmax(at->window / 100, 1);
}

/* Brakmo and Peterson, "TCP Vegas", 1995: between two and four are queued. */
static double
grow_vegas(const struct at *at)
{
    return at->queued < 2 ? 1 : at->queued > 5.5 ? -1 : 0;
}

/* Brakmo, "TCP-NV", 2015: it stops when its rate does not grow any more. */
static double
grow_nv(const struct at *at)
{
    return at->queued < 5 ? 1 : at->queued > 30 ? -1 : 0;
}

/* Fu and Liew, "TCP Veno", 2003: half as fast when three are queued. */
static double
grow_veno(const struct at *at)
{
    return at->queued < 3 ? 1 : 0.5;
}

/* The part of the window that a loss leaves. */

static double
leave_half(const struct at *at)
{
    (void) at;
    return 0.5;
}

static double
leave_cubic(const struct at *at)
{
    (void) at;
    return 0.7;
}

static double
leave_bic(const struct at *at)
{
    return at->window < 14 ? 0.5 : 0.8;
}

static double
leave_highspeed(const struct at *at)
{
    return 1 - highspeed[highspeed_row(at->window)].decrease;
}

static double
leave_htcp(const struct at *at)
{
    return bounded(at->min_rtt_s / at->max_rtt_s, 0.5, 0.8);
}

static double
illinois_leaves(const struct at *at, double longest_s)
{
    double part = (at->rtt_s - at->min_rtt_s) / fmax(longest_s, 1e-6);

    return 1 - bounded(0.125 + (part - 0.1) / 0.7 * 0.375, 0.125, 0.5);
}

static double
leave_illinois(const struct at *at)
{
    return illinois_leaves(at, at->max_rtt_s - at->min_rtt_s);
}

static double
leave_illinois_2(const struct at *at)
{
    return illinois_leaves(at, 2 * (at->max_rtt_s - at->min_rtt_s));
}

static double
leave_scalable(const struct at *at)
{
    (void) at;
    return 0.875;
}

static double
leave_nv(const struct at *at)
{
    (void) at;
    return 0.8;
}

static double
leave_veno(const struct at *at)
{
    return at->queued < 3 ? 0.8 : 0.5;
}

/* Mascolo et al., "TCP Westwood", 2001: what empties the queue, by an estimate
 * that Linux filters. */
static double
leave_westwood(const struct at *at)
{
    return 0.95 * at->min_rtt_s / at->rtt_s;
}

/* Baiocchi, Castellani and Vacirca, "YeAH-TCP", 2007: its queue, but at least an
 * eighth; or half, while it does as Reno. */
static double
leave_yeah(const struct at *at)
{
    return 1 - fmax(fmin(at->queued / at->window, 0.5), 0.125);
}

/* The part of the window that delay leaves. */

/* Hayes and Armitage, "Revisiting TCP congestion control using delay
 * gradients", 2011. */
static double
cut_cdg(const struct at *at)
{
    (void) at;
    return 0.7;
}

static double
cut_yeah(const struct at *at)
{
    return at->queued > 60 ? 0.75 : 1;
}

/* A CC's features.  A variant of Reno is only told from Reno where it does
 * otherwise. */
struct cc {
    const char *name;
    double (*growth)(const struct at *);    /* NULL: see cycle_error(). */
    double (*loss)(const struct at *);
    double (*cut)(const struct at *);       /* NULL: it makes none. */
    bool or_half;               /* A loss may also leave half. */
    bool variant;
};

static const struct cc ccs[] = {
    { "reno", grow_reno, leave_half, NULL, false, false },
    { "bbr", NULL, NULL, NULL, false, false },
    { "bic", grow_bic, leave_bic, NULL, false, false },
    { "cdg", grow_reno, leave_half, cut_cdg, false, true },
    { "cubic", grow_cubic, leave_cubic, NULL, false, false },
    { "highspeed", grow_highspeed, leave_highspeed, NULL, false, false },
    { "htcp", grow_htcp, leave_htcp, NULL, true, false },
    { "hybla", grow_hybla, leave_half, NULL, false, true },
    { "illinois", grow_illinois, leave_illinois, NULL, false, false },
    { "illinois", grow_illinois_2, leave_illinois_2, NULL, false, false },
    { "lp", grow_reno, leave_half, leave_half, false, true },
    { "nv", grow_nv, leave_nv, NULL, false, false },
    { "scalable", grow_scalable, leave_scalable, NULL, false, false },
    { "vegas", grow_vegas, leave_half, NULL, false, true },
    { "veno", grow_veno, leave_veno, NULL, false, true },
    { "westwood", grow_reno, leave_westwood, NULL, false, true },
    { "yeah", grow_reno, leave_yeah, cut_yeah, true, true },
};
#define RENO 0

/* A mean. */
struct mean {
    double sum;
    size_t n;
};

static void
mean_add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->n++;
}

static double
mean_of(const struct mean *mean, double none)
{
    return mean->n ? mean->sum / mean->n : none;
}

/* How much each CC errs. */
struct trial {
    const struct tcon_round *round;
    size_t n;
    struct at at;               /* In the present round. */
    struct mean growth[N_ELEMS(ccs)];
    struct mean losses[N_ELEMS(ccs)];
    struct mean cuts[N_ELEMS(ccs)];
};

static bool
is_lost(const struct trial *t, size_t i)
{
    return t->round[i].flags & TCON_ROUND_LOST;
}

/* Goes to round 'i'. */
static void
go_to(struct trial *t, size_t i)
{
    struct at *at = &t->at;

    at->window = fmax(t->round[i].segs, 1);
    if (t->round[i].rtt_us) {
        at->rtt_s = t->round[i].rtt_us / 1e6;
    }
    at->queued = at->window * (1 - at->min_rtt_s / at->rtt_s);
    at->since_s += at->rtt_s;
    at->since_rounds++;
}

/* From round 'start' to 'end' the window was not reduced.  How much do they
 * err in how much it grew? */
static void
try_growth(struct trial *t, size_t start, size_t end)
{
    double expected[N_ELEMS(ccs)] = { 0 };
    double seen = (double) t->round[end].segs - t->round[start].segs;

    for (size_t i = start; i < end; i++) {
        for (size_t c = 0; c < N_ELEMS(ccs); c++) {
            if (ccs[c].growth) {
                expected[c] += ccs[c].growth(&t->at);
            }
        }
        go_to(t, i + 1);
    }
    if (end < start + BLOCK_ROUNDS_MIN) {
        return;
    }
    for (size_t c = 0; c < N_ELEMS(ccs); c++) {
        if (!isnan(expected[c])) {
            mean_add(&t->growth[c],
                     fabs(expected[c] - seen)
                     / (1 + fmax(fabs(expected[c]), fabs(seen))));
        }
    }
}

static double
ratio_error(double expected, double seen)
{
    return fmin(fabs(expected - seen) / RATIO_ERROR, 1);
}

/* Of the window a loss leaves 'part', which grows by itself in the round in
 * which it is seen: half of what it does in a whole one.  The queue is still
 * there. */
static double
seen_part(const struct cc *cc, const struct at *before, double part)
{
    struct at at = *before;

    at.window = at.after = part * before->window;
    at.max = before->window;
    at.earlier_max = before->after ? before->max : 0;
    at.since_s = at.since_rounds = 0;
    return part + cc->growth(&at) / 2 / before->window;
}

/* A loss has left 'seen' of the window.  How much does a CC err? */
static double
loss_error(const struct cc *cc, const struct at *before, double seen)
{
    double error;

    if (!cc->growth) {
        return 0;
    }
    error = ratio_error(seen_part(cc, before, cc->loss(before)), seen);
    return (cc->or_half
            ? fmin(error, ratio_error(seen_part(cc, before, 0.5), seen))
            : error);
}

/* From round 'i' on something is lost.  Returns the round in which the sender
 * has recovered. */
static size_t
try_loss(struct trial *t, size_t i)
{
    struct at before = t->at;
    double after;

    before.window = fmax(before.window, t->round[i].segs);
    while (i + 1 < t->n && is_lost(t, i)) {
        go_to(t, i++);
    }
    if (i + RECOVERY_ROUNDS >= t->n) {
        return t->n;
    }
    after = fmax(fmin(t->round[i].segs, t->round[i + 1].segs), 1);
    for (size_t c = 0; c < N_ELEMS(ccs); c++) {
        mean_add(&t->losses[c], loss_error(&ccs[c], &before,
                                           after / before.window));
    }
    t->at.earlier_max = t->at.after ? t->at.max : 0;
    t->at.max = before.window;
    t->at.after = after;
    go_to(t, i);
    go_to(t, i + 1);
    t->at.since_s = t->at.since_rounds = 0;
    return i + 1;
}

/* The window falls from round 'i - 1' on, without a loss.  Returns the round
 * in which it falls no more. */
static size_t
try_cut(struct trial *t, size_t i)
{
    const struct at before = t->at;

    go_to(t, i);
    while (i + 1 < t->n && !is_lost(t, i + 1)
           && t->round[i + 1].segs < t->round[i].segs) {
        go_to(t, ++i);
    }
    for (size_t c = 0; c < N_ELEMS(ccs); c++) {
        mean_add(&t->cuts[c],
                 !ccs[c].cut ? 1 : ratio_error(ccs[c].cut(&before),
                                               t->at.window / before.window));
    }
    return i;
}

static bool
is_cut(const struct trial *t, size_t i)
{
    double before = t->round[i - 1].segs, now = t->round[i].segs;

    return now < CUT_PART * before && now < before - 2;
}

static void
try_all(struct trial *t)
{
    size_t start = 0, i;

    /* The end of slow start began before the first round. */
    while (start + 1 < t->n
           && (is_lost(t, start)
               || t->round[start + 1].segs < t->round[start].segs)) {
        start++;
    }
    go_to(t, start);
    i = start + 1;
    while (i < t->n) {
        if (is_lost(t, i) || is_cut(t, i)) {
            try_growth(t, start, i - 1);
            start = is_lost(t, i) ? try_loss(t, i) : try_cut(t, i);
            i = start + 1;
        } else if (i - start == BLOCK_ROUNDS) {
            try_growth(t, start, i);
            start = i++;
        } else {
            i++;
        }
    }
}

/* How alike are the growth now and a number of rounds before?  1: equal. */
static double
likeness(const struct trial *t, size_t rounds)
{
    double with = 0, all = 0;

    for (size_t i = rounds + 1; i < t->n; i++) {
        double now = (double) t->round[i].segs - t->round[i - 1].segs;
        double then = (double) t->round[i - rounds].segs
                      - t->round[i - rounds - 1].segs;

        with += now * then;
        all += (now * now + then * then) / 2;
    }
    return all ? with / all : 0;
}

/* BBR's gains have a cycle of eight round trips, a quarter more in one
 * of them and a quarter less in the next
 * (draft-cardwell-iccrg-bbr-congestion-control-00, 4.3.4.3).  Losses mean
 * nothing to it. */
static double
cycle_error(const struct trial *t)
{
    size_t falls = 0;

    for (size_t i = 1; i < t->n; i++) {
        falls += is_cut(t, i) && !is_lost(t, i) && !is_lost(t, i - 1);
    }
    if (falls < t->n / 16) {
        return 1;
    }
    return bounded(1.5 * (LIKE_A_CYCLE
                          - fmax(likeness(t, 7), likeness(t, 8))), 0, 1);
}

/* A CC's error: 0 to 1. */
static double
error_of(const struct trial *t, size_t c)
{
    struct mean reductions = {
        .sum = t->losses[c].sum + t->cuts[c].sum,
        .n = t->losses[c].n + t->cuts[c].n,
    };
    double growth = mean_of(&t->growth[c], ERROR_UNTOLD);

    return (ccs[c].growth ? (growth + mean_of(&reductions, growth)) / 2
            : cycle_error(t));
}

/* The reason why there is no guess; NULL: none. */
static const char *
obstacle(const struct tcon_seen *seen)
{
    size_t receiver = 0, idle = 0;

    if (seen->n_rounds < ROUNDS_MIN) {
        return "too few round trips were seen";
    }
    for (size_t i = 0; i < seen->n_rounds; i++) {
        receiver += !!(seen->rounds[i].flags & TCON_ROUND_RECEIVER);
        idle += !!(seen->rounds[i].flags & TCON_ROUND_IDLE);
    }
    return (receiver > seen->n_rounds / 4 ? "the peer's window limits it"
            : idle > seen->n_rounds / 4 ? "the guest has too little to send"
            : NULL);
}

static void
trial_init(struct trial *t, const struct tcon_seen *seen)
{
    double min_us = seen->min_rtt_us, max_us = 1;

    memset(t, 0, sizeof *t);
    t->round = seen->rounds;
    t->n = seen->n_rounds;
    for (size_t i = 0; i < t->n; i++) {
        if (t->round[i].rtt_us) {
            min_us = fmin(min_us, t->round[i].rtt_us);
            max_us = fmax(max_us, t->round[i].rtt_us);
        }
    }
    t->at.min_rtt_s = t->at.rtt_s = fmax(min_us, 1) / 1e6;
    t->at.max_rtt_s = fmax(max_us / 1e6, t->at.min_rtt_s);
}

/* Returns the CC that errs least, and sets '*error' and '*confidence'. */
static size_t
choose(const struct trial *t, double *error, double *confidence)
{
    double errors[N_ELEMS(ccs)], sum = 0;
    size_t best = RENO;

    for (size_t c = 0; c < N_ELEMS(ccs); c++) {
        errors[c] = error_of(t, c);
        if (ccs[c].variant && errors[c] + ERROR_VARIANT > errors[RENO]) {
            errors[c] = INFINITY;
        }
        if (errors[c] < errors[best]) {
            best = c;
        }
    }
    for (size_t c = 0; c < N_ELEMS(ccs); c++) {
        if (c == best || strcmp(ccs[c].name, ccs[best].name)) {
            sum += exp((errors[best] - errors[c]) / ERROR_SCALE);
        }
    }
    *error = errors[best];
    *confidence = 1 / sum;
    return best;
}

/* Guesses which CC the guest runs. */
void
tcon_guess(const struct tcon_seen *seen, struct tcon_guess *guess)
{
    struct trial t;
    double error;
    size_t best;

    *guess = (struct tcon_guess) { .why = obstacle(seen) };
    if (seen->ect_syn) {
        /* Its growth and reductions are Reno's, until something is marked. */
        *guess = (struct tcon_guess) { .cc = "dctcp", .confidence = 1 };
    }
    if (guess->cc || guess->why) {
        return;
    }
    trial_init(&t, seen);
    try_all(&t);
    best = choose(&t, &error, &guess->confidence);
    if (error > ERROR_MAX) {
        guess->why = "no CC that is known explains what was seen";
    } else if (guess->confidence < CONFIDENCE_MIN) {
        guess->why = "several CCs explain what was seen";
    } else {
        guess->cc = ccs[best].name;
    }
}
