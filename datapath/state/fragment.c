// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which segment a guest's IP fragment is part of.
 *
 * Only the first fragment has TCP's header.  Who sends fragments sends them in a row, the first
 * one first.  So a port remembers the last first ones.
 */
#include <linux/slab.h>

#include "base/contract.h"
#include "state/fragment.h"
#include "state/port.h"
#include "wire/key.h"

#define REMEMBERED	16	/* IP packets, of which fragments may come between each other */
#define LIFE_US		(30 * USEC_PER_SEC)	/* how long Linux waits for the rest of one */

/**
 * struct tcon_fragments - the last IP packets of a port's guest that came in fragments
 * @newest: index of the newest
 * @of: them
 * @of.key: of their half-flow; a family of 0: none
 * @of.ident: identification
 * @of.since_us: when it came
 * @of.start: sequence number of the first byte behind the IP header, if TCP's header counted
 */
struct tcon_fragments {
	unsigned int newest;
	struct {
		struct tcon_key key;
		u64 since_us;
		u32 ident;
		u32 start;
	} of[REMEMBERED];
};

/* Is it between the same addresses? */
static bool same_ends(const struct tcon_key *a, struct tcon_key b)
{
	b.gport = a->gport;
	b.pport = a->pport;
	return tcon_key_equal(a, &b);
}

/* The index of an IP packet, or -1. */
static int find(const struct tcon_fragments *f, const struct tcon_key *key, u32 ident, u64 now_us)
{
	unsigned int i;

	for (i = 0; i < REMEMBERED; i++)
		if (f->of[i].ident == ident && now_us - f->of[i].since_us < LIFE_US &&
		    same_ends(&f->of[i].key, *key))
			return i;
	return -1;
}

/**
 * tcon_fragment_note() - a first fragment has come
 * @port: the guest's port
 * @key: its half-flow
 * @pkt: the fragment, parsed
 * @now_us: the time
 *
 * Of two first ones with the same identification the first counts, as it does for the receiver.
 *
 * Context: bottom halves disabled.
 */
void tcon_fragment_note(struct tcon_port *port, const struct tcon_key *key,
			const struct tcon_packet *pkt, u64 now_us)
{
	struct tcon_fragments *f;

	lockdep_assert_in_softirq();
	spin_lock(&port->lock);
	if (!port->fragments)
		port->fragments = kzalloc(sizeof(*f), GFP_ATOMIC | __GFP_NOWARN);
	f = port->fragments;
	if (f && find(f, key, pkt->ident, now_us) < 0) {
		f->newest = (f->newest + 1) % REMEMBERED;
		f->of[f->newest].key = *key;
		f->of[f->newest].ident = pkt->ident;
		f->of[f->newest].since_us = now_us;
		f->of[f->newest].start = pkt->seq - (pkt->payload_offset - pkt->l4_offset);
	}
	spin_unlock(&port->lock);
}

/**
 * tcon_fragment_find() - a later fragment has come
 * @port: the guest's port
 * @key: all of its half-flow's key but the ports, which are added
 * @pkt: the fragment, parsed; gets its sequence numbers, and no flags
 * @now_us: the time
 *
 * Context: bottom halves disabled.
 * Return: false if the first fragment is not remembered.
 */
bool tcon_fragment_find(struct tcon_port *port, struct tcon_key *key, struct tcon_packet *pkt,
			u64 now_us)
{
	const struct tcon_fragments *f;
	int i = -1;

	lockdep_assert_in_softirq();
	spin_lock(&port->lock);
	f = port->fragments;
	if (f)
		i = find(f, key, pkt->ident, now_us);
	if (i >= 0) {
		*key = f->of[i].key;
		pkt->seq = f->of[i].start + pkt->fragment_bytes;
		pkt->end_seq = pkt->seq + pkt->payload_bytes;
	}
	spin_unlock(&port->lock);
	pkt->flags = 0;
	pkt->has_ts = false;
	pkt->n_sacks = 0;
	pkt->option_bytes = 0;
	pkt->l4_offset = pkt->payload_offset;
	return i >= 0;
}
