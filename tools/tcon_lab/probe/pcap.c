// SPDX-License-Identifier: GPL-2.0-only
/* Recorded traffic: classic pcap files of link type "Linux cooked" (SLL), the
 * one in which each packet says whether it was leaving.
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>

#include "pcap.h"

#define MAGIC_US	0xa1b2c3d4u
#define MAGIC_NS	0xa1b23c4du
#define LINKTYPE_SLL	113
#define SLL_BYTES	16
#define MAX_CAPTURED	262144u

struct pcap_header {
	uint32_t magic;
	uint16_t major;
	uint16_t minor;
	uint32_t zone;
	uint32_t accuracy;
	uint32_t snaplen;
	uint32_t linktype;
};

struct pcap_packet {
	uint32_t sec;
	uint32_t fraction;
	uint32_t captured;
	uint32_t wire;
};

struct pcap {
	const char *path;
	FILE *file;
	uint64_t tick_ns;	/* unit of pcap_packet.fraction */
	uint64_t start_ns;
	uint64_t last_ns;	/* since the start */
	bool started;
	uint8_t data[MAX_CAPTURED];
};

static int read_header(struct pcap *p)
{
	struct pcap_header h;

	if (fread(&h, sizeof(h), 1, p->file) != 1) {
		fprintf(stderr, "tcon-probe: %s is too short for a pcap file\n",
			p->path);
		return -1;
	}
	if (h.magic != MAGIC_US && h.magic != MAGIC_NS) {
		fprintf(stderr, "tcon-probe: %s is no pcap file of this machine's byte order\n",
			p->path);
		return -1;
	}
	if (h.linktype != LINKTYPE_SLL) {
		fprintf(stderr, "tcon-probe: %s has link type %u, not %u (Linux cooked)\n",
			p->path, h.linktype, LINKTYPE_SLL);
		return -1;
	}
	p->tick_ns = h.magic == MAGIC_NS ? 1 : 1000;
	return 0;
}

static void take_packet(struct pcap *p, struct flows *table,
			const struct pcap_packet *h)
{
	uint64_t ns = h->sec * 1000000000ull + h->fraction * p->tick_ns;
	const uint8_t *d = p->data;
	struct segment s;

	if (!p->started) {
		p->started = true;
		p->start_ns = ns;
	}
	/* A clock that was set back stands still here. */
	if (ns >= p->start_ns + p->last_ns)
		p->last_ns = ns - p->start_ns;
	if (h->captured < SLL_BYTES || h->wire < h->captured)
		return;
	if (segment_parse(&s, (uint16_t)(d[14] << 8 | d[15]), d + SLL_BYTES,
			  h->captured - SLL_BYTES, h->wire - SLL_BYTES))
		flows_segment(table, &s, (d[0] << 8 | d[1]) == PACKET_OUTGOING,
			      p->last_ns);
}

static int read_packets(struct pcap *p, struct flows *table)
{
	struct pcap_packet h;
	unsigned long n;

	for (n = 1; fread(&h, sizeof(h), 1, p->file) == 1; n++) {
		if (h.captured > MAX_CAPTURED ||
		    fread(p->data, 1, h.captured, p->file) != h.captured) {
			fprintf(stderr, "tcon-probe: %s: packet %lu is cut off or malformed\n",
				p->path, n);
			return -1;
		}
		take_packet(p, table, &h);
	}
	return 0;
}

/**
 * pcap_read() - feed a file to the estimator and write all records
 * @path: the file
 * @table: the flows; time starts at the first packet
 *
 * Return: 0, or -1 after one sentence on stderr.
 */
int pcap_read(const char *path, struct flows *table)
{
	struct pcap *p = calloc(1, sizeof(*p));
	int ret = -1;

	if (!p) {
		fprintf(stderr, "tcon-probe: there is no memory to read %s\n",
			path);
		return -1;
	}
	p->path = path;
	p->file = fopen(path, "rb");
	if (!p->file) {
		fprintf(stderr, "tcon-probe: cannot open %s: %s\n", path,
			strerror(errno));
		goto out_free;
	}
	ret = read_header(p);
	if (!ret)
		ret = read_packets(p, table);
	if (!ret)
		flows_finish(table, p->last_ns, 0);
	fclose(p->file);
out_free:
	free(p);
	return ret;
}
