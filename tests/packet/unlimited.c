// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CC without limits, as a module that is always loaded.
 */
#include "tests/vm/badcc/tcon_unlimited.c"
