// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flows.h"
#include "json.h"

/* An application's words before the transfer: iperf3's cookie, for one. */
#define GREETING_BYTES	1000

struct flow_key {
	uint8_t local[SEGMENT_ADDR_BYTES];
	uint8_t remote[SEGMENT_ADDR_BYTES];
	uint16_t local_port;
	uint16_t remote_port;
	uint32_t family;
};

struct flow {
	struct flow_key key;
	struct flow *next;
	uint64_t first_ns;		/* first data past the greeting */
	uint64_t last_ns;		/* last data, or ACK of new data */
	uint64_t resent_ns;		/* last repeat; 0: there was none */
	uint64_t loss_events;		/* since the last record */
	struct estimator estimator;
	struct estimator_counts before;	/* at the last record */
};

static void make_key(struct flow_key *key, const struct segment *s,
		     bool outgoing)
{
	memcpy(key->local, outgoing ? s->src : s->dst, sizeof(key->local));
	memcpy(key->remote, outgoing ? s->dst : s->src, sizeof(key->remote));
	key->local_port = outgoing ? s->sport : s->dport;
	key->remote_port = outgoing ? s->dport : s->sport;
	key->family = s->family;
}

static unsigned int hash_key(const struct flow_key *key)
{
	uint64_t words[sizeof(*key) / sizeof(uint64_t)], h = 0;
	unsigned int i;

	_Static_assert(sizeof(words) == sizeof(*key), "no padding");
	memcpy(words, key, sizeof(words));
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		h = (h ^ words[i]) * 0x9e3779b97f4a7c15u;
	return (unsigned int)(h >> 32) % FLOWS_MAX;
}

static struct flow *find(struct flows *table, const struct flow_key *key)
{
	struct flow *f = table->buckets[hash_key(key)];

	while (f && memcmp(&f->key, key, sizeof(*key)))
		f = f->next;
	return f;
}

static struct flow *insert(struct flows *table, const struct flow_key *key)
{
	unsigned int bucket = hash_key(key);
	struct flow *f;

	if (table->n_flows == FLOWS_MAX)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->key = *key;
	f->next = table->buckets[bucket];
	table->buckets[bucket] = f;
	table->list[table->n_flows++] = f;
	return f;
}

static void print_flow(FILE *out, const struct flow *f, const char *type,
		       uint64_t t_ns)
{
	const struct flow_key *key = &f->key;

	json_start(out, type, t_ns);
	json_endpoints(out, (int)key->family, key->local, key->local_port,
		       key->remote, key->remote_port);
}

static void print_counts(FILE *out, const struct estimator_counts *now,
			 const struct estimator_counts *before)
{
	fprintf(out, ",\"acked_bytes\":%" PRIu64 ",\"sent_bytes\":%" PRIu64
		",\"retransmitted_bytes\":%" PRIu64,
		now->acked_bytes - before->acked_bytes,
		now->sent_bytes - before->sent_bytes,
		now->resent_bytes - before->resent_bytes);
}

static void print_rtt(FILE *out, const struct histogram *h, bool tail)
{
	if (!h->count) {
		fputs(",\"rtt_us\":null", out);
		return;
	}
	fprintf(out, ",\"rtt_us\":{\"min\":%u,\"p50\":%u,", h->min,
		histogram_percentile(h, 50));
	if (tail)
		fprintf(out, "\"p95\":%u,\"p99\":%u,",
			histogram_percentile(h, 95),
			histogram_percentile(h, 99));
	fprintf(out, "\"samples\":%" PRIu64 "}", h->count);
}

static void print_interval(struct flows *table, struct flow *f)
{
	struct estimator *e = &f->estimator;

	if (!memcmp(&f->before, &e->counts, sizeof(f->before)) &&
	    !e->interval_us.count)
		return;
	print_flow(table->out, f, "flow", table->end_ns);
	print_counts(table->out, &e->counts, &f->before);
	fprintf(table->out, ",\"loss_events\":%" PRIu64, f->loss_events);
	print_rtt(table->out, &e->interval_us, false);
	fputs("}\n", table->out);
	f->before = e->counts;
	f->loss_events = 0;
	histogram_reset(&e->interval_us);
}

static void print_seconds(FILE *out, const char *name, uint64_t ns)
{
	fprintf(out, ",\"%s\":%" PRIu64 ".%06" PRIu64, name, ns / 1000000000,
		ns / 1000 % 1000000);
}

/* The connection is over: sum it up and make the entry ready for another. */
static void print_summary(struct flows *table, struct flow *f, uint64_t t_ns)
{
	static const struct estimator_counts nothing;
	struct estimator *e = &f->estimator;

	if (!e->counts.sent_bytes)
		return;
	print_flow(table->out, f, "summary", t_ns);
	print_seconds(table->out, "first_s", f->first_ns);
	print_seconds(table->out, "last_s", f->last_ns);
	print_counts(table->out, &e->counts, &nothing);
	fprintf(table->out, ",\"untimed_packets\":%" PRIu64,
		e->counts.untimed_packets);
	print_rtt(table->out, &e->life_us, true);
	fputs("}\n", table->out);
}

static void restart(struct flows *table, struct flow *f, uint64_t t_ns)
{
	print_interval(table, f);
	print_summary(table, f, t_ns);
	estimator_free(&f->estimator);
	memset(&f->before, 0, sizeof(f->before));
	f->resent_ns = 0;
}

/* A repeat within a gap of the last one belongs to the same losses. */
static void note_repeat(const struct flows *table, struct flow *f,
			uint64_t t_ns)
{
	if (!f->resent_ns || t_ns - f->resent_ns > table->loss_gap_ns)
		f->loss_events++;
	f->resent_ns = t_ns;
}

static void outgoing_segment(struct flows *table, const struct flow_key *key,
			     const struct segment *s, uint64_t t_ns)
{
	struct flow *f = find(table, key);
	struct estimator *e;
	uint64_t resent;

	if (!f) {
		if (!s->syn && !s->payload_bytes)
			return;
		f = insert(table, key);
		if (!f) {
			table->untracked++;
			return;
		}
	}
	e = &f->estimator;
	if (s->syn) {
		if (e->started && (e->counts.sent_bytes || e->nxt != s->seq))
			restart(table, f, t_ns);
		estimator_start(e, s->seq);
	}
	if (s->payload_bytes && e->counts.sent_bytes < GREETING_BYTES)
		f->first_ns = t_ns;
	resent = e->counts.resent_bytes;
	estimator_sent(e, s->seq, s->payload_bytes, s->fin, t_ns);
	if (e->counts.resent_bytes != resent)
		note_repeat(table, f, t_ns);
	if (s->payload_bytes)
		f->last_ns = t_ns;
}

static void incoming_segment(struct flows *table, const struct flow_key *key,
			     const struct segment *s, uint64_t t_ns)
{
	struct flow *f = find(table, key);
	uint64_t acked;

	if (!f || !s->has_ack)
		return;
	acked = f->estimator.counts.acked_bytes;
	estimator_acked(&f->estimator, s->ack, s->sack, s->n_sack, t_ns);
	if (f->estimator.counts.acked_bytes != acked)
		f->last_ns = t_ns;
}

/**
 * flows_segment() - take in a segment
 * @table: the flows
 * @s: the segment
 * @outgoing: it leaves the near side
 * @t_ns: when it passed, since the start
 *
 * Writes the records of the intervals that ended before it.
 */
void flows_segment(struct flows *table, const struct segment *s, bool outgoing,
		   uint64_t t_ns)
{
	struct flow_key key;

	flows_advance(table, t_ns);
	table->packets++;
	make_key(&key, s, outgoing);
	if (outgoing)
		outgoing_segment(table, &key, s, t_ns);
	else
		incoming_segment(table, &key, s, t_ns);
}

/**
 * flows_advance() - write the records of the intervals that have ended
 * @table: the flows
 * @t_ns: no later call is about a time before this one
 */
void flows_advance(struct flows *table, uint64_t t_ns)
{
	unsigned int i;

	if (t_ns < table->end_ns)
		return;
	for (i = 0; i < table->n_flows; i++)
		print_interval(table, table->list[i]);
	fflush(table->out);
	/* In the other intervals that have ended there was nothing. */
	table->end_ns = (t_ns / table->interval_ns + 1) * table->interval_ns;
}

/**
 * flows_finish() - write the last interval, the summaries and the end record
 * @table: the flows, afterwards empty
 * @t_ns: now
 * @dropped: packets that the capture lost
 */
void flows_finish(struct flows *table, uint64_t t_ns, uint64_t dropped)
{
	unsigned int i;

	flows_advance(table, t_ns);
	for (i = 0; i < table->n_flows; i++) {
		print_interval(table, table->list[i]);
		print_summary(table, table->list[i], t_ns);
		estimator_free(&table->list[i]->estimator);
		free(table->list[i]);
	}
	table->n_flows = 0;
	memset(table->buckets, 0, sizeof(table->buckets));
	json_start(table->out, "end", t_ns);
	fprintf(table->out, ",\"packets\":%" PRIu64 ",\"dropped\":%" PRIu64
		",\"untracked\":%" PRIu64 "}\n", table->packets, dropped,
		table->untracked);
	fflush(table->out);
}
