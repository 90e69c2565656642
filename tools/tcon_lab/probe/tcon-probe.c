// SPDX-License-Identifier: GPL-2.0-only
/*
 * tcon-probe: what a sender's uplink and a bottleneck's queue tell about a run.
 *
 * Writes one JSON object a line.  Records of type
 *   start    the clock: monotonic_s is CLOCK_MONOTONIC at t_s 0; flushed as soon
 *            as nothing will be missed
 *   flow     of a flow that was active in the interval that ended at t_s
 *   summary  of a connection, when the probe ends or its ports are used again
 *   tcon     of a half-flow of tcon.ko (--tcon), at t_s
 *   queue    of the device's leaf qdiscs (--queue), at t_s
 *   socket   what a guest's own stack says of a connection (--socket), at t_s
 *   note     something a reader should know
 *   end      the last; packets dropped or untracked mean numbers are not whole
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"
#include "pcap.h"
#include "queue.h"
#include "ring.h"
#include "sockets.h"
#include "tcon.h"

#define MAX_INTERVAL_MS	60000
#define MAX_GAP_US	60000000
#define MAX_SECONDS	1000000
#define NS_PER_US	UINT64_C(1000)
#define NS_PER_MS	UINT64_C(1000000)
#define NS_PER_S	UINT64_C(1000000000)

/* An interval is over when its last packet cannot still be in a block. */
#define GRACE_NS	(3 * RING_RETIRE_MS * NS_PER_MS)

static const char usage[] =
"Usage: tcon-probe --dev IFACE [--tcon]   RTT, goodput and repeats of flows\n"
"       tcon-probe --queue IFACE          packets waiting in IFACE's qdiscs\n"
"       tcon-probe --socket CONNECTION... TCP_INFO of connections\n"
"       tcon-probe --pcap FILE            flows in a \"Linux cooked\" capture\n"
"  --dev IFACE       the senders' uplink; data leaves by it, ACKs come back\n"
"  --socket PID,ADDRESS,PORT,ADDRESS,PORT\n"
"                    a process in the connection's network namespace, the\n"
"                    connection's end there, the other end; may be repeated\n"
"  --tcon            also write tcon.ko's half-flows at every interval\n"
"  --interval-ms N   length of an interval, 1 .. 60000 (default 100)\n"
"  --loss-gap-us N   repeats further apart than N us, 1 .. 60000000, are of two loss\n"
"                    events (default 100000)\n"
"  --out FILE        write there, not to standard output\n"
"  --seconds N       end after N seconds (default: SIGTERM or SIGINT)\n"
"  --help            this text\n";

struct options {
	const char *dev;
	const char *queue;
	const char *pcap;
	const char *out;
	struct sockets *sockets;
	bool tcon;
	uint64_t interval_ns;
	uint64_t loss_gap_ns;
	uint64_t seconds;	/* 0: no end */
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Let signals in only while waiting, so that none comes between the test of
 * stopped and the wait.
 */
static void wait_until(int fd, uint64_t deadline_ns)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC), left_ns;
	struct timespec left;
	sigset_t none;

	left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	left.tv_sec = (time_t)(left_ns / NS_PER_S);
	left.tv_nsec = (long)(left_ns % NS_PER_S);
	sigemptyset(&none);
	ppoll(&pollfd, 1, &left, &none);
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}

static void print_start(FILE *out, const struct options *o, const char *dev,
			uint64_t start_ns)
{
	json_start(out, "start", 0);
	fputs(",\"dev\":", out);
	json_string(out, dev);
	fprintf(out, ",\"interval_ms\":%" PRIu64 ",\"monotonic_s\":%" PRIu64
		".%06" PRIu64 "}\n", o->interval_ns / NS_PER_MS,
		start_ns / NS_PER_S, start_ns / 1000 % 1000000);
	fflush(out);
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t last_ns(const struct options *o)
{
	return o->seconds ? o->seconds * NS_PER_S : UINT64_MAX / 2;
}

/* Until the end: read packets, and at every interval tcon.ko's flows. */
static void capture(const struct options *o, struct ring *ring,
		    struct flows *table, struct tcon *tcon, uint64_t start_ns)
{
	uint64_t now_ns, sample_ns = o->interval_ns;

	for (;;) {
		ring_read(ring, table);
		now_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
		if (now_ns > GRACE_NS)
			flows_advance(table, now_ns - GRACE_NS);
		if (tcon->nl && now_ns >= sample_ns) {
			tcon_sample(tcon, table->out, now_ns);
			sample_ns = (now_ns / o->interval_ns + 1) *
				o->interval_ns;
		}
		if (stopped || now_ns >= last_ns(o))
			break;
		wait_until(ring->fd, start_ns +
			   min(last_ns(o), tcon->nl ?
			       min(sample_ns, table->end_ns + GRACE_NS) :
			       table->end_ns + GRACE_NS));
	}
	/* The kernel's last packets are in a block that it still has to hand over. */
	wait_until(-1, start_ns + now_ns + GRACE_NS);
	ring_read(ring, table);
	flows_finish(table, now_ns, ring_dropped(ring));
}

static int run_dev(const struct options *o, struct flows *table)
{
	struct tcon tcon = { 0 };
	struct ring ring;
	uint64_t start_ns;

	if (o->tcon && tcon_open(&tcon))
		return -1;
	start_ns = clock_ns(CLOCK_MONOTONIC);
	if (ring_open(&ring, o->dev)) {
		tcon_close(&tcon);
		return -1;
	}
	ring.origin_ns = (int64_t)(clock_ns(CLOCK_REALTIME) -
				   (clock_ns(CLOCK_MONOTONIC) - start_ns));
	print_start(table->out, o, o->dev, start_ns);
	capture(o, &ring, table, &tcon, start_ns);
	ring_close(&ring);
	tcon_close(&tcon);
	return 0;
}

static uint64_t at_start(uint64_t n, uint64_t interval_ns)
{
	return n * interval_ns;
}

/*
 * Later in each interval @n by the golden ratio of it, modulo it.  Flows repeat themselves
 * with each round trip, and an interval may be a whole number of these: at always the same
 * place a queue would show always the same phase.
 */
static uint64_t at_all_places(uint64_t n, uint64_t interval_ns)
{
	uint64_t place = n * 0x9e3779b97f4a7c15 >> 44;	/* in 2^-20 */

	return n * interval_ns + (place * interval_ns >> 20);
}

/* Call sample once in every interval until the end.  Return: what it returns first. */
static int run_sampled(const struct options *o, const char *dev,
		       uint64_t (*at)(uint64_t n, uint64_t interval_ns),
		       int (*sample)(void *what, FILE *out, uint64_t t_ns),
		       void *what, FILE *out)
{
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC), now_ns, sample_ns = 0;
	int ret = 0;

	print_start(out, o, dev, start_ns);
	for (;;) {
		now_ns = clock_ns(CLOCK_MONOTONIC) - start_ns;
		if (stopped || now_ns >= last_ns(o))
			return 0;
		if (now_ns >= sample_ns) {
			ret = sample(what, out, now_ns);
			if (ret)
				return ret;
			sample_ns = at(now_ns / o->interval_ns + 1,
				       o->interval_ns);
		}
		wait_until(-1, start_ns + min(sample_ns, last_ns(o)));
	}
}

static int sample_queue(void *queue, FILE *out, uint64_t t_ns)
{
	return queue_sample(queue, out, t_ns);
}

static int run_queue(const struct options *o, FILE *out)
{
	struct queue queue;
	int ret;

	if (queue_open(&queue, o->queue))
		return -1;
	ret = run_sampled(o, o->queue, at_all_places, sample_queue, &queue, out);
	queue_close(&queue);
	return ret;
}

static int sample_sockets(void *sockets, FILE *out, uint64_t t_ns)
{
	return sockets_sample(sockets, out, t_ns);
}

static int run_sockets(const struct options *o, FILE *out)
{
	int ret = sockets_open(o->sockets);

	if (!ret)
		ret = run_sampled(o, "sockets", at_start, sample_sockets,
				  o->sockets, out);
	sockets_close(o->sockets);
	return ret;
}

/* Return: the number, or 0 after one sentence on stderr. */
static uint64_t parse_number(const char *name, const char *text, uint64_t max)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || !value ||
	    value > max) {
		fprintf(stderr, "tcon-probe: --%s %s is no whole number within 1 .. %"
			PRIu64 "\n", name, text, max);
		return 0;
	}
	return value;
}

/* Return: false after one sentence on stderr. */
static bool parse_option(struct options *o, int c)
{
	uint64_t n;

	switch (c) {
	case 'd':
		o->dev = optarg;
		return true;
	case 'q':
		o->queue = optarg;
		return true;
	case 'p':
		o->pcap = optarg;
		return true;
	case 'o':
		o->out = optarg;
		return true;
	case 'c':
		return sockets_add(o->sockets, optarg);
	case 't':
		o->tcon = true;
		return true;
	case 'i':
		n = parse_number("interval-ms", optarg, MAX_INTERVAL_MS);
		o->interval_ns = n * NS_PER_MS;
		return n;
	case 'g':
		n = parse_number("loss-gap-us", optarg, MAX_GAP_US);
		o->loss_gap_ns = n * NS_PER_US;
		return n;
	case 's':
		o->seconds = parse_number("seconds", optarg, MAX_SECONDS);
		return o->seconds;
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		return false;
	}
}

static bool parse_options(struct options *o, int argc, char **argv)
{
	static const struct option known[] = {
		{ "dev", required_argument, NULL, 'd' },
		{ "queue", required_argument, NULL, 'q' },
		{ "pcap", required_argument, NULL, 'p' },
		{ "socket", required_argument, NULL, 'c' },
		{ "out", required_argument, NULL, 'o' },
		{ "tcon", no_argument, NULL, 't' },
		{ "interval-ms", required_argument, NULL, 'i' },
		{ "loss-gap-us", required_argument, NULL, 'g' },
		{ "seconds", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		if (!parse_option(o, c))
			return false;
	if (optind < argc) {
		fprintf(stderr, "tcon-probe: %s is no option\n", argv[optind]);
		return false;
	}
	if (!!o->dev + !!o->queue + !!o->pcap + !!o->sockets->n != 1) {
		fputs("tcon-probe: give one of --dev, --queue, --socket and --pcap\n",
		      stderr);
		return false;
	}
	if (o->tcon && !o->dev) {
		fputs("tcon-probe: --tcon goes with --dev only\n", stderr);
		return false;
	}
	return true;
}

static int run(const struct options *o, FILE *out)
{
	struct flows *table;
	int ret;

	if (o->queue)
		return run_queue(o, out);
	if (o->sockets->n)
		return run_sockets(o, out);
	table = calloc(1, sizeof(*table));
	if (!table) {
		fputs("tcon-probe: there is no memory\n", stderr);
		return -1;
	}
	table->out = out;
	table->interval_ns = o->interval_ns;
	table->loss_gap_ns = o->loss_gap_ns;
	table->end_ns = o->interval_ns;
	ret = o->pcap ? pcap_read(o->pcap, table) : run_dev(o, table);
	free(table);
	return ret;
}

int main(int argc, char **argv)
{
	static struct sockets sockets;
	struct options o = {
		.interval_ns = 100 * NS_PER_MS,
		.loss_gap_ns = 100 * NS_PER_MS,
		.sockets = &sockets,
	};
	FILE *out = stdout;
	int ret;

	if (!parse_options(&o, argc, argv))
		return 2;
	catch_signals();
	if (o.out)
		out = fopen(o.out, "w");
	if (!out) {
		fprintf(stderr, "tcon-probe: cannot write %s: %s\n", o.out,
			strerror(errno));
		return 1;
	}
	ret = run(&o, out);
	if (fflush(out) || ferror(out) || (out != stdout && fclose(out))) {
		fprintf(stderr, "tcon-probe: cannot write %s: %s\n",
			o.out ? o.out : "standard output", strerror(errno));
		return 1;
	}
	return ret ? 1 : 0;
}
