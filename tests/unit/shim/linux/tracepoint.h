/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints that are off, and cannot be switched on. */
#ifndef _SHIM_TRACEPOINT_H
#define _SHIM_TRACEPOINT_H

#include <linux/compiler.h>
#include <linux/types.h>

#define PARAMS(args...)		args
#define TP_PROTO(args...)	args
#define TP_ARGS(args...)	args
#define TP_CONDITION(args...)	args

#define SHIM_TRACEPOINT(name, proto)					\
	static inline void trace_##name(proto) { }			\
	static inline bool trace_##name##_enabled(void) { return false; }

#define TRACE_DEFINE_ENUM(id)
#define DECLARE_EVENT_CLASS(name, proto, args, entry, assign, print)
#define DEFINE_EVENT(class, name, proto, args)	SHIM_TRACEPOINT(name, PARAMS(proto))
#define DEFINE_EVENT_CONDITION(class, name, proto, args, condition)	\
	SHIM_TRACEPOINT(name, PARAMS(proto))
#define TRACE_EVENT(name, proto, args, entry, assign, print)		\
	SHIM_TRACEPOINT(name, PARAMS(proto))

#endif /* _SHIM_TRACEPOINT_H */
