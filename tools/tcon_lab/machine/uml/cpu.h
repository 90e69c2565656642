/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPU that programs of a User-Mode Linux guest see, whatever the host has: what
 * CPUID says decides how much of the stack the loader uses (to save the registers that
 * XSAVE knows), how large a signal's frame is, which memcpy is taken; each page more
 * that is touched is a moment at which the guest may change tasks.
 *
 * In the guest's root CPUID is replaced by INVD (cpuid.py), which no program may
 * execute; who traces the guest's processes answers it.
 */
#ifndef TCON_LAB_CPU_H
#define TCON_LAB_CPU_H

#include <stdint.h>

#define CPUID_STANDIN 0x080f /* INVD: two bytes, as CPUID is */
#define CPUID_BYTES 2

struct cpuid {
	uint32_t leaf, subleaf, eax, ebx, ecx, edx;
};

/*
 * A Core i7 of 2008 with one thread: x86-64-v2, no XSAVE, no random numbers.  (Intel
 * SDM, volume 2, CPUID.)
 */
static const struct cpuid cpuids[] = {
	{ 0, 0, 4, 0x756e6547, 0x6c65746e, 0x49656e69 }, /* GenuineIntel */
	/* SSE3, SSSE3, CX16, SSE4.1, SSE4.2, POPCNT; all up to SSE2 */
	{ 1, 0, 0x000106a5, 0x00010800, 0x00982201, 0x078bfbff },
	{ 2, 0, 0x55035a01, 0x00f0b2e4, 0, 0x09ca212c }, /* caches and TLBs */
	{ 4, 0, 0x00000121, 0x01c0003f, 0x0000003f, 0 }, /* L1 data, 32 KiB */
	{ 4, 1, 0x00000122, 0x00c0003f, 0x0000007f, 0 }, /* L1 code, 32 KiB */
	{ 4, 2, 0x00000143, 0x01c0003f, 0x000001ff, 0 }, /* L2, 256 KiB */
	{ 4, 3, 0x00000163, 0x03c0003f, 0x00001fff, 2 }, /* L3, 8 MiB */
	{ 0x80000000, 0, 0x80000008, 0, 0, 0 },
	{ 0x80000001, 0, 0, 0, 0x00000001, 0x20100800 }, /* LAHF; SYSCALL, NX, long mode */
	{ 0x80000002, 0, 0x72657355, 0x646f4d2d, 0x694c2065, 0x0078756e }, /* User-Mode Linux */
	{ 0x80000006, 0, 0, 0, 0x01006040, 0 }, /* L2 again */
	{ 0x80000008, 0, 0x00003028, 0, 0, 0 }, /* 40 and 48 bits of address */
};

/* Only leaf 4 has subleaves here; unknown leaves are 0. */
static struct cpuid cpuid_of(uint32_t leaf, uint32_t subleaf)
{
	if (leaf != 4)
		subleaf = 0;
	for (unsigned int i = 0; i < sizeof(cpuids) / sizeof(*cpuids); i++)
		if (cpuids[i].leaf == leaf && cpuids[i].subleaf == subleaf)
			return cpuids[i];
	return (struct cpuid){ 0 };
}

#endif
