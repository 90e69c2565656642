// SPDX-License-Identifier: GPL-2.0-only
/*
 * Destinations of a port's guest where ECN does not work.  They are remembered, so that not every
 * connection has to find that out.
 *
 * The cause is a device on the way, or a stack that all hosts there have.  So the network
 * counts, /24 or /48, and not the host.  A sign may mislead, because SYNs and data are also lost
 * for other reasons.  The first sign is only a doubt.  A second one before the first is
 * forgotten is proof, if no ECN-capable data got through in between.
 *
 * Each port has a table of its own.  Guests of other ports may mean other hosts by the same
 * addresses, and what a host answers to one guest must not decide for the next.  A full table
 * drops the entry that would expire first.  A guest with too many such destinations is then no
 * worse off than without a table.
 *
 * Nothing here needs a kernel.  Callers hold the port's lock.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "state/nogo.h"

#define NET4_BYTES	3	/* /24 */
#define NET6_BYTES	6	/* /48 */

static union tcon_addr net_of(const struct tcon_key *key)
{
	union tcon_addr net = {};

	memcpy(net.ip6, key->peer.ip6,
	       key->family == AF_INET ? NET4_BYTES : NET6_BYTES);
	return net;
}

static struct tcon_nogo_entry *find(const struct tcon_nogo *nogo,
				    const struct tcon_key *key)
{
	union tcon_addr net = net_of(key);
	const struct tcon_nogo_entry *at;

	for (at = nogo->entry; at != nogo->entry + TCON_NOGO_MAX; at++)
		if (at->family == key->family &&
		    !memcmp(&at->net, &net, sizeof(net)))
			return (struct tcon_nogo_entry *)at;
	return NULL;
}

/* A free entry, or the one that would be forgotten first. */
static struct tcon_nogo_entry *make_room(struct tcon_nogo *nogo)
{
	struct tcon_nogo_entry *at, *first = nogo->entry;

	for (at = nogo->entry; at != nogo->entry + TCON_NOGO_MAX; at++) {
		if (!at->family)
			return at;
		if (at->until_us < first->until_us)
			first = at;
	}
	return first;
}

/**
 * tcon_nogo_has() - does ECN not work towards a destination?
 * @nogo: the table of the guest's port
 * @key: of the half-flow
 * @now_us: the time
 *
 * Return: whether that is certain.
 */
bool tcon_nogo_has(const struct tcon_nogo *nogo, const struct tcon_key *key,
		   u64 now_us)
{
	const struct tcon_nogo_entry *at = find(nogo, key);

	return at && at->certain && now_us < at->until_us;
}

/**
 * tcon_nogo_add() - note a sign that ECN does not work towards a destination
 * @nogo: the table of the guest's port
 * @key: of the half-flow
 * @certain: nothing else can have been the reason
 * @now_us: the time
 * @until_us: when to forget it
 */
void tcon_nogo_add(struct tcon_nogo *nogo, const struct tcon_key *key,
		   bool certain, u64 now_us, u64 until_us)
{
	struct tcon_nogo_entry *at = find(nogo, key);
	bool again = at && now_us < at->until_us;

	if (!at)
		at = make_room(nogo);
	*at = (struct tcon_nogo_entry) {
		.net = net_of(key),
		.until_us = until_us,
		.family = key->family,
		.certain = certain || again,
	};
	WRITE_ONCE(nogo->any, true);
}

/**
 * tcon_nogo_remove() - forget a destination, because ECN-capable data arrives there
 * @nogo: the table of the guest's port
 * @key: of the half-flow
 */
void tcon_nogo_remove(struct tcon_nogo *nogo, const struct tcon_key *key)
{
	struct tcon_nogo_entry *at = find(nogo, key);

	if (at)
		memset(at, 0, sizeof(*at));
}
