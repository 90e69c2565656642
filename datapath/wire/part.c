// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parts of a guest's packet as packets.
 *
 * A guest hands over up to 64 KiB at once, and more with BIG TCP.  As much of that leaves as the
 * path takes now, and lost parts leave again.  Each part is a packet of its own: it has the header
 * of the whole, as segmentation would write it, and its payload lies in the same pages.
 */
#include <linux/ip.h>
#include <linux/math.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <tcon/compat.h>

#include "base/seq.h"
#include "wire/part.h"
#include "wire/segment.h"

/* Each segment of a super-packet has the next identifier. */
static void write_id(struct iphdr *ip, const struct sk_buff *whole, u32 segs)
{
	if (ip->version == 4 && !(ip->frag_off & htons(IP_DF)) &&
	    !(skb_shinfo(whole)->gso_type & SKB_GSO_TCP_FIXEDID))
		ip->id = htons(ntohs(ip->id) + segs);
}

/*
 * Writes which bytes follow: from @start on, after @skipped of the whole.  CWR is for the first
 * segment (RFC 3168, 6.1.2), unless it is a bit of a counter (RFC 9768).
 */
static void write_bytes(struct tcphdr *th, const struct sk_buff *whole, u32 start, u32 skipped,
			bool last)
{
	th->seq = htonl(start);
	if (!last) {
		th->fin = 0;
		th->psh = 0;
	}
	if (skipped && !(skb_shinfo(whole)->gso_type & TCON_GSO_ACCECN))
		th->cwr = 0;
	if (!th->urg)
		return;
	if (ntohs(th->urg_ptr) > skipped)
		th->urg_ptr = htons(ntohs(th->urg_ptr) - skipped);
	else
		th->urg = 0;
}

/* How much payload from @at on, an offset in @whole, is in no page that two packets may share? */
static u32 copied_bytes(const struct sk_buff *whole, u32 at, u32 bytes)
{
	u32 head_bytes = skb_headlen(whole);

	if (skb_has_frag_list(whole))
		return bytes;
	return at < head_bytes ? min(bytes, head_bytes - at) : 0;
}

/* Appends what lies in pages at @at .. @at + @bytes, offsets in @whole, without a copy. */
static void share_pages(struct sk_buff *skb, const struct sk_buff *whole, u32 at, u32 bytes)
{
	const struct skb_shared_info *from = skb_shinfo(whole);
	u32 frag_at = skb_headlen(whole), size, skipped, n = 0;
	skb_frag_t *frag;
	unsigned int i;

	for (i = 0; i < from->nr_frags && bytes; i++) {
		size = skb_frag_size(&from->frags[i]);
		skipped = at - frag_at;
		frag_at += size;
		if (skipped >= size)
			continue;
		size = min(size - skipped, bytes);
		frag = &skb_shinfo(skb)->frags[n];
		*frag = from->frags[i];
		skb_frag_off_add(frag, skipped);
		skb_frag_size_set(frag, size);
		skb_shinfo(skb)->nr_frags = ++n;
		skb_frag_ref(skb, n - 1);
		skb_len_add(skb, size);
		at += size;
		bytes -= size;
	}
}

/* Headers, and @bytes of payload from @offset on; NULL without memory. */
static struct sk_buff *assemble(const struct sk_buff *whole, u32 offset, u32 bytes)
{
	u32 header_bytes = tcon_segment(whole)->payload_offset;
	u32 at = header_bytes + offset, copied = copied_bytes(whole, at, bytes);
	struct sk_buff *skb;

	skb = alloc_skb(NET_SKB_PAD + NET_IP_ALIGN + header_bytes + copied,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb)
		return NULL;
	skb_copy_header(skb, whole);
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	if (skb_copy_bits(whole, 0, skb_put(skb, header_bytes), header_bytes) ||
	    skb_copy_bits(whole, at, skb_put(skb, copied), copied)) {
		kfree_skb_reason(skb, SKB_DROP_REASON_HDR_TRUNC);
		return NULL;
	}
	if (copied < bytes)
		share_pages(skb, whole, at + copied, bytes - copied);
	return skb;
}

/* It has @bytes of payload, after @skipped ones, in segments as large as @whole's. */
static void set_segments(struct sk_buff *skb, const struct sk_buff *whole, u32 skipped, u32 bytes)
{
	u32 wire_bytes = tcon_segment_wire_bytes(whole);
	struct skb_shared_info *info = skb_shinfo(skb);

	if (bytes <= wire_bytes) {
		info->gso_size = 0;
		info->gso_segs = 0;
		info->gso_type = 0;
		return;
	}
	info->gso_size = wire_bytes;
	info->gso_segs = DIV_ROUND_UP(bytes, wire_bytes);
	if (skipped)	/* CWR is not in it */
		info->gso_type &= ~SKB_GSO_TCP_ECN;
}

/* Only a packet of more than 64 KiB has a jumbo payload option, and no part is so large. */
static void set_offsets(struct sk_buff *skb)
{
	struct tcon_segment *seg = tcon_segment(skb);
	u32 gone;

	skb_reset_mac_header(skb);
	gone = tcon_segment_drop_jumbo(skb, seg->l3_offset);
	seg->l4_offset -= gone;
	seg->payload_offset -= gone;
	skb_reset_mac_header(skb);
	skb_set_network_header(skb, seg->l3_offset);
	skb_set_transport_header(skb, seg->l4_offset);
	skb_reset_mac_len(skb);
}

/**
 * tcon_part() - a packet with some of the bytes of another
 * @whole: that packet: data at the link-layer header, described in its cb; nothing of it changes
 * @family: AF_INET or AF_INET6
 * @start: sequence number of the part's first byte
 * @end: the sequence number after its last; FIN counts
 *
 * If it is more than a segment of @whole it is a super-packet, whose checksum is left to the
 * device.  If @whole is a list of packets, no more than a segment's bytes must be asked for, since
 * they are copied.
 *
 * Return: the part, described in its cb, except for what is charged; NULL without memory.
 */
struct sk_buff *tcon_part(const struct sk_buff *whole, u8 family, u32 start, u32 end)
{
	const struct tcon_segment *from = tcon_segment(whole);
	u32 offset = start - from->seq;
	u32 bytes = seq_min(end, from->seq + from->payload_bytes) - start;
	struct sk_buff *skb = assemble(whole, offset, bytes);
	struct tcon_segment *seg;

	if (!skb)
		return NULL;
	seg = tcon_segment(skb);
	seg->seq = start;
	seg->start = start;
	seg->end_seq = end;
	seg->payload_bytes = bytes;
	seg->charged_bytes = 0;
	set_segments(skb, whole, offset, bytes);
	set_offsets(skb);
	write_id((struct iphdr *)(skb->data + seg->l3_offset), whole,
		 offset / max(tcon_segment_wire_bytes(whole), 1U));
	write_bytes((struct tcphdr *)(skb->data + seg->l4_offset), whole, start, offset,
		    end == from->end_seq);
	tcon_segment_finish(skb, family, skb_is_gso(skb) || tcon_segment_sum_is_left(whole));
	return skb;
}
