/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * TCon: the generic netlink interface between ovs-vswitchd (or any other program with
 * CAP_NET_ADMIN) and tcon.ko.
 *
 * A request acts on the network namespace of its socket.  Sets are idempotent: to send a
 * request twice has the effect of sending it once.  A request that is refused changes
 * nothing.
 */
#ifndef _UAPI_LINUX_TCON_H
#define _UAPI_LINUX_TCON_H

#include <linux/types.h>

#define TCON_GENL_NAME		"tcon"
#define TCON_GENL_VERSION	3

#define TCON_CC_NAME_MAX	32	/* with the NUL */
#define TCON_CC_OBSERVE		"none"	/* the rule that only observes */
#define TCON_PARAM_NAME_MAX	24
#define TCON_BRIDGE_NAME_MAX	64
#define TCON_IFACE_ID_MAX	128	/* external_ids:iface-id of an Interface, with the NUL */
#define TCON_MAX_PARAMS		16	/* of one CC */
#define TCON_MAX_RULES		4096	/* in one namespace */
#define TCON_DEFAULT_PRIORITY	32768	/* as in OpenFlow */
#define TCON_SHARE_ALL		10000	/* shares of rules are parts of this */

/**
 * enum tcon_cmd - commands of the family
 * @TCON_CMD_GET_INFO: totals and limits of the namespace (do)
 * @TCON_CMD_SET_PORT: tell the kernel a port's bridge, OpenFlow number, role, and
 *	what its guest is called outside of this host
 * @TCON_CMD_GET_PORT: ports (dump)
 * @TCON_CMD_SET_RULE: add a rule, or replace the one with the same bridge, match and
 *	priority.  If the CC is not registered, the module tcon-cc-NAME is loaded, before
 *	anything else is looked at.  So a request with only %TCON_RULE_A_CC loads the
 *	module, and is then refused (-EINVAL).  For a name FAMILY:MEMBER the module is
 *	tcon-cc-FAMILY, which then makes the CC or says why not (-ENOPKG)
 * @TCON_CMD_DEL_RULE: remove the rule with this bridge, match and priority
 *	(-ENOENT where there is none); without %TCON_A_RULE_MATCH, every rule of
 *	the bridge
 * @TCON_CMD_GET_RULE: rules, in the order in which they are tried (dump); or one (do): the rule
 *	with this bridge, match and priority, or with %TCON_A_PORT the rule that a half-flow of
 *	the port %TCON_PORT_A_IFINDEX obeys, with the half-flow as a %TCON_A_RULE_MATCH that only
 *	it fits (-ENOENT where there is none)
 * @TCON_CMD_GET_CC: registered CC modules with their parameters (dump)
 * @TCON_CMD_GET_FLOW: half-flows, with an optional %TCON_A_BRIDGE and
 *	%TCON_A_RULE_MATCH that select, and with %TCON_A_ROUNDS the rounds of those that
 *	are observed (dump)
 * @TCON_CMD_GET_STATE: the half-flows of the port %TCON_PORT_A_IFINDEX that can go on at
 *	another port, or on another host, one %TCON_A_STATE each (dump)
 * @TCON_CMD_SET_STATE: the guest at the port %TCON_PORT_A_IFINDEX came from elsewhere, and
 *	brings the half-flow %TCON_A_STATE.  If the port knows it from its handshake,
 *	nothing changes.  With %TCON_A_CHECK the request is only checked
 *
 * All of them need CAP_NET_ADMIN over the namespace: they tell about all its tenants.
 *
 * SET_RULE, DEL_RULE and SET_PORT return when new connections obey.  Existing half-flows
 * take up a change with their next packet; silent ones soon after (%TCON_INFO_A_SPREADING).
 *
 * If rules, ports or CCs change while they are dumped, the rest of the dump has %NLM_F_DUMP_INTR.
 * A dump of half-flows never has it: each that exists all the time is told once.
 */
enum tcon_cmd {
	TCON_CMD_UNSPEC,
	TCON_CMD_GET_INFO,
	TCON_CMD_SET_PORT,
	TCON_CMD_GET_PORT,
	TCON_CMD_SET_RULE,
	TCON_CMD_DEL_RULE,
	TCON_CMD_GET_RULE,
	TCON_CMD_GET_CC,
	TCON_CMD_GET_FLOW,
	TCON_CMD_GET_STATE,
	TCON_CMD_SET_STATE,
	__TCON_CMD_MAX,
};
#define TCON_CMD_MAX (__TCON_CMD_MAX - 1)

/* Top-level attributes, with their types and where they are used. */
enum tcon_attr {
	TCON_A_UNSPEC,
	TCON_A_PAD,
	TCON_A_BRIDGE,		/* string: of PORT, of RULE, and in the filter of FLOW */
	TCON_A_PORT,		/* nested TCON_PORT_A_* */
	TCON_A_RULE,		/* nested TCON_RULE_A_* */
	TCON_A_RULE_MATCH,	/* nested TCON_MATCH_A_*; empty nest: all */
	TCON_A_CC,		/* nested TCON_CC_A_* */
	TCON_A_FLOW,		/* nested TCON_FLOW_A_* */
	TCON_A_INFO,		/* nested TCON_INFO_A_* */
	TCON_A_STATE,		/* struct tcon_state_record */
	TCON_A_CHECK,		/* flag: of SET_STATE */
	TCON_A_ROUNDS,		/* flag: of GET_FLOW: with TCON_FLOW_A_ROUNDS */
	__TCON_A_MAX,
};
#define TCON_A_MAX (__TCON_A_MAX - 1)

/* TCON_A_RULE_MATCH.  A prefix length without an address is refused.  An address without a prefix
 * length has the full length.
 */
enum tcon_match_attr {
	TCON_MATCH_A_UNSPEC,
	TCON_MATCH_A_IFNAME,	/* string: guest port by device name */
	TCON_MATCH_A_OFPORT,	/* u32: guest port by OpenFlow number */
	TCON_MATCH_A_FAMILY,	/* u8: AF_INET or AF_INET6 */
	TCON_MATCH_A_SRC,	/* 4 or 16 bytes: the guest's address */
	TCON_MATCH_A_SRC_PLEN,	/* u8 */
	TCON_MATCH_A_DST,	/* 4 or 16 bytes: the peer's address */
	TCON_MATCH_A_DST_PLEN,	/* u8 */
	TCON_MATCH_A_SPORT,	/* u16, host order */
	TCON_MATCH_A_DPORT,	/* u16, host order */
	TCON_MATCH_A_VLAN,	/* u16: VLAN id, 0 .. 4095 */
	TCON_MATCH_A_SPORT_MASK, /* u16, host order: which bits of SPORT count; absent: all */
	TCON_MATCH_A_DPORT_MASK, /* u16, likewise of DPORT */
	TCON_MATCH_A_IFACE_ID,	/* string: guest port by TCON_PORT_A_IFACE_ID */
	TCON_MATCH_A_MAC,	/* 6 bytes: the guest's Ethernet address */
	TCON_MATCH_A_MAC_MASK,	/* 6 bytes: which bits of MAC count; absent: all */
	TCON_MATCH_A_MARK,	/* u32: packet mark of what goes to the guest */
	TCON_MATCH_A_MARK_MASK,	/* u32: which bits of MARK count; absent: all */
	__TCON_MATCH_A_MAX,
};
#define TCON_MATCH_A_MAX (__TCON_MATCH_A_MAX - 1)

/* TCON_A_RULE, beside the top-level TCON_A_BRIDGE and TCON_A_RULE_MATCH. */
enum tcon_rule_attr {
	TCON_RULE_A_UNSPEC,
	TCON_RULE_A_PAD,
	TCON_RULE_A_PRIORITY,	/* u32, 0 .. 65535; default 32768 */
	TCON_RULE_A_CC,		/* string: a CC's name or "none" */
	TCON_RULE_A_PARAM,	/* nested TCON_PARAM_A_*, may repeat */
	TCON_RULE_A_FLOWS,	/* u32, dump only: number of flows that it selects now */
	TCON_RULE_A_ECN,	/* u8, enum tcon_rule_ecn; absent: auto */
	TCON_RULE_A_FALLBACK,	/* u8, enum tcon_rule_fallback; absent: auto */
	TCON_RULE_A_SHARE,	/* u16, 1 .. TCON_SHARE_ALL - 1: this part of the half-flows that
				 * MATCH selects, chosen by a hash of addresses and TCP ports, obeys
				 * it; for the others the rules below it are tried; absent: all
				 */
	TCON_RULE_A_AGE_MS,	/* u64, dump only: how long it is in force */
	TCON_RULE_A_TAKEN,	/* array of u64, index enum tcon_outcome; dump only, with SHARE:
				 * of half-flows that obeyed it
				 */
	TCON_RULE_A_LEFT,	/* likewise, of those that MATCH selects, and that neither it nor
				 * another rule with a share took, nor a rule above it
				 */
	TCON_RULE_A_RTO_MIN_US,	/* u32, TCON_RTO_LEAST_US .. TCON_RTO_MOST_US: the least time-out
				 * of TCon's repairs beyond the smoothed RTT; absent:
				 * TCON_RTO_DEFAULT_US
				 */
	__TCON_RULE_A_MAX,
};
#define TCON_RULE_A_MAX (__TCON_RULE_A_MAX - 1)

/*
 * Outcomes of the half-flows whose connection was opened and closed while the rule was in force,
 * which had data acknowledged, and which obeyed one rule, or none, all the time.
 *
 * Each number has its sum and its sum of squares over half-flows, for the mean and its error.
 * Rates and times are summed up as logarithms, because they differ by factors.
 */
enum tcon_outcome {
	TCON_OUTCOME_FLOWS,	/* number of half-flows */
	TCON_OUTCOME_GOODPUT,	/* log2 of bits/s acknowledged while data was in flight, times
				 * TCON_OUTCOME_LOG
				 */
	TCON_OUTCOME_GOODPUT_SQ,
	TCON_OUTCOME_RTT,	/* log2 of the mean RTT in us, times TCON_OUTCOME_LOG */
	TCON_OUTCOME_RTT_SQ,
	TCON_OUTCOME_AGAIN,	/* the part of all payload that left that was a repeat of the guest
				 * or a repair, times TCON_OUTCOME_PART
				 */
	TCON_OUTCOME_AGAIN_SQ,
	__TCON_OUTCOME_MAX,
};
#define TCON_OUTCOME_LOG	1024
#define TCON_OUTCOME_PART	65536

#define TCON_RTO_LEAST_US	200
#define TCON_RTO_DEFAULT_US	200000
#define TCON_RTO_MOST_US	1000000

/* Does TCon ask for ECN where a guest does not speak it? */
enum tcon_rule_ecn {
	TCON_RULE_ECN_AUTO,	/* if the CC wants it */
	TCON_RULE_ECN_ON,
	TCON_RULE_ECN_OFF,
	__TCON_RULE_ECN_MAX,
};
#define TCON_RULE_ECN_NAMES { "auto", "on", "off" }

/* Treatment of a flow that the rule selects and that cannot be enforced. */
enum tcon_rule_fallback {
	TCON_RULE_FALLBACK_AUTO,	/* pace where the guest caused it, else pass */
	TCON_RULE_FALLBACK_PASS,	/* it passes, observed */
	TCON_RULE_FALLBACK_PACE,	/* it is paced, if a CC can run */
	TCON_RULE_FALLBACK_DROP,	/* its data is dropped */
	__TCON_RULE_FALLBACK_MAX,
};
#define TCON_RULE_FALLBACK_NAMES { "auto", "pass", "pace", "drop" }

/* How a parameter's s64 value is read and written. */
enum tcon_param_type {
	TCON_PARAM_UINT,	/* the number itself */
	TCON_PARAM_BOOL,	/* 0 or 1 */
	TCON_PARAM_MILLI,	/* thousandths: 700 is 0.7 */
};

/* A parameter: of a CC (all attributes), or of a rule (NAME and VALUE; in dumps also TYPE). */
enum tcon_param_attr {
	TCON_PARAM_A_UNSPEC,
	TCON_PARAM_A_PAD,
	TCON_PARAM_A_NAME,	/* string */
	TCON_PARAM_A_VALUE,	/* s64; in TCON_A_CC: the default */
	TCON_PARAM_A_TYPE,	/* u8, enum tcon_param_type */
	TCON_PARAM_A_MIN,	/* s64 */
	TCON_PARAM_A_MAX_VALUE,	/* s64 */
	TCON_PARAM_A_UNIT,	/* string, may be empty */
	TCON_PARAM_A_HELP,	/* string: one line */
	__TCON_PARAM_A_MAX,
};
#define TCON_PARAM_A_MAX (__TCON_PARAM_A_MAX - 1)

/* TCON_A_CC */
enum tcon_cc_attr {
	TCON_CC_A_UNSPEC,
	TCON_CC_A_NAME,		/* string */
	TCON_CC_A_CATEGORY,	/* string: loss, delay, model, ECN, ... */
	TCON_CC_A_SOURCE,	/* string: RFC or paper */
	TCON_CC_A_PACED,	/* flag: uses the pacer */
	TCON_CC_A_PARAM,	/* nested TCON_PARAM_A_*, repeats */
	TCON_CC_A_FLOWS,	/* u32: flows that rules with it select now */
	__TCON_CC_A_MAX,
};
#define TCON_CC_A_MAX (__TCON_CC_A_MAX - 1)

enum tcon_role {
	TCON_ROLE_AUTO,		/* SET_PORT only: the kernel decides */
	TCON_ROLE_GUEST,
	TCON_ROLE_UPLINK,
	TCON_ROLE_NEVER,	/* internal, tunnel and patch ports */
};

/* Why a port has its role. */
enum tcon_role_why {
	TCON_WHY_CONFIGURED,	/* other_config:tcon-role */
	TCON_WHY_PHYSICAL,	/* a device with hardware behind it */
	TCON_WHY_VIRTUAL,	/* no hardware behind it */
	TCON_WHY_INTERNAL,
	TCON_WHY_TUNNEL,
};

/* TCON_A_PORT, beside TCON_A_BRIDGE, which is absent until vswitchd has told it. */
enum tcon_port_attr {
	TCON_PORT_A_UNSPEC,
	TCON_PORT_A_PAD,
	TCON_PORT_A_IFINDEX,	/* u32: in SET_PORT, says which port */
	TCON_PORT_A_IFNAME,	/* string, dump only */
	TCON_PORT_A_OFPORT,	/* u32 */
	TCON_PORT_A_ROLE,	/* u8, enum tcon_role */
	TCON_PORT_A_WHY,	/* u8, enum tcon_role_why, dump only */
	TCON_PORT_A_FLOWS,	/* u32, dump only */
	TCON_PORT_A_BUFFER_BYTES, /* u64, dump only: memory of what is not acknowledged */
	TCON_PORT_A_EVADING,	/* u32, dump only: flows now under a rule that cannot be
				 * enforced because of what the guest sends
				 */
	TCON_PORT_A_EVADED,	/* u64, dump only: how often a flow became one of these */
	TCON_PORT_A_IFACE_ID,	/* string; absent: none */
	__TCON_PORT_A_MAX,
};
#define TCON_PORT_A_MAX (__TCON_PORT_A_MAX - 1)

/* How a half-flow is really treated. */
enum tcon_state {
	TCON_STATE_DROPPED,	/* it cannot be enforced, and its rule says drop */
	TCON_STATE_OBSERVED,	/* nothing is written or held */
	TCON_STATE_PACED,	/* nothing is written, but data is held to cwnd and rate */
	TCON_STATE_ENFORCED,	/* the window is written, the pacer may hold packets */
	TCON_STATE_REPAIRED,	/* also, losses are repaired and hidden */
	__TCON_STATE_MAX,
};
#define TCON_STATE_NAMES { "dropped", "observed", "paced", "window-enforced", "repair-enforced" }

/* Limits that keep a half-flow from sending more. */
#define TCON_LIMITS(X)							\
	X(WINDOW,	"window",	"TCon's window or pacer")	\
	X(GUEST,	"guest",	"the guest's own cwnd or send buffer") \
	X(RECEIVER,	"receiver",	"the peer's receive window")	\
	X(IDLE,		"idle",		"the guest had nothing to send")

enum tcon_limit {
#define TCON_X(id, name, text) TCON_LIMIT_##id,
	TCON_LIMITS(TCON_X)
#undef TCON_X
	__TCON_LIMIT_MAX,
};

/* Why a half-flow is in a lower state than its rule asks for, or has no rule.  Users see the names.
 * The order is ABI.
 */
#define TCON_REASONS(X)							\
	X(NONE,		"none",		"nothing lowers the flow")	\
	X(NO_RULE,	"no-rule",	"no rule selects the flow")	\
	X(RULE_NONE,	"rule-none",	"a rule says none")		\
	X(HANDSHAKE,	"handshake",	"the handshake is not complete") \
	X(MID_STREAM,	"mid-stream",	"its handshake or some of its packets passed unseen") \
	X(SCALE,	"ambiguous-scale", "SYN retransmissions disagree about the window scale") \
	X(MD5_AO,	"md5-ao",	"TCP-MD5 or TCP-AO signs the header") \
	X(MPTCP,	"mptcp",	"the window belongs to an MPTCP connection") \
	X(WATCHDOG,	"watchdog",	"the CC gave a cwnd or a pacing rate out of bounds") \
	X(CLOSED,	"closed",	"the connection has ended")	\
	X(CC_GONE,	"cc-gone",	"the CC module was removed")	\
	X(REPAIR_OFF,	"repair-off",	"the module parameter repair is off") \
	X(IN_FLIGHT,	"in-flight",	"data that left before is not acknowledged yet") \
	X(COPY_MEMORY,	"copy-memory",	"there was no room or memory for a copy") \
	X(PATH_MTU,	"path-mtu",	"the path MTU fell: the guest sends anew") \
	X(REORDERING,	"reordering",	"the path reorders more than repair can bear") \
	X(BAD_COPY,	"bad-copy",	"a copy is damaged: the guest repeats it") \
	X(CC_MEMORY,	"cc-memory",	"there was no memory for the CC's own state") \
	X(UNSEEN_ACKS,	"unseen-acks",	"the guest hears ACKs that pass elsewhere") \
	X(UNSEEN_DATA,	"unseen-data",	"the peer has data that passed elsewhere") \
	X(GAP,		"gap",		"segments before the last ones did not come here, or came late") \
	X(MTU_PROBE,	"mtu-probe",	"the guest tries whether the path takes larger segments") \
	X(MOVED,	"moved",	"its guest came from another host and has not sent yet") \
	X(HIDDEN,	"hidden",	"some of its packets passed unseen at a port that TCon sees") \
	X(UNANSWERED,	"unanswered",	"the guest sends data without a complete handshake") \
	X(FRAGMENTS,	"fragments",	"the guest sends segments in IP fragments") \
	X(RESUMING,	"resuming",	"data passed unseen before there was a rule; the next shows where it is")

enum tcon_reason {
#define TCON_X(id, name, text) TCON_REASON_##id,
	TCON_REASONS(TCON_X)
#undef TCON_X
	__TCON_REASON_MAX,
};

/* How a half-flow's CC learns of ECN marks, if it uses ECN. */
#define TCON_ECN_MODES(X)						\
	X(UNUSED,	"unused",	"no CC runs, or nobody has asked for ECN")	\
	X(EXACT,	"exact",	"the receiver's TCon counts marked bytes") \
	X(COARSE,	"coarse",	"ECE of the receiver is all there is")	\
	X(REFUSED,	"refused",	"the peer does not speak ECN, or did not ask for it") \
	X(FELL_BACK,	"fell-back",	"a SYN that asked for ECN, or what was ECN-capable, did not arrive") \
	X(ACCURATE,	"accecn",	"the ends use AccECN, which is left alone") \
	X(LATE,		"late",		"ECN was not asked for: the rule came after the handshake") \
	X(AVOIDED,	"avoided",	"ECN was not asked for: the destination did not bear it lately") \
	X(ADOPTED,	"adopted",	"marks for the guest are echoed: somebody has agreed to ECN for it")

enum tcon_ecn_mode {
#define TCON_X(id, name, text) TCON_ECN_##id,
	TCON_ECN_MODES(TCON_X)
#undef TCON_X
	__TCON_ECN_MODE_MAX,
};

/* Counters of the namespace, in the order of TCON_INFO_A_COUNTERS. */
#define TCON_COUNTERS(X)						\
	X(FLOWS_NEW,	"flows-new",	"half-flows created")		\
	X(FLOWS_IDLE,	"flows-idle",	"half-flows collected when idle") \
	X(FLOWS_CLOSED,	"flows-closed",	"half-flows collected after FIN or RST") \
	X(FLOWS_RESET,	"flows-reused",	"half-flows started anew by a SYN or a guest's move") \
	X(TABLE_FULL,	"table-full",	"packets of flows that found no room in the table") \
	X(EMBRYO_EVICT,	"embryo-evicted", "unconfirmed flows evicted by newer ones of their port") \
	X(NO_MEMORY,	"no-memory",	"allocations that failed")	\
	X(NOT_TCP,	"not-tcp",	"packets passed: not TCP over IP") \
	X(FRAGMENT,	"fragment",	"packets not read: IP fragments")	\
	X(MALFORMED,	"malformed",	"packets passed: headers that contradict themselves") \
	X(JUMBOGRAM,	"jumbogram",	"packets not read: IPv6 jumbograms that are no super-packets") \
	X(EXT_HEADER,	"ext-header",	"packets not read: IPv6 extension headers beyond the parser") \
	X(ENCAP_DEPTH,	"vlan-depth",	"packets not read: more VLAN tags than the parser reads") \
	X(DATA_OUT,	"data-out",	"packets with data from guests")	\
	X(ACK_IN,	"ack-in",	"ACKs to guests that were processed")	\
	X(WINDOW_WRITTEN, "window-written", "ACKs whose window was lowered") \
	X(WINDOW_KEPT,	"window-kept",	"ACKs whose window was lower than ours already") \
	X(WRITE_FAILED,	"write-failed",	"ACKs that could not be made writable") \
	X(UPDATE_SENT,	"update-sent",	"window updates injected towards guests") \
	X(UPDATE_FAILED, "update-failed", "window updates for which there was no memory") \
	X(HELD,		"held",		"packets held by the pacer")	\
	X(RELEASED,	"released",	"packets released by the pacer")	\
	X(HOLD_PURGED,	"hold-purged",	"held packets freed with their port") \
	X(HOLD_FLUSHED,	"hold-flushed",	"held packets passed early: the flow fell to observed") \
	X(REPEAT_ABSORBED, "repeat-absorbed", "repeats of data that the pacer still held") \
	X(GSO_SPLIT,	"gso-split",	"super-packets that leave in parts") \
	X(SENDQ_COARSE,	"sendq-coarse",	"transmissions recorded together with their predecessor") \
	X(SACK_OVERFLOW, "sack-overflow", "SACK ranges beyond the scoreboard") \
	X(BAD_ACK,	"bad-ack",	"ACKs outside what was sent")	\
	X(SPURIOUS_UNDO, "spurious-undo", "recoveries undone by DSACK or timestamps") \
	X(STALL_RELEASE, "stall-release", "holds ended because no ACK came for an RTO, or for lack of room") \
	X(RULE_MOVED,	"rule-moved",	"half-flows moved to another rule while running") \
	X(COPY_PRESSURE, "copy-pressure", "packets without a copy: a bound was reached") \
	X(COPY_FAILED,	"copy-failed",	"packets without a copy: no memory") \
	X(REPAIR_SENT,	"repair-sent",	"segments repeated by TCon")	\
	X(REPAIR_FAILED, "repair-failed", "repairs for which there was no memory") \
	X(REPAIR_SPURIOUS, "repair-spurious", "repairs of what had not been lost") \
	X(PROBE_SENT,	"probe-sent",	"tail loss probes sent by TCon")	\
	X(TIMEOUT,	"timeout",	"retransmission time-outs of TCon") \
	X(COPY_ABSORBED, "copy-absorbed", "guests' repeats absorbed: TCon has a copy") \
	X(REPEAT_PASSED, "repeat-passed", "guests' repeats that had to pass a flow under repair") \
	X(ACK_HIDDEN,	"ack-hidden",	"duplicate ACKs not given to guests") \
	X(ACK_THINNED,	"ack-thinned",	"ACKs not given to guests in slow start: more follow") \
	X(SACK_STRIPPED, "sack-stripped", "ACKs whose SACK blocks were taken out") \
	X(DSACK_SENT,	"dsack-sent",	"DSACKs given to guests for an absorbed tail probe") \
	X(MTU_FELL,	"mtu-fell",	"half-flows that gave up their copies: the path MTU fell") \
	X(REPAIR_BLIND,	"repair-blind",	"repairs that waited: no memory to note them") \
	X(BAD_CHECKSUM,	"bad-checksum",	"packets to guests passed unread: their checksum is wrong") \
	X(ECN_ASKED,	"ecn-asked",	"guests' SYNs on which TCon asked for ECN") \
	X(ECN_ANSWERED,	"ecn-answered",	"guests' SYN-ACKs on which TCon agreed to ECN") \
	X(ECN_FALLBACK,	"ecn-fallback",	"guests' SYNs that left without ECN after one with it was not answered") \
	X(ECN_DOWNGRADED, "ecn-downgraded", "SYNs that asked for AccECN and were made to ask for ECN") \
	X(ECT_SET,	"ect-set",	"guests' packets made ECN-capable")	\
	X(ECE_HIDDEN,	"ece-hidden",	"ACKs whose ECE guests were not shown") \
	X(CWR_SET,	"cwr-set",	"guests' packets on which TCon set CWR") \
	X(ECE_SET,	"ece-set",	"guests' packets on which TCon set ECE") \
	X(CE_HIDDEN,	"ce-hidden",	"packets whose CE guests were not shown") \
	X(COUNT_SENT,	"ce-count-sent", "guests' ACKs to which a count of marked bytes was added") \
	X(COUNT_TAKEN,	"ce-count-taken", "ACKs to guests that had such a count")	\
	X(COUNT_NO_ROOM, "ce-count-no-room", "guests' ACKs that had no room for the count") \
	X(OPTION_FORGED, "option-forged", "guests' packets with TCon's option, which was taken out") \
	X(ECN_FAILED,	"ecn-failed",	"packets whose ECN could not be written: no memory") \
	X(OUT_OF_WINDOW, "out-of-window", "peers' segments not believed: guests will not take them") \
	X(PUSH_SET,	"push-set",	"packets to guests on which TCon set PSH, for an ACK at once") \
	X(PURE_ACK,	"pure-ack",	"ACKs of guests that left without the data that they came with") \
	X(ECN_RESET,	"ecn-reset",	"guests' SYNs sent again without ECN: one with it was reset") \
	X(ECN_EATEN,	"ecn-eaten",	"half-flows without ECN from then on: what had it did not arrive") \
	X(ECN_AVOIDED,	"ecn-avoided",	"guests' SYNs without ECN: their destination did not bear it") \
	X(ECN_ADOPTED,	"ecn-adopted",	"half-flows in which TCon echoes marks that their guests did not") \
	X(MOVED_IN,	"moved-in",	"half-flows that go on where another host left them") \
	X(MOVED_UNLIKE,	"moved-unlike",	"half-flows whose guest did not go on where another host left them") \
	X(FALLBACK_DROPPED, "fallback-dropped", "guests' packets dropped: they cannot be enforced, and a rule says drop") \
	X(REPEAT_EXCESS, "repeat-excess", "guests' data dropped: repeats, or of no connection, beyond a window in a round trip") \
	X(FLOW_EVICT,	"flow-evicted",	"confirmed flows evicted by newer ones of their port") \
	X(UNREAD_DROPPED, "unread-dropped", "guests' TCP packets dropped: of which flow cannot be read, and rules bind it") \
	X(HOLD_EXCESS,	"hold-excess",	"guests' packets dropped: beyond their window, and a hold bound was reached") \
	X(FLOW_SLEPT,	"flow-slept",	"half-flows of ports at rest that fell asleep, and need little memory") \
	X(FLOW_WOKEN,	"flow-woken",	"half-flows that slept, and woke") \
	X(MERGED,	"merged",	"guests' packets that left as a part of the one before") \
	X(HOLD_ANEW,	"hold-anew",	"held packets of paced flows, whose guests send anew, or something else")

enum tcon_counter {
#define TCON_X(id, name, text) TCON_COUNTER_##id,
	TCON_COUNTERS(TCON_X)
#undef TCON_X
	__TCON_COUNTER_MAX,
};

/* TCON_A_INFO */
enum tcon_info_attr {
	TCON_INFO_A_UNSPEC,
	TCON_INFO_A_PAD,
	TCON_INFO_A_VERSION,	/* string: of the module */
	TCON_INFO_A_FLOWS,	/* u32: half-flows now */
	TCON_INFO_A_FLOWS_MAX,	/* u32: the cap */
	TCON_INFO_A_EMBRYOS,	/* u32: those that nobody has confirmed */
	TCON_INFO_A_EMBRYOS_MAX,/* u32 */
	TCON_INFO_A_COUNTERS,	/* array of u64, index enum tcon_counter */
	TCON_INFO_A_REASONS,	/* array of u64: flows in each reason now,
				 * index enum tcon_reason
				 */
	TCON_INFO_A_BUFFER_BYTES, /* u64: memory of what guests have sent and is not acknowledged */
	TCON_INFO_A_BUFFER_MAX,	/* u64: its bound for the host */
	TCON_INFO_A_BUFFER_PORT_MAX, /* u64: for a port */
	TCON_INFO_A_BUFFER_FLOW_MAX, /* u64: for a half-flow */
	TCON_INFO_A_ATTACH,	/* string: where packets are seen, as attach= has it */
	TCON_INFO_A_SPREADING,	/* flag: a change of rules is still on its way to half-flows */
	TCON_INFO_A_AGE_MS,	/* u64: how long counters have counted */
	__TCON_INFO_A_MAX,
};
#define TCON_INFO_A_MAX (__TCON_INFO_A_MAX - 1)

/* A round trip of a half-flow that is observed: what left at its start is acknowledged at its
 * end.
 */
struct tcon_round {
	__u32 rtt_us;		/* mean; 0: none was measured */
	__u16 segs;		/* most that was in flight, in full segments */
	__u16 flags;		/* TCON_ROUND_* */
};
#define TCON_ROUND_LOST		0x0001	/* something was judged lost */
#define TCON_ROUND_TIMEOUT	0x0002	/* the guest had a retransmission time-out */
#define TCON_ROUND_MARKED	0x0004	/* ACKs had ECE */
#define TCON_ROUND_RECEIVER	0x0008	/* the peer's window was full */
#define TCON_ROUND_IDLE		0x0010	/* for more than an eighth of it nothing was in flight */

/* Most rounds that are kept of a half-flow. */
#define TCON_ROUNDS_MAX		240U

/* TCON_A_FLOW.  Byte counts are of payload; sequence numbers are the wire's. */
enum tcon_flow_attr {
	TCON_FLOW_A_UNSPEC,
	TCON_FLOW_A_PAD,
	TCON_FLOW_A_IFINDEX,	/* u32: the guest's port */
	TCON_FLOW_A_IFNAME,	/* string */
	TCON_FLOW_A_BRIDGE,	/* string, absent if not told */
	TCON_FLOW_A_FAMILY,	/* u8 */
	TCON_FLOW_A_SRC,	/* 4 or 16 bytes: the guest */
	TCON_FLOW_A_DST,	/* 4 or 16 bytes: its peer */
	TCON_FLOW_A_SPORT,	/* u16, host order */
	TCON_FLOW_A_DPORT,	/* u16, host order */
	TCON_FLOW_A_VLAN,	/* u16; absent when untagged */
	TCON_FLOW_A_STATE,	/* u8, enum tcon_state */
	TCON_FLOW_A_REASON,	/* u8, enum tcon_reason: why the state is not higher */
	TCON_FLOW_A_CC,		/* string: the CC that runs; "none" when observed */
	TCON_FLOW_A_UNA,	/* u32 */
	TCON_FLOW_A_NXT,	/* u32: end of what left TCon */
	TCON_FLOW_A_NXT_GUEST,	/* u32: end of what the guest sent */
	TCON_FLOW_A_EDGE,	/* u32: highest right edge that the guest was given */
	TCON_FLOW_A_CWND_BYTES,	/* u32: what may be in flight now; absent when observed */
	TCON_FLOW_A_SSTHRESH_BYTES, /* u32 */
	TCON_FLOW_A_PACING_BPS,	/* u64, bits/s; 0: not paced */
	TCON_FLOW_A_RWND_BYTES,	/* u32: window last given to the guest */
	TCON_FLOW_A_PEER_RWND_BYTES, /* u32: window the peer last offered */
	TCON_FLOW_A_INFLIGHT_BYTES, /* u32 */
	TCON_FLOW_A_HELD_BYTES,	/* u32: payload in the pacer */
	TCON_FLOW_A_SRTT_US,	/* u32; 0: no sample yet */
	TCON_FLOW_A_RTTVAR_US,	/* u32 */
	TCON_FLOW_A_MIN_RTT_US,	/* u32; ~0: no sample yet */
	TCON_FLOW_A_MSS_BYTES,	/* u32: payload per segment */
	TCON_FLOW_A_RATE_BPS,	/* u64: last delivery-rate sample, bits/s */
	TCON_FLOW_A_RATE_APP_LIMITED, /* flag: that sample was app-limited */
	TCON_FLOW_A_SENT_BYTES,	/* u64: the guest's repeats included */
	TCON_FLOW_A_REPEATED_BYTES, /* u64: the guest's repeats */
	TCON_FLOW_A_ACKED_BYTES,/* u64: acknowledged cumulatively */
	TCON_FLOW_A_DELIVERED_BYTES, /* u64: acked or SACKed */
	TCON_FLOW_A_LOST_BYTES,	/* u64: judged lost */
	TCON_FLOW_A_CE_ACKS,	/* u64: ACKs with ECE */
	TCON_FLOW_A_AGE_MS,	/* u64: since it was first seen */
	TCON_FLOW_A_IDLE_MS,	/* u64: since its last packet */
	TCON_FLOW_A_PRIORITY,	/* u32: of its rule; absent without one */
	TCON_FLOW_A_CC_INFO,	/* string: the CC's own state, one line */
	TCON_FLOW_A_BUFFER_BYTES, /* u32: memory of what is not acknowledged */
	TCON_FLOW_A_REPAIRS,	/* u64: segments repeated by TCon */
	TCON_FLOW_A_REPAIRED_BYTES, /* u64: their payload */
	TCON_FLOW_A_SPURIOUS,	/* u64: number of those segments that were not needed */
	TCON_FLOW_A_PROBES,	/* u64: tail loss probes */
	TCON_FLOW_A_TIMEOUTS,	/* u64: retransmission time-outs of TCon */
	TCON_FLOW_A_ABSORBED,	/* u64: the guest's repeats that were absorbed */
	TCON_FLOW_A_HIDDEN_ACKS,/* u64: duplicate ACKs kept from the guest */
	TCON_FLOW_A_LIMITED_US,	/* array of u64, index enum tcon_limit: since
				 * the flow was enforced
				 */
	TCON_FLOW_A_ECN,	/* u8, enum tcon_ecn_mode */
	TCON_FLOW_A_CE_BYTES,	/* u64: delivered with ECN CE */
	TCON_FLOW_A_ROUNDS,	/* array of struct tcon_round, oldest first; absent: none */
	TCON_FLOW_A_ECT_SYN,	/* flag: the guest's SYN was ECN-capable */
	__TCON_FLOW_A_MAX,
};
#define TCON_FLOW_A_MAX (__TCON_FLOW_A_MAX - 1)

/*
 * The state of a port, as one host gives it to another: a header, then one record for each
 * half-flow.  All numbers are big-endian.  Nothing in it is a time of a host's clock but
 * @saved_s, which only tells how old it is.
 */
#define TCON_STATE_MAGIC	"TCONPORT"	/* without the NUL */
#define TCON_STATE_VERSION	1
#define TCON_STATE_MAX_RECORDS	512	/* so that its base64 fits an argument of 128 KiB */
#define TCON_STATE_MAX_AGE_S	300

/**
 * struct tcon_state_header - what a state begins with
 * @magic: %TCON_STATE_MAGIC
 * @version: %TCON_STATE_VERSION
 * @record_bytes: length of a record
 * @records: their number, 1 to %TCON_STATE_MAX_RECORDS; nothing follows them
 * @saved_s: when it was made, in seconds since 1970
 * @zero: 0
 * @crc32c: of all before it and all records; computed and stored as in RFC 9260, appendix A
 */
struct tcon_state_header {
	__u8 magic[8];
	__be16 version;
	__be16 record_bytes;
	__be32 records;
	__be64 saved_s;
	__be32 zero;
	__be32 crc32c;
};

/* tcon_state_record.flags */
#define TCON_STATE_GUEST_SACK	0x00000001	/* the guest's SYN permits SACK */
#define TCON_STATE_PEER_SACK	0x00000002	/* the peer's does */
#define TCON_STATE_TS		0x00000004	/* the connection uses time stamps */
#define TCON_STATE_TSVAL	0x00000008	/* guest_tsval is known */
#define TCON_STATE_ECN_AGREED	0x00000010	/* ECN of RFC 3168, as the peer sees it */
#define TCON_STATE_ECN_SPEAKS	0x00000020	/* the guest itself has negotiated it */
#define TCON_STATE_ECN_ASKED	0x00000040	/* TCon has, for the guest */
#define TCON_STATE_ECN_EXACT	0x00000080	/* both TCons count marked bytes */
#define TCON_STATE_ECN_ACCURATE	0x00000100	/* the ends use AccECN */
#define TCON_STATE_ECN_FAILED	0x00000200	/* the path does not tolerate it */
#define TCON_STATE_ECN_REFUSED	0x00000400	/* the peer does not want it */
#define TCON_STATE_PEER_FIN	0x00000800	/* the peer has sent its FIN */
#define TCON_STATE_UNSEEN	0x00001000	/* what it has sent since its SYN passed unseen */
#define TCON_STATE_FLAGS	0x00001fff

/**
 * struct tcon_state_record - a half-flow whose handshake was seen
 * @version: %TCON_STATE_VERSION
 * @bytes: length of the record
 * @flags: TCON_STATE_*
 * @family: 4 or 6: of IP
 * @guest_wscale: window scale of the guest's SYN, 0 to 14; 255: none
 * @peer_wscale: of the peer's
 * @zero: 0
 * @vlans: VLAN ids plus one, outermost first; 0: no tag
 * @guest_port: TCP port
 * @peer_port: TCP port
 * @guest: address; of IPv4 the first four bytes, and zeros
 * @peer: address
 * @guest_mss: MSS option of the guest's SYN, 0: none
 * @peer_mss: of the peer's
 * @guest_isn: initial sequence number of the guest
 * @peer_isn: of the peer
 * @una: first sequence number that the peer has not acknowledged
 * @nxt: end of what has left
 * @nxt_guest: end of what the guest has sent
 * @edge: highest right edge of the windows that the guest was given
 * @peer_edge: right edge that the peer offers
 * @guest_ack: what the guest has acknowledged
 * @guest_edge: right edge that the guest offers
 * @peer_nxt: end of what the peer has sent
 * @guest_tsval: the guest's newest TSval that the peer has echoed
 * @srtt_us: smoothed round-trip time; 0: none was measured
 * @rttvar_us: its variation
 * @min_rtt_us: the least of the last minutes; ~0: none
 * @cwnd_bytes: of the CC; 0: none ran
 * @ssthresh_bytes: of the CC
 * @ce_bytes: marked payload that the guest has been sent; wraps
 * @wire_bytes: TCP header and payload of the guest's full segments at present; 0: not known
 * @rate_bps: the latest delivery rate
 * @cc: name of the CC, padded with NULs; empty: none ran
 */
struct tcon_state_record {
	__be16 version;
	__be16 bytes;
	__be32 flags;
	__u8 family;
	__u8 guest_wscale;
	__u8 peer_wscale;
	__u8 zero;
	__be16 vlans[2];
	__be16 guest_port;
	__be16 peer_port;
	__u8 guest[16];
	__u8 peer[16];
	__be16 guest_mss;
	__be16 peer_mss;
	__be32 guest_isn;
	__be32 peer_isn;
	__be32 una;
	__be32 nxt;
	__be32 nxt_guest;
	__be32 edge;
	__be32 peer_edge;
	__be32 guest_ack;
	__be32 guest_edge;
	__be32 peer_nxt;
	__be32 guest_tsval;
	__be32 srtt_us;
	__be32 rttvar_us;
	__be32 min_rtt_us;
	__be32 cwnd_bytes;
	__be32 ssthresh_bytes;
	__be32 ce_bytes;
	__be32 wire_bytes;
	__be64 rate_bps;
	__u8 cc[TCON_CC_NAME_MAX];
};

#endif /* _UAPI_LINUX_TCON_H */
