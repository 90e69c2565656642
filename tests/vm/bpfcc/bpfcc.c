// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CC of BPF's, for tests of tcon_linux: Reno, that tries with every ACK what would
 * need a real socket, and counts how often it got it.  For clang, target bpf.
 */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define SOL_TCP		6
#define TCP_CONGESTION	13

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)
struct sock {
	__u32 sk_pacing_status;
};

struct tcp_sock {
	__u32 rcv_nxt;
};

struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	__u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	char name[16];
};

#pragma clang attribute pop

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} storage SEC(".maps");

__u64 inits, releases, acks_taken, acks_sent, stored, options_set;

SEC("struct_ops/bpfcc_init")
void BPF_PROG(bpfcc_init, struct sock *sk)
{
	char cc[] = "cubic";

	inits++;
	if (!bpf_setsockopt(sk, SOL_TCP, TCP_CONGESTION, cc, sizeof(cc)))
		options_set++;
}

SEC("struct_ops/bpfcc_release")
void BPF_PROG(bpfcc_release, struct sock *sk)
{
	releases++;
}

SEC("struct_ops/bpfcc_cong_avoid")
void BPF_PROG(bpfcc_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;

	acks_taken++;
	if (!bpf_tcp_send_ack(tp, tp->rcv_nxt))
		acks_sent++;
	if (bpf_sk_storage_get(&storage, sk, 0, BPF_SK_STORAGE_GET_F_CREATE))
		stored++;
	tcp_reno_cong_avoid(sk, ack, acked);
}

SEC("struct_ops/bpfcc_ssthresh")
__u32 BPF_PROG(bpfcc_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/bpfcc_undo_cwnd")
__u32 BPF_PROG(bpfcc_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

SEC(".struct_ops")
struct tcp_congestion_ops bpfcc = {
	.ssthresh = (void *)bpfcc_ssthresh,
	.cong_avoid = (void *)bpfcc_cong_avoid,
	.undo_cwnd = (void *)bpfcc_undo_cwnd,
	.init = (void *)bpfcc_init,
	.release = (void *)bpfcc_release,
	.name = "bpfcc",
};
