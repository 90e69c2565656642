/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints: what TCon decides and does, event by event (docs/tracing.md).
 *
 * Off, each is a jump that is not taken.  They are below everything that has a half-flow.  The
 * floors below know no half-flow, so their callers trace them.
 *
 * The header is read several times, once for each part of an event that the kernel wants.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM tcon

#if !defined(_TCON_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TCON_TRACE_H

#include <linux/if.h>
#include <linux/in6.h>
#include <linux/tracepoint.h>

struct sk_buff;
struct tcon_flow;

/* States and reasons are in the events by name, so that no reader has to know the numbers. */
#define TCON_TRACE_NAME_MAX	16

/* The flow has another state, or another reason not to have a higher one. */
TRACE_EVENT(tcon_state,
	    TP_PROTO(const struct tcon_flow *flow, u8 state_before, u8 reason_before),
	    TP_ARGS(flow, state_before, reason_before),
	    TP_STRUCT__entry(__field(const void *, flowaddr)
			     __array(char, ifname, IFNAMSIZ)
			     __array(u8, guest, sizeof(struct sockaddr_in6))
			     __array(u8, peer, sizeof(struct sockaddr_in6))
			     __array(char, state_before, TCON_TRACE_NAME_MAX)
			     __array(char, reason_before, TCON_TRACE_NAME_MAX)
			     __array(char, state, TCON_TRACE_NAME_MAX)
			     __array(char, reason, TCON_TRACE_NAME_MAX)
	    ),
	    TP_fast_assign(__entry->flowaddr = flow;
			   put_ends(__entry->ifname, __entry->guest, __entry->peer, flow);
			   put_name(__entry->state_before, states[state_before]);
			   put_name(__entry->reason_before, reasons[reason_before]);
			   put_name(__entry->state, states[flow->state]);
			   put_name(__entry->reason, reasons[flow->reason]);
	    ),
	    TP_printk("flowaddr=%p port=%s guest=%pISpc peer=%pISpc state=%s->%s reason=%s->%s",
		      __entry->flowaddr, __entry->ifname, __entry->guest, __entry->peer,
		      __entry->state_before, __entry->state, __entry->reason_before,
		      __entry->reason)
);

/* State and decisions of the CC.  @bytes: what the event is about. */
DECLARE_EVENT_CLASS(tcon_sender,
		    TP_PROTO(const struct tcon_flow *flow, u64 bytes),
		    TP_ARGS(flow, bytes),
		    TP_STRUCT__entry(__field(const void *, flowaddr)
				     __array(char, ifname, IFNAMSIZ)
				     __array(u8, guest, sizeof(struct sockaddr_in6))
				     __array(u8, peer, sizeof(struct sockaddr_in6))
				     __field(u64, bytes)
				     __field(u64, pacing_rate_bps)
				     __field(u32, cwnd_bytes)
				     __field(u32, ssthresh_bytes)
				     __field(u32, inflight_bytes)
				     __field(u32, srtt_us)
				     __field(u32, min_rtt_us)
				     __array(char, ca_state, TCON_TRACE_NAME_MAX)
		    ),
		    TP_fast_assign(__entry->flowaddr = flow;
				   put_ends(__entry->ifname, __entry->guest, __entry->peer, flow);
				   __entry->bytes = bytes;
				   __entry->pacing_rate_bps = flow->track.cc.pacing_rate_bps;
				   __entry->cwnd_bytes = flow->track.cc.cwnd_bytes;
				   __entry->ssthresh_bytes = flow->track.cc.ssthresh_bytes;
				   __entry->inflight_bytes = flow->track.cc.inflight_bytes;
				   __entry->srtt_us = flow->track.cc.srtt_us;
				   __entry->min_rtt_us = flow->track.cc.min_rtt_us;
				   put_name(__entry->ca_state, ca_states[flow->track.cc.ca_state]);
		    ),
		    TP_printk("flowaddr=%p port=%s guest=%pISpc peer=%pISpc bytes=%llu cwnd=%u ssthresh=%u pacing_bps=%llu inflight=%u srtt_us=%u min_rtt_us=%u ca_state=%s",
			      __entry->flowaddr, __entry->ifname, __entry->guest, __entry->peer,
			      __entry->bytes, __entry->cwnd_bytes, __entry->ssthresh_bytes,
			      __entry->pacing_rate_bps, __entry->inflight_bytes, __entry->srtt_us,
			      __entry->min_rtt_us, __entry->ca_state)
);

/* The CC has decided: @bytes were delivered in all until now. */
DEFINE_EVENT(tcon_sender, tcon_cc,
	     TP_PROTO(const struct tcon_flow *flow, u64 bytes), TP_ARGS(flow, bytes));

/* @bytes were judged lost.  After a time-out of the guest: all bytes that are lost. */
DEFINE_EVENT_CONDITION(tcon_sender, tcon_loss,
		       TP_PROTO(const struct tcon_flow *flow, u64 bytes), TP_ARGS(flow, bytes),
		       TP_CONDITION(bytes));

/* The CC was told of ECN marks, and has answered: @bytes were marked in all until now. */
DEFINE_EVENT(tcon_sender, tcon_mark,
	     TP_PROTO(const struct tcon_flow *flow, u64 bytes), TP_ARGS(flow, bytes));

/* The fate of a guest's segment.  @age_us: how long ago the guest has sent it. */
DECLARE_EVENT_CLASS(tcon_segment,
		    TP_PROTO(const struct tcon_flow *flow, const struct sk_buff *skb,
			     u32 seq, u32 end_seq, u32 age_us),
		    TP_ARGS(flow, skb, seq, end_seq, age_us),
		    TP_STRUCT__entry(__field(const void *, skbaddr)
				     __field(const void *, flowaddr)
				     __array(char, ifname, IFNAMSIZ)
				     __array(u8, guest, sizeof(struct sockaddr_in6))
				     __array(u8, peer, sizeof(struct sockaddr_in6))
				     __field(u32, seq)
				     __field(u32, end_seq)
				     __field(u32, age_us)
				     __field(u32, una)
				     __field(u32, nxt)
				     __field(u32, inflight_bytes)
				     __field(u32, held_bytes)
		    ),
		    TP_fast_assign(__entry->skbaddr = skb;
				   __entry->flowaddr = flow;
				   put_ends(__entry->ifname, __entry->guest, __entry->peer, flow);
				   __entry->seq = seq;
				   __entry->end_seq = end_seq;
				   __entry->age_us = age_us;
				   __entry->una = flow->track.cc.una;
				   __entry->nxt = flow->track.cc.nxt;
				   __entry->inflight_bytes = flow->track.cc.inflight_bytes;
				   __entry->held_bytes = flow->buffer.unsent_bytes;
		    ),
		    TP_printk("skbaddr=%p flowaddr=%p port=%s guest=%pISpc peer=%pISpc seq=%u end_seq=%u age_us=%u una=%u nxt=%u inflight=%u held=%u",
			      __entry->skbaddr, __entry->flowaddr, __entry->ifname, __entry->guest,
			      __entry->peer, __entry->seq, __entry->end_seq, __entry->age_us,
			      __entry->una, __entry->nxt, __entry->inflight_bytes,
			      __entry->held_bytes)
);

#define TCON_SEGMENT_PROTO							\
	TP_PROTO(const struct tcon_flow *flow, const struct sk_buff *skb,	\
		 u32 seq, u32 end_seq, u32 age_us)
#define TCON_SEGMENT_ARGS TP_ARGS(flow, skb, seq, end_seq, age_us)

/* It waits from now on. */
DEFINE_EVENT(tcon_segment, tcon_hold, TCON_SEGMENT_PROTO, TCON_SEGMENT_ARGS);
/* It has waited, and leaves. */
DEFINE_EVENT(tcon_segment, tcon_release, TCON_SEGMENT_PROTO, TCON_SEGMENT_ARGS);
/* It was lost, and is sent again from its copy. */
DEFINE_EVENT(tcon_segment, tcon_repair, TCON_SEGMENT_PROTO, TCON_SEGMENT_ARGS);
/* It is the tail, and is sent again to find out whether it was lost. */
DEFINE_EVENT(tcon_segment, tcon_probe, TCON_SEGMENT_PROTO, TCON_SEGMENT_ARGS);
/* The guest has repeated it, and TCon has its data. */
DEFINE_EVENT(tcon_segment, tcon_absorb, TCON_SEGMENT_PROTO, TCON_SEGMENT_ARGS);

/* An ACK as the guest hears it.  @window_bytes: the window that it has from now on. */
DECLARE_EVENT_CLASS(tcon_ack,
		    TP_PROTO(const struct tcon_flow *flow, const struct sk_buff *skb, u32 ack,
			     u32 window_bytes),
		    TP_ARGS(flow, skb, ack, window_bytes),
		    TP_STRUCT__entry(__field(const void *, skbaddr)
				     __field(const void *, flowaddr)
				     __array(char, ifname, IFNAMSIZ)
				     __array(u8, guest, sizeof(struct sockaddr_in6))
				     __array(u8, peer, sizeof(struct sockaddr_in6))
				     __field(u32, ack)
				     __field(u32, window_bytes)
				     __field(u32, peer_window_bytes)
				     __field(u32, una)
				     __field(u32, nxt)
				     __field(u32, cwnd_bytes)
				     __field(u32, inflight_bytes)
		    ),
		    TP_fast_assign(__entry->skbaddr = skb;
				   __entry->flowaddr = flow;
				   put_ends(__entry->ifname, __entry->guest, __entry->peer, flow);
				   __entry->ack = ack;
				   __entry->window_bytes = window_bytes;
				   __entry->peer_window_bytes = flow->window.peer_bytes;
				   __entry->una = flow->track.cc.una;
				   __entry->nxt = flow->track.cc.nxt;
				   __entry->cwnd_bytes = flow->track.cc.cwnd_bytes;
				   __entry->inflight_bytes = flow->track.cc.inflight_bytes;
		    ),
		    TP_printk("skbaddr=%p flowaddr=%p port=%s guest=%pISpc peer=%pISpc ack=%u window=%u peer_window=%u una=%u nxt=%u cwnd=%u inflight=%u",
			      __entry->skbaddr, __entry->flowaddr, __entry->ifname, __entry->guest,
			      __entry->peer, __entry->ack, __entry->window_bytes,
			      __entry->peer_window_bytes, __entry->una, __entry->nxt,
			      __entry->cwnd_bytes, __entry->inflight_bytes)
);

#define TCON_ACK_PROTO								\
	TP_PROTO(const struct tcon_flow *flow, const struct sk_buff *skb,	\
		 u32 ack, u32 window_bytes)
#define TCON_ACK_ARGS TP_ARGS(flow, skb, ack, window_bytes)

/* TCon has lowered an ACK's window, or sends a window update of its own. */
DEFINE_EVENT(tcon_ack, tcon_window, TCON_ACK_PROTO, TCON_ACK_ARGS);
/* The guest does not get an ACK that only says that something is missing. */
DEFINE_EVENT(tcon_ack, tcon_hide, TCON_ACK_PROTO, TCON_ACK_ARGS);
/* The guest does not get an ACK that it can do without (sender/thin.c). */
DEFINE_EVENT(tcon_ack, tcon_thin, TCON_ACK_PROTO, TCON_ACK_ARGS);

#endif /* _TCON_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH state
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
