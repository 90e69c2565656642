// SPDX-License-Identifier: GPL-2.0-only
/*
 * DCTCP: RFC 8257.
 *
 * The model.  A switch marks every packet that finds more than a few packets in the
 * queue.  A single mark tells that windows are too large; the share of marked bytes
 * tells by how much.  So the window is reduced in proportion:
 *
 *	F	share of marked bytes in the last window of data
 *	alpha	= (1 - g) * alpha + g * F, once per window
 *	cwnd	= cwnd * (1 - alpha / 2), once per window with a mark
 *
 * If all bytes are marked, alpha is 1, and the window is halved as in RFC 3168.  If few
 * are, the window hardly falls, and the queue does not run empty.
 *
 * Linux counts cwnd in segments and takes away whole segments only.  So a small window
 * stays until alpha has grown to 2 / cwnd.  It is the same here.  Otherwise flows with
 * windows of some ten segments would need fewer marks, and get a little more than
 * native flows beside them.
 *
 * After a mark, even one that took nothing, the window fills up no faster than ACKs
 * come (datapath/sender/prr.c).  So after a pause of the guest the queue is shorter for
 * a round trip.  Otherwise a single flow could stay at a window where its marks are
 * just too few to reduce it.
 *
 * The states are Reno's (reno.c), and so is the behaviour without marks: slow start, a
 * segment more per round trip, half the window after a loss (RFC 8257, 3.5).
 *
 * Where the rules come from:
 *	RFC 8257, 3.3	alpha, over a window of data: until una reaches the nxt
 *			at its beginning; the reduction, once until what was in
 *			flight then is acknowledged; alpha starts at 1, so that
 *			the first mark halves the window
 *	RFC 8257, 3.5	half the window for a loss, whatever a mark took before
 *	RFC 8257, 4	g is 1/16
 *	Linux		ACKs and repeats are ECN-capable too
 *
 * A weight N makes it act as N flows (weight.h).  All of them see the same share of
 * marks and are reduced alike, so for marks only growth changes: in the fluid model
 * dW/dt = a/RTT - W alpha/2 p/RTT, W is proportional to a.
 *
 * Differences that a hypervisor makes:
 * - Marks are counted where they arrive (datapath/sender/ecn.c): the receiver's TCon
 *   returns the number of marked bytes.  So the state machine for delayed ACKs
 *   (RFC 8257, 3.2) is not needed.  An ACK in which marks begin or end comes here as two
 *   (datapath/sender/ca.c).
 * - If the receiver has no TCon, there is only ECE.  It lasts for a round trip
 *   (RFC 3168), so F comes out too large.  The flow's ECN is then shown as "coarse".
 * - SYN and SYN-ACK are not ECN-capable, although RFC 8257, 3.6, asks for that: a
 *   receiver that only knows RFC 3168 would not agree to ECN.
 * - Without ECN there are no marks, and this is Reno.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <tcon/cc.h>

#include "reno.h"

#define ALPHA_SHIFT	20		/* alpha in 2^-20 */
#define ALPHA_ONE	BIT(ALPHA_SHIFT)
#define LINUX_SHIFT	10		/* the parameter's: in 2^-10, as Linux has it */

/* In the order of dctcp_params. */
enum dctcp_param {
	DCTCP_SHIFT_G,
	DCTCP_ALPHA_ON_INIT,
	DCTCP_WEIGHT,
};

static const struct tcon_cc_param dctcp_params[] = {
	[DCTCP_SHIFT_G] = {
		.name = "dctcp_shift_g",
		.type = TCON_PARAM_UINT,
		.def = 4, .min = 0, .max = 10,
		.unit = "bits",
		.help = "alpha moves by 2^-dctcp_shift_g of the way to the last window's share",
	},
	[DCTCP_ALPHA_ON_INIT] = {
		.name = "dctcp_alpha_on_init",
		.type = TCON_PARAM_UINT,
		.def = BIT(LINUX_SHIFT), .min = 0, .max = BIT(LINUX_SHIFT),
		.unit = "1/1024",
		.help = "alpha at the start, in 1/1024",
	},
	[DCTCP_WEIGHT] = TCON_WEIGHT_PARAM,
};

/**
 * struct dctcp - state of a flow
 * @reno: the last reduction, and growth since
 * @weight: how many of the flows in this one a loss hit
 * @alpha: share of marked bytes, smoothed, in 2^-%ALPHA_SHIFT
 * @window_end: nxt when the window of data began
 * @prior_delivered: tcon_cc.delivered_bytes then
 * @prior_delivered_ce: tcon_cc.delivered_ce_bytes then, less the excess that marked_share()
 *	carries over
 */
struct dctcp {
	struct tcon_reno reno;
	struct tcon_weight weight;
	u32 alpha;
	u32 window_end;
	u64 prior_delivered;
	u64 prior_delivered_ce;
};

static void begin_window(const struct tcon_cc *cc, struct dctcp *dctcp)
{
	dctcp->window_end = cc->nxt;
	dctcp->prior_delivered = cc->delivered_bytes;
	dctcp->prior_delivered_ce = cc->delivered_ce_bytes;
}

/*
 * F in units of 2^-ALPHA_SHIFT.  Marks are counted when they arrive, data when it is
 * acknowledged.  So a small window may have more marked bytes than delivered bytes.  The
 * excess counts for the next window, and for no later one: the receiver also counts data
 * that it gets twice.  Windows fit 30 bits, and so does what they deliver; 20 more bits
 * fit 64.
 */
static u32 marked_share(struct dctcp *dctcp, u64 delivered, u64 marked)
{
	u64 next = 0;

	if (marked > delivered) {
		next = min(marked - delivered, delivered);
		marked = delivered;
	}
	dctcp->prior_delivered_ce -= next;
	return div64_u64(marked << ALPHA_SHIFT, delivered);
}

/* Update alpha if a window of data has been acknowledged.  The rounding lets alpha reach 0 and 1.
 * A window is empty if the ACK before was for all that was in flight; it tells nothing.
 */
static void update_alpha(const struct tcon_cc *cc, struct dctcp *dctcp)
{
	u64 delivered = cc->delivered_bytes - dctcp->prior_delivered;
	u64 marked = cc->delivered_ce_bytes - dctcp->prior_delivered_ce;
	u32 shift = cc->params[DCTCP_SHIFT_G], share;

	if (tcon_reno_before(cc->una, dctcp->window_end) || !delivered)
		return;
	begin_window(cc, dctcp);
	share = marked_share(dctcp, delivered, marked);
	if (share > dctcp->alpha)
		dctcp->alpha += DIV_ROUND_UP(share - dctcp->alpha, BIT(shift));
	else
		dctcp->alpha -= DIV_ROUND_UP(dctcp->alpha - share, BIT(shift));
}

static void tcon_dctcp_cong_control(struct tcon_cc *cc,
				    const struct tcon_rate_sample *rs)
{
	struct dctcp *dctcp = tcon_cc_priv(cc);
	u32 weight = cc->params[DCTCP_WEIGHT];

	update_alpha(cc, dctcp);
	tcon_reno_acked(cc, &dctcp->reno);
	tcon_reno_weighted_acked(cc, &dctcp->reno, &dctcp->weight, weight);
	if (tcon_reno_may_grow(cc, &dctcp->reno, rs))
		tcon_reno_weighted_grow(cc, &dctcp->reno,
					rs->acked_sacked_bytes, weight);
}

/* A loss halves the window even if a mark has reduced it in the same window of data: the mark
 * may have taken nothing.
 */
static void tcon_dctcp_set_state(struct tcon_cc *cc, enum tcon_ca_state state,
				 u64 now_us)
{
	struct dctcp *dctcp = tcon_cc_priv(cc);

	if (state != TCON_CA_OPEN)
		dctcp->reno.reduced_by_ece = false;
	tcon_reno_weighted_state(cc, &dctcp->reno, &dctcp->weight,
				 cc->params[DCTCP_WEIGHT], state);
}

/* If a window of data ends with this ECE, alpha is updated before the reduction. */
static void tcon_dctcp_cwnd_event(struct tcon_cc *cc, enum tcon_ca_event event,
				  u64 now_us)
{
	struct dctcp *dctcp = tcon_cc_priv(cc);
	u32 segs;

	if (event != TCON_CA_EVENT_ECE)
		return;
	update_alpha(cc, dctcp);
	if (!tcon_reno_note_ece(cc, &dctcp->reno))
		return;
	segs = (u64)(cc->cwnd_bytes / cc->mss_bytes) * dctcp->alpha >>
	       (ALPHA_SHIFT + 1);
	tcon_reno_reduce(cc, &dctcp->reno, cc->cwnd_bytes - segs * cc->mss_bytes,
			 true);
	cc->cwnd_bytes = cc->ssthresh_bytes;
}

static void tcon_dctcp_undo_cwnd(struct tcon_cc *cc)
{
	struct dctcp *dctcp = tcon_cc_priv(cc);

	tcon_reno_undo(cc, &dctcp->reno);
}

static void tcon_dctcp_init(struct tcon_cc *cc, u64 now_us)
{
	struct dctcp *dctcp = tcon_cc_priv(cc);

	BUILD_BUG_ON(sizeof(*dctcp) > TCON_CC_PRIV_BYTES);
	dctcp->alpha = cc->params[DCTCP_ALPHA_ON_INIT] <<
		       (ALPHA_SHIFT - LINUX_SHIFT);
	begin_window(cc, dctcp);
	tcon_weight_init(cc, &dctcp->weight, cc->params[DCTCP_WEIGHT]);
}

static const char *mode_name(const struct tcon_cc *cc)
{
	const struct dctcp *dctcp = tcon_cc_priv(cc);

	if (cc->ca_state == TCON_CA_RECOVERY || dctcp->reno.reduced)
		return "REDUCED";
	return tcon_reno_in_slow_start(cc) ? "SLOW_START" : "AVOIDANCE";
}

static int tcon_dctcp_get_info(const struct tcon_cc *cc, char *buf, int size)
{
	const struct dctcp *dctcp = tcon_cc_priv(cc);
	u32 milli = (u64)dctcp->alpha * 1000 >> ALPHA_SHIFT;

	return scnprintf(buf, size, "mode=%s alpha=%u.%03u", mode_name(cc),
			 milli / 1000, milli % 1000);
}

static struct tcon_cc_ops dctcp_ops = {
	.name		= "dctcp",
	.category	= "ECN",
	.source		= "RFC 8257",
	.owner		= THIS_MODULE,
	.ecn		= TCON_CC_ECN_ALL,
	.priv_bytes	= sizeof(struct dctcp),
	.params		= dctcp_params,
	.n_params	= ARRAY_SIZE(dctcp_params),
	.init		= tcon_dctcp_init,
	.cong_control	= tcon_dctcp_cong_control,
	.set_state	= tcon_dctcp_set_state,
	.cwnd_event	= tcon_dctcp_cwnd_event,
	.undo_cwnd	= tcon_dctcp_undo_cwnd,
	.get_info	= tcon_dctcp_get_info,
};

static int __init tcon_dctcp_module_init(void)
{
	return tcon_cc_register(&dctcp_ops);
}

static void __exit tcon_dctcp_module_exit(void)
{
	tcon_cc_unregister(&dctcp_ops);
}

module_init(tcon_dctcp_module_init);
module_exit(tcon_dctcp_module_exit);

MODULE_DESCRIPTION("TCon: DCTCP congestion control (RFC 8257)");
MODULE_LICENSE("GPL");
MODULE_ALIAS("tcon-cc-dctcp");
