/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Destinations of a port's guest where ECN does not work.
 */
#ifndef _TCON_NOGO_H
#define _TCON_NOGO_H

#include <linux/types.h>

#include "wire/key.h"

#define TCON_NOGO_MAX	32	/* entries of a port; each SYN searches them all */

/**
 * struct tcon_nogo_entry - a destination
 * @net: its network, the rest zero
 * @until_us: when it is forgotten
 * @family: AF_INET or AF_INET6; 0: the entry is free
 * @certain: ECN does not work there; otherwise there is only a doubt
 */
struct tcon_nogo_entry {
	union tcon_addr net;
	u64 until_us;
	u8 family;
	bool certain;
};

/**
 * struct tcon_nogo - the destinations of a port's guest where ECN does not work
 * @entry: the destinations
 * @any: the table is not empty; may be read without a lock
 */
struct tcon_nogo {
	struct tcon_nogo_entry entry[TCON_NOGO_MAX];
	bool any;
};

bool tcon_nogo_has(const struct tcon_nogo *nogo, const struct tcon_key *key,
		   u64 now_us);
void tcon_nogo_add(struct tcon_nogo *nogo, const struct tcon_key *key,
		   bool certain, u64 now_us, u64 until_us);
void tcon_nogo_remove(struct tcon_nogo *nogo, const struct tcon_key *key);

#endif /* _TCON_NOGO_H */
