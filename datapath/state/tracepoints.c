// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints' own code: how a flow is written into an event.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/netdevice.h>
#include <linux/string.h>

#include "state/flow.h"

/* Nobody uses these in a kernel without tracing. */
static const char *const states[] __maybe_unused = TCON_STATE_NAMES;
static const char *const ca_states[] __maybe_unused = { "open", "recovery", "loss" };

static const char *const reasons[] __maybe_unused = {
#define TCON_X(id, name, text) name,
	TCON_REASONS(TCON_X)
#undef TCON_X
};

static void __maybe_unused put_name(char *room, const char *name)
{
	strscpy(room, name, TCON_TRACE_NAME_MAX);
}

static void __maybe_unused put_end(u8 *room, u8 family, const union tcon_addr *addr, __be16 port)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)room;
	struct sockaddr_in *in = (struct sockaddr_in *)room;

	memset(room, 0, sizeof(*in6));
	if (family == AF_INET) {
		in->sin_family = AF_INET;
		in->sin_port = port;
		memcpy(&in->sin_addr, &addr->ip4, sizeof(in->sin_addr));
	} else {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = port;
		memcpy(&in6->sin6_addr, &addr->ip6, sizeof(in6->sin6_addr));
	}
}

/* Its lock is held and it is not dead, so that its port has a device. */
static void __maybe_unused put_ends(char *ifname, u8 *guest, u8 *peer,
				    const struct tcon_flow *flow)
{
	strscpy(ifname, flow->port->dev->name, IFNAMSIZ);
	put_end(guest, flow->key.family, &flow->key.guest, flow->key.gport);
	put_end(peer, flow->key.family, &flow->key.peer, flow->key.pport);
}

#define CREATE_TRACE_POINTS
#include "state/trace.h"
