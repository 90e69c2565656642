// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CC that does what it is told, as a module that tests load.
 */
#include "tests/vm/badcc/tcon_badcc.c"

int badcc_load(bool as_other_version);
void badcc_unload(void);

static struct tcon_cc_ops as_compiled;

int badcc_load(bool as_other_version)
{
	as_compiled = badcc;
	other_version = as_other_version;
	return shim_badcc_module_init();
}

void badcc_unload(void)
{
	shim_badcc_module_exit();
	badcc = as_compiled;
}
