/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */

#include <config.h>

#include "tcon-advise.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "openvswitch/dynamic-string.h"
#include "openvswitch/shash.h"
#include "sset.h"
#include "tcon-advice.h"
#include "tcon-json.h"
#include "util.h"

/* How much of a destination's address counts: what is usually one place. */
#define IPV4_PLEN 24
#define IPV6_PLEN 48

/* Numbers for a median. */
struct numbers {
    double *at;
    size_t n, allocated;
};

struct destination {
    struct tcon_path path;      /* Its medians come at the end. */
    struct numbers min_rtts_us, queues;
    double idle_bytes, limited_bytes; /* Each flow's, by its part of time. */
    struct sset ccs;            /* That its flows run. */
};

struct tcon_advisor {
    struct shash destinations;  /* By prefix. */
};

struct tcon_advisor *
tcon_advisor_create(void)
{
    struct tcon_advisor *advisor = xmalloc(sizeof *advisor);

    shash_init(&advisor->destinations);
    return advisor;
}

void
tcon_advisor_destroy(struct tcon_advisor *advisor)
{
    struct shash_node *node;

    if (!advisor) {
        return;
    }
    SHASH_FOR_EACH (node, &advisor->destinations) {
        struct destination *d = node->data;

        free(d->min_rtts_us.at);
        free(d->queues.at);
        sset_destroy(&d->ccs);
    }
    shash_destroy_free_data(&advisor->destinations);
    free(advisor);
}

/* Returns the prefix of a flow's destination as text, which the caller
 * frees. */
static char *
prefix_of(const struct json *flow)
{
    bool v6 = !strcmp(json_str(flow, "protocol"), "tcp6");
    int family = v6 ? AF_INET6 : AF_INET;
    size_t plen = v6 ? IPV6_PLEN : IPV4_PLEN;
    char text[INET6_ADDRSTRLEN];
    uint8_t addr[16] = { 0 };

    inet_pton(family, json_str(flow, "dst"), addr);
    memset(addr + plen / 8, 0, sizeof addr - plen / 8);
    return xasprintf("%s/%"PRIuSIZE, inet_ntop(family, addr, text,
                                               sizeof text), plen);
}

static void
numbers_add(struct numbers *numbers, double number)
{
    if (numbers->n >= numbers->allocated) {
        numbers->at = x2nrealloc(numbers->at, &numbers->allocated,
                                 sizeof *numbers->at);
    }
    numbers->at[numbers->n++] = number;
}

static int
compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return *a < *b ? -1 : *a > *b;
}

static double
median(struct numbers *numbers)
{
    if (!numbers->n) {
        return 0;
    }
    qsort(numbers->at, numbers->n, sizeof *numbers->at, compare_doubles);
    return (numbers->at[(numbers->n - 1) / 2] + numbers->at[numbers->n / 2])
           / 2;
}

/* A connection that only controls others is idle, and delivers little: flows
 * count by what they deliver. */
static void
add_idle(struct destination *d, const struct json *limits, double bytes)
{
    struct shash_node *node;
    double total_us = 0;

    SHASH_FOR_EACH (node, json_object(limits)) {
        total_us += json_double(limits, node->name);
    }
    if (total_us > 0) {
        d->limited_bytes += bytes;
        d->idle_bytes += bytes * json_double(limits, "idle") / total_us;
    }
}

/* Adds what tcon/flows tells of a flow. */
void
tcon_advisor_add(struct tcon_advisor *advisor, const struct json *flow)
{
    char *prefix = prefix_of(flow);
    struct destination *d = shash_find_data(&advisor->destinations, prefix);
    struct tcon_path *path;

    if (!d) {
        d = xzalloc(sizeof *d);
        sset_init(&d->ccs);
        shash_add(&advisor->destinations, prefix, d);
    }
    free(prefix);
    path = &d->path;
    path->delivered_bytes += json_num(flow, "delivered_bytes");
    path->sent_bytes += json_num(flow, "sent_bytes");
    path->lost_bytes += json_num(flow, "lost_bytes");
    path->marked_bytes += json_num(flow, "ce_bytes");
    path->reordering_flows += !strcmp(json_str(flow, "reason"), "reordering");
    if (json_has(flow, "limited_us")) {
        add_idle(d, json_get(flow, "limited_us"),
                 json_double(flow, "delivered_bytes"));
    }
    if (json_num(flow, "srtt_us") && json_num(flow, "min_rtt_us")) {
        path->flows++;
        numbers_add(&d->min_rtts_us, json_num(flow, "min_rtt_us"));
        numbers_add(&d->queues, (double) json_num(flow, "srtt_us")
                                / json_num(flow, "min_rtt_us"));
    }
    sset_add(&d->ccs, json_str(flow, "cc"));
}

static struct json *
destination_to_json(const char *prefix, struct destination *d)
{
    struct json *ccs = json_array_create_empty();
    struct json *json = json_object_create();
    const struct tcon_advice *advice;
    const char **names;

    d->path.min_rtt_us = median(&d->min_rtts_us);
    d->path.queue = median(&d->queues);
    d->path.idle = (d->limited_bytes > 0
                    ? d->idle_bytes / d->limited_bytes : 0);
    advice = tcon_advise(&d->path);
    names = sset_sort(&d->ccs);
    for (size_t i = 0; i < sset_count(&d->ccs); i++) {
        json_array_add(ccs, json_string_create(names[i]));
    }
    free(names);
    json_object_put_string(json, "destination", prefix);
    json_put_num(json, "flows", d->path.flows);
    json_object_put(json, "ccs", ccs);
    json_put_num(json, "delivered_bytes", d->path.delivered_bytes);
    json_put_num(json, "sent_bytes", d->path.sent_bytes);
    json_put_num(json, "lost_bytes", d->path.lost_bytes);
    json_put_num(json, "marked_bytes", d->path.marked_bytes);
    json_put_num(json, "reordering_flows", d->path.reordering_flows);
    json_put_num(json, "min_rtt_us", d->path.min_rtt_us);
    json_object_put(json, "rtt_to_min", json_real_create(d->path.queue));
    json_object_put(json, "idle_percent",
                    json_real_create(100 * d->path.idle));
    json_object_put_string(json, "kind", advice->kind);
    json_object_put(json, "cc", advice->cc ? json_string_create(advice->cc)
                                           : json_null_create());
    json_object_put_string(json, "why", advice->why);
    json_object_put_string(json, "evidence", advice->evidence);
    return json;
}

struct json *
tcon_advisor_to_json(struct tcon_advisor *advisor)
{
    const struct shash_node **nodes = shash_sort(&advisor->destinations);
    struct json *array = json_array_create_empty();
    struct json *json = json_object_create();

    for (size_t i = 0; i < shash_count(&advisor->destinations); i++) {
        json_array_add(array, destination_to_json(nodes[i]->name,
                                                  nodes[i]->data));
    }
    free(nodes);
    json_object_put(json, "destinations", array);
    return json;
}

static double
percent(const struct json *d, const char *part, const char *all)
{
    return json_num(d, all) ? 100.0 * json_num(d, part) / json_num(d, all) : 0;
}

static void
put_destination(const struct json *d, struct ds *ds)
{
    const struct json *ccs = json_get(d, "ccs");
    const struct json *cc;
    size_t i;

    ds_put_format(ds, "%s: %lld flows, now under", json_str(d, "destination"),
                  json_num(d, "flows"));
    JSON_ARRAY_FOR_EACH (cc, i, ccs) {
        ds_put_format(ds, "%s %s", i ? "," : "", json_string(cc));
    }
    ds_put_format(ds, "\n    seen: %.1f MB, least RTT %.1f ms, RTT %.2f times "
                  "that, lost %.2f %%, marked %.2f %%, idle %.0f %%\n",
                  json_num(d, "delivered_bytes") / 1e6,
                  json_num(d, "min_rtt_us") / 1e3, json_double(d, "rtt_to_min"),
                  percent(d, "lost_bytes", "sent_bytes"),
                  percent(d, "marked_bytes", "delivered_bytes"),
                  json_double(d, "idle_percent"));
    ds_put_format(ds, "    advice: %s, %s\n    evidence: %s\n",
                  json_has(d, "cc") ? json_str(d, "cc") : "keep what there is",
                  json_str(d, "why"), json_str(d, "evidence"));
}

void
tcon_advise_to_text(const struct json *json, struct ds *ds)
{
    const struct json *array = json_get(json, "destinations");
    const struct json *d;
    size_t i;

    if (!json_array_size(array)) {
        ds_put_cstr(ds, "no flows\n");
    }
    JSON_ARRAY_FOR_EACH (d, i, array) {
        put_destination(d, ds);
    }
}
