// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CC of TCon's on the floor sender/, which looks at the packets of a sender that has its own.
 *
 *	rebuilt CC <packets		a line for each: NS guest|peer BYTES HEX
 *
 * HEX is what the frame of BYTES begins with, all of its headers.  For each of the peer's it prints
 * what TCon would say then: acknowledged, cwnd and ssthresh in bytes, pacing rate in bits/s.  Nothing
 * comes of that: TCon holds, repairs and writes nothing here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/module.h>
#include <linux/time64.h>

#include "sender/ca.h"
#include "sender/handshake.h"
#include "sender/sent.h"

#define HEADERS_MAX	160
#define ETHERNET_BYTES	1514

static const char *wanted;
static const struct tcon_cc_ops *found;
static struct tcon_track track;
static struct tcon_pool pool;
static struct tcon_budget budget = { .pool = &pool };

int tcon_cc_register(struct tcon_cc_ops *ops)
{
	if (!strcmp(ops->name, wanted))
		found = ops;
	return 0;
}

void tcon_cc_unregister(struct tcon_cc_ops *ops)
{
}

u32 get_random_u32(void)
{
	static u32 state = 1;

	state = state * 1664525 + 1013904223;
	return state;
}

static void start(u64 now_us)
{
	static s64 params[TCON_MAX_PARAMS];
	u32 i;

	for (i = 0; i < found->n_params; i++)
		params[i] = found->params[i].def;
	WARN_ON(tcon_ca_start(&track, found, params, now_us));
}

static void from_guest(const struct tcon_packet *p, u64 now_us)
{
	bool idle = track.cc.una == track.cc.nxt;
	enum tcon_sent what;

	if (p->flags & TCON_TCP_SYN) {
		tcon_handshake_guest(&track, p, now_us);
		return;
	}
	if (!track.peer.acked && tcon_track_answers_peer(&track, p->ack)) {
		track.peer.acked = true;
		start(now_us);
	}
	if (p->seq == p->end_seq || !track.cc.ops)
		return;
	what = tcon_sent_segment(&track, p->seq, p->end_seq, p->payload_bytes, now_us);
	if (what == TCON_SENT_TIMEOUT)
		tcon_ca_timeout(&track, now_us);
	else if (idle && what == TCON_SENT_NEW)
		tcon_ca_tx_start(&track, now_us);
}

static void from_peer(const struct tcon_packet *p, u64 now_us)
{
	struct tcon_ack ack;

	if (p->flags & TCON_TCP_SYN)
		tcon_handshake_peer(&track, p);
	tcon_acked(&track, p, now_us, &ack);
	if (ack.valid && track.cc.ops)
		tcon_ca_ack(&track, &ack);
	printf("%u %u %u %" PRIu64 "\n", track.cc.una, tcon_track_cwnd_bytes(&track), track.cc.ssthresh_bytes,
	       (uint64_t)track.cc.pacing_rate_bps);
}

static u32 read_hex(const char *hex, u8 *bytes)
{
	unsigned int byte;
	u32 n;

	for (n = 0; n < HEADERS_MAX && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
		bytes[n] = byte;
	return n;
}

int main(int argc, char **argv)
{
	char who[16], hex[2 * HEADERS_MAX + 1];
	unsigned long long ns;
	struct tcon_packet p;
	u8 bytes[HEADERS_MAX];
	u32 frame_bytes, n;

	if (argc != 2)
		return 2;
	wanted = argv[1];
	LOAD_ALL();
	if (!found)
		return 2;
	tcon_pool_divide(&pool, U32_MAX, U32_MAX, 1);
	tcon_track_init(&track, &budget);
	while (scanf("%llu %15s %u %320s", &ns, who, &frame_bytes, hex) == 4) {
		n = read_hex(hex, bytes);
		p = (struct tcon_packet) {};
		if (tcon_packet_parse(&p, bytes, min(n, frame_bytes), frame_bytes,
				      frame_bytes > ETHERNET_BYTES) != TCON_PARSE_OK)
			continue;
		if (!strcmp(who, "guest"))
			from_guest(&p, ns / NSEC_PER_USEC);
		else
			from_peer(&p, ns / NSEC_PER_USEC);
	}
	tcon_ca_stop(&track);
	tcon_track_release(&track);
	return 0;
}
