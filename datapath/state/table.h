/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of half-flows.
 */
#ifndef _TCON_TABLE_H
#define _TCON_TABLE_H

#include "state/flow.h"

int tcon_table_init(void);
void tcon_table_exit(void);
struct tcon_flow *tcon_table_find(const struct tcon_key *key);
struct tcon_flow *tcon_table_create(struct tcon_port *port, const struct tcon_key *key,
				    const struct tcon_traits *traits);
struct tcon_stub *tcon_table_below(struct tcon_port *port, long serial);
struct tcon_flow *tcon_table_wake(struct tcon_stub *stub);
struct tcon_flow *tcon_table_open(struct tcon_stub *stub);
void tcon_table_shut(struct tcon_stub *stub, struct tcon_flow *flow);
void tcon_table_purge_port(struct tcon_port *port);
void tcon_table_remove(struct tcon_flow *flow);
bool tcon_table_remove_asleep(struct tcon_stub *stub);
void tcon_table_fold(struct tcon_flow *flow);
void tcon_table_walk(struct rhashtable_iter *iter);
unsigned int tcon_table_count(void);

#endif /* _TCON_TABLE_H */
