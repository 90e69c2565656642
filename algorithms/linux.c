// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CCs of the host's own kernel, "linux:NAME".  Every registered struct
 * tcp_congestion_ops, built in, of a module or of BPF, can run on TCon's state.
 *
 * Such a CC expects a socket.  It gets a shadow: the memory of a struct tcp_sock that is
 * not a socket.  This file keeps the fields that a CC may read up to date, and reads back
 * those that it may write.  It also does what Linux does around a CC (tcp_input.c): when
 * each callback is called, and what happens to cwnd.  A real socket for each flow would
 * be safer, but takes twice the memory and can only be made in process context.
 *
 *	   TCon			    this file			the kernel's CC
 *	prepare, init		fill, init()			snd_cwnd, snd_ssthresh,
 *	pkts_acked	----->	in_ack_event(), pkts_acked()	sk_pacing_rate,
 *	cong_control		cong_control() or cong_avoid()	app_limited
 *	set_state		ssthresh(), cwnd_event(),		|
 *				set_state()				v
 *	undo_cwnd		undo_cwnd()			cwnd_bytes, ...
 *
 * Why this is safe:
 * - CCs do arithmetic on their own state and on these fields.  They use inline functions
 *   and a few that the kernel exports: tcp_slow_start(), tcp_cong_avoid_ai(),
 *   tcp_reno_*(), tcp_enter_cwr().  These were read for Linux 6.1.
 * - The shadow's state is TCP_TIME_WAIT.  So it is not a full socket (sk_fullsock()).
 *   cgroup BPF programs (NV calls them), bpf_setsockopt(), bpf_getsockopt() and
 *   bpf_sk_storage_get() check that, and refuse it.
 * - DCTCP and BPF's CCs may send an ACK when CE marks begin or end.  They are not told
 *   of that (CA_EVENT_ECN_*).  If one sent an ACK all the same, it would end in
 *   sink_xmit().
 * - Its lock is taken, as a socket's would be.
 * - A CC of a module that was not built with the kernel may use a socket in ways that
 *   nobody has checked.  Such CCs are refused, unless the module parameter "foreign"
 *   allows them.
 * - When this module is loaded, it has Linux's helpers read and write a shadow.  If a
 *   field is not where it is expected, the module does not load.
 *
 * A CC stays loaded as long as this module: a socket that uses the CC holds it.
 *
 * Differences from Linux:
 * - Segments are bytes divided by the MSS, not packets.
 * - In TCP_CA_CWR and TCP_CA_Recovery snd_cwnd is ssthresh, not what may be in flight
 *   (datapath/sender/prr.c).  In a CWR that a CC enters by itself (CDG) it is both.
 * - There is no TCP_CA_Disorder.
 * - TCon allows at least two segments.  Only the shadow's cwnd can be smaller.
 * - The time stamp echo (TCP-LP reads it) is the time at which the data left TCon,
 *   because the guest's clock is not the host's.
 */
#include <linux/inet_diag.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/win_minmax.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <tcon/cc.h>
#include <tcon/compat.h>

#define PREFIX		"linux"
#define NAMES_MAX	TCP_CA_MAX
#define SOURCE_BYTES	80
#define LINUX_ALPHA_ONE	1024	/* tcp_dctcp.c: DCTCP_MAX_ALPHA */
#define LINUX_GAIN_ONE	256	/* tcp_bbr.c: BBR_UNIT */

static bool foreign;
module_param(foreign, bool, 0444);
MODULE_PARM_DESC(foreign, "run CCs of modules, too, that were not built with the kernel");

/**
 * struct linux_cc - a CC of the kernel
 * @ops: what TCon knows of it
 * @kernel: the CC
 * @holder: a socket that uses it, so that it stays
 * @source: for @ops
 * @node: in linux_ccs
 */
struct linux_cc {
	struct tcon_cc_ops ops;
	const struct tcp_congestion_ops *kernel;
	struct socket *holder;
	char source[SOURCE_BYTES];
	struct list_head node;
};

/**
 * struct linux_flow - the private area of a flow
 * @tp: its shadow
 * @acked_rest_bytes: acknowledged, and no full segment yet
 * @app_limited: tp->app_limited as it was given to the CC
 */
struct linux_flow {
	struct tcp_sock *tp;
	u32 acked_rest_bytes;
	u32 app_limited;
};

static DEFINE_MUTEX(linux_lock);	/* the next; outside tcon_cc_lock */
static LIST_HEAD(linux_ccs);
static const struct tcp_congestion_ops *kernel_reno;	/* first in Linux's list */
static struct kmem_cache *shadows;
static struct lock_class_key shadow_key, shadow_slock_key;

/* The shadow. ------------------------------------------------------------- */

static void __maybe_unused sink_check(struct sock *sk, struct sk_buff *skb)
{
}

static int sink_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl)
{
	kfree_skb(skb);
	return 0;
}

static const struct inet_connection_sock_af_ops sink = {
	.queue_xmit = sink_xmit,
	TCON_SEND_CHECK(sink_check)
};

static void sink_timer(struct timer_list *timer)
{
}

static struct sock *sk_of(struct tcp_sock *tp)
{
	return (struct sock *)tp;
}

static void set_up_sock(struct sock *sk)
{
	sk->sk_family = AF_INET;
	sk->sk_type = SOCK_STREAM;
	sk->sk_protocol = IPPROTO_TCP;
	sk->sk_state = TCP_TIME_WAIT;
	sk->sk_kern_sock = 1;
	sock_net_set(sk, &init_net);
	refcount_set(&sk->sk_refcnt, 1);
	refcount_set(&sk->sk_wmem_alloc, 1);
	spin_lock_init(&sk->sk_lock.slock);
	lockdep_set_class_and_name(&sk->sk_lock.slock, &shadow_slock_key,
				   "slock-tcon_linux");
	lockdep_init_map(&sk->sk_lock.dep_map, "sk_lock-tcon_linux",
			 &shadow_key, 0);
	sk->sk_pacing_rate = ~0UL;
	sk->sk_max_pacing_rate = ~0UL;
	sk->sk_pacing_shift = 10;
	sk->sk_gso_max_size = GSO_LEGACY_MAX_SIZE;
	sk->sk_gso_max_segs = GSO_MAX_SEGS;
}

static struct tcp_sock *new_shadow(gfp_t gfp)
{
	struct tcp_sock *tp = kmem_cache_zalloc(shadows, gfp);
	struct inet_connection_sock *icsk;

	if (!tp)
		return NULL;
	set_up_sock(sk_of(tp));
	icsk = inet_csk(sk_of(tp));
	icsk->icsk_af_ops = &sink;
	icsk->icsk_rto = TCP_TIMEOUT_INIT;
	icsk->icsk_rto_min = TCP_RTO_MIN;
	icsk->icsk_delack_max = TCP_DELACK_MAX;
	icsk->icsk_ack.rcv_mss = TCP_MIN_MSS;
	icsk->icsk_ca_initialized = 1;
	icsk->icsk_ca_dst_locked = 1;	/* no other CC for this one */
	timer_setup(&icsk->icsk_delack_timer, sink_timer, 0);
	tp->rx_opt.sack_ok = 1;
	tp->ecn_flags = TCON_TCP_ECN_CLASSIC;
	tp->reordering = TCP_FASTRETRANS_THRESH;
	tp->snd_wnd = TCON_CWND_MAX_BYTES;
	tp->max_window = TCON_CWND_MAX_BYTES;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp->snd_cwnd_clamp = ~0U;
	tcp_snd_cwnd_set(tp, TCP_INIT_CWND);
	minmax_reset(&tp->rtt_min, tcp_jiffies32, ~0U);
	return tp;
}

static void free_shadow(struct tcp_sock *tp)
{
	/* Linux sets this timer if there was no memory for an ACK. */
	tcon_timer_delete_sync(&inet_csk(sk_of(tp))->icsk_delack_timer);
	kmem_cache_free(shadows, tp);
}

/* To and from the shadow. --------------------------------------------------- */

/* A total in whole segments.  Differences of totals lose nothing in the long run. */
static u32 segs(const struct tcon_cc *cc, u64 bytes)
{
	return div_u64(bytes, cc->mss_bytes);
}

static u32 segs_up(const struct tcon_cc *cc, u64 bytes)
{
	return div_u64(bytes + cc->mss_bytes - 1, cc->mss_bytes);
}

static void fill_clocks(struct tcp_sock *tp, u64 now_us)
{
	tp->tcp_mstamp = now_us;
	tp->tcp_clock_cache = now_us * NSEC_PER_USEC;
	tp->tcp_wstamp_ns = tp->tcp_clock_cache;
}

/* What TCon knows, for the CC to read. */
static void fill(struct tcp_sock *tp, const struct tcon_cc *cc)
{
	tp->snd_una = cc->una;
	tp->snd_nxt = cc->nxt;
	tp->write_seq = cc->nxt;
	tp->mss_cache = cc->mss_bytes;
	tp->advmss = min_t(u32, cc->mss_bytes, U16_MAX);
	tp->srtt_us = min(cc->srtt_us, U32_MAX >> 3) << 3;
	minmax_reset(&tp->rtt_min, tcp_jiffies32, cc->min_rtt_us);
	tp->delivered = segs(cc, cc->delivered_bytes);
	tp->delivered_ce = segs(cc, cc->delivered_ce_bytes);
	tp->lost = segs(cc, cc->lost_bytes);
	tp->packets_out = segs_up(cc, cc->nxt - cc->una);
	/* Bytes that are not in flight are SACKed or lost. */
	tp->sacked_out = tp->packets_out -
			 min(tp->packets_out, segs_up(cc, cc->inflight_bytes));
	tp->app_limited = cc->app_limited_until ?
			  segs(cc, cc->app_limited_until) ? : 1 : 0;
}

/* Takes over the CC's decision. */
static void read_back(const struct tcp_sock *tp, struct tcon_cc *cc,
		      u32 app_limited)
{
	const struct sock *sk = (const struct sock *)tp;
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);
	u32 max = TCON_CWND_MAX_BYTES / cc->mss_bytes;

	cc->cwnd_bytes = cc->mss_bytes *
			 clamp(tcp_snd_cwnd(tp), TCON_MIN_CWND_SEGS, max);
	cc->ssthresh_bytes = tp->snd_ssthresh > max ? TCON_SSTHRESH_INFINITE :
			     tp->snd_ssthresh * cc->mss_bytes;
	cc->pacing_rate_bps = 0;
	if (sk->sk_pacing_status == SK_PACING_NEEDED && rate != ~0UL)
		cc->pacing_rate_bps = min_t(u64, rate, U64_MAX / 8) * 8;
	if (tp->app_limited != app_limited)
		cc->app_limited_until = cc->delivered_bytes +
					cc->inflight_bytes ? : 1;
}

/* Every callback of TCon runs between enter() and leave(). */
static struct tcp_sock *enter(struct tcon_cc *cc)
	__acquires(cc)
{
	struct linux_flow *flow = tcon_cc_priv(cc);
	struct tcp_sock *tp = flow->tp;

	fill(tp, cc);
	flow->app_limited = tp->app_limited;
	bh_lock_sock(sk_of(tp));
	return tp;
}

static struct tcp_sock *enter_now(struct tcon_cc *cc, u64 now_us)
	__acquires(cc)
{
	struct linux_flow *flow = tcon_cc_priv(cc);

	fill_clocks(flow->tp, now_us);
	return enter(cc);
}

static void leave(struct tcon_cc *cc)
	__releases(cc)
{
	struct linux_flow *flow = tcon_cc_priv(cc);

	bh_unlock_sock(sk_of(flow->tp));
	read_back(flow->tp, cc, flow->app_limited);
}

/* What Linux does around a CC. ---------------------------------------------- */

/* DCTCP may replace itself. */
static const struct tcp_congestion_ops *ops_of(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops;
}

static void change_state(struct sock *sk, u8 state)
{
	if (ops_of(sk)->set_state)
		ops_of(sk)->set_state(sk, state);
	inet_csk(sk)->icsk_ca_state = state;
}

/* cwnd falls to ssthresh, if the CC leaves that to Linux (tcp_end_cwnd_reduction()). */
static void reduce_cwnd(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ops_of(sk)->cong_control || tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH)
		return;
	tcp_snd_cwnd_set(tp, max(tp->snd_ssthresh, 1U));
	tp->snd_cwnd_stamp = tcp_jiffies32;
}

static void complete_cwr(struct sock *sk)
{
	if (ops_of(sk)->cong_control)
		return;
	reduce_cwnd(sk);
	tcp_ca_event(sk, CA_EVENT_COMPLETE_CWR);
}

/* tcp_enter_recovery() */
static void enter_recovery(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->prior_ssthresh = 0;
	tp->undo_marker = tp->snd_una ? : 1;
	if (!tcp_in_cwnd_reduction(sk)) {
		tp->prior_ssthresh = tcp_current_ssthresh(sk);
		tp->high_seq = tp->snd_nxt;
		tp->snd_cwnd_cnt = 0;
		tp->prior_cwnd = tcp_snd_cwnd(tp);
		tp->snd_ssthresh = ops_of(sk)->ssthresh(sk);
	}
	change_state(sk, TCP_CA_Recovery);	/* DCTCP looks at cwnd once more */
	reduce_cwnd(sk);
}

/* tcp_enter_loss() */
static void enter_loss(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder ||
	    !after(tp->high_seq, tp->snd_una) ||
	    (inet_csk(sk)->icsk_ca_state == TCP_CA_Loss &&
	     !inet_csk(sk)->icsk_retransmits)) {
		tp->prior_ssthresh = tcp_current_ssthresh(sk);
		tp->prior_cwnd = tcp_snd_cwnd(tp);
		tp->snd_ssthresh = ops_of(sk)->ssthresh(sk);
		tcp_ca_event(sk, CA_EVENT_LOSS);
		tp->undo_marker = tp->snd_una ? : 1;
	}
	tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + 1);
	tp->snd_cwnd_cnt = 0;
	tp->snd_cwnd_stamp = tcp_jiffies32;
	change_state(sk, TCP_CA_Loss);
	tp->high_seq = tp->snd_nxt;
	inet_csk(sk)->icsk_retransmits = 1;
}

/* tcp_try_undo_recovery(), tcp_end_cwnd_reduction() */
static void enter_open(struct sock *sk)
{
	bool recovered = inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery &&
			 tcp_sk(sk)->undo_marker;

	change_state(sk, TCP_CA_Open);
	if (recovered)
		complete_cwr(sk);
	tcp_sk(sk)->undo_marker = 0;
}

/* A CC or ECE has asked for CWR: it ends beyond what was in flight then. */
static void try_end_cwr(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (inet_csk(sk)->icsk_ca_state != TCP_CA_CWR ||
	    !after(tp->snd_una, tp->high_seq))
		return;
	complete_cwr(sk);
	change_state(sk, TCP_CA_Open);
}

/* tcp_update_pacing_rate(): HyStart reads it. */
static void update_pacing_rate(struct sock *sk)
{
	const struct netns_ipv4 *conf = &sock_net(sk)->ipv4;
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), percent;
	u64 rate = (u64)max(cwnd, tp->packets_out) * tp->mss_cache;

	if (!tp->srtt_us)
		return;
	if (cwnd < tp->snd_ssthresh / 2)
		percent = READ_ONCE(conf->sysctl_tcp_pacing_ss_ratio);
	else
		percent = READ_ONCE(conf->sysctl_tcp_pacing_ca_ratio);
	rate = div_u64(rate * percent * (USEC_PER_SEC / 100 << 3), tp->srtt_us);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, ~0UL - 1));
}

/* tcp_slow_start_after_idle_check() */
static void restart_after_idle(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	s32 delta = tcp_jiffies32 - tp->lsndtime;
	s32 rto = inet_csk(sk)->icsk_rto;
	u32 cwnd = tcp_snd_cwnd(tp), least = min_t(u32, cwnd, TCP_INIT_CWND);

	if (!READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle) ||
	    ops_of(sk)->cong_control || !tp->lsndtime || delta <= rto)
		return;
	tcp_ca_event(sk, CA_EVENT_CWND_RESTART);
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
	while ((delta -= rto) > 0 && cwnd > least)
		cwnd >>= 1;
	tcp_snd_cwnd_set(tp, max(cwnd, least));
	tp->snd_cwnd_stamp = tcp_jiffies32;
}

/* An ACK. --------------------------------------------------------------------- */

/*
 * A rate, as whole segments and the time that these take.  A difference of two rounded
 * totals could be a segment too large where a guest sends small segments, and BBR keeps
 * the largest sample.
 */
static void fill_rate(const struct tcon_cc *cc,
		      const struct tcon_rate_sample *rs,
		      struct rate_sample *out)
{
	u64 bytes;

	out->delivered = -1;
	out->interval_us = -1;
	if (rs->delivered_bytes < 0 || rs->interval_us <= 0)
		return;
	out->delivered = segs_up(cc, rs->delivered_bytes);
	bytes = (u64)out->delivered * cc->mss_bytes;
	out->interval_us = mul_u64_u64_div_u64(rs->interval_us, bytes,
					       max_t(s64, rs->delivered_bytes, 1));
	out->interval_us = max(out->interval_us, 1L);
}

static void fill_sample(const struct tcp_sock *tp, const struct tcon_cc *cc,
			const struct tcon_rate_sample *rs,
			struct rate_sample *out)
{
	fill_rate(cc, rs, out);
	out->prior_mstamp = rs->now_us - min_t(u64, rs->now_us,
					       rs->rcv_interval_us);
	out->prior_delivered = segs(cc, rs->prior_delivered);
	out->prior_delivered_ce = segs(cc, rs->prior_delivered_ce);
	out->delivered_ce = out->delivered < 0 ? -1 :
			    tp->delivered_ce - out->prior_delivered_ce;
	out->snd_interval_us = rs->snd_interval_us;
	out->rcv_interval_us = rs->rcv_interval_us;
	out->rtt_us = rs->rtt_us;
	out->losses = tp->lost - segs(cc, cc->lost_bytes - rs->losses_bytes);
	out->acked_sacked = tp->delivered -
			    segs(cc, cc->delivered_bytes -
				     rs->acked_sacked_bytes);
	out->prior_in_flight = segs_up(cc, rs->prior_inflight_bytes);
	out->last_end_seq = tp->snd_una;
	out->is_app_limited = rs->is_app_limited;
	out->is_ack_delayed = rs->is_ack_delayed;
}

/* Notes of the ACK, as a socket makes them. */
static void note_ack(struct tcp_sock *tp, const struct tcon_cc *cc,
		     const struct tcon_rate_sample *rs)
{
	u32 rtt_us = rs->rtt_us > 0 ? rs->rtt_us : cc->srtt_us;

	tp->is_cwnd_limited = rs->is_cwnd_limited;
	tp->rcv_tstamp = tcp_jiffies32;
	tp->lsndtime = tcp_jiffies32;	/* an ACK clocks out the next data */
	if (rs->acked_sacked_bytes)
		tp->delivered_mstamp = rs->now_us;
	tp->first_tx_mstamp = rs->now_us;
	tp->rx_opt.saw_tstamp = rs->has_ts;
	tp->rx_opt.tstamp_ok = rs->has_ts;
	tp->rx_opt.rcv_tsval = rs->has_ts ? rs->peer_tsval : 0;
	tp->rx_opt.rcv_tsecr = rs->has_ts ?
			       div_u64(rs->now_us - rtt_us, USEC_PER_MSEC) : 0;
	if (cc->srtt_us)
		inet_csk(sk_of(tp))->icsk_rto =
			max_t(u32, usecs_to_jiffies(cc->srtt_us * 2ULL),
			      TCP_RTO_MIN);
}

/* The callbacks that only look.  As in a socket they run before the ACK changes the state. */
static void tell_ack(struct sock *sk, struct tcon_cc *cc,
		     const struct tcon_rate_sample *rs)
{
	const struct tcp_congestion_ops *ops = ops_of(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct linux_flow *flow = tcon_cc_priv(cc);
	u64 acked = (u64)flow->acked_rest_bytes + rs->acked_bytes;
	struct ack_sample ack = { .rtt_us = rs->rtt_us };
	u32 flags = 0;

	if (!rs->acked_bytes || rs->is_ece || tp->sacked_out ||
	    inet_csk(sk)->icsk_ca_state != TCP_CA_Open)
		flags |= CA_ACK_SLOWPATH;
	if (rs->is_ece)
		flags |= CA_ACK_ECE;
	if (ops->in_ack_event)
		ops->in_ack_event(sk, flags);
	ack.pkts_acked = div_u64_rem(acked, cc->mss_bytes,
				     &flow->acked_rest_bytes);
	if (rs->tx_in_flight_bytes)	/* there is a sample */
		ack.in_flight = (tp->delivered - segs(cc, rs->prior_delivered)) *
				cc->mss_bytes;
	if (ops->pkts_acked)
		ops->pkts_acked(sk, &ack);
}

static void tcon_linux_pkts_acked(struct tcon_cc *cc,
				  const struct tcon_rate_sample *rs)
{
	struct tcp_sock *tp = enter_now(cc, rs->now_us);

	note_ack(tp, cc, rs);
	tell_ack(sk_of(tp), cc, rs);
	leave(cc);
}

/* tcp_cong_control() */
static void decide(struct sock *sk, const struct tcon_rate_sample *rs,
		   const struct rate_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ops_of(sk)->cong_control) {
		tcon_cong_control(ops_of(sk), sk, tp->snd_una, sample);
		return;
	}
	if (!tcp_in_cwnd_reduction(sk) && rs->acked_bytes &&
	    sample->acked_sacked) {
		ops_of(sk)->cong_avoid(sk, tp->snd_una, sample->acked_sacked);
		tp->snd_cwnd_stamp = tcp_jiffies32;
		if (tcp_in_cwnd_reduction(sk))	/* CDG: by itself */
			reduce_cwnd(sk);
	}
	update_pacing_rate(sk);
}

static void tcon_linux_cong_control(struct tcon_cc *cc,
				    const struct tcon_rate_sample *rs)
{
	struct tcp_sock *tp = enter_now(cc, rs->now_us);
	struct sock *sk = sk_of(tp);
	struct rate_sample sample = {};

	fill_sample(tp, cc, rs, &sample);
	if (rs->acked_bytes)
		inet_csk(sk)->icsk_retransmits = 0;
	try_end_cwr(sk);
	decide(sk, rs, &sample);
	leave(cc);
}

/* The other callbacks. -------------------------------------------------------- */

/* In Linux a CC hears of this before the data counts as sent: Vegas's round then begins with it.
 * Otherwise, where one packet is a window, its rounds would not end.
 */
static void tell_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_nxt = tp->snd_una;
	tp->packets_out = 0;
	tp->sacked_out = 0;
	restart_after_idle(sk);
	tcp_ca_event(sk, CA_EVENT_TX_START);
	tp->lsndtime = tcp_jiffies32;
}

static void tcon_linux_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				 u64 now_us)
{
	struct sock *sk;

	sk = sk_of(enter_now(cc, now_us));
	if (state == TCON_CA_RECOVERY)
		enter_recovery(sk);
	else if (state == TCON_CA_LOSS)
		enter_loss(sk);
	else
		enter_open(sk);
	leave(cc);
}

static void tcon_linux_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				  u64 now_us)
{
	struct tcp_sock *tp = enter_now(cc, now_us);
	struct sock *sk = sk_of(tp);

	if (event == TCON_CA_EVENT_TX_START) {
		tell_start(sk);
	} else if (event == TCON_CA_EVENT_ECE) {
		try_end_cwr(sk);	/* this ACK may do that, too */
		tp->prior_ssthresh = 0;	/* the path is full: nothing is undone */
		if (inet_csk(sk)->icsk_ca_state < TCP_CA_CWR) {
			tcp_enter_cwr(sk);
			reduce_cwnd(sk);
		}
	}
	leave(cc);
}

/* tcp_undo_cwnd_reduction() */
static void tcon_linux_undo_cwnd(struct tcon_cc *cc)
{
	struct tcp_sock *tp = enter(cc);
	struct sock *sk = sk_of(tp);

	if (tp->prior_ssthresh) {
		tcp_snd_cwnd_set(tp, max(ops_of(sk)->undo_cwnd(sk), 1U));
		tp->snd_ssthresh = max(tp->snd_ssthresh, tp->prior_ssthresh);
	}
	tp->undo_marker = 0;
	leave(cc);
}

static int tcon_linux_prepare(struct tcon_cc *cc)
{
	struct linux_flow *flow = tcon_cc_priv(cc);

	flow->tp = new_shadow(GFP_ATOMIC | __GFP_NOWARN);
	return flow->tp ? 0 : -ENOMEM;
}

static void tcon_linux_init(struct tcon_cc *cc, u64 now_us)
{
	const struct linux_cc *lcc = container_of(cc->ops, struct linux_cc, ops);
	u32 ssthresh = cc->ssthresh_bytes / cc->mss_bytes;
	struct tcp_sock *tp = enter_now(cc, now_us);

	BUILD_BUG_ON(sizeof(struct linux_flow) > TCON_CC_PRIV_BYTES);
	inet_csk(sk_of(tp))->icsk_ca_ops = lcc->kernel;
	tp->delivered_mstamp = now_us;
	tp->snd_cwnd_clamp = TCON_CWND_MAX_BYTES / cc->mss_bytes;
	tcp_snd_cwnd_set(tp, max(cc->cwnd_bytes / cc->mss_bytes,
				 TCON_MIN_CWND_SEGS));
	if (cc->ssthresh_bytes < TCON_SSTHRESH_INFINITE)
		tp->snd_ssthresh = max(ssthresh, TCON_MIN_CWND_SEGS);
	update_pacing_rate(sk_of(tp));
	if (lcc->kernel->init)
		lcc->kernel->init(sk_of(tp));
	leave(cc);
}

static void tcon_linux_release(struct tcon_cc *cc)
{
	struct linux_flow *flow = tcon_cc_priv(cc);
	struct sock *sk = sk_of(flow->tp);

	bh_lock_sock(sk);
	if (ops_of(sk)->release)
		ops_of(sk)->release(sk);
	bh_unlock_sock(sk);
	free_shadow(flow->tp);
	flow->tp = NULL;
}

/* The CC's part of ss(8), in TCon's units. */
static int cc_info(struct sock *sk, char *buf, int size)
{
	union tcp_cc_info info = {};
	int kind = 0;

	if (!ops_of(sk)->get_info ||
	    !ops_of(sk)->get_info(sk, 1 << (INET_DIAG_VEGASINFO - 1), &kind,
				  &info))
		return 0;
	switch (kind) {
	case INET_DIAG_VEGASINFO:
		return scnprintf(buf, size, " rtt_us=%u min_rtt_us=%u",
				 info.vegas.tcpv_rtt, info.vegas.tcpv_minrtt);
	case INET_DIAG_DCTCPINFO:
		return scnprintf(buf, size, " alpha=%u.%03u",
				 info.dctcp.dctcp_alpha / LINUX_ALPHA_ONE,
				 info.dctcp.dctcp_alpha % LINUX_ALPHA_ONE *
				 1000 / LINUX_ALPHA_ONE);
	case INET_DIAG_BBRINFO:
		return scnprintf(buf, size,
				 " bw_bps=%llu min_rtt_us=%u gain=%u.%02u cwnd_gain=%u.%02u",
				 ((u64)info.bbr.bbr_bw_hi << 32 |
				  info.bbr.bbr_bw_lo) * BITS_PER_BYTE,
				 info.bbr.bbr_min_rtt,
				 info.bbr.bbr_pacing_gain / LINUX_GAIN_ONE,
				 info.bbr.bbr_pacing_gain % LINUX_GAIN_ONE *
				 100 / LINUX_GAIN_ONE,
				 info.bbr.bbr_cwnd_gain / LINUX_GAIN_ONE,
				 info.bbr.bbr_cwnd_gain % LINUX_GAIN_ONE *
				 100 / LINUX_GAIN_ONE);
	}
	return 0;
}

static int tcon_linux_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	static const char * const states[] = {
		[TCP_CA_Open] = "Open", [TCP_CA_Disorder] = "Disorder",
		[TCP_CA_CWR] = "CWR", [TCP_CA_Recovery] = "Recovery",
		[TCP_CA_Loss] = "Loss",
	};
	const struct linux_flow *flow = tcon_cc_priv(cc);
	struct sock *sk = sk_of(flow->tp);
	u8 state = inet_csk(sk)->icsk_ca_state;
	int len;

	len = scnprintf(buf, size, "mode=%s cwnd_segs=%u",
			state < ARRAY_SIZE(states) ? states[state] : "?",
			tcp_snd_cwnd(flow->tp));
	bh_lock_sock(sk);
	len += cc_info(sk, buf + len, size - len);
	bh_unlock_sock(sk);
	return len;
}

/* The CCs that there are. ------------------------------------------------------ */

static const struct {
	const char *name;
	const char *category;
	const char *paper;
} papers[] = {
	{ "reno", "loss", "RFC 5681" },
	{ "bic", "loss", "Xu, Harfoush, Rhee, 2004" },
	{ "cubic", "loss", "RFC 8312" },
	{ "highspeed", "loss", "RFC 3649" },
	{ "htcp", "loss", "Leith, Shorten, 2004" },
	{ "hybla", "loss", "Caini, Firrincieli, 2004" },
	{ "scalable", "loss", "Kelly, 2003" },
	{ "westwood", "loss", "Mascolo et al., 2001" },
	{ "cdg", "delay", "Hayes, Armitage, 2011" },
	{ "lp", "delay", "Kuzmanovic, Knightly, 2003" },
	{ "nv", "delay", "Brakmo, 2010" },
	{ "vegas", "delay", "Brakmo, Peterson, 1995" },
	{ "illinois", "hybrid", "Liu, Basar, Srikant, 2006" },
	{ "veno", "hybrid", "Fu, Liew, 2003" },
	{ "yeah", "hybrid", "Baiocchi et al., 2007" },
	{ "dctcp", "ECN", "RFC 8257" },
	{ "bbr", "model", "Cardwell et al., 2016" },
};

static bool is_bpf(const struct tcp_congestion_ops *kernel)
{
#ifdef BPF_MODULE_OWNER
	return kernel->owner == BPF_MODULE_OWNER;
#else
	return false;
#endif
}

static void describe(struct linux_cc *lcc)
{
	const struct tcp_congestion_ops *kernel = lcc->kernel;
	struct tcon_cc_ops *ops = &lcc->ops;
	const char *paper = NULL;
	unsigned int i;

	snprintf(ops->name, sizeof(ops->name), PREFIX ":%s", kernel->name);
	ops->category = kernel->flags & TCP_CONG_NEEDS_ECN ? "ECN" :
			kernel->cong_control ? "model" : "loss";
	for (i = 0; !is_bpf(kernel) && i < ARRAY_SIZE(papers); i++)
		if (!strcmp(papers[i].name, kernel->name)) {
			ops->category = papers[i].category;
			paper = papers[i].paper;
		}
	snprintf(lcc->source, sizeof(lcc->source), "Linux%s%s%s",
		 is_bpf(kernel) ? ", BPF" : "", paper ? "; " : "",
		 paper ? : "");
	ops->source = lcc->source;
	ops->owner = THIS_MODULE;
	ops->paced = kernel->cong_control;
	ops->own_recovery = kernel->cong_control;
	if (kernel->flags & TCP_CONG_NEEDS_ECN)
		ops->ecn = TCON_CC_ECN_ALL;
	ops->priv_bytes = sizeof(struct linux_flow);
	ops->prepare = tcon_linux_prepare;
	ops->init = tcon_linux_init;
	ops->release = tcon_linux_release;
	ops->pkts_acked = tcon_linux_pkts_acked;
	ops->cong_control = tcon_linux_cong_control;
	ops->set_state = tcon_linux_set_state;
	ops->cwnd_event = tcon_linux_cwnd_event;
	ops->undo_cwnd = tcon_linux_undo_cwnd;
	ops->get_info = tcon_linux_get_info;
}

/* Makes a socket that uses CC @name.  The kernel loads the CC if the caller may do that. */
static int hold(const char *name, struct socket **holder)
{
	struct socket *sock;
	int err;

	err = sock_create_kern(&init_net, PF_INET, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (err)
		return err;
	err = sock->ops->setsockopt(sock, SOL_TCP, TCP_CONGESTION,
				    KERNEL_SOCKPTR((void *)name),
				    strlen(name));
	if (err)
		sock_release(sock);
	else
		*holder = sock;
	return err;
}

static const char *obstacle(const struct tcp_congestion_ops *kernel)
{
	if (!kernel->owner || is_bpf(kernel) || foreign)
		return NULL;
	if (test_bit(TAINT_OOT_MODULE, &kernel->owner->taints))
		return "its module was not built with the kernel (see foreign of tcon_linux)";
	return NULL;
}

static const char *reason(int err)
{
	switch (err) {
	case -ENOENT:
		return "the kernel has no such CC, nor a module tcp_NAME";
	case -EPERM:
		return "only the administrator of the host may use this CC";
	case -EBUSY:
		return "the CC's module is being removed";
	case -ENOMEM:
		return "there is no memory";
	default:
		return "the kernel refuses to use this CC";
	}
}

/* Gives the CC back.  Flows that ran it are observed. */
static void drop(struct linux_cc *lcc)
{
	tcon_cc_unregister(&lcc->ops);
	list_del(&lcc->node);
	sock_release(lcc->holder);
	kfree(lcc);
}

static struct linux_cc *find(const char *name)
{
	struct linux_cc *lcc;

	list_for_each_entry(lcc, &linux_ccs, node)
		if (!strcmp(lcc->kernel->name, name))
			return lcc;
	return NULL;
}

/* Registers CC @name in place of @old.  Returns NULL, or why not. */
static const char *add(const char *name, struct linux_cc *old)
{
	struct linux_cc *lcc = kzalloc(sizeof(*lcc), GFP_KERNEL);
	const char *why;
	int err;

	if (!lcc)
		return reason(-ENOMEM);
	err = hold(name, &lcc->holder);
	if (err) {
		kfree(lcc);
		return reason(err);
	}
	lcc->kernel = inet_csk(lcc->holder->sk)->icsk_ca_ops;
	why = obstacle(lcc->kernel);
	if (!why) {
		if (old)
			drop(old);
		describe(lcc);
		err = tcon_cc_register(&lcc->ops);
		why = err ? "TCon refuses it: see the kernel's log" : NULL;
	}
	if (why) {
		sock_release(lcc->holder);
		kfree(lcc);
		return why;
	}
	list_add_tail(&lcc->node, &linux_ccs);
	return NULL;
}

/* The next CC in Linux's list: the first if @at is NULL, NULL at the end.  The list's head is not
 * exported, but Reno is always its first entry.  RCU read lock held.
 */
static const struct tcp_congestion_ops *
next_of(const struct tcp_congestion_ops *at)
{
	const struct list_head *head = kernel_reno->list.prev, *next;

	next = at ? READ_ONCE(at->list.next) : READ_ONCE(head->next);
	return next == head ? NULL :
	       container_of(next, struct tcp_congestion_ops, list);
}

/* A CC of BPF may be removed, and another registered with its name. */
static bool is_current(const struct linux_cc *lcc)
{
	const struct tcp_congestion_ops *kernel;
	bool found = false;

	if (!is_bpf(lcc->kernel))
		return true;
	rcu_read_lock();
	for (kernel = next_of(NULL); kernel; kernel = next_of(kernel))
		found |= kernel == lcc->kernel;
	rcu_read_unlock();
	return found;
}

static const char *resolve_locked(const char *name)
{
	struct linux_cc *lcc = find(name);

	if (lcc && is_current(lcc))
		return NULL;
	return add(name, lcc);
}

static const char *tcon_linux_resolve(const char *member)
{
	const char *why;

	if (!*member || strlen(member) >= TCP_CA_NAME_MAX)
		return reason(-ENOENT);
	mutex_lock(&linux_lock);
	why = resolve_locked(member);
	mutex_unlock(&linux_lock);
	return why;
}

static void tcon_linux_scan(void)
{
	const struct tcp_congestion_ops *kernel;
	char (*names)[TCP_CA_NAME_MAX];
	unsigned int i, n = 0;

	if (!capable(CAP_NET_ADMIN))
		return;
	names = kcalloc(NAMES_MAX, sizeof(*names), GFP_KERNEL);
	if (!names)
		return;
	rcu_read_lock();
	for (kernel = next_of(NULL); kernel && n < NAMES_MAX;
	     kernel = next_of(kernel))
		strscpy(names[n++], kernel->name, sizeof(*names));
	rcu_read_unlock();
	mutex_lock(&linux_lock);
	for (i = 0; i < n; i++)
		resolve_locked(names[i]);
	mutex_unlock(&linux_lock);
	kfree(names);
}

static struct tcon_cc_family linux_family = {
	.name = PREFIX,
	.owner = THIS_MODULE,
	.resolve = tcon_linux_resolve,
	.scan = tcon_linux_scan,
};

/* Is a shadow what the kernel takes for a socket? ------------------------------- */

static u8 spied_state;

static u32 spy_ssthresh(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk)) / 2;
}

static void spy_set_state(struct sock *sk, u8 state)
{
	spied_state = state;
}

static const struct tcp_congestion_ops spy = {
	.name = "spy",
	.ssthresh = spy_ssthresh,
	.set_state = spy_set_state,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

/* Checks growth, by the kernel's own arithmetic.  Returns the helper that failed, or NULL. */
static const char *check_growth(struct tcp_sock *tp)
{
	struct sock *sk = sk_of(tp);

	tcp_snd_cwnd_set(tp, 10);
	tp->snd_ssthresh = 12;
	if (tcp_slow_start(tp, 5) != 3 || tcp_snd_cwnd(tp) != 12)
		return "tcp_slow_start";
	tcp_cong_avoid_ai(tp, 10, 25);
	if (tcp_snd_cwnd(tp) != 14 || tp->snd_cwnd_cnt != 5)
		return "tcp_cong_avoid_ai";
	tp->is_cwnd_limited = 0;
	tcp_reno_cong_avoid(sk, 0, 9);
	if (tcp_snd_cwnd(tp) != 14)
		return "tcp_reno_cong_avoid";
	tp->is_cwnd_limited = 1;
	tcp_reno_cong_avoid(sk, 0, 9);
	if (tcp_snd_cwnd(tp) != 15 || tp->snd_cwnd_cnt)
		return "tcp_reno_cong_avoid";
	tp->snd_cwnd_clamp = 16;
	tcp_cong_avoid_ai(tp, 1, 100);
	if (tcp_snd_cwnd(tp) != 16)
		return "tcp_cong_avoid_ai";
	return NULL;
}

static const char *check_reduction(struct tcp_sock *tp)
{
	struct sock *sk = sk_of(tp);

	tp->prior_cwnd = 40;
	if (tcp_reno_ssthresh(sk) != 8)
		return "tcp_reno_ssthresh";
	if (tcp_reno_undo_cwnd(sk) != 40)
		return "tcp_reno_undo_cwnd";
	inet_csk(sk)->icsk_ca_ops = &spy;
	tp->prior_ssthresh = 99;
	tp->high_seq = 0;
	tp->snd_nxt = 4711;
	tcp_enter_cwr(sk);
	if (spied_state != TCP_CA_CWR ||
	    inet_csk(sk)->icsk_ca_state != TCP_CA_CWR || tp->prior_ssthresh ||
	    tp->snd_ssthresh != 8 || tp->prior_cwnd != 16 ||
	    tp->high_seq != 4711)
		return "tcp_enter_cwr";
	return NULL;
}

/* Checks all that fill() writes, as the kernel shows it. */
static const char *check_fields(struct tcp_sock *tp)
{
	static const struct tcon_cc cc = {
		.una = 1000, .nxt = 1000 + 1460 * 30, .mss_bytes = 1460,
		.inflight_bytes = 1460 * 21, .srtt_us = 40000,
		.min_rtt_us = 30000, .delivered_bytes = 1460 * 500ULL,
		.delivered_ce_bytes = 1460 * 60ULL, .lost_bytes = 1460 * 7ULL,
	};
	struct tcp_info info;

	fill(tp, &cc);
	sk_of(tp)->sk_pacing_rate = 123456;
	tcp_get_info(sk_of(tp), &info);
	if (info.tcpi_unacked == 30 && info.tcpi_sacked == 9 &&
	    info.tcpi_snd_mss == 1460 && info.tcpi_rtt == 40000 &&
	    info.tcpi_min_rtt == 30000 && info.tcpi_delivered == 500 &&
	    info.tcpi_delivered_ce == 60 && info.tcpi_snd_cwnd == 16 &&
	    info.tcpi_snd_ssthresh == 8 && info.tcpi_ca_state == TCP_CA_CWR &&
	    info.tcpi_pacing_rate == 123456 &&
	    info.tcpi_max_pacing_rate == ~0ULL && !info.tcpi_lost &&
	    !info.tcpi_retrans && info.tcpi_state == TCP_TIME_WAIT)
		return NULL;
	return "tcp_get_info";
}

static int check_layout(void)
{
	struct tcp_sock *tp = new_shadow(GFP_KERNEL);
	const char *erred;

	if (!tp)
		return -ENOMEM;
	erred = check_growth(tp);
	if (!erred)
		erred = check_reduction(tp);
	if (!erred)
		erred = check_fields(tp);
	free_shadow(tp);
	if (!erred)
		return 0;
	pr_err("tcon_linux: the kernel's %s() does not do what it should to a socket's fields\n",
	       erred);
	return -EINVAL;
}

/* Finds the first CC in Linux's list, with a socket that is given back at once. */
static int find_reno(void)
{
	struct socket *holder;
	int err = hold("reno", &holder);

	if (err)
		return err;
	kernel_reno = inet_csk(holder->sk)->icsk_ca_ops;
	sock_release(holder);
	return 0;
}

static int __init tcon_linux_module_init(void)
{
	int err;

	shadows = kmem_cache_create("tcon_linux_shadow",
				    sizeof(struct tcp_sock), 0,
				    SLAB_HWCACHE_ALIGN, NULL);
	if (!shadows)
		return -ENOMEM;
	err = check_layout();
	if (!err)
		err = find_reno();
	if (!err)
		err = tcon_cc_register_family(&linux_family);
	if (err) {
		kmem_cache_destroy(shadows);
		return err;
	}
	tcon_linux_scan();
	return 0;
}

static void __exit tcon_linux_module_exit(void)
{
	struct linux_cc *lcc, *next;

	tcon_cc_unregister_family(&linux_family);
	list_for_each_entry_safe(lcc, next, &linux_ccs, node)
		drop(lcc);
	kmem_cache_destroy(shadows);
}

module_init(tcon_linux_module_init);
module_exit(tcon_linux_module_exit);

MODULE_DESCRIPTION("TCon: the congestion controls of the host's kernel");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-" PREFIX);
