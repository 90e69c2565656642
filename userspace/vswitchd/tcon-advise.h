/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What tcon/advise says: flows by destination, and the advice for each.
 */

#ifndef VSWITCHD_TCON_ADVISE_H
#define VSWITCHD_TCON_ADVISE_H 1

struct ds;
struct json;
struct tcon_advisor;

struct tcon_advisor *tcon_advisor_create(void);
void tcon_advisor_add(struct tcon_advisor *, const struct json *flow);
struct json *tcon_advisor_to_json(struct tcon_advisor *);
void tcon_advisor_destroy(struct tcon_advisor *);

void tcon_advise_to_text(const struct json *, struct ds *);

#endif /* vswitchd/tcon-advise.h */
