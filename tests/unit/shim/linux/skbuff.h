/* SPDX-License-Identifier: GPL-2.0-only */
/* User-space shim: packets.  Their data is linear and shared by clones. */
#ifndef _SHIM_LINUX_SKBUFF_H
#define _SHIM_LINUX_SKBUFF_H

#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <asm/byteorder.h>

#define NET_SKB_PAD		64
#define NET_IP_ALIGN		2
#define SKB_GSO_TCPV4		1
#define SKB_GSO_TCPV6		16
#define SKB_GSO_TCP_ECN		4
#define SKB_GSO_TCP_FIXEDID	8
#define CHECKSUM_NONE		0
#define CHECKSUM_UNNECESSARY	1
#define CHECKSUM_COMPLETE	2
#define CHECKSUM_PARTIAL	3
#define SHIM_NO_HEADER		0xffff
#define SHIM_SHINFO_BYTES	320
#define SHIM_SKB_BYTES		256

/* There are no pages: all of a packet is in its head. */
struct page;

typedef struct {
	struct page *page;
} skb_frag_t;

struct skb_shared_info {
	unsigned char nr_frags;
	skb_frag_t frags[1];
	unsigned short gso_size;
	unsigned short gso_segs;
	unsigned int gso_type;
};

/* The part that clones share. */
struct shim_buf {
	int users;
	u32 bytes;
	struct skb_shared_info shinfo;
	u8 data[];
};

struct sk_buff {
	struct sk_buff *next;
	u8 cb[48] __aligned(8);
	struct shim_buf *buf;
	u8 *head;
	u8 *data;
	u32 len;
	u32 truesize;
	u32 mark;
	u32 priority;
	u32 hash;
	void *dev;
	void *sk;
	bool head_frag;
	bool l4_hash;
	bool sw_hash;
	__wsum csum;
	u16 csum_start;
	u16 csum_offset;
	u16 mac_header;
	u16 network_header;
	u16 transport_header;
	u16 mac_len;
	__be16 protocol;
	__be16 vlan_proto;
	u16 vlan_tci;
	bool vlan_present;
	u8 ip_summed;
};

struct sk_buff_head {
	struct sk_buff *first;
	struct sk_buff *last;
	u32 qlen;
	spinlock_t lock;	/* of nobody: there is room for it in the kernel's */
};

/* How many there are. */
extern long shim_skbs;
__attribute__((__weak__)) long shim_skbs;

#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#define skb_shinfo(skb)			(&(skb)->buf->shinfo)
#define skb_is_gso(skb)			(!!skb_shinfo(skb)->gso_size)
#define skb_is_gso_tcp(skb)		skb_is_gso(skb)
#define skb_headlen(skb)		((skb)->len)
#define pskb_may_pull(skb, n)		((n) <= (skb)->len)
#define skb_frag_page(frag)		((frag)->page)
#define skb_frag_size(frag)		((void)(frag), 0U)
#define skb_frag_off_add(frag, n)	((void)(frag), (void)(n))
#define skb_frag_size_set(frag, n)	((void)(frag), (void)(n))
#define skb_frag_ref(skb, i)		((void)(skb), (void)(i))
#define compound_head(page)		(page)
#define page_size(page)			((page) ? 4096U : 0)
#define virt_to_head_page(p)		((void)(p), (struct page *)NULL)
#define skb_end_offset(skb)		(shim_slab_bytes((skb)->buf->bytes) - SHIM_SHINFO_BYTES)
#define SKB_DATA_ALIGN(bytes)		(bytes)
#define SKB_TRUESIZE(bytes)		((bytes) + SHIM_SHINFO_BYTES + SHIM_SKB_BYTES)
#define skb_copy			skb_clone
#define skb_walk_frags(skb, part)	for (part = NULL; part; part = NULL)
#define skb_has_frag_list(skb)		((void)(skb), false)
#define skb_orphan(skb)			do { } while (0)
#define nf_reset_ct(skb)		do { } while (0)
#define skb_nfct(skb)			((void)(skb), (void *)NULL)
#define skb_dst(skb)			((void)(skb), (void *)NULL)
#define skb_vlan_tag_present(skb)	((skb)->vlan_present)
#define skb_mark_not_on_list(skb)	((skb)->next = NULL)
#define skb_list_walk_safe(first, skb, after)				\
	for ((skb) = (first), (after) = (skb) ? (skb)->next : NULL; (skb); \
	     (skb) = (after), (after) = (skb) ? (skb)->next : NULL)

static inline struct shim_buf *shim_buf_alloc(u32 bytes, gfp_t gfp)
{
	struct shim_buf *buf = kmalloc(sizeof(*buf) + bytes, gfp);

	if (!buf)
		return NULL;
	memset(buf, 0, sizeof(*buf));
	buf->users = 1;
	buf->bytes = bytes;
	return buf;
}

/* As in the kernel, data and shared info take a slab of a power of two. */
static inline u32 shim_slab_bytes(u32 bytes)
{
	u32 slab_bytes = 512;

	while (slab_bytes < bytes + SHIM_SHINFO_BYTES)
		slab_bytes *= 2;
	return slab_bytes;
}

static inline struct sk_buff *alloc_skb(u32 bytes, gfp_t gfp)
{
	struct sk_buff *skb = kzalloc(sizeof(*skb), gfp);

	if (!skb)
		return NULL;
	skb->buf = shim_buf_alloc(bytes, gfp);
	if (!skb->buf) {
		kfree(skb);
		return NULL;
	}
	skb->head = skb->buf->data;
	skb->data = skb->head;
	skb->truesize = shim_slab_bytes(bytes) + SHIM_SKB_BYTES;
	skb->mac_header = SHIM_NO_HEADER;
	skb->transport_header = SHIM_NO_HEADER;
	shim_skbs++;
	return skb;
}

static inline void kfree_skb(struct sk_buff *skb)
{
	if (!skb)
		return;
	BUG_ON(skb->buf->users < 1);
	if (!--skb->buf->users)
		kfree(skb->buf);
	kfree(skb);
	shim_skbs--;
}

enum skb_drop_reason {
	SKB_DROP_REASON_NETFILTER_DROP,
	SKB_DROP_REASON_DEV_READY,
	SKB_DROP_REASON_NOMEM,
	SKB_DROP_REASON_HDR_TRUNC,
};

static inline void kfree_skb_reason(struct sk_buff *skb, enum skb_drop_reason reason)
{
	kfree_skb(skb);
}

static inline void consume_skb(struct sk_buff *skb)
{
	kfree_skb(skb);
}

static inline void napi_consume_skb(struct sk_buff *skb, int budget)
{
	kfree_skb(skb);
}

static inline struct sk_buff *skb_clone(const struct sk_buff *skb, gfp_t gfp)
{
	struct sk_buff *clone = kmalloc(sizeof(*clone), gfp);

	if (!clone)
		return NULL;
	*clone = *skb;
	clone->next = NULL;
	clone->buf->users++;
	shim_skbs++;
	return clone;
}

static inline void skb_reserve(struct sk_buff *skb, u32 bytes)
{
	BUG_ON(skb->len);
	skb->data += bytes;
}

static inline int skb_checksum_start_offset(const struct sk_buff *skb)
{
	return skb->csum_start - (int)(skb->data - skb->head);
}

static inline void *skb_put(struct sk_buff *skb, u32 bytes)
{
	u8 *at = skb->data + skb->len;

	BUG_ON(at + bytes > skb->head + skb->buf->bytes);
	skb->len += bytes;
	return at;
}

static inline void skb_len_add(struct sk_buff *skb, int delta)
{
	skb->len += delta;
	skb->truesize += delta;
}

static inline void *skb_put_zero(struct sk_buff *skb, u32 bytes)
{
	return memset(skb_put(skb, bytes), 0, bytes);
}

static inline void *skb_put_data(struct sk_buff *skb, const void *from, u32 bytes)
{
	return memcpy(skb_put(skb, bytes), from, bytes);
}

static inline void *skb_push(struct sk_buff *skb, u32 bytes)
{
	BUG_ON(bytes > skb->data - skb->head);
	skb->data -= bytes;
	skb->len += bytes;
	return skb->data;
}

static inline int skb_copy_bits(const struct sk_buff *skb, int offset, void *to,
				int bytes)
{
	if (offset < 0 || offset + bytes > skb->len)
		return -EFAULT;
	memcpy(to, skb->data + offset, bytes);
	return 0;
}

/* Data of its own, with at least @room before it. */
static inline int shim_own(struct sk_buff *skb, u32 room)
{
	struct shim_buf *buf;
	u32 before = skb->data - skb->head;
	int more = room > before ? room - before : 0;

	if (skb->buf->users == 1 && !more)
		return 0;
	buf = shim_buf_alloc(skb->buf->bytes + more, GFP_ATOMIC);
	if (!buf)
		return -ENOMEM;
	buf->shinfo = skb->buf->shinfo;
	memcpy(buf->data + before + more, skb->data, skb->len);
	if (!--skb->buf->users)
		kfree(skb->buf);
	skb->buf = buf;
	skb->head = buf->data;
	skb->data = skb->head + before + more;
	skb->mac_header += more;
	skb->network_header += more;
	skb->transport_header += more;
	return 0;
}

static inline void *__skb_pull(struct sk_buff *skb, u32 bytes)
{
	skb->len -= bytes;
	return skb->data += bytes;
}

static inline void *__skb_push(struct sk_buff *skb, u32 bytes)
{
	skb->len += bytes;
	return skb->data -= bytes;
}

/* Append the bytes of @from to @to, which has no clones. */
static inline bool skb_try_coalesce(struct sk_buff *to, struct sk_buff *from, bool *stolen,
				    int *delta)
{
	u32 before = to->data - to->head;
	struct shim_buf *buf;

	if (to->buf->users > 1)
		return false;
	buf = shim_buf_alloc(to->buf->bytes + from->len, GFP_ATOMIC);
	if (!buf)
		return false;
	buf->shinfo = to->buf->shinfo;
	memcpy(buf->data + before, to->data, to->len);
	memcpy(buf->data + before + to->len, from->data, from->len);
	kfree(to->buf);
	to->buf = buf;
	to->head = buf->data;
	to->data = buf->data + before;
	to->len += from->len;
	to->truesize += from->len;
	*stolen = false;
	*delta = from->len;
	return true;
}

static inline void kfree_skb_partial(struct sk_buff *skb, bool stolen)
{
	kfree_skb(skb);
}

static inline int skb_unclone(struct sk_buff *skb, gfp_t gfp)
{
	return shim_own(skb, 0);
}

static inline int skb_ensure_writable(struct sk_buff *skb, u32 bytes)
{
	return bytes > skb->len ? -ENOMEM : shim_own(skb, 0);
}

static inline int skb_cow_head(struct sk_buff *skb, u32 room)
{
	return shim_own(skb, room);
}

/* Here no packet has pages of its guest's. */
static inline void *skb_zcopy(struct sk_buff *skb)
{
	return NULL;
}

/* The guest's pages are copied, for which there may be no memory. */
static inline int skb_orphan_frags_rx(struct sk_buff *skb, gfp_t gfp)
{
	if (!shim_alloc_failures)
		return 0;
	shim_alloc_failures--;
	return -ENOMEM;
}

static inline int pskb_trim(struct sk_buff *skb, u32 bytes)
{
	if (shim_own(skb, 0))
		return -ENOMEM;
	skb->len = min(skb->len, bytes);
	return 0;
}

static inline void skb_gso_reset(struct sk_buff *skb)
{
	memset(skb_shinfo(skb), 0, sizeof(*skb_shinfo(skb)));
}

static inline void skb_copy_header(struct sk_buff *skb, const struct sk_buff *from)
{
	memcpy(skb->cb, from->cb, sizeof(skb->cb));
	skb->protocol = from->protocol;
	skb->priority = from->priority;
	skb->mark = from->mark;
	skb->hash = from->hash;
	skb->l4_hash = from->l4_hash;
	skb->sw_hash = from->sw_hash;
	skb->vlan_proto = from->vlan_proto;
	skb->vlan_tci = from->vlan_tci;
	skb->vlan_present = from->vlan_present;
	skb->ip_summed = from->ip_summed;
	*skb_shinfo(skb) = *skb_shinfo(from);
}

static inline void skb_reset_mac_header(struct sk_buff *skb)
{
	skb->mac_header = skb->data - skb->head;
}

static inline void skb_set_network_header(struct sk_buff *skb, int offset)
{
	skb->network_header = skb->data - skb->head + offset;
}

static inline void skb_set_transport_header(struct sk_buff *skb, int offset)
{
	skb->transport_header = skb->data - skb->head + offset;
}

static inline void skb_reset_mac_len(struct sk_buff *skb)
{
	skb->mac_len = skb->network_header - skb->mac_header;
}

static inline int skb_network_offset(const struct sk_buff *skb)
{
	return skb->head + skb->network_header - skb->data;
}

static inline int skb_transport_offset(const struct sk_buff *skb)
{
	return skb->head + skb->transport_header - skb->data;
}

static inline u8 *skb_transport_header(const struct sk_buff *skb)
{
	return skb->head + skb->transport_header;
}

static inline bool skb_transport_header_was_set(const struct sk_buff *skb)
{
	return skb->transport_header != SHIM_NO_HEADER;
}

static inline void __skb_queue_head_init(struct sk_buff_head *q)
{
	memset(q, 0, sizeof(*q));
}

static inline bool skb_queue_empty(const struct sk_buff_head *q)
{
	return !q->first;
}

static inline struct sk_buff *skb_peek_tail(const struct sk_buff_head *q)
{
	return q->first ? q->last : NULL;
}

static inline struct sk_buff *skb_peek(const struct sk_buff_head *q)
{
	return q->first;
}

#define skb_queue_walk(q, skb) for (skb = (q)->first; skb; skb = skb->next)

static inline void __skb_queue_tail(struct sk_buff_head *q, struct sk_buff *skb)
{
	skb->next = NULL;
	if (q->first)
		q->last->next = skb;
	else
		q->first = skb;
	q->last = skb;
	q->qlen++;
}

static inline struct sk_buff *__skb_dequeue(struct sk_buff_head *q)
{
	struct sk_buff *skb = q->first;

	if (!skb)
		return NULL;
	q->first = skb->next;
	skb->next = NULL;
	q->qlen--;
	return skb;
}

static inline void skb_queue_splice_tail(struct sk_buff_head *from,
					 struct sk_buff_head *q)
{
	if (!from->first)
		return;
	if (q->first)
		q->last->next = from->first;
	else
		q->first = from->first;
	q->last = from->last;
	q->qlen += from->qlen;
}

static inline void skb_queue_splice_init(struct sk_buff_head *from,
					 struct sk_buff_head *q)
{
	skb_queue_splice_tail(from, q);
	__skb_queue_head_init(from);
}

struct sk_buff *__skb_gso_segment(struct sk_buff *skb, u64 features, bool tx_path);

#endif /* _SHIM_LINUX_SKBUFF_H */
