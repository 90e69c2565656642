/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CCs that are registered.
 */
#ifndef _TCON_REGISTRY_H
#define _TCON_REGISTRY_H

#include <tcon/cc.h>

extern struct mutex tcon_cc_lock;
extern struct list_head tcon_cc_list;
extern u32 tcon_cc_changes;

const struct tcon_cc_ops *tcon_cc_find(const char *name);
const char *tcon_cc_autoload(const char *name);
void tcon_cc_scan(void);
void tcon_cc_defaults(const struct tcon_cc_ops *ops, s64 *params);
int tcon_cc_param_index(const struct tcon_cc_ops *ops, const char *name);
const char *tcon_cc_complaint(const struct tcon_cc_ops *ops, const s64 *params);

#endif /* _TCON_REGISTRY_H */
