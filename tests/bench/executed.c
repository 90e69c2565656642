// SPDX-License-Identifier: GPL-2.0-only
/*
 * A plugin for QEMU's translator: how often each instruction of the kernel's modules was executed.
 *
 *	-plugin executed.so,out=FILE
 *
 * At the end FILE has a line for each: its address, hexadecimal, and how often.  QEMU's package has
 * no header for its plugins, so what is used of their interface, version 1, is declared here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADD_U64		0
#define SLOTS		(1U << 20)

/* Where Linux loads modules on x86-64 (its Documentation/arch/x86/x86_64/mm.rst). */
#define MODULES_START	0xffffffffa0000000ULL
#define MODULES_END	0xffffffffff000000ULL

struct qemu_plugin_tb;
struct qemu_plugin_insn;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, int op,
						void *counter, uint64_t n);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
					   void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_atexit_cb(uint64_t id, void (*cb)(uint64_t id, void *data), void *data);

int qemu_plugin_version = 1;
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

static struct slot {
	uint64_t address;
	uint64_t executed;
} slots[SLOTS];

static const char *out;

/* An instruction may be translated more than once, and has one counter. */
static uint64_t *counter_of(uint64_t address)
{
	uint32_t i = address * 2654435761U % SLOTS, n;

	for (n = 0; n < SLOTS; n++, i = (i + 1) % SLOTS) {
		if (!slots[i].address)
			slots[i].address = address;
		if (slots[i].address == address)
			return &slots[i].executed;
	}
	fputs("executed: more instructions than counters\n", stderr);
	exit(1);
}

static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	size_t n = qemu_plugin_tb_n_insns(tb), i;

	(void)id;
	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint64_t address = qemu_plugin_insn_vaddr(insn);

		if (address >= MODULES_START && address < MODULES_END)
			qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64,
								   counter_of(address), 1);
	}
}

static void at_exit(uint64_t id, void *data)
{
	FILE *file = fopen(out, "w");
	size_t i;

	(void)id;
	(void)data;
	if (!file) {
		perror(out);
		return;
	}
	for (i = 0; i < SLOTS; i++)
		if (slots[i].executed)
			fprintf(file, "%llx %llu\n", (unsigned long long)slots[i].address,
				(unsigned long long)slots[i].executed);
	if (fclose(file))
		perror(out);
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4)) {
		fputs("executed: give out=FILE\n", stderr);
		return 1;
	}
	out = argv[0] + 4;
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
