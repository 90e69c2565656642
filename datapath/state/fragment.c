// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which segment a guest's IP fragment is part of.
 *
 * Only the first fragment has TCP's header.  Stacks send fragments in a row, the first one first.
 * So a port remembers the latest first fragments.
 *
 * In IPv6 a later fragment may claim another protocol, and still belong to a TCP segment (RFC 8200,
 * 4.5).  If it comes too early, or when the first one is forgotten, it must pass, since the claim
 * may be true.  So for each identification a port also remembers when it last saw a TCP segment,
 * and when such a fragment.  It does so by a hash, or a guest could send more than fit.  Only one
 * kind passes for one packet.
 */
#include <linux/jhash.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include "base/contract.h"
#include "state/fragment.h"
#include "state/port.h"
#include "wire/key.h"

#define REMEMBERED	16	/* IP packets whose fragments may come between each other */
#define LIFE_US		(60 * USEC_PER_SEC)	/* how long Linux waits for the rest of one */
#define SLOTS		256

/**
 * struct tcon_fragments - the last IP packets of a port's guest that came in fragments
 * @newest: index of the newest
 * @of: them
 * @of.key: of their half-flow; a family of 0: none
 * @of.ident: identification
 * @of.since_us: when it came
 * @of.start: sequence number of the first byte behind the IP header, if TCP's header counted
 * @last: of IPv6, by a hash of addresses and identification
 * @last.tcp_s: when a first one of TCP came, in seconds from 1 on; 0: never
 * @last.foreign_s: when a later one came that says that it is not TCP; 0: never
 */
struct tcon_fragments {
	unsigned int newest;
	struct {
		struct tcon_key key;
		u64 since_us;
		u32 ident;
		u32 start;
	} of[REMEMBERED];
	struct {
		u32 tcp_s;
		u32 foreign_s;
	} last[SLOTS];
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

static u32 slot_of(const struct tcon_key *key, u32 ident)
{
	u32 hash = jhash2(key->guest.words, ARRAY_SIZE(key->guest.words), ident);

	return jhash2(key->peer.words, ARRAY_SIZE(key->peer.words), hash) % SLOTS;
}

static u32 seconds(u64 us)
{
	return div_u64(us, USEC_PER_SEC) + 1;
}

static bool is_recent(u32 s, u64 now_us)
{
	return s && seconds(now_us) - s <= seconds(LIFE_US);
}

/* NULL without memory. */
static struct tcon_fragments *fragments_of(struct tcon_port *port)
{
	lockdep_assert_held(&port->lock);
	if (!port->fragments)
		port->fragments = kzalloc(sizeof(*port->fragments), GFP_ATOMIC | __GFP_NOWARN);
	return port->fragments;
}

static void remember(struct tcon_fragments *f, const struct tcon_key *key,
		     const struct tcon_packet *pkt, u64 now_us)
{
	u32 header_bytes = pkt->fragment_bytes + (pkt->payload_offset - pkt->l4_offset);

	f->newest = (f->newest + 1) % REMEMBERED;
	f->of[f->newest].key = *key;
	f->of[f->newest].ident = pkt->ident;
	f->of[f->newest].since_us = now_us;
	f->of[f->newest].start = pkt->seq - header_bytes;
}

/**
 * tcon_fragment_note() - a first fragment has come
 * @port: the guest's port
 * @key: its half-flow
 * @pkt: the fragment, parsed
 * @now_us: the time
 *
 * If two have the same identification the first counts, as it does for the receiver.
 *
 * Context: bottom halves disabled.
 * Return: false if a part of the same segment may have passed, as another protocol's.
 */
bool tcon_fragment_note(struct tcon_port *port, const struct tcon_key *key,
			const struct tcon_packet *pkt, u64 now_us)
{
	u32 slot = slot_of(key, pkt->ident);
	struct tcon_fragments *f;
	bool passed = false;

	lockdep_assert_in_softirq();
	spin_lock(&port->lock);
	f = fragments_of(port);
	if (f && pkt->family == AF_INET6) {
		passed = is_recent(f->last[slot].foreign_s, now_us);
		if (!passed)
			f->last[slot].tcp_s = seconds(now_us);
	}
	if (f && !passed && find(f, key, pkt->ident, now_us) < 0)
		remember(f, key, pkt, now_us);
	spin_unlock(&port->lock);
	return !passed;
}

/* A fragment whose first one is not remembered: may it pass, as another protocol's? */
static bool is_foreign(struct tcon_port *port, const struct tcon_key *key,
		       const struct tcon_packet *pkt, u64 now_us)
{
	u32 slot = slot_of(key, pkt->ident);
	struct tcon_fragments *f;

	lockdep_assert_held(&port->lock);
	if (!pkt->foreign)
		return false;
	f = fragments_of(port);
	if (f && is_recent(f->last[slot].tcp_s, now_us))
		return false;
	if (f)
		f->last[slot].foreign_s = seconds(now_us);
	return true;
}

/**
 * tcon_fragment_find() - a later fragment has come
 * @port: the guest's port
 * @key: all of its half-flow's key but the ports, which are added
 * @pkt: the fragment, parsed; gets its sequence numbers, and no flags
 * @now_us: the time
 *
 * Context: bottom halves disabled.
 * Return: see &enum tcon_fragment_of.
 */
enum tcon_fragment_of tcon_fragment_find(struct tcon_port *port, struct tcon_key *key,
					 struct tcon_packet *pkt, u64 now_us)
{
	enum tcon_fragment_of of = TCON_FRAGMENT_OF_UNKNOWN;
	const struct tcon_fragments *f;
	int i = -1;

	lockdep_assert_in_softirq();
	spin_lock(&port->lock);
	f = port->fragments;
	if (f)
		i = find(f, key, pkt->ident, now_us);
	if (i >= 0) {
		of = TCON_FRAGMENT_OF_FLOW;
		*key = f->of[i].key;
		pkt->seq = f->of[i].start + pkt->fragment_bytes;
		pkt->end_seq = pkt->seq + pkt->payload_bytes;
	} else if (is_foreign(port, key, pkt, now_us)) {
		of = TCON_FRAGMENT_OF_OTHER;
	}
	spin_unlock(&port->lock);
	pkt->flags = 0;
	pkt->has_ts = false;
	pkt->n_sacks = 0;
	pkt->option_bytes = 0;
	pkt->l4_offset = pkt->payload_offset;
	return of;
}
