// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzer of the datapath: two ends that do not keep to TCP.
 *
 * As fuzz_path.c, but the segments are the input's: any flags, any numbers near those that a
 * half-flow knows, fragments, headers with bytes changed.  Between them time passes, rules change,
 * the port rests, the guest moves, and memory is short.
 *
 * Invariants:
 *  - what waits in TCon does not wait longer than 1 s or two RTOs without anything leaving;
 *  - no timer goes off again and again for nothing;
 *  - accounts are right all the time, and nothing is left at the end.
 */
#define LLVMFuzzerTestOneInput	honest_input
#define LLVMFuzzerInitialize	honest_initialize
#include "fuzz_path.c"
#undef LLVMFuzzerTestOneInput
#undef LLVMFuzzerInitialize

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

#define EVENTS_PER_MS	64	/* a pacer's ticks are 128 us apart */
#define PATIENCE_NS	(10 * (u64)NSEC_PER_SEC)

static u64 n_events;

static void gone(const struct tcon_port *port, struct sk_buff *skb)
{
	if (tcon_segment(skb)->seq != tcon_segment(skb)->end_seq)
		world->moved_ns = shim_now_ns;
	trace(world, "leaves", NULL);
	kfree_skb(skb);
}

static void shown(const struct tcon_port *port, struct sk_buff *skb)
{
	kfree_skb(skb);
}

static const struct tcon_attach away = { .name = "hostile", .inject = gone, .send = shown };

/* The port's newest half-flow; NULL: there is none. */
static struct tcon_flow *some_flow(struct world *x)
{
	return flow_from(rb_first_cached(&host.port.flow_tree));
}

/* A sequence number of the guest's: near one that matters. */
static u32 guest_number(struct world *x, u8 what)
{
	static const s32 off[] = { 0, 0, 0, 0, -1, 1, 1000, -1000, 500, 3000, 70000, 1 << 20,
				   -(1 << 20), 1 << 29, 1 << 30, S32_MIN };
	const struct tcon_flow *flow = some_flow(x);
	u32 base = GUEST_ISN;

	if (flow) {
		const u32 bases[] = {
			flow->track.nxt_guest, flow->track.nxt_guest, flow->track.nxt_guest,
			flow->track.nxt_guest, flow->track.cc.nxt, flow->track.cc.una,
			flow->window.edge, flow->track.guest.isn, flow->track.fin_seq,
			flow->gap.start, flow->track.guest.isn + 1, flow->track.lost_edge,
			flow->bare.end, flow->again.isn, flow->rest.ack, GUEST_ISN,
		};

		base = bases[what % 16];
	}
	return base + off[what / 16];
}

static u32 peer_number(struct world *x, u8 what)
{
	static const s32 off[] = { 0, 0, 0, 0, 0, 0, -1, 1, 1000, -1000, 70000, 1 << 20,
				   -(1 << 20), 1 << 29, 1 << 30, S32_MIN };
	const struct tcon_flow *flow = some_flow(x);
	u32 base = PEER_ISN;

	if (flow) {
		const u32 bases[] = {
			flow->track.peer_nxt, flow->track.peer_nxt, flow->track.peer_nxt,
			flow->said.ack, flow->said.edge, flow->track.peer.isn,
			flow->pending.isn, PEER_ISN,
		};

		base = bases[what % 8];
	}
	return base + off[what / 16];
}

static void set_options(struct world *x, struct tcon_packet *p, u8 what)
{
	u8 more;

	p->has_ts = what & 1;
	p->tsval = shim_now_ns / NSEC_PER_MSEC + (what & 0x80 ? get_u32(&x->in) : 0);
	p->tsecr = shim_now_ns / NSEC_PER_MSEC;
	p->mss = what & 2 ? SEG_MSS : get_u8(&x->in) << 8;
	p->wscale = what & 4 ? 7 : what & 8 ? TCON_WSCALE_NONE : get_u8(&x->in);
	p->sack_permitted = what & 0x10;
	if (!(what & 0x20))
		return;
	p->n_sacks = 1 + (what >> 6) % 2;
	for (more = 0; more < p->n_sacks; more++) {
		p->sacks[more].start = guest_number(x, get_u8(&x->in));
		p->sacks[more].end = p->sacks[more].start + 1000 * get_u8(&x->in);
	}
}

/* Few are odd. */
static const u8 flags_of[] = {
	TCON_TCP_ACK, TCON_TCP_ACK, TCON_TCP_ACK, TCON_TCP_ACK, TCON_TCP_ACK | TCON_TCP_PSH,
	TCON_TCP_ACK | TCON_TCP_PSH, TCON_TCP_SYN, TCON_TCP_SYN | TCON_TCP_ACK,
	TCON_TCP_FIN | TCON_TCP_ACK, TCON_TCP_RST | TCON_TCP_ACK, TCON_TCP_RST,
	TCON_TCP_ACK | TCON_TCP_ECE, TCON_TCP_ACK | TCON_TCP_CWR, TCON_TCP_PSH,
	TCON_TCP_SYN | TCON_TCP_ECE | TCON_TCP_CWR, 0xff,
};

static const u16 sizes[] = { 0, 1000, 1000, 1000, 1000, 1000, 1, 999, 1001, 3000, 8000, 20000,
			     64000, 500, 2000, 0 };

/* Bytes of the headers that are not as they should be. */
static void damage(struct world *x, struct sk_buff *skb)
{
	u8 n = get_u8(&x->in) % 4;

	while (n--)
		skb->data[get_u8(&x->in) % min(skb->len, 90U)] = get_u8(&x->in);
}

static void make_fragment(struct world *x, struct sk_buff *skb)
{
	struct iphdr *ip = (struct iphdr *)(skb->data + 14);
	u8 what = get_u8(&x->in);

	ip->frag_off = htons((what & 0x80 ? 0x2000 : 0) | (what & 0x40 ? what % 64 : 0));
	ip->id = htons(what % 3);
	ip_send_check(ip);
}

static void guest_says(struct world *x, u8 op)
{
	static const u16 gso_bytes[] = { 1000, 8, 3000, 9000, 990, 1010, 30000, 100 };
	u8 kind = get_u8(&x->in);
	struct tcon_packet p = {
		.flags = flags_of[kind % 16], .payload_bytes = sizes[kind / 16],
		.seq = guest_number(x, get_u8(&x->in)), .ack = peer_number(x, get_u8(&x->in)),
		.window = op & 0x10 ? 0xffff : get_u8(&x->in),
	};
	struct sk_buff *skb;
	u64 seq, end;
	bool pass;

	set_options(x, &p, op & 0x20 ? 0x17 : get_u8(&x->in));
	p.n_sacks = 0;
	seq = p.seq;
	end = seq + p.payload_bytes;
	skb = segment_new(&p, true, x->id++, op & 0x40);
	if (p.payload_bytes > SEG_MSS) {
		skb->ip_summed = CHECKSUM_PARTIAL;
		skb_shinfo(skb)->gso_size = gso_bytes[x->id % ARRAY_SIZE(gso_bytes)];
	}
	if (op & 0x80 && kind & 1)
		damage(x, skb);
	else if (op & 0x80 && p.payload_bytes <= SEG_MSS)
		make_fragment(x, skb);
	p.end_seq = p.seq + p.payload_bytes;
	trace(x, "says", &p);
	enter_tcon();
	pass = tcon_path_ingress(&host.port.hook, skb);
	leave_tcon();
	trace(x, pass ? "passes" : "taken", NULL);
	if (!pass)
		return;
	if (end != seq)
		x->moved_ns = shim_now_ns;
	kfree_skb(skb);
}

static void peer_says(struct world *x, u8 op)
{
	u8 kind = get_u8(&x->in);
	struct tcon_packet p = {
		.flags = flags_of[kind % 16], .payload_bytes = sizes[kind / 16] * !(kind / 16 % 4),
		.seq = peer_number(x, get_u8(&x->in)), .ack = guest_number(x, get_u8(&x->in)),
		.window = op & 0x10 ? 0xffff : get_u8(&x->in),
	};
	struct sk_buff *skb;
	bool pass;

	set_options(x, &p, op & 0x20 ? 0x17 : get_u8(&x->in));
	skb = segment_new(&p, false, 0, op & 0x40);
	if (op & 0x80) {
		damage(x, skb);
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	}
	skb->mark = op & 0x40;
	trace(x, "answers", &p);
	enter_tcon();
	pass = tcon_path_egress(&host.port.hook, skb);
	leave_tcon();
	if (pass)
		kfree_skb(skb);
}

static u64 due_ns(const struct world *x)
{
	u64 ns = x->work_ns;

	if (shim_timer->armed)
		ns = min(ns, (u64)shim_timer->expires);
	if (shim_tasklet->scheduled)
		ns = shim_now_ns;
	return max(ns, shim_now_ns);
}

static void check_all(struct world *x)
{
	rcu_barrier();
	check_frozen(x);
	check_flows(x);
}

static void pass_time(struct world *x, u64 ns)
{
	u64 until_ns = shim_now_ns + ns, most = n_events + 64 + ns / NSEC_PER_MSEC * EVENTS_PER_MS;

	while (due_ns(x) <= until_ns) {
		WARN_ON(n_events++ > most);
		shim_now_ns = due_ns(x);
		if (shim_tasklet->scheduled)
			run_tasklet();
		else if (shim_timer->armed && shim_timer->expires <= shim_now_ns)
			run_timer();
		else
			run_work(x);
		check_all(x);
	}
	shim_now_ns = until_ns;
}

static void something(struct world *x)
{
	u8 what = get_u8(&x->in);

	switch (what % 8) {
	case 0:
		host.failures = what / 8 + 1;
		break;
	case 1:
	case 2:
		host.algorithm = what / 8 % n_rules;
		change_rules(what & 0x80);
		break;
	case 3:
		host.fallback = what / 8 % TCON_RULE_FALLBACK_DROP;
		host.rto_min_us = what & 0x80 ? TCON_RTO_LEAST_US : 0;
		break;
	case 4:
		leave_port(x);
		come_to_port(x);
		break;
	case 5:
		host.settled = what & 8;
		break;
	case 6:
	case 7:
		bound(TCON_SHARE_BUFFER, what & 8 ? 20000 : 1 << 24);
		break;
	}
}

static void act(struct world *x)
{
	static const u32 waits_us[] = { 10, 100, 1000, 20000, 60000, 210000, 1000000, 3000000 };
	u8 op = get_u8(&x->in);

	switch (op % 16) {
	case 0 ... 7:
		guest_says(x, op);
		break;
	case 8 ... 11:
		peer_says(x, op);
		break;
	case 12 ... 14:
		pass_time(x, waits_us[op / 32] * (u64)NSEC_PER_USEC);
		break;
	case 15:
		something(x);
		break;
	}
	check_all(x);
}

/* The handshake, so that most inputs have one. */
static void shake(struct world *x)
{
	struct tcon_packet p = {
		.flags = TCON_TCP_SYN, .seq = GUEST_ISN, .window = 0xffff, .mss = SEG_MSS,
		.wscale = 7, .sack_permitted = true, .has_ts = true, .tsval = 1,
	};
	struct sk_buff *skb = segment_new(&p, true, 0, false);

	enter_tcon();
	if (tcon_path_ingress(&host.port.hook, skb))
		kfree_skb(skb);
	leave_tcon();
	pass_time(x, 10 * NSEC_PER_MSEC);
	p.flags |= TCON_TCP_ACK;
	p.seq = PEER_ISN;
	p.ack = GUEST_ISN + 1;
	skb = segment_new(&p, false, 0, false);
	enter_tcon();
	if (tcon_path_egress(&host.port.hook, skb))
		kfree_skb(skb);
	leave_tcon();
	p = (struct tcon_packet) {
		.flags = TCON_TCP_ACK, .seq = GUEST_ISN + 1, .ack = PEER_ISN + 1, .window = 0xffff,
		.has_ts = true, .tsval = 10, .tsecr = 1,
	};
	skb = segment_new(&p, true, 0, false);
	enter_tcon();
	if (tcon_path_ingress(&host.port.hook, skb))
		kfree_skb(skb);
	leave_tcon();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static struct world x;

	memset(&x, 0, sizeof(x));
	world = &x;
	x.in = (struct input) { data, size };
	begin(&x);
	host.port.attach = &away;
	if (get_u8(&x.in) % 4)
		shake(&x);
	while (x.in.left)
		act(&x);
	host.failures = 0;
	pass_time(&x, PATIENCE_NS);
	end(&x);
	return 0;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	tracing = getenv("FUZZ_TRACE");
	return 0;
}
