// SPDX-License-Identifier: GPL-2.0-only
/* A TPACKET_V3 ring: the kernel copies the headers of TCP segments into blocks
 * and wakes the probe once per block, so that a packet costs the machine under
 * test as little as possible.
 *
 * Both directions are seen on a port of a bridge: the receive tap comes before
 * the rx_handler that takes the packet away, the transmit tap is on the way to
 * the driver.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ring.h"

/* Ethernet, a VLAN tag, IPv6 and a TCP header of any length: 118 bytes. */
#define SNAP_BYTES	128
#define BLOCK_BYTES	(128U << 10)
#define BLOCKS		64U

#define LOAD16(at)	BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at)
#define LOAD8(at)	BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at)
#define IF_EQUAL(k, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, yes, no)

/* TCP over IPv4 or IPv6, with at most one VLAN tag. */
static int set_filter(int fd)
{
	struct sock_filter code[] = {
		/*  0 */ LOAD16(12),
		/*  1 */ IF_EQUAL(ETH_P_IP, 5, 0),
		/*  2 */ IF_EQUAL(ETH_P_IPV6, 6, 0),
		/*  3 */ IF_EQUAL(ETH_P_8021Q, 0, 12),
		/*  4 */ LOAD16(16),
		/*  5 */ IF_EQUAL(ETH_P_IP, 5, 0),
		/*  6 */ IF_EQUAL(ETH_P_IPV6, 6, 9),
		/*  7 */ LOAD8(23),
		/*  8 */ IF_EQUAL(IPPROTO_TCP, 6, 7),
		/*  9 */ LOAD8(20),
		/* 10 */ IF_EQUAL(IPPROTO_TCP, 4, 5),
		/* 11 */ LOAD8(27),
		/* 12 */ IF_EQUAL(IPPROTO_TCP, 2, 3),
		/* 13 */ LOAD8(24),
		/* 14 */ IF_EQUAL(IPPROTO_TCP, 0, 1),
		/* 15 */ BPF_STMT(BPF_RET | BPF_K, SNAP_BYTES),
		/* 16 */ BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]), .filter = code,
	};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program,
			  sizeof(program));
}

static int set_ring(int fd)
{
	int version = TPACKET_V3;
	struct tpacket_req3 req = {
		.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = BLOCKS,
		.tp_frame_size = 2048,
		.tp_frame_nr = BLOCKS * (BLOCK_BYTES / 2048),
		.tp_retire_blk_tov = RING_RETIRE_MS,
	};

	if (setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version,
		       sizeof(version)))
		return -1;
	return setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req));
}

static int bind_to(int fd, unsigned int ifindex)
{
	struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = (int)ifindex,
	};

	return bind(fd, (struct sockaddr *)&address, sizeof(address));
}

/**
 * ring_open() - begin to capture
 * @ring: result; the caller sets @origin_ns
 * @dev: name of the device
 *
 * Return: 0, or -1 after one sentence on stderr.
 */
int ring_open(struct ring *ring, const char *dev)
{
	unsigned int ifindex = if_nametoindex(dev);

	memset(ring, 0, sizeof(*ring));
	if (!ifindex) {
		fprintf(stderr, "tcon-probe: there is no device %s\n", dev);
		return -1;
	}
	/* Protocol 0 receives nothing until the filter is in place. */
	ring->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (ring->fd < 0 || set_filter(ring->fd) || set_ring(ring->fd))
		goto err;
	ring->map = mmap(NULL, BLOCKS * BLOCK_BYTES, PROT_READ | PROT_WRITE,
			 MAP_SHARED, ring->fd, 0);
	if (ring->map == MAP_FAILED || bind_to(ring->fd, ifindex))
		goto err;
	return 0;
err:
	fprintf(stderr, "tcon-probe: cannot capture on %s: %s\n", dev,
		strerror(errno));
	if (ring->fd >= 0)
		close(ring->fd);
	return -1;
}

static void take_packet(struct ring *ring, struct flows *table,
			const struct tpacket3_hdr *packet)
{
	const uint8_t *base = (const uint8_t *)packet;
	const uint8_t *mac = base + packet->tp_mac;
	const struct sockaddr_ll *from = (const void *)
		(base + TPACKET_ALIGN(sizeof(*packet)));
	int64_t t_ns = packet->tp_sec * 1000000000ll + packet->tp_nsec -
		ring->origin_ns;
	struct segment s;

	if (packet->tp_snaplen < ETH_HLEN)
		return;
	if (segment_parse(&s, (uint16_t)(mac[12] << 8 | mac[13]),
			  mac + ETH_HLEN, packet->tp_snaplen - ETH_HLEN,
			  packet->tp_len - ETH_HLEN))
		flows_segment(table, &s, from->sll_pkttype == PACKET_OUTGOING,
			      t_ns > 0 ? (uint64_t)t_ns : 0);
}

/**
 * ring_read() - take in the packets of every block that is ready
 * @ring: the ring
 * @table: gets them
 */
void ring_read(struct ring *ring, struct flows *table)
{
	for (;;) {
		struct tpacket_block_desc *block = (void *)
			(ring->map + (size_t)ring->block * BLOCK_BYTES);
		struct tpacket_hdr_v1 *header = &block->hdr.bh1;
		const uint8_t *p;
		uint32_t i;

		if (!(__atomic_load_n(&header->block_status, __ATOMIC_ACQUIRE) &
		      TP_STATUS_USER))
			return;
		p = (const uint8_t *)block + header->offset_to_first_pkt;
		for (i = 0; i < header->num_pkts; i++) {
			const struct tpacket3_hdr *packet = (const void *)p;

			take_packet(ring, table, packet);
			p += packet->tp_next_offset;
		}
		__atomic_store_n(&header->block_status, TP_STATUS_KERNEL,
				 __ATOMIC_RELEASE);
		ring->block = (ring->block + 1) % BLOCKS;
	}
}

/**
 * ring_dropped() - what the kernel had no room for
 * @ring: the ring; the kernel's counter is reset
 *
 * Return: packets.
 */
uint64_t ring_dropped(const struct ring *ring)
{
	struct tpacket_stats_v3 stats = { 0 };
	socklen_t len = sizeof(stats);

	if (getsockopt(ring->fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len))
		return 0;
	return stats.tp_drops;
}

/**
 * ring_close() - end the capture
 * @ring: the ring
 */
void ring_close(struct ring *ring)
{
	munmap(ring->map, BLOCKS * BLOCK_BYTES);
	close(ring->fd);
}
