/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between TCon and a congestion control (CC) module.
 *
 * It is like the kernel's struct tcp_congestion_ops, for those who know that.  The
 * differences: data is counted in bytes, because a hypervisor sees 64 KiB super-packets;
 * the flow is a &struct tcon_cc, not a socket; parameters belong to a rule, not to the
 * module.
 *
 * Every callback runs with the flow's lock held and bottom halves disabled.  It must not
 * sleep, and must use nothing but its arguments.
 */
#ifndef _TCON_CC_H
#define _TCON_CC_H

#include <linux/types.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <uapi/linux/tcon.h>

#define TCON_CC_PRIV_BYTES	256
#define TCON_CWND_MAX_BYTES	0x40000000U	/* 65535 << 14, rounded up */
#define TCON_SSTHRESH_INFINITE	0x7fffffffU
#define TCON_INIT_CWND_SEGS	10U		/* RFC 6928 */
#define TCON_MIN_CWND_SEGS	2U		/* the ACK of a single one is delayed */
#define TCON_RTT_NONE_US	(~0U)
#define TCON_SLOWEST_SEGMENT_S	60		/* longer than any RTO of RFC 6298 */
/* Bytes that the pacer releases at once, as in Linux: 1 ms of the rate.  At least one segment at
 * low rates, else two; at most 64 KiB.
 */
#define TCON_QUANTUM_HZ		1000
#define TCON_QUANTUM_SLOW_BPS	1200000
#define TCON_QUANTUM_MAX_BYTES	65536U

struct tcon_cc;

/**
 * enum tcon_ca_state - the tracker's view of the path
 * @TCON_CA_OPEN: nothing is missing
 * @TCON_CA_RECOVERY: something was judged lost by SACK, RACK or duplicate
 *	ACKs; entered at most once per round trip, as the kernel's TCP_CA_Recovery
 * @TCON_CA_LOSS: a retransmission time-out
 */
enum tcon_ca_state {
	TCON_CA_OPEN,
	TCON_CA_RECOVERY,
	TCON_CA_LOSS,
};

/**
 * enum tcon_ca_event - as the kernel's enum tcp_ca_event
 * @TCON_CA_EVENT_TX_START: first data after all was acknowledged; see tcon_cc_was_idle()
 * @TCON_CA_EVENT_ECE: an ACK reports ECN CE, by ECE (RFC 3168), or by a count of marked
 *	bytes that has grown; once per ACK
 */
enum tcon_ca_event {
	TCON_CA_EVENT_TX_START,
	TCON_CA_EVENT_ECE,
};

/**
 * enum tcon_cc_ecn - does a CC use ECN, and on which packets?
 * @TCON_CC_ECN_NONE: it does not ask for it; but where the guest has negotiated ECN, or its
 *	rule asks for it, the CC hears of marks (%TCON_CA_EVENT_ECE)
 * @TCON_CC_ECN_DATA: ECT(0) on data that is sent for the first time (RFC 3168, 6.1)
 * @TCON_CC_ECN_ALL: ECT(0) on all packets except SYN and RST, also repeats and pure ACKs
 *
 * With the last two a flow has ECN even if its guest does not speak it: see
 * datapath/sender/ecn.c.
 */
enum tcon_cc_ecn {
	TCON_CC_ECN_NONE,
	TCON_CC_ECN_DATA,
	TCON_CC_ECN_ALL,
};

/**
 * struct tcon_rate_sample - what one ACK told, after the tracker has processed it
 * @now_us: time of the ACK, microseconds, monotonic
 * @prior_delivered: tcon_cc.delivered_bytes when the sampled packet was sent
 * @prior_delivered_ce: delivered_ce_bytes then
 * @prior_lost: tcon_cc.lost_bytes then
 * @delivered_bytes: delivered over @interval_us; -1 when there is no sample
 * @delivered_ce_bytes: of those, with ECN CE
 * @interval_us: the longer of send and ACK interval; -1 when there is no sample
 * @snd_interval_us: time over which the sampled flight was sent
 * @rcv_interval_us: time over which it was acknowledged
 * @rtt_us: RTT of the newest packet that this ACK covers, if unambiguous (Karn's
 *	algorithm); -1 when there is none
 * @acked_bytes: cumulatively acknowledged by this ACK
 * @acked_sacked_bytes: newly delivered by this ACK, in sequence or by SACK
 * @losses_bytes: newly judged lost at this ACK
 * @prior_inflight_bytes: in flight before this ACK
 * @tx_in_flight_bytes: in flight when the sampled packet was sent, this packet included
 * @lost_bytes: judged lost since the sampled packet was sent
 * @is_app_limited: the sampled packet was sent while the guest offered less
 *	than TCon would have let pass
 * @is_cwnd_limited: since the previous round TCon's cwnd limited the flow
 * @is_ece: the ACK reports ECN CE, see %TCON_CA_EVENT_ECE
 * @is_ack_delayed: the ACK may have been delayed: less than a segment was in flight (as in
 *	Linux)
 * @has_ts: the ACK has a time stamp
 * @peer_tsval: its TSval
 *
 * Rates follow draft-cheng-iccrg-delivery-rate-estimation (the kernel's tcp_rate.c).
 * BBRv3 (draft-ietf-ccwg-bbr), DCTCP (RFC 8257) and Vegas need the other fields.
 */
struct tcon_rate_sample {
	u64 now_us;
	u64 prior_delivered;
	u64 prior_delivered_ce;
	u64 prior_lost;
	s64 delivered_bytes;
	s64 delivered_ce_bytes;
	s64 interval_us;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	s64 rtt_us;
	u32 acked_bytes;
	u32 acked_sacked_bytes;
	u32 losses_bytes;
	u32 prior_inflight_bytes;
	u32 tx_in_flight_bytes;
	u32 lost_bytes;
	bool is_app_limited;
	bool is_cwnd_limited;
	bool is_ece;
	bool is_ack_delayed;
	bool has_ts;
	u32 peer_tsval;
};

/**
 * struct tcon_cc_param - one parameter of a CC
 * @name: as users write it
 * @type: enum tcon_param_type, which says how a value is written
 * @def: default
 * @min: smallest value allowed
 * @max: largest value allowed
 * @unit: e.g. "packets"; "" for a plain number
 * @help: one line for users
 */
struct tcon_cc_param {
	const char *name;
	enum tcon_param_type type;
	s64 def;
	s64 min;
	s64 max;
	const char *unit;
	const char *help;
};

/**
 * struct tcon_cc_ops - a CC module
 * @name: unique; letters, digits, '_' and '-'; with FAMILY: in front if a family made it
 * @category: "loss", "delay", "model", "hybrid" or "ECN"
 * @source: RFC or paper
 * @owner: THIS_MODULE
 * @ecn: enum tcon_cc_ecn
 * @paced: it sets @pacing_rate_bps of its flows and needs the pacer
 * @own_recovery: in a recovery, and after ECN marks, its cwnd is what may be in flight.
 *	Otherwise its cwnd is then the target for afterwards, which TCon reaches by
 *	RFC 9937 (datapath/sender/prr.c).  After a time-out TCon lets one segment leave at
 *	first, and cwnd be filled as in slow start, in any case
 * @priv_bytes: size of the private area, at most %TCON_CC_PRIV_BYTES
 * @params: parameters, in the order of tcon_cc.params
 * @n_params: their number, at most %TCON_MAX_PARAMS
 * @complaint: do values of @params, each within its bounds, go together?  Returns NULL, or why
 *	not, in a few words.  May sleep.  Optional.
 * @prepare: before @init: allocates what does not fit the private area.  If it does not
 *	return 0, the flow is only observed, and no other call follows.  Optional.
 * @init: starts on @cc.  The tracker's fields are set.  cwnd_bytes is
 *	%TCON_INIT_CWND_SEGS segments; or, if more, what is in flight at a live switch, or
 *	what the same CC had on the host that the guest came from.  ssthresh_bytes is the
 *	previous CC's, or %TCON_SSTHRESH_INFINITE.  pacing_rate_bps and the private
 *	area are zero.  Required.
 * @release: the last call for @cc.  Optional.
 * @pkts_acked: an ACK delivered something or showed a loss.  It is called before
 *	cwnd_event(), undo_cwnd() and set_state() for this ACK, so it finds the state
 *	before the ACK; cong_control() follows.  Optional.
 * @cong_control: at the end of each ACK that delivered something or showed a loss: sets
 *	cwnd_bytes, and pacing_rate_bps if paced.  Required.
 * @set_state: before cc.ca_state becomes @state.  A loss-based CC reduces here, on
 *	%TCON_CA_RECOVERY and %TCON_CA_LOSS.  It is called again for each further
 *	time-out in %TCON_CA_LOSS.  Required.
 * @cwnd_event: see &enum tcon_ca_event.  Optional.  A guest that speaks ECN sees its marks
 *	only under a CC without it.
 * @undo_cwnd: the last reduction was spurious.  Required.
 * @get_info: writes one line about its state for users, without newline; returns the
 *	length, like scnprintf().  Optional.
 * @list: for the registry
 *
 * TCon does not clamp what a CC sets.  If cwnd is below %TCON_MIN_CWND_SEGS segments or
 * above %TCON_CWND_MAX_BYTES, or at the pacing rate a segment takes more than
 * %TCON_SLOWEST_SEGMENT_S seconds, the watchdog takes the flow from the CC.  It is then
 * only observed.
 */
struct tcon_cc_ops {
	char name[TCON_CC_NAME_MAX];
	const char *category;
	const char *source;
	struct module *owner;
	enum tcon_cc_ecn ecn;
	bool paced;
	bool own_recovery;
	u16 priv_bytes;
	const struct tcon_cc_param *params;
	unsigned int n_params;

	const char *(*complaint)(const s64 *params);
	int (*prepare)(struct tcon_cc *cc);
	void (*init)(struct tcon_cc *cc, u64 now_us);
	void (*release)(struct tcon_cc *cc);
	void (*pkts_acked)(struct tcon_cc *cc,
			   const struct tcon_rate_sample *rs);
	void (*cong_control)(struct tcon_cc *cc,
			     const struct tcon_rate_sample *rs);
	void (*set_state)(struct tcon_cc *cc, enum tcon_ca_state state,
			  u64 now_us);
	void (*cwnd_event)(struct tcon_cc *cc, enum tcon_ca_event event,
			   u64 now_us);
	void (*undo_cwnd)(struct tcon_cc *cc);
	int (*get_info)(const struct tcon_cc *cc, char *buf, int size);

	struct list_head list;
};

/**
 * struct tcon_cc - what a CC sees of a flow, and where it writes its decision
 * @cwnd_bytes: decision: how much may be in flight.  During a reduction for losses or
 *	marks: how much may be after it, unless the CC has its own_recovery
 * @mss_bytes: payload of a full segment
 * @pacing_rate_bps: decision: bits/s of TCP payload; 0: not paced
 * @inflight_bytes: in flight now, after the ACK that is being handled
 * @una: first unacknowledged sequence number
 * @nxt: next sequence number to leave TCon
 * @ca_state: see &enum tcon_ca_state
 * @delivered_bytes: total delivered
 * @delivered_ce_bytes: of those, bytes with ECN CE feedback
 * @lost_bytes: total judged lost
 * @app_limited_until: value of @delivered_bytes at which the present app-limited
 *	phase ends; 0: not limited.  A CC that sends less on purpose also sets it
 *	(BBR in PROBE_RTT)
 * @ops: the CC
 * @params: the rule's values, in the order of ops->params
 * @ssthresh_bytes: decision: where slow start ends
 * @srtt_us: smoothed RTT (RFC 6298); 0 before the first sample
 * @min_rtt_us: minimum of the connection's last 150 to 300 s;
 *	%TCON_RTT_NONE_US before the first sample
 * @last_rate_bps: the latest delivery-rate sample, for a live switch
 * @priv: the CC's private area
 */
struct tcon_cc {
	u32 cwnd_bytes;
	u32 mss_bytes;
	u64 pacing_rate_bps;
	u32 inflight_bytes;
	u32 una;
	u32 nxt;
	enum tcon_ca_state ca_state;
	u64 delivered_bytes;
	u64 delivered_ce_bytes;
	u64 lost_bytes;
	u64 app_limited_until;

	const struct tcon_cc_ops *ops;
	const s64 *params;
	u32 ssthresh_bytes;
	u32 srtt_us;
	u32 min_rtt_us;
	u64 last_rate_bps;

	u64 priv[TCON_CC_PRIV_BYTES / sizeof(u64)];
};

/**
 * tcon_cc_priv() - private area of a CC
 * @cc: the flow
 *
 * Return: the area, 8-byte aligned.
 */
static inline void *tcon_cc_priv(const struct tcon_cc *cc)
{
	return (void *)cc->priv;
}

/**
 * tcon_cc_was_idle() - at %TCON_CA_EVENT_TX_START: had the guest nothing to send?
 * @cc: the flow
 *
 * If it had, only its window was full.  Where little is in flight, or where one ACK comes for all
 * of it, everything is acknowledged once in each round trip.
 *
 * Return: true if it had nothing to send.
 */
static inline bool tcon_cc_was_idle(const struct tcon_cc *cc)
{
	return cc->app_limited_until;
}

/**
 * tcon_cc_slowest_bps() - the lowest pacing rate that the watchdog accepts
 * @cc: the flow
 *
 * Return: bits/s of TCP payload.
 */
static inline u64 tcon_cc_slowest_bps(const struct tcon_cc *cc)
{
	return cc->mss_bytes * 8 / TCON_SLOWEST_SEGMENT_S;
}

/**
 * tcon_cc_quantum_bytes() - what the pacer releases at once
 * @cc: the flow, paced
 *
 * A CC that models the path (BBR) adds room for this to what may be in flight.
 * Return: payload bytes.
 */
static inline u32 tcon_cc_quantum_bytes(const struct tcon_cc *cc)
{
	u64 bytes = div_u64(cc->pacing_rate_bps, 8 * TCON_QUANTUM_HZ);
	u32 segs = cc->pacing_rate_bps < TCON_QUANTUM_SLOW_BPS ? 1 : 2;

	bytes = min_t(u64, bytes, TCON_QUANTUM_MAX_BYTES);
	return max_t(u32, bytes, segs * cc->mss_bytes);
}

/**
 * struct tcon_cc_family - a module that makes CCs when they are asked for
 * @name: the part before the colon in the names of its CCs; the module has the alias
 *	tcon-cc-NAME
 * @owner: THIS_MODULE
 * @resolve: registers the CC @name:@member, if it is not registered yet.  Returns NULL,
 *	or a sentence that says why there is no such CC
 * @scan: registers all CCs that the family has now
 * @list: for the registry
 *
 * Both callbacks may sleep.  They run in the context of the process that asks.
 */
struct tcon_cc_family {
	const char *name;
	struct module *owner;
	const char *(*resolve)(const char *member);
	void (*scan)(void);
	struct list_head list;
};

int tcon_cc_register(struct tcon_cc_ops *ops);
void tcon_cc_unregister(struct tcon_cc_ops *ops);
int tcon_cc_register_family(struct tcon_cc_family *family);
void tcon_cc_unregister_family(struct tcon_cc_family *family);

#endif /* _TCON_CC_H */
