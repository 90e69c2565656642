/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * tcon/flows, and tcon/advise, which looks at all of them.
 *
 * There may be more flows than vswitchd can look at between two packets that
 * want an OpenFlow flow.  So a command that has begun goes on in tcon_run(), a
 * slice at a time, and its reply comes when all flows were seen.
 */

#include <config.h>

#include "tcon-flows.h"

#include <arpa/inet.h>
#include <math.h>
#include <string.h>

#include "coverage.h"
#include "openvswitch/dynamic-string.h"
#include "openvswitch/list.h"
#include "openvswitch/poll-loop.h"
#include "tcon-advise.h"
#include "tcon-command.h"
#include "tcon-guess.h"
#include "tcon-json.h"
#include "tcon-rules.h"
#include "tcon-text.h"
#include "tcon-words.h"
#include "timeval.h"
#include "unixctl.h"
#include "util.h"

COVERAGE_DEFINE(tcon_flows_slice);

#define DEFAULT_FLOW_LIMIT 1000

/* How long vswitchd's main thread works on flows before it does all else that
 * waits for it. */
#define SLICE_MS 5

#define TCON_X(id, name, text) { name, text },
static const struct tcon_word ecn_modes[] = { TCON_ECN_MODES(TCON_X) };
#undef TCON_X

static const char *const state_names[] = TCON_STATE_NAMES;

static const char *const limit_names[] = {
#define TCON_X(id, name, text) name,
    TCON_LIMITS(TCON_X)
#undef TCON_X
};

static const struct tcon_nl_field flow_fields[] = {
    { TCON_FLOW_A_IFINDEX,          NL_A_U32,    "ifindex" },
    { TCON_FLOW_A_IFNAME,           NL_A_STRING, "port" },
    { TCON_FLOW_A_BRIDGE,           NL_A_STRING, "bridge" },
    { TCON_FLOW_A_FAMILY,           NL_A_U8,     NULL },
    { TCON_FLOW_A_SRC,              NL_A_UNSPEC, NULL },
    { TCON_FLOW_A_DST,              NL_A_UNSPEC, NULL },
    { TCON_FLOW_A_SPORT,            NL_A_U16,    "tp_src" },
    { TCON_FLOW_A_DPORT,            NL_A_U16,    "tp_dst" },
    { TCON_FLOW_A_VLAN,             NL_A_U16,    "dl_vlan" },
    { TCON_FLOW_A_STATE,            NL_A_U8,     NULL },
    { TCON_FLOW_A_REASON,           NL_A_U8,     NULL },
    { TCON_FLOW_A_CC,               NL_A_STRING, "cc" },
    { TCON_FLOW_A_UNA,              NL_A_U32,    "una" },
    { TCON_FLOW_A_NXT,              NL_A_U32,    "nxt" },
    { TCON_FLOW_A_NXT_GUEST,        NL_A_U32,    "nxt_guest" },
    { TCON_FLOW_A_EDGE,             NL_A_U32,    "edge" },
    { TCON_FLOW_A_CWND_BYTES,       NL_A_U32,    NULL },
    { TCON_FLOW_A_SSTHRESH_BYTES,   NL_A_U32,    NULL },
    { TCON_FLOW_A_PACING_BPS,       NL_A_U64,    "pacing_bps" },
    { TCON_FLOW_A_RWND_BYTES,       NL_A_U32,    "rwnd_bytes" },
    { TCON_FLOW_A_PEER_RWND_BYTES,  NL_A_U32,    "peer_rwnd_bytes" },
    { TCON_FLOW_A_INFLIGHT_BYTES,   NL_A_U32,    "inflight_bytes" },
    { TCON_FLOW_A_HELD_BYTES,       NL_A_U32,    "held_bytes" },
    { TCON_FLOW_A_SRTT_US,          NL_A_U32,    NULL },
    { TCON_FLOW_A_RTTVAR_US,        NL_A_U32,    "rttvar_us" },
    { TCON_FLOW_A_MIN_RTT_US,       NL_A_U32,    NULL },
    { TCON_FLOW_A_MSS_BYTES,        NL_A_U32,    "mss_bytes" },
    { TCON_FLOW_A_RATE_BPS,         NL_A_U64,    "rate_bps" },
    { TCON_FLOW_A_RATE_APP_LIMITED, NL_A_FLAG,   "rate_app_limited" },
    { TCON_FLOW_A_SENT_BYTES,       NL_A_U64,    "sent_bytes" },
    { TCON_FLOW_A_REPEATED_BYTES,   NL_A_U64,    "repeated_bytes" },
    { TCON_FLOW_A_ACKED_BYTES,      NL_A_U64,    "acked_bytes" },
    { TCON_FLOW_A_DELIVERED_BYTES,  NL_A_U64,    "delivered_bytes" },
    { TCON_FLOW_A_LOST_BYTES,       NL_A_U64,    "lost_bytes" },
    { TCON_FLOW_A_CE_ACKS,          NL_A_U64,    "ce_acks" },
    { TCON_FLOW_A_AGE_MS,           NL_A_U64,    "age_ms" },
    { TCON_FLOW_A_IDLE_MS,          NL_A_U64,    "idle_ms" },
    { TCON_FLOW_A_PRIORITY,         NL_A_U32,    "priority" },
    { TCON_FLOW_A_CC_INFO,          NL_A_STRING, "cc_info" },
    { TCON_FLOW_A_BUFFER_BYTES,       NL_A_U32,    "buffer_bytes" },
    { TCON_FLOW_A_REPAIRS,          NL_A_U64,    "repairs" },
    { TCON_FLOW_A_REPAIRED_BYTES,   NL_A_U64,    "repaired_bytes" },
    { TCON_FLOW_A_SPURIOUS,         NL_A_U64,    "spurious_repairs" },
    { TCON_FLOW_A_PROBES,           NL_A_U64,    "probes" },
    { TCON_FLOW_A_TIMEOUTS,         NL_A_U64,    "timeouts" },
    { TCON_FLOW_A_ABSORBED,         NL_A_U64,    "absorbed_repeats" },
    { TCON_FLOW_A_HIDDEN_ACKS,      NL_A_U64,    "hidden_acks" },
    { TCON_FLOW_A_LIMITED_US,       NL_A_UNSPEC, NULL },
    { TCON_FLOW_A_ECN,              NL_A_U8,     NULL },
    { TCON_FLOW_A_CE_BYTES,         NL_A_U64,    "ce_bytes" },
    { TCON_FLOW_A_ROUNDS,           NL_A_UNSPEC, NULL },
    { TCON_FLOW_A_ECT_SYN,          NL_A_FLAG,   "ect_syn" },
};

static void
put_address(struct json *json, const char *name, uint8_t family,
            const struct nlattr *attr)
{
    char text[INET6_ADDRSTRLEN];

    if (attr && nl_attr_get_size(attr) == (family == AF_INET ? 4 : 16)) {
        json_object_put_string(json, name,
                               inet_ntop(family, nl_attr_get(attr), text,
                                         sizeof text));
    }
}

/* Puts a number, or null where the kernel sent 'none'. */
static void
put_unless(struct json *json, const char *name, const struct nlattr *attr,
           uint32_t none)
{
    uint32_t value = attr ? nl_attr_get_u32(attr) : none;

    json_object_put(json, name, (value == none ? json_null_create()
                                 : json_integer_create(value)));
}

/* Adds "limited_us" to 'json': the time for which each limit held. */
static void
put_limits(struct json *json, const struct nlattr *attr)
{
    struct json *limits = json_object_create();

    for (size_t i = 0; i < tcon_nl_n_u64s(attr); i++) {
        char number[24];

        snprintf(number, sizeof number, "%"PRIuSIZE, i);
        json_put_num(limits,
                     i < ARRAY_SIZE(limit_names) ? limit_names[i] : number,
                     tcon_nl_get_u64(attr, i));
    }
    json_object_put(json, "limited_us", limits);
}

static void
put_ecn(struct json *json, unsigned int mode)
{
    if (mode < ARRAY_SIZE(ecn_modes)) {
        json_object_put_string(json, "ecn", ecn_modes[mode].name);
        json_object_put_string(json, "ecn_text", ecn_modes[mode].text);
    } else {
        json_object_put_format(json, "ecn", "%u", mode);
        json_object_put_string(json, "ecn_text", "");
    }
}

/* Adds "rounds" to 'json': of each round trip how many segments were in flight
 * at most, its time in us, and TCON_ROUND_* flags. */
static void
put_rounds(struct json *json, const struct tcon_round *rounds, size_t n)
{
    struct json *array = json_array_create_empty();

    for (size_t i = 0; i < n; i++) {
        json_array_add(array, json_array_create_3(
                                  json_integer_create(rounds[i].segs),
                                  json_integer_create(rounds[i].rtt_us),
                                  json_integer_create(rounds[i].flags)));
    }
    json_object_put(json, "rounds", array);
}

/* Adds which CC the guest's own stack seems to run, and by what that was
 * guessed if 'with_rounds'. */
static void
put_guest(struct json *json, struct nlattr *const attrs[], bool with_rounds)
{
    struct tcon_round rounds[TCON_ROUNDS_MAX];
    const struct nlattr *attr = attrs[TCON_FLOW_A_ROUNDS];
    const struct nlattr *min_rtt = attrs[TCON_FLOW_A_MIN_RTT_US];
    struct tcon_seen seen = {
        .rounds = rounds,
        .min_rtt_us = min_rtt ? nl_attr_get_u32(min_rtt) : UINT32_MAX,
        .ect_syn = attrs[TCON_FLOW_A_ECT_SYN],
    };
    struct tcon_guess guess;

    if (attr) {
        seen.n_rounds = MIN(nl_attr_get_size(attr) / sizeof *rounds,
                            TCON_ROUNDS_MAX);
        memcpy(rounds, nl_attr_get(attr), seen.n_rounds * sizeof *rounds);
    }
    tcon_guess(&seen, &guess);
    json_object_put(json, "guess", (guess.cc ? json_string_create(guess.cc)
                                    : json_null_create()));
    json_object_put(json, "guess_confidence",
                    json_real_create(round(100 * guess.confidence) / 100));
    if (guess.why) {
        json_object_put_string(json, "guess_why", guess.why);
    }
    if (with_rounds) {
        put_rounds(json, rounds, seen.n_rounds);
    }
}

static struct json *
flow_to_json(struct nlattr *const attrs[], bool named, bool with_rounds)
{
    unsigned int reason = 0, state = 0;
    struct json *json = json_object_create();
    uint8_t family = AF_INET;

    if (attrs[TCON_FLOW_A_FAMILY]) {
        family = nl_attr_get_u8(attrs[TCON_FLOW_A_FAMILY]);
    }
    if (attrs[TCON_FLOW_A_STATE]) {
        state = nl_attr_get_u8(attrs[TCON_FLOW_A_STATE]);
    }
    if (attrs[TCON_FLOW_A_REASON]) {
        reason = nl_attr_get_u8(attrs[TCON_FLOW_A_REASON]);
    }
    tcon_nl_to_json(attrs, flow_fields, ARRAY_SIZE(flow_fields), json);
    json_object_put_string(json, "protocol",
                           family == AF_INET ? "tcp" : "tcp6");
    put_address(json, "src", family, attrs[TCON_FLOW_A_SRC]);
    put_address(json, "dst", family, attrs[TCON_FLOW_A_DST]);
    json_put_name(json, "state", state_names, ARRAY_SIZE(state_names), state);
    if (reason < n_tcon_reasons) {
        json_object_put_string(json, "reason", tcon_reasons[reason].name);
        json_object_put_string(json, "reason_text",
                               tcon_reasons[reason].text);
    } else {
        json_object_put_format(json, "reason", "%u", reason);
        json_object_put_string(json, "reason_text", "");
    }
    if (attrs[TCON_FLOW_A_ECN]) {
        put_ecn(json, nl_attr_get_u8(attrs[TCON_FLOW_A_ECN]));
    }
    put_unless(json, "srtt_us", attrs[TCON_FLOW_A_SRTT_US], 0);
    put_unless(json, "min_rtt_us", attrs[TCON_FLOW_A_MIN_RTT_US], UINT32_MAX);
    put_unless(json, "cwnd_bytes", attrs[TCON_FLOW_A_CWND_BYTES], 0);
    put_unless(json, "ssthresh_bytes", attrs[TCON_FLOW_A_SSTHRESH_BYTES],
               INT32_MAX);
    if (!attrs[TCON_FLOW_A_PACING_BPS]) {
        json_put_num(json, "pacing_bps", 0);
    }
    if (attrs[TCON_FLOW_A_LIMITED_US]) {
        put_limits(json, attrs[TCON_FLOW_A_LIMITED_US]);
    }
    if (state == TCON_STATE_OBSERVED && named) {
        put_guest(json, attrs, with_rounds);
    }
    return json;
}

static void
put_us_text(struct ds *ds, const char *title, const struct json *flow,
            const char *name)
{
    if (json_has(flow, name)) {
        ds_put_format(ds, "%s %.3f ms", title, json_num(flow, name) / 1e3);
    } else {
        ds_put_format(ds, "%s unknown", title);
    }
}

static void
put_bytes_text(struct ds *ds, const char *title, const struct json *flow,
               const char *name)
{
    if (json_has(flow, name)) {
        ds_put_format(ds, "%s %lld", title, json_num(flow, name));
    } else {
        ds_put_format(ds, "%s none", title);
    }
}

static void
put_endpoint(struct ds *ds, const struct json *flow, const char *addr,
             const char *port)
{
    bool v6 = !strcmp(json_str(flow, "protocol"), "tcp6");

    ds_put_format(ds, "%s%s%s:%lld", v6 ? "[" : "", json_str(flow, addr),
                  v6 ? "]" : "", json_num(flow, port));
}

static bool
has_reason(const struct json *flow)
{
    return strcmp(json_str(flow, "reason"),
                  tcon_reasons[TCON_REASON_NONE].name);
}

static void
put_flow_head(struct ds *ds, const struct json *flow)
{
    ds_put_format(ds, "%s ", json_str(flow, "protocol"));
    put_endpoint(ds, flow, "src", "tp_src");
    ds_put_cstr(ds, " > ");
    put_endpoint(ds, flow, "dst", "tp_dst");
    ds_put_format(ds, " in_port %s", json_str(flow, "port"));
    if (json_has(flow, "dl_vlan")) {
        ds_put_format(ds, " dl_vlan %lld", json_num(flow, "dl_vlan"));
    }
    ds_put_format(ds, "\n    %s, cc %s", json_str(flow, "state"),
                  json_str(flow, "cc"));
    if (json_has(flow, "priority")) {
        ds_put_format(ds, " (rule of priority %lld)",
                      json_num(flow, "priority"));
    }
    if (has_reason(flow)) {
        ds_put_format(ds, ", reason %s: %s", json_str(flow, "reason"),
                      json_str(flow, "reason_text"));
    }
    ds_put_char(ds, '\n');
}

static void
put_flow_rates(struct ds *ds, const struct json *flow)
{
    put_us_text(ds, "    srtt", flow, "srtt_us");
    put_us_text(ds, " rttvar", flow, "rttvar_us");
    put_us_text(ds, " min_rtt", flow, "min_rtt_us");
    ds_put_format(ds, "\n    rate %.3f Mbit/s%s pacing ",
                  json_num(flow, "rate_bps") / 1e6,
                  json_yes(flow, "rate_app_limited") ? " (app-limited)" : "");
    if (json_num(flow, "pacing_bps")) {
        ds_put_format(ds, "%.3f Mbit/s\n", json_num(flow, "pacing_bps") / 1e6);
    } else {
        ds_put_cstr(ds, "none\n");
    }
}

/* Writes nothing where tcon.ko is older than loss repair. */
static void
put_flow_repair(struct ds *ds, const struct json *flow)
{
    if (json_has(flow, "buffer_bytes")) {
        ds_put_format(ds, "    buffer %lld bytes, repairs %lld (%lld bytes, "
                      "%lld spurious) probes %lld timeouts %lld "
                      "absorbed_repeats %lld hidden_acks %lld\n",
                      json_num(flow, "buffer_bytes"), json_num(flow, "repairs"),
                      json_num(flow, "repaired_bytes"),
                      json_num(flow, "spurious_repairs"),
                      json_num(flow, "probes"), json_num(flow, "timeouts"),
                      json_num(flow, "absorbed_repeats"),
                      json_num(flow, "hidden_acks"));
    }
}

/* Writes how the CC learns of ECN marks, or why it does not.  Nothing where
 * the CC does not use ECN. */
static void
put_flow_ecn(struct ds *ds, const struct json *flow)
{
    if (json_has(flow, "ecn")
        && strcmp(json_str(flow, "ecn"), ecn_modes[TCON_ECN_UNUSED].name)) {
        ds_put_format(ds, "    ecn %s (%s), %lld bytes marked\n",
                      json_str(flow, "ecn"), json_str(flow, "ecn_text"),
                      json_num(flow, "ce_bytes"));
    }
}

/* Writes which CC the guest's own stack seems to run, where that is what
 * decides. */
static void
put_flow_guess(struct ds *ds, const struct json *flow)
{
    if (json_has(flow, "guess")) {
        ds_put_format(ds, "    guest's own cc %s, confidence %.2f\n",
                      json_str(flow, "guess"),
                      json_double(flow, "guess_confidence"));
    } else if (json_has(flow, "guess_why")) {
        ds_put_format(ds, "    guest's own cc unknown: %s\n",
                      json_str(flow, "guess_why"));
    }
}

/* Returns for how long the flow was limited at all. */
static double
limited_us(const struct json *flow)
{
    const struct json *limits = json_get(flow, "limited_us");
    double total_us = 0;

    for (size_t i = 0; limits && i < ARRAY_SIZE(limit_names); i++) {
        total_us += json_num(limits, limit_names[i]);
    }
    return total_us;
}

/* Writes the share of each limit in the time that was counted, if any was. */
static void
put_flow_limits(struct ds *ds, const struct json *flow)
{
    const struct json *limits = json_get(flow, "limited_us");
    double total_us = limited_us(flow);

    if (total_us > 0) {
        ds_put_cstr(ds, "    limited by");
        for (size_t i = 0; i < ARRAY_SIZE(limit_names); i++) {
            ds_put_format(ds, " %s %.1f %%", limit_names[i],
                          100 * json_num(limits, limit_names[i]) / total_us);
        }
        ds_put_char(ds, '\n');
    }
}

/* Writes all that is known of a flow. */
static void
flow_to_text(const struct json *flow, struct ds *ds)
{
    put_flow_head(ds, flow);
    ds_put_format(ds, "    una %lld nxt %lld nxt_guest %lld edge %lld\n",
                  json_num(flow, "una"), json_num(flow, "nxt"),
                  json_num(flow, "nxt_guest"), json_num(flow, "edge"));
    put_bytes_text(ds, "    cwnd", flow, "cwnd_bytes");
    put_bytes_text(ds, " ssthresh", flow, "ssthresh_bytes");
    ds_put_format(ds, " rwnd %lld peer_rwnd %lld inflight %lld held %lld mss "
                  "%lld bytes\n", json_num(flow, "rwnd_bytes"),
                  json_num(flow, "peer_rwnd_bytes"),
                  json_num(flow, "inflight_bytes"),
                  json_num(flow, "held_bytes"), json_num(flow, "mss_bytes"));
    put_flow_rates(ds, flow);
    ds_put_format(ds, "    sent %lld repeated %lld acked %lld delivered %lld "
                  "lost %lld bytes, ce_acks %lld\n",
                  json_num(flow, "sent_bytes"),
                  json_num(flow, "repeated_bytes"),
                  json_num(flow, "acked_bytes"),
                  json_num(flow, "delivered_bytes"),
                  json_num(flow, "lost_bytes"), json_num(flow, "ce_acks"));
    put_flow_repair(ds, flow);
    put_flow_ecn(ds, flow);
    put_flow_limits(ds, flow);
    put_flow_guess(ds, flow);
    ds_put_format(ds, "    age %.3f s idle %.3f s\n",
                  json_num(flow, "age_ms") / 1e3,
                  json_num(flow, "idle_ms") / 1e3);
    if (json_has(flow, "cc_info") && *json_str(flow, "cc_info")) {
        ds_put_format(ds, "    %s: %s\n", json_str(flow, "cc"),
                      json_str(flow, "cc_info"));
    }
}

/* The table: one line for each flow, of at most 100 columns as long as the CC
 * is one that Linux or TCon has. */

#define ENDPOINT_COLUMNS 21         /* Any IPv4 address and port. */

struct row {
    char *port;                     /* Of the guest; its rows are below. */
    long long int order_bps;        /* Its rate, or 0 if it has ended. */
    char *guest, *peer, *cc;
    char *rest;                     /* The columns behind the CC. */
};

/* Appends 'value' with at most 'digits' digits and a unit, right-aligned.
 * Each of 'units' is a thousand of the one before it; the first has no
 * decimals. */
static void
put_scaled(struct ds *ds, double value, int digits, const char *const units[])
{
    int decimals = 0;
    char text[16];

    while (value >= 999.5 && units[1]) {
        value /= 1000;
        units++;
        decimals = digits - 1;
    }
    do {
        snprintf(text, sizeof text, "%.*f", decimals, value);
    } while (strlen(text) > digits + (decimals > 0) && decimals-- > 0);
    ds_put_cstr(ds, text);
    ds_put_cstr(ds, *units);
}

/* Appends a column of 'width': 'value' as put_scaled() has it, or nothing if
 * it is zero, which here means unknown. */
static void
put_column(struct ds *ds, int width, long long int value, int digits,
           const char *const units[])
{
    struct ds text = DS_EMPTY_INITIALIZER;

    if (value) {
        put_scaled(&text, value, digits, units);
    }
    ds_put_format(ds, " %*s", width, ds_cstr(&text));
    ds_destroy(&text);
}

/* Appends why the flow sends no more: the reason for which less is enforced,
 * or what limited it for the longest time, and its share. */
static void
put_why(struct ds *ds, const struct json *flow)
{
    const struct json *limits = json_get(flow, "limited_us");
    double total_us = limited_us(flow);
    size_t longest = 0;

    if (has_reason(flow)) {
        ds_put_format(ds, " %s", json_str(flow, "reason"));
    } else if (total_us > 0) {
        for (size_t i = 1; i < ARRAY_SIZE(limit_names); i++) {
            if (json_num(limits, limit_names[i])
                > json_num(limits, limit_names[longest])) {
                longest = i;
            }
        }
        ds_put_format(ds, " %s %.0f%%", limit_names[longest],
                      100 * json_num(limits, limit_names[longest]) / total_us);
    }
}

static void
row_init(struct row *row, const struct json *flow)
{
    static const char *const bps[] = { "", "k", "M", "G", "T", NULL };
    static const char *const bytes[] = { "", "k", "M", "G", NULL };
    static const char *const us[] = { "us", "ms", "s", NULL };
    const char *closed = tcon_reasons[TCON_REASON_CLOSED].name;
    const char *state = json_str(flow, "state");
    struct ds ds = DS_EMPTY_INITIALIZER;

    row->port = (json_has(flow, "dl_vlan")
                 ? xasprintf("port %s dl_vlan %lld", json_str(flow, "port"),
                             json_num(flow, "dl_vlan"))
                 : xasprintf("port %s", json_str(flow, "port")));
    row->order_bps = (strcmp(json_str(flow, "reason"), closed)
                      ? json_num(flow, "rate_bps") : 0);
    row->cc = xstrdup(json_str(flow, "cc"));
    put_endpoint(&ds, flow, "src", "tp_src");
    row->guest = ds_steal_cstr(&ds);
    put_endpoint(&ds, flow, "dst", "tp_dst");
    row->peer = ds_steal_cstr(&ds);
    ds_put_format(&ds, "%-8.*s", (int) strcspn(state, "-"), state);
    put_column(&ds, 5, json_num(flow, "rate_bps"), 3, bps);
    put_column(&ds, 5, json_num(flow, "srtt_us"), 2, us);
    put_column(&ds, 4, json_num(flow, "cwnd_bytes"), 2, bytes);
    put_why(&ds, flow);
    row->rest = ds_steal_cstr(&ds);
}

static void
row_uninit(struct row *row)
{
    free(row->port);
    free(row->guest);
    free(row->peer);
    free(row->cc);
    free(row->rest);
}

/* By port, and there the fastest first, those that have ended last. */
static int
compare_rows(const void *a_, const void *b_)
{
    const struct row *a = a_, *b = b_;
    int by_port = strcmp(a->port, b->port);

    return (by_port ? by_port
            : a->order_bps > b->order_bps ? -1
            : a->order_bps < b->order_bps);
}

/* Writes a row.  Endpoints that are too long, as most of IPv6 are, have a line
 * of their own. */
static void
put_row(struct ds *ds, const struct row *row, int cc_columns)
{
    bool apart = (strlen(row->guest) > ENDPOINT_COLUMNS
                  || strlen(row->peer) > ENDPOINT_COLUMNS);

    if (apart) {
        ds_put_format(ds, "%s %s\n", row->guest, row->peer);
    }
    ds_put_format(ds, "%-*s %-*s %-*s %s",
                  ENDPOINT_COLUMNS, apart ? "" : row->guest,
                  ENDPOINT_COLUMNS, apart ? "" : row->peer,
                  cc_columns, row->cc, row->rest);
    ds_chomp(ds, ' ');
    ds_put_char(ds, '\n');
}

static void
put_table(struct ds *ds, struct row *rows, size_t n)
{
    static const struct row head = {
        .guest = "GUEST", .peer = "PEER", .cc = "CC",
        .rest = "STATE     RATE   RTT CWND WHY NOT MORE",
    };
    size_t cc_columns = strlen(head.cc);

    qsort(rows, n, sizeof *rows, compare_rows);
    for (size_t i = 0; i < n; i++) {
        cc_columns = MAX(cc_columns, strlen(rows[i].cc));
    }
    put_row(ds, &head, cc_columns);
    for (size_t i = 0; i < n; i++) {
        if (!i || strcmp(rows[i].port, rows[i - 1].port)) {
            ds_put_format(ds, "%s\n", rows[i].port);
        }
        put_row(ds, &rows[i], cc_columns);
    }
}

/* Commands under way. */

enum flows_form {
    FLOWS_TABLE, FLOWS_VERBOSE, FLOWS_JSON, FLOWS_ADVICE, FLOWS_COUNT,
};

struct flows_dump {
    struct ovs_list node;           /* In 'dumps'. */
    struct unixctl_conn *conn;      /* Waits for the reply. */
    struct tcon_nl nl;
    enum flows_form form;
    bool with_rounds;               /* FLOWS_JSON */
    uint64_t limit;
    uint64_t n_flows;               /* How many there are. */

    /* Of those within the limit, what the form wants. */
    struct json *json;              /* FLOWS_JSON: an array. */
    struct ds text;                 /* FLOWS_VERBOSE */
    struct tcon_advisor *advisor;   /* FLOWS_ADVICE */
    bool as_json;                   /* Its advice. */
    uint32_t priority;              /* FLOWS_COUNT: what flows obey that count, */
    char *forecast;                 /* and what is said of them. */
    uint64_t n_counted;
    struct row *rows;               /* FLOWS_TABLE */
    size_t n_rows, allocated_rows;
};

static struct ovs_list dumps = OVS_LIST_INITIALIZER(&dumps);

static void
flows_dump_add(struct flows_dump *dump, const struct json *flow)
{
    if (dump->form == FLOWS_JSON) {
        /* Text takes a tenth of the memory. */
        json_array_add(dump->json, json_serialized_object_create(flow));
    } else if (dump->form == FLOWS_VERBOSE) {
        flow_to_text(flow, &dump->text);
    } else if (dump->form == FLOWS_ADVICE) {
        tcon_advisor_add(dump->advisor, flow);
    } else {
        if (dump->n_rows >= dump->allocated_rows) {
            dump->rows = x2nrealloc(dump->rows, &dump->allocated_rows,
                                    sizeof *dump->rows);
        }
        row_init(&dump->rows[dump->n_rows++], flow);
    }
}

/* Would the flow obey a new rule of this priority that selects it? */
static bool
would_obey(struct nlattr *attrs[], uint32_t priority)
{
    const struct nlattr *obeyed = attrs[TCON_FLOW_A_PRIORITY];

    return !obeyed || nl_attr_get_u32(obeyed) <= priority;
}

static bool
flow_cb(struct nlattr *top[], void *dump_)
{
    struct nlattr *attrs[TCON_FLOW_A_MAX + 1];
    struct flows_dump *dump = dump_;
    struct json *flow;

    if (dump->form == FLOWS_COUNT) {
        dump->n_counted += (top[TCON_A_FLOW]
                            && tcon_nl_parse(top[TCON_A_FLOW], flow_fields,
                                             ARRAY_SIZE(flow_fields), attrs,
                                             ARRAY_SIZE(attrs))
                            && would_obey(attrs, dump->priority));
        return true;
    }
    if (top[TCON_A_FLOW] && dump->n_flows++ < dump->limit
        && tcon_nl_parse(top[TCON_A_FLOW], flow_fields,
                         ARRAY_SIZE(flow_fields), attrs, ARRAY_SIZE(attrs))) {
        flow = flow_to_json(attrs, (dump->form == FLOWS_JSON
                                     || dump->form == FLOWS_VERBOSE),
                            dump->with_rounds);
        flows_dump_add(dump, flow);
        json_destroy(flow);
    }
    return true;
}

static void
flows_dump_reply(struct flows_dump *dump)
{
    uint64_t n_more = dump->n_flows - MIN(dump->n_flows, dump->limit);

    if (dump->form == FLOWS_JSON) {
        struct json *json = json_object_create();

        json_object_put(json, "flows", dump->json);
        json_put_num(json, "more", n_more);
        dump->json = NULL;
        tcon_reply(dump->conn, json, true, NULL, NULL);
        return;
    }
    if (dump->form == FLOWS_COUNT) {
        ds_put_format(&dump->text, "dry run, nothing is changed: %"PRIu64
                      " flow%s %s\n", dump->n_counted,
                      dump->n_counted == 1 ? "" : "s", dump->forecast);
    }
    if (dump->form == FLOWS_ADVICE) {
        tcon_reply(dump->conn, tcon_advisor_to_json(dump->advisor),
                   dump->as_json, tcon_advise_to_text, NULL);
        return;
    }
    if (dump->form == FLOWS_TABLE) {
        put_table(&dump->text, dump->rows, dump->n_rows);
    }
    if (n_more) {
        ds_put_format(&dump->text, "%"PRIu64" more\n", n_more);
    }
    unixctl_command_reply(dump->conn, ds_cstr(&dump->text));
}

static void
flows_dump_destroy(struct flows_dump *dump)
{
    for (size_t i = 0; i < dump->n_rows; i++) {
        row_uninit(&dump->rows[i]);
    }
    free(dump->rows);
    ds_destroy(&dump->text);
    tcon_advisor_destroy(dump->advisor);
    free(dump->forecast);
    json_destroy(dump->json);
    tcon_nl_close(&dump->nl);
    free(dump);
}

/* Works on the command that waits longest, for a slice of time. */
void
tcon_flows_run(void)
{
    long long int end_ms = time_msec() + SLICE_MS;
    struct tcon_error error;
    struct flows_dump *dump;
    bool done = false;
    int err = 0;

    if (ovs_list_is_empty(&dumps)) {
        return;
    }
    COVERAGE_INC(tcon_flows_slice);
    dump = CONTAINER_OF(ovs_list_pop_front(&dumps), struct flows_dump, node);
    do {
        done = tcon_nl_stream_run(&dump->nl, flow_cb, dump, &err, &error);
    } while (!done && time_msec() < end_ms);
    if (!done) {
        ovs_list_push_back(&dumps, &dump->node);
        return;
    }
    if (err) {
        unixctl_command_reply_error(dump->conn, error.text);
    } else {
        flows_dump_reply(dump);
    }
    flows_dump_destroy(dump);
}

void
tcon_flows_wait(void)
{
    if (!ovs_list_is_empty(&dumps)) {
        poll_immediate_wake();
    }
}

/* Begins to look for the flows of 'bridge' that 'match' selects; NULL: all.
 * With rounds if the guests' CCs are to be named.  Returns NULL, with a
 * sentence, if tcon.ko does not answer.  Takes 'nl' over. */
static struct flows_dump *
flows_dump_begin(struct tcon_nl *nl, const char *bridge,
                 const struct tcon_match *match, bool with_rounds,
                 struct tcon_error *error)
{
    struct ofpbuf *request = tcon_nl_request(nl, TCON_CMD_GET_FLOW);
    struct flows_dump *dump;

    nl_msg_put_string(request, TCON_A_BRIDGE, bridge);
    if (match) {
        tcon_nl_put_match(request, match);
    }
    if (with_rounds) {
        nl_msg_put_flag(request, TCON_A_ROUNDS);
    }
    if (tcon_nl_stream_begin(nl, request, error)) {
        tcon_nl_close(nl);
        return NULL;
    }
    dump = xzalloc(sizeof *dump);
    dump->nl = *nl;
    ds_init(&dump->text);
    return dump;
}

/* The command. */

struct flows_args {
    struct tcon_flow_spec spec;
    bool has_flow;
    bool has_limit;
    bool with_rounds;               /* Asks tcon.ko for them. */
    uint64_t limit;
};

static bool
parse_flows_arg(const char *arg, struct flows_args *args,
                struct tcon_error *error)
{
    bool *had = strncmp(arg, "limit=", 6) ? &args->has_flow : &args->has_limit;

    if (*had) {
        tcon_error_set(error, "'%.64s': %s is given twice", arg,
                       had == &args->has_flow ? "flow=" : "limit=");
        return false;
    }
    *had = true;
    if (had == &args->has_limit) {
        if (!tcon_uint_parse(arg + 6, UINT32_MAX, &args->limit)
            || !args->limit) {
            tcon_error_set(error, "'%.40s': not a number from 1 to "
                           "%"PRIu32, arg, UINT32_MAX);
            return false;
        }
        return true;
    }
    if (!tcon_parse_flow(arg, &args->spec, error)) {
        return false;
    }
    if (args->spec.has_priority) {
        tcon_error_set(error, "priority: flows have none, only rules do");
        return false;
    }
    return true;
}

/* Reads the words of the command and begins it.  Returns NULL, with a
 * sentence, if something is wrong. */
static struct flows_dump *
flows_begin(int argc, const char *argv[], struct flows_args *args,
            struct tcon_error *error)
{
    const struct tcon_bridge *bridge;
    struct tcon_rule place = { .n_params = 0 };
    struct tcon_nl nl;

    bridge = tcon_bridge_lookup(argv[1], error);
    if (!bridge) {
        return NULL;
    }
    for (int i = 2; i < argc; i++) {
        if (!parse_flows_arg(argv[i], args, error)) {
            return NULL;
        }
    }
    if (!tcon_nl_open(&nl, error)) {
        return NULL;
    }
    place.match = args->spec.match;
    ovs_strlcpy(place.bridge, argv[1], sizeof place.bridge);
    if (!tcon_resolve_guest_port(bridge, &nl, &place, error)) {
        tcon_nl_close(&nl);
        return NULL;
    }
    return flows_dump_begin(&nl, argv[1],
                            args->has_flow ? &place.match : NULL,
                            args->with_rounds, error);
}

/* tcon/flows [-v] [-j [-r]] BRIDGE [flow=MATCH] [limit=N].  JSON has all that -v
 * tells, also without it. */
static void
tcon_unixctl_flows(struct unixctl_conn *conn, int argc, const char *argv[],
                   void *aux OVS_UNUSED)
{
    struct flows_args args = { .limit = DEFAULT_FLOW_LIMIT };
    bool verbose = tcon_take_option(&argc, argv, "-v");
    bool with_rounds = tcon_take_option(&argc, argv, "-r");
    bool as_json = tcon_take_json(conn, &argc, argv);
    struct flows_dump *dump;
    struct tcon_error error;

    if (with_rounds && !as_json) {
        unixctl_command_reply_error(conn, "-r: only with -j");
        return;
    }
    args.with_rounds = as_json || verbose;
    dump = flows_begin(argc, argv, &args, &error);
    if (!dump) {
        unixctl_command_reply_error(conn, error.text);
        return;
    }
    dump->conn = conn;
    dump->limit = args.limit;
    dump->with_rounds = with_rounds;
    dump->form = (as_json ? FLOWS_JSON
                  : verbose ? FLOWS_VERBOSE
                  : FLOWS_TABLE);
    if (as_json) {
        dump->json = json_array_create_empty();
    }
    ovs_list_push_back(&dumps, &dump->node);
}

/* tcon/advise [-j] BRIDGE [flow=MATCH] */
static void
tcon_unixctl_advise(struct unixctl_conn *conn, int argc, const char *argv[],
                    void *aux OVS_UNUSED)
{
    struct flows_args args = { .limit = UINT64_MAX };
    bool as_json = tcon_take_json(conn, &argc, argv);
    struct flows_dump *dump;
    struct tcon_error error;

    for (int i = 2; i < argc; i++) {
        if (!strncmp(argv[i], "limit=", 6)) {
            unixctl_command_reply_error(conn, "limit=: all flows are looked "
                                        "at");
            return;
        }
    }
    dump = flows_begin(argc, argv, &args, &error);
    if (!dump) {
        unixctl_command_reply_error(conn, error.text);
        return;
    }
    dump->conn = conn;
    dump->limit = args.limit;
    dump->form = FLOWS_ADVICE;
    dump->as_json = as_json;
    dump->advisor = tcon_advisor_create();
    ovs_list_push_back(&dumps, &dump->node);
}

/* Begins to count the flows that would obey 'rule' if it were set now, and tells
 * 'conn' their number, with 'forecast' behind it.  Returns false, with a sentence, if
 * tcon.ko does not answer. */
bool
tcon_flows_count(struct unixctl_conn *conn, const struct tcon_rule *rule,
                 const char *forecast, struct tcon_error *error)
{
    struct flows_dump *dump;
    struct tcon_nl nl;

    dump = (tcon_nl_open(&nl, error)
            ? flows_dump_begin(&nl, rule->bridge, &rule->match, false, error)
            : NULL);
    if (!dump) {
        return false;
    }
    dump->conn = conn;
    dump->limit = UINT64_MAX;
    dump->form = FLOWS_COUNT;
    dump->priority = rule->priority;
    dump->forecast = xstrdup(forecast);
    ovs_list_push_back(&dumps, &dump->node);
    return true;
}

void
tcon_flows_init(void)
{
    static const struct tcon_command advise = {
        "tcon/advise", "[-j] bridge [flow=MATCH]",
        "says which CC fits the paths of the flows that there are", "br0",
        1, 2, tcon_unixctl_advise,
    };
    static const struct tcon_command flows = {
        "tcon/flows", "[-v] [-j [-r]] bridge [flow=MATCH] [limit=N]",
        "shows flows: what is enforced, and what keeps them from more",
        "-v br0 flow=in_port=vnet0", 1, 3, tcon_unixctl_flows,
    };

    tcon_command_register(&advise);
    tcon_command_register(&flows);
}
