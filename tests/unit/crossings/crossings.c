// SPDX-License-Identifier: GPL-2.0-only
/*
 * The way of one data packet and of its ACK through the datapath: which functions they call, and
 * which bytes of the half-flow these read and write.
 *
 *	crossings CC ROUNDS		prints the last round
 *
 * The datapath is compiled with -fsanitize=thread, which calls the functions at the end of this
 * file at each entry, exit and access; no sanitizer is linked.  Lines: "packet NAME"
 * (the watched packet begins), "+ ADDRESS" and "-" (a function is entered, left), "r" and "w" with
 * the place in the half-flow, bytes, and the address of the code.
 */
#include <stdio.h>

#define HOST_ALGORITHMS_MAX 32
#include "../host.h"
#include <linux/module.h>
#include "tests/fuzz/segments.h"

#define PEER_ISN	77U
#define STEP_US		500
#define FLIGHT		4	/* segments */

static struct tcon_flow *watched;

static void inject(const struct tcon_port *port, struct sk_buff *skb)
{
	kfree_skb(skb);
}

static const struct tcon_attach attach = { .name = "unit", .inject = inject, .send = inject };

static struct sk_buff *segment(bool from_guest, u8 flags, u32 seq, u32 ack, u32 bytes)
{
	u32 now_ms = shim_now_ns / NSEC_PER_MSEC;
	const struct tcon_packet p = {
		.flags = flags, .seq = seq, .ack = ack, .payload_bytes = bytes, .window = 0xffff,
		.wscale = 7, .mss = SEG_MSS, .sack_permitted = true, .has_ts = true,
		.tsval = now_ms, .tsecr = flags == TCON_TCP_SYN ? 0 : now_ms - 1,
	};

	return segment_new(&p, from_guest, 0, true);
}

static void sends(const char *watch, bool from_guest, struct sk_buff *skb)
{
	bool pass;

	shim_now_ns += STEP_US * NSEC_PER_USEC;
	if (watch) {
		printf("packet %s\n", watch);
		for_each_flow(watched, &host.port)
			break;
	}
	enter_tcon();
	pass = from_guest ? tcon_path_ingress(&host.port.hook, skb) :
			    tcon_path_egress(&host.port.hook, skb);
	leave_tcon();
	watched = NULL;
	if (pass)
		kfree_skb(skb);
	while (shim_tasklet->scheduled || (shim_timer->armed && shim_timer->expires <= shim_now_ns))
		shim_tasklet->scheduled ? run_tasklet() : run_timer();
}

int main(int argc, char **argv)
{
	u32 nxt = GUEST_ISN + 1, rounds = atoi(argv[2]), i;

	LOAD_ALL();
	host_begin(1000 * (u64)NSEC_PER_SEC, &attach);
	while (strcmp(rules[host.algorithm].cc_name, argv[1]))
		host.algorithm++;
	sends(NULL, true, segment(true, TCON_TCP_SYN, GUEST_ISN, 0, 0));
	sends(NULL, false, segment(false, TCON_TCP_SYN | TCON_TCP_ACK, PEER_ISN, nxt, 0));
	sends(NULL, true, segment(true, TCON_TCP_ACK, nxt, PEER_ISN + 1, 0));
	for (i = 1; i <= rounds; i++, nxt += SEG_MSS) {
		sends(i == rounds ? "data" : NULL, true,
		      segment(true, TCON_TCP_ACK, nxt, PEER_ISN + 1, SEG_MSS));
		if (i > FLIGHT)
			sends(i == rounds ? "ACK" : NULL, false,
			      segment(false, TCON_TCP_ACK, PEER_ISN + 1,
				      nxt - FLIGHT * SEG_MSS, 0));
	}
	return 0;
}

/* The compiler's calls, and the linker's in place of memcpy() and the like. */

static void touched(const char *how, const void *at, size_t bytes, const void *code)
{
	size_t place = (const u8 *)at - (const u8 *)watched;

	if (watched && bytes && place < sizeof(*watched))
		printf("%s %zu %zu %lx\n", how, place, bytes, (unsigned long)code - 1);
}

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
	if (watched)
		printf("+ %lx\n", (unsigned long)__builtin_return_address(0) - 1);
}

void __tsan_func_exit(void)
{
	if (watched)
		puts("-");
}

#define ACCESS(name, how, bytes)						\
	void __tsan_##name(void *at);						\
	void __tsan_##name(void *at)						\
	{									\
		touched(how, at, bytes, __builtin_return_address(0));		\
	}
#define ACCESSES(kind, how)							\
	ACCESS(kind##1, how, 1) ACCESS(kind##2, how, 2) ACCESS(kind##4, how, 4)	\
	ACCESS(kind##8, how, 8) ACCESS(kind##16, how, 16)
#define RANGE(name, how)							\
	void __tsan_##name(void *at, size_t bytes);				\
	void __tsan_##name(void *at, size_t bytes)				\
	{									\
		touched(how, at, bytes, __builtin_return_address(0));		\
	}

ACCESSES(read, "r")
ACCESSES(write, "w")
ACCESSES(unaligned_read, "r")
ACCESSES(unaligned_write, "w")
ACCESSES(volatile_read, "r")
ACCESSES(volatile_write, "w")
RANGE(read_range, "r")
RANGE(write_range, "w")

void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__real_memset(void *to, int value, size_t bytes);
void *__wrap_memset(void *to, int value, size_t bytes);

void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
	touched("r", from, bytes, __builtin_return_address(0));
	touched("w", to, bytes, __builtin_return_address(0));
	return __real_memcpy(to, from, bytes);
}

void *__wrap_memset(void *to, int value, size_t bytes)
{
	touched("w", to, bytes, __builtin_return_address(0));
	return __real_memset(to, value, bytes);
}
