/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TCon's registry for tests of one CC: it remembers the module's.
 */
#ifndef _TESTS_REGISTERED_H
#define _TESTS_REGISTERED_H

#include <linux/kernel.h>
#include <tcon/cc.h>

static const struct tcon_cc_ops *registered;

int tcon_cc_register(struct tcon_cc_ops *ops)
{
	registered = ops;
	return ops->cong_control ? 0 : -EINVAL;
}

void tcon_cc_unregister(struct tcon_cc_ops *ops)
{
	if (registered == ops)
		registered = NULL;
}

#endif /* _TESTS_REGISTERED_H */
