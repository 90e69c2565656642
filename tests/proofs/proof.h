/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What proofs are written with.  A local variable that nobody sets has any value, and
 * so has what any_*() return.
 *
 * A proof is a function prove_NAME() without arguments.  Each assertion in it, and each check that
 * CBMC makes by itself, must hold for all values: no access out of bounds, no division by zero, no
 * signed overflow, no shift too far, each loop within the bound that proofs.toml gives.
 */
#ifndef _TCON_PROOF_H
#define _TCON_PROOF_H

#include <linux/kernel.h>
#include <linux/types.h>

/* CBMC knows these by how their names begin. */
u8 nondet_u8(void);
u16 nondet_u16(void);
u32 nondet_u32(void);
u64 nondet_u64(void);
s32 nondet_s32(void);
s64 nondet_s64(void);
long nondet_long(void);

#define any_u8		nondet_u8
#define any_u16		nondet_u16
#define any_u32		nondet_u32
#define any_u64		nondet_u64
#define any_s32		nondet_s32
#define any_s64		nondet_s64
#define any_long	nondet_long

static inline bool any_bool(void)
{
	return any_u8() & 1;
}

/* As far as the test is true. */
#define implies(a, b)	(!(a) || (b))

/* Only what holds this is looked at. */
#define given(cond)	__CPROVER_assume(cond)
/* This must hold. */
#define prove(cond)	__CPROVER_assert(cond, #cond)

/* CBMC finds no body of it: the headers of the C library that it would need are the shim's. */
int abs(int n)
{
	return n < 0 ? -n : n;
}

/* A BUG() of the shim, which would otherwise only end the path. */
void abort(void)
{
	__CPROVER_assert(false, "no BUG()");
	__CPROVER_assume(false);
}

#endif /* _TCON_PROOF_H */
