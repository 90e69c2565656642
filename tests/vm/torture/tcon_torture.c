// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic on all CPUs, for tests only: crafted segments of many connections, both ways.
 *
 *	guest device -- veth -- port of a guest [bridge] uplink -- veth -- peer device
 *
 *	insmod tcon_torture.ko guests=g0,g1 peer=w0
 *
 * A thread on each CPU plays either end of any connection.  The ends are not quite honest:
 * they repeat, overtake, acknowledge and offer windows at random, and once in a while send
 * beyond their window, or acknowledge what has not come.  All the same the invariants of the
 * fuzzers must hold (tests/fuzz/fuzz_path.c):
 *
 *  - what comes out came in, byte by byte, with right checksums;
 *  - no segment offers an end more than the other has offered, nor acknowledges more.
 *
 * Devices and tcon.ko may come and go at any time.  A violation is a WARNING in the log.
 */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#define CONNECTIONS	8
#define FIRST_PORT	1024
#define SERVER_PORT	5201
#define MSS_BYTES	1000U
#define BURST_SEGMENTS	8U	/* of a super-packet */
#define WSCALE		4
#define STEPS_MAX	400	/* of a connection, until another takes its place */
#define GUESTS_MAX	8
#define RARELY		64U	/* one in this many segments */
#define OPTIONS_MAX	24
#define PIECE_BYTES	128
/* 10.99.0.0/16: guests 10.99.1.N, the peer 10.99.2.1. */
#define NET		0x0a630000U
#define NET_MASK	0xffff0000U

enum side { GUEST, PEER, SIDES };

enum phase { CLOSED, SYN_CAME, OPEN };

/**
 * struct end - one end of a connection
 * @isn: its initial sequence number
 * @nxt: end of what it has sent
 * @arrived: end of what has come to the other end
 * @acked: highest sequence number of its own that the other end has acknowledged
 * @edge: right edge of the windows that the other end has offered it
 * @given: right edge of those that have come
 */
struct end {
	u32 isn, nxt, arrived, acked, edge, given;
};

/**
 * struct connection - two ends
 * @lock: protects all of it
 * @end: the ends
 * @phase: how far the handshake has come
 * @port: the guest's
 * @guest: index of the guest's device
 * @has_ts: with time stamps
 * @steps: until another takes its place
 */
struct connection {
	spinlock_t lock;	/* of all of it */
	struct end end[SIDES];
	enum phase phase;
	u16 port;
	u8 guest;
	bool has_ts;
	u32 steps;
};

/**
 * struct draft - a segment to be sent
 * @from: its sender
 * @seq: of its first byte
 * @ack: acknowledgment number
 * @bytes: payload
 * @flags: TCPHDR_*
 * @window: the field
 * @sack_start: start of its SACK block
 * @sack_bytes: length of that block; 0: none
 */
struct draft {
	enum side from;
	u32 seq, ack, bytes;
	u8 flags;
	u16 window;
	u32 sack_start, sack_bytes;
};

static char *guests[GUESTS_MAX];
static unsigned int n_guests;
module_param_array(guests, charp, &n_guests, 0444);
MODULE_PARM_DESC(guests, "devices of guests");

static char *peer;
module_param(peer, charp, 0444);
MODULE_PARM_DESC(peer, "the peer's device");

static atomic_long_t sent[SIDES], came[SIDES], opened, broken;

static int show_counts(char *buffer, const struct kernel_param *kp)
{
	return scnprintf(buffer, PAGE_SIZE, "%ld %ld %ld %ld %ld %ld\n",
			 atomic_long_read(&sent[GUEST]), atomic_long_read(&came[PEER]),
			 atomic_long_read(&sent[PEER]), atomic_long_read(&came[GUEST]),
			 atomic_long_read(&opened), atomic_long_read(&broken));
}

static const struct kernel_param_ops counts_ops = { .get = show_counts };
module_param_cb(counts, &counts_ops, NULL, 0444);
MODULE_PARM_DESC(counts,
		 "sent by guests, heard by the peer, sent by it, heard by guests, connections, broken");

static struct connection connections[CONNECTIONS];
static struct task_struct **threads;

/*
 * Each byte of payload follows from its sequence number and its sender.  KCSAN skips the code that
 * touches all of them: it samples accesses, and few would be left for the rest.
 */
static __always_inline u8 byte_at(u32 seq, enum side from)
{
	return (seq * 0x9e3779b1U >> 24) ^ (from == GUEST ? 0 : 0x55);
}

static u32 below(u32 n)
{
	return get_random_u32() % n;
}

static bool chance(u32 one_in)
{
	return !below(one_in);
}

/* Some sequence number of what an end has sent. */
static u32 somewhere(const struct end *e)
{
	return e->isn + 1 + below(e->nxt - e->isn);
}

static void begin(struct connection *c)
{
	enum side s;

	for (s = GUEST; s < SIDES; s++) {
		c->end[s].isn = get_random_u32();
		c->end[s].nxt = c->end[s].isn + 1;
		c->end[s].arrived = c->end[s].nxt;
		c->end[s].acked = c->end[s].isn;
		c->end[s].edge = c->end[s].isn;
		c->end[s].given = c->end[s].nxt;
	}
	c->port += CONNECTIONS;
	if (c->port < FIRST_PORT)
		c->port += FIRST_PORT;
	c->phase = CLOSED;
	c->guest = below(n_guests);
	c->has_ts = chance(2);
	c->steps = 1 + below(STEPS_MAX);
}

static void draft_handshake(const struct connection *c, struct draft *d)
{
	d->from = c->phase == CLOSED ? GUEST : PEER;
	d->flags = c->phase == CLOSED ? TCPHDR_SYN : TCPHDR_SYN | TCPHDR_ACK;
	d->seq = c->end[d->from].isn;
	d->ack = c->phase == CLOSED ? 0 : c->end[GUEST].isn + 1;
	d->window = 64000;
}

/* Data that is new, or a repeat, or none. */
static void draft_data(struct end *e, struct draft *d)
{
	u32 acked = after(e->acked, e->isn) ? e->acked : e->isn + 1;

	d->seq = e->nxt;
	if (chance(3))
		return;
	d->bytes = chance(3) ? MSS_BYTES * (1 + below(BURST_SEGMENTS)) : 1 + below(MSS_BYTES);
	if (chance(8)) {
		d->seq = chance(4) ? somewhere(e) : acked;
		d->bytes = min(d->bytes, e->nxt - d->seq);
	}
	if (after(d->seq + d->bytes, e->given) && !chance(RARELY))
		d->bytes = 0;
	if (after(d->seq + d->bytes, e->nxt))
		e->nxt = d->seq + d->bytes;
}

/* The sender's word of the bytes that the other end has sent. */
static void draft_ack(struct end *other, struct draft *d)
{
	u32 least = after(other->acked, other->isn) ? other->acked : other->isn + 1;
	u32 most = chance(RARELY) ? other->nxt : other->arrived;

	if (after(least, most))
		most = least;
	d->ack = chance(8) ? somewhere(other) : least + below(most - least + 1);
	d->window = chance(50) ? 0 : 1 + below(U16_MAX);
	if (after(most, d->ack + MSS_BYTES) && chance(4)) {
		d->sack_start = d->ack + MSS_BYTES;
		d->sack_bytes = min(most - d->sack_start, MSS_BYTES);
	}
	if (after(d->ack, other->acked))
		other->acked = d->ack;
	if (after(d->ack + (d->window << WSCALE), other->edge))
		other->edge = d->ack + (d->window << WSCALE);
}

static void draft_segment(struct connection *c, struct draft *d)
{
	memset(d, 0, sizeof(*d));
	if (!c->steps--)
		begin(c);
	if (c->phase != OPEN) {
		draft_handshake(c, d);
		return;
	}
	d->from = chance(2) ? GUEST : PEER;
	d->flags = TCPHDR_ACK;
	if (d->from == GUEST || chance(4))
		draft_data(&c->end[d->from], d);
	else
		d->seq = c->end[d->from].nxt;
	draft_ack(&c->end[!d->from], d);
}

static u32 put_options(u8 *options, const struct connection *c, const struct draft *d)
{
	u8 *at = options;

	if (d->flags & TCPHDR_SYN) {
		put_unaligned_be16(TCPOPT_MSS << 8 | TCPOLEN_MSS, at);
		put_unaligned_be16(MSS_BYTES + (c->has_ts ? TCPOLEN_TSTAMP_ALIGNED : 0), at + 2);
		put_unaligned_be32(TCPOPT_NOP << 24 | TCPOPT_WINDOW << 16 | TCPOLEN_WINDOW << 8 |
				   WSCALE, at + 4);
		put_unaligned_be32(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 |
				   TCPOPT_SACK_PERM << 8 | TCPOLEN_SACK_PERM, at + 8);
		at += 12;
	}
	if (c->has_ts) {
		put_unaligned_be32(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 |
				   TCPOPT_TIMESTAMP << 8 | TCPOLEN_TIMESTAMP, at);
		put_unaligned_be32(jiffies_to_msecs(jiffies), at + 4);
		put_unaligned_be32(d->flags & TCPHDR_ACK ? jiffies_to_msecs(jiffies) : 0, at + 8);
		at += TCPOLEN_TSTAMP_ALIGNED;
	} else if (d->sack_bytes) {
		put_unaligned_be32(TCPOPT_NOP << 24 | TCPOPT_NOP << 16 | TCPOPT_SACK << 8 |
				   (TCPOLEN_SACK_BASE + TCPOLEN_SACK_PERBLOCK), at);
		put_unaligned_be32(d->sack_start, at + 4);
		put_unaligned_be32(d->sack_start + d->sack_bytes, at + 8);
		at += 12;
	}
	return at - options;
}

static void set_sum(struct sk_buff *skb, struct iphdr *ip, struct tcphdr *th, u32 tcp_bytes)
{
	if (skb_is_gso(skb) || chance(2)) {
		th->check = ~csum_tcpudp_magic(ip->saddr, ip->daddr, tcp_bytes, IPPROTO_TCP, 0);
		skb->ip_summed = CHECKSUM_PARTIAL;
		skb->csum_start = (u8 *)th - skb->head;
		skb->csum_offset = offsetof(struct tcphdr, check);
		return;
	}
	th->check = 0;
	th->check = csum_tcpudp_magic(ip->saddr, ip->daddr, tcp_bytes, IPPROTO_TCP,
				      csum_partial(th, tcp_bytes, 0));
}

static void put_ip(struct iphdr *ip, const struct connection *c, const struct draft *d, u32 bytes)
{
	__be32 guest = htonl(NET + 0x101 + c->guest), other = htonl(NET + 0x201);

	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = chance(4) ? INET_ECN_CE : INET_ECN_ECT_0;
	ip->tot_len = htons(bytes);
	ip->id = htons(get_random_u32());
	ip->ttl = 64;
	ip->protocol = IPPROTO_TCP;
	ip->saddr = d->from == GUEST ? guest : other;
	ip->daddr = d->from == GUEST ? other : guest;
	ip_send_check(ip);
}

static void put_tcp(struct tcphdr *th, const struct connection *c, const struct draft *d, u32 bytes)
{
	th->source = htons(d->from == GUEST ? c->port : SERVER_PORT);
	th->dest = htons(d->from == GUEST ? SERVER_PORT : c->port);
	th->seq = htonl(d->seq);
	th->ack_seq = htonl(d->ack);
	th->doff = bytes / 4;
	tcp_flag_byte(th) = d->flags;
	th->window = htons(d->window);
}

static noinline __no_kcsan void fill(u8 *payload, const struct draft *d)
{
	u32 i;

	for (i = 0; i < d->bytes; i++)
		payload[i] = byte_at(d->seq + i, d->from);
}

static struct sk_buff *make(const struct connection *c, const struct draft *d)
{
	u8 options[OPTIONS_MAX] = {};
	u32 tcp_bytes = sizeof(struct tcphdr) + put_options(options, c, d);
	struct sk_buff *skb;
	struct tcphdr *th;
	struct iphdr *ip;

	skb = alloc_skb(LL_MAX_HEADER + sizeof(*ip) + tcp_bytes + d->bytes, GFP_ATOMIC);
	if (!skb)
		return NULL;
	skb_reserve(skb, LL_MAX_HEADER);
	skb_reset_network_header(skb);
	ip = skb_put_zero(skb, sizeof(*ip));
	skb_set_transport_header(skb, sizeof(*ip));
	th = skb_put_zero(skb, tcp_bytes);
	memcpy(th + 1, options, tcp_bytes - sizeof(*th));
	fill(skb_put(skb, d->bytes), d);
	if (d->bytes > MSS_BYTES) {
		skb_shinfo(skb)->gso_size = MSS_BYTES;
		skb_shinfo(skb)->gso_type = SKB_GSO_TCPV4;
		skb_shinfo(skb)->gso_segs = DIV_ROUND_UP(d->bytes, MSS_BYTES);
	}
	put_tcp(th, c, d, tcp_bytes);
	put_ip(ip, c, d, sizeof(*ip) + tcp_bytes + d->bytes);
	set_sum(skb, ip, th, tcp_bytes + d->bytes);
	skb->protocol = htons(ETH_P_IP);
	return skb;
}

/* Sends a segment of some connection, if its device is there. */
static void step(void)
{
	struct connection *c = &connections[below(CONNECTIONS)];
	struct net_device *dev;
	struct sk_buff *skb;
	struct draft d;
	u8 mac[ETH_ALEN] = { 0x02, 0, 0, 0, 0x99, 0 }, to[ETH_ALEN] = { 0x02, 0, 0, 0, 0x99, 1 };
	const char *name;

	spin_lock_bh(&c->lock);
	draft_segment(c, &d);
	skb = make(c, &d);
	name = d.from == GUEST ? guests[c->guest] : peer;
	spin_unlock_bh(&c->lock);
	if (!skb)
		return;
	rcu_read_lock_bh();
	dev = dev_get_by_name_rcu(&init_net, name);
	if (dev && netif_running(dev)) {
		skb->dev = dev;
		dev_hard_header(skb, dev, ETH_P_IP, d.from == GUEST ? to : mac,
				d.from == GUEST ? mac : to, skb->len);
		atomic_long_inc(&sent[d.from]);
		dev_queue_xmit(skb);
	} else {
		kfree_skb(skb);
	}
	rcu_read_unlock_bh();
}

static int run(void *unused)
{
	u32 n = 0;

	while (!kthread_should_stop()) {
		step();
		if (!(++n % 64))
			schedule_timeout_interruptible(1);
		else
			cond_resched();
	}
	return 0;
}

static bool is_sound(const struct sk_buff *skb, const struct iphdr *ip, u32 l4_bytes)
{
	if (skb->ip_summed == CHECKSUM_PARTIAL || skb_csum_unnecessary(skb))
		return true;
	return !csum_tcpudp_magic(ip->saddr, ip->daddr, l4_bytes, IPPROTO_TCP,
				  skb_checksum(skb, ip->ihl * 4, l4_bytes, 0));
}

/* Is the payload what its sender sent? */
static noinline __no_kcsan bool is_right(const struct sk_buff *skb, u32 offset, u32 bytes, u32 seq,
					 enum side from)
{
	u8 piece[PIECE_BYTES];
	u32 at, i, n;

	for (at = 0; at < bytes; at += n) {
		n = min_t(u32, bytes - at, PIECE_BYTES);
		if (skb_copy_bits(skb, offset + at, piece, n))
			return false;
		for (i = 0; i < n; i++)
			if (piece[i] != byte_at(seq + at + i, from))
				return false;
	}
	return true;
}

static void breaks(const char *what, const struct connection *c, enum side from,
		   const struct tcphdr *th)
{
	const struct end *to = &c->end[!from];

	atomic_long_inc(&broken);
	WARN_ONCE(1, "tcon_torture: %s: from the %s, port %u, seq %u, ack %u, window %u; sent up to %u, acknowledged %u, edge %u\n",
		  what, from == GUEST ? "guest" : "peer", c->port, ntohl(th->seq),
		  ntohl(th->ack_seq), ntohs(th->window), c->end[from].nxt, to->acked, to->edge);
}

static void check(struct connection *c, struct sk_buff *skb, const struct iphdr *ip,
		  const struct tcphdr *th, enum side from)
{
	u32 l4_bytes = ntohs(ip->tot_len) - ip->ihl * 4, bytes = l4_bytes - th->doff * 4;
	u32 ack = ntohl(th->ack_seq), seq = ntohl(th->seq);
	struct end *to = &c->end[!from], *by = &c->end[from];

	if (th->syn) {
		if (c->phase == CLOSED && from == GUEST)
			c->phase = SYN_CAME;
		if (c->phase == SYN_CAME && from == PEER) {
			c->phase = OPEN;
			atomic_long_inc(&opened);
		}
		return;
	}
	if (!is_sound(skb, ip, l4_bytes))
		breaks("a wrong checksum", c, from, th);
	if (after(seq + bytes, by->nxt))
		breaks("data that nobody sent", c, from, th);
	if (!is_right(skb, ip->ihl * 4 + th->doff * 4, bytes, seq, from))
		breaks("wrong bytes", c, from, th);
	if (after(ack, to->acked))
		breaks("it acknowledges more than was acknowledged", c, from, th);
	if (after(ack + (ntohs(th->window) << WSCALE), to->edge))
		breaks("it offers more than was offered", c, from, th);
	if (after(seq + bytes, by->arrived))
		by->arrived = seq + bytes;
	if (after(ack + (ntohs(th->window) << WSCALE), to->given))
		to->given = ack + (ntohs(th->window) << WSCALE);
}

/* A segment comes to one of the devices, or to another of the host: ports have no such handler. */
static int receive(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
		   struct net_device *orig_dev)
{
	struct tcphdr th_room;
	const struct tcphdr *th;
	struct iphdr ip_room;
	const struct iphdr *ip;
	struct connection *c;
	enum side from;
	u16 port;

	ip = skb_header_pointer(skb, 0, sizeof(ip_room), &ip_room);
	if (!ip || ip->protocol != IPPROTO_TCP || (ntohl(ip->saddr) & NET_MASK) != NET)
		goto out;
	th = skb_header_pointer(skb, ip->ihl * 4, sizeof(th_room), &th_room);
	if (!th)
		goto out;
	from = th->dest == htons(SERVER_PORT) ? GUEST : PEER;
	port = ntohs(from == GUEST ? th->source : th->dest);
	c = &connections[port % CONNECTIONS];
	atomic_long_inc(&came[!from]);
	spin_lock(&c->lock);
	if (c->port == port)
		check(c, skb, ip, th, from);
	spin_unlock(&c->lock);
out:
	kfree_skb(skb);
	return 0;
}

static struct packet_type handler __read_mostly = {
	.type = htons(ETH_P_IP),
	.func = receive,
};

static void stop(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (!IS_ERR_OR_NULL(threads[cpu]))
			kthread_stop(threads[cpu]);
	dev_remove_pack(&handler);
	kfree(threads);
}

static int __init torture_init(void)
{
	int cpu, i;

	if (!n_guests || !peer)
		return -EINVAL;
	threads = kcalloc(nr_cpu_ids, sizeof(*threads), GFP_KERNEL);
	if (!threads)
		return -ENOMEM;
	for (i = 0; i < CONNECTIONS; i++) {
		spin_lock_init(&connections[i].lock);
		connections[i].port = FIRST_PORT + i;
		begin(&connections[i]);
	}
	dev_add_pack(&handler);
	for_each_online_cpu(cpu) {
		threads[cpu] = kthread_create(run, NULL, "tcon_torture/%d", cpu);
		if (IS_ERR(threads[cpu])) {
			stop();
			return -ENOMEM;
		}
		kthread_bind(threads[cpu], cpu);
		wake_up_process(threads[cpu]);
	}
	return 0;
}

static void __exit torture_exit(void)
{
	stop();
}

module_init(torture_init);
module_exit(torture_exit);

MODULE_DESCRIPTION("TCon: traffic on all CPUs, for tests");
MODULE_LICENSE("GPL");
