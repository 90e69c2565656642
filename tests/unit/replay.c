// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs one CC over events from standard input, and prints cwnd and ssthresh in
 * bytes and the pacing rate in bits/s after each: for oracles that are written in
 * another language.
 *
 *	flow MSS INFLIGHT SSTHRESH SRTT_US MIN_RTT_US NOW_US [VALUE...]
 *				a flow as tcon_ca_start() hands it on; values of
 *				parameters in their order, defaults for the rest
 *	send BYTES		new data leaves
 *	ack BYTES RTT_US LIMITED NOW_US [MARKED]
 *				cumulative; RTT -1: no sample; LIMITED 0 or 1; bytes
 *				that were marked with ECN CE
 *	sample BYTES RTT_US LIMITED NOW_US PRIOR_DELIVERED DELIVERED INTERVAL_US
 *	       INFLIGHT TX_IN_FLIGHT LOST LOSSES CE ECE APP_LIMITED
 *				an ACK with a delivery-rate sample; CE: marked of
 *				DELIVERED, and of the flow since the last sample
 *	state open|recovery|loss NOW_US
 *	limited			the guest has no more to send
 *	event tx_start|ece NOW_US
 *	min_rtt US		the tracker's minimum changes
 *	undo
 *
 * Built by `make -C tests/unit replay` once for each CC, whose module is CC_NAME.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <tcon/cc.h>

#define LOAD(name)	shim_load(name)

static struct tcon_cc_ops *cc_ops;
static s64 params[TCON_MAX_PARAMS];
static struct tcon_cc cc;

int tcon_cc_register(struct tcon_cc_ops *ops)
{
	cc_ops = ops;
	return 0;
}

void tcon_cc_unregister(struct tcon_cc_ops *ops)
{
}

/* No choice is random here. */
u32 get_random_u32(void)
{
	return 0;
}

static void die(const char *line)
{
	fprintf(stderr, "replay: bad line: %s", line);
	exit(2);
}

static void flow(const char *line, u64 now_us, const char *values)
{
	char *end;
	int i;

	for (i = 0; i < cc_ops->n_params; i++) {
		params[i] = strtoll(values, &end, 10);
		if (end == values)
			params[i] = cc_ops->params[i].def;
		else if (params[i] < cc_ops->params[i].min ||
			 params[i] > cc_ops->params[i].max)
			die(line);
		values = end;
	}
	if (values[strspn(values, " \n")])
		die(line);
	cc.ops = cc_ops;
	cc.params = params;
	cc.nxt = cc.inflight_bytes;
	cc.cwnd_bytes = clamp(cc.inflight_bytes,
			      TCON_INIT_CWND_SEGS * cc.mss_bytes,
			      TCON_CWND_MAX_BYTES);
	cc_ops->init(&cc, now_us);
}

static void set_state(const char *line, const char *name, u64 now_us)
{
	static const char * const names[] = { "open", "recovery", "loss" };
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i])) {
			cc_ops->set_state(&cc, i, now_us);
			cc.ca_state = i;
			return;
		}
	die(line);
}

static void ack(u32 bytes, s64 rtt_us, bool limited, u64 now_us, u32 marked)
{
	struct tcon_rate_sample rs = {
		.now_us = now_us,
		.delivered_bytes = -1,
		.interval_us = -1,
		.rtt_us = rtt_us,
		.acked_bytes = bytes,
		.acked_sacked_bytes = bytes,
		.prior_inflight_bytes = cc.inflight_bytes,
		.is_cwnd_limited = limited,
		.is_ece = marked,
	};

	cc.una += bytes;
	cc.delivered_bytes += bytes;
	cc.delivered_ce_bytes += marked;
	cc.inflight_bytes -= min(bytes, cc.inflight_bytes);
	if (cc.delivered_bytes > cc.app_limited_until)
		cc.app_limited_until = 0;
	if (marked)
		cc_ops->cwnd_event(&cc, TCON_CA_EVENT_ECE, now_us);
	cc_ops->cong_control(&cc, &rs);
}

/* @values: the numbers of the line, in its order. */
static void sample(const s64 *values)
{
	struct tcon_rate_sample rs = {
		.acked_bytes = values[0],
		.acked_sacked_bytes = values[0],
		.rtt_us = values[1],
		.is_cwnd_limited = values[2],
		.now_us = values[3],
		.prior_delivered = values[4],
		.delivered_bytes = values[5],
		.interval_us = values[6],
		.prior_inflight_bytes = cc.inflight_bytes,
		.tx_in_flight_bytes = values[8],
		.lost_bytes = values[9],
		.losses_bytes = values[10],
		.delivered_ce_bytes = values[11],
		.is_ece = values[12],
		.is_app_limited = values[13],
	};

	cc.una += rs.acked_bytes;
	cc.delivered_bytes += rs.acked_bytes;
	cc.delivered_ce_bytes += rs.delivered_ce_bytes;
	cc.lost_bytes += rs.losses_bytes;
	cc.inflight_bytes = values[7];
	cc.nxt = cc.una + cc.inflight_bytes;
	if (cc.delivered_bytes > cc.app_limited_until)
		cc.app_limited_until = 0;
	cc_ops->cong_control(&cc, &rs);
}

static bool read_sample(const char *line)
{
	s64 values[14];
	char *end;
	int i;

	if (strncmp(line, "sample ", 7))
		return false;
	line += 7;
	for (i = 0; i < ARRAY_SIZE(values); i++, line = end) {
		values[i] = strtoll(line, &end, 10);
		if (end == line)
			return false;
	}
	if (*end != '\n')
		return false;
	sample(values);
	return true;
}

static void handle(const char *line)
{
	char name[16] = "";
	u64 now_us;
	u32 bytes, marked = 0;
	s64 rtt_us;
	int limited, used;

	if (!strncmp(line, "flow ", 5)) {
		memset(&cc, 0, sizeof(cc));
		if (sscanf(line, "flow %u %u %u %u %u %" SCNu64 "%n",
			   &cc.mss_bytes, &cc.inflight_bytes, &cc.ssthresh_bytes,
			   &cc.srtt_us, &cc.min_rtt_us, (uint64_t *)&now_us,
			   &used) != 6)
			die(line);
		flow(line, now_us, line + used);
	} else if (sscanf(line, "send %u", &bytes) == 1) {
		cc.nxt += bytes;
		cc.inflight_bytes += bytes;
	} else if (sscanf(line, "ack %u %" SCNd64 " %d %" SCNu64 " %u",
			  &bytes, (int64_t *)&rtt_us, &limited,
			  (uint64_t *)&now_us, &marked) >= 4) {
		ack(bytes, rtt_us, limited, now_us, marked);
	} else if (sscanf(line, "state %15s %" SCNu64, name,
			  (uint64_t *)&now_us) == 2) {
		set_state(line, name, now_us);
	} else if (sscanf(line, "event %15s %" SCNu64, name,
			  (uint64_t *)&now_us) == 2) {
		cc_ops->cwnd_event(&cc, strcmp(name, "ece") ?
				   TCON_CA_EVENT_TX_START :
				   TCON_CA_EVENT_ECE, now_us);
	} else if (sscanf(line, "min_rtt %u", &bytes) == 1) {
		cc.min_rtt_us = bytes;
	} else if (!strcmp(line, "limited\n")) {
		cc.app_limited_until = max(cc.delivered_bytes + cc.inflight_bytes, 1ULL);
	} else if (!strcmp(line, "undo\n")) {
		cc_ops->undo_cwnd(&cc);
	} else if (!read_sample(line)) {
		die(line);
	}
	printf("%u %u %" PRIu64 "\n", cc.cwnd_bytes, cc.ssthresh_bytes,
	       (uint64_t)cc.pacing_rate_bps);
}

int main(void)
{
	char line[512];

	LOAD(CC_NAME);
	while (fgets(line, sizeof(line), stdin))
		handle(line);
	return 0;
}
